"""The figures of a label tree: its shape, and what searches on it cost."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from labelgrove.cli._numbers import count
from labelgrove.cli._tree_builders import Given
from labelgrove.trees import LabelTree, search_cost

_MOST_ARITIES = 8


def figures(tree: LabelTree, searches: Given | None = None) -> dict[str, Any]:
    """Collect the figures of a tree, and with examples those of searches for their labels.

    Parameters
    ----------
    tree : LabelTree
        Any.
    searches : Given, optional
        Examples whose labels are in the tree.

    Returns
    -------
    dict
        Values that JSON knows.
    """
    if searches is None:
        facts = dataclasses.asdict(tree.statistics())
        del facts["expected_depth"]
        return facts
    Y, names = searches.indicator
    cost = search_cost(tree, Y, labels=names)
    return {
        **dataclasses.asdict(tree.statistics(searches.frequencies, names)),
        "expected_blocks": cost.blocks,
        "expected_classifiers": cost.classifiers,
        "expected_cost": cost.cost,
    }


def as_pairs(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Put figures into words.

    Parameters
    ----------
    facts : mapping
        What `figures` gave.

    Returns
    -------
    list of (str, str)
        Names and values.
    """
    pairs = [
        ("labels", count(facts["n_labels"])),
        ("nodes", count(facts["n_nodes"])),
        ("depth", f"{facts['depth']}, {facts['mean_depth']:.2f} on average"),
        ("balance", f"{facts['balance']:.3f}"),
        ("children", _children(facts["arities"])),
    ]
    if "expected_depth" in facts:
        blocks, classifiers = facts["expected_blocks"], facts["expected_classifiers"]
        search = f"opens {blocks:.2f} blocks with {classifiers:.1f} classifiers at least"
        depth = f"{facts['expected_depth']:.2f} by frequency"
        pairs += [("expected depth", depth), ("a search", search)]
    return pairs


def _children(arities: Mapping[int, int]) -> str:
    if not arities:
        return "none"
    shown = [f"{count(nodes)} × {arity}" for arity, nodes in list(arities.items())[:_MOST_ARITIES]]
    return ", ".join(shown) + (", …" if len(arities) > _MOST_ARITIES else "")
