"""Every search of the engine equals the twin's: answers, order of ties, and cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.driver import NONE, Array, Example, options, rows
from engine.trees import engine_tree, start_trees
from labelgrove import OnlinePLTClassifier, _core
from naive import search
from naive.label_tree import LabelTree

# Margins of the bias: the middle, both ends (where exp is clipped), and values between.
MARGINS = st.sampled_from([0.0, 0.0, 1000.0, 1000.0, -1000.0, 2.0, -1.0])
LOGISTIC = options(learner="sgd", l2=0.0)
NO_FEATURES = rows([Example((), ())])


class Case:
    """A tree with a constant per node, given to the engine as biases."""

    def __init__(self, tree: LabelTree, margins: Sequence[float]) -> None:
        self.tree = tree
        n = len(tree.parent) + 1
        parents, labels = engine_tree(tree)
        inner = [0, *(v + 1 for v in tree.nodes() if not tree.is_leaf(v))]
        biases = [margins[0]]
        biases += [margins[c] for v in inner[1:] for c in tree.children[v - 1]]
        arrays = {
            "tree.parent": parents,
            "tree.label": labels,
            "tree.silent": np.array([0, *(v in tree.silent for v in tree.nodes())], np.uint8),
            "counters": np.array([n, 0, 0], np.uint64),
            "block.node": np.array(inner, np.uint32),
            "block.features": np.zeros(len(inner), np.uint32),
            "block.theta": np.zeros(len(inner), np.uint8),
            "block.updates": np.zeros(len(inner), np.uint64),
            "weights.feature": np.empty(0, np.uint32),
            "weights.value": np.array(biases, np.float32),
        }
        self.engine = _core.OnlinePlt.load(LOGISTIC, arrays, for_prediction=True)
        self.eta = [probability(margin) for margin in margins].__getitem__

    def __repr__(self) -> str:
        eta = [float(self.eta(v)) for v in self.tree.nodes()]
        return f"Case({self.tree.parent}, {self.tree.label}, {self.tree.silent}, {eta})"


def probability(margin: float) -> np.float32:
    """Return what the engine makes of a margin; products of such numbers are float32's."""
    arrays = {
        "tree.parent": np.array([NONE, 0], np.uint32),
        "tree.label": np.array([NONE, 0], np.uint32),
        "tree.silent": np.zeros(2, np.uint8),
        "counters": np.array([1, 0, 0], np.uint64),
        "block.node": np.zeros(1, np.uint32),
        "block.features": np.zeros(1, np.uint32),
        "block.theta": np.zeros(1, np.uint8),
        "block.updates": np.zeros(1, np.uint64),
        "weights.feature": np.empty(0, np.uint32),
        "weights.value": np.array([margin], np.float32),
    }
    one = _core.OnlinePlt.load(LOGISTIC, arrays, for_prediction=True)
    return np.float32(one.top_k(*NO_FEATURES, 1, 0, None, 1)[1][0, 0])


@st.composite
def cases(draw: st.DrawFn) -> Case:
    tree = draw(start_trees(most=16))
    n = len(tree.parent)
    for label in draw(st.sets(st.sampled_from(range(len(tree.leaf_of))), max_size=3)):
        tree.remove_label(label)
    return Case(tree, draw(st.lists(MARGINS, min_size=n, max_size=n)))


allow_lists = st.none() | st.lists(st.integers(0, 20), max_size=6)


def ids(allowed: Sequence[int] | None) -> Array | None:
    return None if allowed is None else np.array(allowed, np.uint32)


def ranked(labels: Array, scores: Array) -> list[tuple[int, float]]:
    there = labels != NONE
    assert there.tolist() == sorted(there.tolist(), reverse=True)  # missing labels come last
    assert np.isnan(scores[~there]).all()
    return list(zip(labels[there].tolist(), scores[there].tolist(), strict=True))


def expected(answer: tuple[search.Ranking, search.Stats]) -> tuple[Any, int, int, int]:
    ranking, stats = answer
    blocks = stats.opened + (stats.evaluated > 0)  # the engine has a node above the root
    return [(label, float(p)) for label, p in ranking], stats.evaluated, stats.depth, blocks


def top_k(
    case: Case, k: int, allowed: Sequence[int] | None, width: int = 0
) -> tuple[Any, int, int, int]:
    labels, scores, costs = case.engine.top_k(*NO_FEATURES, k, width, ids(allowed), 1)
    assert labels.shape == scores.shape == (1, k)
    evaluated, depth, blocks, _ = costs[0].tolist()
    return ranked(labels[0], scores[0]), evaluated, depth, blocks


def above(
    case: Case, thresholds: Sequence[float], allowed: Sequence[int] | None
) -> tuple[Any, int, int, int]:
    scope = case.engine.scope(np.array(thresholds, np.float32), ids(allowed))
    indptr, labels, scores, costs = case.engine.above_threshold(*NO_FEATURES, scope, 1)
    assert indptr.tolist() == [0, len(labels)]
    evaluated, depth, blocks, _ = costs[0].tolist()
    return ranked(labels, scores), evaluated, depth, blocks


@settings(max_examples=150, deadline=None)
@given(cases(), st.integers(1, 30), allow_lists)
def test_top_k(case: Case, k: int, allowed: list[int] | None) -> None:
    assert top_k(case, k, allowed) == expected(search.top_k(case.tree, case.eta, k, allowed))
    everything = expected((search.exhaustive(case.tree, case.eta, allowed), search.Stats()))[0]
    assert top_k(case, k, allowed)[0] == everything[:k]


@settings(max_examples=150, deadline=None)
@given(cases(), allow_lists, st.data())
def test_threshold(case: Case, allowed: list[int] | None, data: st.DataObject) -> None:
    values = st.sampled_from([*map(case.eta, case.tree.nodes()), -1.0, 0.0, 1e-3, 0.25, 2.0])
    cut = data.draw(values)
    assert above(case, [cut], allowed) == expected(
        search.above_threshold(case.tree, case.eta, np.float32(cut), allowed)
    )
    count = len(case.tree.leaf_of)
    each = data.draw(st.lists(values, min_size=count, max_size=count))
    by_label = dict(enumerate(np.array(each, np.float32)))
    # A single threshold would apply to all labels; those beyond the last label are unused.
    assert above(case, [*each, 0.0, 0.0], allowed) == expected(
        search.above_threshold(case.tree, case.eta, by_label, allowed)
    )


@settings(max_examples=150, deadline=None)
@given(cases(), st.integers(1, 8), st.integers(1, 4), allow_lists)
def test_beam(case: Case, k: int, width: int, allowed: list[int] | None) -> None:
    assert top_k(case, k, allowed, width) == expected(
        search.beam(case.tree, case.eta, k, width, allowed)
    )


@settings(max_examples=100, deadline=None)
@given(cases(), st.integers(1, 8), allow_lists)
def test_a_beam_as_wide_as_the_tree_is_exact(case: Case, k: int, allowed: list[int] | None) -> None:
    assert top_k(case, k, allowed, width=20)[0] == top_k(case, k, allowed)[0]


def small() -> Case:
    """Return two pairs of leaves: labels 0 1 under node 1, labels 2 3 under node 2."""
    tree = LabelTree.from_parents([None, 0, 0, 1, 1, 2, 2], {0: 3, 1: 4, 2: 5, 3: 6})
    return Case(tree, [1000.0, 0.0, 2.0, 1000.0, 0.0, -1000.0, 0.0])


def test_costs_by_hand() -> None:
    case = small()
    assert top_k(case, 1, None) == ([(0, 0.5)], 7, 2, 4)
    assert top_k(case, 1, None, width=1)[0][0][0] == 3  # the better half has the worse leaf
    assert above(case, [0.6], None)[1:] == (5, 2, 3)  # node 1 has 0.5: it is not opened
    assert above(case, [1.5], None)[1:] == (1, 0, 1)  # nor is the root
    assert top_k(case, 4, [2])[1:] == (5, 2, 3)  # node 1 leads to no allowed label
    assert top_k(case, 4, [])[1:] == (0, 0, 0)
    assert top_k(case, 4, [99])[0] == []


def test_ties_go_to_the_label_that_arrived_first_even_from_deeper_down() -> None:
    tree = LabelTree.from_parents([None, 0, 0, 2, 2], {2: 1, 0: 3, 1: 4})
    case = Case(tree, [1000.0, 0.0, 0.0, 1000.0, 1000.0])
    assert top_k(case, 2, None)[0] == [(0, 0.5), (1, 0.5)]
    assert above(case, [0.5], None)[0] == [(0, 0.5), (1, 0.5), (2, 0.5)]


def test_probabilities_that_underflow_are_ranked_too() -> None:
    depth = 12
    parents = [None, *range(depth - 1), depth - 1, depth - 1]
    tree = LabelTree.from_parents(parents, {0: depth, 1: depth + 1})
    case = Case(tree, [-1000.0] * len(parents))
    assert top_k(case, 3, None)[0] == [(0, 0.0), (1, 0.0)]
    assert above(case, [0.0], None)[0] == [(0, 0.0), (1, 0.0)]
    assert above(case, [1e-30], None)[0] == []


def test_an_empty_model_answers_nothing() -> None:
    engine = _core.OnlinePlt(options())
    labels, scores, costs = engine.top_k(*NO_FEATURES, 3, 0, None, 1)
    assert ranked(labels[0], scores[0]) == [] and not costs.any()


@pytest.mark.parametrize("n_trees", [1, 3])
def test_only_labels_that_are_too_unlikely_are_left_out(n_trees: int) -> None:
    rng = np.random.default_rng(n_trees)
    X = rng.normal(size=(200, 6)).astype(np.float32)
    Y = [[f"l{j}" for j in set(rng.integers(0, 40, 3).tolist())] for _ in X]
    clf = OnlinePLTClassifier(n_trees=n_trees, arity=2, max_leaves=4, second_stage=None).fit(X, Y)
    engine, rows = clf._learned.engine, clf._learned.check_rows(X[:60]).arrays
    labels, scores, costs = engine.top_k(*rows, 10, 0, None, 1)
    least = scores[np.arange(60), rng.integers(0, 10, 60)]
    least[:2] = 0, np.inf
    some, their_scores, lower_costs = engine.top_k(*rows, 10, 0, None, 1, least[:, np.newaxis])
    for row in range(60):
        enough = scores[row] >= least[row]
        assert np.array_equal(some[row][enough], labels[row][enough])
        assert np.array_equal(their_scores[row][enough], scores[row][enough])
    assert (lower_costs[:, 0] <= costs[:, 0]).all() and lower_costs[:, 0].sum() < costs[:, 0].sum()
    with pytest.raises(ValueError, match="least"):
        engine.top_k(*rows, 10, 0, None, 1, least[1:, np.newaxis])
    by_place = np.float32([[0.1, 0.2, 0.3]])
    some, _, its_costs = engine.top_k(*rows, 10, 0, None, 1, by_place)
    enough = scores >= by_place[0, np.minimum(np.arange(10), 2)]
    assert np.array_equal(some[enough], labels[enough]) and enough.any() and not enough.all()
    assert its_costs[:, 0].sum() < costs[:, 0].sum()
