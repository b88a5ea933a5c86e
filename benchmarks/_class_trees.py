"""The baselines of the LOMtree paper: Rtree, filter tree, one-against-all.

They serve as baselines only: neighbours in a random tree of classes have nothing in common. Rtree
and one-against-all are :class:`~labelgrove.OnlinePLTClassifier` on a given tree. A filter tree
(Beygelzimer, Langford & Ravikumar 2009) is a random tree too, but a node learns from an example
only if all nodes below it on the path to the class classified it correctly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelgrove import OnlinePLTClassifier
from labelgrove.trees import LabelTree, complete_tree

Array = npt.NDArray[Any]


def random_tree(classes: Sequence[Any], *, seed: int = 0) -> LabelTree:
    """A balanced binary tree whose leaves are the classes in random order."""
    return complete_tree(classes, shuffle=True, random_state=seed)


def one_against_all(classes: Sequence[Any], **parameters: Any) -> OnlinePLTClassifier:
    """One classifier per class, all below the root; every example updates all of them."""
    return OnlinePLTClassifier(policy="fixed", tree=LabelTree.flat(classes), **parameters)


def rtree(classes: Sequence[Any], *, seed: int = 0, **parameters: Any) -> OnlinePLTClassifier:
    """A random tree; predict with ``beam_width=1`` to follow a single path, as in the paper."""
    return OnlinePLTClassifier(
        policy="fixed", tree=random_tree(classes, seed=seed), replay=0, **parameters
    )


class FilterTree:
    """A filter tree whose nodes are linear, learnt by online gradient descent.

    Parameters
    ----------
    classes : sequence
    learning_rate : float
        Step size; a step never overshoots its target.
    epochs : int
        Passes of :meth:`fit`.
    seed : int
        Seed of the order of the classes.
    """

    def __init__(
        self, classes: Sequence[Any], *, learning_rate: float = 0.5, epochs: int = 1, seed: int = 0
    ) -> None:
        self.classes = np.array(classes)
        self.epochs = epochs
        self.learning_rate = learning_rate
        self._place = np.random.default_rng(seed).permutation(len(classes))
        # A heap: node i has the children 2 i and 2 i + 1, leaf p is node `_leaves` + p.
        self._leaves = 1 << max(len(classes) - 1, 1).bit_length()
        self._class_at = np.full(self._leaves, -1)
        self._class_at[self._place] = np.arange(len(classes))
        self._there = np.zeros(2 * self._leaves, bool)
        self._there[self._leaves + self._place] = True
        for node in range(self._leaves - 1, 0, -1):
            self._there[node] = self._there[2 * node] or self._there[2 * node + 1]
        self._weights = np.zeros((0, 0), np.float32)

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from the rows in order, ``epochs`` times."""
        for _ in range(self.epochs):
            self.partial_fit(X, y)
        return self

    def size(self) -> dict[str, int]:
        """Size in bytes."""
        return {"model_bytes": self._weights.nbytes}

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn from the rows in order."""
        X, ids = self._rows(X), {name: i for i, name in enumerate(self.classes.tolist())}
        if not self._weights.size:
            self._weights = np.zeros((self._leaves, X.shape[1] + 1), np.float32)
        for row, name in enumerate(np.asarray(y).tolist()):
            self._learn(*self._features(X, row), self._leaves + int(self._place[ids[name]]))
        return self

    def predict(self, X: Any) -> Array:
        """Predict the class of every row along one path from the root."""
        X = self._rows(X)
        return self.classes[[self._descend(*self._features(X, row)) for row in range(X.shape[0])]]

    def _learn(self, ids: Array, values: Array, leaf: int) -> None:
        square = float(values @ values)
        step = -np.expm1(-self.learning_rate * square) / square
        node = leaf
        while node > 1:
            parent, target = node // 2, 1.0 if node % 2 else -1.0
            if self._there[node ^ 1]:  # otherwise the winner has no opponent
                weights = self._weights[parent]
                margin = float(weights[ids] @ values)
                weights[ids] += step * (target - np.clip(margin, -1, 1)) * values
                if float(weights[ids] @ values) * target <= 0:
                    return  # the class lost, so it is no candidate further up
            node = parent

    def _descend(self, ids: Array, values: Array) -> int:
        node = 1
        while node < self._leaves:
            right = float(self._weights[node][ids] @ values) > 0
            node = 2 * node + right
            if not self._there[node]:
                node ^= 1
        return int(self._class_at[node - self._leaves])

    @staticmethod
    def _rows(X: Any) -> sp.csr_array:
        rows = sp.csr_array(X, dtype=np.float32)
        lengths = np.sqrt(rows.multiply(rows).sum(axis=1))
        return sp.csr_array(sp.diags_array(1 / np.maximum(lengths, 1e-12)) @ rows)

    @staticmethod
    def _features(X: sp.csr_array, row: int) -> tuple[Array, Array]:
        """Ids and values of a row, the bias last."""
        at = slice(X.indptr[row], X.indptr[row + 1])
        return np.append(X.indices[at], X.shape[1]), np.append(X.data[at], np.float32(1))
