"""The structure of a label tree."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove._errors import ParameterError


class LabelTree:
    """A rooted tree whose leaves stand for labels; it never changes.

    Parameters
    ----------
    parents : sequence of int
        The parent of every node; the root, node 0, has -1. Any numbering of the others will do.
    labels : mapping from int to str or int
        The label of every leaf. Leaves are all nodes without children.

    Raises
    ------
    ParameterError
        If the nodes do not form one tree with root 0, or if leaves and labels do not match one to
        one; the message names the node.

    Examples
    --------
    >>> tree = LabelTree([-1, 0, 0, 1, 1], {2: "fish", 3: "cat", 4: "dog"})
    >>> tree.depth, tree.n_labels, tree.children(1)
    (2, 3, [3, 4])
    """

    def __init__(
        self, parents: Sequence[int] | npt.NDArray[Any], labels: Mapping[int, Hashable]
    ) -> None:
        self._parents = np.array(parents, dtype=np.int64)
        self._labels = {int(node): label for node, label in labels.items()}
        self._check()

    @classmethod
    def flat(cls, labels: Iterable[Hashable]) -> LabelTree:
        """One level: every label is a child of the root (one-versus-rest).

        Parameters
        ----------
        labels : iterable of str or int

        Returns
        -------
        LabelTree

        Examples
        --------
        >>> LabelTree.flat(["a", "b"]).depth
        1
        """
        names = list(labels)
        return cls([-1] + [0] * len(names), {i + 1: name for i, name in enumerate(names)})

    @property
    def parents(self) -> npt.NDArray[np.int64]:
        """Parent of every node, -1 for the root; shape (n_nodes,)."""
        return self._parents.copy()

    @property
    def labels(self) -> dict[int, Any]:
        """Label of every leaf."""
        return dict(self._labels)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, inner nodes and leaves."""
        return len(self._parents)

    @property
    def n_labels(self) -> int:
        """Number of leaves that stand for a label."""
        return len(self._labels)

    @cached_property
    def _children(self) -> list[list[int]]:
        children: list[list[int]] = [[] for _ in range(self.n_nodes)]
        for node, parent in enumerate(self._parents.tolist()):
            if parent >= 0:
                children[parent].append(node)
        return children

    def children(self, node: int) -> list[int]:
        """Children of a node, in order."""
        return list(self._children[node])

    @cached_property
    def depths(self) -> npt.NDArray[np.int64]:
        """Depth of every node, 0 for the root; shape (n_nodes,)."""
        depths = np.full(self.n_nodes, -1, np.int64)
        depths[0] = 0
        level = [0]
        while level:
            level = [child for node in level for child in self._children[node]]
            depths[level] = depths[self._parents[level]] + 1
        return depths

    @property
    def depth(self) -> int:
        """Depth of the deepest leaf; a root alone has depth 0."""
        return int(self.depths.max())

    def __repr__(self) -> str:
        return f"LabelTree({self.n_nodes} nodes, {self.n_labels} labels, depth {self.depth})"

    def _check(self) -> None:
        n = self.n_nodes
        if n == 0 or self._parents[0] != -1:
            raise ParameterError("tree: node 0 must be the root, with parent -1")
        wrong = np.flatnonzero((self._parents[1:] < 0) | (self._parents[1:] >= n))
        if wrong.size:
            node = int(wrong[0]) + 1
            raise ParameterError(
                f"tree: node {node} has parent {self._parents[node]}; expected 0 to {n - 1}"
            )
        lost = np.flatnonzero(self.depths < 0)
        if lost.size:
            raise ParameterError(f"tree: node {lost[0]} hangs on a cycle, not on the root")
        for node in range(n):
            if bool(self._children[node]) == (node in self._labels) and (n > 1 or self._labels):
                what = "an inner node with" if self._children[node] else "a leaf without"
                raise ParameterError(f"tree: node {node} is {what} a label")
        if unknown := [node for node in self._labels if not 0 <= node < n]:
            raise ParameterError(f"tree: label of node {unknown[0]}, which does not exist")
        if len(set(self._labels.values())) != len(self._labels):
            raise ParameterError("tree: a label stands at two leaves")
