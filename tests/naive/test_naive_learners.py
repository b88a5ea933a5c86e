"""The binary learners: steps by hand, the lazy form against the eager one, exact negation."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive.learners import (
    AROW,
    FARTHEST,
    SETTLED,
    AdaGrad,
    Evidence,
    Instance,
    LazySGD,
    Learner,
    Weights,
    bits,
    dot,
    instance,
    sigma,
)
from naive.streams import instances

NEW: list[Callable[[], Learner]] = [AdaGrad, LazySGD, lambda: LazySGD(0.5, 0.3), AROW]
labelled = st.lists(st.tuples(instances(), st.sampled_from([-1, 1])), max_size=15)


def learnt(new: Callable[[], Learner], examples: list[tuple[Instance, int]]) -> Learner:
    learner = new()
    for x, y in examples:
        learner.update(x, y)
    return learner


def test_instance_has_unit_length_and_then_the_bias() -> None:
    x = instance({7: 3.0, 9: -4.0})
    assert x == {7: 0.6, 9: -0.8, "bias": 1.0}
    assert instance({}) == {"bias": 1.0}
    assert instance({1: 0.0}) == {1: 0.0, "bias": 1.0}


def test_sigma_is_finite_far_out() -> None:
    assert sigma(0.0) == 0.5
    assert sigma(1e6) == 1.0 and sigma(-1e6) == 0.0
    assert sigma(1.0) == pytest.approx(1 / (1 + math.exp(-1)))


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


def test_fading_by_hand() -> None:
    learner = AROW(r=1.0, w={0: -0.4, 1: 1.0}, S={0: 0.2}, t=SETTLED // 2)
    learner.update({0: 4.0, 1: 0.5}, -1, evidence=Evidence.FADING)  # y m = 1.1
    # Half of S^2 x^2 / (1 - S) is 0.4 and 32, and no more than half is lost.
    assert learner.w == {0: pytest.approx(-0.4 * 0.6), 1: 0.5}
    assert learner.S == {0: 0.2}
    learner.w[0] = -0.6
    learner.update({0: 2.0, 1: 0.0}, -1, evidence=Evidence.FADING)  # y m = 1.2, and 0.1 is lost
    assert learner.w[0] == pytest.approx(-0.6 * (1 - 0.1), rel=1e-3)
    learner.w[0], learner.t = -0.6, 3 * SETTLED
    learner.update({0: 2.0}, -1, evidence=Evidence.FADING)  # all of 0.2, and no more
    assert learner.w[0] == pytest.approx(-0.6 * (1 - 0.2))
    learner.w[0] = -0.48
    learner.update({0: 2.0}, -1, evidence=Evidence.FADING)  # y m < 1: a step like any other
    assert learner.margin({0: 2.0}) < -0.96 and learner.S == {0: 0.2}


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


def test_no_chain_of_contradictions_drives_arow_out_of_range() -> None:
    """Each row contradicts what a certain weight says, and so must move one that is not certain."""
    learner, x = AROW(r=1.0), {0: 1e9}
    for f in range(1, 100):
        learner.update(x, -1 if learner.margin(x) > 0 else +1)
        x = {f - 1: 1e9, f: 1e9 * math.sqrt(learner.S[f - 1])}
    assert FARTHEST / 2 < max(abs(w) for w in learner.w.values()) < 2 * FARTHEST


def test_arow_takes_its_link_from_outside() -> None:
    learner = AROW(link=lambda margin, variance: 10 * margin + variance)
    learner.update({0: 1.0}, +1)
    assert learner.probability({0: 1.0}) == pytest.approx(10 * 0.5 + 0.5)
    assert AROW().probability({0: 1.0}) == 0.5


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


@settings(max_examples=60, deadline=None)
@given(labelled, st.floats(0.01, 2), st.floats(0, 0.9))
def test_lazy_sgd_is_the_eager_one(
    examples: list[tuple[Instance, int]], gamma: float, lam: float
) -> None:
    learner = LazySGD(gamma, lam)
    w: Weights = {}
    for t, (x, y) in enumerate(examples, start=1):
        m = dot(w, x)
        assert learner.margin(x) == pytest.approx(m, rel=1e-9, abs=1e-12)
        learner.update(x, y)
        gamma_t = gamma / (1 + lam * gamma * t)
        for f, value in x.items():
            w[f] = w.get(f, 0.0) + gamma_t * y * sigma(-y * m) * value
        w = {f: weight / (1 + lam * gamma_t) for f, weight in w.items()}
    assert learner.weights() == pytest.approx(w, rel=1e-9, abs=1e-12)


@given(st.integers(0, 50), st.floats(0.01, 2), st.floats(0, 0.9))
def test_the_scale_of_lazy_sgd_has_a_closed_form(t: int, gamma: float, lam: float) -> None:
    """The product telescopes, and Pi_{t-1} gamma_t, the step on w~, is the same for every t."""
    learner = learnt(lambda: LazySGD(gamma, lam), [({}, 1)] * t)
    assert isinstance(learner, LazySGD)
    assert learner.Pi == pytest.approx((1 + lam * gamma * (t + 1)) / (1 + lam * gamma))
    step = learner.Pi * gamma / (1 + lam * gamma * (t + 1))
    assert step == pytest.approx(gamma / (1 + lam * gamma))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(NEW), labelled, labelled, instances())
def test_negated_is_the_learner_of_the_opposite_labels(
    new: Callable[[], Learner],
    before: list[tuple[Instance, int]],
    after: list[tuple[Instance, int]],
    x: Instance,
) -> None:
    learner = learnt(new, before)
    kept = bits(learner)
    opposite = learner.negated()
    for other, y in after:
        opposite.update(other, -y)
    expected = learnt(new, [(other, -y) for other, y in before + after])
    assert bits(opposite) == bits(expected)
    assert bits(learner) == kept
    assert opposite.margin(x) == -learnt(new, before + after).margin(x)


@pytest.mark.parametrize("new", NEW)
def test_a_copy_lives_its_own_life(new: Callable[[], Learner]) -> None:
    x = instance({0: 1.0, 1: 2.0})
    learner = learnt(new, [(x, 1)])
    other, kept = learner.copy(), bits(learner)
    assert bits(other) == kept
    other.update(x, -1)
    assert bits(learner) == kept != bits(other)


@pytest.mark.parametrize("new", NEW)
def test_learning_moves_the_probability_to_the_label(new: Callable[[], Learner]) -> None:
    x = instance({0: 1.0, 1: 2.0})
    assert new().probability(x) == 0.5 and new().margin(x) == 0.0
    assert learnt(new, [(x, 1)] * 5).probability(x) > 0.6
    assert learnt(new, [(x, -1)] * 5).probability(x) < 0.4


def test_bits_tell_the_zeros_apart() -> None:
    assert AdaGrad(w={0: 0.0}) == AdaGrad(w={0: -0.0})
    assert bits(AdaGrad(w={0: 0.0})) != bits(AdaGrad(w={0: -0.0}))
    assert bits(AROW(w={0: 0.0}).negated()) == bits(AROW(w={0: 0.0}))
