"""Unusable input is refused with a clear error, and the model stays intact."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from contract.kit import Make, checkerboard, label_sets, needs, noise, state
from labelgrove import DataError, NotLearnedError


def refuses(clf: Any, X: Any, Y: Any, message: str) -> None:
    """Assert that a call fails with the message, and leaves the model as it was."""
    before = state(clf), learnt(clf)
    for learn in (clf.partial_fit, clf.fit):
        with pytest.raises(DataError, match=message):
            learn(X, Y)
        assert (state(clf), learnt(clf)) == before


def learnt(clf: Any) -> bool:
    return bool(clf.__sklearn_is_fitted__())


def both(make: Make, X: Any, Y: Any) -> list[Any]:
    """An unfitted and a fitted model."""
    return [make(), make().fit(X, Y)]


@needs("online", "sets")
def check_a_bad_number_anywhere(make: Make) -> None:
    X, Y = noise(n=12)
    fresh = [["new", *row] for row in Y]  # labels that must not remain
    for clf in both(make, X, Y):
        for row in (0, 5, 11):
            for value, found in [(np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "inf"), (1e300, "1e")]:
                for form in (sp.csr_array, sp.csc_array, np.asarray):
                    bad = X.astype(np.float64).toarray()
                    bad[row, 3] = value
                    refuses(clf, form(bad), fresh, f"row {row}, column 3.*{re.escape(found)}")
        wrong = [[1.0, 2.0], [3.0, "x"]]
        refuses(clf, wrong, fresh[:2], "X")


@needs("online")
def check_a_bad_dict_anywhere(make: Make) -> None:
    rows: list[Any] = [{f"f{i}": 1.0, "all": 0.5} for i in range(8)]
    Y = make.targets([[f"l{i}"] for i in range(8)])
    for clf in both(make, rows, Y):
        for at in (0, 4, 7):
            for bad in (
                {"a": np.nan},
                {"a": np.inf},
                {"a": None},
                {"a": [1]},
                {3: 1.0},
                {"a": 10**400},
                {"half \ud800 of a pair": 1.0},
                {"colour": "half \udfff of a pair"},
            ):
                given = [{**row, "brand new": 1.0} for row in rows]
                given[at] = bad
                refuses(clf, given, Y, f"row {at}")
            if at:
                refuses(clf, [*rows[:at], [1.0], *rows[at + 1 :]], Y, f"row {at}")
    assert make().fit(rows, Y).n_features_in_ == 9


@needs("online", "sets")
def check_damaged_sparse_arrays(make: Make) -> None:
    """Inconsistent parts of a sparse array raise an error, not a crash."""
    X, Y = noise(n=12)

    def damage(form: Callable[[Any], Any], part: str, at: int, value: int) -> Any:
        matrix = form(X)
        array = getattr(matrix, part).copy()
        array[at] = value
        setattr(matrix, part, array)
        return matrix

    damaged = [
        damage(sp.csr_array, "indices", 0, -1),
        damage(sp.csr_array, "indices", 5, 10**8),
        damage(sp.csc_array, "indices", 0, 10**8),
        damage(sp.csc_array, "indices", 5, -(10**8)),
        damage(sp.coo_array, "row", 0, 10**8),
        damage(sp.coo_array, "col", 3, -1),
        damage(sp.csr_array, "indptr", 3, 10**8),
        damage(sp.csr_array, "indptr", 3, -5),
        damage(sp.csr_array, "indptr", 0, 1),
        damage(sp.csc_array, "indptr", 3, 10**8),
        damage(sp.csc_array, "indptr", -1, 10**8),
    ]
    short = sp.csr_array(X)
    short.data = short.data[:-3]
    damaged.append(short)
    fewer = sp.csr_array(X)
    fewer.indptr = fewer.indptr[:-2]
    damaged.append(fewer)
    for clf in both(make, X, Y):
        for given in damaged:
            refuses(clf, given, Y, "X")
    clf = make().fit(X, Y)
    for given in damaged:
        with pytest.raises(DataError):
            clf.predict_topk(given)


@needs("online", "sets")
def check_a_bad_label_anywhere(make: Make) -> None:
    X, Y = noise(n=10)
    for clf in both(make, X, Y):
        for row in (0, 4, 9):
            for bad in (None, np.nan, 1.5, "bare", {"a": 1}, [None], [1.5], [["nested"]], [b"x"]):
                given: list[Any] = [["brand new", *labels] for labels in Y]
                given[row] = bad
                # The first row decides which of two kinds is expected.
                refuses(clf, X, given, rf"row {row}|row {1 if row == 0 else 0}")
            mixed: list[Any] = [["brand new"] for _ in Y]
            mixed[row] = [7]
            refuses(clf, X, mixed, "strings|string|integer")


@needs("online")
def check_a_bad_class_anywhere(make: Make) -> None:
    X, y = checkerboard(1)
    for clf in both(make, X, y):
        for row in (0, 11):
            for bad, message in [(np.nan, "NaN"), (np.inf, "infinity"), (0.5, "continuous")]:
                given = y.astype(float)
                given[row] = bad
                refuses(clf, X, given, message)
            for odd in (None, "text", [1]):
                mixed = y.tolist()
                mixed[row] = odd
                refuses(clf, X, mixed, "row")


@needs("online", "sets")
def check_where_a_stream_is_cut_decides_no_refusal(make: Make) -> None:
    X = np.eye(3, 4)
    streams: list[list[Any]] = [
        [[0, 0], [1], [2]],
        [[2], [3], [1, 1, 0]],
        [["a"], [], [3]],
        [["a"], "b", ["c"]],
    ]
    for Y in streams:
        refuses(make(), X, Y, "row")
        clf = make()
        with pytest.raises(DataError):
            for i in range(len(Y)):
                clf.partial_fit(X[[i]], Y[i : i + 1])


@needs("online", "sets")
def check_a_bad_indicator(make: Make) -> None:
    X, y = checkerboard(1)
    Y = np.eye(12, dtype=int)[y]
    for clf in both(make, X, Y):
        for value in (2, -1, 0.5, np.nan):
            for form in (np.asarray, sp.csr_array, sp.csc_array):
                bad = Y.astype(float)
                bad[7, 3] = value
                refuses(clf, X, form(bad), "row 7, column 3")
        outside = sp.csr_array(Y)
        outside.indices[0] = 10**6
        refuses(clf, X, outside, "damaged")
        refuses(clf, X, Y[:, :, None], "3 dimensions")


@needs("online", "sets")
def check_lengths_must_agree(make: Make) -> None:
    X, y = checkerboard(2)
    for clf in both(make, X, label_sets(y)):
        refuses(clf, X, label_sets(y)[:-1], "24 rows.*23")
        refuses(clf, X[:-1], label_sets(y), "23 rows.*24")
    clf = make().fit(X, y)
    refuses(clf, sp.csr_array(X)[:5], y, "5 rows.*24")
    with pytest.raises(DataError):
        clf.score(X, y[:-1])


@needs("online", "sets")
def check_shapes_must_make_sense(make: Make) -> None:
    X, y = checkerboard(1)
    for clf in both(make, X, y):
        refuses(clf, X[0], y, "1D|dimension")
        refuses(clf, X[None], y, "dim 3|dimension")
        refuses(clf, np.empty((0, 25)), [], "0 sample")
        refuses(clf, sp.csr_array((0, 25)), [], "0 sample")
        refuses(clf, np.empty((3, 0)), [0, 1, 2], "0 feature")
        refuses(clf, X, None, "y")
        refuses(clf, "text", y, "X")
        refuses(clf, None, y, "X")
        refuses(clf, X.astype(complex), y, "Complex data not supported$")
        refuses(clf, sp.csr_array(X.astype(complex)), y, "Complex data not supported")
        refuses(clf, [["a", "b"]], [0], "X")
        refuses(clf, [[None, 1.0]], [0], "row 0, column 0: found NaN")
        refuses(clf, np.array([["2026-01-01"], ["NaT"]], "M8[D]"), [0, 1], "X holds dates or times")
        refuses(clf, [[10**400]], [0], "too large")
        refuses(clf, np.ma.array(X, mask=np.eye(*X.shape)), y, "masked")
        refuses(clf, wide(2**31), [0], "X has 2147483649 columns: expected at most 2147483647")
    clf = make().fit(X, y)
    for bad in (X[0], None, "text", X.astype(complex), np.full_like(X, np.nan), [{"a": 1.0}]):
        with pytest.raises(DataError):
            clf.predict(bad)


def wide(column: int) -> sp.csr_array:
    """One row with a single entry, far to the right."""
    return sp.csr_array(([1.0], np.array([column]), np.array([0, 1])), shape=(1, column + 1))


@needs("sets", "tree")
def check_before_learning_there_is_nothing(make: Make) -> None:
    X, y = checkerboard(1)
    clf = make()
    uses: list[Callable[[], Any]] = [
        lambda: clf.predict(X),
        lambda: clf.predict_topk(X),
        lambda: clf.predict_proba(X),
        lambda: clf.score(X, y),
        lambda: clf.remove_labels([1]),
        lambda: clf.rename_labels({1: 2}),
        lambda: clf.save("nowhere/model.lg"),
        clf.size,
    ]
    for use in uses:
        with pytest.raises(NotLearnedError, match="has not learnt"):
            use()
    for name in ("classes_", "n_classes_", "n_features_in_", "examples_seen_", "label_counts_"):
        assert not hasattr(clf, name)
    for name in ("tree_", "target_type_"):
        assert not hasattr(clf, name)
    assert not learnt(clf)


@needs("online")
def check_feature_names_of_a_refused_call_are_forgotten(make: Make) -> None:
    clf = make().partial_fit([{"meow": 1.0}, {"bark": 1.0}], ["cat", "dog"])
    before = state(clf)
    with pytest.raises(DataError, match="X has 1 rows, y has 2"):
        clf.partial_fit([{"meow": 1.0, "moo": 1.0}], ["cow", "cow"])
    assert state(clf) == before


@needs("online", "sets")
def check_after_failures_it_learns_as_if_nothing_had_happened(make: Make) -> None:
    X, Y = noise()
    bad = X.toarray()
    bad[-1, -1] = np.nan
    clf = make()
    for part in (slice(0, 20), slice(20, 60)):
        for wrong in ((bad, Y), (X, Y[:-1]), (X, [["odd"], *[[3]] * 59]), ([{"a": None}], [["a"]])):
            with pytest.raises(DataError):
                clf.partial_fit(*wrong)
        clf.partial_fit(X[part], Y[part])
    assert state(clf) == state(make().partial_fit(X, Y))
