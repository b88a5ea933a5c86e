"""What all estimators over label trees share: prediction, label upkeep, attributes, saving."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Real
from os import PathLike
from typing import Any, Literal, Self, overload

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags

from labelgrove._errors import DataError, NotLearnedError, ParameterError
from labelgrove._labels import Targets, parse_targets
from labelgrove._validation import Rows
from labelgrove.models._archive import learned_from_state, model_state, save_model
from labelgrove.models._options import integer, thread_count
from labelgrove.models._prediction import (
    SearchStats,
    found_to_csr,
    ids_to_names,
    ranked_to_csr,
    refuse_if_too_large,
    tree_snapshot,
)
from labelgrove.models._state import Learned, as_collection
from labelgrove.trees import LabelTree


class LabelTreeClassifier(ClassifierMixin, BaseEstimator):
    """Base of the estimators; what was learnt is in ``_learned``, None before the first example."""

    _learned: Learned | None = None
    n_jobs: int | None
    threshold: float

    # --- prediction ----------------------------------------------------------------------------

    @overload
    def predict_topk(
        self,
        X: Any,
        k: int = 5,
        *,
        labels: Any = None,
        beam_width: int | None = None,
        return_stats: Literal[False] = False,
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32]]: ...

    @overload
    def predict_topk(
        self,
        X: Any,
        k: int = 5,
        *,
        labels: Any = None,
        beam_width: int | None = None,
        return_stats: Literal[True],
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32], SearchStats]: ...

    def predict_topk(
        self,
        X: Any,
        k: int = 5,
        *,
        labels: Any = None,
        beam_width: int | None = None,
        return_stats: bool = False,
    ) -> tuple[Any, ...]:
        """The k most probable labels of every row, best first.

        Uniform-cost search (Jasinska-Kobus et al. 2021, Algorithm 10) finds exactly the best; a
        beam may miss some. Among equal probabilities the label that arrived first comes first.

        Parameters
        ----------
        X
            As for ``fit``; features that the model does not know are ignored.
        k : int
        labels : collection of labels, optional
            Return no others.
        beam_width : int, optional
            Open only that many inner nodes on each level, in place of exact search.
        return_stats : bool

        Returns
        -------
        labels : ndarray of shape (n, k)
            Where there are fewer than k labels, the missing places hold None, or -1 where labels
            are integers.
        scores : ndarray of float32, shape (n, k)
            Probabilities, falling; NaN in missing places.
        stats : SearchStats
            If asked for.

        Raises
        ------
        NotLearnedError
            Before the first example.
        DataError, ParameterError
            If X, k, labels or beam_width cannot be used.
        """
        learned = self._require_learned()
        with learned.guard.reading():
            rows = learned.check_rows(X)
            ids, scores, classifiers, depth = self._top_k(learned, rows, k, labels, beam_width)
        found = ids_to_names(ids, learned.labels.names)
        if return_stats:
            return found, scores, SearchStats(classifiers, depth)
        return found, scores

    def predict_proba(
        self,
        X: Any,
        *,
        top_k: int | None = None,
        threshold: Any = None,
        labels: Any = None,
        beam_width: int | None = None,
    ) -> Any:
        """Sparse probability estimates: those that are among the best k, or reach a threshold.

        Parameters
        ----------
        X
            As for :meth:`predict_topk`.
        top_k : int, optional
            Only the k best of every row.
        threshold : float or array-like of shape (n_classes,), optional
            Only those that are at least this, or their label's, in the order of ``classes_``.
        labels, beam_width
            As for :meth:`predict_topk`; a beam goes with ``top_k``.

        Returns
        -------
        csr_array of shape (n, n_classes), float32
            One column a class, in the order of ``classes_``; what is not stored was not asked
            for. For multi-class targets and neither ``top_k`` nor ``threshold``: a dense
            ndarray whose rows are scaled to sum to 1.

        Raises
        ------
        NotLearnedError, DataError, ParameterError
            As for :meth:`predict_topk`; also if all probabilities would take more than a GiB.
        """
        if top_k is not None and threshold is not None:
            raise ParameterError("top_k and threshold exclude each other; expected one of them")
        if beam_width is not None and top_k is None:
            raise ParameterError("beam_width goes with top_k")
        learned = self._require_learned()
        with learned.guard.reading():
            rows = learned.check_rows(X)
            column_of, n_columns = learned.columns()
            if top_k is not None:
                ids, scores, _, _ = self._top_k(learned, rows, top_k, labels, beam_width)
                return ranked_to_csr(ids, scores, column_of, n_columns)
            if threshold is None:
                refuse_if_too_large(rows.n_rows, n_columns, 12)
            indptr, ids, scores, _, _ = learned.engine.above_threshold(
                *rows.arrays,
                learned.thresholds(0.0 if threshold is None else threshold),
                learned.allowed(labels),
                thread_count(self.n_jobs),
            )
        found = found_to_csr(indptr, ids, scores, column_of, n_columns)
        if threshold is not None or learned.kind != "multiclass":
            return found
        dense = found.toarray().astype(np.float64)
        totals = dense.sum(axis=1, keepdims=True)
        even = np.full_like(dense, 1 / max(n_columns, 1))
        return np.divide(dense, totals, out=even, where=totals > 0)

    def predict(self, X: Any) -> Any:
        """The most probable class of every row, or all labels from ``threshold`` on.

        Parameters
        ----------
        X
            As for :meth:`predict_topk`.

        Returns
        -------
        ndarray of shape (n,) or csr_array of shape (n, n_classes)
            Multi-class: labels. Multi-label: a 0/1 indicator (int8), columns as in ``classes_``.

        Raises
        ------
        NotLearnedError, DataError, ParameterError
            As for :meth:`predict_topk`; also if every class has been removed.
        """
        learned = self._require_learned()
        if learned.kind != "multiclass":
            probabilities = self.predict_proba(X, threshold=self._checked_threshold())
            probabilities.data = np.ones(len(probabilities.data), np.int8)
            return probabilities
        found, scores = self.predict_topk(X, 1)
        if np.isnan(scores).any():
            raise NotLearnedError("all classes have been removed; there is none to predict")
        return found[:, 0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy for multi-class targets, precision at 1 for multi-label ones.

        Parameters
        ----------
        X, y
            As for ``fit``. Labels that the model does not know count as not predicted.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        float
            Between 0 and 1.
        """
        learned = self._require_learned()
        targets = parse_targets(y)
        with learned.guard.reading():
            rows = learned.check_rows(X)
            require_same_kind(learned, targets)
            require_same_length(rows, targets)
            best = self._top_k(learned, rows, 1, None, None)[0][:, 0]
        indptr, ids = learned.labels.ids_for(targets, add=False)
        row_of = np.repeat(np.arange(targets.n_rows), np.diff(indptr))
        hits = np.zeros(targets.n_rows)
        hits[row_of[(ids >= 0) & (ids.view(np.uint32) == best[row_of])]] = 1.0
        return float(np.average(hits, weights=sample_weight))

    def _top_k(
        self, learned: Learned, rows: Rows, k: int, labels: Any, beam_width: int | None
    ) -> tuple[Any, ...]:
        k = integer("k", k, 1)
        width = 0 if beam_width is None else integer("beam_width", beam_width, 1)
        refuse_if_too_large(rows.n_rows, k, 8)
        result: tuple[Any, ...] = learned.engine.top_k(
            *rows.arrays, k, width, learned.allowed(labels), thread_count(self.n_jobs)
        )
        return result

    def _checked_threshold(self) -> float:
        value = self.threshold
        if isinstance(value, bool) or not isinstance(value, Real) or math.isnan(value):
            raise ParameterError(f"threshold={value!r}: expected a number")
        return float(value)

    # --- labels --------------------------------------------------------------------------------

    def remove_labels(self, labels: Iterable[Any]) -> Self:
        """Never predict these labels again; their places are free for new ones.

        A label that is learnt again later counts as new. With ``policy="cpet"`` places are not
        taken again: there the tree grows as labels come and go.

        Parameters
        ----------
        labels : collection of labels

        Returns
        -------
        self

        Raises
        ------
        DataError
            If a label is not known; then none is removed.
        """
        learned = self._require_learned()
        names = as_collection(labels, "labels")
        with learned.guard.changing():
            self._remove(learned, names)
        return self

    @staticmethod
    def _remove(learned: Learned, names: list[Any]) -> None:
        ids = learned.labels.ids_of(names)
        if (ids < 0).any():
            raise DataError(f"label {names[int(np.argmin(ids))]!r} is not known; none is removed")
        ids = np.unique(ids)
        in_tree = np.isin(ids, learned.labels_in_tree())
        learned.engine.remove_labels(ids[in_tree].view(np.uint32))
        learned.labels.retire(ids)

    def rename_labels(self, names: Mapping[Any, Any]) -> Self:
        """Give labels other names; what was learnt about them stays.

        Parameters
        ----------
        names : mapping from old to new name
            Names may be exchanged. For indicator targets, columns that there are.

        Returns
        -------
        self

        Raises
        ------
        DataError
            If an old name is not known or two labels would share a name; then none is renamed.
        """
        learned = self._require_learned()
        if not isinstance(names, Mapping):
            raise DataError(f"names={names!r}: expected a mapping from old to new names")
        if learned.kind == "indicator":
            for new in names.values():
                if not isinstance(new, (int, np.integer)) or not 0 <= new < learned.n_columns:
                    raise DataError(
                        f"new name {new!r}: expected a column from 0 to {learned.n_columns - 1}"
                    )
        with learned.guard.changing():
            learned.labels.rename(names)
        return self

    # --- attributes ----------------------------------------------------------------------------

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """Labels that can be predicted, in order of arrival, or columns of the indicator."""
        with self._reading("classes_") as learned:
            return learned.classes()

    @property
    def label_counts_(self) -> npt.NDArray[np.int64]:
        """In how many examples each class was seen; shape (n_classes,)."""
        with self._reading("label_counts_") as learned:
            return learned.label_counts()

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        with self._reading("n_classes_") as learned:
            return learned.columns()[1]

    @property
    def n_features_in_(self) -> int:
        """Columns of X seen so far."""
        with self._reading("n_features_in_") as learned:
            return learned.n_features

    @property
    def target_type_(self) -> str:
        """``"multiclass"`` or ``"multilabel"``."""
        with self._reading("target_type_") as learned:
            return "multiclass" if learned.kind == "multiclass" else "multilabel"

    @property
    def examples_seen_(self) -> int:
        """Examples learnt from, every pass counted."""
        with self._reading("examples_seen_") as learned:
            return int(learned.engine.examples_seen)

    @property
    def tree_(self) -> LabelTree:
        """The tree as it stands, without the leaves of labels that were removed."""
        with self._reading("tree_") as learned:
            return tree_snapshot(learned.engine.tree(), learned.labels.names)

    def size(self) -> dict[str, int]:
        """Weights held, and bytes of the model and of the remembered examples.

        Returns
        -------
        dict
            ``weights``, ``model_bytes``, ``memory_bytes``.
        """
        learned = self._require_learned()
        with learned.guard.reading():
            size: dict[str, int] = learned.engine.size()
        return size

    @contextmanager
    def _reading(self, attribute: str) -> Iterator[Learned]:
        if self._learned is None:
            raise AttributeError(f"{attribute} is there once the model has learnt from an example")
        with self._learned.guard.reading():
            yield self._learned

    def _require_learned(self) -> Learned:
        if self._learned is None:
            raise NotLearnedError(
                f"this {type(self).__name__} has not learnt from any example yet; call fit or "
                "partial_fit first"
            )
        return self._learned

    def __sklearn_is_fitted__(self) -> bool:
        return self._learned is not None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.dict = True
        tags.classifier_tags.multi_label = True
        return tags

    # --- persistence ---------------------------------------------------------------------------

    def save(self, path: str | PathLike[str], *, for_prediction: bool = False) -> None:
        """Write the model to one file, atomically; ``labelgrove.load`` reads it.

        A start tree given as a parameter is not kept: the tree as it stands is.

        Parameters
        ----------
        path : path
        for_prediction : bool
            Leave out what only learning needs (optimiser state, auxiliary classifiers,
            remembered examples): the file is about half as large and cannot learn on.

        Raises
        ------
        NotLearnedError
            Before the first example.
        OSError
            If the file cannot be written; a file that was there before stays as it was.
        """
        with self._require_learned().guard.reading():
            save_model(self, path, for_prediction=for_prediction)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if self._learned is not None:
            with self._learned.guard.reading():
                state["_learned"] = model_state(self, for_prediction=False)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if self._learned is not None:
            self._learned = learned_from_state(*state["_learned"])


def require_same_kind(learned: Learned, targets: Targets) -> None:
    """Refuse targets of another kind than those learnt."""
    if targets.kind != learned.kind:
        raise DataError(f"y: {targets.kind} targets, but the model has learnt {learned.kind} ones")


def require_same_length(rows: Rows, targets: Targets) -> None:
    """Refuse X and y of different lengths."""
    if rows.n_rows != targets.n_rows:
        raise DataError(
            f"X has {rows.n_rows} rows, y has {targets.n_rows}; expected as many "
            "(Found input variables with inconsistent numbers of samples)"
        )
