"""The second stage learns the same as its slow twin, and re-ranks only if that helps."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelgrove import ParameterError, _core
from labelgrove.tuning._second_stage import CANDIDATES, SecondStage
from naive import second_stage as naive


def shown(seed: int, n: int, told: float) -> list[tuple[Any, ...]]:
    """Candidates of n examples; how much the cosine tells beyond the probability is ``told``."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        p = np.sort(rng.uniform(0.01, 0.99, rng.integers(0, 15)).astype(np.float32))[::-1]
        near = rng.random(len(p))
        true = 1 / (1 + np.exp(-(0.5 * np.log(p / (1 - p)) + told * (near - 0.5) - 0.5)))
        rows.append((p, near, 1 + 5 * rng.random(len(p)), rng.random(len(p)) < true))
    return rows


def together(rows: list[tuple[Any, ...]], keeps: Any = 1.0) -> tuple[Any, ...]:
    """Rows as a stage observes them: one array for each of their parts, NaN beyond the last."""
    keeps = np.ones(len(rows)) * keeps
    parts = [np.full((len(rows), 14), np.nan) for _ in range(4)]
    for i, row in enumerate(rows):
        for part, given_ in zip(parts, row, strict=True):
            part[i, : len(given_)] = given_
    near, worth = (part[:, :CANDIDATES] for part in parts[1:3])
    return parts[0].astype(np.float32), near, worth, parts[3] == 1, keeps


def applied(calibration: _core.ScoreCalibration, logits: Any, best: Any = None) -> Any:
    """The probabilities of labels, each of a row's below its best; by default all are the first."""
    if best is None:
        return calibration.apply(logits.ravel()).reshape(logits.shape)
    n, k = logits.shape
    own, others = (np.float32(1 / (1 + np.exp(-np.ascontiguousarray(z)))) for z in (logits, best))
    return calibration.calibrated(own.ravel(), np.repeat(np.arange(n), k), others).reshape(n, k)


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 1000), tail=st.floats(0, 1), told=st.sampled_from([0.0, 6.0]))
def test_it_learns_what_its_twin_learns(seed: int, tail: float, told: float) -> None:
    stage, twin = SecondStage(tail), naive.SecondStage(tail)
    rows, keeps = shown(seed, 20, told), [i / (i + 2) for i in range(20)]
    stage.observe(*together(rows[:7], keeps[:7]))
    stage.observe(*together(rows[7:], keeps[7:]))
    for (p, near, q, right), keep in zip(rows, keeps, strict=True):
        if len(p) > 0:
            twin.observe(p.tolist(), near.tolist(), q.tolist(), right.tolist(), keep)
        else:
            for calibration in (twin.first, twin.second):
                calibration.add([], [], keep)
    np.testing.assert_allclose(stage.reranking.weights, twin.weights, rtol=1e-9)
    np.testing.assert_allclose(stage.reranking.gain, twin.gain, rtol=1e-9, atol=1e-12)
    assert stage.reranks == twin.reranks()
    fall, curve = twin.first.fall(), twin.first.curve()
    assert stage.first.curve()[0] == fall
    weight, *_, losses = np.split(stage.first.save(), [1, -len(naive.POWERS)])
    np.testing.assert_allclose(
        losses / weight, [*twin.first.losses.values()], rtol=1e-9, atol=1e-12
    )
    for expected in (0.25, 1.5, 4.0):
        assert stage.power(expected) == twin.first.power(expected)
    np.testing.assert_allclose(stage.first.curve()[1], curve, rtol=1e-9)
    p, near = np.array([0.7, 1e-5, 0.2], np.float32), np.array([0.1, 0.5, 0.9], np.float32)
    second = twin.second.curve()
    rescored = [
        twin.second(twin.score(float(a), float(b)), second) for a, b in zip(p, near, strict=True)
    ]
    np.testing.assert_allclose(stage.rescored(p, near), rescored, rtol=1e-9)
    places = [0, 4, 12]
    calibrated = [
        twin.first(naive.logit(float(a)), curve, place, fall)
        for a, place in zip(p, places, strict=True)
    ]
    before = np.array([[1.0 if i < place else 0.0 for i in range(12)] for place in places])
    found = stage.calibrated(p, np.arange(3), before.astype(np.float32))
    np.testing.assert_allclose(found, calibrated, rtol=1e-6)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), cuts=st.lists(st.integers(0, 60), max_size=4))
def test_any_cut_gives_the_same_bytes(seed: int, cuts: list[int]) -> None:
    rows, keeps = shown(seed, 60, 0.0), np.random.default_rng(seed).random(60) ** 0.1
    whole, pieces = SecondStage(None), SecondStage(None)
    whole.observe(*together(rows, keeps))
    for begin, end in pairwise(sorted([0, 60, *cuts])):
        pieces.observe(*together(rows[begin:end], keeps[begin:end]))
    assert pieces.to_array().tobytes() == whole.to_array().tobytes()


@pytest.mark.parametrize(("told", "expected"), [(0.0, False), (6.0, True)])
def test_it_ranks_only_where_that_has_been_seen_to_gain(told: float, expected: bool) -> None:
    stage = SecondStage(0.0)
    assert not stage.reranks
    stage.observe(*together(shown(3, 300, told)))
    assert stage.reranks is expected


def test_it_reports_the_mean_gain_of_examples_that_count_less_with_age() -> None:
    stage = SecondStage(0.0)
    assert stage.report() == {
        "tail": 0.0,
        "examples": 0,
        "gain": 0.0,
        "error": 0.0,
        "reranks": False,
    }
    stage.observe(*together(shown(3, 300, 6.0)))
    gain, squares = stage.reranking.gain
    weight = sum((1 - 1 / 4096) ** age for age in range(300))
    assert stage.report() == {
        "tail": 0.0,
        "examples": 300,
        "gain": pytest.approx(gain / weight),
        "error": pytest.approx(squares**0.5 / weight),
        "reranks": True,
    }


def test_an_input_that_never_tells_anything_does_no_harm() -> None:
    stage = SecondStage(0.0)
    numbers = stage.reranking.save()
    numbers[5:] *= 1e-9  # what forgetting the prior for ever comes to
    stage.reranking = _core.Reranking.load(numbers)
    p, near, q, right, keeps = together(shown(3, 20, 0.0))
    stage.observe(p, 0 * near, q, right, keeps)
    assert np.isfinite(stage.reranking.weights).all() and stage.reranking.weights[2] == 0


def test_to_calibrate_is_not_to_rank() -> None:
    stage = SecondStage(None)
    stage.observe(*together(shown(3, 300, 6.0)))
    assert not stage.reranks and stage.reranking.weights.tolist() == [1.0, 0.0, 0.0]


def test_a_calibration_rises_from_0_to_1_and_tells_how_many_are_right() -> None:
    rng = np.random.default_rng(0)
    calibration = _core.ScoreCalibration(1)
    logits = rng.uniform(-4, 4, (400, 5))
    assert np.allclose(applied(calibration, logits), 1 / (1 + np.exp(-logits)), atol=0.01)
    true = np.where(logits > 0, 0.3, 0.1)
    calibration.add(logits, (rng.random(true.shape) < true).ravel(), np.ones(400))
    for least, share in ((-3.0, 0.1), (1.0, 0.3)):
        assert applied(calibration, np.array([[least + 1]])) == pytest.approx(share, abs=0.05)
    everywhere = np.array([[-np.inf, *np.linspace(-30, 30, 500), np.inf]])
    found = applied(calibration, everywhere)[0]
    assert (np.diff(found) > 0).all() and found[0] == 0 and found[-1] == 1


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), told=st.floats(-2, 2))
def test_a_calibration_keeps_the_order_of_every_example(seed: int, told: float) -> None:
    rng = np.random.default_rng(seed)
    calibration = _core.ScoreCalibration(10)
    logits = -np.sort(-rng.normal(-1, 2, (200, 12)), axis=1)
    true = 1 / (1 + np.exp(told * np.arange(12) - logits))
    calibration.add(logits, (rng.random(true.shape) < true).ravel(), np.ones(200))
    found = applied(calibration, logits, logits[:, :10])
    assert (np.diff(found, axis=1) <= 0).all() and ((found > 0) & (found < 1)).all()
    assert (applied(calibration, logits) * (1 + 1e-5) >= found).all()


def test_of_equal_scores_that_of_the_first_label_is_right_more_often() -> None:
    rng = np.random.default_rng(0)
    calibration = _core.ScoreCalibration(10)
    logits = -np.sort(-rng.normal(-1, 2, (3000, 5)), axis=1)
    true = 1 / (1 + np.exp(1.5 * np.log1p(np.arange(5)) - logits))
    calibration.add(logits, (rng.random(true.shape) < true).ravel(), np.ones(3000))
    fall, _ = calibration.curve()
    assert fall == pytest.approx(1.5, abs=0.25)
    found = applied(calibration, np.zeros((5, 1)), np.tril(np.ones((5, 5)), -1))[:, 0]
    assert found == pytest.approx(1 / (1 + np.exp(1.5 * np.log1p(np.arange(5)))), abs=0.04)


def test_thresholds_of_the_first_stage_miss_no_label() -> None:
    stage = SecondStage(None)
    stage.observe(*together(shown(1, 200, 0.0)))
    p = np.concatenate([np.linspace(0, 1, 2001), 10.0 ** -np.arange(1, 9)]).astype(np.float32)
    found = stage.calibrated(p, np.zeros(len(p), np.int64), np.empty((1, 0), np.float32))
    for threshold in np.float32([0.0, 1e-5, 0.013, 0.5, 0.99, 1.0, 2.0]):
        least = stage.uncalibrated(np.array([threshold]))[0]
        assert (p[found >= threshold] >= least).all()
        assert threshold > 1 or np.sum(p >= least) <= np.sum(found >= threshold) + 12


def test_its_numbers_are_all_that_it_is() -> None:
    stage = SecondStage(0.25)
    rows = shown(5, 40, 6.0)
    stage.observe(*together(rows[:20]))
    again = SecondStage.from_array(stage.to_array())
    for one in (stage, again):
        one.observe(*together(rows[20:]))
    assert stage.to_array().tobytes() == again.to_array().tobytes()


@pytest.mark.parametrize("place", range(20))
def test_numbers_that_cannot_be_are_refused(place: int) -> None:
    kept = SecondStage(0.25).to_array()
    for wrong in (-5.0, np.inf):
        damaged = kept.copy()
        damaged[place] = wrong
        if place in range(2, 16) and place != 3 and wrong == -5.0:
            continue  # a sum, a weight, or a part of a matrix
        with pytest.raises(ValueError, match="second stage"):
            SecondStage.from_array(damaged)
    half = kept.copy()
    half[1] = 0.5  # of an example
    with pytest.raises(ValueError, match="second stage"):
        SecondStage.from_array(half)
    huge = kept.copy()
    huge[17:60] = 1e308  # counts, whose sum would be infinite
    with pytest.raises(ValueError, match="second stage"):
        SecondStage.from_array(huge)
    for cut in (kept[:-1], kept.astype(np.float32)):
        with pytest.raises(ValueError, match="second stage"):
            SecondStage.from_array(cut)


def test_what_it_is_for_is_checked() -> None:
    assert SecondStage.of(None) is None
    for given_, tail in (("calibrate", None), ("head", 0.0), ("tail", 1.0), (0.25, 0.25), (1, 1.0)):
        found = SecondStage.of(given_)
        assert found is not None and found.tail == tail
    for wrong in ("both", -0.1, 1.5, float("nan"), True, [0.5]):
        with pytest.raises(ParameterError, match="second_stage"):
            SecondStage.of(wrong)
