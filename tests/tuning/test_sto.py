"""STO finds optimal thresholds."""

from __future__ import annotations

from math import inf
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from labelgrove import DataError, OnlinePLTClassifier, ParameterError, load
from labelgrove.tuning import STO, label_priors, lower_bounds, tune_sto
from naive import thresholds as twins
from tuning.problems import Problem, problems

AVERAGES = st.sampled_from(["macro", "micro", "instance"])


@given(problems())
def test_it_equals_exhaustive_search(problem: Problem) -> None:
    tuned = tune_sto(problem.Y, problem.scores, **problem.bounds)
    best = [
        twins.best_of_label(
            problem.Y[:, j].tolist(),
            problem.scores[:, j].tolist(),
            low,
            problem.upper,
            problem.zero,
        )
        for j, low in enumerate(problem.lower)
    ]
    assert tuned.values.tolist() == [tau for _, tau in best]
    assert tuned.score == pytest.approx(np.mean([value for value, _ in best]), abs=1e-12)
    found = twins.averaged_f(
        problem.Y.tolist(), tuned.apply(problem.scores).toarray().tolist(), "macro", problem.zero
    )
    assert found == pytest.approx(tuned.score, abs=1e-12)


@given(problems(), AVERAGES)
def test_no_common_threshold_is_better(problem: Problem, average: str) -> None:
    tuned = tune_sto(problem.Y, problem.scores, average=average, common=True, **problem.bounds)
    Y, scores, how = problem.Y.tolist(), problem.scores.tolist(), (average, problem.zero)
    best = twins.best_common(Y, scores, problem.lower, problem.upper, how)
    assert tuned.score == pytest.approx(best, abs=1e-12)
    assert twins.common_f(
        Y, scores, tuned.default, problem.lower, problem.upper, how
    ) == pytest.approx(best, abs=1e-12)
    largest = np.finfo(np.float64).max  # the default is finite, to be kept in a file
    assert np.minimum(tuned.values, largest).tolist() == [
        twins.within(tuned.default, low, problem.upper) for low in problem.lower
    ]


@given(problems(), AVERAGES, st.integers(1, 4))
def test_batches_and_sparseness_do_not_show(problem: Problem, average: str, size: int) -> None:
    whole = STO(problem.Y.shape[1], average=average, **problem.bounds)
    parts = STO(problem.Y.shape[1], average=average, **problem.bounds)
    whole.update(problem.Y, problem.scores)
    least = parts.floor()
    for i in range(0, len(problem.Y), size):
        scores = problem.scores[i : i + size]
        parts.update(csr_array(problem.Y[i : i + size]), csr_array(scores * (scores >= least)))
    assert parts.finish().values.tolist() == whole.finish().values.tolist()
    assert parts.finish().score == whole.finish().score


@given(problems())
def test_what_lies_below_kappa_does_not_matter(problem: Problem) -> None:
    kappa = lower_bounds(label_priors(problem.Y), c=5)
    sparse = np.where(problem.scores > kappa, problem.scores, 0)
    full = tune_sto(problem.Y, problem.scores, lower=kappa)
    assert (
        full.values.tolist() == tune_sto(problem.Y, csr_array(sparse), lower=kappa).values.tolist()
    )
    assert (full.values <= 0.5).all()
    assert ((full.values > kappa) | (kappa == 0.5)).all()


def test_scores_below_the_prior_s_bound_are_left_out_unless_told_otherwise() -> None:
    Y, scores = [[1], [1], [1], [0]], [[0.2], [0.2], [0.45], [0.1]]
    assert tune_sto(Y, scores).values.tolist() == [0.45]
    assert tune_sto(Y, scores, lower=0.0).values.tolist() == [0.2]


def test_an_infinite_upper_bound_lets_nothing_be_predicted() -> None:
    Y, scores = [[0], [0]], [[0.9], [0.8]]
    assert tune_sto(Y, scores, zero_division=1).score == 0.0
    tuned = tune_sto(Y, scores, upper=inf, zero_division=1)
    assert (tuned.values.tolist(), tuned.score) == ([inf], 1.0)


def test_without_scores_the_upper_bound_stands() -> None:
    empty = csr_array((3, 2), dtype=np.float32)
    assert tune_sto(csr_array((3, 2), dtype=np.int8), empty).values.tolist() == [0.5, 0.5]
    assert STO(0).finish().values.tolist() == []
    assert STO(3, average="instance").finish().values.tolist() == [0.5] * 3


def test_errors() -> None:
    with pytest.raises(ParameterError, match="common=False: the instance-averaged"):
        STO(1, average="instance", common=False)
    with pytest.raises(DataError, match="Y has 2 columns: expected 1"):
        STO(1).update([[0, 1]], [[0.5, 0.5]])


def test_an_infinite_upper_bound_can_be_kept_in_a_file(tmp_path: Path) -> None:
    clf = OnlinePLTClassifier().fit([[1.0, 0.0], [0.0, 1.0]] * 5, [["a"], ["b"]] * 5)
    clf.tune_thresholds([[1.0, 0.0]] * 4, [["b"]] * 4, method="sto", upper=inf, zero_division=1)
    clf.save(tmp_path / "m.lg")
    assert load(tmp_path / "m.lg").thresholds_.tolist() == clf.thresholds_.tolist()
