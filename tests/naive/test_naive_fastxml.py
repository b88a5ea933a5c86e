"""The plain FastXML agrees with the paper: its gain, its hyperplane, examples worked by hand."""

from __future__ import annotations

import math
import random

import pytest

from naive.fastxml import Settings, Tree, hyperplane, log_loss, nDCG, predict
from naive.ldsm import Example


def coin(_seed: int, _stream: int, counter: int, _sub: int = 0) -> int:
    return int(counter % 4 == 0)


def test_ndcg_is_one_where_the_labels_come_first() -> None:
    assert nDCG([3, 1, 2], [1, 3], {}) == pytest.approx(1.0)
    assert nDCG([2, 3, 1], [1], {}) == pytest.approx(1 / 2)
    assert nDCG([2, 1], [1], {1: 3.0}) == pytest.approx(3 / math.log2(3))


def test_no_other_hyperplane_costs_less() -> None:
    rng = random.Random(3)
    X = [{f: rng.uniform(-1, 1) for f in rng.sample(range(5), 3)} for _ in range(20)]
    delta = [1 if x.get(0, 0.0) + x.get(1, 0.0) > 0 else -1 for x in X]

    def cost(w: dict[int | str, float]) -> float:
        margins = [sum(w[f] * v for f, v in x.items()) for x in X]
        losses = [3.0 * log_loss(d * m) for d, m in zip(delta, margins, strict=True)]
        return sum(map(abs, w.values())) + sum(losses)

    w = hyperplane(X, delta, [3.0] * 20)
    assert 0 < sum(value != 0 for value in w.values()) < 5
    for _ in range(200):
        other = {f: value + rng.gauss(0, 0.05) for f, value in w.items()}
        assert cost(w) <= cost(other) + 1e-9


def test_labels_that_features_tell_apart_end_in_leaves_of_their_own() -> None:
    data = [Example({i % 2: 1.0}, (i % 2,)) for i in range(12)]
    tree = Tree(Settings(MaxLeaf=2, C_delta=10.0), data, coin)
    assert not tree.doubtful
    assert sorted(len(child.Id) for child in tree.root.children) == [6, 6]
    assert tree.root.ndcg == pytest.approx(1.0)
    assert predict([tree], {1: 1.0}) == {1: 1.0}


def test_examples_that_nothing_tells_apart_stay_together() -> None:
    data = [Example({0: 1.0}, (i % 2,)) for i in range(8)]
    tree = Tree(Settings(MaxLeaf=2), data, coin)
    assert not tree.root.children and predict([tree], {}) == {0: 0.5, 1: 0.5}
