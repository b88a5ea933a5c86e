"""Linear regressors in squared loss, side by side at a node of LdSM, in plain arithmetic.

Each ``learn`` is one step towards the targets in half the squared loss. A weight
starts at ``start(feature, column)`` when its feature is first seen; unseen features have weight 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from .learners import Feature, Instance

Start = Callable[[Feature, int], float]


class Regressors:
    """M regressors, and what they have in common."""

    def __init__(self, columns: int, rate: float, start: Start) -> None:
        self.columns = columns
        self.rate = rate
        self.start = start
        self.w: dict[Feature, list[float]] = {}

    def margins(self, x: Instance) -> list[float]:
        """Return w_m . x of every column; unknown features are left out."""
        known = {f: value for f, value in x.items() if f in self.w}
        return [
            sum(self.w[f][m] * value for f, value in known.items()) for m in range(self.columns)
        ]

    def learn(self, x: Instance, targets: Sequence[float], weight: float) -> None:
        """Take one step of every column, ``weight`` times as far as usual."""
        for f in x:
            if f not in self.w:
                self.w[f] = [self.start(f, m) for m in range(self.columns)]
                self._new(f)
        errors = [m - t for m, t in zip(self.margins(x), targets, strict=True)]
        self._step(x, errors, weight)

    def _new(self, f: Feature) -> None:
        """Start the state of a feature."""

    def _step(self, x: Instance, errors: list[float], weight: float) -> None:
        raise NotImplementedError


class Sgd(Regressors):
    """Plain gradient, with steps that never overshoot (Karampatziakis & Langford 2011)."""

    def _step(self, x: Instance, errors: list[float], weight: float) -> None:
        square = sum(value * value for value in x.values())
        step = (1.0 - math.exp(-self.rate * weight * square)) / square
        for f, value in x.items():
            for m, error in enumerate(errors):
                self.w[f][m] -= step * error * value


class AdaGrad(Regressors):
    """Duchi et al. (2011)."""

    epsilon = 1e-8

    def __init__(self, columns: int, rate: float, start: Start) -> None:
        super().__init__(columns, rate, start)
        self.G: dict[Feature, list[float]] = {}

    def _new(self, f: Feature) -> None:
        self.G[f] = [0.0] * self.columns

    def _step(self, x: Instance, errors: list[float], weight: float) -> None:
        for f, value in x.items():
            for m, error in enumerate(errors):
                g = weight * error * value
                self.G[f][m] += g * g
                self.w[f][m] -= self.rate * g / math.sqrt(self.epsilon + self.G[f][m])


class Nag(AdaGrad):
    """Ross, Mineiro & Langford (2013), Algorithm 2: NAG, normalised adaptive gradient.

    Initial weights are divided by the first value of their feature.
    """

    def __init__(self, columns: int, rate: float, start: Start) -> None:
        super().__init__(columns, rate, start)
        self.s: dict[Feature, float] = {}
        self.N = 0.0
        self.t = 0

    def learn(self, x: Instance, targets: Sequence[float], weight: float) -> None:
        self.t += 1
        for f, value in x.items():  # line 1 of the loop
            if f not in self.s and value != 0.0:
                self.s[f] = abs(value)
                self.w[f] = [self.start(f, m) / abs(value) for m in range(self.columns)]
                self._new(f)
            elif f in self.s and abs(value) > self.s[f]:
                shrink = self.s[f] / abs(value)
                self.w[f] = [w * shrink for w in self.w[f]]
                self.s[f] = abs(value)
        x = {f: value for f, value in x.items() if f in self.s}
        errors = [m - t for m, t in zip(self.margins(x), targets, strict=True)]
        self.N += sum((value / self.s[f]) ** 2 for f, value in x.items())  # line 3
        for f, value in x.items():  # line 4
            for m, error in enumerate(errors):
                g = weight * error * value
                self.G[f][m] += g * g
                if g != 0.0:
                    step = self.rate * math.sqrt(self.t / self.N) / self.s[f]
                    self.w[f][m] -= step * g / math.sqrt(self.G[f][m])


REGRESSORS: dict[str, type[Regressors]] = {"sgd": Sgd, "adagrad": AdaGrad, "nag": Nag}
