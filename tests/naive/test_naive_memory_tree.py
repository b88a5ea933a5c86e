"""The twin of the contextual memory tree keeps what the paper promises."""

from __future__ import annotations

import random

import pytest

from .learners import BIAS, Instance, instance
from .memory_tree import MemoryTree, Node
from .replay import mix

Row = tuple[Instance, tuple[int, ...], float]


def random_stream(seed: int, n: int) -> list[Row]:
    """Examples of six classes: each has a feature of its own, and all share two noisy ones."""
    rng = random.Random(seed)
    stream: list[Row] = []
    for _ in range(n):
        y = rng.randrange(6)
        x = {y: rng.uniform(0.5, 2), 6: rng.uniform(-1, 1), 7: rng.uniform(-1, 1)}
        also = (6,) if rng.random() < 0.2 else ()
        stream.append((instance(x), (y, *also), rng.choice([0.5, 1.0, 1.0, 2.0])))
    return stream


def grown(stream: list[Row], **parameters: float) -> MemoryTree:
    tree = MemoryTree(mix, **parameters)  # type: ignore[arg-type]
    for x, labels, weight in stream:
        tree.learn(x, labels, weight)
        assert counted(tree.root) == len(tree.memories)
    return tree


def counted(v: Node) -> int:
    """Count the memories at or below a node, and check their positions."""
    assert all(z.leaf is v for z in v.memories)
    below = len(v.memories) if v.is_leaf else sum(counted(child) for child in v.children())
    assert v.n == below and (v.is_leaf or not v.memories)
    return below


@pytest.mark.parametrize("most", [0, 25])
def test_every_memory_stands_at_one_leaf(most: int) -> None:
    tree = grown(random_stream(0, 120), c=1, max_memories=most)
    assert len(tree.memories) == (most or 120)


def test_the_tree_is_balanced_and_a_leaf_holds_what_it_may() -> None:
    tree = grown(random_stream(1, 300), c=2)
    left, right = tree.root.children()
    assert 0.5 < left.n / right.n < 2
    assert all(len(v.memories) <= tree.capacity() for v in tree.nodes)
    assert max(len(tree.path(x)) for x, *_ in random_stream(1, 300)) < 12


def test_a_memory_answers_itself() -> None:
    """Self-consistency: examples far from all others are found again."""
    stream = [({n: 1.0, BIAS: 1.0}, (n,), 1.0) for n in range(60)]
    tree = grown(stream, c=1, d=4)
    right = sum(max(tree.votes(x), key=lambda vote: vote[1])[0].labels == y for x, y, _ in stream)
    assert right > 50


def test_a_label_is_found_from_its_first_example_on() -> None:
    tree = grown(random_stream(2, 200))
    x = instance({20: 1.0, 21: 1.0})
    tree.learn(x, (99,))
    found = tree.probabilities(x, leaves=4)
    assert max(found, key=lambda y: found[y]) == 99


def test_probabilities_are_those_of_the_votes_and_the_prior() -> None:
    tree = grown([(x, (y[0],), 1.0) for x, y, _ in random_stream(3, 80)])
    tree.h = None
    for x, *_ in random_stream(4, 10):
        assert sum(tree.probabilities(x, leaves=3).values()) == pytest.approx(1.0)


def test_a_leaf_whose_examples_all_go_to_one_side_is_not_split() -> None:
    """Without balancing, no router separates them."""
    tree = grown([({0: 1.0, BIAS: 1.0}, (n % 2,), 1.0) for n in range(100)], c=1, alpha=1.0)
    assert len(tree.nodes) == 1 and len(tree.looked_at(tree.root)) == 4
