"""Label trees as graphs, for networkx and Graphviz, and trees from edges between named nodes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Final

from labelgrove._errors import DataError
from labelgrove._optional import optional
from labelgrove.trees._structure import Imported, Nodes

_SHOWN = 8  # maximum number of a cycle's names in a message

# Graphviz interprets backslashes and entities when it draws a label; other control characters are
# not allowed in its files.
_ESCAPE: Final = str.maketrans(
    {"\\": r"\\", '"': r"\"", "&": "&amp;", "\n": r"\n", "\r": r"\r"}
    | {chr(code): f"&#{code};" for code in [*range(32), 127] if chr(code) not in "\n\r"}
)


def write_dot(parents: Nodes, labels: Mapping[int, Any]) -> str:
    """Return a digraph with edges to children; leaves have the attribute `label`."""
    lines = ["digraph tree {", "  node [shape=box];"]
    for node, parent in enumerate(parents.tolist()):
        named = f'label="{str(labels[node]).translate(_ESCAPE)}"' if node in labels else None
        lines.append(f"  {node} [{named or 'shape=point'}];")
        if parent >= 0:
            lines.append(f"  {parent} -> {node};")
    return "\n".join([*lines, "}", ""])


def write_networkx(parents: Nodes, labels: Mapping[int, Any]) -> Any:
    """Return a networkx.DiGraph with edges to children; leaves have the attribute `label`."""
    graph = optional("networkx", "LabelTree.to_networkx", "networkx").DiGraph()
    graph.add_nodes_from(range(parents.size))
    graph.add_edges_from(zip(parents[1:].tolist(), range(1, parents.size), strict=True))
    for node, name in labels.items():
        graph.nodes[node]["label"] = name
    return graph


def read_networkx(graph: Any) -> Imported:
    """Read a networkx.DiGraph; raise `DataError` unless it is a tree."""
    what = "tree as a graph"
    networkx = optional("networkx", "LabelTree.from_networkx", "networkx")
    if not isinstance(graph, networkx.DiGraph):
        raise DataError(f"{what}: expected a networkx.DiGraph, not {type(graph).__name__}")
    given = {node: label for node, label in graph.nodes(data="label") if label is not None}
    order, parents = _number_nodes(what, graph.nodes, graph.edges())
    return what, parents, _labels_of_leaves(what, order, parents, given)


def _labels_of_leaves(
    what: str, order: list[Any], parents: list[int], given: dict[Any, Any]
) -> dict[int, Any]:
    """Return labels by node number: the given ones, and other leaves' own names."""
    if len(order) < 2:  # a single root may have no label
        return {0: given[order[0]]} if given else {}
    inner = set(parents)
    for v, node in enumerate(order):
        if v in inner and node in given:
            raise DataError(
                f"{what}: node {node!r} has children and a label, {given[node]!r:.80}; expected "
                "labels at leaves only"
            )
    return {v: given.get(node, node) for v, node in enumerate(order) if v not in inner}


def _number_nodes(
    what: str, nodes: Iterable[Hashable], edges: Iterable[tuple[Hashable, Hashable]]
) -> tuple[list[Any], list[int]]:
    """Return the nodes of a tree in the order of their numbers, and the parent of every number.

    Nodes keep their numbers if these are 0, 1, 2... with root 0. Otherwise they are numbered level
    by level from the root. Edges are pairs (parent, child).
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
    for node in order:  # grows during the iteration
        order += children.get(node, ())
    return order


def refuse_cycles(what: str, nodes: Iterable[Any], parent_of: Mapping[Any, Any]) -> None:
    """Raise a `DataError` that names the nodes if a node is its own ancestor."""
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
    """Return the nodes of a cycle from parent to child, with the first one repeated at the end.

    It starts with the first of the given nodes.
    """
    names = [repr(node) for node in [upwards[0], *reversed(upwards[1:])]]
    if len(names) > _SHOWN:
        names[_SHOWN - 1 : -1] = [f"({len(names) - _SHOWN} more)"]
    return " > ".join([*names, names[0]])


def _are_numbers(nodes: list[Any], root: Any) -> bool:
    kinds = set(map(type, nodes))
    return kinds == {int} and root == 0 and min(nodes) == 0 and max(nodes) == len(nodes) - 1
