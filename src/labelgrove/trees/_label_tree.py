"""Label trees."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove._errors import DataError, ParameterError
from labelgrove._names import Names, as_names, as_vector, check_savable
from labelgrove._parameters import integer
from labelgrove.trees._frequencies import as_frequencies, as_labels
from labelgrove.trees._graphs import read_networkx, write_dot, write_networkx
from labelgrove.trees._plot import plot_tree
from labelgrove.trees._structure import (
    Imported,
    Nodes,
    TreeStatistics,
    as_parents,
    children_of,
    depths_of,
    leaves_of,
    places_of_labels,
    statistics_of,
)
from labelgrove.trees._text_formats import read_edge_list, read_json, write_edge_list, write_json


class LabelTree:
    """An immutable rooted tree whose leaves represent labels.

    Two trees are equal if the same nodes have the same parents and the same labels, numbering
    included. A tree may have a million nodes: it is stored in two arrays, `parents` and
    `leaf_labels`, and only `labels` and `children` create Python objects.

    Parameters
    ----------
    parents : sequence of int
        The parent of every node; node 0 is the root and has -1. The other nodes may be numbered in
        any order.
    labels : mapping from int to str or int, or sequence of str or int
        The label of every leaf (a node without children): by node, or in ascending order of the
        leaves. Labels are all strings or all integers. A single root needs no label.

    Raises
    ------
    ParameterError
        If the nodes do not form one tree with root 0, or if leaves and labels do not match one to
        one; the message names the node.
    DataError
        If a label is neither a string nor a 64-bit integer, or if both types are mixed.

    Examples
    --------
    >>> tree = LabelTree([-1, 0, 0, 1, 1], {2: "fish", 3: "cat", 4: "dog"})
    >>> tree.depth, tree.n_labels, tree.children(1)
    (2, 3, [3, 4])
    >>> LabelTree([-1, 0, 0, 1, 1], ["fish", "cat", "dog"]) == tree
    True
    >>> LabelTree.from_json(tree.to_json()) == tree
    True
    """

    def __init__(
        self,
        parents: Sequence[int] | npt.NDArray[Any],
        labels: Mapping[int, Hashable] | Sequence[Hashable] | Names,
    ) -> None:
        self._parents = as_parents(parents)
        self._depths = depths_of(self._parents)
        self._leaves = leaves_of(self._parents)
        names: Sequence[Any] | Names
        if isinstance(labels, Mapping):
            nodes, names = _sorted_labels(labels, self.n_nodes)
            self._check_nodes(nodes)
        else:
            names = as_vector(labels)
            if len(names) != self._leaves.size and (self.n_nodes > 1 or len(names)):
                raise ParameterError(
                    f"tree: there are {len(names)} labels for {self._leaves.size} leaves"
                )
        self._leaves = self._leaves[: len(names)]  # none for a single root without a label
        self._names = self._checked(names)
        for array in (self._depths, self._leaves, self._names):
            array.flags.writeable = False

    @classmethod
    def flat(cls, labels: Iterable[Hashable]) -> LabelTree:
        """Create a tree of one level: every label is a child of the root (one-versus-rest).

        Parameters
        ----------
        labels : iterable of str or int

        Returns
        -------
        LabelTree

        Raises
        ------
        ParameterError
            If a label is given twice.
        DataError
            If the labels are not a list of strings or one of integers.

        Examples
        --------
        >>> LabelTree.flat(["a", "b"]).depth
        1
        """
        names = as_labels(labels)
        return cls([-1] + [0] * len(names), names)

    @property
    def parents(self) -> Nodes:
        """Parent of every node, -1 for the root; shape (n_nodes,)."""
        return self._parents.copy()

    @property
    def leaves(self) -> Nodes:
        """Nodes that represent labels, ascending; shape (n_labels,), read-only."""
        return self._leaves

    @property
    def leaf_labels(self) -> Names:
        """Labels of `leaves`, object (str) or int64; shape (n_labels,), read-only."""
        return self._names

    @property
    def labels(self) -> dict[int, Any]:
        """Label of every leaf, in the order of `leaves`."""
        return dict(zip(self._leaves.tolist(), self._names.tolist(), strict=True))

    @property
    def n_nodes(self) -> int:
        """Number of nodes, both inner nodes and leaves."""
        return len(self._parents)

    @property
    def n_labels(self) -> int:
        """Number of leaves that represent labels."""
        return len(self._names)

    @cached_property
    def _children(self) -> tuple[Nodes, Nodes]:
        return children_of(self._parents)

    def children(self, node: int) -> list[int]:
        """Return the children of a node, in ascending order; an empty list for a leaf."""
        node = integer("node", node, 0, self.n_nodes - 1)
        starts, children = self._children
        below: list[int] = children[starts[node] : starts[node + 1]].tolist()
        return below

    @property
    def depths(self) -> Nodes:
        """Depth of every node, 0 for the root; shape (n_nodes,), read-only."""
        return self._depths

    @property
    def depth(self) -> int:
        """Depth of the deepest leaf; 0 for a single root."""
        return int(self._depths.max())

    def expected_depth(
        self, frequencies: Any, labels: Sequence[Any] | Names | None = None
    ) -> float:
        """Return the mean depth of the labels, weighted by frequency.

        It is the sum of f_l·depth(l) over all labels, with f scaled to sum 1: the objective of
        Baharav et al. (2021), and the mean codeword length if the tree is read as a prefix code.

        Parameters
        ----------
        frequencies : mapping from label to number, or sequence of numbers
            Frequency of each label, not negative. Labels without a frequency count as 0.
        labels : sequence of str or int, optional
            The labels of a sequence of frequencies; 0, 1, 2... if not given.

        Returns
        -------
        float

        Raises
        ------
        ParameterError
            A frequency is negative or not finite, a label is not in the tree, or no frequency is
            above 0.

        Examples
        --------
        >>> tree = LabelTree([-1, 0, 0, 1, 1], {2: "fish", 3: "cat", 4: "dog"})
        >>> tree.expected_depth({"fish": 2, "cat": 1, "dog": 1})
        1.5
        """
        names, values = as_frequencies(frequencies, labels)
        places = places_of_labels(names, self._names)
        total = values.sum()
        if total == 0:
            raise ParameterError("frequencies: all are 0; expected one above 0")
        return float(values @ self._depths[self._leaves[places]] / total)

    def statistics(
        self, frequencies: Any = None, labels: Sequence[Any] | Names | None = None
    ) -> TreeStatistics:
        """Return statistics of the tree's shape.

        Parameters
        ----------
        frequencies, labels : optional
            As for `expected_depth`, which is included if they are given.

        Returns
        -------
        TreeStatistics

        Raises
        ------
        ParameterError
            As for `expected_depth`.

        Examples
        --------
        >>> tree = LabelTree([-1, 0, 0, 1, 1], {2: "fish", 3: "cat", 4: "dog"})
        >>> found = tree.statistics()
        >>> found.depth, found.arities, round(found.balance, 3)
        (2, {2: 2}, 0.951)
        """
        if frequencies is None and labels is not None:
            raise ParameterError("labels: given without frequencies")
        found = statistics_of(self._parents, self._depths[self._leaves])
        if frequencies is None:
            return found
        return replace(found, expected_depth=self.expected_depth(frequencies, labels))

    def plot(self, ax: Any = None, *, max_nodes: int = 300) -> Any:
        """Draw the tree from left to right, or a summary if it is too large to read.

        Needs Matplotlib. The summary shows the numbers of inner nodes and labels at each depth.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw on; a new figure of suitable size if not given.
        max_nodes : int
            Maximum size of a tree that is drawn node by node.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        MissingDependencyError
            Matplotlib is not installed.
        ParameterError
            `max_nodes` is not a positive integer.
        """
        return plot_tree(self._parents, self._depths, self.labels, self.statistics(), ax, max_nodes)

    def to_json(self) -> str:
        """Return the tree as JSON: the parent and the label (or null) of every node.

        Examples
        --------
        >>> LabelTree.flat(["cat", "dog"]).to_json()
        '{"format": "labelgrove-tree", "version": 1, "parents": [-1, 0, 0],
          "labels": [null, "cat", "dog"]}'
        """
        return write_json(self._parents, self.labels)

    @classmethod
    def from_json(cls, text: str) -> LabelTree:
        """Return the tree that `to_json` wrote; raises `DataError` for anything else."""
        return cls._imported(read_json(text))

    def to_edge_list(self) -> str:
        r"""Return one line per node: its parent, its number and, for a leaf, its label in JSON.

        Fields are separated by tabs. The root has a line only if it is the only node.

        Examples
        --------
        >>> LabelTree.flat(["cat", "dog"]).to_edge_list()
        '0\t1\t"cat"\n0\t2\t"dog"\n'
        """
        return write_edge_list(self._parents, self.labels)

    @classmethod
    def from_edge_list(cls, text: str) -> LabelTree:
        """Return the tree that `to_edge_list` wrote, whatever the order of its lines.

        Raises
        ------
        DataError
            The text has another form; the message names the line.
        """
        return cls._imported(read_edge_list(text))

    def to_dot(self) -> str:
        """Return the tree in Graphviz's DOT language, for drawing; it cannot be read back."""
        return write_dot(self._parents, self.labels)

    def to_networkx(self) -> Any:
        """Return a networkx.DiGraph with edges to children; leaves have the attribute `label`.

        Raises
        ------
        MissingDependencyError
            networkx is not installed.
        """
        return write_networkx(self._parents, self.labels)

    @classmethod
    def from_networkx(cls, graph: Any) -> LabelTree:
        """Convert a networkx.DiGraph into a tree.

        Parameters
        ----------
        graph : networkx.DiGraph
            A tree with edges from parents to children. The label of a leaf without the attribute
            `label` is the node itself. Nodes keep their numbers if these are 0, 1, 2... with root
            0; otherwise they are numbered by depth.

        Raises
        ------
        DataError
            The graph is not such a tree; the message names the node.
        """
        return cls._imported(read_networkx(graph))

    @classmethod
    def _imported(cls, imported: Imported) -> LabelTree:
        what, parents, labels = imported
        try:
            return cls(parents, labels)
        except (ParameterError, DataError) as error:
            raise DataError(f"{what}: {error}") from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelTree):
            return NotImplemented
        return np.array_equal(self._parents, other._parents) and (
            self._names.tolist() == other._names.tolist()
        )

    def __hash__(self) -> int:
        return hash((self._parents.tobytes(), *self._names[:100].tolist()))

    def __reduce__(self) -> tuple[Any, ...]:
        return LabelTree, (self._parents, self._names)

    def __repr__(self) -> str:
        return f"LabelTree({self.n_nodes} nodes, {self.n_labels} labels, depth {self.depth})"

    def _check_nodes(self, nodes: Nodes) -> None:
        """Raise `ParameterError` unless the nodes with labels are the leaves."""
        alone = self.n_nodes == 1 and not nodes.size
        if not alone and not np.array_equal(nodes, self._leaves):
            wrong = np.setxor1d(nodes, self._leaves, assume_unique=True)[0]
            what = "an inner node with" if wrong in nodes else "a leaf without"
            raise ParameterError(f"tree: node {wrong} is {what} a label")

    def _checked(self, labels: Sequence[Any] | Names) -> Names:
        """Return the leaves' labels as an array after checking that they are distinct."""

        def place(i: int) -> str:
            return f"tree, node {self._leaves[i]}"

        names = as_names(labels, place=place, classes=False)
        plain = names.tolist()
        check_savable(plain, lambda name: f"{place(plain.index(name))}: label")
        if len(set(plain)) != len(plain):
            first: dict[Any, int] = {}
            twice = next(i for i, name in enumerate(plain) if first.setdefault(name, i) != i)
            one, other = self._leaves[[first[plain[twice]], twice]].tolist()
            raise ParameterError(
                f"tree: two leaves, nodes {one} and {other}, have the same label {plain[twice]!r}"
            )
        return names


def _sorted_labels(labels: Mapping[int, Any], n_nodes: int) -> tuple[Nodes, list[Any]]:
    """Return the nodes of a mapping in ascending order, and their labels."""
    for node in labels:
        if not isinstance(node, int | np.integer) or isinstance(node, bool):
            raise ParameterError(f"tree: label of node {node!r}; expected an integer")
        if not 0 <= node < n_nodes:
            raise ParameterError(f"tree: label of node {node}, which does not exist")
    nodes = np.fromiter(labels, np.int64, len(labels))
    names = list(labels.values())
    if (nodes[1:] <= nodes[:-1]).any():
        order = np.argsort(nodes)
        nodes, names = nodes[order], [names[i] for i in order.tolist()]
    return nodes, names
