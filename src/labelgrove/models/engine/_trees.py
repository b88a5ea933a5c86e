"""Label trees for the engines: building them from data, and converting them to the core's form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove import _core
from labelgrove._errors import DataError, ParameterError
from labelgrove._labels import LabelRegistry
from labelgrove._parameters import choice, integer, real, thread_count
from labelgrove._sparse import csr_of
from labelgrove._validation import Rows
from labelgrove.models.engine._learned import MISSING
from labelgrove.trees import (
    LabelTree,
    complete_tree,
    cost_tree,
    fano_tree,
    huffman_tree,
    interpolated_tree,
    kmeans_tree,
)
from labelgrove.trees._embeddings import pifa

TREES = ("kmeans", "interpolated", "cost", "huffman", "fano", "complete", "random", "flat")
_EMBEDDED = ("kmeans", "interpolated", "cost")
_SEEDED = (*_EMBEDDED, "random")
_TREE_STREAM = 8  # of the core's random choices: see its hash.hpp

# For arity=None and max_leaf_size=None: docs/decisions/tree-shape.md.
_LABELS_A_CHILD, _MOST_CHILDREN = 128, 32
_LEAF_SIZE, _LEAF_SIZE_OF_FEW, _FEW_EXAMPLES = 200, 1000, 1000


def engine_tree(
    tree: LabelTree, ids: npt.ArrayLike | None = None
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Return parents and labels in the core's numbering, which has another node above the root.

    ``ids`` are those of the leaves' labels; by default 0, 1, 2…
    """
    parents = np.empty(tree.n_nodes + 1, np.uint32)
    parents[0], parents[1:] = MISSING, tree.parents + 1
    leaf_labels = np.full(tree.n_nodes + 1, MISSING, np.uint32)
    leaf_labels[tree.leaves + 1] = np.arange(tree.n_labels) if ids is None else ids
    return parents, leaf_labels


def tree_snapshot(arrays: dict[str, Any], names: npt.NDArray[Any]) -> LabelTree:
    """Return the core's tree without the node above the root and without silent leaves."""
    number = tree_numbers(arrays)
    kept = np.flatnonzero(number >= 0)
    parents = number[arrays["parent"][kept].astype(np.int64)]
    # The root stays even if it is the leaf of a removed label.
    labels = np.where(arrays["silent"], MISSING, arrays["label"])[kept]
    leaves = np.flatnonzero(labels != MISSING)
    return LabelTree(parents, {int(v): names[labels[v]] for v in leaves})


def tree_numbers(arrays: Mapping[str, Any]) -> npt.NDArray[np.int64]:
    """Return the number of each of the core's nodes in the snapshot, -1 if it is left out."""
    parents = arrays["parent"].astype(np.int64)
    parents[0] = 0
    keep = ~arrays["silent"].astype(bool)
    # Remove inner nodes that have no leaves left, from the bottom up.
    children_left = np.bincount(parents[1:], minlength=len(parents))
    gone = list(np.flatnonzero(~keep))
    while gone:
        parent = parents[gone.pop()]
        children_left[parent] -= 1
        if children_left[parent] == 0 and parent > 0:
            keep[parent] = False
            gone.append(parent)
    keep[0], keep[1] = False, True
    return np.where(keep, np.cumsum(keep) - 1, -1)


class TreePlan:
    """A plan for building trees, which checks the estimator's parameters about them at once."""

    def __init__(
        self, parameters: Mapping[str, Any], seed: int, *, usual_leaf_size: int | None = None
    ) -> None:
        self.given = parameters["tree"] if isinstance(parameters["tree"], LabelTree) else None
        self._kind = "" if self.given is not None else choice("tree", parameters["tree"], TREES)
        self.n_trees = integer("n_trees", parameters["n_trees"], 1, 1000)
        arity = parameters["arity"]
        self._arity = None if arity is None else integer("arity", arity, 2)
        size = parameters["max_leaf_size"]
        self._leaf_size = None if size is None else integer("max_leaf_size", size, 1)
        self._usual_leaf_size = usual_leaf_size or _LEAF_SIZE
        self._interpolation = real("interpolation", parameters["interpolation"], 0.0, 2.0)
        self._n_jobs = parameters["n_jobs"]
        self._seed = seed
        if self.n_trees > 1 and self._kind not in _SEEDED:
            raise ParameterError(
                f"n_trees={self.n_trees}: these trees would all be identical; expected n_trees=1, "
                f"or tree one of {', '.join(map(repr, _SEEDED))}"
            )

    def build(
        self,
        rows: Rows,
        indptr: npt.NDArray[np.int64],
        ids: npt.NDArray[np.uint32],
        labels: LabelRegistry,
    ) -> list[LabelTree]:
        """Build the trees over the ids of all labels that occur; a given tree must have them."""
        counts = np.bincount(ids, minlength=len(labels))
        if self.given is not None:
            return [over_ids(self.given, labels, counts)]
        present = np.flatnonzero(counts)
        indicator = label_matrix(indptr, ids, present)
        embeddings = None
        if self.embedded and present.size:
            embeddings = embed_labels(rows, indicator, self._n_jobs)
        return [
            self.one(counts, rows.n_rows, embeddings, indicator, t) for t in range(self.n_trees)
        ]

    @property
    def embedded(self) -> bool:
        """Whether building the trees requires embeddings of the labels."""
        return self._kind in _EMBEDDED

    @property
    def needs_indicator(self) -> bool:
        """Whether building the trees requires the labels of all examples."""
        return self._kind == "cost"

    def one(
        self,
        counts: npt.NDArray[np.int64],
        n_examples: int,
        embeddings: Any,
        indicator: Any,
        number: int,
    ) -> LabelTree:
        """Build the tree of this number in the ensemble, over the ids of all labels that occur.

        ``counts`` are by label id. ``embeddings`` and ``indicator`` are of the labels that occur,
        in order of their ids, and may be None if this kind of tree does not need them.
        """
        labels = np.flatnonzero(counts)
        if labels.size == 0:
            return LabelTree([-1], [])
        counts, seed = counts[labels], self._seed
        if number > 0:
            seed = _core.draw(seed, _TREE_STREAM, number)
        common = {"labels": labels, "random_state": seed, "n_jobs": self._n_jobs}
        few = n_examples <= _FEW_EXAMPLES and self.n_trees == 1
        leaf_size = self._leaf_size or (_LEAF_SIZE_OF_FEW if few else self._usual_leaf_size)
        arity = self._arity or usual_arity(len(labels), leaf_size)
        clustering = {**common, "arity": arity, "max_leaf_size": leaf_size}
        match self._kind:
            case "kmeans":
                return kmeans_tree(embeddings, **clustering)
            case "interpolated":
                lam = self._interpolation
                return interpolated_tree(embeddings, counts, interpolation=lam, **clustering)
            case "cost":
                return cost_tree(embeddings, indicator, **common)
            case "huffman":
                return huffman_tree(counts, labels, arity=self._arity or _MOST_CHILDREN)
            case "fano":
                return fano_tree(counts, labels, arity=arity, max_leaves=leaf_size)
            case "flat":
                return complete_tree(labels, arity=max(2, len(labels)))
            case _:
                return complete_tree(
                    labels,
                    arity=arity,
                    max_leaves=leaf_size,
                    shuffle=self._kind == "random",
                    random_state=seed,
                )


def usual_arity(n_labels: int, leaf_size: int) -> int:
    """Return the default arity of a tree with this number of labels."""
    return min(max(-(-n_labels // min(leaf_size, _LABELS_A_CHILD)), 2), _MOST_CHILDREN)


def label_matrix(
    indptr: npt.NDArray[np.int64], ids: npt.NDArray[np.uint32], present: npt.NDArray[np.int64]
) -> Any:
    """Return a 0/1 matrix of the labels of all rows, with a column for each id in ``present``."""
    columns = np.searchsorted(present, ids)
    return csr_of(np.ones(len(ids), np.uint8), columns, indptr, (len(indptr) - 1, len(present)))


def embed_labels(rows: Rows, indicator: Any, n_jobs: int | None) -> Any:
    """Return an embedding of each label from its examples; threads do not change the result."""
    return pifa(rows, indicator.T.tocsr(), thread_count(n_jobs))


def labels_of(tree: LabelTree | None) -> LabelRegistry:
    """Return the labels of a given tree, if any, with the ids that `engine_tree` assigns."""
    labels = LabelRegistry()
    if tree is not None:
        labels.ids_of(tree.leaf_labels, add=True)
    return labels


def over_ids(given: LabelTree, labels: LabelRegistry, counts: npt.NDArray[np.int64]) -> LabelTree:
    """Replace the names in a tree by label ids; the tree must have all labels that occur."""
    names = given.labels
    ids = labels.ids_of(list(names.values())) if names else np.zeros(0, np.int64)
    missing = np.setdiff1d(np.flatnonzero(counts), ids)
    if missing.size:
        raise DataError(f"y: label {labels.names[missing].tolist()[0]!r} is not in the tree")
    return LabelTree(given.parents, dict(zip(names, ids.tolist(), strict=True)))
