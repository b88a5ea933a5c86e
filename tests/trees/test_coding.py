"""Huffman's and Fano's trees against their definitions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from labelgrove import DataError, LabelTree, ParameterError
from labelgrove.trees import fano_tree, huffman_tree
from labelgrove.trees._codes import _sums
from trees.definitions import fano, label_depths, least_total_depth, nested, total_depth

COUNTS = st.integers(0, 20)
FEW = st.lists(COUNTS, min_size=1, max_size=6)
MANY = st.lists(COUNTS | st.integers(0, 2**40), min_size=1, max_size=40)
ARITIES = st.integers(2, 6)
BUILDERS = [huffman_tree, fano_tree]


@given(FEW, ARITIES)
def test_no_tree_is_shallower_than_huffmans(counts: list[int], arity: int) -> None:
    tree = huffman_tree(counts, arity=arity)
    assert total_depth(tree, counts) == least_total_depth(counts, arity)


@given(MANY, ARITIES)
def test_huffman_keeps_to_the_arity_and_fills_the_root(counts: list[int], arity: int) -> None:
    tree = huffman_tree(counts, arity=arity)
    arities = sorted(len(tree.children(v)) for v in range(tree.n_nodes) if tree.children(v))
    # All nodes are full, but for the first one made, which is among the deepest.
    assert all(found == arity for found in arities[1:])
    if arities:
        assert arities[0] == 2 + (len(counts) - 2) % (arity - 1)
        assert len(tree.children(0)) == min(arity, len(counts))


@given(MANY)
def test_huffman_puts_the_frequent_higher(counts: list[int]) -> None:
    depths = label_depths(huffman_tree(counts))
    order = sorted(range(len(counts)), key=lambda label: -counts[label])
    assert [depths[label] for label in order] == sorted(depths.values())
    shannon = np.array(counts)[np.array(counts) > 0] / max(sum(counts), 1)
    entropy = float(-(shannon * np.log2(shannon)).sum())
    if sum(counts):  # Shannon's bounds
        expected = huffman_tree(counts).expected_depth(counts)
        assert entropy - 1e-9 <= expected <= entropy + 1 + 1e-9


def test_huffman_of_equals_is_no_deeper_than_need_be() -> None:
    assert set(label_depths(huffman_tree([1] * 64)).values()) == {6}
    assert set(label_depths(huffman_tree([0] * 64, arity=4)).values()) == {3}
    # Of two trees with the same expected depth, the one with the shallower deepest leaf.
    assert huffman_tree([2, 2, 1, 1]).depth == 2


@example([0] * 9, 2, 1)
@example([5, *[0] * 11], 3, 1)
@given(MANY, ARITIES, st.integers(1, 10))
def test_fano_cuts_as_defined(counts: list[int], arity: int, max_leaves: int) -> None:
    tree = fano_tree(counts, arity=arity, max_leaves=max_leaves)
    assert nested(tree) == fano(counts, arity, max_leaves)


def test_errors_of_sums_do_not_grow_with_their_number() -> None:
    tenths = np.full(100_000, 0.1)
    assert _sums(tenths)[-1] == pytest.approx(math.fsum(tenths), rel=4e-16, abs=0)


@given(MANY)
def test_fanos_binary_split_is_the_most_balanced(counts: list[int]) -> None:
    tree = fano_tree(counts)

    def labels_below(node: int) -> list[Any]:
        below = tree.children(node)
        return [name for child in below for name in labels_below(child)] or [tree.labels[node]]

    for node in range(tree.n_nodes):
        if below := tree.children(node):
            front, rest = (labels_below(child) for child in below)
            both = [counts[label] for label in front + rest]
            assert both == sorted(both, reverse=True)
            gaps = [abs(sum(both[:n]) - sum(both[n:])) for n in range(1, len(both))]
            assert abs(sum(both[: len(front)]) - sum(both[len(front) :])) == min(gaps)


@given(st.lists(st.floats(0, 1e9), min_size=2, max_size=30))
def test_fractions_do_as_well_as_counts(frequencies: list[float]) -> None:
    for build in BUILDERS:
        tree = build(frequencies)
        assert sorted(tree.leaf_labels.tolist()) == list(range(len(frequencies)))
        if sum(frequencies) > 1e-300:
            assert tree == build(np.array(frequencies) * 4)
            huffman = huffman_tree(frequencies).expected_depth(frequencies)
            assert huffman <= tree.expected_depth(frequencies) * (1 + 1e-9)


@example([1, 1, 1, 2, 3, 4, 5], 2)  # 0.1 + 0.2 is more than 0.3
@given(st.lists(COUNTS, min_size=1, max_size=100), ARITIES)
def test_shares_give_the_tree_of_their_counts(counts: list[int], arity: int) -> None:
    for build in BUILDERS:
        tree = build(counts, arity=arity)
        for unit in (0.1, 1 / 3, 1 / max(sum(counts), 1)):
            assert build(np.array(counts) * unit, arity=arity) == tree


@pytest.mark.parametrize("build", BUILDERS)
def test_labels_come_with_frequencies_or_apart(build: Any) -> None:
    counts = {"law": 5, "tax": 2, "sea": 1}
    tree = build(counts)
    assert tree == build([5, 2, 1], ["law", "tax", "sea"])
    assert tree == build(np.array([5.0, 2.0, 1.0]), np.array(["law", "tax", "sea"]))
    assert sorted(build([5, 2, 1]).labels.values()) == [0, 1, 2]
    assert build([7], ["alone"]) == LabelTree([-1], ["alone"])
    assert build({}) == build([]) == LabelTree([-1], [])
    assert build([3, 2, 1], arity=50).depth == 1


def test_the_tail_is_not_lost_beside_huge_frequencies() -> None:
    frequencies = [1e200, *[1.0] * 64]
    for build in BUILDERS:
        depths = label_depths(build(frequencies))
        assert depths.pop(0) == 1 and set(depths.values()) == {7}
    halves = [2.0**-i for i in range(1074)]
    assert huffman_tree(halves).depth == fano_tree(halves).depth == 1073


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, -1],), "label 1 is -1.0; expected a finite number that is not negative"),
        (({"a": 1, "b": float("nan")},), "label 'b' is nan; expected a finite number"),
        (([1, float("inf")],), "the frequency of label 1 is inf"),
        (([1e308, 1e308],), "they sum to inf"),
        (([1, 2], ["a"]), "there are 2 for 1 labels; expected one for each"),
        (([1, 2], ["a", "a"]), "have the same label 'a'"),
        (({"a": 1}, ["a"]), "labels: expected None"),
        (({"a": "many"},), "expected a mapping from labels to numbers"),
        (([[1, 2]],), "expected a mapping from labels to numbers or a flat sequence"),
        (([[1, 2], [3]],), "expected a mapping from labels to numbers or a flat sequence"),
        ((None,), "expected a mapping from labels to numbers or a flat sequence"),
    ],
)
def test_wrong_frequencies_are_named(build: Any, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        build(*arguments)


@pytest.mark.parametrize("build", BUILDERS)
def test_wrong_parameters_are_named(build: Any) -> None:
    for arity in (1, 2.0, True, "2"):
        with pytest.raises(ParameterError, match=f"arity={arity!r}: expected an integer from 2"):
            build([1, 2], arity=arity)
    with pytest.raises(DataError, match="label 1 of the list.*is a string"):
        build({1: 1, "a": 2})
    with pytest.raises(ParameterError, match="max_leaves=0: expected an integer from 1"):
        fano_tree([1, 2], max_leaves=0)


@pytest.mark.slow
@pytest.mark.parametrize("build", BUILDERS)
def test_half_a_million_labels(build: Any) -> None:
    """An algorithm quadratic in the number of labels would not finish."""
    frequencies = 1e7 / np.arange(1, 500_001) ** 1.1
    assert build(frequencies).n_nodes == 999_999
