"""The twin of the contextual memory tree keeps what the paper promises."""

from __future__ import annotations

import random

from .learners import BIAS, Instance, instance
from .memory_tree import MemoryTree
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
    return tree


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
