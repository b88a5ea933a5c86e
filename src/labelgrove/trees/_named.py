"""Trees whose nodes have names: from edges between names to numbers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from labelgrove._errors import DataError

_SHOWN = 8  # names of a cycle that a message holds


def number_nodes(
    what: str, nodes: Iterable[Hashable], edges: Iterable[tuple[Hashable, Hashable]]
) -> tuple[list[Any], list[int]]:
    """Return the nodes of a tree in the order of their numbers, and the parent of every number.

    Nodes keep their numbers if these are 0, 1, 2... with root 0; otherwise the root comes first
    and then one level after the other.

    Parameters
    ----------
    what : str
        What a message calls the tree.
    nodes : iterable
        All nodes.
    edges : iterable of (parent, child)

    Raises
    ------
    DataError
        A node with two parents, a cycle, several roots; the message names the nodes.
    """
    parent_of: dict[Any, Any] = {}
    for parent, child in edges:
        if child in parent_of:
            raise DataError(
                f"{what}: node {child!r} has two parents, {parent_of[child]!r} and {parent!r}"
            )
        parent_of[child] = parent
    all_nodes: list[Any] = list(nodes)
    refuse_cycles(what, all_nodes, parent_of)
    roots = [node for node in all_nodes if node not in parent_of]
    if len(roots) > 1:
        raise DataError(f"{what}: nodes {roots[0]!r} and {roots[1]!r} are both roots; expected one")
    if not roots:
        return [], [-1]
    order = sorted(all_nodes) if _are_numbers(all_nodes, roots[0]) else by_level(roots, parent_of)
    number = {node: v for v, node in enumerate(order)}
    return order, [-1 if node in roots else number[parent_of[node]] for node in order]


def by_level(roots: Sequence[Any], parent_of: Mapping[Any, Any]) -> list[Any]:
    """Return roots, then their children, and so on; siblings in the order of the mapping."""
    children: dict[Any, list[Any]] = {}
    for child, parent in parent_of.items():
        children.setdefault(parent, []).append(child)
    order = list(roots)
    for node in order:  # grows while it is read
        order += children.get(node, ())
    return order


def refuse_cycles(what: str, nodes: Iterable[Any], parent_of: Mapping[Any, Any]) -> None:
    """Raise `DataError`, which names the nodes, if somebody is among his own ancestors."""
    cleared = set[Any]()
    for start in nodes:
        path: dict[Any, None] = {}
        node = start
        while node in parent_of and node not in cleared:
            if node in path:
                above = list(path)
                raise DataError(f"{what}: {_cycle(above[above.index(node) :])} is a cycle")
            path[node] = None
            node = parent_of[node]
        cleared.update(path)


def _cycle(upwards: list[Any]) -> str:
    """Return the nodes of a cycle from parent to child, the first one again at the end.

    It begins with the first of the nodes, unless that only hangs on it.
    """
    names = [repr(node) for node in [upwards[0], *reversed(upwards[1:])]]
    if len(names) > _SHOWN:
        names[_SHOWN - 1 : -1] = [f"({len(names) - _SHOWN} more)"]
    return " > ".join([*names, names[0]])


def _are_numbers(nodes: list[Any], root: Any) -> bool:
    kinds = set(map(type, nodes))
    return kinds == {int} and root == 0 and min(nodes) == 0 and max(nodes) == len(nodes) - 1
