"""OFO follows Algorithm 2 for any batches, and resumes exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from labelgrove import DataError, ParameterError
from labelgrove.tuning import OFO, _ofo_steps, lower_bounds, tune_fta, tune_ofo
from naive import thresholds as twins
from tuning.problems import Problem, problems

STARTS = st.sampled_from([(1.0, 20.0), (1.0, 2.0), (5.0, 50.0), (0.3, 0.7), (0.0, 1.0), (3.0, 3.0)])
RUNNING = st.booleans()


def fresh(problem: Problem, start: tuple[Any, Any], running: bool) -> OFO:
    a, b = start
    lower = None if running else problem.lower
    return OFO(problem.Y.shape[1], a=a, b=b, lower=lower, upper=problem.upper)


def same_state(one: OFO, other: OFO) -> bool:
    return (one.n_rows, one.a.tolist(), one.b.tolist(), one.thresholds().tolist()) == (
        (other.n_rows, other.a.tolist(), other.b.tolist(), other.thresholds().tolist())
    )


@pytest.mark.parametrize("few", [0, 1, 32])
@given(problem=problems(), starts=st.lists(STARTS, min_size=4, max_size=4), running=RUNNING)
def test_it_is_algorithm_2(
    few: int, problem: Problem, starts: list[tuple[float, float]], running: bool
) -> None:
    m = problem.Y.shape[1]
    a0, b0 = map(list, zip(*starts[:m], strict=True))
    ofo = fresh(problem, (a0, b0), running)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_ofo_steps, "_FEW_LABELS", few)
        ofo.update(problem.Y, problem.scores)
    lower = None if running else problem.lower
    taus, predicted = twins.ofo(
        problem.Y.tolist(), problem.scores.tolist(), a0, b0, lower, problem.upper
    )
    assert ofo.thresholds() == pytest.approx(taus, abs=1e-15)
    online = twins.averaged_f(problem.Y.tolist(), predicted, "macro", 0.0)
    assert ofo.finish().score == pytest.approx(online, abs=1e-12)


def told_apart_by_nothing() -> Problem:
    """Scores that say nothing of the labels, so that the labels' shares bound the thresholds."""
    rng = np.random.default_rng(0)
    return Problem((rng.random((50, 3)) < 0.3).astype(np.int8), rng.random((50, 3)), [], 0.5, 0.0)


@example(told_apart_by_nothing(), (1.0, 20.0), True, 4)
@given(problems(), STARTS, RUNNING, st.integers(1, 4))
def test_batches_rows_and_sparseness_do_not_show(
    problem: Problem, start: tuple[float, float], running: bool, size: int
) -> None:
    whole, parts = fresh(problem, start, running), fresh(problem, start, running)
    whole.update(csr_array(problem.Y), csr_array(problem.scores))
    for i in range(0, len(problem.Y), size):
        parts.update(problem.Y[i : i + size], problem.scores[i : i + size])
    assert same_state(parts, whole)


@given(problems(), STARTS, RUNNING, st.integers(1, 4))
def test_scores_below_the_floor_never_matter(
    problem: Problem, start: tuple[float, float], running: bool, size: int
) -> None:
    full, least = fresh(problem, start, running), fresh(problem, start, running)
    for i in range(0, len(problem.Y), size):
        Y, scores = problem.Y[i : i + size], problem.scores[i : i + size]
        floor = least.floor(len(Y))
        assert (floor <= least.thresholds()).all()
        full.update(Y, scores)
        least.update(Y, csr_array(np.where(scores >= floor, scores, 0)))
    assert same_state(least, full)


@given(problems(), STARTS)
def test_invariants(problem: Problem, start: tuple[float, float]) -> None:
    """a <= b always; and a / b never passes 1/2 where it begins below."""
    ofo = OFO(problem.Y.shape[1], a=start[0], b=start[1], lower=0.0, upper=1.0)
    for i in range(len(problem.Y)):
        ofo.update(problem.Y[i : i + 1], problem.scores[i : i + 1])
        assert (ofo.a <= ofo.b).all()
        if start[0] <= start[1] / 2:
            assert (ofo.a / ofo.b <= 0.5).all()
            assert (ofo.thresholds() <= 0.5).all()


def test_with_true_probabilities_the_threshold_is_half_the_f() -> None:
    """Equation 4, and the convergence that Section 4.3 speaks of."""
    rng = np.random.default_rng(0)
    eta = rng.random((60_000, 2)) ** [2.0, 6.0]
    Y = (rng.random(eta.shape) < eta).astype(np.int8)
    tuned = OFO(2, a=1, b=20, lower=0.0).update(Y, eta).finish()
    for j in range(2):
        grid = np.linspace(0.01, 0.99, 99)
        f = [
            2 * eta[eta[:, j] >= t, j].sum() / (eta[:, j].sum() + (eta[:, j] >= t).sum())
            for t in grid
        ]
        assert tuned.values[j] == pytest.approx(max(f) / 2, abs=0.01)
        assert tuned.values[j] == pytest.approx(grid[np.argmax(f)], abs=0.02)
    assert (tuned.values < 0.5).all()


def test_new_labels_start_as_the_others_did() -> None:
    ofo = OFO(a=1, b=4, lower=0.0)
    assert (ofo.n_labels, ofo.n_rows, ofo.thresholds().tolist()) == (0, 0, [])
    ofo.update([[1]], [[0.3]])
    ofo.update([[0, 0, 1]], [[0.0, 0.25, 0.0]])
    assert ofo.thresholds() == pytest.approx([2 / 6, 1 / 5, 1 / 5])
    ofo.update([[0, 0, 0, 0, 1]], [[0.2, 0.0, 0.0, 0.0, 0.3]])
    assert ofo.thresholds() == pytest.approx([2 / 6, 1 / 5, 1 / 5, 1 / 4, 2 / 6])
    assert (ofo.n_rows, ofo.finish().default) == (3, 0.25)


def test_a_start_for_every_label() -> None:
    assert OFO(0, a=[], b=[]).finish().default == OFO(1, a=3, b=4).finish().default == 0.5
    assert OFO(0, a=[], b=[], upper=np.inf).finish().default == np.finfo(float).max
    ofo = OFO(2, a=[1, 2], b=[2, 20], lower=[0.0, 0.0])
    for found in (ofo.thresholds(), ofo.floor(), ofo.floor(0)):
        assert found.tolist() == [0.5, 0.1]
    with pytest.raises(DataError, match="there are 3 labels, but a was given for 2"):
        ofo.update([[0, 0, 0]], [[0.1, 0.1, 0.1]])
    with pytest.raises(DataError, match="there are 3 labels, but lower was given for 2"):
        OFO(2, lower=[0.0, 0.0]).update([[0, 0, 0]], [[0.1, 0.1, 0.1]])
    with pytest.raises(DataError, match="Y has 1 columns: expected at least 2"):
        ofo.update([[0]], [[0.1]])
    assert ofo.n_rows == 0


def test_the_floor_falls_as_the_share_of_a_label_may() -> None:
    ofo = OFO(1, a=0, b=1).update([[1]], [[0.0]])
    assert ofo.thresholds() == pytest.approx([1 / 2])
    assert ofo.floor(10) == pytest.approx([1 / 11])


def test_the_start_is_the_best_common_threshold_unless_given() -> None:
    rng = np.random.default_rng(1)
    scores = rng.random((80, 5))
    Y = (rng.random(scores.shape) < scores**3).astype(np.int8)
    best = tune_fta(Y, scores).default
    tuned = tune_ofo(Y, scores, b=10)
    assert tuned.values.tolist() == tune_ofo(Y, scores, a=10 * best, b=10).values.tolist()
    priors = Y.mean(axis=0)
    assert (tuned.values > lower_bounds(priors)).all()


def test_a_call_that_fails_changes_nothing() -> None:
    ofo = OFO(1).update([[1]], [[0.9]])
    for wrong in ([[1.5]], [[float("nan")]], [[0.1], [0.2]]):
        with pytest.raises(DataError):
            ofo.update([[1]], wrong)
    assert (ofo.n_rows, ofo.a.tolist(), ofo.b.tolist()) == (1, [6.0], [52.0])


@pytest.mark.parametrize(
    "arguments",
    [
        {"a": 3, "b": 2},
        {"a": -1},
        {"b": 0},
        {"a": 0, "b": 0},
        {"a": float("nan")},
        {"a": [1, 1]},
        {"a": "x"},
    ],
)
def test_parameters_outside_their_domain(arguments: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        OFO(3, **arguments)
