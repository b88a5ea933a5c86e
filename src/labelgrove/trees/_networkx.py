"""Label trees as graphs of networkx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from labelgrove._errors import DataError
from labelgrove._optional import optional
from labelgrove.trees._named import number_nodes

if TYPE_CHECKING:
    from labelgrove.trees._label_tree import LabelTree


def write_networkx(tree: LabelTree) -> Any:
    """Return a networkx.DiGraph with edges to children; leaves have the attribute `label`."""
    graph = optional("networkx", "LabelTree.to_networkx").DiGraph()
    parents = tree.parents.tolist()
    graph.add_nodes_from(range(tree.n_nodes))
    graph.add_edges_from((parents[v], v) for v in range(1, tree.n_nodes))
    for node, name in tree.labels.items():
        graph.nodes[node]["label"] = name
    return graph


def read_networkx(graph: Any) -> tuple[str, list[int], dict[int, Any]]:
    """Return what a message calls the graph, the parent of every node, and the leaves' labels.

    Raises
    ------
    DataError
        Not a directed tree.
    """
    what = "tree as a graph"
    networkx = optional("networkx", "LabelTree.from_networkx")
    if not isinstance(graph, networkx.DiGraph):
        raise DataError(f"{what}: expected a networkx.DiGraph, not {type(graph).__name__}")
    given = {node: label for node, label in graph.nodes(data="label") if label is not None}
    order, parents = number_nodes(what, graph.nodes, graph.edges())
    return what, parents, labels_of_leaves(what, order, parents, given)


def labels_of_leaves(
    what: str, order: list[Any], parents: list[int], given: dict[Any, Any]
) -> dict[int, Any]:
    """Return labels by number: those that are given, and for other leaves their own names.

    Raises
    ------
    DataError
        A label is given for a node with children.
    """
    if len(order) == 1:  # a root alone may be without a label
        return {0: given[order[0]]} if given else {}
    is_leaf = np.ones(len(parents), bool)
    is_leaf[parents[1:]] = False
    for node, leaf in zip(order, is_leaf.tolist(), strict=False):
        if not leaf and node in given:
            raise DataError(
                f"{what}: node {node!r} has children and a label, {given[node]!r:.80}; expected "
                "labels at leaves only"
            )
    return {
        v: given.get(order[v], order[v]) for v in np.flatnonzero(is_leaf[: len(order)]).tolist()
    }
