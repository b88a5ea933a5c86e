"""The binary learners that sit in the nodes, each a few lines of plain arithmetic.

Those of OPLT's nodes, ``Learner``, can be copied and negated. ``negated()`` is
INVERSECLASSIFIER of Algorithm 6: the learner that would be here if every past update had had the
opposite label. Everything is computed from y * margin, so the negated learner stays exact to the
last bit. ``AROW`` routes examples in LOMtree and the memory tree.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Protocol, Self

import numpy as np

Feature = int | str
Instance = Mapping[Any, float]  # from Feature
Weights = dict[Feature, float]

BIAS = "bias"

NOBODY = 2**32 - 1
"""The bias in the place of a feature."""

FARTHEST = 1e6
"""The largest change of an AROW weight by one example."""

SETTLED = 10_000
"""The number of steps after which AROW's weights fade fully."""


class Evidence(Enum):
    """The kinds of examples for AROW in the nodes of OPLT."""

    AGAIN = 0
    """An example learnt again."""
    BOUNDED = 1
    """An example learnt again, of which at most 1 counts as lost."""
    FADING = 2
    """The same; weights fade if there is nothing to learn."""
    BY_LOSS = 3
    """A new example in a mixed stream of single labels."""
    FULL = 4
    """A new example."""

    @property
    def new(self) -> bool:
        return self in (Evidence.BY_LOSS, Evidence.FULL)


def instance(features: Instance) -> dict[Feature, float]:
    """Scale to unit length, then add the bias, a constant feature of value 1.

    >>> instance({3: 3.0, 4: 4.0})
    {3: 0.6, 4: 0.8, 'bias': 1.0}
    """
    length = math.sqrt(sum(value * value for value in features.values()))
    scaled = {f: value / length for f, value in features.items()} if length > 0 else dict(features)
    return {**scaled, BIAS: 1.0}


def sigma(m: float) -> float:
    """Return 1 / (1 + exp(-m)) without overflow."""
    if m >= 0:
        return 1.0 / (1.0 + math.exp(-m))
    return math.exp(m) / (1.0 + math.exp(m))


def negative(weights: Weights) -> Weights:
    """Negate every weight; ``0.0 - w`` and not ``-w``, because learning never makes a -0.0."""
    return {f: 0.0 - w for f, w in weights.items()}


def dot(weights: Weights, x: Instance) -> float:
    return sum((weights.get(f, 0.0) * value for f, value in x.items()), 0.0)


class Learner(Protocol):
    """The learner of a node: A_online of Algorithm 1 with its state."""

    def update(
        self, x: Instance, y: int, weight: float = 1.0, evidence: Evidence = Evidence.FULL
    ) -> None:
        """Learn from ``x`` with label ``y``, +1 or -1, which counts ``weight`` times."""

    def margin(self, x: Instance) -> float:
        """Return w.x."""

    def probability(self, x: Instance) -> float:
        """Return the estimate of P(y = 1 | x)."""

    def copy(self) -> Self:
        """Return an independent learner of equal state."""

    def negated(self) -> Self:
        """Return an independent learner as if every past label had been opposite."""


@dataclass
class AdaGrad:
    """Logistic loss, steps by AdaGrad (OPLT, section 5): eta = 1, epsilon = 0.01."""

    eta: float = 1.0
    epsilon: float = 0.01
    w: Weights = field(default_factory=dict)
    G: Weights = field(default_factory=dict)  # sum of squared gradients

    def margin(self, x: Instance) -> float:
        return dot(self.w, x)

    def probability(self, x: Instance) -> float:
        return sigma(self.margin(x))

    def update(
        self, x: Instance, y: int, weight: float = 1.0, evidence: Evidence = Evidence.FULL
    ) -> None:
        pull = weight * -y * sigma(-y * self.margin(x))  # derivative of log(1 + exp(-y m)) by m
        for f, value in x.items():
            g = pull * value
            self.G[f] = self.G.get(f, 0.0) + g * g
            self.w[f] = self.w.get(f, 0.0) - self.eta * g / math.sqrt(self.epsilon + self.G[f])

    def copy(self) -> Self:
        return copy.deepcopy(self)

    def negated(self) -> Self:
        other = self.copy()
        other.w = negative(other.w)
        return other


@dataclass
class LazySGD:
    """Logistic loss, plain SGD with L2 in its lazy form (PLT, Appendix B).

    The eager step is w_{t+1} = (w_t - gamma_t g_t) / (1 + lambda gamma_t). The paper keeps
    w~_t = Pi_t w_t, so that features absent from x need no work. Its Pi_t must be read as the
    product of the factors that w_t has been divided by, i.e. up to t - 1 (the printed upper limit t
    is a slip: with it the step would divide by 1 + lambda gamma_{t+1}).
    """

    gamma: float = 1.0
    lam: float = 1e-4
    scaled: Weights = field(default_factory=dict)  # w~
    Pi: float = 1.0
    t: int = 0  # updates so far

    def weights(self) -> Weights:
        return {f: w / self.Pi for f, w in self.scaled.items()}

    def margin(self, x: Instance) -> float:
        return dot(self.scaled, x) / self.Pi

    def probability(self, x: Instance) -> float:
        return sigma(self.margin(x))

    def update(
        self, x: Instance, y: int, weight: float = 1.0, evidence: Evidence = Evidence.FULL
    ) -> None:
        pull = weight * -y * sigma(-y * self.margin(x))
        self.t += 1
        gamma_t = self.gamma / (1.0 + self.lam * self.gamma * self.t)
        for f, value in x.items():
            g = pull * value
            self.scaled[f] = self.scaled.get(f, 0.0) - self.Pi * gamma_t * g
        self.Pi *= 1.0 + self.lam * gamma_t

    def copy(self) -> Self:
        return copy.deepcopy(self)

    def negated(self) -> Self:
        other = self.copy()
        other.scaled = negative(other.scaled)
        return other


@dataclass
class AROW:
    """Adaptive regularisation of weights, diagonal, squared hinge, in its variance form.

    S is the variance of each weight, 1 where nothing was learnt; design.md's precision is 1/S.
    """

    r: float = 1.0
    w: Weights = field(default_factory=dict)
    S: Weights = field(default_factory=dict)

    def margin(self, x: Instance) -> float:
        return dot(self.w, x)

    def variance(self, x: Instance) -> float:
        return sum((value * value * self.S.get(f, 1.0) for f, value in x.items()), 0.0)

    def probability(self, x: Instance) -> float:
        return sigma(2.0 * self.margin(x))

    def update(self, x: Instance, y: int, weight: float = 1.0) -> None:
        loss, r = 1.0 - y * self.margin(x), self.r / weight
        if loss <= 0.0:
            return
        variance = self.variance(x)
        beta = loss / (variance + r)
        if beta * math.sqrt(variance) > FARTHEST:
            beta = FARTHEST / math.sqrt(variance)  # against chains of contradictions
        for f, value in x.items():
            S = self.S.get(f, 1.0)
            self.w[f] = self.w.get(f, 0.0) + beta * y * value * S
            self.S[f] = S / (1.0 + S * value * value / r)


def rounded(number: Any, noise: int) -> Any:
    """Cut a float32 to its upper half, after noise below 2^16 was added to the lower one.

    Zero has no sign.

    >>> [float(rounded(np.float32(1 + 2**-9), noise)) for noise in (0, 0xBFFF, 0xC000, 0xFFFF)]
    [1.0, 1.0, 1.0078125, 1.0078125]
    """
    half = (int(np.float32(number).view(np.uint32)) + noise) & 0xFFFFFFFF & ~0xFFFF
    return np.uint32(half if half & 0x7FFF0000 else 0).view(np.float32)


def rounded_variance(number: Any, noise: int) -> Any:
    """Cut the root of a float32 up to 1 to 256ths, after noise below 2^16 was added to it.

    None is 0. Of the noise the lowest bit does not count.

    >>> [float(rounded_variance(np.float32(0.999), noise)) for noise in (0, 0xFFFF)]
    [0.9922027587890625, 1.0]
    """
    part = np.float32(noise >> 1) * np.float32(2**-15)
    root = int(np.sqrt(np.float32(number)) * np.float32(256.0) + part)
    return np.float32(max(root, 1) ** 2 / 2**16)


@dataclass
class RoundedAROW:
    """AROW for the nodes of an online tree, equal to the engine to the last bit.

    Features that first occur together share a row. The new features of one example, x, form one
    direction, u = x / |x|, with a weight and a variance. A feature f holds its share u_f of it
    until a second example has the feature. The last feature to leave keeps the row. Row 0 is the
    bias's.

    Numbers have 32 bits while computing; stored weights have 16 and variances 8. They are rounded
    with noise that depends on the number of steps so far and on the feature, for a shared row its
    first feature in x.
    """

    r: float
    seed: int
    draw: Callable[[int, int, int], int]  # of seed, steps, feature
    w: list[Any] = field(default_factory=lambda: [np.float32(0.0)])  # by row
    S: list[Any] = field(default_factory=lambda: [np.float32(1.0)])
    places: dict[Feature, tuple[int, Any]] = field(default_factory=dict)  # row and share
    t: int = 0  # steps so far

    def margin(self, x: Instance) -> float:
        return float(self.sum(self.w, self.seen(x)))

    def probability(self, x: Instance) -> float:
        return sigma(3.0 * self.margin(x))

    def weight_and_variance(self, f: Feature) -> tuple[Any, Any]:
        """Return the feature's weight, and the variance of its row."""
        row, share = (0, np.float32(1.0)) if f == BIAS else self.places[f]
        return self.w[row] * share, self.S[row]

    def seen(self, x: Instance) -> dict[int, Any]:
        """Return x in terms of rows."""
        values: dict[int, Any] = {0: np.float32(1.0)}
        for f in known(x):
            if f in self.places:
                row, share = self.places[f]
                value = np.float32(x[f]) * share
                values[row] = values[row] + value if row in values else value
        return values

    @staticmethod
    def sum(numbers: list[Any], values: Mapping[int, Any]) -> Any:
        """Sum even and odd rows apart."""
        sums = [np.float32(0.0), np.float32(0.0)]
        for j, (row, value) in enumerate(values.items()):
            sums[j % 2] += value * numbers[row]
        return sums[0] + sums[1]

    def update(
        self, x: Instance, y: int, weight: float = 1.0, evidence: Evidence = Evidence.FULL
    ) -> None:
        if evidence.new:
            self._take_out(x)
        self._take_in({f: np.float32(x[f]) for f in known(x) if f not in self.places})
        self._step(x, np.float32(y), np.float32(weight), evidence)
        self.t += 1

    def _step(self, x: Instance, y: Any, weight: Any, evidence: Evidence) -> None:
        values = self.seen(x)
        first = {self.places[f][0]: f for f in reversed(known(x))} | {0: NOBODY}
        one, farthest = np.float32(1.0), np.float32(FARTHEST)
        loss = one - y * self.sum(self.w, values)
        if not loss > 0.0:
            if evidence is Evidence.FADING:
                self._fade(values, first, weight)
            return
        variance = self.sum(self.S, {row: value * value for row, value in values.items()})
        if evidence in (Evidence.BOUNDED, Evidence.FADING):
            loss = min(loss, one)
        r = np.float32(self.r)
        beta = loss / (variance + (r if evidence.new else np.float32(2.0) * r) / weight)
        if not beta * beta * variance <= farthest * farthest:
            beta = farthest / np.sqrt(variance + np.float32(1e-30))
        surer = weight / r if evidence.new else np.float32(0.0)
        if evidence is Evidence.BY_LOSS:
            surer *= np.float32(0.5) + min(loss, one)
        for row, value in values.items():
            noise = self.draw(self.seed, self.t, first[row])
            spread = self.S[row] * value
            self.w[row] = rounded(self.w[row] + y * beta * spread, noise & 0xFFFF)
            S = self.S[row] / (one + spread * value * surer)
            self.S[row] = rounded_variance(S, noise >> 16 & 0xFFFF)

    def _fade(self, values: Mapping[int, Any], first: Mapping[int, Feature], weight: Any) -> None:
        one, half, least = np.float32(1.0), np.float32(0.5), np.float32(2**-8)
        settled = np.float32(min(self.t, SETTLED)) / np.float32(SETTLED)
        share = settled * weight / np.float32(self.r)
        for row, value in values.items():
            spread = self.S[row] * value
            lost = share * spread * spread / max(one - self.S[row], least)
            noise = self.draw(self.seed, self.t, first[row])
            self.w[row] = rounded(self.w[row] - self.w[row] * min(lost, half), noise & 0xFFFF)

    def _take_out(self, x: Instance) -> None:
        """Return what another example has brought a row of its own."""
        one = np.float32(1.0)
        for f in known(x):
            shared, share = self.places.get(f, (0, one))
            sharing = [other for other, (row, _) in self.places.items() if row == shared]
            if f not in self.places or (len(sharing) == 1 and share == one):
                continue
            own = shared if len(sharing) == 1 else self._new_row()
            noise = self.draw(self.seed, self.t, f) >> 32
            S = one - share * share * (one - self.S[shared])
            self.w[own] = rounded(self.w[shared] * share, noise & 0xFFFF)
            self.S[own] = rounded_variance(S, noise >> 16)
            self.places[f] = own, one

    def _take_in(self, new: Mapping[Feature, Any]) -> None:
        length = math.sqrt(sum(float(value) * float(value) for value in new.values()))
        together = self._new_row() if len(new) > 1 and length > 0.0 else 0
        for f, value in new.items():
            alone = self._new_row() if not together else 0
            share = np.float32(float(value) / length if together else 1.0)
            self.places[f] = together or alone, share

    def _new_row(self) -> int:
        self.w.append(np.float32(0.0))
        self.S.append(np.float32(1.0))
        return len(self.w) - 1

    def copy(self) -> Self:
        return replace(self, w=list(self.w), S=list(self.S), places=dict(self.places))

    def negated(self) -> Self:
        return replace(self.copy(), w=[np.float32(0.0) - w for w in self.w])


def known(x: Instance) -> list[Any]:
    """Return the stored features, in the order of their rows' sums."""
    return sorted(f for f in x if f != BIAS)
