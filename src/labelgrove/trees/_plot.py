"""A tree as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from labelgrove._optional import optional
from labelgrove.trees._frequencies import as_count
from labelgrove.trees._structure import Nodes

if TYPE_CHECKING:
    from labelgrove.trees._label_tree import LabelTree

_INCHES_PER_LEAF = 0.2
_LONGEST = 40  # characters of a label


def plot_tree(tree: LabelTree, ax: Any, max_nodes: int) -> Any:
    """Draw a tree, or its outline; parameters and errors as `LabelTree.plot` has them."""
    most = as_count(max_nodes, "max_nodes", 1)
    whole = tree.n_nodes <= most
    if ax is None:
        pyplot = optional("matplotlib.pyplot", "LabelTree.plot")
        height = max(2.0, _INCHES_PER_LEAF * tree.n_labels) if whole else 4.0
        width = min(24.0, 4.0 + 1.2 * tree.depth) if whole else 6.4
        _, ax = pyplot.subplots(figsize=(width, height), layout="constrained")
    if whole:
        _draw(tree, ax)
    else:
        _summarise(tree, ax)
    return ax


def heights_of(tree: LabelTree) -> tuple[Any, list[int]]:
    """Return where every node stands: leaves at 0, 1, 2..., inner nodes amid their children.

    The second value is the leaves from the first to the last place.
    """
    order, to_do = [], [0]
    while to_do:
        node = to_do.pop()
        order.append(node)
        to_do += reversed(tree.children(node))
    leaves = [node for node in order if not tree.children(node)]
    heights = np.zeros(tree.n_nodes)
    heights[leaves] = np.arange(len(leaves))
    for node in reversed(order):
        if below := tree.children(node):
            heights[node] = (heights[below[0]] + heights[below[-1]]) / 2
    return heights, leaves


def _draw(tree: LabelTree, ax: Any) -> None:
    heights, _ = heights_of(tree)
    depths = tree.depths
    for node in range(tree.n_nodes):
        below = tree.children(node)
        if below:
            # A fork: out of the node, along the children, and in to each of them.
            middle = depths[node] + 0.5
            ax.plot([depths[node], middle], [heights[node]] * 2, color="0.6", lw=1)
            ax.plot([middle] * 2, heights[[below[0], below[-1]]], color="0.6", lw=1)
            ax.hlines(heights[below], middle, depths[below], color="0.6", lw=1)
    inner = np.setdiff1d(np.arange(tree.n_nodes), tree.leaves)
    ax.scatter(depths[inner], heights[inner], s=12, color="tab:blue", zorder=3)
    ax.scatter(depths[tree.leaves], heights[tree.leaves], s=12, color="tab:green", zorder=3)
    for node, name in tree.labels.items():
        ax.annotate(
            _short(str(name)),
            (depths[node], heights[node]),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize="small",
            parse_math=False,
        )
    ax.set_ylim(max(tree.n_labels, 1) - 0.5, -0.5)
    ax.set_xticks(range(tree.depth + 1))
    ax.set_yticks([])
    ax.set_xlabel("depth")
    ax.spines[["left", "right", "top"]].set_visible(False)


def _summarise(tree: LabelTree, ax: Any) -> None:
    n_levels = tree.depth + 1
    leaves = np.bincount(tree.depths[tree.leaves], minlength=n_levels)
    inner: Nodes = np.bincount(tree.depths, minlength=n_levels) - leaves
    at = np.arange(n_levels)
    ax.bar(at - 0.2, inner, 0.4, color="tab:blue", label="inner nodes")
    ax.bar(at + 0.2, leaves, 0.4, color="tab:green", label="labels")
    ax.set_yscale("symlog", linthresh=1)
    ax.set_ylim(bottom=0)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("depth")
    ax.set_ylabel("number")
    found = tree.statistics()
    ax.set_title(
        f"{found.n_nodes:,} nodes, {found.n_labels:,} labels, mean depth {found.mean_depth:.1f}, "
        f"balance {found.balance:.2f}",
        fontsize="medium",
    )
    ax.legend(frameon=False)


def _short(name: str) -> str:
    """Return a label on one line that fits."""
    line = " ".join(name.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
