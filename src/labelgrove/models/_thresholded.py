"""A wrapper that adds thresholds, tuned for the F-measure, to any probabilistic classifier."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if

from labelgrove._errors import DataError, ParameterError
from labelgrove._features import FeatureNames
from labelgrove._labels import LabelRegistry
from labelgrove._not_learned import NotLearnedError
from labelgrove._validation import check_rows, is_dict_rows
from labelgrove.metrics import f_measure
from labelgrove.models._base import LabelClassifier
from labelgrove.models.thresholds._estimates import Estimates
from labelgrove.models.thresholds._held_out import Labelled, Split
from labelgrove.models.thresholds._tuner import DEFAULTS, HeldOutTuning
from labelgrove.tuning import Thresholds


def _estimator_has(method: str) -> Any:
    return lambda self: hasattr(getattr(self, "estimator_", self.estimator), method)


class ThresholdedClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Predict the labels that reach thresholds tuned to maximise the F-measure.

    Fits an estimator, tunes thresholds on held-out examples (Jasinska et al. 2016), and predicts
    label sets. If the estimator's ``predict_proba`` accepts thresholds, as in LabelGrove, also in
    a pipeline, labels below their thresholds are never searched for. The probabilities of other
    estimators are computed in batches.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``
        It is cloned. Probabilities may be dense or sparse. To use a fitted classifier, wrap it as
        ``sklearn.frozen.FrozenEstimator(clf)``.
    method : {"auto", "ofo", "fta", "sto"}
        "auto" tunes a threshold for each label as far as that does no harm; rare labels borrow
        from labels of similar frequency. The others are as published: "ofo", online F-measure
        optimisation; "fta", fixed thresholds, the same for all labels; "sto", the best thresholds
        on the held-out examples, which over-fits rare labels. See `labelgrove.tuning`.
    validation : float, "cv", int, or (X, Y)
        The held-out examples: a random share of the rows; each fold of five, or of this number,
        in turn; or the examples given.
    refit : bool
        Whether to fit the estimator on all rows in the end, if a share is held out. Without it,
        labels that occur only in held-out rows are never predicted.
    average : {"macro", "micro", "instance"}
        The F-measure to maximise; "ofo" supports only "macro". `labelgrove.tuning.tune_auto`
        explains what "auto" does with each.
    common : bool, optional
        Whether all labels share one threshold. None: the default of `labelgrove.tuning.FTA` and
        `labelgrove.tuning.STO`.
    candidates : array-like of shape (k,), optional
        Thresholds for "fta" to try.
    a, b : float
        Initial counts of "ofo"; see `labelgrove.tuning.OFO`. With a=None all labels start from
        the best common threshold.
    c : float, optional
        Lower bound of the thresholds: max(1/c, nu_j) with nu_j = pi_j / (pi_j + 1), or nu_j alone
        if None; for "auto" 1/c alone. Lower probabilities are not computed.
    upper : float, optional
        Upper bound of the thresholds. None: 1/2, since with true probabilities no threshold above
        it is optimal; 1 with `labels_per_row` or `least_recall`.
    zero_division : {0, 1}
        F-measure of a label (or row) without any true or predicted entry.
    labels_per_row, least_recall : float, optional
        For "auto": the average number of labels to predict per row, or the share of true labels
        that must be found.
    least_labels : int, optional
        For "auto": how many of its best labels a row gets even if they miss their thresholds. None:
        0, or with average="instance" 1 if that is better.
    random_state : int, RandomState or None
        Seed of the choice of held-out rows.

    Attributes
    ----------
    estimator_ : classifier
        The fitted estimator.
    classes_ : ndarray of shape (n_classes,)
        Its labels; for indicator targets the column numbers.
    thresholds_ : ndarray of float64, shape (n_classes,)
        The threshold of each class.
    tuned_ : Thresholds
        The same thresholds, with the F-measure found in tuning; see `labelgrove.tuning.Thresholds`.
    inner_products_ : float
        Inner products per held-out example, on average; NaN if the estimator does not report it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.multiclass import OneVsRestClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> Y = (X + rng.normal(size=X.shape) > 1.5).astype(int)
    >>> plain = OneVsRestClassifier(LogisticRegression())
    >>> clf = ThresholdedClassifier(plain).fit(X[:200], Y[:200])
    >>> clf.predict(X[200:]).shape
    (100, 3)
    >>> fixed = clf.predict_proba(X[200:]) >= 0.5
    >>> from scipy.sparse import csr_array
    >>> from labelgrove.metrics import f_measure
    >>> bool(clf.score(X[200:], Y[200:]) > f_measure(csr_array(Y[200:]), csr_array(fixed)))
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        method: str = "auto",
        validation: Any = 0.2,
        refit: bool = True,
        average: str = "macro",
        common: bool | None = None,
        candidates: Any = None,
        a: float | None = None,
        b: float = 50.0,
        c: float | None = 100.0,
        upper: float | None = None,
        zero_division: float = 0.0,
        labels_per_row: float | None = None,
        least_recall: float | None = None,
        least_labels: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.validation = validation
        self.refit = refit
        self.average = average
        self.common = common
        self.candidates = candidates
        self.a = a
        self.b = b
        self.c = c
        self.upper = upper
        self.zero_division = zero_division
        self.labels_per_row = labels_per_row
        self.least_recall = least_recall
        self.least_labels = least_labels
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the estimator and tune the thresholds.

        Parameters
        ----------
        X
            Examples in any form that the estimator accepts.
        y
            Their labels in any form that the estimator accepts: one per row, a collection per
            row, or a 0/1 indicator.
        sample_weight : array-like of shape (n,), optional
            Weight of each row in the estimator's ``fit``, which must accept it; a pipeline does
            if a step requests it by metadata routing. Tuning ignores the weights, except that
            rows of weight 0 are left out of both.

        Returns
        -------
        self

        Raises
        ------
        DataError
            If X, y or sample_weight cannot be used, or there are too few rows to hold some out.
        ParameterError
            If a parameter lies outside its domain, or the estimator does not accept weights.
        """
        if not hasattr(self.estimator, "predict_proba"):
            raise ParameterError(
                f"estimator={self.estimator!r}: expected an estimator with predict_proba; "
                "scikit-learn's CalibratedClassifierCV adds it to one with only decision_function"
            )
        labels = LabelRegistry()
        examples = Labelled.read(X, y, labels).weighed(sample_weight)
        split, parts = None, [examples]
        if isinstance(self.validation, tuple) and len(self.validation) == 2:
            parts.append(Labelled.read(*self.validation, labels, examples.kind))
        else:
            split = Split.read(self.validation)
        counts = sum(np.bincount(part.truth.indices, minlength=len(labels)) for part in parts)
        n_rows = sum(part.truth.shape[0] for part in parts)
        options = {name: getattr(self, name) for name in DEFAULTS}
        tuning = HeldOutTuning(self.method, np.asarray(counts, np.int64), n_rows, **options)
        fits: Iterable[tuple[Any, Labelled]]
        if split is None:
            fits = [(examples.fit(self.estimator), parts[1])]
        else:
            fits = split.fitted(self.estimator, examples, self.random_state)
        fitted = None
        try:
            for fitted, held_out in fits:
                columns = labels.ids_of(_classes_of(fitted, examples)).astype(np.int64)
                truth = csr_array(held_out.truth)
                truth.resize((truth.shape[0], len(labels)))
                tuning.show(fitted, columns, held_out.X, truth)
            if split is not None and (self.refit or split.folds):
                fitted = examples.fit(self.estimator)
        except DataError as error:
            raise _among_all_rows(self.estimator, X, error) from None
        self._adopt(fitted, examples, labels, tuning.finish())
        self.inner_products_ = tuning.inner_products / tuning.n_rows
        return self

    def _adopt(
        self, fitted: Any, examples: Labelled, labels: LabelRegistry, tuned: Thresholds
    ) -> None:
        self.estimator_ = fitted
        self.classes_ = _classes_of(fitted, examples)
        columns = labels.ids_of(self.classes_).astype(np.int64)
        values = np.full(len(columns), tuned.default)
        values[columns >= 0] = tuned.values[columns[columns >= 0]]
        self.thresholds_ = values
        self.tuned_ = replace(tuned, values=values)
        self._kind = examples.kind

    def predict(self, X: Any) -> csr_array:
        """Predict all labels that reach their thresholds, and the best ``tuned_.least_labels``.

        Of LabelGrove's own multi-class estimators, whose ``predict_proba`` scales rows to sum to
        1, the thresholds are for the unscaled ``predict_proba(X, threshold=0)``.

        Parameters
        ----------
        X
            Examples in any form that the estimator accepts.

        Returns
        -------
        csr_array of int8, shape (n, n_classes)
            A 0/1 indicator, columns as in ``classes_``.

        Raises
        ------
        NotLearnedError
            Before `fit`.
        DataError
            If the estimator cannot use X.
        """
        self._require_fitted()
        estimates = Estimates(self.estimator_, len(self.classes_))
        found, _ = estimates.at_least(X, self.thresholds_, self.tuned_.least_labels)
        found.data = np.ones(found.nnz, np.int8)
        return found

    @available_if(_estimator_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, **options: Any) -> Any:
        """Return the estimator's own ``predict_proba``, with the same options."""
        self._require_fitted()
        return self.estimator_.predict_proba(X, **options)

    @available_if(_estimator_has("predict_topk"))  # type: ignore[untyped-decorator]
    def predict_topk(self, X: Any, k: int = 5, **options: Any) -> Any:
        """Return the estimator's own ``predict_topk``, with the same options."""
        self._require_fitted()
        return self.estimator_.predict_topk(X, k, **options)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the F-measure of the predicted labels, averaged according to ``average``.

        Parameters
        ----------
        X, y
            As for `fit`. Labels that are not among ``classes_`` count as not predicted.
        sample_weight : None
            Not supported.

        Returns
        -------
        float
            Between 0 and 1.
        """
        if sample_weight is not None:
            raise ParameterError("sample_weight: expected None, the F-measure takes no weights")
        self._require_fitted()
        labels = LabelRegistry()
        labels.ids_of(self.classes_, add=True)
        examples = Labelled.read(X, y, labels, self._kind)
        predicted = self.predict(X)
        predicted.resize(examples.truth.shape)
        average, zero = self.average, self.zero_division
        return float(f_measure(examples.truth, predicted, average=average, zero_division=zero))

    def _require_fitted(self) -> None:
        if not hasattr(self, "thresholds_"):
            raise NotLearnedError(
                "this ThresholdedClassifier has not been fitted yet; call fit first"
            )

    @property
    def n_features_in_(self) -> int:
        """Number of columns of X, if the estimator knows it."""
        return int(self._of_estimator("n_features_in_"))

    @property
    def feature_names_in_(self) -> npt.NDArray[Any]:
        """Names of the columns of X, if the estimator knows them."""
        names: npt.NDArray[Any] = self._of_estimator("feature_names_in_")
        return names

    def _of_estimator(self, attribute: str) -> Any:
        if not hasattr(self, "estimator_"):
            raise AttributeError(f"{attribute} is available once the estimator has been fitted")
        return getattr(self.estimator_, attribute)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "thresholds_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.classifier_tags = inner.classifier_tags
        return tags


def _among_all_rows(estimator: Any, X: Any, error: DataError) -> DataError:
    """Return the error of X as a whole, if there is one: ``error`` counts the rows of a part."""
    if isinstance(estimator, LabelClassifier):
        try:
            check_rows(X, names=FeatureNames() if is_dict_rows(X) else None, grow=True)
        except DataError as of_all_rows:
            return of_all_rows
    return error


def _classes_of(fitted: Any, examples: Labelled) -> npt.NDArray[Any]:
    """Return the labels of the columns of the estimator's probabilities."""
    if examples.kind == "indicator":
        return np.arange(examples.n_columns)
    classes = np.asarray(getattr(fitted, "classes_", None))
    if classes.ndim != 1:
        raise ParameterError(
            f"{type(fitted).__name__} has no one-dimensional classes_, so the columns of its "
            "probabilities have no labels; expected classes_, or y as an indicator"
        )
    return classes
