"""Bootstrap intervals: coverage, and weights as repeated rows."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array

from labelgrove import ParameterError, metrics
from labelgrove.metrics import Bootstrap, Score

N, L = 60, 8


def _data(seed: int = 0) -> tuple[csr_array, csr_array, np.ndarray]:
    random = np.random.default_rng(seed)
    Y = csr_array((random.random((N, L)) < 0.3).astype(float))
    return Y, csr_array(random.random((N, L))), random.random(L) + 1


def _all_metrics(Y: csr_array, P: csr_array, q: np.ndarray, interval: Bootstrap | None) -> dict:
    found = metrics.ranking_metrics(Y, P, [1, 3], inverse_propensities=q, interval=interval)
    top = csr_array((P.toarray() > 0.6).astype(float))
    found |= metrics.set_metrics(Y, top, labels=[0, 3, 5], interval=interval)
    found["ece"] = metrics.expected_calibration_error(Y, P, interval=interval)
    found["ece_all"] = metrics.expected_calibration_error(Y, P, pairs="all", interval=interval)
    return found


def test_a_value_that_is_infinite_on_some_resamples_is_not_centred() -> None:
    y = ["a", "b", "c"] * 4
    p = ["b", *y[1:]]
    found = [
        metrics.entropy_reduction(y, p, interval=Bootstrap(n_resamples=300, method=method)).interval
        for method in ("percentile", "centred")
    ]
    assert found[0] is not None
    assert 0 < found[0][0] < found[0][1] < np.inf
    assert found[1] == found[0]


def test_what_is_infinite_either_way_on_three_rows_has_no_mean_and_no_warning() -> None:
    how = Bootstrap(n_resamples=50, method="centred")
    found = metrics.entropy_reduction(["a", "b", "c"], ["b", "b", "b"], interval=how)
    assert found.interval == (-np.inf, np.inf)


@pytest.mark.parametrize("seed", range(5))
def test_a_resample_is_the_metric_of_the_rows_drawn(seed: int) -> None:
    Y, P, q = _data()
    rows = np.random.default_rng(seed).integers(0, N, size=N)
    once = _all_metrics(Y, P, q, Bootstrap(n_resamples=1, random_state=seed))
    drawn = _all_metrics(Y[rows], P[rows], q, None)
    for name, score in once.items():
        assert score.interval == pytest.approx((drawn[name], drawn[name]), abs=1e-12), name


def test_rows_left_out_of_a_mean_are_left_out_of_resamples() -> None:
    Y = csr_array([[1, 0], [0, 0], [1, 1], [0, 0], [0, 1]])
    ranking = np.array([[0], [0], [0], [1], [0]])
    rows = np.random.default_rng(3).integers(0, 5, size=5)
    assert set(rows) & {1, 3}
    how = Bootstrap(n_resamples=1, random_state=3)
    once = metrics.recall_at_k(Y, ranking, 1, zero_division=float("nan"), interval=how)
    drawn = metrics.recall_at_k(Y[rows], ranking[rows], 1, zero_division=float("nan"))
    assert once.interval == (pytest.approx(drawn), pytest.approx(drawn))


def test_entropy_reduction_is_resampled_with_one_constant() -> None:
    random = np.random.default_rng(0)
    y, guess = random.integers(0, 3, N), random.integers(0, 3, N)
    rows = np.random.default_rng(7).integers(0, N, size=N)
    constant = int(np.bincount(y).argmax())
    once = metrics.entropy_reduction(y, guess, interval=Bootstrap(n_resamples=1, random_state=7))
    drawn = metrics.entropy_reduction(y[rows], guess[rows], constant=constant)
    assert once.interval is not None
    assert once.interval[0] == pytest.approx(drawn)


def test_intervals_hold_the_true_value_about_as_often_as_they_say() -> None:
    held = 0
    for seed in range(200):
        right = np.random.default_rng(seed).random(80) < 0.7
        score = metrics.accuracy(
            np.ones(80, dtype=int),
            right.astype(int),
            interval=Bootstrap(level=0.9, n_resamples=200, random_state=seed),
        )
        assert score.interval is not None
        held += score.interval[0] <= 0.7 <= score.interval[1]
    assert 165 <= held <= 192


def test_an_interval_holds_the_middle_share_of_the_resampled_values() -> None:
    depth = np.random.default_rng(1).random(N)
    random = np.random.default_rng(2)
    means = sorted(float(depth[random.integers(0, N, size=N)].mean()) for _ in range(100))
    how = Bootstrap(level=0.5, n_resamples=100, random_state=2)
    assert metrics.expected_depth(depth, interval=how).interval == pytest.approx(
        (means[24], means[74]), rel=1e-12
    )


def test_the_same_seed_gives_the_same_interval_and_a_wider_level_a_wider_one() -> None:
    Y, P, _ = _data()
    first = metrics.precision_at_k(Y, P, 3, interval=0.9)
    again = metrics.precision_at_k(Y, P, 3, interval=0.9)
    wide = metrics.precision_at_k(Y, P, 3, interval=0.99)
    assert first.interval is not None
    assert wide.interval is not None
    assert first.interval == again.interval
    assert wide.interval[0] < first.interval[0] < first < first.interval[1] < wide.interval[1]


def test_a_score_is_a_float_that_survives_copies() -> None:
    score = Score(0.25, (0.125, 0.5))
    assert json.dumps(score) == "0.25"
    assert f"{score:.1%}" == "25.0%"
    for same in (pickle.loads(pickle.dumps(score)), copy.copy(score), copy.deepcopy(score)):
        assert same == score
        assert same.interval == score.interval
    assert Score(0.25).interval is None


def test_a_metric_that_is_nowhere_defined_has_an_interval_of_nan() -> None:
    Y = csr_array((2, 3))
    score = metrics.recall_at_k(Y, [[0], [1]], 1, zero_division=float("nan"), interval=0.95)
    assert np.isnan(score)
    assert np.isnan(score.interval).all()


@pytest.mark.parametrize(
    "wrong",
    [
        {"level": 0},
        {"level": 1},
        {"n_resamples": 0},
        {"random_state": -1},
        {"random_state": 2**64},
    ],
)
def test_parameters_outside_their_domain_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        Bootstrap(**wrong)
