"""Interpolated trees against the naive twin of the paper, and at their three points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelgrove import LabelTree, ParameterError
from labelgrove.trees import interpolated_tree, kmeans_tree
from naive.clustering import Builder, Interpolation
from trees.definitions import Nested, nested
from trees.test_clustering import as_dicts, drawn_centres, looks

LAMBDAS = st.sampled_from([0.0, 0.3, 1.0, 1.3, 1.9, 2.0])
GAMMAS = st.sampled_from([0.0, 0.1, 5.0])


@st.composite
def counts(draw: st.DrawFn, most: int = 30) -> tuple[list[int], list[int]]:
    n = draw(st.integers(2, most))
    count = st.integers(0, 9) | st.sampled_from([0, 100])
    several = st.lists(count, min_size=n, max_size=n)
    return draw(several), draw(several)


@settings(max_examples=100)
@given(st.integers(0, 10**6), counts(), LAMBDAS, GAMMAS, st.booleans(), st.integers(2, 5))
def test_interpolated_trees_are_their_twins(
    seed: int,
    given_: tuple[list[int], list[int]],
    lambda_: float,
    gamma: float,
    weighted: bool,
    arity: int,
) -> None:
    f, f_tilde = given_
    if gamma == 0.0:  # a label with weight 0 belongs to either side, and rounding would decide
        f, f_tilde = [max(one, 1) for one in f], [max(one, 1) for one in f_tilde]
    vectors = looks(seed, len(f))
    meant = Interpolation(f, f_tilde, lambda_, gamma, weighted)
    twin = Builder(as_dicts(vectors), drawn_centres(seed), meant, arity, 2)
    tree = interpolated_tree(
        vectors,
        f,
        fano_frequencies=f_tilde,
        interpolation=lambda_,
        smoothing=gamma,
        weighted_intermediate=weighted,
        arity=arity,
        max_leaf_size=2,
        random_state=seed,
    )
    assert nested(tree) == twin.tree()


@settings(max_examples=40)
@given(st.integers(0, 10**6), counts(60), GAMMAS, st.booleans(), st.integers(2, 5))
def test_lambda_0_is_balanced_2_means(
    seed: int, given_: tuple[list[int], list[int]], gamma: float, weighted: bool, size: int
) -> None:
    f, f_tilde = given_
    vectors = looks(seed, len(f))
    tree = interpolated_tree(
        vectors,
        f,
        fano_frequencies=f_tilde,
        interpolation=0,
        smoothing=gamma,
        weighted_intermediate=weighted,
        max_leaf_size=size,
        random_state=seed,
    )
    assert tree == kmeans_tree(vectors, max_leaf_size=size, random_state=seed)


def fano_of_the_paper(frequencies: list[int], labels: list[int]) -> Nested:
    """Section 3.2: add the largest frequency to the left until half of all is there."""
    if len(labels) <= 2:
        return tuple(labels) if len(labels) == 2 else labels[0]
    order = sorted(labels, key=lambda label: (-frequencies[label], label))
    total, left = sum(frequencies[label] for label in labels), 0
    if total == 0:  # every label counts alike
        front = order[: -(-len(order) // 2)]
    else:
        front = []
        while 2 * left < total and len(front) < len(order) - 1:
            left += frequencies[order[len(front)]]
            front.append(order[len(front)])
    sides = front, [label for label in labels if label not in front]
    return tuple(fano_of_the_paper(frequencies, sorted(side)) for side in sides)


@settings(max_examples=60)
@given(counts(), st.booleans())
def test_lambda_2_is_fano(given_: tuple[list[int], list[int]], weighted: bool) -> None:
    f_tilde, f = given_
    if not any(f_tilde):
        f = f_tilde  # without f~, f replaces it
    tree = interpolated_tree(
        looks(0, len(f)),
        f_tilde,
        fano_frequencies=f_tilde,
        interpolation=2,
        smoothing=0,
        weighted_intermediate=weighted,
        max_leaf_size=1,
    )
    assert nested(tree) == fano_of_the_paper(f_tilde, list(range(len(f_tilde))))


def test_lambda_1_gives_both_sides_half_of_the_frequency() -> None:
    random = np.random.default_rng(2)
    often = random.integers(1, 50, size=300).astype(float)
    tree = interpolated_tree(looks(2, 300), often, smoothing=0.0, max_leaf_size=1)
    mass = np.zeros(tree.n_nodes)
    mass[tree.leaves] = often[tree.leaf_labels]
    for node in range(tree.n_nodes - 1, 0, -1):
        mass[tree.parents[node]] += mass[node]
    for node in range(tree.n_nodes):
        if children := tree.children(node):
            front, back = mass[children]
            # The cut goes through one label at most, and no label is heavier than 49.
            assert -1e-9 <= front - back <= 2 * 49 or (front - back < 0 and len(children) == 2)


def test_the_more_lambda_the_less_depth() -> None:
    random = np.random.default_rng(0)
    often = 1000 / np.arange(1, 401)
    vectors = random.normal(size=(400, 10))
    depths = [
        interpolated_tree(vectors, often, interpolation=x, max_leaf_size=1).expected_depth(often)
        for x in (0, 1, 2)
    ]
    assert depths[0] > depths[1] + 0.5 and depths[1] >= depths[2] - 0.1
    probabilities = often / often.sum()
    assert depths[2] < -(probabilities * np.log2(probabilities)).sum() + 1


def test_lambda_prime_is_another_scale() -> None:
    vectors, often = looks(1, 40), np.arange(40) + 1

    def build(**given_: Any) -> LabelTree:
        return interpolated_tree(vectors, often, max_leaf_size=3, **given_)

    for prime, lambda_ in (
        (0, 0.0),
        (0.25, 0.4),
        (1, 1.0),
        (3, 1.5),
        (float("inf"), 2.0),
        (10**400, 2.0),
    ):
        assert build(lambda_prime=prime) == build(interpolation=lambda_)


def test_a_tenth_is_added_to_all_frequencies_unless_told_otherwise() -> None:
    vectors, often = looks(1, 60), np.arange(60)
    tree = interpolated_tree(vectors, often, max_leaf_size=1)
    assert tree == interpolated_tree(vectors, often, max_leaf_size=1, smoothing=0.1)
    for other in (0.05, 0.2):
        assert tree != interpolated_tree(vectors, often, max_leaf_size=1, smoothing=other)


def test_labels_that_never_occur_stand_no_deeper_than_need_be() -> None:
    often = np.zeros(1000)
    often[0] = 1.0
    tree = interpolated_tree(looks(4, 1000), often, interpolation=2, smoothing=0, max_leaf_size=1)
    assert tree.depth == 11 and tree.expected_depth(often) == 1


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"interpolation": 2.1}, "interpolation=2.1: expected a number from 0 to 2"),
        ({"lambda_prime": -1}, "lambda_prime=-1: expected a number of at least 0"),
        ({"lambda_prime": float("nan")}, "lambda_prime=nan"),
        ({"lambda_prime": -(10**400)}, "expected a number of at least 0"),
        ({"lambda_prime": 1j}, "lambda_prime=1j"),
        ({"smoothing": -0.1}, "smoothing=-0.1: expected a number from 0"),
        ({"frequencies": [1, 2]}, "frequencies: there are 2 for 3 embeddings"),
        ({"frequencies": [1, 2, -1]}, "frequencies: the frequency of label 2 is -1.0"),
        ({"fano_frequencies": [1]}, "fano_frequencies: there are 1 for 3 embeddings"),
        ({"frequencies": {2: 1, 1: 1, 0: 9}}, "^frequencies: found a mapping"),
        ({"fano_frequencies": {2: 1, 1: 1, 0: 9}}, "fano_frequencies: found a mapping"),
        ({"fano_frequencies": [1, 2, float("nan")]}, "fano_frequencies: the frequency of label 2"),
        ({"arity": 1}, "arity=1"),
    ],
)
def test_wrong_parameters_are_named(given_: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        interpolated_tree(np.eye(3), given_.pop("frequencies", [1, 1, 1]), **given_)
