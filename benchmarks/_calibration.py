"""The calibration of probabilities, as a table and as a plot."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from benchmarks._plots import STYLE, save
from benchmarks._tables import Results, pivot

_LINKS = {
    "calibrated": ("calibrated, the default", "#009E73"),
    "squared_hinge": ("squared hinge", "#0072B2"),
    "logistic": ("logistic", "#D55E00"),
}


def calibration(found: Results) -> str:
    """The expected calibration error, by data set and link."""
    errors = [
        {
            result["subject"]: f"{one['error']:.3f}"
            for result in found
            for one in result["links"]
            if one["link"] == link
        }
        for link in _LINKS
    ]
    return pivot("ECE", [title for title, _ in _LINKS.values()], errors)


def reliability(found: Results, path: Path) -> None:
    """Draw the share of right labels against the estimate, one panel per data set."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9, 2.9), layout="constrained")
        panels = figure.subplots(1, len(found), squeeze=False, sharey=True)[0]
        for panel, result in zip(panels, found, strict=True):
            panel.plot([0, 1], [0, 1], color="#888888", linewidth=0.8, linestyle=(0, (4, 2)))
            for one in result["links"]:
                name, colour = _LINKS[one["link"]]
                panel.plot(
                    one["estimated"], one["right"], "o-", markersize=3.5, color=colour, label=name
                )
            panel.set_title(result["subject"], loc="left", fontweight="bold")
            panel.set_xlabel("estimated probability")
        panels[0].set_ylabel("share of right labels")
        handles, names = panels[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper center", ncols=3, frameon=False)
        save(figure, path)
