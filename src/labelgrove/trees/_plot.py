"""Drawings of trees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from labelgrove._names import on_one_line
from labelgrove._optional import optional
from labelgrove._parameters import integer
from labelgrove.trees._structure import Nodes, TreeStatistics, children_of

_INCHES_PER_LEAF = 0.2
_LONGEST = 40  # characters of a label


def plot_tree(
    parents: Nodes,
    depths: Nodes,
    labels: Mapping[int, Any],
    statistics: TreeStatistics,
    ax: Any,
    max_nodes: int,
) -> Any:
    """Draw a tree, or a summary of it; see `LabelTree.plot`."""
    whole = parents.size <= integer("max_nodes", max_nodes, 1)
    if ax is None:
        pyplot = optional("matplotlib.pyplot", "LabelTree.plot", "plot")
        height = max(2.0, _INCHES_PER_LEAF * len(labels)) if whole else 4.0
        width = min(24.0, 4.0 + 1.2 * statistics.depth) if whole else 6.4
        _, ax = pyplot.subplots(figsize=(width, height), layout="constrained")
    if whole:
        _draw(parents, depths, labels, ax)
    else:
        _summarise(depths, labels, statistics, ax)
    return ax


def heights_of(parents: Nodes) -> tuple[Any, list[int]]:
    """Return the height of every node, and the leaves in order of height.

    Leaves are at 0, 1, 2..., and inner nodes in the middle of their children.
    """
    starts, children = children_of(parents)
    order, to_do = [], [0]
    while to_do:
        node = to_do.pop()
        order.append(node)
        to_do += reversed(children[starts[node] : starts[node + 1]].tolist())
    is_leaf = starts[1:] == starts[:-1]
    leaves = [node for node in order if is_leaf[node]]
    heights = np.zeros(parents.size)
    heights[leaves] = np.arange(len(leaves))
    for node in reversed(order):
        if not is_leaf[node]:
            first, last = children[starts[node]], children[starts[node + 1] - 1]
            heights[node] = (heights[first] + heights[last]) / 2
    return heights, leaves


def _draw(parents: Nodes, depths: Nodes, labels: Mapping[int, Any], ax: Any) -> None:
    heights, leaves = heights_of(parents)
    starts, children = children_of(parents)
    for node in range(parents.size):
        below = children[starts[node] : starts[node + 1]]
        if below.size:
            # A fork: a stem from the node, a bar across the children, and a tine to each of them.
            middle = depths[node] + 0.5
            ax.plot([depths[node], middle], [heights[node]] * 2, color="0.6", lw=1)
            ax.plot([middle] * 2, heights[below[[0, -1]]], color="0.6", lw=1)
            ax.hlines(heights[below], middle, depths[below], color="0.6", lw=1)
    inner = np.setdiff1d(np.arange(parents.size), leaves)
    ax.scatter(depths[inner], heights[inner], s=12, color="tab:blue", zorder=3)
    ax.scatter(depths[leaves], heights[leaves], s=12, color="tab:green", zorder=3)
    for node, name in labels.items():
        ax.annotate(
            on_one_line(name, _LONGEST),
            (depths[node], heights[node]),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize="small",
            parse_math=False,
        )
    ax.set_ylim(max(len(labels), 1) - 0.5, -0.5)
    ax.set_xticks(range(int(depths.max()) + 1))
    ax.set_yticks([])
    ax.set_xlabel("depth")
    ax.spines[["left", "right", "top"]].set_visible(False)


def _summarise(
    depths: Nodes, labels: Mapping[int, Any], statistics: TreeStatistics, ax: Any
) -> None:
    n_levels = int(depths.max()) + 1
    leaves = np.bincount(depths[list(labels)], minlength=n_levels)
    inner: Nodes = np.bincount(depths, minlength=n_levels) - leaves
    at = np.arange(n_levels)
    ax.bar(at - 0.2, inner, 0.4, color="tab:blue", label="inner nodes")
    ax.bar(at + 0.2, leaves, 0.4, color="tab:green", label="labels")
    ax.set_yscale("symlog", linthresh=1)
    ax.set_ylim(bottom=0)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("depth")
    ax.set_ylabel("number")
    ax.set_title(
        f"{statistics.n_nodes:,} nodes, {statistics.n_labels:,} labels, mean depth "
        f"{statistics.mean_depth:.1f}, balance {statistics.balance:.2f}",
        fontsize="medium",
    )
    ax.legend(frameon=False)
