"""The plain twin follows the formulas: its steps descend its stated loss."""

from __future__ import annotations

import numpy as np
import pytest

from naive.embedding import Embedding, Learner, shares

TREE = {0: [1], 1: [2, 3], 2: [4, 5]}
LEAVES = {0: 4, 1: 5, 2: 3}
X = {0: 2.0, 1: -1.0, 7: 1.0}


def model(*, softmax: bool, adagrad: bool = False) -> Embedding:
    rng = np.random.default_rng(0)
    vectors = {feature: rng.normal(size=3) for feature in X}
    made = Embedding(TREE, LEAVES, vectors, softmax, Learner(adagrad, 1e-6, 1e-8))
    for v in made.nodes:
        made.nodes[v] = rng.normal(size=4)
    return made


def test_the_mean_is_weighted_by_the_values() -> None:
    assert shares(X) == {0: 0.5, 1: -0.25, 7: 0.25}
    assert shares({}) == shares({3: 0.0}) == {}


def test_competing_labels_share_what_there_is() -> None:
    made = model(softmax=True)
    assert sum(made.probability(X, label) for label in LEAVES) == pytest.approx(1.0)


@pytest.mark.parametrize("softmax", [False, True])
def test_a_step_goes_down_the_loss_as_steeply_as_it_can(softmax: bool) -> None:
    labels = [1] if softmax else [1, 2]

    def loss(made: Embedding) -> float:
        if softmax:
            return -float(np.log(made.probability(X, 1)))
        h, positive = made.mean(X), {1, 2, 3, 5}
        return -sum(
            float(np.log(chance if v in positive else 1 - chance))
            for parent in (0, 1, 2)
            for v, chance in made.conditional(parent, h).items()
        )

    made, start = model(softmax=softmax), model(softmax=softmax)
    made.learn([(X, labels)], [1.0])
    moved = [made.vectors[f] - start.vectors[f] for f in X]
    moved += [made.nodes[v] - start.nodes[v] for v in made.nodes]
    expected = -sum(float(m @ m) for m in moved) / 1e-6  # a step of rate r changes it by -r |g|²
    assert loss(made) - loss(start) == pytest.approx(expected, rel=1e-3)


def test_adaptive_steps_are_as_long_as_the_rate() -> None:
    made, start = model(softmax=False, adagrad=True), model(softmax=False)
    made.learn([(X, [0])], [0.5])
    for feature in X:
        moved = made.vectors[feature] - start.vectors[feature]
        assert np.sqrt(np.mean(moved**2)) == pytest.approx(0.5e-6, rel=1e-3)
