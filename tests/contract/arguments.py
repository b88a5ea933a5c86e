"""Parameters and arguments outside their domain are refused by name, and change nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from contract.kit import Make, checkerboard, label_sets, needs, noise, state
from labelgrove import DataError, LabelGroveError, ParameterError


def check_bad_parameters_are_named(make: Make) -> None:
    X, y = checkerboard(1)
    learnt = make().fit(X, y)
    before = state(learnt)
    for name, values in make.bad().items():
        for value in values:
            clf = make(**{name: value})  # the constructor only keeps it
            with pytest.raises(ParameterError, match=name):
                clf.fit(X, y)
            assert not clf.__sklearn_is_fitted__(), (name, value)
            good = learnt.get_params()[name]
            learnt.set_params(**{name: value})
            with pytest.raises(ParameterError, match=name):
                learnt.fit(X, y)
            learnt.set_params(**{name: good})
            assert state(learnt) == before


@needs("sets")
def check_numbers_of_numpy_are_parameters_too(make: Make) -> None:
    """As given by a parameter grid."""
    X, Y = noise(n=10)
    plain = {**make.kind.numbers, "n_jobs": 2}
    flags = {"normalize": np.True_} if "normalize" in make().get_params() else {}
    numpy: dict[str, Any] = {
        name: np.float64(value) if isinstance(value, float) else np.int64(value)
        for name, value in plain.items()
    }
    clf = make(**numpy, **flags, random_state=np.uint32(7), threshold=np.float32(0.25))
    same = make(**plain, random_state=7, threshold=0.25)
    assert state(clf.fit(X, Y)) == state(same.fit(X, Y))
    assert (clf.predict(X) != same.predict(X)).nnz == 0


@needs("sets", "tree")
def check_bad_arguments_of_predictions(make: Make) -> None:
    X, y = checkerboard(1)
    for targets in (y, label_sets(y)):
        clf = make().fit(X, targets)
        for k in (0, -1, 1.5, "3", None, True, [1]):
            with pytest.raises(ParameterError, match=r"\bk\b|top_k"):
                clf.predict_topk(X, k)
            if k is not None:
                with pytest.raises(ParameterError, match=r"\bk\b|top_k"):
                    clf.predict_proba(X, top_k=k)
        for width in (0, -3, 1.5, "2", True):
            with pytest.raises(ParameterError, match="beam_width"):
                clf.predict_topk(X, 2, beam_width=width)
        for threshold in (np.nan, "a", [0.5], np.full((3, 3), 0.5), [0.1, [2]], {"a": 1}):
            with pytest.raises(ParameterError, match="threshold"):
                clf.predict_proba(X, threshold=threshold)
        with pytest.raises(ParameterError, match="exclude"):
            clf.predict_proba(X, top_k=2, threshold=0.5)
        with pytest.raises(ParameterError, match="beam_width"):
            clf.predict_proba(X, beam_width=2)


@needs("sets")
def check_bad_allow_lists(make: Make) -> None:
    X, y = checkerboard(1)
    clf = make().fit(X, [str(c) for c in y])
    for bad in ("12", b"12", 3, 1.5):
        with pytest.raises(DataError, match="labels"):
            clf.predict_topk(X, labels=bad)
    for bad in ([3], [None], [1.5], [["1"]], ["1", 3]):
        with pytest.raises(DataError):
            clf.predict_topk(X, labels=bad)


@needs("sets")
def check_the_threshold_of_predict(make: Make) -> None:
    clf, X, _ = make.fitted()
    if hasattr(clf, "thresholds_"):
        return  # predict uses those
    for threshold in (0, 0.0, 0.3, np.float32(0.3), np.int64(1), 2):
        clf.set_params(threshold=threshold)
        expected = clf.predict_proba(X, threshold=float(threshold))
        predicted = clf.predict(X)
        assert predicted.dtype == np.int8 and predicted.nnz == expected.nnz
        assert np.array_equal(predicted.toarray() > 0, expected.toarray() > 0)
    for bad in ("a", None, np.nan, [0.5], True):
        clf.set_params(threshold=bad)
        with pytest.raises(ParameterError, match="threshold"):
            clf.predict(X)


def check_results_that_no_memory_can_hold_are_refused(make: Make) -> None:
    X, y = checkerboard(1)
    clf = make().fit(X, y)
    with pytest.raises(LabelGroveError, match="GiB; ask for a smaller k"):
        clf.predict_topk(X, 2**27)
    with pytest.raises(LabelGroveError, match=r"GiB|\bk\b"):
        clf.predict_topk(X, 2**62)
