"""What the checks of the contract share: estimators, data whose answer is known, and states."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

import labelgrove

Make = Callable[..., Any]
"""Gives a new estimator of the kind that is checked, some parameters changed."""

Check = Callable[[Make], None]

CONFIGURATIONS: dict[str, dict[str, dict[str, Any]]] = {
    "OnlinePLTClassifier": {
        "default": {},
        "narrow": {"arity": 2, "max_leaves": 4},
        "paper": {"preset": "paper", "max_leaves": 4},
        "sgd": {
            "learner": "sgd",
            "policy": "random",
            "arity": 3,
            "max_leaves": 3,
            "replay_memory": 5,
        },
        "cpet": {"policy": "cpet", "arity": 2},
    },
}
"""For every estimator some sets of parameters that lead through different code."""

N_FEATURES, N_CLASSES = 24, 12


def estimators() -> Iterator[tuple[str, type]]:
    """Find every estimator that the package offers."""
    for name in labelgrove.__all__:
        found = getattr(labelgrove, name)
        if isinstance(found, type) and hasattr(found, "partial_fit"):
            yield name, found


def checkerboard(repeats: int = 8) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Rows of 12 classes in turn; a class has two columns of 1 of its own, and all share one.

    So the right class of a row can be read from its columns, and a few passes learn it.
    """
    classes = np.tile(np.arange(N_CLASSES), repeats)
    X = np.zeros((len(classes), N_FEATURES + 1), np.float32)
    rows = np.arange(len(classes))
    X[rows, classes] = 1.0
    X[rows, classes + N_CLASSES] = 1.0
    X[:, N_FEATURES] = 0.5
    return X, classes


def label_sets(classes: npt.NDArray[np.int64]) -> list[list[str]]:
    """Two labels a row: the class, and one that every third class shares."""
    return [[f"class {c}", f"group {c % 3}"] for c in classes.tolist()]


def noise(seed: int = 0, n: int = 60, d: int = 20) -> tuple[sp.csr_array, list[list[str]]]:
    """Random sparse rows with none to three of some frequent and rare labels."""
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, d), density=0.3, rng=rng, dtype=np.float32, format="csr")
    X.sort_indices()
    Y = [[f"l{int(30 * u**2)}" for u in rng.random(rng.integers(0, 4))] for _ in range(n)]
    return X, [list(dict.fromkeys(row)) for row in Y]


def state(clf: Any) -> Any:
    """Give all that the model has learnt, as it would be pickled, without the parameters."""
    everything = clf.__getstate__()
    return _frozen({k: v for k, v in everything.items() if k not in clf.get_params(deep=False)})


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _frozen(v) for k, v in value.items() if k != "parameters"}
    if isinstance(value, (list, tuple)):
        return [_frozen(item) for item in value]
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    return value


def same_answers(one: Any, other: Any, X: Any) -> bool:
    """Whether two models rank the same labels with the same scores, to the last bit."""
    pairs = zip(one.predict_topk(X, 7), other.predict_topk(X, 7), strict=True)
    return all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in pairs)
