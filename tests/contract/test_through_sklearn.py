"""Correct answers through scikit-learn's scorers and meta-estimators.

There are two references. An exact one: a classifier with our predictions *by name*, converted to
scikit-learn's conventions by hand; every scorer must give both the same figure. And
LogisticRegression on well-separated classes, where a figure below 0.9 means that columns were mixed
up. Labels never arrive in sorted order here.
"""

from __future__ import annotations

import warnings
from functools import cache
from itertools import cycle
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import sklearn
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401 - makes HalvingGridSearchCV
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    f1_score,
    get_scorer,
    get_scorer_names,
    log_loss,
    roc_auc_score,
)
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    HalvingGridSearchCV,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_validate,
    learning_curve,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MultiLabelBinarizer, StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier

from labelgrove import (
    LdSMClassifier,
    LOMTreeClassifier,
    OnlinePLTClassifier,
    PLTClassifier,
    TextClassifier,
)
from labelgrove.text import HashedText, TextFeatures

pytestmark = pytest.mark.slow  # nothing here is for the sanitizers

Rows = npt.NDArray[np.float32]

CLASSIFIERS = {
    "online plt": OnlinePLTClassifier(epochs=5),
    "plt": PLTClassifier(),
    "lomtree": LOMTreeClassifier(epochs=10),
    "ldsm": LdSMClassifier(n_estimators=15, min_samples_split=2),
}
NAMES = ["pine", "oak", "elm", "ash"]
"""In order of arrival, which is reverse order."""

RIGHT = 0.9
"""A figure that correct answers on well-separated classes clearly exceed."""

each = pytest.mark.parametrize("clf", CLASSIFIERS.values(), ids=CLASSIFIERS.keys())
each_for_sets = pytest.mark.parametrize(
    "clf",
    [clf for name, clf in CLASSIFIERS.items() if name != "lomtree"],
    ids=[name for name in CLASSIFIERS if name != "lomtree"],
)


def each_with_one_of(*names: list[Any]) -> pytest.MarkDecorator:
    """Every classifier, and these names of classes in turn: all of them name classes alike."""
    turns = zip(CLASSIFIERS.values(), cycle(names), strict=False)
    return pytest.mark.parametrize(("clf", "names"), list(turns), ids=CLASSIFIERS.keys())


def far_apart(names: list[Any], *, spread: float = 0.15) -> tuple[Rows, Any]:
    """Rows of each class in turn, around an axis of its own, with two columns of noise."""
    rng = np.random.default_rng(0)
    at = np.tile(np.arange(len(names)), 30)
    X = rng.normal(0.0, spread, (len(at), len(names) + 2))
    X[np.arange(len(at)), at] += 1.0
    return X.astype(np.float32), np.array(names)[at]


def label_sets(*, spread: float = 0.15) -> tuple[Rows, npt.NDArray[np.int64]]:
    """Rows with one or two of four labels, each with an axis of its own, as an indicator."""
    rng = np.random.default_rng(0)
    sets = [[0], [1], [2], [3], [0, 1], [1, 2], [2, 3], [3, 0]] * 12
    Y = np.array([[int(j in labels) for j in range(4)] for labels in sets])
    return (Y + rng.normal(0.0, spread, Y.shape)).astype(np.float32), Y


POWERS = {OnlinePLTClassifier: 1.5, PLTClassifier: 1}
"""Of the odds of one of many classes, in proportion to which it is the only right one."""


class ByName(ClassifierMixin, BaseEstimator):
    """What a fitted model says of some rows, by name, put in sorted columns."""

    def __init__(self, model: Any, X: Any) -> None:
        self.classes_ = np.unique(model.classes_)
        names, scores = model.predict_topk(X, len(self.classes_))
        P = np.zeros((len(names), len(self.classes_)))
        for i, row in enumerate(names):
            P[i, np.searchsorted(self.classes_, row)] = scores[i]
        if model.target_type_ == "multiclass":
            most = POWERS.get(type(model), 0)
            power = round(4 * (most - (2 * most - 1) / len(self.classes_))) / 4 if most else 0
            odds = np.array([[p / max(1 - p, 2.0**-25) for p in row] for row in P.tolist()])
            P = odds**power if power else P
            P = P / P.sum(axis=1, keepdims=True)
            self._answers = model.predict_topk(X, 1)[0][:, 0]
        else:
            self._answers = (model.threshold <= P).astype(int)
        self._probabilities = P

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict_proba(self, _: Any) -> npt.NDArray[np.float64]:
        return self._probabilities

    def predict(self, _: Any) -> npt.NDArray[Any]:
        return self._answers


@cache
def scorers_for(names: tuple[Any, ...] | None) -> list[str]:
    """Return every scorer of scikit-learn that LogisticRegression has a figure of.

    On classes of these names, or on label sets.
    """
    X, y = label_sets() if names is None else far_apart(list(names))
    plain = LogisticRegression()
    reference = (OneVsRestClassifier(plain) if names is None else plain).fit(X, y)
    found = []
    for name in get_scorer_names():
        try:
            get_scorer(name)(reference, X, y)
        except (ValueError, TypeError, AttributeError):  # for other targets, or for clusters
            continue
        found.append(name)
    return found


def require_same_figures(clf: Any, X: Any, y: Any, names: list[Any] | None = None) -> set[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about figures that are undefined here
        found = scorers_for(names and tuple(names))
        exact = ByName(clf, X)
        for name in found:
            scorer = get_scorer(name)
            mine, right = scorer(clf, X, y), scorer(exact, X, y)
            np.testing.assert_allclose(mine, right, rtol=1e-5, atol=1e-6, err_msg=name)
    return set(found)


# --- scorers ----------------------------------------------------------------------------------


@each_with_one_of(NAMES, [30, 20, 10, -5])
def test_every_scorer_of_classes(clf: Any, names: list[Any]) -> None:
    X, y = far_apart(names, spread=0.6)
    found = require_same_figures(clone(clf).fit(X, y), X, y, names)
    some = {"accuracy", "f1_macro", "neg_log_loss", "roc_auc_ovr", "roc_auc_ovo_weighted"}
    assert some | {"top_k_accuracy", "balanced_accuracy", "d2_log_loss_score"} <= found
    X, y = far_apart(names)
    plain, ours = LogisticRegression().fit(X, y), clone(clf).fit(X, y)
    for scoring in ("accuracy", "roc_auc_ovr", "roc_auc_ovo", "f1_macro"):
        assert get_scorer(scoring)(plain, X, y) > RIGHT
        assert get_scorer(scoring)(ours, X, y) > RIGHT


@each_with_one_of([1, 0], [1, -1])
def test_every_scorer_of_two_classes(clf: Any, names: list[Any]) -> None:
    X, y = far_apart(names, spread=0.6)
    found = require_same_figures(clone(clf).fit(X, y), X, y, names)
    some = {"roc_auc", "average_precision", "neg_brier_score", "f1", "precision", "recall"}
    assert some | {"neg_log_loss", "jaccard", "matthews_corrcoef"} <= found
    X, y = far_apart(names)
    ours = clone(clf).fit(X, y)
    for scoring in ("roc_auc", "average_precision", "f1"):
        assert get_scorer(scoring)(ours, X, y) > RIGHT


@each_for_sets
def test_every_scorer_of_label_sets(clf: Any) -> None:
    X, Y = label_sets(spread=0.4)
    found = require_same_figures(clone(clf).fit(X, Y), X, Y)
    some = {"accuracy", "f1_micro", "f1_samples", "precision_macro", "jaccard_samples"}
    assert some | {"roc_auc", "roc_auc_ovr", "average_precision"} <= found
    X, Y = label_sets()
    ours = clone(clf).fit(X, Y)
    for scoring in ("roc_auc", "average_precision"):
        assert get_scorer(scoring)(ours, X, Y) > RIGHT


# --- meta-estimators --------------------------------------------------------------------------


def wrappers(clf: Any) -> dict[str, Any]:
    plain = LogisticRegression()
    return {
        "calibrated": CalibratedClassifierCV(clf, cv=3),
        "soft vote": VotingClassifier([("ours", clf), ("plain", plain)], voting="soft"),
        "hard vote": VotingClassifier([("ours", clf), ("one", clf), ("plain", plain)]),
        "stacking": StackingClassifier([("ours", clf), ("plain", plain)], cv=3),
        "stacked upon": StackingClassifier([("plain", plain)], final_estimator=clf, cv=3),
        "one versus rest": OneVsRestClassifier(clf),
        "one versus one": OneVsOneClassifier(clf),
        "output codes": OutputCodeClassifier(clf, code_size=4, random_state=0),
        "bagging": BaggingClassifier(clf, n_estimators=4, random_state=0),
        "bagging of rows without repeats": BaggingClassifier(
            clf, n_estimators=4, bootstrap=False, max_samples=0.7, random_state=0
        ),
        "pipeline": make_pipeline(MaxAbsScaler(), clf),
        "halving": HalvingGridSearchCV(
            clf, {"random_state": [1, 2, 3]}, cv=3, scoring="roc_auc_ovr", random_state=0
        ),
        "grid": GridSearchCV(clf, {"random_state": [1, 2]}, cv=3, scoring="neg_log_loss"),
    }


@each
@pytest.mark.parametrize("way", wrappers(LogisticRegression()).keys())
def test_classes_through_other_estimators(clf: Any, way: str) -> None:
    X, y = far_apart(NAMES)
    model = wrappers(clone(clf))[way].fit(X, y)
    assert model.classes_.tolist() == sorted(NAMES)
    assert accuracy_score(y, model.predict(X)) > RIGHT
    if hasattr(model, "predict_proba"):
        P = model.predict_proba(X)
        assert roc_auc_score(y, P, multi_class="ovr") > RIGHT
        np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-5)
    if hasattr(model, "best_score_"):
        right = 0.9 if way == "halving" else np.log(1 / len(NAMES))
        assert model.best_score_ > right  # else candidates were chosen at random


@each
def test_two_classes_through_other_estimators(clf: Any) -> None:
    X, y = far_apart([1, 0])
    for model in (
        TunedThresholdClassifierCV(clone(clf), scoring="f1", cv=3, thresholds=9),
        FixedThresholdClassifier(clone(clf), threshold=0.5),
        CalibratedClassifierCV(clone(clf), cv=3, method="isotonic"),
        SelfTrainingClassifier(clone(clf)),
    ):
        known = np.where(np.arange(len(y)) % 5 == 4, -1, y)
        given = known if isinstance(model, SelfTrainingClassifier) else y
        assert accuracy_score(y, model.fit(X, given).predict(X)) > RIGHT
        assert roc_auc_score(y, model.predict_proba(X)[:, 1]) > RIGHT


@each_for_sets
def test_label_sets_through_other_estimators(clf: Any) -> None:
    X, Y = label_sets()
    binary = clone(clf)
    for model in (
        OneVsRestClassifier(binary),
        MultiOutputClassifier(binary),
        ClassifierChain(binary),
    ):
        assert f1_score(Y, model.fit(X, Y).predict(X), average="macro") > RIGHT
    chosen = GridSearchCV(clone(clf), {"threshold": [0.3, 0.5]}, cv=3, scoring="f1_macro")
    assert chosen.fit(X, Y).best_score_ > 0.6


@each
def test_probabilities_of_a_cross_validation(clf: Any) -> None:
    X, y = far_apart(NAMES)
    P = cross_val_predict(clone(clf), X, y, cv=3, method="predict_proba")
    assert accuracy_score(y, np.array(sorted(NAMES))[P.argmax(axis=1)]) > RIGHT
    plain = cross_val_predict(LogisticRegression(), X, y, cv=3, method="predict_proba")
    assert np.array_equal(P.argmax(axis=1), plain.argmax(axis=1))
    assert log_loss(y, P) < np.log(len(NAMES))


@each_for_sets
def test_probabilities_of_a_cross_validation_of_label_sets(clf: Any) -> None:
    X, Y = label_sets()
    P = cross_val_predict(clone(clf), X, Y, cv=3, method="predict_proba")
    assert roc_auc_score(Y, P) > RIGHT


@each
def test_importance_of_columns(clf: Any) -> None:
    X, y = far_apart(NAMES)
    model = clone(clf).fit(X, y)
    found = permutation_importance(
        model,
        X,
        y,
        scoring=["accuracy", "roc_auc_ovr", "neg_log_loss"],
        n_repeats=2,
        random_state=0,
    )
    for name, importances in found.items():
        mean = importances.importances_mean
        assert mean[: len(NAMES)].mean() > mean[len(NAMES) :].max(), name
        assert name == "neg_log_loss" or mean[: len(NAMES)].min() > 0.03, name


@each
def test_learning_curves(clf: Any) -> None:
    X, y = far_apart(NAMES)
    folds = StratifiedKFold(3)
    sizes: dict[str, Any] = {"cv": folds, "train_sizes": [0.5, 1.0], "scoring": "roc_auc_ovr"}
    *_, valid = learning_curve(clone(clf), X, y, **sizes)
    assert valid[-1].min() > RIGHT
    if hasattr(clf, "partial_fit"):
        *_, valid = learning_curve(clone(clf), X, y, **sizes, exploit_incremental_learning=True)
        assert valid[-1].min() > 0.8  # a single pass


@pytest.mark.parametrize("name", ["online plt", "lomtree"])
def test_online_learners_inside_online_meta_estimators(name: str) -> None:
    X, y = far_apart([30, 20, 10, -5])  # partial_fit of OneVsOneClassifier takes numbers only
    classes = np.unique(y)
    for model in (OneVsRestClassifier(CLASSIFIERS[name]), OneVsOneClassifier(CLASSIFIERS[name])):
        for _ in range(10):
            for part in np.array_split(np.arange(len(X)), 3):
                model.partial_fit(X[part], y[part], classes=classes)
        assert accuracy_score(y, model.predict(X)) > RIGHT


# --- labels in and out ------------------------------------------------------------------------


@each_for_sets
@pytest.mark.parametrize("sparse", [False, True])
def test_label_sets_by_way_of_a_binarizer(clf: Any, sparse: bool) -> None:
    X, Y = label_sets()
    sets = [tuple(NAMES[j] for j in np.flatnonzero(row)) for row in Y]
    binarizer = MultiLabelBinarizer(sparse_output=sparse)
    model = clone(clf).set_params(threshold=0.4).fit(X, binarizer.fit_transform(sets))
    found = model.predict(X)
    assert issparse(found) == sparse  # as the targets were
    named = binarizer.inverse_transform(found)
    assert np.mean([set(a) == set(b) for a, b in zip(named, sets, strict=True)]) > 0.7
    P = model.predict_proba(X)
    assert issparse(P) == sparse and P.shape == Y.shape
    by_name = clone(clf).set_params(threshold=0.4).fit(X, [list(labels) for labels in sets])
    assert by_name.classes_.tolist() == binarizer.classes_.tolist()


# --- weights, frames, and the rest ------------------------------------------------------------


def weighted() -> tuple[Rows, Any, npt.NDArray[np.float64]]:
    """Every row twice, the second time with the next class; only one of the two counts."""
    X, y = far_apart(NAMES)
    wrong = np.roll(y, 1)
    order = np.argsort(np.tile(np.arange(len(X)), 2), kind="stable")
    weights = np.repeat([1.0, 0.0], len(X))[order]
    return np.vstack([X, X])[order], np.concatenate([y, wrong])[order], weights


@each
def test_weights_are_routed(clf: Any) -> None:
    X, y, weights = weighted()
    counted = weights > 0
    with sklearn.config_context(enable_metadata_routing=True):
        asked = clone(clf).set_fit_request(sample_weight=True)
        grid = GridSearchCV(
            make_pipeline(MaxAbsScaler(), asked.set_score_request(sample_weight=True)),
            {f"{type(clf).__name__.lower()}__random_state": [0, 1]},
            cv=3,
        ).fit(X, y, sample_weight=weights)
        assert accuracy_score(y[counted], grid.predict(X[counted])) > RIGHT
        assert grid.best_score_ > RIGHT  # rows with weight 0 do not count in it
        scores = cross_validate(
            asked,
            X,
            y,
            cv=3,
            scoring=get_scorer("accuracy").set_score_request(sample_weight=True),
            params={"sample_weight": weights},
        )
        assert scores["test_score"].min() > RIGHT


@each
def test_weights_through_ensembles(clf: Any) -> None:
    X, y, weights = weighted()
    counted = weights > 0
    for model in (
        BaggingClassifier(clone(clf), n_estimators=3, random_state=0),
        AdaBoostClassifier(clone(clf), n_estimators=3, random_state=0),
        CalibratedClassifierCV(clone(clf), cv=3),
        VotingClassifier([("a", clone(clf)), ("b", LogisticRegression())], voting="soft"),
    ):
        found = model.fit(X, y, sample_weight=weights).predict(X[counted])
        assert accuracy_score(y[counted], found) > RIGHT, type(model).__name__


@each
def test_frames_from_a_transformer(clf: Any) -> None:
    pytest.importorskip("pandas")
    X, y = far_apart(NAMES)
    for library in ("pandas", "polars"):
        pytest.importorskip(library)
        scale = StandardScaler(with_mean=False).set_output(transform=library)
        model = make_pipeline(scale, clone(clf)).fit(X, y)
        assert model[-1].feature_names_in_.tolist() == [f"x{j}" for j in range(X.shape[1])]
        assert accuracy_score(y, model.predict(X)) > RIGHT


@pytest.mark.parametrize("front_end", [HashedText(), TextFeatures()], ids=["hashed", "counted"])
def test_texts_while_other_transformers_return_frames(front_end: Any) -> None:
    pytest.importorskip("pandas")
    texts, y = [f"{name} tree" for name in NAMES * 5], NAMES * 5
    plain = make_pipeline(front_end, PLTClassifier()).fit(texts, y)
    with sklearn.config_context(transform_output="pandas"):
        model = make_pipeline(clone(front_end), PLTClassifier()).fit(texts, y)
        assert np.array_equal(model.predict_proba(texts), plain.predict_proba(texts))
        assert TextClassifier(PLTClassifier(), front_end).fit(texts, y).score(texts, y) == 1


def test_sparse_rows_through_other_estimators() -> None:
    X, y = far_apart(NAMES)
    for model in (OneVsRestClassifier(PLTClassifier()), BaggingClassifier(PLTClassifier())):
        assert accuracy_score(y, model.fit(csr_array(X), y).predict(csr_array(X))) > RIGHT
