"""Label trees as files, as figures and as an outline on a screen."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import labelgrove
from labelgrove._errors import DataError, ParameterError
from labelgrove.cli._tree_builders import Given
from labelgrove.cli.streams._numbers import count, counted
from labelgrove.trees import LabelTree, search_cost


def read_tree(path: str) -> LabelTree:
    """Read a tree: JSON, a list of edges (.tsv), or the tree of a model.

    Parameters
    ----------
    path : str
        The file; its format is recognised by its name or its first byte.
    """
    file = Path(path)
    edges = file.suffix.lower() == ".tsv"
    with file.open("rb") as stream:
        looks_like_json = stream.read(1) == b"{"
    if not edges and not looks_like_json:
        model = labelgrove.load(path)
        tree = getattr(model, "tree_", None)
        if not isinstance(tree, LabelTree):
            raise ParameterError(f"{path}: a {type(model).__name__} has no label tree")
        return tree
    try:
        text = file.read_text(encoding="utf-8")
        return LabelTree.from_edge_list(text) if edges else LabelTree.from_json(text)
    except UnicodeDecodeError:
        raise DataError(f"{path}: expected text in UTF-8") from None
    except (DataError, ParameterError) as failure:
        raise DataError(f"{path}: {failure}") from None


def tree_as_bytes(tree: LabelTree, path: str) -> bytes:
    """Return what is to be in a tree's file.

    Parameters
    ----------
    tree : LabelTree
        Any.
    path : str
        A name that says the format: edges for .tsv, Graphviz for .dot or .gv, JSON for others.
    """
    suffix = Path(path).suffix.lower()
    if suffix in {".dot", ".gv"}:
        text = tree.to_dot()
    else:
        text = tree.to_edge_list() if suffix == ".tsv" else tree.to_json()
    return (text.rstrip("\n") + "\n").encode()


_MOST_ARITIES = 8


def figures(tree: LabelTree, searches: Given | None = None) -> dict[str, Any]:
    """Collect the figures of a tree, and with examples those of searches for their labels.

    Parameters
    ----------
    tree : LabelTree
        Any.
    searches : Given, optional
        Examples whose labels are in the tree.
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
