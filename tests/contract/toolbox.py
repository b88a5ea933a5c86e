"""The tools of scikit-learn work with every estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.random_projection import GaussianRandomProjection
from sklearn.utils.validation import check_is_fitted

from contract.kit import N_CLASSES, Make, checkerboard, label_sets, needs, state
from labelgrove.text import HashedText


def texts() -> tuple[list[str], list[str]]:
    subjects = ["cat", "dog", "fish", "bird"]
    places = ["garden", "house", "river"]
    told = [f"the {s} is in the {p}" for s in subjects for p in places] * 4
    return told, [text.split()[1] for text in told]


def check_pipelines(make: Make) -> None:
    told, subject = texts()
    for front in (HashedText(), HashedText(n_features=2**12), TfidfVectorizer()):
        model = make_pipeline(front, make(passes=15))
        assert model.fit(told, subject).score(told, subject) == 1.0
        assert model.predict(["a cat in the garden"]).tolist() == ["cat"]
        assert model.predict_proba(told).shape == (len(told), 4)
        assert model.classes_.tolist() == ["bird", "cat", "dog", "fish"]
    dicts = [{"subject": s} for s in subject]
    assert (
        make_pipeline(DictVectorizer(), make(passes=15)).fit(dicts, subject).score(dicts, subject)
    )
    X, y = checkerboard()
    projected = make_pipeline(GaussianRandomProjection(20, random_state=0), make(passes=20))
    assert projected.fit(X, y).score(X, y) > 0.9


@needs("sets")
def check_pipelines_for_sets(make: Make) -> None:
    told, subject = texts()
    sets = [[s, text.split()[-1]] for s, text in zip(subject, told, strict=True)]
    model = make_pipeline(HashedText(), make(passes=15)).fit(told, sets)
    assert set(model[-1].predict_topk(model[:-1].transform(told[:1]), 2)[0][0]) == {"cat", "garden"}


@needs("sets")
def check_grid_search(make: Make) -> None:
    X, y = checkerboard()
    grid: dict[str, Any] = {
        **{name: np.array([value]) for name, value in make.kind.numbers.items()},
        "threshold": np.linspace(0.1, 0.2, 2),
    }
    search = GridSearchCV(make(), grid, cv=KFold(2), n_jobs=None).fit(X, y)
    assert search.best_params_["threshold"] in {0.1, 0.2}
    assert search.best_score_ > 0.5
    assert np.array_equal(search.predict(X), search.best_estimator_.predict(X))
    by_sets = GridSearchCV(make(), {"threshold": [0.2, 0.6]}, cv=KFold(2))
    assert by_sets.fit(X, label_sets(y)).best_score_ > 0.5


@needs("sets")
def check_cross_validation(make: Make) -> None:
    X, y = checkerboard()
    folds = KFold(4)
    assert cross_val_score(make(passes=5), X, y, cv=folds).tolist() == [1.0] * 4
    assert cross_val_score(make(passes=5), X, label_sets(y), cv=folds).min() > 0.9
    assert np.array_equal(cross_val_predict(make(passes=5), X, y, cv=folds), y)
    Y = np.eye(N_CLASSES, dtype=int)[y]
    found = make(passes=15, threshold=0.3).fit(X, Y).predict(X)
    assert f1_score(Y, found, average="micro", zero_division=0) > 0.8


def check_it_is_a_classifier(make: Make) -> None:
    clf = make()
    assert isinstance(clf, BaseEstimator) and is_classifier(clf)
    X, y = checkerboard(2)
    check_is_fitted(clf.fit(X, y))
    assert type(clf).__name__ in repr(clf)
    assert clf.n_features_in_ == X.shape[1]


@needs("online")
def check_parameters_are_kept_as_they_are(make: Make) -> None:
    clf = make()
    for name, value in clf.get_params().items():
        assert getattr(clf, name) is value
    marker = object()
    assert clf.set_params(threshold=marker).get_params()["threshold"] is marker
    X, y = checkerboard(1)
    clf = make(passes=np.int64(2))
    before = {name: id(value) for name, value in clf.get_params().items()}
    clf.fit(X, y).partial_fit(X, y)
    assert {name: id(value) for name, value in clf.get_params().items()} == before
    assert state(clf)
