"""Plots of label trees: the knob, and time against the number of classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks._plots import STYLE, save
from benchmarks._tables import Results

_LEAF_COLOURS = {100: "#0072B2", 1: "#009E73"}
_OTHERS = {"cost": ("D", "#D55E00", "expected cost"), "kmeans": ("s", "#000000", "arity 32")}
_COLUMNS = {"depth": "depth@1", "p50_us": "p50, µs", "p99_us": "p99, µs"}


def knob(found: Results, path: Path) -> None:
    """Draw P@1 against depth, p50 and p99, one row of panels a data set."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9, 2.6 * len(found) + 0.5), layout="constrained")
        panels = figure.subplots(len(found), len(_COLUMNS), squeeze=False)
        for line, result in zip(panels, found, strict=True):
            for panel, (column, title) in zip(line, _COLUMNS.items(), strict=True):
                _panel(panel, result, column)
                panel.set_xlabel(title)
            line[0].set_title(result["subject"], loc="left", fontweight="bold")
            line[0].set_ylabel("P@1, %")
        handles, names = panels[0][0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper center", ncols=4, frameon=False)
        save(figure, path)


def _panel(panel: Axes, result: dict[str, Any], column: str) -> None:
    trees = [tree for tree in result["trees"] if tree["builder"] == "interpolated"]
    for size, colour in _LEAF_COLOURS.items():
        those = [tree for tree in trees if tree["max_leaf_size"] == size]
        if not those:
            continue
        x = [tree["searches"]["1"][column] for tree in those]
        y = [tree["precision"][0] for tree in those]
        label = f"interpolated, leaves of {size}"
        panel.plot(x, y, "o-", markersize=3.5, color=colour, label=label)
        for tree, at in zip(those, zip(x, y, strict=True), strict=True):
            if tree["lambda_prime"] in {0, 1, 1000}:
                name = f"{tree['lambda_prime']:g}"
                panel.annotate(name, at, xytext=(3, 3), textcoords="offset points", fontsize=7)
    for tree in result["trees"]:
        if tree["builder"] in _OTHERS:
            marker, colour, label = _OTHERS[tree["builder"]]
            x, y = tree["searches"]["1"][column], tree["precision"][0]
            panel.plot([x], [y], marker, markersize=6, color=colour, label=label)


def classes(found: Results, path: Path) -> None:
    """Draw microseconds against the number of classes on logarithmic axes."""
    colours = ("#0072B2", "#009E73", "#000000", "#D55E00", "#CC79A7", "#E69F00")
    kinds = {"learning_us": "learning", "predicting_us": "prediction"}
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9, 3.4), layout="constrained")
        panels = figure.subplots(1, len(kinds)).tolist()
        for panel, (key, title) in zip(panels, kinds.items(), strict=True):
            for colour, result in zip(colours, found, strict=False):
                x = [point["classes"] for point in result["points"]]
                y = [point[key] for point in result["points"]]
                name = result["subject"].replace("_", " ")
                panel.loglog(x, y, "o-", markersize=3.5, color=colour, label=name)
            panel.set_title(title, loc="left")
            panel.set_xlabel("classes")
            panel.set_ylabel("µs an example")
        handles, names = panels[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper center", ncols=6, frameon=False)
        save(figure, path)
