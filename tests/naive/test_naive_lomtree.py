"""The twin of LOMtree does what the paper says, on streams small enough to follow by hand."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .learners import AROW, Instance, instance
from .lomtree import Gradient, LOMTree, Node

Stream = Sequence[tuple[Instance, int]]


def random_stream(seed: int, n: int, classes: int = 12, features: int = 6) -> Stream:
    """Classes with a centre each, some rarer than others, and noise."""
    rng = random.Random(seed)
    centres = [[rng.gauss(0, 1) for _ in range(features)] for _ in range(classes)]
    stream = []
    for _ in range(n):
        y = int(classes * rng.random() ** 1.5)
        stream.append((instance({i: c + rng.gauss(0, 0.5) for i, c in enumerate(centres[y])}), y))
    return stream


def learnt(stream: Stream, T: int, resistance: int = 4) -> LOMTree:
    tree = LOMTree(Gradient, lambda k: T, resistance)
    for x, y in stream:
        tree.learn(x, y)
    return tree


def test_the_toy_example_of_figure_4() -> None:
    """The first example goes right, those of other classes left, until the scores move."""
    axes = [instance({i: 1.0}) for i in range(4)]
    tree = learnt([(axes[0], 1)], T=1)
    assert tree.root.is_leaf
    tree.learn(axes[1], 2)
    assert not tree.root.is_leaf
    assert tree.root.E == tree.root.e(2) > 0  # a new class: E = e = 0, so it goes right
    assert (tree.root.e(1), tree.root.n) == (0.0, {1: 0, 2: 1})
    tree.learn(axes[0], 1)
    assert tree.root.e(1) < 0 < tree.root.e(2)  # 0 = e(1) < E: to the left


def test_two_classes_are_parted_for_good() -> None:
    a, b = instance({0: 1.0}), instance({1: 1.0})
    tree = learnt([(a, 0), (b, 1)] * 20, T=3)
    assert (tree.predict(a), tree.predict(b)) == (0, 1)
    assert tree.objective(tree.root) > 0.95
    assert len(tree.nodes) == 3, "pure leaves are not split"
    assert tree.entropy() < 0.2


def drifting_stream(seed: int, parts: int = 6, n: int = 200) -> Stream:
    """Frequencies change, so nodes become idle and are recycled."""
    return [(x, y + 4 * part) for part in range(parts) for x, y in random_stream(seed + part, n)]


def test_the_swap_of_figure_2() -> None:
    """s and its parent become children of j; the sibling of s takes their place."""
    tree = LOMTree(Gradient, lambda k: 3)
    r, pa, j, s, sib, *_ = (Node(i, Gradient()) for i in range(5))
    for above, below in ((r, (pa, j)), (pa, (s, sib))):
        above.left, above.right = below
        for child in below:
            child.parent = above
    r.C = pa.C = s.C = 2
    sib.C, j.C, j.l = 5, 20, {0: 4, 1: 4}
    tree.root, tree.nodes, tree.t = r, [r, pa, j, s, sib], 3
    j.l[0], j.C = 9, 20  # 20 - 9 = 11 > 4 (2 + 1) does not hold
    tree._split_or_swap(j)
    assert j.is_leaf
    j.l = {0: 7, 1: 7}  # 20 - 7 = 13 > 12
    tree._split_or_swap(j)
    assert r.children() == (sib, j) and sib.parent is r
    assert j.children() == (s, pa)
    assert (s.C, pa.C, j.C, r.C) == (10, 10, 10, 5)
    assert (s.swaps, pa.swaps, s.l, pa.is_leaf) == (1, 1, {}, True)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=40))
def test_the_objective_is_1_if_and_only_if_pure_and_balanced(
    passed: list[tuple[int, bool]],
) -> None:
    """Lemma 2, and Lemma 1's bound of the purity."""
    v = Node(0, AROW())
    for y, right in passed:
        v.n[y] = v.n.get(y, 0) + 1
        v.went_right[y] = v.went_right.get(y, 0) + right
    J, alpha, beta = LOMTree.objective(v), LOMTree.purity(v), LOMTree.balance(v)
    assert 0 <= J <= 1 + 1e-12
    assert (abs(J - 1) < 1e-12) == (alpha == 0 and beta == 0.5)
    beta = min(beta, 1 - beta)
    if beta:
        assert alpha <= min((2 - J) / (4 * beta) - beta, 0.5) + 1e-12


def test_smoothed_frequencies() -> None:
    """They sum to 1; the classes of the leaf come first, in the order of their frequencies."""
    tree = LOMTree(Gradient, lambda k: 1)
    stream = random_stream(5, 40, classes=5)
    for x, y in stream:
        tree.learn(x, y)
    for x, _ in stream[:10]:
        leaf = tree.path(x)[-1]
        for leaves in (1, 2):
            found = tree.probabilities(x, leaves)
            assert set(found) == set(tree.root.l)
            assert sum(found.values()) == pytest.approx(1)
        found = tree.probabilities(x)
        counts = [leaf.l.get(y, 0) for y in sorted(found, key=lambda y: -found[y])]
        assert counts == sorted(counts, reverse=True)
        assert leaf.l[tree.predict(x)] == max(leaf.l.values())


def test_a_pure_split_has_a_steep_slope_and_a_hopeless_one_a_flat_one() -> None:
    a, b = instance({0: 1.0}), instance({1: 1.0})
    assert learnt([(a, 0), (b, 1)] * 40, T=1).root.slope > 3
    rng = random.Random(0)
    blind = learnt([(a, rng.randrange(2)) for _ in range(80)], T=1)
    assert blind.root.slope < 3


def test_entropy_falls_as_the_tree_grows() -> None:
    stream = random_stream(1, 800)
    few, many = learnt(stream, T=1), learnt(stream, T=40)
    assert learnt(stream[:1], T=1).entropy() == 0
    assert many.entropy() < few.entropy() < math.log(12)
    assert many.depth() <= 40
