"""Examples in every form that users have them: the same numbers, the same model."""

from __future__ import annotations

import copy
import importlib.util
from collections import OrderedDict, UserDict, deque
from collections.abc import Callable
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from contract.kit import Make, checkerboard, label_sets, needs, noise, same_answers, state
from labelgrove import DataError, ParameterError


def sparse_forms(X: sp.csr_array) -> dict[str, Any]:
    """The same entries in many containers."""
    dense = X.toarray()
    forms: dict[str, Any] = {}
    for name in ("csr", "csc", "coo", "lil", "dok"):
        forms[f"{name}_array"] = getattr(sp, f"{name}_array")(X)
        forms[f"{name}_matrix"] = getattr(sp, f"{name}_matrix")(X)
    forms["float64"] = X.astype(np.float64)
    for major in ("csr", "csc"):
        wide = getattr(sp, f"{major}_array")(X)
        wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
        forms[f"{major} with int64"] = wide
    forms["unsorted"] = backwards(X)
    half = sp.csr_array(
        (np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape
    )
    forms["repeated"] = half
    forms["repeated coo"] = half.tocoo()
    forms["a view"] = sp.csr_array(
        (np.repeat(X.data, 2)[::2], np.repeat(X.indices, 2)[::2], X.indptr), shape=X.shape
    )
    forms["a slice"] = sp.vstack([X, X]).tocsr()[: X.shape[0]]
    forms["wider"] = sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], 2**31 - 1))
    assert all(np.array_equal(forms[f].toarray(), dense) for f in forms if f != "wider")
    return forms


def backwards(X: sp.csr_array) -> sp.csr_array:
    """Every row from its last entry to its first."""
    order = np.concatenate([np.arange(e - 1, b - 1, -1) for b, e in pairwise(X.indptr)])
    return sp.csr_array((X.data[order], X.indices[order], X.indptr), shape=X.shape)


@needs("sets")
def check_sparse_rows_in_any_container(make: Make) -> None:
    X, Y = noise()
    plain = make().fit(X, Y)
    expected = state(plain)
    for name, given in sparse_forms(X).items():
        clf = make().fit(given, Y)
        assert same_answers(clf, plain, given), name
        assert name == "wider" or state(clf) == expected, name
        assert clf.n_features_in_ == given.shape[1]


@needs("sets")
def check_sparse_integers_and_truth_values(make: Make) -> None:
    X, Y = noise()
    X.data[:] = 1.0
    expected = state(make().fit(X, Y))
    for dtype in (np.int8, np.uint16, np.int64, np.bool_):
        assert state(make().fit(X.astype(dtype), Y)) == expected, dtype


@needs("sets")
def check_dense_rows_in_any_container(make: Make) -> None:
    X, y = checkerboard(3)
    X = X + np.random.default_rng(1).random(X.shape).astype(np.float32)
    Y = label_sets(y)
    plain = make().fit(X, Y)
    expected = state(plain)
    padded = np.zeros((2 * len(X), X.shape[1] + 3), np.float32)
    padded[::2, 1:-2] = X
    read_only = X.copy()
    read_only.flags.writeable = False
    forms = {
        "float64": X.astype(np.float64),
        "big-endian": X.astype(">f4"),
        "columns first": np.asfortranarray(X),
        "a view": padded[::2, 1:-2],
        "read-only": read_only,
        "lists": X.tolist(),
        "objects": X.astype(object),
    }
    for name, given in forms.items():
        assert state(make().fit(given, Y)) == expected, name
        assert same_answers(plain, plain, given)


@needs("online")
def check_dense_rows_may_not_lack_columns(make: Make) -> None:
    X, y = checkerboard()
    clf = make().fit(X, y)
    before = state(clf)
    for use in (lambda: clf.predict(X[:, :5]), lambda: clf.partial_fit(X[:, :5], y)):
        with pytest.raises(DataError, match="5 features.*25 features"):
            use()
    assert state(clf) == before
    wider = np.hstack([X, np.ones((len(X), 3), np.float32)])
    assert clf.partial_fit(wider, y).n_features_in_ == X.shape[1] + 3


@needs("sets")
def check_dicts(make: Make) -> None:
    """Names are features in order of arrival; a string value is a category."""
    X, Y = noise()
    rows = [
        {f"f{j}": float(v) for j, v in zip(row.indices, row.data, strict=True)}
        for row in (X[[i]] for i in range(X.shape[0]))
    ]
    clf = make().fit(rows, Y)
    ids = {name: i for i, name in enumerate(dict.fromkeys(name for row in rows for name in row))}
    columns = [ids[f"f{j}"] for j in range(X.shape[1])]
    arrays = make().fit(sp.csr_array((X.data, np.take(columns, X.indices), X.indptr)), Y)
    assert clf.n_features_in_ == len(ids)
    np.testing.assert_array_equal(
        clf.predict_topk(rows, 5)[1],
        arrays.predict_topk(sp.csr_array((X.data, np.take(columns, X.indices), X.indptr)), 5)[1],
    )
    kinds: list[Callable[[Any], Any]] = [OrderedDict, UserDict, MappingProxyType]
    for kind in kinds:
        assert state(make().fit([kind(row) for row in rows], Y)) == state(clf)
    containers: list[Any] = [tuple(rows), deque(rows), np.array(rows, object)]
    for given in containers:
        assert state(make().fit(given, Y)) == state(clf)
        assert np.array_equal(clf.predict_topk(given, 5)[1], clf.predict_topk(rows, 5)[1])
    # What is unknown has no weights, but counts in the length of its row, named or not.
    both = sp.csr_array((X.data, np.take(columns, X.indices), X.indptr))
    wider = sp.hstack([both, np.tile(np.array([[3, 4]], np.float32), (len(rows), 1))], "csr")
    new = [{**row, "never seen": 3.0, "nor this": 4.0} for row in rows]
    np.testing.assert_array_equal(clf.predict_topk(new, 5)[1], arrays.predict_topk(wider, 5)[1])
    shuffled = [dict(reversed(row.items())) for row in rows]
    np.testing.assert_allclose(
        clf.predict_topk(shuffled, 5)[1], clf.predict_topk(rows, 5)[1], rtol=1e-4
    )


@needs("online")
def check_dicts_may_hold_categories(make: Make) -> None:
    colours, sizes = ["red", "green", "blue"], ["s", "m"]
    rows = [{"colour": c, "size": s, "weight": 0.1} for c in colours for s in sizes] * 5
    y = [f"{row['colour']} {row['size']}" for row in rows]
    clf = make(passes=40).fit(rows, y)
    assert clf.n_features_in_ == 6
    assert clf.score(rows, y) == 1.0
    assert clf.predict_topk([{"colour": "black"}, {}], 1)[0].shape == (2, 1)
    clf.partial_fit([{"colour": "black", "new": np.float32(2), "flag": True}], ["black"])
    assert clf.n_features_in_ == 9
    absent = ", or no entry for a missing value"
    for missing, told in (
        (np.nan, f"found nan; expected a finite number{absent}$"),
        (None, f"expected a number or a string{absent}, found NoneType$"),
        (np.datetime64("NaT", "D"), f"{absent}, found datetime64$"),
    ):
        with pytest.raises(DataError, match=f"X: row 1, feature 'size': .*{told}"):
            clf.partial_fit([{"colour": "red"}, {"size": missing}], ["red", "m"])
    for odd, told in ((np.inf, "expected a finite number$"), (["s"], "found list$")):
        with pytest.raises(DataError, match=f"X: row 1, feature 'size': .*{told}"):
            clf.partial_fit([{"colour": "red"}, {"size": odd}], ["red", "m"])


@needs("online")
def check_dicts_and_arrays_do_not_mix(make: Make) -> None:
    X, y = checkerboard(2)
    rows = [{"a": 1.0}, {"b": 2.0}]
    named, numbered = make().fit(rows, [0, 1]), make().fit(X, y)
    for clf, given, targets in ((named, X, y), (numbered, rows, [0, 1])):
        before = state(clf)
        with pytest.raises(DataError, match="dicts"):
            clf.predict(given)
        with pytest.raises(DataError, match="dicts"):
            clf.partial_fit(given, targets)
        assert state(clf) == before


def check_data_frames(make: Make) -> None:
    if importlib.util.find_spec("pandas") is None:
        pytest.skip("pandas is not installed")
    import pandas as pd

    X, y = checkerboard(2)
    names = [f"f{i}" for i in range(X.shape[1])]
    plain = make().fit(X, y)
    frames: list[Any] = [pd.DataFrame(X, columns=names)]
    if importlib.util.find_spec("polars") is not None:
        import polars as pl

        frames.append(pl.DataFrame(X, schema=names))
    for frame in frames:
        clf = make().fit(frame, pd.Series(y))
        for model in (clf, copy.deepcopy(clf)):
            assert model.feature_names_in_.tolist() == names
            assert all(np.array_equal(model.predict(f), plain.predict(X)) for f in frames)
            before = state(model)
            for columns, message in (
                (names[::-1], "must be in the same order"),
                ([*names[:-1], "other"], "unseen at fit time:\n- other"),
                (names[:-1], f"now missing:\n- {names[-1]}"),
            ):
                other = frame[columns] if "other" not in columns else renamed(frame, columns)
                for use in uses(model):
                    with pytest.raises(DataError, match=message):
                        use(other, y)
            with pytest.warns(UserWarning, match="does not have valid feature names"):
                assert same_answers(model, plain, X)
            wider = np.hstack([X, X])  # whose last columns would have no names
            for form in (np.asarray, sp.csr_array):
                for use in uses(model):
                    with (
                        pytest.warns(UserWarning, match="does not have valid feature names"),
                        pytest.raises(DataError, match=f"expecting {len(names)} features as input"),
                    ):
                        use(form(wider), y)
            assert state(model) == before
        with pytest.warns(UserWarning, match="fitted without feature names"):
            plain.predict(frame)
        assert not hasattr(clf.fit(X, y), "feature_names_in_")
    sparse = pd.DataFrame(X).astype(pd.SparseDtype(np.float32, 0.0))
    assert np.array_equal(plain.predict(sparse), plain.predict(X))
    numbered = pd.DataFrame(X)  # whose columns are numbers: as without names
    assert not hasattr(make().fit(numbered, y), "feature_names_in_")
    half = pd.DataFrame(X, columns=["a", *range(1, X.shape[1])])
    with pytest.raises(DataError, match="string names"):
        make().fit(half, y)
    words = pd.DataFrame(X, columns=names).assign(f1=["word"] * len(X))
    for wrong in (words, words.astype({"f1": "category"})):
        with pytest.raises(DataError, match="X: column 'f1': could not convert"):
            make().fit(wrong, y)


def check_what_is_no_table_is_told_in_a_sentence(make: Make) -> None:
    X, y = checkerboard()
    clf = make().fit(X, y)
    texts = ["some text"] * len(X)
    for given in (texts, np.array(texts), texts[0]):
        for use in (lambda X: make().fit(X, y), clf.predict_topk):
            with pytest.raises(DataError, match="X holds texts: .* TextClassifier learns"):
                use(given)
    for given, name in (((row for row in X), "generator"), (None, "NoneType"), ({1: 2}, "dict")):
        with pytest.raises(DataError, match=f"X is of type {name}: expected an array"):
            clf.predict_topk(given)
    with pytest.raises(DataError, match="X: row 1 has 3 values, row 0 has 2; expected as many"):
        clf.predict_topk([[1.0, 0.0], [1.0, 0.0, 0.0]])
    for given, place in (
        (np.array([["1", "2"], ["3", "red"]]), "row 1, column 1: found 'red'; expected a number"),
        (np.array([["1", 2.0], ["red", 4.0]], object), "row 1, column 0: found 'red'"),
        ([[1.0, 2.0], [3.0, "red"]], "row 1, column 1: found 'red'"),
        (np.array([["1", "2"]]), "row 0, column 0: found '1'"),
    ):
        with pytest.raises(DataError, match=f"X: {place}"):
            clf.predict_topk(given)
    with pytest.raises(ParameterError, match="top_k=0: expected an integer"):
        clf.predict_proba(X, top_k=0)
    with pytest.raises(ParameterError, match=r"^.{,200}$"):
        clf.predict_proba(X, top_k=np.arange(1.0, 2000.0))
    with pytest.raises(
        ParameterError, match=r"top_k=array\(\[\[1\], \[2\]\]\): expected an integer"
    ):
        clf.predict_proba(X, top_k=np.array([[1], [2]]))


def renamed(frame: Any, columns: list[str]) -> Any:
    frame = frame.clone() if hasattr(frame, "clone") else frame.copy()
    frame.columns = columns
    return frame


def uses(model: Any) -> list[Callable[[Any, Any], Any]]:
    found: list[Callable[[Any, Any], Any]] = [
        lambda X, _: model.predict(X),
        lambda X, _: model.predict_proba(X),
        lambda X, _: model.predict_topk(X),
        model.score,
    ]
    return [*found, model.partial_fit] if hasattr(model, "partial_fit") else found
