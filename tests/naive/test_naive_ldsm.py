"""The plain LdSM agrees with the paper: the objective's lemmas, and examples worked by hand."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive.ldsm import (
    Example,
    Settings,
    Tree,
    balancedness,
    directions,
    objective,
    predict,
    purity,
)


def shares(M: int) -> st.SearchStrategy[list[tuple[float, list[float]]]]:
    """Some labels: pi_i, and where its examples go, each to at least one child."""
    rows = st.lists(st.floats(0, 1), min_size=M, max_size=M).filter(lambda row: sum(row) >= 1)
    weighted = st.lists(st.tuples(st.floats(0.01, 1), rows), min_size=1, max_size=5)
    return weighted.map(lambda pairs: [(pi / sum(p for p, _ in pairs), row) for pi, row in pairs])


def totals(Pi: list[tuple[float, list[float]]]) -> list[float]:
    return [sum(pi * row[j] for pi, row in Pi) for j in range(len(Pi[0][1]))]


@given(st.integers(2, 5).flatmap(shares), st.floats(0.1, 3), st.floats(0.01, 2))
def test_lemma_1_bounds_the_objective(
    Pi: list[tuple[float, list[float]]], lambda1: float, more: float
) -> None:
    M = len(Pi[0][1])
    lambda2 = lambda1 * max(M - 3, 0) + more  # M - 3 < lambda2 / lambda1
    J = objective(totals(Pi), Pi, lambda1, lambda2)
    # Its upper bound leaves the balancing term out; that term's own bound is added here.
    assert -lambda1 * (M - 1) - 1e-9 <= J
    assert lambda2 * (M - 1) + (M // 2) * (M - M // 2) + 1e-9 >= J


@pytest.mark.parametrize("M", [2, 3])
def test_lemma_1_is_tight_where_a_split_is_balanced_and_pure(M: int) -> None:
    Pi = [(1 / M, [float(j == i) for j in range(M)]) for i in range(M)]
    P = totals(Pi)
    assert objective(P, Pi, 1.0, M) == pytest.approx(-(M - 1))
    assert balancedness(P) == pytest.approx(0) and purity(Pi) == pytest.approx(0)
    # Any other way of sending the labels is worse.
    ways = list(itertools.product([0.0, 1.0], repeat=M))[1:]
    for rows in itertools.product(ways, repeat=M):
        other = [(1 / M, list(row)) for row in rows]
        J = objective(totals(other), other, 1.0, M)
        perfect = balancedness(totals(other)) < 1e-9 and purity(other) < 1e-9
        assert (J < -(M - 1) + 1e-9) == perfect


@given(st.integers(2, 5).flatmap(shares), st.floats(0.1, 3), st.floats(0.1, 3))
def test_lemma_2_bounds_the_balance(
    Pi: list[tuple[float, list[float]]], lambda1: float, lambda2: float
) -> None:
    P = totals(Pi)
    even = [sum(P) / len(P)] * len(P)
    without = objective(even, Pi, lambda1, lambda2)  # the purity term alone
    assert balancedness(P) <= objective(P, Pi, lambda1, lambda2) - without + 1e-9


def test_directions_are_those_above_one_half_or_the_best() -> None:
    assert directions([0.6, 0.2, 0.7]) == [0, 2]
    assert directions([0.1, 0.5, 0.2]) == [1]
    assert directions([0.3, 0.3]) == [0]


def no_draw(_seed: int, _stream: int, _counter: int, _sub: int = 0) -> int:
    return 0


def test_two_labels_are_told_apart_by_one_split() -> None:
    data = [Example({i % 2: 1.0}, (i % 2,)) for i in range(10)]
    tree = Tree(Settings(M=2, E=5, rate=0.5, shuffle=False), data, no_draw)
    assert [len(v.I) for v in tree.nodes] == [10, 5, 5]
    assert [set(v.LHist) for v in tree.root.ch] == [{0}, {1}]
    assert predict([tree], {1: 1.0}, "examples") == {1: 1.0}


def test_a_split_that_moves_nothing_is_undone() -> None:
    data = [Example({0: 1.0}, (i % 2,)) for i in range(6)]  # nothing to tell them apart
    tree = Tree(Settings(M=2, shuffle=False), data, no_draw)
    assert len(tree.nodes) == 1 and tree.root.regressors is None
    assert predict([tree], {0: 1.0}, "labels") == {0: 0.5, 1: 0.5}


def test_the_node_with_most_to_tell_apart_is_split_first() -> None:
    data = [Example({i % 4: 1.0}, (i % 4,)) for i in range(20)]
    data += [Example({4 + i % 2: 1.0}, (4 + i % 2,)) for i in range(4)]
    tree = Tree(Settings(M=2, T_max=5, E=5, rate=0.5, shuffle=False), data, no_draw)
    assert 3 <= len(tree.nodes) <= 5
