"""ThresholdedClassifier over LabelGrove's estimators and scikit-learn's."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import sklearn
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Perceptron
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from contract.kit import run_check_of_scikit_learn
from labelgrove import DataError, OnlinePLTClassifier, ParameterError, ThresholdedClassifier
from labelgrove.metrics import f_measure
from labelgrove.models.thresholds import _estimates, _tuner
from labelgrove.tuning import tune_auto, tune_fta, tune_ofo, tune_sto

RNG = np.random.default_rng(3)
X = RNG.normal(size=(160, 6))
Y = (X[:, :4] + RNG.normal(scale=0.7, size=(160, 4)) > [1.0, 1.2, 0.8, 1.5]).astype(int)
NAMED = [[f"l{j}" for j in np.flatnonzero(row)] for row in Y]
HELD_OUT = (X[100:], Y[100:])

NAIVE_BAYES = OneVsRestClassifier(GaussianNB())
SPARSE = OnlinePLTClassifier(arity=2, max_leaves=2, second_stage=None)
WEIGHED = MultiOutputClassifier(GaussianNB())
ESTIMATORS = {
    "sparse": SPARSE,
    "pipeline": make_pipeline(MaxAbsScaler(), SPARSE),
    "one a label": NAIVE_BAYES,
    "list of arrays": WEIGHED,
    "neighbours": KNeighborsClassifier(7),
}


def probabilities(fitted: Any, rows: Any) -> np.ndarray:
    found = fitted.predict_proba(rows)
    if isinstance(found, list):
        return np.stack([part[:, 1] for part in found], axis=1)
    return found.toarray() if hasattr(found, "toarray") else found


@pytest.mark.parametrize("method", ["ofo", "fta", "sto"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_it_is_tuning_on_what_was_held_out(name: str, method: str) -> None:
    estimator = ESTIMATORS[name]
    clf = ThresholdedClassifier(estimator, method=method, validation=HELD_OUT, c=None)
    clf.fit(X[:100], Y[:100])
    plain = clone(estimator).fit(X[:100], Y[:100])
    tune = {"ofo": tune_ofo, "fta": tune_fta, "sto": tune_sto}[method]
    prior = Y.mean(axis=0)  # of all given examples
    expected = tune(Y[100:], probabilities(plain, X[100:]), lower=prior / (prior + 1))
    assert clf.thresholds_ == pytest.approx(expected.values, abs=1e-12)
    assert clf.tuned_.score == pytest.approx(expected.score, abs=1e-12)
    reached = probabilities(plain, X) >= clf.thresholds_
    for predicted in (clf.predict(X), expected.apply(probabilities(plain, X))):
        assert np.array_equal(predicted.toarray(), reached.astype(np.int8))
        assert predicted.indices.dtype == predicted.indptr.dtype == np.int32
    found = f_measure(csr_array(Y), csr_array(reached.astype(np.int8)))
    assert clf.score(X, Y) == pytest.approx(found)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_row_gets_its_best_labels_if_asked(name: str) -> None:
    for k in (1, 2):
        clf = ThresholdedClassifier(ESTIMATORS[name], validation=HELD_OUT, least_labels=k)
        clf.fit(X[:100], Y[:100])
        plain = clone(ESTIMATORS[name]).fit(X[:100], Y[:100])
        expected = tune_auto(
            Y[100:], probabilities(plain, X[100:]), frequencies=Y.sum(axis=0), least_labels=k
        )
        assert clf.thresholds_ == pytest.approx(expected.values, abs=1e-12)
        scores = probabilities(plain, X)
        predicted = clf.predict(X).toarray()
        assert np.array_equal(predicted, expected.apply(scores).toarray())
        assert (predicted.sum(axis=1) >= np.minimum((scores > 0).sum(axis=1), k)).all()
        assert clf.tuned_.least_labels == k


@pytest.mark.parametrize("validation", [0.3, "cv", 3])
def test_what_is_held_out_was_not_seen(validation: Any) -> None:
    class Remembers(DummyClassifier):
        """Knows which rows it was fitted on."""

        def fit(self, X: Any, y: Any) -> Any:
            self.seen = {row.tobytes() for row in X}
            return super().fit(X, y)

        def predict_proba(self, X: Any) -> Any:
            shown.append(({row.tobytes() for row in X}, self.seen))
            return super().predict_proba(X)

    shown: list[tuple[set[bytes], set[bytes]]] = []
    clf = ThresholdedClassifier(Remembers(strategy="prior"), validation=validation).fit(X, Y)
    assert all(not rows & seen for rows, seen in shown)
    rows = set().union(*(rows for rows, _ in shown))
    assert len(rows) == (48 if validation == 0.3 else 160)
    assert len(clf.estimator_.seen) == 160


@pytest.mark.parametrize("name", ESTIMATORS)
def test_rows_are_shown_in_batches_in_their_order(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def learnt() -> tuple[Any, ...]:
        clf = ThresholdedClassifier(ESTIMATORS[name], method="sto", validation=HELD_OUT)
        found = clf.fit(X[:100], Y[:100]).predict(X).toarray().tolist()
        return clf.tuned_.score, clf.thresholds_.tolist(), found

    whole = learnt()
    monkeypatch.setattr(_tuner, "_BATCH", 7)  # 60 rows: the last batch is shorter
    monkeypatch.setattr(_estimates, "_DENSE_BYTES", 3 * 8 * 4)
    assert learnt() == whole


def test_without_refit_the_first_fit_stands() -> None:
    clf = ThresholdedClassifier(SPARSE, validation=0.25, refit=False).fit(X, Y)
    assert clf.estimator_.examples_seen_ == 120
    assert ThresholdedClassifier(SPARSE, validation=0.25).fit(X, Y).estimator_.examples_seen_ == 160
    folds = ThresholdedClassifier(SPARSE, validation=4, refit=False)  # no fold has the first fit
    assert folds.fit(X, Y).estimator_.examples_seen_ == 160


@pytest.mark.parametrize("validation", [0.25, 4, HELD_OUT])
@pytest.mark.parametrize("refit", [True, False])
def test_rows_weigh_in_the_estimator(validation: Any, refit: bool) -> None:
    """Rows with weight 0 have no effect."""
    doubled, twice = np.vstack([X[:100], X[:100]]), np.vstack([Y[:100], 1 - Y[:100]])
    weights = np.tile(RNG.uniform(0.5, 2.0, 100), 2) * (np.arange(200) < 100)
    options = {"validation": validation, "refit": refit}
    clf = ThresholdedClassifier(WEIGHED, **options)
    clf.fit(doubled, twice, sample_weight=weights)
    alone = ThresholdedClassifier(WEIGHED, **options)
    alone.fit(X[:100], Y[:100], sample_weight=weights[:100])
    plain = ThresholdedClassifier(WEIGHED, **options).fit(X[:100], Y[:100])
    found = [probabilities(one, X) for one in (clf, alone, plain)]
    assert np.array_equal(found[0], found[1]) and np.array_equal(clf.thresholds_, alone.thresholds_)
    assert not np.array_equal(found[0], found[2])


def test_weights_are_passed_to_the_step_of_a_pipeline_that_requests_them() -> None:
    weights = RNG.uniform(0.5, 2.0, 160)
    alone = ThresholdedClassifier(WEIGHED).fit(X, Y, sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=True):
        step = MultiOutputClassifier(GaussianNB().set_fit_request(sample_weight=True))
        steps = ThresholdedClassifier(make_pipeline(FunctionTransformer(), step))
        assert np.array_equal(
            probabilities(steps.fit(X, Y, sample_weight=weights), X), probabilities(alone, X)
        )
        assert np.array_equal(steps.thresholds_, alone.thresholds_)
        nobody = ThresholdedClassifier(make_pipeline(FunctionTransformer(), WEIGHED))
        with pytest.raises(ParameterError, match="fit of Pipeline does not accept weights"):
            nobody.fit(X, Y, sample_weight=weights)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_names_of_columns_are_those_of_the_estimator(name: str) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=[*"abcdef"])
    clf = ThresholdedClassifier(ESTIMATORS[name], method="fta")
    assert not hasattr(clf, "feature_names_in_")
    assert not hasattr(clf.fit(X, Y), "feature_names_in_")
    assert clf.fit(frame, Y).feature_names_in_.tolist() == [*"abcdef"]


def test_labels_by_name_and_labels_that_only_held_out_rows_have() -> None:
    rare = [*NAMED[:-1], ["never learnt"]]
    clf = ThresholdedClassifier(SPARSE, method="sto", validation=(X[100:], rare[100:]))
    clf.fit(X[:100], NAMED[:100])
    assert sorted(clf.classes_) == ["l0", "l1", "l2", "l3"]
    order = [int(name[1]) for name in clf.classes_]
    indicator = ThresholdedClassifier(SPARSE, method="sto", validation=HELD_OUT)
    indicator.fit(X[:100], Y[:100])
    assert len(clf.thresholds_) == 4
    named = [[f"l{j}" for j in order if y[j]] for y in Y[100:]]
    found = f_measure(csr_array(Y[100:][:, order]), clf.predict(X[100:]))
    assert clf.score(X[100:], named) == pytest.approx(found) and found > 0.3


def test_tuning_helps_where_labels_are_rare() -> None:
    scores = {}
    for method in ("ofo", "fta", "sto"):
        clf = ThresholdedClassifier(NAIVE_BAYES, method=method, validation="cv").fit(X, Y)
        scores[method] = clf.score(X, Y)
    half = NAIVE_BAYES.fit(X, Y).predict_proba(X) >= 0.5
    assert min(scores.values()) > f_measure(csr_array(Y), csr_array(half.astype(int))) - 0.02


@pytest.mark.parametrize("average", ["micro", "instance"])
def test_other_averages_have_one_threshold_for_all(average: str) -> None:
    clf = ThresholdedClassifier(NAIVE_BAYES, method="sto", average=average, c=None)
    clf.fit(X, Y)
    assert len(set(clf.thresholds_.tolist())) <= 4
    found = f_measure(csr_array(Y), clf.predict(X), average=average)
    assert clf.score(X, Y) == pytest.approx(found)


def test_thresholds_are_pushed_into_the_search() -> None:
    clf = ThresholdedClassifier(SPARSE, method="fta", candidates=[0.4]).fit(X, Y)
    _, all_of_it = clf.estimator_.predict_proba(X, threshold=0.0, return_stats=True)
    assert 0 < clf.inner_products_ < all_of_it.classifiers.mean()
    assert np.isnan(ThresholdedClassifier(NAIVE_BAYES).fit(X, Y).inner_products_)


def test_a_fitted_estimator_can_be_tuned_alone() -> None:
    fitted = SPARSE.fit(X[:100], Y[:100])
    clf = ThresholdedClassifier(FrozenEstimator(fitted), validation=HELD_OUT).fit(X[:100], Y[:100])
    again = clone(SPARSE).fit(X[:100], Y[:100])
    assert (
        clf.predict(X)
        != ThresholdedClassifier(again, validation=HELD_OUT).fit(X[:100], Y[:100]).predict(X)
    ).nnz == 0
    again.set_thresholds(clf.tuned_)
    assert np.array_equal(again.predict(X), clf.predict(X).toarray())


def test_it_is_an_estimator_among_others() -> None:
    search = GridSearchCV(
        ThresholdedClassifier(SPARSE), {"method": ["ofo", "sto"], "estimator__arity": [2]}, cv=2
    )
    search.fit(X, Y)
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert (again.predict(X) != search.predict(X)).nnz == 0
    labels, scores = again.predict_topk(X[:3], k=2)
    assert labels.shape == scores.shape == (3, 2)
    assert not hasattr(ThresholdedClassifier(NAIVE_BAYES), "predict_topk")
    assert again.n_features_in_ == 6


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "best"}, "method='best': expected one of auto, ofo, fta, sto"),
        ({"validation": 1.5}, "validation=1.5: expected a share of the rows between 0 and 1"),
        ({"validation": True}, "validation=True"),
        ({"validation": "all"}, "validation='all'"),
        (
            {"method": "ofo", "average": "micro"},
            "method='ofo' tunes a separate threshold for every label",
        ),
        ({"method": "ofo", "b": "5"}, "b='5': expected a number"),
        ({"method": "ofo", "a": True}, "a=True: expected a number"),
        ({"method": "ofo", "a": 60.0}, "a and b: expected 0 <= a <= b"),
        ({"common": True}, "method='auto' chooses common or separate thresholds itself"),
        ({"labels_per_row": 2, "method": "sto"}, "least_recall and least_labels require"),
        ({"least_labels": 1, "method": "fta"}, "least_recall and least_labels require"),
        ({"least_labels": 1.5}, "least_labels=1.5: expected an integer"),
        ({"c": 1.0}, "c=1.0: expected a number above 1, or None"),
        ({"upper": 0}, "upper=0: expected a positive number"),
        ({"upper": 0, "method": "sto"}, "upper=0: expected a positive number"),
        ({"candidates": [0.9], "method": "fta"}, "numbers above 0 and up to upper=0.5"),
        ({"least_recall": 1.5}, "least_recall=1.5: expected"),
        ({"estimator": Perceptron()}, "expected an estimator with predict_proba"),
    ],
)
def test_parameters_outside_their_domain_are_refused_before_the_fit(
    changes: dict[str, Any], message: str
) -> None:
    class NeverFitted(OnlinePLTClassifier):
        def fit(self, *_: Any) -> Any:
            raise AssertionError

    with pytest.raises(ParameterError, match=message):
        ThresholdedClassifier(**{"estimator": NeverFitted(), **changes}).fit(X, Y)


def test_data_that_does_not_fit() -> None:
    with pytest.raises(DataError, match="expected at least 2, to hold some out"):
        ThresholdedClassifier(SPARSE).fit(X[:1], Y[:1])
    with pytest.raises(DataError, match="found multilabel targets; expected indicator ones"):
        ThresholdedClassifier(SPARSE, validation=(X, NAMED)).fit(X, Y)
    with pytest.raises(NotFittedError, match="has not been fitted yet"):
        ThresholdedClassifier(SPARSE).predict(X)
    with pytest.raises(DataError, match="sample_weight, row 3: found -1"):
        ThresholdedClassifier(SPARSE).fit(X, Y, np.where(np.arange(len(X)) == 3, -1.0, 1.0))
    with pytest.raises(ParameterError, match="fit of KNeighborsClassifier does not accept weights"):
        ThresholdedClassifier(KNeighborsClassifier(7)).fit(X, Y, np.ones(len(X)))

    wrong = X.copy()
    wrong[150, 2] = np.nan
    for rows, column in (
        (wrong, "2"),
        ([dict(zip("abcdef", row, strict=True)) for row in wrong], "'c'"),
    ):
        for weights in (None, np.arange(len(X))):
            with pytest.raises(DataError, match=f"row 150, .* {column}"):
                ThresholdedClassifier(SPARSE).fit(rows, Y, weights)

    class TooNarrow(BaseEstimator):
        def fit(self, X: Any, y: Any) -> Any:
            self.fitted_ = True
            return self

        def predict_proba(self, X: Any) -> Any:
            return np.full((len(X), 1), 0.5)

    with pytest.raises(DataError, match=r"TooNarrow returned shape \(32, 1\); expected one column"):
        ThresholdedClassifier(TooNarrow()).fit(X, Y)


SETS = "it returns sets of labels, sparse, whatever kind of target it was fitted on"
EXPECTED = {
    "check_complex_data": "a complex target is refused in LabelGrove's own words",
    "check_classifier_data_not_an_array": SETS,
    "check_estimator_sparse_array": SETS,
    "check_estimator_sparse_matrix": SETS,
    "check_classifiers_train": SETS,
    "check_classifiers_one_label": SETS,
    "check_classifiers_multilabel_representation_invariance": SETS,
    "check_classifiers_multilabel_output_format_predict": SETS,
    "check_supervised_y_2d": SETS,
}


@parametrize_with_checks(
    [ThresholdedClassifier(DecisionTreeClassifier(max_depth=4, random_state=0))]
)
def test_scikit_learn(estimator: BaseEstimator, check: Any) -> None:
    run_check_of_scikit_learn(check, estimator, EXPECTED)
