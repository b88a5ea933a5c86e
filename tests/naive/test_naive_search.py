"""Every search against the exhaustive answer, on random trees with many equal probabilities."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive.label_tree import LabelTree
from naive.learners import AdaGrad, instance
from naive.oplt import OPLT
from naive.policy import policy_named
from naive.search import Eta, above_threshold, beam, exhaustive, top_k
from naive.streams import play, random_stream

# Coarse values make ties; 1.0 makes a child tie with its parent, 0.0 a whole subtree with another.
PROBABILITIES = st.sampled_from([0.0, 0.25, 0.5, 1.0, 1.0, 0.3, 0.7])


@st.composite
def cases(draw: st.DrawFn) -> tuple[LabelTree, Eta, set[int] | None]:
    """Draw a tree with some silent leaves, conditional probabilities, and perhaps a list."""
    nodes = range(1, draw(st.integers(1, 14)))
    parents = [None, *(draw(st.integers(max(0, v - 5), v - 1)) for v in nodes)]
    leaves = [v for v in range(len(parents)) if v not in parents]
    tree = LabelTree.from_parents(parents, dict(enumerate(draw(st.permutations(leaves)))))
    labels = st.sets(st.sampled_from(range(len(leaves))))
    for label in draw(labels):
        tree.remove_label(label)
    eta = draw(st.lists(PROBABILITIES, min_size=len(parents), max_size=len(parents)))
    return tree, eta.__getitem__, draw(st.none() | labels)


@settings(max_examples=200, deadline=None)
@given(cases(), st.integers(0, 8))
def test_top_k_is_the_head_of_the_exhaustive_answer(
    case: tuple[LabelTree, Eta, set[int] | None], k: int
) -> None:
    tree, eta, allowed = case
    answer, stats = top_k(tree, eta, k, allowed)
    assert answer == exhaustive(tree, eta, allowed)[:k]
    assert stats.evaluated <= len(tree.nodes())


@settings(max_examples=200, deadline=None)
@given(cases(), st.data())
def test_threshold_cuts_the_exhaustive_answer(
    case: tuple[LabelTree, Eta, set[int] | None], data: st.DataObject
) -> None:
    tree, eta, allowed = case
    threshold = data.draw(PROBABILITIES)
    expected = [(label, p) for label, p in exhaustive(tree, eta, allowed) if p >= threshold]
    assert above_threshold(tree, eta, threshold, allowed)[0] == expected
    each = {label: data.draw(PROBABILITIES) for label in tree.leaf_of}
    expected = [(label, p) for label, p in exhaustive(tree, eta, allowed) if p >= each[label]]
    assert above_threshold(tree, eta, each, allowed)[0] == expected


@settings(max_examples=100, deadline=None)
@given(cases(), st.integers(1, 8), st.integers(1, 3))
def test_beam(case: tuple[LabelTree, Eta, set[int] | None], k: int, width: int) -> None:
    tree, eta, allowed = case
    everything = exhaustive(tree, eta, allowed)
    assert beam(tree, eta, k, len(tree.nodes()), allowed)[0] == everything[:k]
    narrow, stats = beam(tree, eta, len(everything), width, allowed)
    assert set(narrow) <= set(everything)
    assert narrow == sorted(narrow, key=lambda item: (-item[1], item[0]))
    assert stats.opened <= width * max(1, stats.depth)


@pytest.mark.parametrize("policy", ["best-greedy", "random", "cpet", "complete"])
def test_search_on_a_model_that_was_learnt(policy: str) -> None:
    model = OPLT(AdaGrad, policy_named(policy, b_max=4))
    for event in random_stream(seed=1, length=60):
        play(model, event)
    for feature in range(12):
        x = instance({feature: 1.0, 3: 0.5})
        values = {v: model.probability(x, v) for v in model.tree.nodes()}
        everything = exhaustive(model.tree, values.__getitem__)
        assert len(everything) == len(model.label_ids) > 10
        assert top_k(model.tree, values.__getitem__, 5)[0] == everything[:5]
        above = above_threshold(model.tree, values.__getitem__, everything[4][1])[0]
        assert above == [found for found in everything if found[1] >= everything[4][1]]
        assert beam(model.tree, values.__getitem__, 5, width=100)[0] == everything[:5]


@pytest.fixture
def small() -> tuple[LabelTree, Eta]:
    """Return two pairs of leaves: labels 0 1 under node 1, labels 2 3 under node 2."""
    tree = LabelTree.from_parents([None, 0, 0, 1, 1, 2, 2], {0: 3, 1: 4, 2: 5, 3: 6})
    return tree, [0.5, 0.5, 0.75, 1.0, 0.5, 0.25, 0.5].__getitem__


def test_exhaustive_multiplies_along_the_path(small: tuple[LabelTree, Eta]) -> None:
    expected = [(0, 0.25), (3, 0.1875), (1, 0.125), (2, 0.09375)]
    assert exhaustive(*small) == expected
    assert exhaustive(*small, allowed={1, 3, 99}) == [(3, 0.1875), (1, 0.125)]


def test_costs_are_counted(small: tuple[LabelTree, Eta]) -> None:
    stats = top_k(*small, k=1)[1]
    assert (stats.evaluated, stats.opened, stats.depth) == (7, 3, 2)
    stats = above_threshold(*small, threshold=0.3)[1]  # node 1 has 0.25: never opened
    assert (stats.evaluated, stats.opened, stats.depth) == (5, 2, 2)
    stats = beam(*small, k=4, width=1)[1]
    assert (stats.evaluated, stats.opened, stats.depth) == (5, 2, 2)
    stats = top_k(*small, k=4, allowed={2})[1]  # node 1 leads to no allowed label
    assert (stats.evaluated, stats.opened, stats.depth) == (5, 2, 2)


def test_a_narrow_beam_misses_what_exact_search_finds(small: tuple[LabelTree, Eta]) -> None:
    assert beam(*small, k=1, width=1)[0] == [(3, 0.1875)]
    assert beam(*small, k=1, width=2)[0] == top_k(*small, k=1)[0] == [(0, 0.25)]


def test_leaves_take_no_place_in_the_beam() -> None:
    tree = LabelTree.from_parents([None, 0, 0, 2, 2], {0: 1, 1: 3, 2: 4})
    eta = [1.0, 0.9, 0.5, 0.5, 0.1].__getitem__
    assert [label for label, _ in beam(tree, eta, 3, width=1)[0]] == [0, 1, 2]


def test_the_smaller_label_wins_a_tie_even_from_deeper_down() -> None:
    tree = LabelTree.from_parents([None, 0, 0, 2, 2], {2: 1, 0: 3, 1: 4})
    assert top_k(tree, [1.0, 0.5, 0.5, 1.0, 1.0].__getitem__, 2)[0] == [(0, 0.5), (1, 0.5)]


def test_a_tree_without_live_labels_answers_nothing() -> None:
    tree = LabelTree()
    assert exhaustive(tree, lambda v: 0.5) == top_k(tree, lambda v: 0.5, 3)[0] == []
    tree.set_label(0, 0)
    assert top_k(tree, lambda v: 0.5, 3)[0] == [(0, 0.5)]
    tree.remove_label(0)
    assert top_k(tree, lambda v: 0.5, 3)[0] == []
    assert top_k(tree, lambda v: 0.5, 3)[1].evaluated == 0
