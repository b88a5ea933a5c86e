"""The online probabilistic label tree, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, Literal, Self, overload

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags

from labelgrove import _core
from labelgrove._errors import DataError, LearningInterrupted, NotLearnedError, ParameterError
from labelgrove._features import FeatureNames
from labelgrove._labels import LabelRegistry, Targets, parse_targets
from labelgrove._validation import Rows, check_rows, is_dict_rows
from labelgrove.models._archive import model_from_state, model_state, save_model
from labelgrove.models._options import POLICIES, EngineOptions, thread_count
from labelgrove.models._prediction import (
    MISSING,
    SearchStats,
    found_to_csr,
    ids_to_names,
    ranked_to_csr,
    refuse_if_too_large,
)
from labelgrove.trees import LabelTree

_RUN_NONZEROS = 2_000_000
_RUN_ROWS = 4096


class OnlinePLTClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # sklearn is untyped
    """Online probabilistic label tree: learns label after label as they come.

    A tree of small linear classifiers estimates, for every label, the probability that it is
    relevant, in time that grows with the logarithm of the number of labels (Jasinska-Kobus et al.
    2021). New labels and new features may show up in any call of :meth:`partial_fit`; each node
    is, to the last bit, what it would be had the tree been known from the start.

    Parameters
    ----------
    preset : {"default", "paper"}
        What the parameters left at None stand for: the learner, replay and tree shape that
        measured best, or those of the paper.
    learner : {"arow", "adagrad", "sgd"}, optional
        How node classifiers learn: adaptive regularisation of weights (diagonal, squared hinge),
        logistic loss with AdaGrad (the paper's), or logistic loss with plain steps and lazy L2
        regularisation (Jasinska et al. 2016, Appendix B).
    learning_rate : float, optional
        Step size: AdaGrad's eta, SGD's gamma (both 1 by default). AROW has none.
    epsilon : float
        AdaGrad's epsilon, which damps the first steps.
    l2 : float
        SGD's lambda.
    r : float
        AROW's r: the larger, the smaller the steps.
    policy : {"best-greedy", "random", "complete", "cpet", "fixed"}
        Where a new label goes (Algorithm 8): along the best trade-off of fit and balance; at
        random; always where the tree has the fewest leaves; at a leaf, which splits; or nowhere
        (``tree`` is all there is: IPLT).
    alpha : float in [0, 1]
        BEST-GREEDY's weight of balance.
    arity : int, optional
        Children of an inner node, b.
    max_leaves : int, optional
        Leaves of a node that has only leaves, b_max.
    tree : LabelTree, optional
        The tree to start from. Its labels are known from the start.
    replay : int, optional
        How often every node learns again, from an example drawn among those that have reached it,
        after each new one. It is what keeps early labels from being forgotten.
    replay_memory : int, optional
        How many examples a node remembers, a fair sample of all that reached it; 0 for all of
        them.
    normalize : bool
        Whether examples are scaled to unit length.
    epochs : int
        Passes of :meth:`fit` over its data.
    threshold : float
        Probability from which :meth:`predict` returns a label, for multi-label targets.
    n_jobs : int, optional
        Threads; -1 for all processors. The result is the same for any number.
    random_state : int, RandomState or None
        Seed of all random choices. None draws one.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels that can be predicted, in order of arrival; for indicator targets the column
        numbers.
    label_counts_ : ndarray of int64, shape (n_classes,)
        In how many examples each class was seen.
    n_features_in_ : int
        Columns seen so far.
    examples_seen_ : int
        Examples learnt from, every pass counted.
    target_type_ : {"multiclass", "multilabel"}
    tree_ : LabelTree
        The tree as it stands; labels that were removed are not in it.
    front_end_ : dict or None
        How text becomes features, where the command line or a user has said so; kept with the
        model.

    Notes
    -----
    Predicting may run in any number of threads at once. Learning, or removing labels, while
    another thread uses the same model raises ``RuntimeError``: let the learner work on a
    ``copy.deepcopy`` and swap the two.

    Examples
    --------
    >>> from labelgrove import OnlinePLTClassifier
    >>> from labelgrove.text import HashedText
    >>> texts = ["soup with fish", "cat eats fish", "cat and dog", "fish soup"]
    >>> labels = [["food"], ["pets", "food"], ["pets"], ["food"]]
    >>> hashed = HashedText()
    >>> clf = OnlinePLTClassifier()
    >>> for text, labelled in zip(texts, labels):
    ...     _ = clf.partial_fit(hashed.transform([text]), [labelled])
    >>> clf.predict_topk(hashed.transform(["a dog"]), k=1)[0].tolist()
    [['pets']]
    """

    _engine: _core.OnlinePlt
    _options: EngineOptions
    _labels: LabelRegistry
    _features: FeatureNames | None

    def __init__(
        self,
        *,
        preset: str = "default",
        learner: str | None = None,
        learning_rate: float | None = None,
        epsilon: float = 0.01,
        l2: float = 1e-6,
        r: float = 1.0,
        policy: str = "best-greedy",
        alpha: float = 0.75,
        arity: int | None = None,
        max_leaves: int | None = None,
        tree: LabelTree | None = None,
        replay: int | None = None,
        replay_memory: int | None = None,
        normalize: bool = True,
        epochs: int = 1,
        threshold: float = 0.5,
        n_jobs: int | None = 1,
        random_state: Any = 0,
    ) -> None:
        self.preset = preset
        self.learner = learner
        self.learning_rate = learning_rate
        self.epsilon = epsilon
        self.l2 = l2
        self.r = r
        self.policy = policy
        self.alpha = alpha
        self.arity = arity
        self.max_leaves = max_leaves
        self.tree = tree
        self.replay = replay
        self.replay_memory = replay_memory
        self.normalize = normalize
        self.epochs = epochs
        self.threshold = threshold
        self.n_jobs = n_jobs
        self.random_state = random_state

    # --- learning ------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any) -> Self:
        """Forget everything, then learn from X and y in ``epochs`` passes, in the given order.

        Parameters
        ----------
        X : sparse array or matrix, array-like of shape (n, d), or list of dicts
            Features; dicts map names to numbers, or to strings for categories.
        y : array-like of shape (n,), sequence of n collections of labels, or indicator (n, L)
            Multi-class targets, or multi-label targets by name or as a 0/1 array.

        Returns
        -------
        self

        Raises
        ------
        DataError
            If X or y cannot be used; the message names the place. Nothing is learnt then.
        ParameterError
            If a parameter lies outside its domain.
        LearningInterrupted
            On Ctrl-C; the model is valid and keeps what it has learnt.
        """
        if not isinstance(self.epochs, int) or isinstance(self.epochs, bool) or self.epochs < 1:
            raise ParameterError(f"epochs={self.epochs!r}: expected a positive integer")
        for name in [name for name in vars(self) if name.startswith("_")]:
            delattr(self, name)
        return self._learn(X, y, None, self.epochs)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Go on learning from X and y, in the given order; new labels and features are welcome.

        Parameters
        ----------
        X, y
            As for :meth:`fit`. A call of n rows is the same as n calls of one.
        classes : array-like, optional
            Not needed. Labels given here are checked against y, and otherwise wait for their
            first example.

        Returns
        -------
        self

        Raises
        ------
        DataError
            As for :meth:`fit`; whatever was learnt before stays as it was.
        LearningInterrupted
            On Ctrl-C; ``examples_learned`` tells how many rows of this call have been learnt.
        """
        return self._learn(X, y, classes, 1)

    def _learn(self, X: Any, y: Any, classes: Any, passes: int) -> Self:
        threads = thread_count(self.n_jobs)
        targets = parse_targets(y)
        if classes is not None:
            _require_among(targets, classes)
        if not self._has_learned():
            self._start(is_dict_rows(X), targets)
        self._require_same_kind(targets)
        known_labels, known_features = len(self._labels), len(self._features or ())
        try:
            rows = check_rows(X, names=self._features, grow=True)
            if rows.n_rows != targets.n_rows:
                raise DataError(
                    f"X has {rows.n_rows} rows, y has {targets.n_rows}; expected as many "
                    "(Found input variables with inconsistent numbers of samples)"
                )
            self._require_columns(rows)
            label_indptr, ids = self._labels.ids_for(targets, add=True)
            labels = ids.view(np.uint32)
            self._require_fixed(known_labels)
        except BaseException:
            self._labels.truncate(known_labels)
            if self._features is not None:
                self._features.truncate(known_features)
            raise
        self.n_features_in_ = max(getattr(self, "n_features_in_", 0), rows.n_features)
        self._n_columns = max(self._n_columns, targets.n_columns or 0)
        self._run(rows, label_indptr, labels, passes, threads)
        return self

    def _start(self, dicts: bool, targets: Targets) -> None:
        options = EngineOptions.from_parameters(self.get_params(deep=False))
        labels = LabelRegistry()
        if self.tree is None:
            if options.policy == POLICIES["fixed"]:
                raise ParameterError("policy='fixed' needs a tree; expected tree=LabelTree(…)")
            engine = _core.OnlinePlt(options.to_dict())
        else:
            parents, leaf_labels, names = _engine_tree(self.tree)
            labels.ids_of(names, add=True)
            engine = _core.OnlinePlt.on_tree(options.to_dict(), parents, leaf_labels, len(names))
        self._options = options
        self._engine = engine
        self._labels = labels
        self._counts = np.zeros(len(labels), np.int64)
        self._features = FeatureNames() if dicts else None
        self._kind = targets.kind
        self._n_columns = 0
        self.front_end_: dict[str, Any] | None = getattr(self, "front_end_", None)

    def _run(
        self,
        rows: Rows,
        label_indptr: npt.NDArray[np.int64],
        labels: npt.NDArray[np.uint32],
        passes: int,
        threads: int,
    ) -> None:
        # In runs short enough for Ctrl-C to be answered soon: it is seen between two of them.
        n, nonzeros = rows.n_rows, max(len(rows.values), 1)
        step = int(np.clip(_RUN_NONZEROS * n // nonzeros, 1, _RUN_ROWS))
        before = self._engine.examples_seen
        try:
            for _ in range(passes):
                for begin in range(0, n, step):
                    end = min(begin + step, n)
                    self._engine.learn(*rows.arrays, label_indptr, labels, begin, end, threads)
        except KeyboardInterrupt as interrupt:
            learned = self._engine.examples_seen - before
            raise LearningInterrupted(
                f"learning stopped after {learned} of {n * passes} examples of this call; the "
                f"model is valid and has learnt from {self._engine.examples_seen} in all",
                learned,
            ) from interrupt
        finally:
            if self._kind != "indicator":  # whose columns are labels before they are in the tree
                self._labels.truncate(self._engine.label_count)
            learned_rows = min(self._engine.examples_seen - before, n)
            counted = labels[: label_indptr[learned_rows]]
            counts = np.bincount(counted.astype(np.int64), minlength=len(self._labels))
            counts[: len(self._counts)] += self._counts
            self._counts = counts

    def _require_same_kind(self, targets: Targets) -> None:
        if targets.kind != self._kind:
            raise DataError(
                f"y: {targets.kind} targets, but the model has learnt {self._kind} ones"
            )

    def _require_columns(self, rows: Rows) -> None:
        # Sparse rows may be as narrow or wide as they like; a dense row that lacks columns is
        # more likely a mistake.
        expected = getattr(self, "n_features_in_", 0)
        if rows.dense and rows.n_features < expected:
            raise DataError(
                f"X has {rows.n_features} features, but {type(self).__name__} is expecting "
                f"{expected} features as input"
            )

    def _require_fixed(self, known: int) -> None:
        if self._options.policy == POLICIES["fixed"] and len(self._labels) > known:
            raise DataError(
                f"y: label {self._labels.names[known]!r} is not in the tree, which is fixed; "
                "choose another policy for it to grow"
            )

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

        Uniform-cost search (Algorithm 10) finds exactly the best; a beam may miss some. Among
        equal probabilities the label that arrived first comes first.

        Parameters
        ----------
        X
            As for :meth:`fit`; features that the model does not know are ignored.
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
        rows = self._rows_to_predict(X)
        ids, scores, classifiers, depth = self._top_k(rows, k, labels, beam_width)
        found = ids_to_names(ids, self._labels.names)
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
        """
        if top_k is not None and threshold is not None:
            raise ParameterError("top_k and threshold exclude each other; expected one of them")
        if beam_width is not None and top_k is None:
            raise ParameterError("beam_width goes with top_k")
        rows = self._rows_to_predict(X)
        column_of, n_columns = self._columns()
        if top_k is not None:
            ids, scores, _, _ = self._top_k(rows, top_k, labels, beam_width)
            return ranked_to_csr(ids, scores, column_of, n_columns)
        if threshold is None:
            refuse_if_too_large(rows.n_rows, n_columns, 8 if self._kind == "multiclass" else 12)
        indptr, ids, scores, _, _ = self._engine.above_threshold(
            *rows.arrays,
            self._thresholds(0.0 if threshold is None else threshold, column_of, n_columns),
            self._allowed(labels),
            thread_count(self.n_jobs),
        )
        found = found_to_csr(indptr, ids, scores, column_of, n_columns)
        if threshold is not None or self._kind != "multiclass":
            return found
        dense = found.toarray().astype(np.float64)
        totals = dense.sum(axis=1, keepdims=True)
        return np.divide(dense, totals, out=np.full_like(dense, 1 / n_columns), where=totals > 0)

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
        """
        if self._has_learned() and self._kind == "multiclass":
            found: npt.NDArray[Any] = self.predict_topk(X, 1)[0][:, 0]
            return found if found.dtype != object else found.astype(str)
        probabilities = self.predict_proba(X, threshold=self.threshold)
        probabilities.data = np.ones(len(probabilities.data), np.int8)
        return probabilities

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy for multi-class targets, precision at 1 for multi-label ones.

        Parameters
        ----------
        X, y
            As for :meth:`fit`. Labels that the model does not know count as not predicted.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        float
            Between 0 and 1.
        """
        rows = self._rows_to_predict(X)
        targets = parse_targets(y)
        self._require_same_kind(targets)
        if targets.n_rows != rows.n_rows:
            raise DataError(f"X has {rows.n_rows} rows, y has {targets.n_rows}; expected as many")
        best = self._top_k(rows, 1, None, None)[0][:, 0]
        indptr, ids = self._labels.ids_for(targets, add=False)
        row_of = np.repeat(np.arange(targets.n_rows), np.diff(indptr))
        hits = np.zeros(targets.n_rows)
        hits[row_of[(ids >= 0) & (ids.view(np.uint32) == best[row_of])]] = 1.0
        return float(np.average(hits, weights=sample_weight))

    def _top_k(self, rows: Rows, k: int, labels: Any, beam_width: int | None) -> tuple[Any, ...]:
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
            raise ParameterError(f"k={k!r}: expected a positive integer")
        if beam_width is not None and (not isinstance(beam_width, int) or beam_width < 1):
            raise ParameterError(f"beam_width={beam_width!r}: expected a positive integer")
        k = int(min(k, max(len(self._labels), 1)))
        result: tuple[Any, ...] = self._engine.top_k(
            *rows.arrays, k, beam_width or 0, self._allowed(labels), thread_count(self.n_jobs)
        )
        return result

    def _rows_to_predict(self, X: Any) -> Rows:
        if not self._has_learned():
            raise NotLearnedError(
                f"this {type(self).__name__} has not learnt from any example yet; call fit or "
                "partial_fit first"
            )
        rows = check_rows(X, names=self._features)
        self._require_columns(rows)
        return rows

    def _allowed(self, labels: Any) -> npt.NDArray[np.uint32] | None:
        if labels is None:
            return None
        ids = self._labels.ids_of(list(labels))
        return ids[ids >= 0].view(np.uint32)

    def _columns(self) -> tuple[npt.NDArray[np.int64], int]:
        """Column of every label id in results, and how many columns there are."""
        if self._kind == "indicator":
            return self._labels.names, self._n_columns
        active = self._labels.active
        return np.cumsum(active) - 1, int(active.sum())

    def _thresholds(
        self, threshold: Any, column_of: npt.NDArray[np.int64], n_columns: int
    ) -> npt.NDArray[np.float32]:
        values = np.asarray(threshold, dtype=np.float32)
        if np.isnan(values).any():
            raise ParameterError("threshold: found NaN; expected numbers")
        if values.ndim == 0:
            return values.reshape(1)
        if values.shape != (n_columns,):
            raise ParameterError(
                f"threshold: found shape {values.shape}; expected one number, or one for each of "
                f"the {n_columns} classes"
            )
        by_label = np.full(max(len(column_of), 2), np.inf, np.float32)  # one would mean: for all
        by_label[: len(column_of)] = values[column_of]
        return by_label

    # --- labels --------------------------------------------------------------------------------

    def remove_labels(self, labels: Iterable[Any]) -> Self:
        """Never predict these labels again; their places are free for new ones.

        A label that is learnt again later counts as new.

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
        self._require_learned()
        names = list(labels)
        ids = self._labels.ids_of(names)
        if (ids < 0).any():
            raise DataError(f"label {names[int(np.argmin(ids))]!r} is not known; none is removed")
        ids = np.unique(ids)
        in_tree = self._in_tree()
        self._engine.remove_labels(ids[np.isin(ids, in_tree)].view(np.uint32))
        self._labels.retire(ids)
        return self

    def _in_tree(self) -> npt.NDArray[np.int64]:
        tree = self._engine.tree()
        there = (tree["silent"] == 0) & (tree["label"] != MISSING)
        labels: npt.NDArray[np.int64] = tree["label"][there].astype(np.int64)
        return labels

    def rename_labels(self, names: Mapping[Any, Any]) -> Self:
        """Give labels other names; what was learnt about them stays.

        Parameters
        ----------
        names : mapping from old to new name
            Names may be exchanged. For indicator targets, column numbers.

        Returns
        -------
        self

        Raises
        ------
        DataError
            If an old name is not known or two labels would share a name; then none is renamed.
        """
        self._require_learned()
        self._labels.rename(names)
        if self._kind == "indicator" and len(self._labels):
            self._n_columns = max(self._n_columns, int(self._labels.names.max()) + 1)
        return self

    # --- attributes ----------------------------------------------------------------------------

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """Labels that can be predicted, in order of arrival, or columns of the indicator."""
        self._require_attribute("classes_")
        if self._kind == "indicator":
            return np.arange(self._n_columns)
        names: npt.NDArray[Any] = self._labels.names[self._labels.active]
        return names

    @property
    def label_counts_(self) -> npt.NDArray[np.int64]:
        """In how many examples each class was seen; shape (n_classes,)."""
        self._require_attribute("label_counts_")
        column_of, n_columns = self._columns()
        counts = np.zeros(n_columns, np.int64)
        active = self._labels.active
        counts[column_of[active]] = self._counts[active]
        return counts

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        self._require_attribute("n_classes_")
        return self._columns()[1]

    @property
    def target_type_(self) -> str:
        """``"multiclass"`` or ``"multilabel"``."""
        self._require_attribute("target_type_")
        return "multiclass" if self._kind == "multiclass" else "multilabel"

    @property
    def examples_seen_(self) -> int:
        """Examples learnt from, every pass counted."""
        self._require_attribute("examples_seen_")
        return int(self._engine.examples_seen)

    @property
    def tree_(self) -> LabelTree:
        """The tree as it stands, without the leaves of labels that were removed."""
        self._require_attribute("tree_")
        return _tree_snapshot(self._engine.tree(), self._labels.names)

    def size(self) -> dict[str, int]:
        """Weights held, and bytes of the model and of the remembered examples.

        Returns
        -------
        dict
            ``weights``, ``model_bytes``, ``memory_bytes``.
        """
        self._require_learned()
        size: dict[str, int] = self._engine.size()
        return size

    def _has_learned(self) -> bool:
        return "_engine" in vars(self)

    def _require_learned(self) -> None:
        if not self._has_learned():
            raise NotLearnedError(f"this {type(self).__name__} has not learnt from any example yet")

    def _require_attribute(self, name: str) -> None:
        if not self._has_learned():
            raise AttributeError(f"{name} is there once the model has learnt from an example")

    def __sklearn_is_fitted__(self) -> bool:
        return self._has_learned()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.dict = True
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = False
        return tags

    # --- persistence ---------------------------------------------------------------------------

    def save(self, path: str | PathLike[str], *, for_prediction: bool = False) -> None:
        """Write the model to one file, atomically; ``labelgrove.load`` reads it.

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
        self._require_learned()
        save_model(self, path, for_prediction)

    def __getstate__(self) -> dict[str, Any]:
        if not self._has_learned():
            state: dict[str, Any] = super().__getstate__()
            return state
        return {"labelgrove": model_state(self, for_prediction=not self._engine.can_learn)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "labelgrove" in state:
            model_from_state(self, *state["labelgrove"])
        else:
            super().__setstate__(state)


def _require_among(targets: Targets, classes: Any) -> None:
    known = set(np.asarray(classes).ravel().tolist())
    unknown = [name for name in np.unique(targets.labels).tolist() if name not in known]
    if unknown:
        raise DataError(f"y: label {unknown[0]!r} is not among the classes given")


def _engine_tree(tree: LabelTree) -> tuple[npt.NDArray[Any], npt.NDArray[Any], list[Any]]:
    """Parents and labels as the core numbers them (a node above the root), and label names."""
    missing = np.uint32(0xFFFFFFFF)
    parents = np.empty(tree.n_nodes + 1, np.uint32)
    parents[0], parents[1:] = missing, tree.parents + 1
    leaf_labels = np.full(tree.n_nodes + 1, missing, np.uint32)
    names = []
    for node, name in sorted(tree.labels.items()):
        leaf_labels[node + 1] = len(names)
        names.append(name)
    return parents, leaf_labels, names


def _tree_snapshot(arrays: dict[str, Any], names: npt.NDArray[Any]) -> LabelTree:
    parents = arrays["parent"][1:].astype(np.int64) - 1
    labels, silent = arrays["label"][1:], arrays["silent"][1:].astype(bool)
    keep = ~silent
    # An inner node all of whose leaves have gone goes too, from the bottom upwards.
    is_leaf = np.ones(len(parents), bool)
    is_leaf[parents[1:]] = False
    children_left = np.bincount(parents[1:], minlength=len(parents))
    gone = list(np.flatnonzero(silent))
    while gone:
        parent = parents[gone.pop()]
        if parent >= 0:
            children_left[parent] -= 1
            if children_left[parent] == 0:
                keep[parent] = False
                gone.append(parent)
    keep[0] = True
    new_id = np.cumsum(keep) - 1
    kept_parents = parents[keep]
    kept_parents[1:] = new_id[kept_parents[1:]]
    leaves = np.flatnonzero(keep & is_leaf & (labels != 0xFFFFFFFF))
    return LabelTree(kept_parents, {int(new_id[v]): names[labels[v]] for v in leaves})
