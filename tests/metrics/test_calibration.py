"""Calibration error and reliability curve."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from labelgrove import DataError, ParameterError
from labelgrove.metrics import expected_calibration_error, reliability_curve
from naive import metrics as naive

N_LABELS = 4
ROW = st.tuples(
    st.sets(st.integers(0, N_LABELS - 1)),
    st.dictionaries(st.integers(0, N_LABELS - 1), st.sampled_from([0.1, 0.2, 0.25, 0.5, 1.0])),
)


@given(st.lists(ROW, min_size=1, max_size=6), st.integers(1, 6))
def test_error_is_what_its_definition_says(
    rows: list[tuple[set[int], dict[int, float]]], n_bins: int
) -> None:
    truth, estimates = [row[0] for row in rows], [row[1] for row in rows]
    Y = csr_array([[float(j in row) for j in range(N_LABELS)] for row in truth])
    P = csr_array([[row.get(j, 0.0) for j in range(N_LABELS)] for row in estimates])
    stored = naive.calibration_error(truth, estimates, n_bins, None)
    in_all = naive.calibration_error(truth, estimates, n_bins, N_LABELS)
    found = expected_calibration_error(Y, P, n_bins=n_bins)
    assert found == pytest.approx(stored, abs=1e-12, nan_ok=True)
    found = expected_calibration_error(Y, P, n_bins=n_bins, pairs="all")
    assert found == pytest.approx(in_all, abs=1e-12)


def test_true_probabilities_have_a_small_error() -> None:
    random = np.random.default_rng(0)
    P = random.random((20_000, 3))
    Y = random.random(P.shape) < P
    assert expected_calibration_error(csr_array(Y), csr_array(P)) < 0.01
    assert expected_calibration_error(csr_array(~Y), csr_array(P)) > 0.4


def test_curve_shows_every_bin_and_all_pairs() -> None:
    Y, P = csr_array([[1, 0, 1, 0]]), csr_array([[0.5, 0.5, 0, 1.0]])
    curve = reliability_curve(Y, P, n_bins=4)
    assert curve.edges.tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert curve.count.tolist() == [0, 2, 0, 1]
    np.testing.assert_array_equal(curve.mean_probability, [np.nan, 0.5, np.nan, 1.0])
    np.testing.assert_array_equal(curve.frequency, [np.nan, 0.5, np.nan, 0.0])
    curve = reliability_curve(Y, P, n_bins=4, pairs="all")
    assert curve.count.tolist() == [1, 2, 0, 1]
    assert curve.frequency[0] == 1.0  # relevant but not among the estimates


def test_there_are_fifteen_bins_if_nothing_is_said() -> None:
    Y, P = csr_array([[1, 0, 1, 0]]), csr_array([[0.92, 0.935, 0.3, 0.34]])
    assert reliability_curve(Y, P).edges.size == 16
    found = expected_calibration_error(Y, P)
    assert found == expected_calibration_error(Y, P, n_bins=15)
    assert len({found, *(expected_calibration_error(Y, P, n_bins=n) for n in (14, 16))}) == 3


@pytest.mark.parametrize("n_bins", [3, 49, 100, 1000])
def test_an_edge_is_the_last_number_of_its_bin(n_bins: int) -> None:
    edges = np.linspace(0, 1, n_bins + 1)[1:]
    for estimates in (edges, np.nextafter(edges[:-1], 1)):
        P = csr_array(estimates[np.newaxis])
        curve = reliability_curve(csr_array(P.shape), P, n_bins=n_bins)
        bins = np.flatnonzero(curve.count)
        assert (curve.count[bins] == 1).all()
        assert (curve.edges[bins] < estimates).all()
        assert (estimates <= curve.edges[bins + 1]).all()


def test_rounding_above_one_is_forgiven() -> None:
    barely = csr_array(np.array([[np.nextafter(np.float32(1), np.float32(2))]]))
    assert expected_calibration_error(csr_array([[1]]), barely) == 0.0


@pytest.mark.parametrize(
    ("P", "arguments", "error", "message"),
    [
        (csr_array([[0, 1.5]]), {}, DataError, "row 0, column 1: 1.5 found where a number between"),
        (csr_array([[0, -0.5]]), {}, DataError, "row 0, column 1: -0.5 found"),
        (csr_array([[0.5]]), {}, DataError, r"shape \(1, 1\): expected \(1, 2\)"),
        (csr_array([[0, 0.5]]), {"n_bins": 0}, ParameterError, "n_bins=0"),
        (csr_array([[0, 0.5]]), {"pairs": "some"}, ParameterError, "pairs='some'"),
    ],
)
def test_bad_input_is_named(
    P: csr_array, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        expected_calibration_error(csr_array([[1, 0]]), P, **arguments)
