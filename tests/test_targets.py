"""Targets in every form that users have, and refusals with the position."""

from __future__ import annotations

import datetime as dt
import enum
import tracemalloc
import warnings
from collections import UserList, deque
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.exceptions import DataConversionWarning

from labelgrove import DataError, OnlinePLTClassifier, ThresholdedClassifier, evaluate
from labelgrove._targets import parse_targets

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
NUMBERS = st.integers(-(2**63), 2**63 - 1)


def rows(Y: Any, kind: str, label_type: str | None = None) -> list[list[Any]]:
    targets = parse_targets(Y)
    assert targets.kind == kind
    assert targets.indptr.dtype == np.int64
    assert targets.indptr[0] == 0
    assert targets.indptr[-1] == len(targets.labels)
    assert (targets.n_columns is None) == (kind != "indicator")
    assert targets.labels.dtype in (object, np.int64)
    assert targets.label_type in (label_type, None) or label_type is None
    assert targets.names.tolist() == list(dict.fromkeys(targets.labels.tolist()))
    exact = {"str": str, "int": int, None: None}[targets.label_type]
    assert all(type(name) is exact for name in targets.labels.tolist())
    return [targets.row(i) for i in range(targets.n_rows)]


class Colour(enum.StrEnum):
    RED = "red"


class NotAnArray:
    def __init__(self, data: Any) -> None:
        self.data = np.asarray(data)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.data


def objects(*items: Any) -> np.ndarray:
    array = np.empty(len(items), object)
    array[:] = items
    return array


@pytest.mark.parametrize(
    ("Y", "expected"),
    [
        (["b", "a", "b"], ["b", "a", "b"]),
        (("b", "a"), ["b", "a"]),
        (UserList(["b", "a"]), ["b", "a"]),
        (deque([2, 1]), [2, 1]),
        (range(3), [0, 1, 2]),
        (np.array(["b", "aa"]), ["b", "aa"]),
        (objects("b", "a"), ["b", "a"]),
        (objects(np.str_("b"), Colour.RED), ["b", "red"]),
        ([3, -1, 3], [3, -1, 3]),
        ([np.int8(3), 5, np.uint64(7)], [3, 5, 7]),
        (np.array([3, 1], np.uint16), [3, 1]),
        (np.array([2**63 - 1], np.uint64), [2**63 - 1]),
        (np.array([3, 1], ">i4"), [3, 1]),
        (np.array([True, False]), [1, 0]),
        ([True, False], [1, 0]),
        ([0.0, 1.0, -0.0], [0, 1, 0]),
        ([1, 2.0], [1, 2]),
        ([2**62 + 1, 1.0], [2**62 + 1, 1]),
        (np.array([0.0, 1.0, 1e18]), [0, 1, 10**18]),
        (np.array([1.0, 2.0], np.float16), [1, 2]),
        (objects(1, 2.0, np.float32(3)), [1, 2, 3]),
        (np.array([-(2.0**63)]), [-(2**63)]),
        (NotAnArray([1, 2]), [1, 2]),
        (np.array([], np.int64), []),
        (np.array(["a"]), ["a"]),
        (["", "a"], ["", "a"]),
    ],
)
def test_one_label_a_row(Y: Any, expected: list[Any]) -> None:
    assert rows(Y, "multiclass") == [[name] for name in expected]


@pytest.mark.parametrize(
    ("Y", "expected"),
    [
        ([["b", "a"], ["a"]], [["b", "a"], ["a"]]),
        ((("b",), ()), [["b"], []]),
        ([["b", "a", "b"], []], [["b", "a"], []]),
        ([["c", "c"], {"b", "a"}, ["a", "c", "a"]], [["c"], ["a", "b"], ["a", "c"]]),
        ([{"b", "a", "c"}, frozenset(["z", "y"])], [["a", "b", "c"], ["y", "z"]]),
        ([{10, 9, -1}, []], [[-1, 9, 10], []]),
        ([{"b": 1, "a": 2}.keys(), ["c"]], [["a", "b"], ["c"]]),
        ([np.array(["b", "a"]), np.array([])], [["b", "a"], []]),
        ([np.array([2, 1, 2], np.uint8), (5,)], [[2, 1], [5]]),
        ([range(2), [7]], [[0, 1], [7]]),
        (objects(["b"], {"a"}, ()), [["b"], ["a"], []]),
        ([["ab"], ["cd"]], [["ab"], ["cd"]]),
        ([[Colour.RED, np.str_("b")]], [["red", "b"]]),
        ([[], []], [[], []]),
        ([], []),
        (objects(), []),
        ([[0, 1], [1, 0]], [[0, 1], [1, 0]]),
        ([[1], [0]], [[1], [0]]),
        ([[0, 0, 2], [1, 2, 1]], [[0, 2], [1, 2]]),
        (deque([["a"], ["b"]]), [["a"], ["b"]]),
    ],
)
def test_a_collection_of_labels_a_row(Y: Any, expected: list[list[Any]]) -> None:
    assert rows(Y, "multilabel") == expected


@given(st.lists(st.lists(WORDS, max_size=5)) | st.lists(st.lists(NUMBERS, max_size=5)))
def test_collections_lose_nothing_but_repetitions(Y: list[list[Any]]) -> None:
    # A row such as [0, 0, 1] is refused: it is taken for a row of an indicator.
    if not any({*row} <= {0, 1} and len({*row}) < len(row) for row in Y):
        assert rows(Y, "multilabel") == [list(dict.fromkeys(row)) for row in Y]
        assert rows([set(row) for row in Y], "multilabel") == [sorted(set(row)) for row in Y]


@given(st.lists(WORDS, min_size=1) | st.lists(NUMBERS, min_size=1))
def test_a_vector_is_the_same_in_every_form(Y: list[Any]) -> None:
    expected = [[name] for name in Y]
    for form in (Y, tuple(Y), objects(*Y), UserList(Y)):
        assert rows(form, "multiclass") == expected
    if isinstance(Y[0], int):
        assert rows(np.array(Y), "multiclass") == expected


@given(st.lists(st.integers(0, 9), max_size=30))
def test_small_integers_are_numbered_in_order_of_arrival_as_all_labels_are(Y: list[int]) -> None:
    small, large = parse_targets(np.array(Y, int)), parse_targets(np.array(Y, int) + 100)
    assert small.names.tolist() == (large.names - 100).tolist() == list(dict.fromkeys(Y))
    assert small.codes.tolist() == large.codes.tolist() == [[*dict.fromkeys(Y)].index(y) for y in Y]
    assert small.names.dtype == large.names.dtype == small.codes.dtype == np.int64


def test_columns_are_numbered_in_little_memory() -> None:
    Y = sp.random_array((900, 300), density=0.2, rng=np.random.default_rng(0), format="csc")
    Y.data[:] = 1
    tracemalloc.start()
    found = parse_targets(Y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.labels.tolist() == Y.tocsr().indices.tolist()
    assert peak < 46 * Y.nnz  # 8 of them for the codes


INDICATORS = hnp.arrays(
    np.int8,
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=7),
    elements=st.integers(0, 1),
).filter(lambda Y: Y.shape[1] != 1)


@given(INDICATORS)
def test_an_indicator_is_the_same_in_every_form(Y: np.ndarray) -> None:
    expected = [np.flatnonzero(row).tolist() for row in Y]
    for dtype in (np.int8, np.uint32, bool, np.float32, np.float64, object):
        assert rows(Y.astype(dtype), "indicator") == expected
    assert rows(np.asfortranarray(Y), "indicator") == expected
    for name in ("csr", "csc", "coo", "lil", "dok", "dia") if Y.size else ("csr", "csc", "coo"):
        for make in (sp.csr_array, sp.csr_matrix):
            assert rows(make(Y).asformat(name), "indicator") == expected
    if Y.size:
        assert rows(sp.csr_array(Y).tobsr(blocksize=(1, 1)), "indicator") == expected
    assert parse_targets(Y).n_columns == Y.shape[1]


def test_a_sparse_indicator_may_hold_zeros_and_repetitions_in_any_order() -> None:
    Y = sp.csr_array(([1.0, 0, 1, 1, 1], [3, 1, 0, 3, 2], [0, 4, 5]), shape=(2, 4))
    before = [array.copy() for array in (Y.data, Y.indices, Y.indptr)]
    assert rows(Y, "indicator") == [[0, 3], [2]]
    for array, old in zip((Y.data, Y.indices, Y.indptr), before, strict=True):
        np.testing.assert_array_equal(array, old)
    coo = sp.coo_array(([1, 1, 0, 1], ([1, 1, 0, 0], [2, 2, 0, 1])), shape=(2, 3))
    assert rows(coo, "indicator") == [[1], [2]]
    assert rows(sp.csr_array((2, 1)), "indicator") == [[], []]


def test_sparse_indices_may_have_64_bits() -> None:
    Y = sp.csr_array(np.eye(3))
    Y.indices, Y.indptr = Y.indices.astype(np.int64), Y.indptr.astype(np.int64)
    assert rows(Y, "indicator") == [[0], [1], [2]]


def test_a_column_is_one_label_a_row_and_scikit_learns_warning_is_given() -> None:
    for Y in (np.array([[1], [0], [1]]), np.array([["b"], ["a"], ["b"]]), np.array([[1.0]])):
        with pytest.warns(DataConversionWarning) as caught:
            assert rows(Y, "multiclass") == [[name] for name in Y[:, 0].tolist()]
        assert "A column-vector y was passed when a 1d array was expected" in str(caught[0].message)


@pytest.mark.parametrize(
    "use",
    [
        lambda clf, X, y: clf.fit(X, y),
        lambda clf, X, y: clf.partial_fit(X, y),
        lambda clf, X, y: clf.fit(X, y.ravel()).score(X, y),
        lambda clf, X, y: ThresholdedClassifier(clf).fit(X, y),
        lambda clf, X, y: evaluate(clf.fit(X, y.ravel()), X, y),
    ],
    ids=["fit", "partial_fit", "score", "thresholds", "evaluate"],
)
def test_the_warning_points_to_who_called_the_package(use: Callable[..., Any]) -> None:
    X, y = np.eye(4), np.array([[1], [2], [1], [2]])
    with pytest.warns(DataConversionWarning) as caught:
        use(OnlinePLTClassifier(), X, y)
    assert {warning.filename for warning in caught} == {__file__}


REFUSED = [
    (None, "requires y to be passed, but the target y is None"),
    ("abc", "Y is a str: expected a 1-D array"),
    (b"abc", "Y is a bytes"),
    ({"a", "b"}, "Y is a set"),
    ({"a": 1}, "Y is a dict"),
    ((c for c in "ab"), "Y is a generator"),
    (5, "Y is a int"),
    (np.array(5), "Y has 0 dimensions"),
    (np.zeros((2, 2, 2)), "Y has 3 dimensions"),
    ([0.5, 1.0], r"Unknown label type: continuous \(Y, row 0 holds 0.5\)"),
    (np.array([0.0, 1.5]), r"Unknown label type: continuous \(Y, row 1 holds 1.5\)"),
    (np.array([0.5, 1.0], np.float32), "Unknown label type: continuous"),
    (np.array([1e-300]), "Unknown label type: continuous"),
    ([1, 2, 2.5], r"continuous \(Y, row 2 holds 2.5\)"),
    (np.array([1.0, np.nan]), "Y, row 1: Input y contains NaN"),
    (np.array([np.nan, 0.5]), "Y, row 0: Input y contains NaN"),
    (np.array([0.0, np.inf]), "Y, row 1: Input y contains infinity"),
    (np.array([0.0, -np.inf]), "Y, row 1: Input y contains infinity"),
    (["a", float("nan")], "Y, row 1: Input y contains NaN"),
    ([1, np.float32("nan")], "Y, row 1: Input y contains NaN"),
    (np.array([0.0, 2.0**63]), "Y, row 1: label 9223372036854775808 does not fit into 64 bits"),
    (np.array([0.0, -(2.0**64)]), "Y, row 1: label -18446744073709551616 does not fit"),
    (np.array([0, 2**63], np.uint64), "Y, row 1: label 9223372036854775808 does not fit"),
    ([1, 2**70], "Y, row 1: label 1180591620717411303424 does not fit into 64 bits"),
    ([1, "a"], r"Y, row 1: label 'a' is a string, but 1 \(Y, row 0\) is an integer"),
    (["a", "b", 3], "Y, row 2: label 3 is an integer"),
    (objects("a", 1.0), "Y, row 1: label 1 is an integer"),
    (["a", None], r"Y, row 1: the label is missing \(None\)"),
    ([b"a"], "Y, row 0: b'a' is of type bytes"),
    (np.array([b"a"]), "Y, row 0: b'a' is of type bytes"),
    ([1j], "Y, row 0: 1j is of type complex"),
    (np.array([1j]), "Y, row 0: 1j is of type complex"),
    (np.array(["2020-01-01"], "M8[D]"), "Y, row 0: .* is of type date"),
    ([dt.date(2020, 1, 1)], "is of type date"),
    ([Decimal(1)], "is of type Decimal"),
    ([{"a": 1}], "Y, row 0: {'a': 1} is of type dict"),
    ([object], "Y, row 0: .* is of type type"),
    ([["a"], "b"], r"Y, row 1: a single label \('b'\), while other rows are collections"),
    (["a", ["b"]], r"Y, row 0: a single label \('a'\), while other rows are collections"),
    ([[1], 2], r"Y, row 1: a single label \(2\)"),
    ([[1], None], r"Y, row 1: nothing \(None\)"),
    ([[1], {"a": 1}], "Y, row 1: a dict"),
    ([["a"], b"b"], "Y, row 1: a bytes"),
    ([["a"], [], ["b", None]], r"Y, row 2: the label is missing \(None\)"),
    ([["a"], [np.zeros(2)]], "Y, row 1: .* is of type ndarray"),
    ([["a"], ["b", 1]], "Y, row 1: label 1 is an integer"),
    ([[1], {2, "a"}], "Y, row 1: label 'a' is a string"),
    ([[1], [2.0]], "Y, row 1: 2.0 is of type float"),
    ([[1], np.array([2.0])], "Y, row 1: 2.0 is of type float"),
    ([[1], [True]], "Y, row 1: True is a boolean"),
    ([np.array([True, False])], "Y, row 0: True is a boolean"),
    ([[], [["a"]]], r"Y, row 1: \['a'\] is of type list"),
    ([["a"], [b"b"]], "Y, row 1: b'b' is of type bytes"),
    ([[2**63]], "Y, row 0: label 9223372036854775808 does not fit into 64 bits"),
    ([["a"], np.array("b")], "Y, row 1: an array of 0 dimensions"),
    ([np.zeros((1, 2))], "Y, row 0: an array of 2 dimensions"),
    ([[0, 1, 0], [1, 1, 0]], "row 0: 3 zeros and ones.*numpy.asarray"),
    ([[1, 1]], "row 0: 2 zeros and ones"),
    (list(np.eye(3, dtype=int)), "row 0: 3 zeros and ones"),
    (np.array([[0, 1], [2, 0]]), "Y, row 1, column 0: 2, expected 0 or 1"),
    (np.array([[0, 1], [0, -1]]), "Y, row 1, column 1: -1, expected 0 or 1"),
    (np.array([[0, 0.5]]), "Y, row 0, column 1: 0.5, expected 0 or 1"),
    (np.array([[0, np.nan]]), "Y, row 0, column 1: nan, expected 0 or 1"),
    (objects([0, 1], [0, "1"]).tolist, "Y is a builtin_function"),
    (np.array([[0, "1"], [1, 0]], object), "Y, row 0, column 1: 1, expected 0 or 1"),
    (np.array([[0, None]], object), "Y, row 0, column 1: None, expected 0 or 1"),
    (np.array([["a", "b"]]), "Y is a 2-D array of <U1: .*Y.tolist()"),
    (np.array([[1j, 0]]), "Y is a 2-D array of complex128"),
    (np.ma.masked_array([1, 2], [False, True]), "Y has masked entries"),
    ([[3], np.ma.masked_array([1, 2], [False, True])], "Y, row 1: an array with masked entries"),
    (sp.csr_array([[0, 2]]), "Y, row 0, column 1: 2, expected 0 or 1"),
    (sp.csc_array([[0, 1], [0.5, 0]]), "Y, row 1, column 0: 0.5, expected 0 or 1"),
    (sp.coo_array([[0, 1], [np.nan, 0]]), "Y, row 1, column 0: nan, expected 0 or 1"),
    (sp.dok_array([[0, 3]]), "Y, row 0, column 1: 3"),
    (sp.csr_array([[0, 1j]]), "Y is sparse with values of type complex128"),
    (sp.coo_array([0, 1]), "Y is sparse with 1 dimension"),
    (sp.csr_array((1, 2**31)), "Y has 2147483648 columns"),
]


@pytest.mark.parametrize(("Y", "message"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused_is_named_with_its_place(Y: Any, message: str) -> None:
    with warnings.catch_warnings(), pytest.raises(DataError, match=message):
        warnings.simplefilter("error")
        parse_targets(Y)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("indices", np.array([0, 9, 1]), "stores an entry in (row|column) 9 and has 3"),
        ("indices", np.array([0, -1, 1]), "stores an entry in (row|column) -1 and has 3"),
        ("indptr", np.array([0, 1, 2, 2**40]), "its indptr does not fit"),
        ("indptr", np.array([0, 2, 1, 3]), "its indptr falls at 1"),
        ("indptr", np.array([0, -2, 1, 3]), "its indptr falls at 0"),
        ("indptr", np.array([0, 2**63 - 1, -(2**63), -1]), "its indptr falls at 1"),
        ("indptr", np.array([1, 2, 3, 3]), "its indptr does not fit"),
        ("indptr", np.array([0, 1, 3]), "its indptr does not fit"),
        ("data", np.array([1.0, 1.0]), "its indptr does not fit"),
    ],
)
def test_a_damaged_sparse_indicator_is_refused(
    kind: Any, part: str, value: np.ndarray, message: str
) -> None:
    Y = kind(np.eye(3))
    setattr(Y, part, value)
    with pytest.raises(DataError, match=message):
        parse_targets(Y)


def test_rows_are_counted_against_those_of_the_examples() -> None:
    assert parse_targets(["a", "b"], n_rows=2).n_rows == 2
    with pytest.raises(DataError, match="X has 3 rows and Y has 2: expected one entry of Y for"):
        parse_targets(["a", "b"], n_rows=3)
    with pytest.raises(DataError, match=r"X has 1 rows and Y has 2: .*\[\[\.\.\.\]\]"):
        parse_targets(["a", "b"], n_rows=1)


def test_pandas_objects_are_read_without_importing_pandas() -> None:
    pd = pytest.importorskip("pandas")
    assert rows(pd.Series(["b", "a"]), "multiclass") == [["b"], ["a"]]
    assert rows(pd.Series(["b", "a"], dtype="category"), "multiclass") == [["b"], ["a"]]
    assert rows(pd.Series([2, 1], dtype="Int64"), "multiclass") == [[2], [1]]
    assert rows(pd.Series([["b"], []], index=[7, 3]), "multilabel") == [["b"], []]
    assert rows([pd.Series(["b", "a"], index=[7, 3]), ["c"]], "multilabel") == [["b", "a"], ["c"]]
    assert rows([pd.Index([2, 1]), pd.Series([], dtype=object)], "multilabel") == [[2, 1], []]
    assert rows(pd.DataFrame({"x": [0, 1], "y": [1, 1]}), "indicator") == [[1], [0, 1]]
    assert rows(pd.DataFrame({"x": [True, False], "y": [1, 1]}), "indicator") == [[0, 1], [1]]
    with pytest.warns(DataConversionWarning):
        assert rows(pd.DataFrame({"x": ["a", "b"]}), "multiclass") == [["a"], ["b"]]
    for Y in (
        pd.Series([1, None], dtype="Int64"),
        pd.Series(["a", None]),
        pd.Series(["a", None], dtype="string"),
        [["a"], [pd.NA]],
    ):
        with pytest.raises(DataError, match="Y, row 1: .*(missing|NaN)"):
            parse_targets(Y)
