"""Equation 4 by hand, and Lemma 1 against a linear programme's solver."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from naive.clustering import Interpolation, frequencies, lemma_1

WEIGHTS = st.lists(st.integers(0, 9), min_size=2, max_size=7).filter(any)


@given(WEIGHTS, st.sampled_from([0.5, 0.25, 2 / 3]), st.randoms(use_true_random=False))
def test_lemma_1_solves_the_programme(weights: list[int], share: float, random: object) -> None:
    f = np.array(weights) / sum(weights)
    ratio = [random.uniform(-1, 1) for _ in weights]  # type: ignore[attr-defined]
    alpha = np.array(lemma_1(ratio, f.tolist(), share))
    assert alpha @ f == pytest.approx(2 * share - 1)
    assert ((alpha >= -1) & (alpha <= 1)).all()
    beta = np.array(ratio) * f
    best = linprog(-beta, A_eq=[f], b_eq=[2 * share - 1], bounds=[(-1, 1)] * len(f))
    assert alpha @ beta == pytest.approx(-best.fun, abs=1e-6)  # the solver's own tolerance


def test_equation_4_at_its_three_points() -> None:
    f, f_tilde = [6.0, 3.0, 1.0, 0.0], [8.0, 0.0, 2.0, 0.0]

    def at(lambda_: float, gamma: float = 0.0, through_weighted: bool = True) -> list[float]:
        given_ = Interpolation(f, f_tilde, lambda_, gamma, through_weighted)
        return frequencies(given_, range(4))

    assert at(0) == at(0, gamma=0.1) == pytest.approx([0.25] * 4)
    assert at(1) == pytest.approx([0.6, 0.3, 0.1, 0])
    assert at(2) == at(2, through_weighted=False) == pytest.approx([0.8, 0, 0.2, 0])
    assert at(1, gamma=1) == pytest.approx([0.425, 0.275, 0.175, 0.125])
    assert at(1.5) == pytest.approx([0.7, 0.15, 0.15, 0])
    assert at(0, through_weighted=False) == pytest.approx([0.25] * 4)
    assert at(1, through_weighted=False) == pytest.approx([0.525, 0.125, 0.225, 0.125])
    assert sum(at(0.3, 0.1)) == pytest.approx(1)
