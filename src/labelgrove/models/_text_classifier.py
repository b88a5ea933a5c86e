"""One class from text to labels: a front end that turns texts into rows, and a classifier."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from os import PathLike
from typing import Any, Concatenate, ParamSpec, Self

from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if

from labelgrove._errors import DataError, LearningInterrupted, NotLearnedError, ParameterError
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
from labelgrove.models.explanations._explanation import Explanation
from labelgrove.text import FrontEnd, HashedText, TextFeatures
from labelgrove.text._checked import checked_texts
from labelgrove.text._counted import CountedTexts
from labelgrove.vocabulary import Vocabulary

P = ParamSpec("P")


def _of_classifier(name: str, doc: str) -> Any:
    """An attribute that is the classifier's own, and is there where the classifier has it."""

    def get(self: TextClassifier) -> Any:
        if "classifier_" not in self.__dict__:
            raise AttributeError(f"{name} is there once the model has learnt from an example")
        return getattr(self.classifier_, name)

    return property(get, doc=doc)


def _passed_on(
    method: Callable[Concatenate[LabelClassifier, P], object],
) -> Callable[Concatenate[TextClassifier, P], TextClassifier]:
    """A method of the classifier that knows nothing of texts."""

    @wraps(method)
    def run(self: TextClassifier, /, *given: P.args, **named: P.kwargs) -> TextClassifier:
        method(self._learnt(), *given, **named)
        return self

    return run


def _offered(method: str) -> Any:
    return available_if(lambda self: hasattr(self._learner, method))


class TextClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Learn labels of texts, and predict them.

    Texts become rows of features, and a classifier learns from these. Both are kept in one file,
    which ``labelgrove.load`` reads, and which is what the command line writes and reads.

    Parameters
    ----------
    classifier : estimator of LabelGrove, optional
        Learns from the rows; by default an `OnlinePLTClassifier`. It is copied and stays as it is.
    text : TextFeatures, HashedText or str, optional
        Turns texts into rows, or says by its name which setting of `TextFeatures` does; by default
        ``TextFeatures()``. It is copied as well.
    vocabulary : Vocabulary, optional
        What labels are called; kept in the file. See `labelgrove.vocabulary.read_vocabulary`.
    names : {None, "met", "all"}, default=None
        Whose names in the vocabulary are learnt as examples. ``"met"``: before a label's first
        example its names are learnt, as a text with that one label. ``"all"``: so are, before the
        first example that has a label, the names of the whole vocabulary, and labels that no
        example has had can be predicted. Both help where texts are short; where they are long
        documents P@1 can be a little lower, for which reason it is off by default. Such examples
        count in ``label_counts_`` and ``examples_seen_``.
    columns : Columns, optional
        Which columns of tables hold texts and labels; kept in the file. The command line reads by
        it where it is told nothing else, and ``labelgrove train --text-column`` sets it.

    Attributes
    ----------
    classifier_ : estimator
        What has learnt.
    text_ : TextFeatures or HashedText
        What turns texts into its rows. `fit` weights words by their frequency in all texts;
        `partial_fit` counts a text, then weights it by the frequencies so far, then learns it.
    classes_, label_counts_, n_classes_, examples_seen_, target_type_, thresholds_, threshold, \
tree_, statistics_, compaction_, second_stage_, vocabulary_, fit_progress
        Those of ``classifier_``, where it has them.

    Notes
    -----
    Threads may use it as they may use its classifier.

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
        """Set parameters, as scikit-learn's estimators do; ``classifier__arity`` is one of a part.

        Parameters
        ----------
        **params
            A part that is left to its default has no parameters: give it first.

        Returns
        -------
        self

        Raises
        ------
        ParameterError
            If a parameter is that of a part which has not been given.
        """
        for part, given in (("classifier", "OnlinePLTClassifier()"), ("text", "TextFeatures()")):
            value = params.get(part, getattr(self, part))
            inner = [name for name in params if name.startswith(f"{part}__")]
            if inner and (value is None or isinstance(value, str)):
                raise ParameterError(
                    f"{inner[0]}: {part}={value!r} has no parameters; expected {part} to be given "
                    f"first, as in TextClassifier({part}={given})"
                )
        super().set_params(**params)
        return self

    # --- learning ------------------------------------------------------------------------------

    def fit(self, X: Iterable[str], y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn from texts and their labels.

        Parameters
        ----------
        X : iterable of str
            One text an example.
        y, sample_weight
            As for the classifier's ``fit``.

        Returns
        -------
        self

        Raises
        ------
        DataError
            If X, y or sample_weight cannot be used; the message names the place. What was learnt
            before stays.
        ParameterError
            If a parameter lies outside its domain.
        LearningInterrupted, KeyboardInterrupt
            On Ctrl-C, as the classifier's ``fit``.
        """
        classifier, text = self._fresh()
        if self.names is not None:
            assert self.vocabulary is not None  # checked by _fresh
            more = with_names(X, y, sample_weight, self.vocabulary, self.names)
            X, y, sample_weight = more.texts, more.labels, more.weights
        rows = text.fit_rows(X, thread_count(classifier.n_jobs))
        self._fitting = classifier
        try:
            classifier.fit(rows, y, sample_weight)
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
        """Go on learning from texts and their labels, in the given order.

        Parameters
        ----------
        X : iterable of str
            One text an example. A call of n texts is the same as n calls of one.
        y, classes, sample_weight
            As for :meth:`OnlinePLTClassifier.partial_fit`.
        again : bool
            Whether the texts have been learnt before, so that they count as no more documents.

        Returns
        -------
        self

        Raises
        ------
        DataError, LearningInterrupted
            As for :meth:`OnlinePLTClassifier.partial_fit`.
        """
        return self._partial_fit(X, y, classes, sample_weight, None, again=again)

    @_offered("shared")  # type: ignore[untyped-decorator]
    def shared(self, timeout: float | None = None) -> SharedModel:
        """Give threads a handle to this model, through which one learns while others predict.

        Parameters
        ----------
        timeout : float, optional
            Seconds after which a thread gives up waiting, by a ModelStateError.

        Returns
        -------
        SharedModel
        """
        self._begin()
        return SharedModel(self, timeout)

    def with_classifier(self, classifier: LabelClassifier) -> TextClassifier:
        """Put the same front end before another classifier that has learnt.

        Parameters
        ----------
        classifier : estimator of LabelGrove
            It has learnt from rows of this very front end; it is not copied.

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
        """The k most probable labels of every text, best first.

        Parameters
        ----------
        X : iterable of str
        k, labels, beam_width, return_stats
            As for :meth:`OnlinePLTClassifier.predict_topk`.

        Returns
        -------
        labels, scores, and stats if asked for
            As :meth:`OnlinePLTClassifier.predict_topk` returns them.

        Raises
        ------
        NotLearnedError, DataError, ParameterError
            As for :meth:`OnlinePLTClassifier.predict_topk`.
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
        labels: Any = None,
        beam_width: int | None = None,
        return_stats: bool = False,
    ) -> Any:
        """Sparse probability estimates: those that are among the best k, or reach a threshold.

        Parameters
        ----------
        X : iterable of str
        top_k, threshold, labels, beam_width, return_stats
            As for :meth:`OnlinePLTClassifier.predict_proba`.

        Returns
        -------
        probabilities, and stats if asked for
            As :meth:`OnlinePLTClassifier.predict_proba` returns them.

        Raises
        ------
        NotLearnedError, DataError, ParameterError
            As for :meth:`OnlinePLTClassifier.predict_proba`.
        """
        with self._reading() as classifier:
            return classifier.predict_proba(
                self._rows(X),
                top_k=top_k,
                threshold=threshold,
                labels=labels,
                beam_width=beam_width,
                return_stats=return_stats,
            )

    def predict(self, X: Iterable[str]) -> Any:
        """The most probable class of every text, or all labels from their thresholds on.

        Parameters
        ----------
        X : iterable of str

        Returns
        -------
        ndarray of shape (n,), or csr_array or ndarray of shape (n, n_classes)
            As :meth:`OnlinePLTClassifier.predict` returns them.
        """
        with self._reading() as classifier:
            return classifier.predict(self._rows(X))

    def score(self, X: Iterable[str], y: Any, sample_weight: Any = None) -> float:
        """Accuracy for multi-class targets, precision at 1 for multi-label ones.

        Parameters
        ----------
        X : iterable of str
        y, sample_weight
            As for the classifier's ``score``.

        Returns
        -------
        float
            Between 0 and 1.
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
        top: int = 8,
    ) -> Explanation:
        """Say why labels are predicted for a text, or why a given label is not.

        Parameters
        ----------
        X : str, or iterable of one str
        label, k, threshold, top
            As for :meth:`OnlinePLTClassifier.explain`.

        Returns
        -------
        Explanation
            Its features are the words of the text, parts of words added to the words that they
            come from, and ``highlights`` tells where these stand.

        Examples
        --------
        >>> from labelgrove import TextClassifier
        >>> clf = TextClassifier().partial_fit(["bark", "purr"] * 5, [["dog"], ["cat"]] * 5)
        >>> clf.explain("purr", "cat").labels[0].path[-1].contributions[0].feature
        'purr'
        """
        texts = [X] if isinstance(X, str) else list(checked_texts(X))
        if len(texts) != 1:
            raise DataError(f"X has {len(texts)} texts; expected the one to be explained")
        with self._reading() as classifier:
            explained = classifier.explain(
                self._rows(texts),
                label,
                k=k,
                threshold=threshold,
                top=top,
                feature_names=self.text_.sources(texts[0]),
            )
            return explained.highlighted(texts[0], self.text_.spans(texts[0]))

    @_offered("label_paths")  # type: ignore[untyped-decorator]
    def label_paths(self, X: Iterable[str], labels: Sequence[Collection[Any]]) -> LabelPaths:
        """Follow given labels of many texts through the tree.

        Parameters
        ----------
        X : iterable of str
        labels
            As for :meth:`OnlinePLTClassifier.label_paths`.

        Returns
        -------
        LabelPaths
        """
        with self._reading() as classifier:
            paths: LabelPaths = classifier.label_paths(self._rows(X), labels)
            return paths

    # --- thresholds and labels -----------------------------------------------------------------

    def tune_thresholds(
        self, X: Iterable[str], y: Any, method: str = "auto", **options: Any
    ) -> Self:
        """Find and keep the thresholds with the best F-measure on texts not learnt from.

        Parameters
        ----------
        X : iterable of str
        y, method, **options
            As for :meth:`OnlinePLTClassifier.tune_thresholds`.

        Returns
        -------
        self
        """
        classifier = self._learnt()
        classifier.tune_thresholds(self.text_.transform(X), y, method, **options)
        return self

    set_thresholds = _passed_on(LabelClassifier.set_thresholds)
    remove_labels = _passed_on(LabelClassifier.remove_labels)
    rename_labels = _passed_on(LabelClassifier.rename_labels)

    # --- attributes ----------------------------------------------------------------------------

    classes_ = _of_classifier("classes_", "Labels that can be predicted, sorted.")
    n_classes_ = _of_classifier("n_classes_", "Number of classes.")
    label_counts_ = _of_classifier("label_counts_", "In how many examples each class was seen.")
    examples_seen_ = _of_classifier("examples_seen_", "Examples learnt from.")
    target_type_ = _of_classifier("target_type_", '``"multiclass"`` or ``"multilabel"``.')
    thresholds_ = _of_classifier("thresholds_", "From which probability on a class is predicted.")
    threshold = _of_classifier("threshold", "The same for all classes, until they are tuned.")
    tree_ = _of_classifier("tree_", "The label tree as it stands.")
    statistics_ = _of_classifier("statistics_", "What the trees that route examples are like.")
    vocabulary_ = _of_classifier("vocabulary_", "What labels are called; None if nobody has said.")
    second_stage_ = _of_classifier("second_stage_", "What the second stage has seen.")
    compaction_ = _of_classifier("compaction_", "What :meth:`compact` has cost.")

    @property
    def fit_progress(self) -> float:
        """How far the batch :meth:`fit` is that another thread runs, from 0 to 1."""
        return float(self._learner.fit_progress)

    def size(self) -> dict[str, int]:
        """Weights held, and bytes of the model and of the remembered examples.

        Returns
        -------
        dict
            ``weights``, ``model_bytes``, ``memory_bytes``.
        """
        return self._learnt().size()

    @_offered("compact")  # type: ignore[untyped-decorator]
    def compact(
        self,
        *,
        dtype: str = "float32",
        threshold: float | None = None,
        max_bytes: int | None = None,
        X: Iterable[str] | None = None,
        y: Any = None,
    ) -> TextClassifier:
        """Make a copy that takes few bytes, predicts, and cannot learn on.

        Parameters
        ----------
        dtype, threshold, max_bytes, y
            As for :meth:`OnlinePLTClassifier.compact`.
        X : iterable of str, optional

        Returns
        -------
        TextClassifier
        """
        classifier: Any = self._learnt()
        rows = None if X is None else self.text_.transform(X)
        return self.with_classifier(
            classifier._compact(dtype, threshold, max_bytes, rows, y, self._about())
        )

    # --- files ---------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str], *, for_prediction: bool = False) -> None:
        """Write classifier and front end to one file, atomically; ``labelgrove.load`` reads it.

        Parameters
        ----------
        path, for_prediction
            As for :meth:`OnlinePLTClassifier.save`.

        Raises
        ------
        NotLearnedError, ModelFileError, OSError
            As for :meth:`OnlinePLTClassifier.save`.
        """
        with self._reading() as classifier:
            classifier._save(path, self._about(), for_prediction=for_prediction)

    def fingerprint(self) -> str:
        """SHA-256 of the file that ``save`` would write, without writing it.

        Returns
        -------
        str
            64 hexadecimal digits; see :meth:`OnlinePLTClassifier.fingerprint`.
        """
        with self._reading() as classifier:
            return classifier._fingerprint(self._about())

    # --- inside --------------------------------------------------------------------------------

    def _fresh(self) -> tuple[Any, FrontEnd]:
        """A classifier and a front end that have seen nothing."""
        classifier = OnlinePLTClassifier() if self.classifier is None else self.classifier
        text = TextFeatures() if self.text is None else self.text
        if isinstance(text, str):
            text = TextFeatures(text)
            text.to_dict()  # checks the name
        if not isinstance(classifier, LabelClassifier):
            turned = isinstance(classifier, ThresholdedClassifier)
            raise ParameterError(
                f"classifier is of type {type(classifier).__name__}"
                + (
                    ", which goes outside: ThresholdedClassifier(TextClassifier(…))"
                    if turned
                    else "; expected an estimator of LabelGrove"
                )
            )
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
        """What a file tells of the model, beside what was learnt."""
        about = self._learnt()._about()
        front_end, names, columns = self.text_.state(), self.names, self.columns
        return replace(about, front_end=front_end, names=names, columns=columns)

    def _started(self, *, named: bool) -> Any:
        return self._fresh()[0]._started(named=named)

    def _begin(self) -> None:
        if not hasattr(self, "classifier_"):
            self.classifier_, self.text_ = self._fresh()

    def _partial_fit(
        self,
        X: Iterable[str],
        y: Any,
        classes: Any,
        sample_weight: Any,
        patience: float | None,
        *,
        again: bool = False,
    ) -> Self:
        self._begin()
        classifier: Any = self.classifier_
        own = None
        if self.names is not None and classifier.vocabulary_ is not None:
            known = () if classifier._learned is None else classifier._learned.labels
            more = with_names(X, y, sample_weight, classifier.vocabulary_, self.names, known)
            X, y, sample_weight, own = more.texts, more.labels, more.weights, more.own
        if again or isinstance(self.text_, HashedText):
            rows, prepare = self._rows(X), None
        else:
            # Counted and weighted run by run, as they are learnt: between two runs the front end
            # has seen what the classifier has learnt, and nothing else.
            rows = self.text_.counted(X, thread_count(classifier.n_jobs)).rows
            prepare = self.text_.learn
        try:
            classifier._partial_fit(rows, y, classes, sample_weight, patience, prepare, again=again)
        except LearningInterrupted as stopped:
            if own is None:
                raise
            learnt = int(own[: stopped.examples_learned].sum())
            raise LearningInterrupted(str(stopped), learnt) from None
        return self

    def _rows(self, X: Iterable[str]) -> Rows:
        return self.text_.rows(X, thread_count(self.classifier_.n_jobs))

    @contextmanager
    def _reading(self) -> Iterator[LabelClassifier]:
        """What has learnt, and learns no more meanwhile."""
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
        """The classifier: the one that learns just now, has learnt, or will learn."""
        for name in ("_fitting", "classifier_"):
            if name in self.__dict__:
                return self.__dict__[name]
        return OnlinePLTClassifier() if self.classifier is None else self.classifier

    # What a SharedModel needs.
    _guard = _of_classifier("_guard", "The lock of the classifier.")
    _learned = _of_classifier("_learned", "What the classifier has learnt.")
    _checked_threshold = _of_classifier("_checked_threshold", "Of the classifier.")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classifier_") and self.classifier_.__sklearn_is_fitted__()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.classifier_tags.multi_label = True
        return tags


def text_classifier(
    classifier: LabelClassifier,
    text: FrontEnd,
    names: NamesLearnt | None = None,
    columns: Columns | None = None,
) -> TextClassifier:
    """A model of parts that have learnt; they are not copied."""
    model = TextClassifier(clone(classifier), clone(text), classifier.vocabulary_, names, columns)
    model.classifier_, model.text_ = classifier, text
    return model


def counter_of(
    model: TextClassifier, threads: int
) -> Callable[[list[str]], CountedTexts | list[str]]:
    """Give a function that does, before the model is given texts, all that can be done before.

    Another thread may call it while the model learns. Where names of labels are learnt texts come
    back as they are.
    """
    front = clone(model.text_) if hasattr(model, "text_") else model._fresh()[1]
    if model.names is not None or isinstance(front, HashedText):
        return lambda texts: texts
    return lambda texts: front.counted(texts, threads)
