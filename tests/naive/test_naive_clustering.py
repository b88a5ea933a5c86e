"""Equation 4 and Lemma 1 by hand, at their end points, and against a linear programme's solver."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from naive.clustering import Builder, Interpolation, frequencies, lemma_1, rounded

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


def test_only_one_label_is_cut_and_it_goes_to_the_front() -> None:
    ratio = [0.4, 0.3, 0.2, 0.1]
    assert lemma_1(ratio, [0.3, 0.4, 0.2, 0.1]) == pytest.approx([1, 0, -1, -1])
    assert rounded([1, 0.5, -1, -1], ratio) == [1, 1, -1, -1]
    assert rounded([1, -0.9, -1, -1], ratio) == [1, 1, -1, -1]


def test_the_middle_label_goes_by_its_sign() -> None:
    assert rounded([1, 0, -1], [0.5, 0.1, -0.5]) == [1, 1, -1]
    assert rounded([1, 0, -1], [0.5, -0.1, -0.5]) == [1, -1, -1]


def test_no_side_is_empty() -> None:
    assert rounded([1, 1, 0.5], [0.3, 0.2, 0.1]) == [1, 1, -1]
    assert rounded([0, -1, -1], [-0.1, -0.2, -0.3]) == [1, -1, -1]


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


def test_frequencies_are_those_of_the_group() -> None:
    given_ = Interpolation([6, 3, 1, 0, 0], [8, 0, 0, 0, 0], 2)
    assert frequencies(given_, [1, 2]) == pytest.approx([0.75, 0.25])  # no f~ here: f instead
    assert frequencies(given_, [3, 4]) == pytest.approx([0.5, 0.5])  # nor any f


def test_two_clusters_are_found() -> None:
    vectors = [{0: 1.0}, {1: 1.0}, {0: 2.0, 2: 0.1}, {1: 0.5, 3: 0.01}]
    builder = Builder(vectors, centres=lambda begin, end: (0, end - begin - 1))
    assert builder.tree() == ((0, 2), (1, 3))


def test_fano_is_the_end() -> None:
    f = [1.0, 4.0, 2.0, 1.0]
    vectors = [{i % 2: 1.0} for i in range(4)]
    builder = Builder(vectors, lambda begin, end: (0, 1), Interpolation(f, f, 2.0))
    assert builder.tree() == (1, (2, (0, 3)))
