"""Trees from a given hierarchy, such as a taxonomy."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Literal, get_args

from labelgrove._errors import DataError, ParameterError, brief
from labelgrove._names import as_names
from labelgrove._parameters import choice
from labelgrove.trees._frequencies import as_labels
from labelgrove.trees._graphs import by_level, refuse_cycles
from labelgrove.trees._label_tree import LabelTree

SeveralParents = Literal["error", "first"]

_WHAT = "hierarchy"


def hierarchy_tree(
    pairs: Iterable[tuple[Any, Any]],
    labels: Literal["all", "leaves"] | Collection[Any] = "all",
    *,
    several_parents: SeveralParents = "error",
) -> LabelTree:
    """Build the tree of a hierarchy given as (parent, child) pairs.

    A label with children gets an extra leaf below its own node, before the children. If there are
    several roots, a common root is added above them. Branches without labels are omitted.

    Parameters
    ----------
    pairs : iterable of (parent, child)
        Names, all strings or all integers. A parent of None makes the child a root, which is only
        necessary for names without any relation. Pairs may be repeated.
    labels : "all", "leaves" or collection of names
        Names that are labels: all, those without children, or the given ones.
    several_parents : "error" or "first"
        How to treat a child with two parents, which a tree cannot represent: raise an error, or
        keep the first pair and ignore the others.

    Returns
    -------
    LabelTree
        Numbered by level; siblings in the order of the pairs.

    Raises
    ------
    DataError
        There is a cycle or a child with two parents (the message names them), a label is not in
        the hierarchy, or an item is not a pair of names.
    ParameterError
        `labels` or `several_parents` has an unknown value.

    Examples
    --------
    >>> pairs = [("animal", "cat"), ("animal", "dog"), ("plant", "oak")]
    >>> tree = hierarchy_tree(pairs)
    >>> tree.parents.tolist()
    [-1, 0, 0, 1, 1, 1, 2, 2]
    >>> tree.labels
    {3: 'animal', 4: 'cat', 5: 'dog', 6: 'plant', 7: 'oak'}
    >>> hierarchy_tree(pairs, labels=["cat", "dog"]).labels
    {1: 'cat', 2: 'dog'}
    """
    choice("several_parents", several_parents, get_args(SeveralParents))
    parent_of = _parents(_read_pairs(pairs), first=several_parents == "first")
    below = {child: parent for child, parent in parent_of.items() if parent is not None}
    refuse_cycles(_WHAT, parent_of, below)
    order = by_level([name for name, parent in parent_of.items() if parent is None], below)
    chosen = _chosen(order, set(below.values()), labels)
    kept = _kept(order, below, chosen)
    return _tree([name for name in order if name in kept], below, chosen)


def _read_pairs(pairs: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Return (parent, child) as plain Python names; a parent may be None."""
    given, names, pair_of = list(pairs), list[Any](), list[int]()
    for i, pair in enumerate(given):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise DataError(f"{_WHAT}, pair {i}: found {pair!r:.80}; expected (parent, child)")
        own = pair if pair[0] is not None else pair[1:]
        names += own
        pair_of += [i] * len(own)
    read = as_names(names, place=lambda j: f"{_WHAT}, pair {pair_of[j]}", classes=False)
    plain = iter(read.tolist())
    return [(None if parent is None else next(plain), next(plain)) for parent, _ in given]


def _parents(pairs: list[tuple[Any, Any]], *, first: bool) -> dict[Any, Any]:
    """Return the parent of every name, None for roots, in order of first appearance."""
    parent_of: dict[Any, Any] = {}
    given = set[Any]()  # children so far; other names count as roots until a pair names a parent
    for parent, child in pairs:
        if parent is not None:
            parent_of.setdefault(parent, None)
        if child not in given:
            parent_of[child] = parent
            given.add(child)
        elif parent_of[child] != parent and not first:
            raise DataError(
                f"{_WHAT}: {child!r} has two parents, {_named(parent_of[child])} and "
                f"{_named(parent)}; expected one (or several_parents='first')"
            )
    return parent_of


def _named(parent: Any) -> str:
    return "none (a root)" if parent is None else repr(parent)


def _chosen(order: list[Any], inner: set[Any], labels: Any) -> set[Any]:
    """Return the names that are labels."""
    if isinstance(labels, str):
        if labels not in {"all", "leaves"}:
            raise ParameterError(
                f"labels={brief(labels)}: expected 'all', 'leaves' or a collection of names"
            )
        return {name for name in order if labels == "all" or name not in inner}
    chosen = set(as_labels(labels).tolist())
    if unknown := chosen.difference(order):
        raise DataError(
            f"{_WHAT}: label {min(unknown)!r} is not in it; add a pair (None, label) to make it a "
            "root"
        )
    return chosen


def _kept(order: list[Any], below: dict[Any, Any], chosen: set[Any]) -> set[Any]:
    """Return the names with a label at or below them."""
    kept = set(chosen)
    for name in reversed(order):
        if name in kept and name in below:
            kept.add(below[name])
    return kept


def _tree(order: list[Any], below: dict[Any, Any], chosen: set[Any]) -> LabelTree:
    """Return the tree of names by level, with leaves added for labels at inner nodes."""
    children: dict[Any, list[Any]] = {}
    for name in order:
        children.setdefault(below.get(name), []).append(name)
    roots = children.get(None, [])
    # A worklist that grows during the iteration: the name, its parent's number, and whether to add
    # its children, which the extra leaf of a label does not have.
    parents, labels = list[int](), dict[int, Any]()
    to_do = [(roots[0], -1, True)] if len(roots) == 1 else [(None, -1, True)]
    for name, parent, whole in to_do:
        node = len(parents)
        parents.append(parent)
        family = children.get(name, ()) if whole else ()
        if name in chosen and family:
            to_do.append((name, node, False))
        elif name in chosen:
            labels[node] = name
        to_do += [(child, node, True) for child in family]
    return LabelTree(parents, labels)
