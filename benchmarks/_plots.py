"""Results as plots: SVG files that are identical, byte for byte, for identical results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from benchmarks._fits import CACHED, Fit
from benchmarks._tables import GROWTH, ORDERS, Results

# Okabe and Ito's colours, which are safe for colour-blind readers.
_ORDER_COLOURS = {"filed": "#0072B2", "shuffled": "#009E73", "sorted": "#D55E00"}
_PRESET_COLOURS = {"paper": "#0072B2", "default": "#D55E00"}
_LEAF_COLOURS = {100: "#0072B2", 1: "#009E73"}
_OTHERS = {"cost": ("D", "#D55E00", "expected cost"), "kmeans": ("s", "#000000", "arity 32")}
_COLUMNS = {"depth": "depth@1", "p50_us": "p50, µs", "p99_us": "p99, µs"}
STYLE: Any = {  # Matplotlib's own type lists every parameter name
    "svg.hashsalt": "labelgrove",
    "svg.fonttype": "path",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.4,
}


def progress(found: Results, path: Path) -> None:
    """Draw P@1 along the streams, one panel per data set."""
    columns = 2
    lines = -(-len(found) // columns)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9, 2.5 * lines + 0.5), layout="constrained")
        axes = figure.subplots(lines, columns, squeeze=False).ravel().tolist()
        for panel, result in zip(axes, found, strict=False):
            _progress_panel(panel, result)
        for panel in axes[len(found) :]:
            panel.set_visible(False)
        handles, names = axes[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper center", ncols=3, frameon=False)
        save(figure, path)


def _progress_panel(panel: Axes, result: dict[str, Any]) -> None:
    for order, colour in _ORDER_COLOURS.items():
        (row,) = (row for row in result["rows"] if row["order"] == order)
        recent = np.array(row["recent"])
        # A mean of five windows: single ones are too noisy to compare.
        smooth = np.convolve(recent, np.ones(5) / 5, mode="valid")
        windows = np.arange(len(recent) - len(smooth), len(recent)) + 1
        panel.plot(row["step"] * windows, smooth, color=colour, label=ORDERS.get(order, order))
    panel.set_title(result["subject"], loc="left", fontweight="bold")
    panel.set_xlabel("examples learnt")
    panel.set_ylabel("recent P@1")
    panel.set_ylim(0, 100)
    panel.yaxis.set_major_formatter(PercentFormatter(decimals=0))
    panel.xaxis.set_major_locator(MaxNLocator(5))
    panel.xaxis.set_major_formatter("{x:,.0f}")


def growth(found: Results, path: Path) -> None:
    """Draw microseconds against labels with the fitted curves, one panel per kind of work."""
    kinds = ("learn", "predict", "learn_row", "predict_row")
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9, 6), layout="constrained")
        for panel, kind in zip(figure.subplots(2, 2).ravel().tolist(), kinds, strict=True):
            for result in found:
                _growth_curve(panel, result, kind)
            panel.set_title(GROWTH[kind][0], loc="left")
            panel.set_xscale("log")
            panel.set_ylim(bottom=0)
            panel.set_xlabel("labels")
            panel.set_ylabel("µs per example")
        handles, names = panel.get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper center", ncols=4, frameon=False)
        save(figure, path)


def _growth_curve(panel: Axes, result: dict[str, Any], kind: str) -> None:
    labels = [point["labels"] for point in result["points"]]
    values = [point[kind] for point in result["points"]]
    colour, preset = _PRESET_COLOURS[result["subject"]], result["subject"]
    panel.plot(labels, values, "o", markersize=4, color=colour, label=f"{preset}, measured")
    large = [i for i, n in enumerate(labels) if n >= CACHED] or list(range(len(labels)))
    along = np.geomspace(labels[large[0]], labels[-1], 50)
    fitted = Fit.of([labels[i] for i in large], [values[i] for i in large]).at(along)
    panel.plot(along, fitted, color=colour, linewidth=1, label=f"{preset}, a + b log n")


def save(figure: Figure, path: Path) -> None:
    """Write a figure without a date, so that the file is reproducible."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


def knob(found: Results, path: Path) -> None:
    """Draw P@1 against depth, p50 and p99, one row of panels per data set."""
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
            panel.set_ylabel("µs per example")
        handles, names = panels[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper center", ncols=6, frameon=False)
        save(figure, path)


def embedding(found: Results, path: Path) -> None:
    """Draw P@1 of learnt vectors against depth and time, one row of panels per data set."""
    columns = {"depth": "depth@1", "batch_us": "µs per row, in batches"}
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9, 2.4 * len(found) + 0.5), layout="constrained")
        lines = figure.subplots(len(found), len(columns), squeeze=False)
        for line, result in zip(lines, found, strict=True):
            trees = [tree for tree in result["trees"] if tree["lambda_prime"] is not None]
            (huffman,) = (tree for tree in result["trees"] if tree["lambda_prime"] is None)
            for panel, (column, title) in zip(line, columns.items(), strict=True):
                x, y = [tree[column] for tree in trees], [tree["precision"][0] for tree in trees]
                panel.plot(x, y, "o-", markersize=3.5, color="#0072B2", label="interpolated")
                for i in (0, -1):
                    name = f"{trees[i]['lambda_prime']:g}"
                    here = (x[i], y[i])
                    panel.annotate(name, here, (3, 3), textcoords="offset points", fontsize=7)
                at = huffman[column], huffman["precision"][0]
                panel.plot(*at, "D", markersize=6, color="#D55E00", label="Huffman")
                panel.set_xlabel(title)
            line[0].set_title(result["subject"], loc="left", fontweight="bold")
            line[0].set_ylabel("P@1, %")
        handles, names = lines[0][0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper center", ncols=2, frameon=False)
        save(figure, path)
