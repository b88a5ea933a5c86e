"""Comparisons of two models, against the definitions row by row and SciPy's tests."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.stats import binomtest, false_discovery_control

from labelgrove import DataError, ParameterError
from labelgrove.metrics import (
    Bootstrap,
    accuracy,
    compare_rankings,
    compare_sets,
    expected_depth,
    f_measure,
    label_changes,
    mcnemar,
    ranking_metrics,
    set_metrics,
)

ROWS, LABELS = 8, 5
SETS = st.lists(
    st.lists(st.integers(0, 1), min_size=LABELS, max_size=LABELS), min_size=ROWS, max_size=ROWS
).map(np.array)


@given(SETS, SETS, SETS)
def test_differences_are_those_of_the_single_metrics(
    truth: np.ndarray, before: np.ndarray, after: np.ndarray
) -> None:
    Y, A, B = map(csr_array, (truth, before, after))
    for compared, single in ((compare_rankings, ranking_metrics), (compare_sets, set_metrics)):
        found = compared(Y, A, B, interval=None)
        a, b = single(Y, A), single(Y, B)
        assert found.keys() == a.keys()
        for name, difference in found.items():
            assert difference == pytest.approx(b[name] - a[name], abs=1e-12)


def test_rows_are_drawn_for_both_models_at_once() -> None:
    truth = csr_array(np.eye(4)[np.arange(40) % 4])
    ranking = np.random.default_rng(0).integers(0, 4, (40, 1))
    how = Bootstrap(n_resamples=50)
    same = compare_rankings(truth, ranking, ranking, ks=[1], interval=how)
    assert same["p@1"].interval == (0.0, 0.0)
    better = ranking.copy()
    better[:30, 0] = np.arange(30) % 4
    low, high = compare_rankings(truth, ranking, better, ks=[1], interval=how)["p@1"].interval
    assert 0 < low < high
    backward = compare_rankings(truth, better, ranking, ks=[1], interval=how)["p@1"]
    assert backward < 0 and backward.interval[1] < 0


# Only the first label changes: the others are not among those tested.
@example(np.zeros((ROWS, LABELS)), np.eye(1, LABELS).repeat(ROWS, axis=0), np.zeros((ROWS, LABELS)))
@given(SETS, SETS, SETS)
def test_changes_of_labels_are_counted_decision_by_decision(
    truth: np.ndarray, before: np.ndarray, after: np.ndarray
) -> None:
    found = label_changes(*map(csr_array, (truth, before, after)))
    p = []
    for label in range(LABELS):
        right = [(before[:, label] == truth[:, label]), (after[:, label] == truth[:, label])]
        b, c = int((right[0] & ~right[1]).sum()), int((right[1] & ~right[0]).sum())
        assert (found.only_before[label], found.only_after[label]) == (b, c)
        p.append(binomtest(b, b + c).pvalue if b + c else 1.0)
    assert found.p_value == pytest.approx(p)
    tested = found.only_before + found.only_after > 0
    if tested.any():
        adjusted = false_discovery_control(np.array(p)[tested])
        assert found.adjusted[tested] == pytest.approx(adjusted)
    assert (found.adjusted[~tested] == 1).all()


def test_counts_that_cannot_be_are_refused() -> None:
    for counts in ([-1], [1]), ([1], [-1]):
        with pytest.raises(DataError, match="negative"):
            mcnemar(*counts)
    with pytest.raises(DataError, match="same number"):
        mcnemar([1, 2], [1])
    for counts in ([1], [1.5]), ([1.5], [1]), ([[1], [1, 2]], [1, 2]):
        with pytest.raises(DataError, match="same number"):
            mcnemar(*counts)


def test_a_single_count_is_a_count_for_one_label() -> None:
    for one in (9, np.uint8(9), np.array(9), [9]):
        assert mcnemar(1, one).p_value == pytest.approx([binomtest(1, 10).pvalue])


def test_counts_of_a_small_type_are_added_without_overflow() -> None:
    b, c = np.array([120, 20], np.int8), np.array([100, 125], np.int8)
    expected = [binomtest(120, 220).pvalue, binomtest(20, 145).pvalue]
    assert mcnemar(b, c).p_value == pytest.approx(expected)


def test_a_centred_interval_lies_around_the_metric() -> None:
    truth = csr_array(np.eye(30))  # every label once: a resample misses a third of them
    found = csr_array(np.diag(np.arange(30) % 2))
    plain = set_metrics(truth, found, interval=Bootstrap(n_resamples=200))["macro_f1"]
    how = Bootstrap(n_resamples=200, method="centred")
    centred = set_metrics(truth, found, interval=how)["macro_f1"]
    assert plain.interval is not None and centred.interval is not None
    assert plain.interval[1] < plain  # the resamples miss labels
    assert centred.interval[0] < centred < centred.interval[1]
    assert np.diff(centred.interval) == pytest.approx(np.diff(plain.interval))
    with pytest.raises(ParameterError, match="method"):
        Bootstrap(method="basic")


def test_a_centred_interval_of_a_share_stays_within_0_and_1_and_no_other_does() -> None:
    truth, nothing = csr_array(np.eye(30)), csr_array((30, 30))
    how = Bootstrap(n_resamples=200, method="centred")
    perfect = f_measure(truth, truth, interval=how)
    useless = f_measure(truth, nothing, zero_division=1, interval=how)
    assert perfect.interval is not None and useless.interval is not None
    assert 0.5 < perfect.interval[0] < perfect.interval[1] == 1
    assert 0 == useless.interval[0] < useless.interval[1] < 0.5
    for seed in range(10):  # some resamples hold only what is right
        how = Bootstrap(n_resamples=20, random_state=seed, method="centred")
        interval = accuracy([1] * 30, [0] + [1] * 29, interval=how).interval
        assert interval is not None and interval[1] <= 1
    depth = expected_depth([0, 2] * 20, interval=how)
    assert depth.interval is not None
    assert depth.interval[0] < depth == 1 < depth.interval[1]
