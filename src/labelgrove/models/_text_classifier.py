"""A front end that turns texts into rows and a classifier of these rows, as one estimator."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial, wraps
from os import PathLike
from typing import Any, Concatenate, ParamSpec, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if

from labelgrove._errors import (
    DataError,
    LearningInterrupted,
    ParameterError,
    brief,
)
from labelgrove._not_learned import NotLearnedError
from labelgrove._parameters import thread_count
from labelgrove._validation import Rows
from labelgrove.data import Columns
from labelgrove.models._base import LabelClassifier
from labelgrove.models._label_tree import LabelPaths
from labelgrove.models._names import NamesLearnt, check_names, with_names
from labelgrove.models._online_plt import OnlinePLTClassifier
from labelgrove.models._shared import SharedModel
from labelgrove.models._thresholded import ThresholdedClassifier
from labelgrove.models.engine._archive import About
from labelgrove.models.engine._examples import Call
from labelgrove.models.explanations._explanation import Explanation
from labelgrove.text import FrontEnd, HashedText, TextFeatures
from labelgrove.text._checked import checked_texts
from labelgrove.text._counted import CountedTexts
from labelgrove.vocabulary import Vocabulary

P = ParamSpec("P")


def _of_classifier(name: str, doc: str) -> Any:
    """Return a property that reads an attribute of the classifier, if the classifier has it."""

    def get(self: TextClassifier) -> Any:
        if "classifier_" not in self.__dict__:
            raise AttributeError(f"{name} is available once the model has learnt from an example")
        return getattr(self.classifier_, name)

    return property(get, doc=doc)


def _passed_on(
    method: Callable[Concatenate[LabelClassifier, P], object],
) -> Callable[Concatenate[TextClassifier, P], TextClassifier]:
    """Delegate a method that does not involve texts to the classifier."""

    @wraps(method)
    def run(self: TextClassifier, /, *given: P.args, **named: P.kwargs) -> TextClassifier:
        method(self._learnt(), *given, **named)
        return self

    return run


def _offered(method: str) -> Any:
    """Decorate a method that exists only if the classifier has it, and otherwise names it."""
    return available_if(lambda self: bool(getattr(self._learner, method)))


class TextClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Learn and predict labels of texts.

    A front end turns texts into rows of features, from which a classifier learns. Both are saved
    in one file, which ``labelgrove.load`` and the command line read.

    Parameters
    ----------
    classifier : estimator of LabelGrove, optional
        Learns from the rows; by default an `OnlinePLTClassifier`. It is cloned.
    text : TextFeatures, HashedText or str, optional
        The front end, or the name of a setting of `TextFeatures`; by default ``TextFeatures()``.
        It is cloned as well.
    vocabulary : Vocabulary, optional
        Names of the labels, saved with the model. See `labelgrove.vocabulary.read_vocabulary`.
    names : {None, "met", "all"}, default=None
        Which names in the vocabulary to learn as examples. ``"met"`` learns a label's names, as a
        text with that one label, before the label's first example. ``"all"`` learns the names of
        the whole vocabulary before the first example that has a label, so that labels without
        examples can be predicted too. Both help with short texts. With long documents they can
        lower P@1 a little, so the default is None. These examples count in ``label_counts_`` and
        ``examples_seen_``.
    columns : Columns, optional
        Columns of a table that contain texts and labels, saved with the model. The command line
        uses them by default; ``labelgrove train --text-column`` sets them.

    Attributes
    ----------
    classifier_ : estimator
        The trained classifier.
    text_ : TextFeatures or HashedText
        The front end of the classifier. `fit` weights words by their frequencies in all texts.
        `partial_fit` counts each text, weights it by the frequencies so far, then learns it.
    classes_, label_counts_, n_classes_, examples_seen_, target_type_, thresholds_, threshold, \
tree_, statistics_, compaction_, second_stage_, vocabulary_, fit_progress
        Attributes of ``classifier_``, if it has them.

    Notes
    -----
    In methods like the classifier's, ``X`` is an iterable of str, one text per example. The rules
    for threads are those of the classifier, too.

    Examples
    --------
    >>> from labelgrove import TextClassifier
    >>> clf = TextClassifier()
    >>> texts = ["Salmon quotas in the Baltic", "Who mends nets?", "Quotas for olive oil"]
    >>> _ = clf.partial_fit(texts, [["fish", "law"], ["fish"], ["law", "oil"]])
    >>> clf.predict_topk(["mending nets"], k=1)[0].tolist()
    [['fish']]
    """

    classifier_: LabelClassifier
    text_: FrontEnd

    def __init__(
        self,
        classifier: LabelClassifier | None = None,
        text: FrontEnd | str | None = None,
        vocabulary: Vocabulary | None = None,
        names: NamesLearnt | None = None,
        columns: Columns | None = None,
    ) -> None:
        self.classifier = classifier
        self.text = text
        self.vocabulary = vocabulary
        self.names = names
        self.columns = columns

    def set_params(self, **params: Any) -> Self:
        """Set parameters as in scikit-learn; ``classifier__arity`` sets ``arity`` of a part.

        Parameters
        ----------
        **params
            Parameters of a part can be set only if that part was given.

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            If a parameter belongs to a part that was not given.
        """
        for part, given in (("classifier", "OnlinePLTClassifier()"), ("text", "TextFeatures()")):
            value = params.get(part, getattr(self, part))
            inner = [name for name in params if name.startswith(f"{part}__")]
            if inner and (value is None or isinstance(value, str)):
                raise ParameterError(
                    f"{inner[0]}: {part}={brief(value)} has no parameters; expected an explicit "
                    f"{part}, as in TextClassifier({part}={given})"
                )
        super().set_params(**params)
        return self

    # --- learning ------------------------------------------------------------------------------

    def fit(self, X: Iterable[str], y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn from texts and their labels.

        Parameters
        ----------
        X : iterable of str
            One text per example.
        y, sample_weight
            As for the classifier's ``fit``. Texts of weight 0 count in the document frequencies.

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
        LearningInterrupted, KeyboardInterrupt
            On Ctrl-C, as in the classifier's ``fit``.
        """
        classifier, text = self._fresh()
        own = None
        if self.names is not None:
            more = with_names(classifier, self.names, X, y, sample_weight, some=True)
            X, y, sample_weight, own = more.texts, more.labels, more.weights, more.own
        rows = text.fit_rows(X, thread_count(classifier.n_jobs))
        self._fitting = classifier
        try:
            with _counting(own):
                classifier._fit(rows, y, sample_weight, own)
        finally:  # an online classifier that was interrupted keeps what it has learnt
            del self._fitting
            if classifier.__sklearn_is_fitted__():
                self.classifier_, self.text_ = classifier, text
        return self

    @_offered("partial_fit")  # type: ignore[untyped-decorator]
    def partial_fit(
        self,
        X: Iterable[str],
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        again: bool = False,
    ) -> Self:
        """Continue learning from texts and their labels, in the given order.

        As :meth:`OnlinePLTClassifier.partial_fit`, for texts. One call with n texts is equivalent
        to n calls with one text. Words of texts learnt ``again`` are not counted again.

        Returns
        -------
        self
        """
        self._partial_fit(X, y, classes, sample_weight, Call(again=again))
        return self

    @_offered("shared")  # type: ignore[untyped-decorator]
    def shared(self, timeout: float | None = None) -> SharedModel:
        """As :meth:`OnlinePLTClassifier.shared`: let one thread learn while others predict."""
        self._begin()
        return SharedModel(self, timeout)

    def with_classifier(self, classifier: LabelClassifier) -> TextClassifier:
        """Return a model with the same front end and another trained classifier.

        Parameters
        ----------
        classifier : estimator of LabelGrove
            Trained on rows from this front end. It is not copied.

        Returns
        -------
        TextClassifier

        Examples
        --------
        >>> from labelgrove import OnlinePLTClassifier, PLTClassifier, TextClassifier
        >>> batch = TextClassifier(PLTClassifier()).fit(["two nets", "one oil"], [["a"], ["b"]])
        >>> online = batch.with_classifier(OnlinePLTClassifier.from_batch(batch.classifier_))
        >>> online.partial_fit(["three"], [["c"]]).n_classes_
        3
        """
        self._begin()
        if classifier.vocabulary_ is None:
            classifier.vocabulary_ = self.vocabulary_
        return text_classifier(classifier, self.text_, self.names, self.columns)

    # --- prediction ----------------------------------------------------------------------------

    def predict_topk(
        self,
        X: Iterable[str],
        k: int = 5,
        *,
        labels: Any = None,
        beam_width: int | None = None,
        return_stats: bool = False,
    ) -> Any:
        """Predict the k most probable labels of every text, best first.

        As :meth:`OnlinePLTClassifier.predict_topk`, for texts.
        """
        with self._reading() as classifier:
            return classifier.predict_topk(
                self._rows(X), k, labels=labels, beam_width=beam_width, return_stats=return_stats
            )

    def predict_proba(
        self,
        X: Iterable[str],
        *,
        top_k: int | None = None,
        threshold: Any = None,
        least_labels: int = 0,
        labels: Any = None,
        beam_width: int | None = None,
        return_stats: bool = False,
    ) -> Any:
        """Estimate probabilities: all, the k best of each text, or those that reach a threshold.

        As :meth:`OnlinePLTClassifier.predict_proba`, for texts.
        """
        with self._reading() as classifier:
            return classifier.predict_proba(
                self._rows(X),
                top_k=top_k,
                threshold=threshold,
                least_labels=least_labels,
                labels=labels,
                beam_width=beam_width,
                return_stats=return_stats,
            )

    def predict(self, X: Iterable[str]) -> Any:
        """Predict the most probable class of every text, or all labels that reach their thresholds.

        As :meth:`OnlinePLTClassifier.predict`, for texts.
        """
        with self._reading() as classifier:
            return classifier.predict(self._rows(X))

    def score(self, X: Iterable[str], y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy for multi-class targets, or precision at 1 for multi-label ones.

        As :meth:`OnlinePLTClassifier.score`, for texts.
        """
        with self._reading() as classifier:
            return classifier.score(self._rows(X), y, sample_weight)

    def explain(
        self,
        X: str | Iterable[str],
        label: Any = None,
        *,
        k: int = 5,
        threshold: Any = None,
        least_labels: int = 0,
        top: int = 8,
    ) -> Explanation:
        """Explain why labels are predicted for a text, or why a given label is not.

        As :meth:`OnlinePLTClassifier.explain`, for one text. Features are the words of the text,
        to which the contributions of their parts are added; ``highlights`` locates them in it.

        Examples
        --------
        >>> from labelgrove import TextClassifier
        >>> clf = TextClassifier().partial_fit(["bark", "purr"] * 5, [["dog"], ["cat"]] * 5)
        >>> clf.explain("purr", "cat").labels[0].path[-1].contributions[0].feature
        'purr'
        """
        texts = [X] if isinstance(X, str) else checked_texts(X)
        if len(texts) != 1:
            raise DataError(f"X has {len(texts)} texts; expected the one to explain")
        with self._reading() as classifier:
            explained = classifier.explain(
                self._rows(texts),
                label,
                k=k,
                threshold=threshold,
                least_labels=least_labels,
                top=top,
                feature_names=self.text_.sources(texts[0]),
            )
            return explained.highlighted(texts[0], self.text_.spans(texts[0]))

    @_offered("label_paths")  # type: ignore[untyped-decorator]
    def label_paths(self, X: Iterable[str], labels: Sequence[Collection[Any]]) -> LabelPaths:
        """As :meth:`OnlinePLTClassifier.label_paths`, for texts."""
        with self._reading() as classifier:
            paths: LabelPaths = classifier.label_paths(self._rows(X), labels)
            return paths

    # --- thresholds and labels -----------------------------------------------------------------

    def tune_thresholds(
        self, X: Iterable[str], y: Any, method: str = "auto", **options: Any
    ) -> Self:
        """Find and set the thresholds with the best F-measure on held-out texts.

        As :meth:`OnlinePLTClassifier.tune_thresholds`, for texts.
        """
        with self._reading() as classifier:
            rows = self.text_.transform(X)
        classifier.tune_thresholds(rows, y, method, **options)
        return self

    set_thresholds = _passed_on(LabelClassifier.set_thresholds)
    remove_labels = _passed_on(LabelClassifier.remove_labels)
    rename_labels = _passed_on(LabelClassifier.rename_labels)

    # --- attributes ----------------------------------------------------------------------------

    classes_ = _of_classifier("classes_", "Labels that can be predicted, sorted.")
    n_classes_ = _of_classifier("n_classes_", "Number of classes.")
    label_counts_ = _of_classifier("label_counts_", "Number of examples of each class.")
    examples_seen_ = _of_classifier("examples_seen_", "Number of examples learnt from.")
    target_type_ = _of_classifier("target_type_", '``"multiclass"`` or ``"multilabel"``.')
    thresholds_ = _of_classifier("thresholds_", "Lowest probability that predicts each class.")
    threshold = _of_classifier("threshold", "Threshold of all classes until they are tuned.")
    tree_ = _of_classifier("tree_", "The current label tree.")
    statistics_ = _of_classifier("statistics_", "Statistics of trees that route examples.")
    second_stage_ = _of_classifier("second_stage_", "Figures of the second stage.")
    compaction_ = _of_classifier("compaction_", "What :meth:`compact` saved and lost.")

    @property
    def vocabulary_(self) -> Vocabulary | None:
        """Names of the labels, or None; may be set at any time."""
        return self._learnt().vocabulary_

    @vocabulary_.setter
    def vocabulary_(self, vocabulary: Vocabulary | None) -> None:
        self._learnt().vocabulary_ = vocabulary

    @property
    def fit_progress(self) -> float:
        """Progress of a batch :meth:`fit` in another thread, from 0 to 1."""
        return float(self._learner.fit_progress)

    def size(self) -> dict[str, int]:
        """As :meth:`OnlinePLTClassifier.size`: return the numbers of weights and bytes."""
        return self._learnt().size()

    @_offered("compact")  # type: ignore[untyped-decorator]
    def compact(
        self,
        *,
        dtype: str = "float32",
        threshold: float | None = None,
        max_bytes: int | str | None = None,
        X: Iterable[str] | None = None,
        y: Any = None,
    ) -> TextClassifier:
        """Return a small copy that can predict but not learn.

        As :meth:`OnlinePLTClassifier.compact`, for texts.
        """
        classifier: Any
        with self._reading() as classifier:
            rows = None if X is None else self.text_.transform(X)
            return self.with_classifier(
                classifier._compact(dtype, threshold, max_bytes, rows, y, self._about())
            )

    # --- files ---------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str], *, for_prediction: bool = False) -> None:
        """Write classifier and front end to one file, atomically; ``labelgrove.load`` reads it.

        As :meth:`OnlinePLTClassifier.save`.
        """
        with self._reading() as classifier:
            classifier._save(path, self._about(), for_prediction=for_prediction)

    def fingerprint(self) -> str:
        """Return the SHA-256 of the file that ``save`` would write, without writing it.

        As :meth:`OnlinePLTClassifier.fingerprint`.
        """
        with self._reading() as classifier:
            return classifier._fingerprint(self._about())

    # --- inside --------------------------------------------------------------------------------

    def _fresh(self) -> tuple[Any, FrontEnd]:
        """Check the parts; return an untrained classifier and front end."""
        classifier = OnlinePLTClassifier() if self.classifier is None else self.classifier
        text = TextFeatures() if self.text is None else self.text
        if isinstance(text, str):
            text = TextFeatures(text)
            text.to_dict()  # checks the name
        if not isinstance(classifier, LabelClassifier):
            found, expected = f"of type {type(classifier).__name__}", "an estimator of LabelGrove"
            if isinstance(classifier, type) and issubclass(classifier, LabelClassifier):
                found, expected = f"the class {classifier.__name__}", f"{classifier.__name__}()"
            elif isinstance(classifier, ThresholdedClassifier):
                expected = "it outside: ThresholdedClassifier(TextClassifier(…))"
            raise ParameterError(f"classifier is {found}; expected {expected}")
        if not isinstance(text, FrontEnd):
            raise ParameterError(
                f"text is a {type(text).__name__}; expected a front end of labelgrove.text (other "
                "vectorisers go before an estimator in scikit-learn's Pipeline)"
            )
        check_names(self.names, self.vocabulary)
        if not isinstance(self.columns, Columns | None):
            raise ParameterError(
                f"columns is a {type(self.columns).__name__}; expected labelgrove.data.Columns"
            )
        fresh, front = clone(classifier), clone(text)
        fresh.vocabulary_ = self.vocabulary
        vectors = getattr(fresh, "vectors", None)
        if isinstance(vectors, Mapping) and isinstance(front, TextFeatures):
            fresh.vectors = front.by_column(vectors)
        return fresh, front

    def _about(self) -> About:
        """Describe the model for its file, apart from the learnt state."""
        about = self._learnt()._about()
        front_end, names, columns = self.text_.state(), self.names, self.columns
        return replace(about, front_end=front_end, names=names, columns=columns)

    def _started(self) -> Any:
        return self._fresh()[0]._started()

    def _begin(self) -> None:
        if not hasattr(self, "classifier_"):
            self.classifier_, self.text_ = self._fresh()

    def _partial_fit(
        self, X: Iterable[str], y: Any, classes: Any, sample_weight: Any, call: Call
    ) -> None:
        self._begin()
        classifier: Any = self.classifier_
        if self.names is None or classifier.vocabulary_ is None:
            self._learn(X, y, classes, sample_weight, call)
            return
        given = self.names, checked_texts(X), y, sample_weight
        insert = partial(with_names, classifier, *given, again=call.again)
        learnt = False
        while not learnt:  # another thread may have learnt names since we looked
            announced, asked = classes, call.watch
            with classifier._guard.reading(call.patience):
                more = insert()
                if classes is not None:
                    known = () if classifier._learned is None else classifier._learned.classes()
                    named = [one for one in known if one in classifier.vocabulary_]
                    announced = more.announced(classes, named)
            if asked is not None:
                rows = np.flatnonzero(more.own)[asked.rows].astype(np.uint64)
                asked = replace(asked, rows=rows)
            with _counting(more.own):
                learnt = self._learn(
                    more.texts,
                    more.labels,
                    announced,
                    more.weights,
                    replace(call, watch=asked),
                    own=more.own,
                    still=lambda texts=more.texts: insert().texts == texts,
                )

    def _learn(
        self,
        X: Iterable[str],
        y: Any,
        classes: Any,
        sample_weight: Any,
        call: Call,
        **options: Any,
    ) -> bool:
        classifier: Any = self.classifier_
        prepare = None
        if isinstance(self.text_, HashedText):
            rows = self._rows(X)
        elif call.again:
            with classifier._guard.reading(call.patience):  # the front end changes as others learn
                rows = self._rows(X)
        else:
            # Count and weight the texts run by run, so that between two runs the front end has
            # seen exactly the texts that the classifier has learnt.
            rows = self.text_.counted(X, thread_count(classifier.n_jobs)).rows
            prepare = self.text_.learn
        given = rows, y, classes, sample_weight, call, prepare
        return bool(classifier._partial_fit(*given, **options))

    def _rows(self, X: Iterable[str]) -> Rows:
        return self.text_.rows(X, thread_count(self.classifier_.n_jobs))

    @contextmanager
    def _reading(self) -> Iterator[LabelClassifier]:
        """Yield the trained classifier, which does not change meanwhile."""
        classifier = self._learnt()
        with classifier._guard.reading():
            yield classifier

    def _learnt(self) -> LabelClassifier:
        if not hasattr(self, "classifier_"):
            raise NotLearnedError(
                "this TextClassifier has not learnt from any example yet; call fit first"
            )
        return self.classifier_

    @property
    def _learner(self) -> Any:
        """The classifier that is learning now, has learnt, or will learn."""
        for name in ("_fitting", "classifier_"):
            if name in self.__dict__:
                return self.__dict__[name]
        return OnlinePLTClassifier() if self.classifier is None else self.classifier

    # Required by SharedModel.
    _guard = _of_classifier("_guard", "The lock of the classifier.")
    _learned = _of_classifier("_learned", "The learnt state of the classifier.")
    _change = _of_classifier("_change", "Method of the classifier.")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classifier_") and self.classifier_.__sklearn_is_fitted__()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.classifier_tags.multi_label = True
        return tags


@contextmanager
def _counting(own: npt.NDArray[np.bool_] | None) -> Iterator[None]:
    """Let an interruption count only the examples that were given, not those made from names."""
    try:
        yield
    except LearningInterrupted as stopped:
        if own is None:
            raise
        learnt = int(own[: stopped.examples_learned].sum())
        raise LearningInterrupted(str(stopped), learnt) from None


def text_classifier(
    classifier: LabelClassifier,
    text: FrontEnd,
    names: NamesLearnt | None = None,
    columns: Columns | None = None,
) -> TextClassifier:
    """Return a model of trained parts, which are not copied."""
    model = TextClassifier(clone(classifier), clone(text), classifier.vocabulary_, names, columns)
    model.classifier_, model.text_ = classifier, text
    return model


def counter_of(
    model: TextClassifier, threads: int
) -> Callable[[list[str]], CountedTexts | list[str]]:
    """Return a function that prepares texts as far as possible before the model learns them.

    Another thread may call it while the model learns. It returns texts unchanged if the model
    learns names of labels.
    """
    text = model.text_ if hasattr(model, "text_") else model._fresh()[1]
    if model.names is not None or isinstance(text, HashedText):
        return lambda texts: texts
    front = text.uncounted()
    return lambda texts: front.counted(texts, threads)
