"""The table with one line per label, and the parts by frequency."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.metrics import multilabel_confusion_matrix, precision_recall_fscore_support

from labelgrove import DataError, ParameterError
from labelgrove.metrics import frequency_split, label_table


def test_table_agrees_with_scikit_learn() -> None:
    random = np.random.default_rng(0)
    true, predicted = random.integers(0, 2, (2, 30, 5))
    true[:, 4] = predicted[:, 4] = 0
    table = label_table(csr_array(true), csr_array(predicted), zero_division=1)
    precision, recall, f1, support = precision_recall_fscore_support(
        true, predicted, zero_division=1
    )
    matrices = multilabel_confusion_matrix(true, predicted)
    np.testing.assert_allclose(table.precision, precision, rtol=0, atol=1e-15)
    np.testing.assert_allclose(table.recall, recall, rtol=0, atol=1e-15)
    np.testing.assert_allclose(table.f1, f1, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(table.support, support)
    np.testing.assert_array_equal(table.true_positives, matrices[:, 1, 1])
    np.testing.assert_array_equal(table.false_positives, matrices[:, 0, 1])
    np.testing.assert_array_equal(table.false_negatives, matrices[:, 1, 0])


def test_rows_are_plain_values_with_names_and_thresholds() -> None:
    Y = csr_array([[1, 0], [1, 1]])
    table = label_table(Y, Y, names=np.array(["oak", "elm"]), thresholds=[0.25, 0.5])
    assert len(table) == 2
    assert list(table.rows()) == [
        ("oak", 2, 2, 0, 0, 1.0, 1.0, 1.0, 0.25),
        ("elm", 1, 1, 0, 0, 1.0, 1.0, 1.0, 0.5),
    ]
    assert type(next(table.rows()).support) is int
    assert label_table(Y, Y, thresholds=[0, 1]).threshold.dtype == np.float64
    plain = label_table(Y, Y, thresholds=0.3)
    assert plain.name.tolist() == [0, 1]
    assert plain.threshold.tolist() == [0.3, 0.3]
    assert np.isnan(label_table(Y, Y).threshold).all()
    assert list(plain.columns()) == list(next(plain.rows())._fields)


def test_names_and_thresholds_must_fit() -> None:
    Y = csr_array([[1, 0]])
    with pytest.raises(ParameterError, match="names has 1 entries: expected 2"):
        label_table(Y, Y, names=["oak"])
    with pytest.raises(ParameterError, match=r"thresholds has shape \(3,\)"):
        label_table(Y, Y, thresholds=[0.1, 0.2, 0.3])
    for odd in (["a", "b"], [[0.1], [0.1, 0.2]]):
        with pytest.raises(ParameterError, match="thresholds: expected numbers"):
            label_table(Y, Y, thresholds=odd)


@given(st.lists(st.integers(0, 9), min_size=1), st.sampled_from(["volume", "count"]))
def test_a_split_holds_every_label_once_and_in_order_of_frequency(
    counts: list[int], by: str
) -> None:
    at = (0.3, 0.8) if by == "volume" else (2, 5)
    split = frequency_split(counts, by=by, at=at)
    parts = [split.head, split.torso, split.tail]
    assert sorted(np.concatenate(parts)) == list(range(len(counts)))
    array = np.array(counts)
    for often, seldom in ((split.head, split.torso), (split.head, split.tail), parts[1:]):
        if often.size and seldom.size:
            assert array[often].min() >= array[seldom].max()
    assert set(np.flatnonzero(array == 0)) <= set(split.tail)


def test_thirds_of_the_volume() -> None:
    split = frequency_split([2, 30, 1, 15, 15, 12, 15])
    assert split.head.tolist() == [1]
    assert split.torso.tolist() == [3, 4]
    assert split.tail.tolist() == [0, 2, 5, 6]
    matrix = csr_array([[1, 0, 1], [1, 0, 0]])
    assert frequency_split(matrix).head.tolist() == [0]


def test_borders_of_counts_belong_to_the_more_frequent_part() -> None:
    split = frequency_split([9, 10, 99, 100], by="count")
    assert split.tail.tolist() == [0]
    assert split.torso.tolist() == [1, 2]
    assert split.head.tolist() == [3]


@pytest.mark.parametrize(
    ("counts", "arguments", "error", "message"),
    [
        ([1], {"by": "rank"}, ParameterError, "by='rank'"),
        ([1], {"at": (0.9, 0.1)}, ParameterError, "two increasing numbers from 0 to 1"),
        ([1], {"at": (0.1, 1.1)}, ParameterError, "two increasing numbers from 0 to 1"),
        ([1], {"at": (-0.1, 0.5)}, ParameterError, "two increasing numbers from 0 to 1"),
        ([], {}, DataError, "one-dimensional array of counts"),
        ([0.5], {}, DataError, "one-dimensional array of counts"),
        ([1, -1], {}, DataError, "label 1 has the negative count -1"),
    ],
)
def test_bad_input_is_named(
    counts: Any, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        frequency_split(counts, **arguments)
