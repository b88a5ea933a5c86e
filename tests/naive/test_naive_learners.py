"""Steps of the binary learners by hand."""

from __future__ import annotations

import math

import pytest

from naive.learners import AROW, AdaGrad, LazySGD, Weights, dot, instance, sigma


def test_instance_has_unit_length_and_then_the_bias() -> None:
    x = instance({7: 3.0, 9: -4.0})
    assert x == {7: 0.6, 9: -0.8, "bias": 1.0}
    assert instance({}) == {"bias": 1.0}
    assert instance({1: 0.0}) == {1: 0.0, "bias": 1.0}


def test_adagrad_by_hand() -> None:
    learner = AdaGrad()
    learner.update({0: 2.0}, +1)  # m = 0, so g = -1 * 0.5 * 2 = -1
    w = 1.0 / math.sqrt(0.01 + 1.0)
    assert learner.w == {0: w} and learner.G == {0: 1.0}
    learner.update({0: 1.0}, -1)  # m = w
    g = sigma(w)
    assert learner.G[0] == 1.0 + g * g
    assert learner.w[0] == pytest.approx(w - g / math.sqrt(1.01 + g * g))


def test_sgd_by_hand() -> None:
    learner = LazySGD(gamma=0.5, lam=0.2)
    learner.update({0: 2.0}, +1)  # t = 1: gamma_1 = 0.5 / 1.1, g = -1
    gamma_1 = 0.5 / 1.1
    assert learner.weights()[0] == pytest.approx(gamma_1 / (1 + 0.2 * gamma_1))


def test_arow_by_hand() -> None:
    learner = AROW(r=1.0)
    learner.update({0: 2.0}, -1)  # m = 0, v = 4, beta = 1/5
    assert learner.w[0] == pytest.approx(-0.4) and learner.S[0] == pytest.approx(0.2)
    assert learner.margin({0: 1.0}) == pytest.approx(-0.4)
    assert learner.variance({0: 1.0, 1: 2.0}) == pytest.approx(0.2 + 4.0)
    learned = learner.w.copy(), learner.S.copy()
    learner.update({0: 4.0}, -1)  # y m = 1.6 >= 1: nothing to learn
    assert (learner.w, learner.S) == learned


def test_weights_by_hand() -> None:
    adagrad = AdaGrad()
    adagrad.update({0: 2.0}, +1, weight=3.0)  # g = -3 * 0.5 * 2 = -3
    assert adagrad.G == {0: 9.0} and adagrad.w == {0: 3.0 / math.sqrt(9.01)}
    sgd = LazySGD(gamma=0.5, lam=0.0)
    sgd.update({0: 2.0}, +1, weight=3.0)
    assert sgd.weights() == {0: 1.5}
    arow = AROW(r=1.0)
    arow.update({0: 2.0}, -1, weight=4.0)  # m = 0, v = 4, beta = 1 / (4 + 1/4)
    assert arow.w[0] == pytest.approx(-2 / 4.25) and arow.S[0] == pytest.approx(1 / 17)


def test_arow_variance_is_the_inverse_of_the_precision_of_the_design() -> None:
    """design.md: beta = (1 - ym)/(v + r), w += beta y x/(1 + G), G += x^2/r."""
    examples = [({0: 0.6, 1: 0.8}, 1), ({1: 1.0}, -1), ({0: 1.0, 2: 0.1}, -1), ({2: 1.0}, 1)]
    learner = AROW(r=0.5)
    w: Weights = {0: 0.0, 1: 0.0, 2: 0.0}
    G: Weights = {0: 0.0, 1: 0.0, 2: 0.0}
    for x, y in examples:
        learner.update(x, y)
        m, v = dot(w, x), sum(a * a / (1 + G[f]) for f, a in x.items())
        if 1 - y * m > 0:
            beta = (1 - y * m) / (v + 0.5)
            for f, a in x.items():
                w[f] += beta * y * a / (1 + G[f])
                G[f] += a * a / 0.5
    assert learner.w == pytest.approx(w)
    precision = {f: 1 / S for f, S in learner.S.items()}
    assert precision == pytest.approx({f: 1 + g for f, g in G.items()})
