"""Base of the label trees: the tree, paths through it, and small copies for prediction."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from labelgrove._errors import DataError, ParameterError
from labelgrove._parameters import byte_count, choice, real, thread_count
from labelgrove.models._base import LabelClassifier
from labelgrove.models.engine._archive import About
from labelgrove.models.engine._compacting import compact_copy
from labelgrove.models.engine._learned import Learned, TreeEngine, as_collection, known
from labelgrove.models.engine._predicting import precision_at
from labelgrove.models.engine._records import DTYPES, CompactionReport, Options
from labelgrove.models.engine._staged import StagedEngine
from labelgrove.models.engine._trees import tree_numbers, tree_snapshot
from labelgrove.models.explanations._explain import products_along
from labelgrove.trees import LabelTree


class LabelTreeClassifier(LabelClassifier):
    """Base of the estimators whose engine searches a tree with one leaf per label."""

    _learned: Learned[Options, TreeEngine] | None = None

    @property
    def tree_(self) -> LabelTree:
        """The current tree, without the leaves of removed labels; of an ensemble, the first."""
        with self._reading("tree_"):
            learned = known(self._learned)
            return tree_snapshot(learned.engine.tree(), learned.labels.names)

    def compact(
        self,
        *,
        dtype: str = "float32",
        threshold: float | None = None,
        max_bytes: int | str | None = None,
        X: Any = None,
        y: Any = None,
    ) -> Self:
        """Return a small copy that can predict but not learn.

        Weights may be rounded and small ones dropped; each row of weights is stored in the form
        that takes the fewest bytes. For learnt vectors (:class:`EmbeddingClassifier`), numbers are
        rounded and features dropped. A copy with ``dtype="float32"`` and no threshold makes the
        same predictions as this model, except for rounding if it learnt online. Once saved and
        loaded, the weights stay in the mapped file, and processes that load the same file share
        them.

        Parameters
        ----------
        dtype : {"float32", "float16", "int8"}
            How weights are stored: in 4, 2 or 1 bytes. With "int8" every classifier or vector has
            its own scale. The bias is always a float32. AROW has 2 bytes already: a copy in 4 is
            larger than the model saved for prediction.
        threshold : float, optional
            Drop weights that contribute less than this to the linear score of a feature with
            value 1, or features whose vectors are shorter than this, as fastText's cut-off does.
        max_bytes : int or str, optional
            Largest size of the model's file, such as ``"10MB"``. Replaces ``threshold`` with the
            smallest value that makes the file fit.
        X, y : optional
            As for ``fit``, preferably held out. The report then has P@1, P@3 and P@5 of this
            model and of the copy on these examples.

        Returns
        -------
        estimator
            Of the same class; its ``compaction_`` reports what was saved and lost.

        Raises
        ------
        NotLearnedError
            Before the first example.
        ParameterError
            If a parameter lies outside its domain, or the model does not fit with any threshold.
        DataError
            If X and y cannot be used.

        Examples
        --------
        >>> from labelgrove import OnlinePLTClassifier
        >>> X, y = [[1.0, 0.0], [0.0, 1.0]], [["a"], ["b"]]
        >>> small = OnlinePLTClassifier().fit(X, y).compact(dtype="float16", X=X, y=y)
        >>> small.predict_topk(X, k=1)[0].tolist(), small.compaction_.precision_after[0]
        ([['a'], ['b']], 1.0)
        """
        return self._compact(dtype, threshold, max_bytes, X, y, self._about())

    def _compact(
        self,
        dtype: str,
        threshold: float | None,
        max_bytes: int | str | None,
        X: Any,
        y: Any,
        about: About,
    ) -> Self:
        choice("dtype", dtype, DTYPES)
        if threshold is not None and max_bytes is not None:
            raise ParameterError("threshold and max_bytes exclude each other; expected one of them")
        least = 0.0 if threshold is None else real("threshold", threshold, 0.0, math.inf)
        most = None if max_bytes is None else byte_count("max_bytes", max_bytes, 1)
        if (X is None) != (y is None):
            raise ParameterError("found only one of X and y; expected both or neither")
        measure = None
        if X is not None:
            measure = partial(precision_at, X=X, y=y, kinds=self._kinds, n_jobs=self.n_jobs)
        with self._guard.reading():
            learned = known(self._learned)
            compacted = compact_copy(
                self._format, learned, about, dtype, least, most, measure, self.n_jobs
            )
        copy: Self = clone(self)
        copy._learned = compacted
        copy._vocabulary = self._vocabulary
        return copy

    @property
    def compaction_(self) -> CompactionReport:
        """What :meth:`compact` saved and lost; only on the copies that it returns."""
        if self._learned is None or self._learned.compaction is None:
            raise AttributeError("compaction_ is available only on copies returned by compact()")
        return self._learned.compaction

    def label_paths(self, X: Any, labels: Sequence[Collection[Any]]) -> LabelPaths:
        """Return the paths of given labels through the tree, with probabilities, for many rows.

        Parameters
        ----------
        X
            As for :meth:`predict_topk`.
        labels : sequence of n collections of labels
            The labels to follow for each row. Labels that the model does not know have empty
            paths.

        Returns
        -------
        LabelPaths

        Raises
        ------
        NotLearnedError
            Before the first example.
        DataError
            If X cannot be used, the numbers of rows and collections differ, or a row's labels are
            not a collection.

        Examples
        --------
        >>> from labelgrove import OnlinePLTClassifier
        >>> clf = OnlinePLTClassifier().fit([[1, 0], [0, 1]] * 9, ["ebb", "flow"] * 9)
        >>> paths = clf.label_paths([[1, 0], [0, 1]], [["ebb"], ["flow", "flood"]])
        >>> paths.indptr.tolist(), paths.nodes[[0, 2]].tolist()
        ([0, 2, 4, 4], [0, 0])
        """
        with self._guard.reading():
            return _label_paths(known(self._learned), X, labels, thread_count(self.n_jobs))


@dataclass(frozen=True, eq=False)
class LabelPaths:
    """The nodes on the paths to labels, one path after another, each from the root to the leaf.

    Attributes
    ----------
    indptr : int64 array (n_labels + 1,)
        The i-th label's path is at ``[indptr[i]:indptr[i + 1]]``.
    nodes : int64 array
        Numbers of nodes in the model's ``tree_``.
    products : float32 array
        P(node | x); with a second stage, the product of the nodes' probabilities calibrated as if
        it were a label's.
    """

    indptr: npt.NDArray[np.int64]
    nodes: npt.NDArray[np.int64]
    products: npt.NDArray[np.float32]


def _label_paths(
    learned: Learned[Options, TreeEngine], X: Any, labels: Sequence[Collection[Any]], threads: int
) -> LabelPaths:
    rows = learned.check_rows(X)
    if len(labels) != rows.n_rows:
        raise DataError(f"labels has {len(labels)} rows: expected {rows.n_rows}, as X has")
    names = [as_collection(row, f"labels[{i}]") for i, row in enumerate(labels)]
    ends = np.cumsum([0, *map(len, names)]).astype(np.int64)
    ids = learned.labels.ids_of([*chain.from_iterable(names)]).astype(np.int64)
    nowhere = learned.engine.label_count
    ids[~np.isin(ids, learned.engine.labels())] = nowhere
    indptr, conditional = learned.engine.paths(*rows.arrays, ends, ids.astype(np.uint32), threads)
    tree = learned.engine.tree()
    leaf_of = np.zeros(nowhere + 1, np.int64)
    there = (tree["silent"] == 0) & (tree["label"] < nowhere)
    leaf_of[tree["label"][there]] = np.flatnonzero(there)
    nodes = _nodes_above(leaf_of[ids], tree, indptr)
    products = products_along(conditional, indptr)
    if isinstance(learned.engine, StagedEngine):
        row_of = np.repeat(np.arange(rows.n_rows), np.diff(ends))
        row_of = np.repeat(row_of, np.diff(indptr))
        products = learned.engine.calibrated(rows.arrays, row_of, products)
    return LabelPaths(indptr, nodes, products)


def _nodes_above(
    leaves: npt.NDArray[np.int64],
    tree: Mapping[str, npt.NDArray[Any]],
    indptr: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """Return the nodes of all paths, walking up from all leaves at once."""
    numbers, parents = tree_numbers(tree), tree["parent"].astype(np.int64)
    nodes = np.empty(int(indptr[-1]), np.int64)
    at, end = leaves, indptr[1:] - 1
    on_path = end >= indptr[:-1]
    while on_path.any():
        nodes[end[on_path]] = numbers[at[on_path]]
        at, end = np.where(on_path, parents[at], at), end - 1
        on_path = end >= indptr[:-1]
    return nodes
