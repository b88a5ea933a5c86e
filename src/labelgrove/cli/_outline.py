"""A label tree as an outline that can be read on a screen."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from labelgrove.cli._numbers import count, counted
from labelgrove.trees import LabelTree

_LONGEST = 60  # characters of a label


def outline(tree: LabelTree, *, levels: int, width: int, samples: int) -> Iterator[str]:
    r"""Describe a tree line by line, from the root downwards.

    Parameters
    ----------
    tree : LabelTree
        Any.
    levels : int
        Levels below the root that are shown.
    width : int
        Children that are shown of each node; the first ones.
    samples : int
        Labels that are named for a node whose children are not shown.

    Yields
    ------
    line : str

    Examples
    --------
    >>> tree = LabelTree([-1, 0, 0, 1, 1], ["fish", "cat", "dog"])
    >>> print(*outline(tree, levels=2, width=9, samples=9), sep="\n")
    3 labels, 2 children
    ├─ 2 labels: cat, dog
    └─ fish
    """
    return _Outline(tree, levels, width, samples).lines(0, "", 0)


class _Outline:
    def __init__(self, tree: LabelTree, levels: int, width: int, samples: int) -> None:
        self._tree, self._levels, self._width, self._samples = tree, levels, width, samples
        self._labels = tree.labels
        self._below = np.zeros(tree.n_nodes, np.int64)
        self._below[tree.leaves] = 1
        parents = tree.parents
        for node in np.argsort(-tree.depths, kind="stable")[:-1].tolist():
            self._below[parents[node]] += self._below[node]

    def lines(self, node: int, indent: str, depth: int) -> Iterator[str]:
        children = self._tree.children(node)
        opened = depth < self._levels and not self._holds_leaves_only(children)
        yield self._title(node, children, opened)
        if not opened:
            return
        shown = children[: self._width]
        for child in shown:
            last = child == children[-1]
            first, *rest = self.lines(child, indent + ("   " if last else "│  "), depth + 1)
            yield f"{indent}{'└─ ' if last else '├─ '}{first}"
            yield from rest
        if len(children) > len(shown):
            hidden = children[len(shown) :]
            labels = counted(int(self._below[hidden].sum()), "label")
            yield f"{indent}└─ … {count(len(hidden))} more with {labels}"

    def _holds_leaves_only(self, children: list[int]) -> bool:
        return not any(self._tree.children(child) for child in children)

    def _title(self, node: int, children: list[int], opened: bool) -> str:
        if not children:
            return _short(self._labels[node]) if node in self._labels else "no label"
        title = counted(int(self._below[node]), "label")
        if opened:
            return f"{title}, {len(children)} {'child' if len(children) == 1 else 'children'}"
        return f"{title}: {', '.join(self._first_labels(node))}"

    def _first_labels(self, node: int) -> list[str]:
        found: list[str] = []
        to_do = [node]
        while to_do and len(found) <= self._samples:
            at = to_do.pop()
            children = self._tree.children(at)
            to_do += reversed(children)
            if not children:
                found.append(_short(self._labels[at]))
        return [*found[: self._samples], "…"] if len(found) > self._samples else found


def _short(label: object) -> str:
    text = " ".join(str(label).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
