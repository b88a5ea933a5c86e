"""What estimators share: prediction, thresholds, labels, attributes, files."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags

from labelgrove._errors import DataError, ParameterError, brief
from labelgrove._features import FeatureNames
from labelgrove._parameters import finite, integer, thread_count
from labelgrove._targets import parse_targets
from labelgrove._validation import check_weights
from labelgrove.models.engine._archive import (
    About,
    Format,
    front_end_from,
    learned_from_file,
    learned_from_state,
    model_state,
    parameters_from,
    vocabulary_from,
)
from labelgrove.models.engine._examples import Mask, Start
from labelgrove.models.engine._guard import Guard, Turn
from labelgrove.models.engine._learned import KINDS, AnyLearned, known, of_kinds
from labelgrove.models.engine._predicting import (
    SearchStats,
    all_estimates,
    best_classes,
    best_estimates,
    best_labels,
    estimates,
    ids_to_names,
    indicator_of,
    right_among_best,
)
from labelgrove.models.engine._tuned import keep_thresholds, tuned_by_class
from labelgrove.models.explanations._explain import FeatureNaming, explain
from labelgrove.models.explanations._explanation import Explanation
from labelgrove.models.thresholds._tuner import show_examples, tuning_of
from labelgrove.persistence import StoredModel, model_fingerprint, write_model
from labelgrove.trees import LabelTree
from labelgrove.tuning import Thresholds
from labelgrove.tuning._second_stage import SecondStage
from labelgrove.vocabulary import Vocabulary


class LabelClassifier(ClassifierMixin, BaseEstimator):
    """Base of the estimators.

    ``_learned`` holds the learnt state, None before the first example. A subclass defines
    ``algorithm``, its name in model files and on the command line, and ``_format``, the format of
    its files.
    """

    algorithm: ClassVar[str]
    _format: ClassVar[Format]
    _takes_beam: ClassVar[bool] = True

    _learned: AnyLearned | None = None
    _own_guard: Guard | None = None
    _vocabulary: Vocabulary | None = None
    n_jobs: int | None
    threshold: float
    second_stage: Any = None

    # --- learning ------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn from X and y.

        Online estimators learn the examples in the given order, in ``epochs`` passes.

        Parameters
        ----------
        X : sparse array or matrix, array-like or data frame (n, d), or sequence of dicts
            Features. A dict maps names to numbers, or to strings for categories.
        y : array-like of shape (n,), sequence of n collections of labels, or indicator (n, L)
            Multi-class targets, or multi-label targets by name or as a 0/1 array.
        sample_weight : array-like of shape (n,), optional
            Weight of each example; 1 by default, and 0 to ignore it. Online estimators accept at
            most a million; there a weight lengthens the step, which differs from repeating it.
            Keep the mean near 1: in label trees, a factor common to all weights acts like the same
            factor of ``C``, or of ``1 / r`` with AROW.

        Returns
        -------
        self

        Raises
        ------
        DataError
            If X, y or sample_weight cannot be used; the message says where. The model does not
            change.
        ParameterError
            If a parameter lies outside its domain.
        KeyboardInterrupt
            On Ctrl-C. A batch model does not change. An online model is valid and keeps what it
            has learnt so far; its LearningInterrupted says how much.
        """
        self._fit(X, y, sample_weight)
        return self

    @abstractmethod
    def _fit(self, X: Any, y: Any, sample_weight: Any, own: Mask = None) -> None:
        """Forget everything, then learn; see `Examples` for ``own``."""

    # --- prediction ----------------------------------------------------------------------------

    def predict_topk(
        self,
        X: Any,
        k: int = 5,
        *,
        labels: Any = None,
        beam_width: int | None = None,
        return_stats: bool = False,
    ) -> tuple[Any, ...]:
        """Predict the k most probable labels of every row, best first.

        In a label tree, uniform-cost search (Jasinska-Kobus et al. 2021, Algorithm 10) finds
        exactly the best labels; beam search may miss some. Labels with equal probability are
        ranked by arrival, the earliest first.

        Parameters
        ----------
        X
            As for ``fit``. Features that the model does not know only add to the length of a row.
        k : int
            Number of labels for each row.
        labels : collection of labels, optional
            Return only these labels. Those that the model does not know are ignored, since they may
            yet be learnt.
        beam_width : int, optional
            Use beam search, which opens at most this many inner nodes on each level, instead of
            exact search. Faster, but may miss labels. Estimators that do not search a tree
            refuse it.
        return_stats : bool
            Whether to return the cost of the search as well.

        Returns
        -------
        labels : ndarray of shape (n, k)
            If there are fewer than k labels, the rest is filled with None, or with -1 if labels
            are integers.
        scores : ndarray of float32, shape (n, k)
            Probabilities, in the order of the labels; NaN where there is no label.
        stats : SearchStats
            Only if ``return_stats``.

        Raises
        ------
        NotLearnedError
            Before the first example.
        DataError, ParameterError
            If X, k, labels or beam_width cannot be used.
        """
        beam = self._checked_beam(beam_width)
        with self._guard.reading():
            learned = known(self._learned)
            rows = learned.check_rows(X)
            ids, scores, costs = best_labels(
                learned, rows, k, self.n_jobs, labels=labels, beam_width=beam
            )
        found = ids_to_names(ids, learned.labels.names)
        if return_stats:
            return found, scores, SearchStats(*costs.T)
        return found, scores

    def predict_proba(
        self,
        X: Any,
        *,
        top_k: int | None = None,
        threshold: Any = None,
        least_labels: int = 0,
        labels: Any = None,
        beam_width: int | None = None,
        return_stats: bool = False,
    ) -> Any:
        """Estimate probabilities: all, the k best of each row, or those that reach a threshold.

        Parameters
        ----------
        X
            As for :meth:`predict_topk`.
        top_k : int, optional
            Return only the k largest probabilities of every row.
        threshold : float or array-like of shape (n_classes,), optional
            Return only probabilities of at least this value, and none of 0, whatever the value.
            An array has one value for each class, as for :meth:`set_thresholds`.
        least_labels : int
            With ``threshold``, also return the best probabilities of every row, this many, even if
            they do not reach it.
        labels, beam_width
            As for :meth:`predict_topk`; ``beam_width`` requires ``top_k``.
        return_stats : bool
            Whether to return the cost of the search as well.

        Returns
        -------
        probabilities : csr_array of shape (n, n_classes), float32
            One column per class, in the order of ``classes_``; only the requested probabilities
            are stored. With neither ``top_k`` nor ``threshold`` a dense ndarray if the targets
            were multi-class, or a dense indicator. For multi-class targets rows then sum to 1
            unless ``labels`` are given: if nodes decide about their children independently, as in
            most label trees, a class is in proportion to a power of its odds, p / (1 - p), which
            a second stage learns.
        stats : SearchStats
            Only if ``return_stats``.

        Raises
        ------
        NotLearnedError, DataError, ParameterError
            As for :meth:`predict_topk`; also if all probabilities would take more than a GiB.
        """
        if top_k is not None and threshold is not None:
            raise ParameterError("top_k and threshold exclude each other; expected one of them")
        if beam_width is not None and top_k is None:
            raise ParameterError("beam_width requires top_k")
        if integer("least_labels", least_labels, 0) and threshold is None:
            raise ParameterError("least_labels requires threshold")
        if top_k is not None:
            integer("top_k", top_k, 1)
        beam = self._checked_beam(beam_width)
        with self._guard.reading():
            learned = known(self._learned)
            rows, jobs = learned.check_rows(X), self.n_jobs
            found: Any
            if top_k is not None:
                found, costs = best_estimates(
                    learned, rows, top_k, jobs, labels=labels, beam_width=beam
                )
            elif threshold is not None:
                found, costs = estimates(
                    learned, rows, threshold, jobs, labels=labels, least_labels=least_labels
                )
            else:
                found, costs = all_estimates(learned, rows, jobs, labels=labels)
        return (found, SearchStats(*costs.T)) if return_stats else found

    def predict(self, X: Any) -> Any:
        """Predict the most probable class of every row, or all labels that reach their thresholds.

        The thresholds are ``thresholds_``, or ``threshold`` for all labels if there are none. A
        probability of 0 reaches no threshold. If the thresholds were tuned with ``least_labels``,
        the best labels of a row, this many, are predicted in any case.

        Parameters
        ----------
        X
            As for :meth:`predict_topk`.

        Returns
        -------
        ndarray of shape (n,), or csr_array or ndarray of shape (n, n_classes)
            Multi-class: labels. Multi-label: a 0/1 indicator, columns as in ``classes_``; sparse
            (int8), unless the model has learnt from a dense indicator array.

        Raises
        ------
        NotLearnedError, DataError, ParameterError
            As for :meth:`predict_topk`; also if every class has been removed.
        """
        with self._guard.reading():
            learned = known(self._learned)
            rows = learned.check_rows(X)
            if learned.kind == "multiclass":
                return best_classes(learned, rows, self.n_jobs)
            return indicator_of(learned, rows, finite("threshold", self.threshold), self.n_jobs)

    @property
    def _kinds(self) -> tuple[str, ...]:
        """The kinds of targets that it can learn."""
        return KINDS

    @property
    def _most_weight(self) -> float:
        """The largest weight of an example that it can learn."""
        return math.inf

    def _check_new_labels(self, options: Any, fresh: list[Any]) -> None:
        """Refuse labels that a model with these options cannot learn."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy for multi-class targets, or precision at 1 for multi-label ones.

        Parameters
        ----------
        X, y
            As for ``fit``. Labels that the model does not know count as not predicted.
        sample_weight : array-like of shape (n,), optional
            Weight of each row in the mean.

        Returns
        -------
        float
            Between 0 and 1.

        Raises
        ------
        NotLearnedError, DataError
            As for :meth:`predict_topk`; also if y or sample_weight cannot be used.
        """
        with self._guard.reading():
            learned = known(self._learned)
            rows = learned.check_rows(X)
            targets = of_kinds(self._kinds, parse_targets(y))
            row_of, right = right_among_best(learned, rows, targets, 1, self.n_jobs)
            weights = check_weights(sample_weight, rows.n_rows)
        hits = np.zeros(targets.n_rows)
        hits[row_of[right[:, 0]]] = 1.0
        return float(np.average(hits, weights=weights))

    def _checked_beam(self, beam_width: int | None) -> int:
        if beam_width is None:
            return 0
        if not self._takes_beam:
            raise ParameterError(
                f"beam_width={brief(beam_width)}: {type(self).__name__} does not search its trees; "
                "expected None"
            )
        return integer("beam_width", beam_width, 1)

    # --- thresholds ----------------------------------------------------------------------------

    @property
    def thresholds_(self) -> npt.NDArray[np.float64]:
        """Lowest probability at which :meth:`predict` returns each class; shape (n_classes,).

        Only if they were tuned, while learning or by :meth:`tune_thresholds`, or set by
        :meth:`set_thresholds`.
        """
        with self._reading("thresholds_") as learned:
            tuned = tuned_by_class(learned)
        if tuned is None:
            raise AttributeError(
                "thresholds_ is available once thresholds have been tuned or set; until then "
                "predict uses the parameter threshold"
            )
        return tuned.values

    def set_thresholds(self, thresholds: Thresholds | npt.ArrayLike | None) -> Self:
        """Set a threshold for each class.

        Thresholds do not change while the model continues to learn, and are saved with it.

        Parameters
        ----------
        thresholds : Thresholds, array-like of shape (n_classes,), or None
            In the order of ``classes_``, or a pandas Series with the labels as its index. A label
            whose threshold exceeds 1 is never predicted. Labels that appear later use the default
            of `Thresholds`, or the parameter ``threshold``. None restores the thresholds tuned
            while learning, or ``threshold``.

        Returns
        -------
        self

        Raises
        ------
        NotLearnedError
            Before the first example.
        ParameterError
            If there is not one number for each class.

        Examples
        --------
        >>> from labelgrove import OnlinePLTClassifier
        >>> clf = OnlinePLTClassifier().fit([[1.0, 0.0], [0.0, 1.0]], [["a"], ["b"]])
        >>> clf.set_thresholds([0.2, 0.4]).thresholds_.tolist()
        [0.2, 0.4]
        """
        default = finite("threshold", self.threshold)
        return self._change(lambda learned: keep_thresholds(learned, thresholds, default=default))

    def tune_thresholds(self, X: Any, y: Any, method: str = "auto", **options: Any) -> Self:
        """Find and set the thresholds with the best F-measure on held-out examples.

        Examples that the model has learnt from have inflated probabilities, which make thresholds
        too high.

        Parameters
        ----------
        X, y
            As for ``fit``, but not learnt from. Labels that the model does not know are ignored.
        method : {"auto", "ofo", "fta", "sto"}
            As for `ThresholdedClassifier`.
        **options
            ``average``, ``labels_per_row``, ``least_recall``, ``least_labels``, ``common``,
            ``candidates``, ``a``, ``b``, ``c``, ``upper`` and ``zero_division``, as for
            `ThresholdedClassifier`.

        Returns
        -------
        self

        Raises
        ------
        NotLearnedError
            Before the first example.
        DataError
            If X or y cannot be used, or no row has a label that the model knows.
        ParameterError
            If another parameter lies outside its domain, or the targets are multi-class.
        """
        tuning = tuning_of(self, method, **options)
        show_examples(tuning, self, X, y)
        if not tuning.positives().any():
            raise DataError("y: no row has a label that the model knows; expected some to tune on")
        return self.set_thresholds(tuning.finish())

    # --- labels --------------------------------------------------------------------------------

    def remove_labels(self, labels: Iterable[Any]) -> Self:
        """Never predict these labels again; new labels may reuse their places.

        A label that is learnt again later counts as new. The probabilities of other labels do not
        change, unless a ``second_stage`` uses their ranks. With ``policy="cpet"``, and in LOMtrees
        and memory trees, places are not reused, so the tree grows as labels come and go.

        Parameters
        ----------
        labels : collection of labels

        Returns
        -------
        self

        Raises
        ------
        DataError
            If a label is not known; no label is removed then.
        """
        return self._change(lambda learned: learned.remove_labels(labels))

    def rename_labels(self, names: Mapping[Any, Any]) -> Self:
        """Rename labels without changing what was learnt about them.

        Parameters
        ----------
        names : mapping from old to new name
            Names may be swapped. For indicator targets, new names must be existing columns.

        Returns
        -------
        self

        Raises
        ------
        DataError
            If an old name is not known or two labels would share a name; no label is renamed then.
        """
        return self._change(lambda learned: learned.rename_labels(names))

    # --- explanations --------------------------------------------------------------------------

    def explain(
        self,
        X: Any,
        label: Any = None,
        *,
        k: int = 5,
        threshold: Any = None,
        least_labels: int = 0,
        top: int = 8,
        feature_names: FeatureNaming | None = None,
    ) -> Explanation:
        """Explain why labels are predicted for an example, or why a given label is not.

        The margin of every step through the tree is a sum with one term for each feature, so the
        explanation is exact. What the path shows depends on the estimator:

        - In a label tree, the path leads to the label's leaf, and the product of the probabilities
          along it is the label's probability (Jasinska-Kobus et al. 2021, Eq. 2). An ensemble
          shows its first tree.
        - A LOMtree predicts from the labels counted in the leaf that the example reaches. The path
          is the example's own, with the share of the label's examples that followed it.
        - LdSM and FastXML average the label's shares in all leaves that the example reaches. The
          leaves are listed, and the path leads to the one with the largest share.
        - In a memory tree the path is the example's own. Its last steps are the similarity of the
          remembered examples with the label, averaged by their votes, and the label's classifier.
          The leaf has the label's share of the votes.

        With several leaves of a LOMtree, or with LdSM's ``tail_weight``, the probability also
        includes the other leaves, or the label's centroid.

        Parameters
        ----------
        X : one row
            As for :meth:`predict_topk`: of shape (1, d) or (d,), or a dict.
        label : label, optional
            Explain this label, predicted or not; by default all predicted labels.
        k : int
            The k best labels count as predicted.
        threshold : float or array-like of shape (n_classes,), optional
            Instead of the k best, all labels whose probability reaches this value (or, in an
            array, the value of their class) count as predicted.
        least_labels : int
            With ``threshold``, the best labels, this many, count as predicted in any case.
        top : int
            Number of features to list at every step; the others are summed.
        feature_names : mapping of int to str or list of str, or sequence of str, optional
            Names of columns, such as a vectoriser's vocabulary, or what
            :meth:`HashedText.words <labelgrove.text.HashedText.words>` returns for the text. Not
            needed for dicts and for data frames with named columns. If columns have lists of
            names, a feature's contribution is divided equally among its names, and the
            contributions are added up for each name.

        Returns
        -------
        Explanation
            ``str()`` of it is readable text.

        Raises
        ------
        NotLearnedError
            Before the first example.
        DataError, ParameterError
            If X is not one row, the label is not known, or another parameter cannot be used.

        Examples
        --------
        >>> from labelgrove import OnlinePLTClassifier
        >>> clf = OnlinePLTClassifier()
        >>> _ = clf.partial_fit([{"bark": 1}, {"purr": 1}] * 5, ["dog", "cat"] * 5)
        >>> [dog] = clf.explain({"bark": 1}, "dog").labels
        >>> dog.predicted, dog.path[-1].contributions[0].feature
        (True, 'bark')
        """
        with self._guard.reading():
            explained = explain(
                known(self._learned),
                X,
                label,
                k=k,
                threshold=threshold,
                least_labels=least_labels,
                top=top,
                feature_names=feature_names,
            )
        return explained if self._vocabulary is None else explained.named(self._vocabulary.name)

    # --- attributes ----------------------------------------------------------------------------

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """Labels that can be predicted, sorted, or column numbers of an indicator; (n_classes,)."""
        with self._reading("classes_") as learned:
            return learned.classes()

    @property
    def label_counts_(self) -> npt.NDArray[np.int64]:
        """Number of examples of each class; int64 of shape (n_classes,)."""
        with self._reading("label_counts_") as learned:
            return learned.label_counts()

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        with self._reading("n_classes_") as learned:
            return learned.columns()[1]

    @property
    def feature_names_in_(self) -> npt.NDArray[Any]:
        """Names of the columns of X, if it was a data frame whose columns have names."""
        names = None if self._learned is None else self._learned.column_names
        if names is None:
            raise AttributeError(
                "feature_names_in_ is available only if the model has learnt from a data frame"
            )
        return names

    @property
    def n_features_in_(self) -> int:
        """Number of columns of X seen so far."""
        with self._reading("n_features_in_") as learned:
            return learned.n_features

    @property
    def target_type_(self) -> str:
        """``"multiclass"`` or ``"multilabel"``."""
        with self._reading("target_type_") as learned:
            return "multiclass" if learned.kind == "multiclass" else "multilabel"

    @property
    def examples_seen_(self) -> int:
        """Number of examples learnt from, counted again in each of the ``epochs``."""
        with self._reading("examples_seen_") as learned:
            return int(learned.engine.examples_seen)

    @property
    def second_stage_(self) -> dict[str, Any]:
        """Figures of the second stage, if there is one.

        ``tail``: from 0 for the head to 1 for the tail, None if it only calibrates; ``examples``:
        number of examples whose predictions it has learnt from; ``gain``: what its ranking
        would have added to the mean of P@1, P@3 and P@5 (or PSP@k), averaged with more weight on
        recent predictions; ``error``: the standard error of the gain; ``reranks``: whether the
        ranking is in use.
        """
        with self._reading("second_stage_") as learned:
            stage: SecondStage | None = getattr(learned.engine, "stage", None)
        if stage is None:
            raise AttributeError("second_stage_ is available only with the parameter second_stage")
        return stage.report()

    def size(self) -> dict[str, int]:
        """Return the number of weights, and the bytes of the model and its remembered examples.

        Returns
        -------
        dict
            ``weights``, ``model_bytes``, ``memory_bytes``.
        """
        with self._guard.reading():
            return known(self._learned).engine.size()

    @property
    def vocabulary_(self) -> Vocabulary | None:
        """Display names of labels, or None; saved with the model.

        May be set at any time. It affects only how labels are shown, not the labels themselves.
        """
        return self._vocabulary

    @vocabulary_.setter
    def vocabulary_(self, vocabulary: Vocabulary | None) -> None:
        if not isinstance(vocabulary, Vocabulary | None):
            raise ParameterError(
                f"vocabulary_ is a {type(vocabulary).__name__}; expected a Vocabulary, such as "
                "read_vocabulary returns, or None"
            )
        self._vocabulary = vocabulary

    @contextmanager
    def _reading(self, attribute: str) -> Iterator[AnyLearned]:
        if self._learned is None:
            raise AttributeError(
                f"{attribute} is available once the model has learnt from an example"
            )
        with self._guard.reading():
            yield self._learned

    def _change(self, change: Callable[[AnyLearned], None], patience: float | None = None) -> Self:
        """Change the learnt state while no other thread uses it; with patience, wait for them."""
        with self._guard.changing(patience) as turn, turn.alone():
            change(known(self._learned))
        return self

    def _adopt(self, learned: AnyLearned, turn: Turn) -> None:
        """Replace the current state."""
        with turn.alone():
            self._learned = learned

    @property
    def _guard(self) -> Guard:
        """The lock taken by every method that uses the learnt state."""
        if self._own_guard is None:
            # setdefault is atomic, so two threads get the same guard without a lock, which a
            # forked process could inherit in its locked state.
            self.__dict__.setdefault("_own_guard", Guard())
            assert self._own_guard is not None
        return self._own_guard

    def __sklearn_is_fitted__(self) -> bool:
        return self._learned is not None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.dict = True
        tags.classifier_tags.multi_label = True
        return tags

    # --- files ---------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str], *, for_prediction: bool = False) -> None:
        """Write the model to one file, atomically; ``labelgrove.load`` reads it.

        The file has all that was learnt. Parameters that are trees, arrays, mappings or generators
        are None in the loaded model, which :meth:`fit` must be given again.

        Parameters
        ----------
        path : path
        for_prediction : bool
            Leave out everything that only learning needs (optimiser state, auxiliary classifiers,
            remembered examples). The file is about half as large, and the loaded model cannot
            learn.

        Raises
        ------
        NotLearnedError
            Before the first example.
        ModelFileError
            If the written file could not be loaded again, for example because a parameter was
            set to an invalid value.
        OSError
            If the file cannot be written.

        Notes
        -----
        After any error, a file that existed before is unchanged.
        """
        self._save(path, self._about(), for_prediction=for_prediction)

    def fingerprint(self) -> str:
        """Return the SHA-256 of the file that ``save`` would write, without writing it.

        Models with the same fingerprint are identical to the byte: they make the same predictions
        and continue to learn in the same way.

        Returns
        -------
        str
            64 hexadecimal digits.

        Raises
        ------
        NotLearnedError
            Before the first example.

        Examples
        --------
        >>> from labelgrove import OnlinePLTClassifier
        >>> X, y = [[1, 0], [0, 1], [1, 1]], ["cat", "dog", "cat"]
        >>> at_once = OnlinePLTClassifier().partial_fit(X, y)
        >>> in_pieces = OnlinePLTClassifier().partial_fit(X[:1], y[:1]).partial_fit(X[1:], y[1:])
        >>> at_once.fingerprint() == in_pieces.fingerprint()
        True
        """
        return self._fingerprint(self._about())

    def _fingerprint(self, about: About) -> str:
        with self._guard.reading():
            state = model_state(known(self._learned), about, for_prediction=False)
            return model_fingerprint(*state)

    def _save(self, path: str | PathLike[str], about: About, *, for_prediction: bool) -> None:
        with self._guard.reading():
            header, arrays = model_state(known(self._learned), about, for_prediction=for_prediction)

            def check(stored: StoredModel) -> None:
                arrays.clear()  # they are in the file now: free those that were not streamed
                type(self)()._restore(stored, check_only=True)
                front_end_from(stored.header, stored.arrays, trust_pattern=True)

            write_model(path, header, arrays, check)

    def _restore(self, stored: StoredModel, *, check_only: bool = False) -> None:
        """Restore the model from a file, or only check that this is possible.

        Raises one of `persistence._read.FAULTS` if the file is inconsistent.
        """
        learned = learned_from_file(
            self._format, stored.header, stored.arrays, check_only=check_only
        )
        parameters = parameters_from(stored.header, list(self.get_params(deep=False)))
        self.set_params(**parameters)
        self._check_parameters()
        self._learned, vocabulary = learned, vocabulary_from(stored.arrays)
        if vocabulary is not None:  # else set no attribute: a loaded model equals a learnt one
            self._vocabulary = vocabulary

    def _check_parameters(self) -> None:
        """Refuse parameters outside their domains, except the tree, which is not saved."""
        probe = clone(self)
        if getattr(probe, "tree", "") is None and getattr(probe, "warm_start_size", None) is None:
            probe.set_params(tree=LabelTree.flat(["any"]))
        probe._started()

    def _started(self, *, named: bool = False) -> Start[Any]:
        """Check all parameters; ``named`` says that features have names."""
        finite("threshold", self.threshold)
        thread_count(self.n_jobs)
        if hasattr(self, "epochs"):
            integer("epochs", self.epochs, 1)
        start = self._start()
        features = FeatureNames() if named and start.features is None else start.features
        return replace(start, features=features, stage=self._new_stage())

    def _new_stage(self) -> SecondStage | None:
        """Make the untrained second stage that the parameters ask for, if any."""
        stage = SecondStage.of(self._resolved_stage())
        if stage is not None and getattr(self, "thresholds", None) is not None:
            raise ParameterError(
                f"second_stage={self.second_stage!r}: thresholds={self.thresholds!r} tunes on the "
                "probabilities before it; expected only one of them (use tune_thresholds instead)"
            )
        return stage

    def _resolved_stage(self) -> Any:
        """Return ``second_stage`` without words that stand for others."""
        return self.second_stage

    @abstractmethod
    def _start(self) -> Start[Any]:
        """Check the parameters of this estimator alone."""

    def _about(self) -> About:
        return About(self.algorithm, self.get_params(deep=False), vocabulary=self._vocabulary)

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """Cache the names for each class: scikit-learn inspects the signature on every call."""
        names: list[str] = super()._get_param_names()
        return names

    def __getstate__(self) -> dict[str, Any]:
        with self._guard.reading():
            state = dict(super().__getstate__())
            del state["_own_guard"]
            if self._learned is not None:
                header, arrays = model_state(self._learned, self._about(), for_prediction=False)
                state["_learned"] = header, {n: np.asarray(array) for n, array in arrays.items()}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if state.get("_learned") is not None:
            self._learned = learned_from_state(self._format, *state["_learned"])


def learns_only_classes(estimator: LabelClassifier | None) -> bool:
    """Return whether every example must have exactly one label; None is the default estimator."""
    return estimator is not None and estimator._kinds == ("multiclass",)


def known_labels(model: Any, labels: Iterable[Any]) -> set[Any]:
    """Return those of some labels that a model can predict.

    Unlike ``classes_``, this need not sort all labels again after some were renamed or removed.
    """
    asked = [*labels]
    ids = known(model._learned).labels.ids_of(asked)
    return {label for label, i in zip(asked, ids.tolist(), strict=True) if i >= 0}


def check_parameters(model: Any) -> None:
    """Refuse any model's parameter outside its domain, before data are read."""
    model._started()
