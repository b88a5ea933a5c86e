"""`predict` prepares the scope of its searches once, not in every call."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from labelgrove import LdSMClassifier, OnlinePLTClassifier, PLTClassifier
from labelgrove.models.engine._learned import Learned


def data(n: int = 200, labels: int = 30) -> tuple[Any, list[list[str]]]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 8)).astype(np.float32)
    return X, [[f"l{j}" for j in set(rng.integers(0, labels, 3).tolist())] for _ in range(n)]


MODELS: dict[str, Callable[[], Any]] = {
    "online": OnlinePLTClassifier,
    "ofo": lambda: OnlinePLTClassifier(thresholds="ofo"),
    "batch": lambda: PLTClassifier(n_trees=1),
    "three trees": lambda: PLTClassifier(n_trees=3),
    "ldsm": lambda: LdSMClassifier(n_estimators=3),
}


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of times that thresholds were prepared."""
    calls: list[int] = []
    plain = Learned.thresholds

    def counting(self: Learned, threshold: Any) -> Any:
        calls.append(1)
        return plain(self, threshold)

    monkeypatch.setattr(Learned, "thresholds", counting)
    return calls


@pytest.mark.parametrize("name", MODELS)
def test_once_for_many_calls(name: str, counted: list[int]) -> None:
    X, Y = data()
    model = MODELS[name]().fit(X, Y)
    if name != "ofo":
        model.set_thresholds(np.linspace(0.05, 0.5, len(model.classes_)))
    counted.clear()
    first = model.predict(X)
    for row in X[:5]:
        model.predict(row[None])
    assert len(counted) == 1
    by_proba = model.predict_proba(X, threshold=model.thresholds_)
    assert first.nnz > 0 and np.array_equal(first.toarray(), by_proba.toarray() > 0)


def test_once_without_thresholds_too(counted: list[int]) -> None:
    X, Y = data()
    model = OnlinePLTClassifier().fit(X, Y)
    counted.clear()
    for row in X[:5]:
        model.predict(row[None])
    assert len(counted) == 1
    model.threshold = 0.1
    expected = model.predict_proba(X, threshold=0.1).toarray() > 0
    assert expected.any() and np.array_equal(model.predict(X).toarray(), expected)


@pytest.mark.parametrize("name", ["online", "ofo"])
def test_anew_when_the_model_changes(name: str) -> None:
    X, Y = data()
    model = MODELS[name]().partial_fit(X[:100], Y[:100])

    def agrees() -> None:
        found = model.predict(X)
        expected = model.predict_proba(X, threshold=model.thresholds_)
        assert np.array_equal(found.toarray(), expected.toarray() > 0)

    if name == "online":
        model.set_thresholds(np.linspace(0.05, 0.5, len(model.classes_)))
    agrees()
    model.partial_fit(X[100:], Y[:100])  # without new labels
    agrees()
    model.partial_fit(X[100:], [[*labels, f"new{i % 7}"] for i, labels in enumerate(Y[100:])])
    agrees()
    model.remove_labels(["l3", "new2"])
    agrees()
    model.rename_labels({"l5": "zz"})
    agrees()
    model = pickle.loads(pickle.dumps(model))
    agrees()
    model.set_thresholds(np.full(len(model.classes_), 0.1))
    agrees()
