"""FTA finds the same as trying every candidate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from labelgrove import DataError, ParameterError
from labelgrove.metrics import f_measure
from labelgrove.tuning import FTA, tune_fta
from naive import thresholds as twins
from tuning.problems import Problem, problems

CANDIDATES = [0.05, 0.125, 0.3, 0.5]
AVERAGES = st.sampled_from(["macro", "micro", "instance"])


@given(problems(), AVERAGES)
def test_a_common_threshold_is_the_best_candidate(problem: Problem, average: str) -> None:
    tuned = tune_fta(
        problem.Y, problem.scores, thresholds=CANDIDATES, average=average, **problem.bounds
    )
    curve = [
        twins.common_f(
            problem.Y.tolist(),
            problem.scores.tolist(),
            t,
            problem.lower,
            problem.upper,
            (average, problem.zero),
        )
        for t in CANDIDATES
    ]
    assert tuned.candidates is not None
    assert tuned.candidates.tolist() == CANDIDATES
    assert tuned.candidate_scores == pytest.approx(curve, abs=1e-12)
    assert tuned.score == pytest.approx(max(curve), abs=1e-12)
    values = [twins.within(tuned.default, low, problem.upper) for low in problem.lower]
    assert tuned.values.tolist() == values
    found = twins.averaged_f(
        problem.Y.tolist(), tuned.apply(problem.scores).toarray().tolist(), average, problem.zero
    )
    assert found == pytest.approx(tuned.score, abs=1e-12)


@given(problems())
def test_each_label_gets_its_best_candidate(problem: Problem) -> None:
    tuned = tune_fta(
        problem.Y, problem.scores, thresholds=CANDIDATES, common=False, **problem.bounds
    )
    total = 0.0
    for j, low in enumerate(problem.lower):
        y, s = problem.Y[:, [j]].tolist(), problem.scores[:, [j]].tolist()
        found = [
            (twins.common_f(y, s, t, [low], problem.upper, ("macro", problem.zero)), t)
            for t in CANDIDATES
        ]
        assert tuned.values[j] == twins.within(max(found)[1], low, problem.upper)
        total += max(found)[0]
    assert tuned.score == pytest.approx(total / len(problem.lower), abs=1e-12)
    assert tuned.default == CANDIDATES[-1]


@given(problems(), AVERAGES, st.integers(1, 4))
def test_batches_and_sparseness_do_not_show(problem: Problem, average: str, size: int) -> None:
    def fresh() -> FTA:
        return FTA(problem.Y.shape[1], thresholds=CANDIDATES, average=average, **problem.bounds)

    whole, parts, small = fresh(), fresh(), fresh()
    whole.update(problem.Y, problem.scores)
    least = parts.floor()
    for i in range(0, len(problem.Y), size):
        Y, scores = problem.Y[i : i + size], problem.scores[i : i + size]
        parts.update(csr_array(Y), csr_array(scores))
        small.update(Y, np.where(scores >= least, scores, 0))
    for other in (parts, small):
        assert other.finish().values.tolist() == whole.finish().values.tolist()
        assert other.finish().candidate_scores == pytest.approx(whole.finish().candidate_scores)


def test_the_paper_s_candidates_are_the_default() -> None:
    tuned = tune_fta([[1], [0]], [[0.3], [0.2]], lower=0.0)
    assert tuned.candidates is not None
    assert (1 / tuned.candidates).tolist() == pytest.approx(
        [10000, 1000, 200, 100, 50, 20, 10, 7, 5, 4, 3, 2]
    )
    assert tuned.default == 0.25
    lower = tune_fta([[1], [0]], [[0.3], [0.2]], lower=0.0, upper=0.15)
    assert lower.candidates is not None and lower.candidates[-2:].tolist() == [1 / 7, 0.15]


def test_nothing_to_choose_from_scores_0() -> None:
    for fta in (FTA(0), FTA(0, common=False), FTA(3, average="instance")):
        tuned = fta.finish()
        assert (len(tuned.values), tuned.score) == (fta.n_labels, 0.0)


def test_thresholds_stay_above_half_the_f_of_always_saying_yes() -> None:
    Y = [[1, 0], [1, 0], [0, 0], [0, 1]]
    tuned = tune_fta(Y, np.full((4, 2), 0.9), thresholds=[0.01])
    assert tuned.values == pytest.approx([0.5 / 1.5, 0.25 / 1.25])
    assert (tuned.values > [0.5 / 1.5, 0.25 / 1.25]).all()
    free = tune_fta(Y, np.full((4, 2), 0.9), thresholds=[0.01], lower=0.0)
    assert free.values.tolist() == [0.01, 0.01]


def test_each_average_has_a_bound_of_its_own() -> None:
    Y = [[1, 0], [1, 0], [0, 0], [0, 0]]
    expected = {
        "macro": [0.5 / 1.5, 0.01],  # of each label
        "micro": [0.25 / 1.25] * 2,  # of all pairs
        "instance": [0.01] * 2,  # none is known
    }
    for average, values in expected.items():
        tuned = tune_fta(Y, np.full((4, 2), 0.9), thresholds=[0.01], average=average)
        assert tuned.values == pytest.approx(values)


def test_the_score_is_the_metric() -> None:
    rng = np.random.default_rng(5)
    scores = rng.random((200, 7))
    Y = csr_array((rng.random((200, 7)) < scores**2).astype(np.int8))
    for average in ("macro", "micro", "instance"):
        tuned = tune_fta(Y, scores, average=average)
        assert tuned.score == pytest.approx(f_measure(Y, tuned.apply(scores), average=average))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"thresholds": []}, "thresholds: expected at least one number"),
        ({"thresholds": 0.2}, "thresholds: expected at least one number, in a list or 1-D array"),
        ({"thresholds": [0.7]}, "thresholds: expected numbers above 0 and up to upper=0.5"),
        ({"thresholds": [0.0]}, "thresholds: expected numbers above 0"),
        (
            {"average": "weighted"},
            "average='weighted': expected one of 'macro', 'micro', 'instance'",
        ),
        ({"average": "micro", "common": False}, "common=False: the micro-averaged F-measure"),
        ({"lower": [0.1]}, "lower: expected one number, or one for each of 2 labels"),
        ({"thresholds": "x"}, "thresholds: expected numbers "),
        ({"lower": ["x"]}, "lower: expected numbers "),
        ({"lower": -1.0}, "lower: expected finite numbers of 0 or more"),
        ({"lower": np.inf}, "lower: expected finite numbers of 0 or more"),
        ({"upper": 0.0}, "upper=0.0: expected a positive number"),
        ({"upper": "x"}, "upper='x': expected a positive number"),
        ({"zero_division": 2}, "zero_division=2: expected 0 or 1"),
        ({"zero_division": [0]}, r"zero_division=\[0\]: expected 0 or 1"),
    ],
)
def test_parameters_outside_their_domain(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        FTA(2, **arguments)


def test_the_number_of_labels_is_fixed() -> None:
    with pytest.raises(DataError, match="Y has 1 columns: expected 2"):
        FTA(2).update([[1]], [[0.5]])
    with pytest.raises(ParameterError, match="n_labels=-1: expected an integer"):
        FTA(-1)
