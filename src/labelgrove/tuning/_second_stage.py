"""A second stage for any ranking: it calibrates scores and re-ranks the best labels.

It learns, one example at a time, from examples that the first stage ranked before learning from
them. So it always knows whether its own ranking would have been better, and re-ranks only then.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from labelgrove._errors import ParameterError
from labelgrove._parameters import real

FloatArray = npt.NDArray[np.float64]

_WORDS = {"head": 0.0, "tail": 1.0}

CANDIDATES = 10
"""Number of the first stage's labels that are re-ranked, and whose places are distinguished."""

PLACES = (1, 3, 5)
"""The k of the P@k whose mean is to improve."""

_MEMORY = 4096.0
"""Number of examples after which the weight of an example falls to 1/e."""

_KEEP = 1 - 1 / _MEMORY

_LEAST_KEPT = 2.0**-10
"""Lower limit on the factor by which a single step discounts earlier examples."""

_SURE = 2.0
"""Number of standard errors by which the ranking must have improved."""

_PRIOR = 1.0
"""Prior precision of every weight."""

_INPUTS = 3

_FIRST, _STEP, _KNOTS = -8.0, 0.25, 65
_AT = np.asarray(_FIRST + _STEP * np.arange(_KNOTS), np.float64)
_TRUST = 2.0
"""Number of prior labels at every knot of a `Calibration`."""

_FALLS = np.asarray(0.25 * np.arange(17), np.float64)
"""Candidates for f, the effect of a place on the log-odds."""

_SMALLEST = 1e-6
"""Minimum distance of the share at a knot from 0 and 1."""

_TILT = 1e-3
"""Minimum rise of the log-odds from knot to knot, which preserves the ranking."""


class Calibration:
    """The share of labels with a given score and place that are right, learnt by counting.

    Of labels with the same score, those further down the ranking of their example are right less
    often. A label with p labels before it is treated as a top label whose log-odds are lower by
    f ln(1 + p); f is chosen to minimise the entropy of the outcomes given these log-odds. Labels
    are counted at the two nearest knots, and the shares of right ones are made monotone (pool
    adjacent violators) and interpolated linearly as log-odds. Beyond the outermost knots the
    log-odds are shifted. A new calibration is the identity.

    Parameters
    ----------
    places : int
        Number of places to distinguish, the last one standing for all later places too; 1 for
        none.
    """

    def __init__(self, places: int = 1) -> None:
        self.counts = np.zeros((places, _KNOTS))
        self.hits = np.zeros((places, _KNOTS))
        self.weight = 1.0  # of the newest example, in [1, 2): it grows instead of decaying counts
        self._fitted: tuple[float, FloatArray] | None = None

    def add(
        self, logits: FloatArray, right: npt.NDArray[np.bool_], keeps: npt.NDArray[np.float64]
    ) -> None:
        """Count labels (n, k) of n examples, best first; NaN means no label.

        Each example first multiplies the weight of all earlier counts by its ``keeps``.
        """
        # Labels are added one by one and scaled only by powers of 2, so the result does not depend
        # on how the examples are batched.
        grown = np.concatenate([[self.weight], 1 / np.clip(keeps, _LEAST_KEPT, _KEEP)])
        weights = np.cumprod(grown)
        row, place = np.nonzero(~np.isnan(logits))
        low, share = _between_knots(logits[row, place])
        cell = np.minimum(place, len(self.counts) - 1) * _KNOTS + low
        cells = np.stack([cell, cell + 1], axis=1)
        counted = weights[1 + row, np.newaxis] * np.stack([1 - share, share], axis=1)
        np.add.at(self.counts.reshape(-1), cells, counted)
        np.add.at(self.hits.reshape(-1), cells, counted * right[row, place, np.newaxis])
        scale = np.ldexp(1.0, 1 - int(np.frexp(weights[-1])[1]))
        self.counts *= scale
        self.hits *= scale
        self.weight = float(weights[-1] * scale)
        self._fitted = None

    def __call__(self, logits: FloatArray, places: npt.NDArray[np.int64] | int = 0) -> FloatArray:
        """Return the probabilities of labels with these log-odds at these places."""
        fall, curve = self.fitted()
        return _sigmoid(_along(logits - fall * _depth(places, len(self.counts)), _AT, curve))

    def inverse(self, probabilities: FloatArray) -> FloatArray:
        """Return the log-odds that give these probabilities at the first place."""
        return _along(_logit(probabilities), self.fitted()[1], _AT)

    def fitted(self) -> tuple[float, FloatArray]:
        """Return f, the effect of a place, and the log-odds at the knots."""
        if self._fitted is None:
            falls = _FALLS[: 1 if len(self.counts) == 1 else None]
            counts, hits = self._by_fall(falls)
            shares = hits / counts
            certain = shares * np.log(shares) + (1 - shares) * np.log1p(-shares)
            best = int((counts * certain).sum(axis=1).argmax())
            shares = np.clip(_rising(shares[best], counts[best]), _SMALLEST, 1 - _SMALLEST)
            self._fitted = float(falls[best]), _logit(shares) + _TILT * np.arange(_KNOTS)
        return self._fitted

    def _by_fall(self, falls: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return counts and hits at the knots, for every candidate for f."""
        depth = _depth(np.arange(len(self.counts)), len(self.counts))
        low, share = _between_knots(_AT - falls[:, np.newaxis, np.newaxis] * depth[:, np.newaxis])
        knot = low + _KNOTS * np.arange(len(falls))[:, np.newaxis, np.newaxis]
        knots = np.concatenate([knot.ravel(), knot.ravel() + 1])

        def sums(table: FloatArray) -> FloatArray:
            weights = np.concatenate([((1 - share) * table).ravel(), (share * table).ravel()])
            summed = np.bincount(knots, weights / self.weight, _KNOTS * len(falls))
            return summed.reshape(len(falls), _KNOTS).astype(np.float64)

        return sums(self.counts) + _TRUST, sums(self.hits) + _TRUST * _sigmoid(_AT)


class SecondStage:
    """Calibration and re-ranking of the best labels of a first stage.

    A label's probability comes from a logistic regression on its log-odds in the first stage and
    on the cosine between the example and the label's centroid. The regression starts as the
    identity, learns by Newton steps, and its output is calibrated. Labels are ranked by their
    expected contribution to the target measure: their probability times (1 - t) + t q, where q is
    the label's inverse propensity (Jain et al. 2016). This is optimal for P@k with t = 0 and for
    PSP@k with t = 1.

    Parameters
    ----------
    tail : float or None
        t; None to calibrate and keep the first stage's ranking.
    """

    def __init__(self, tail: float | None) -> None:
        self.tail = tail
        self.weights = np.array([1.0, 0.0, 0.0])
        self.precision = _PRIOR * np.eye(_INPUTS)
        self.first, self.second = Calibration(CANDIDATES), Calibration()
        self.examples = 0
        self.gain = np.zeros(2)  # gain of the ranking: sum and sum of squares

    @classmethod
    def of(cls, second_stage: Any) -> Self | None:
        """Create the stage for an estimator's ``second_stage`` parameter."""
        match second_stage:
            case None:
                return None
            case "calibrate":
                return cls(None)
            case "head" | "tail":
                return cls(_WORDS[second_stage])
            case str():
                raise ParameterError(
                    f"second_stage={second_stage!r}: expected 'calibrate', 'head', 'tail', a "
                    "number from 0 to 1, or None"
                )
        return cls(real("second_stage", second_stage, 0.0, 1.0))

    @property
    def reranks(self) -> bool:
        """Whether re-ranking has improved the measure by more than two standard errors."""
        return self.tail is not None and bool(self.gain[0] > _SURE * np.sqrt(self.gain[1]))

    def report(self) -> dict[str, Any]:
        """Return the number of examples seen and the mean gain of the ranking."""
        n = -_MEMORY * np.expm1(self.examples * np.log1p(-1 / _MEMORY))  # sum of their weights
        gain, error = self.gain[0] / max(n, 1.0), np.sqrt(self.gain[1]) / max(n, 1.0)
        return {
            "examples": self.examples,
            "gain": float(gain),
            "error": float(error),
            "reranks": self.reranks,
        }

    def merit(self, inverse_propensity: FloatArray) -> FloatArray:
        """Return the gain from each label if it is right."""
        tail = self.tail or 0.0
        return (1 - tail) + tail * inverse_propensity

    def observe(
        self,
        probabilities: npt.NDArray[np.floating[Any]],
        cosines: npt.NDArray[np.floating[Any]],
        inverse_propensity: FloatArray,
        right: npt.NDArray[np.bool_],
        keeps: npt.NDArray[np.float64],
    ) -> None:
        """Learn from the first stage's best labels for some examples, best first.

        Parameters
        ----------
        probabilities, cosines, inverse_propensity, right : arrays (n, k)
            Probabilities are NaN where there is no label.
        keeps : array (n,)
            Factors that discount earlier observations, which describe an earlier first stage: on a
            stream, the squared ratio of the numbers of examples it had learnt from, then and now.
        """
        self.examples += len(keeps)
        given = probabilities.astype(np.float64)
        self.first.add(_logit(given), right, keeps)
        if self.tail is None:
            return
        inputs = self._inputs(given, cosines.astype(np.float64))
        merit = self.merit(inverse_propensity)
        logits = np.full(given.shape, np.nan)
        for i, place in enumerate(~np.isnan(given)):
            if place.any():
                logits[i, place] = self._learn(
                    inputs[:, i, place], merit[i, place], right[i, place]
                )
        self.second.add(logits, right, keeps)

    def _learn(
        self, inputs: FloatArray, merit: FloatArray, right: npt.NDArray[np.bool_]
    ) -> FloatArray:
        """Judge the ranking of one example, then learn from it; return its log-odds from before."""
        logits = self._logits(inputs)
        found = _sigmoid(logits)
        order = np.argsort(-found * merit, kind="stable")
        worth = right * merit
        places = _worth_of_places(len(right))
        gain = float(((worth[order] - worth) * places).sum())
        self.gain = _KEEP * self.gain + [gain, gain * gain]
        self.precision = _KEEP * self.precision + (1 - _KEEP) * _PRIOR * np.eye(_INPUTS)
        steep = found * (1 - found)
        half = np.sqrt(steep) * inputs
        self.precision += half @ half.T
        self.weights = self.weights + np.linalg.solve(self.precision, inputs @ (right - found))
        return logits

    def calibrated(
        self, probabilities: npt.NDArray[np.float32], places: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float32]:
        """Return calibrated probabilities for the first stage's, of labels at these places."""
        return self.first(_logit(probabilities.astype(np.float64)), places).astype(np.float32)

    def uncalibrated(self, thresholds: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Return first-stage thresholds that are reached by every label that reaches these."""
        inside = (thresholds > 0) & (thresholds <= 1)
        least = thresholds.copy()
        logits = self.first.inverse(thresholds[inside].astype(np.float64)) - _TILT
        least[inside] = np.nextafter(_sigmoid(logits).astype(np.float32), np.float32(0))
        return least

    def rescored(
        self, probabilities: npt.NDArray[np.float32], cosines: npt.NDArray[np.float32]
    ) -> FloatArray:
        """Return new probabilities of the best labels; arrays (n, k), NaN where there is none."""
        inputs = self._inputs(probabilities.astype(np.float64), cosines.astype(np.float64))
        return self.second(self._logits(inputs))

    def _inputs(self, probabilities: FloatArray, cosines: FloatArray) -> FloatArray:
        logits = np.clip(_logit(probabilities), _AT[0], _AT[-1])
        return np.stack([logits, np.ones_like(logits), cosines])

    def _logits(self, inputs: FloatArray) -> FloatArray:
        # Not a matrix product: a label's score must not depend on its neighbours.
        a, b, c = self.weights.tolist()
        return np.asarray(a * inputs[0] + b * inputs[1] + c * inputs[2])

    def to_array(self) -> FloatArray:
        """Return the complete state as an array."""
        return np.concatenate(
            [
                [np.nan if self.tail is None else self.tail, self.examples],
                self.gain,
                self.weights,
                self.precision.ravel(),
                *(
                    np.ravel(part)
                    for one in (self.first, self.second)
                    for part in (one.weight, one.counts, one.hits)
                ),
            ]
        )

    @classmethod
    def from_array(cls, kept: npt.NDArray[Any]) -> Self:
        """Restore a stage from the output of :meth:`to_array`.

        Raises
        ------
        ValueError
            If the array violates an invariant.
        """
        stage = cls(None)
        calibrations = stage.first, stage.second
        sizes = [1, 1, 2, _INPUTS, _INPUTS**2]
        sizes += [size for one in calibrations for size in (1, one.counts.size, one.hits.size)]
        if kept.dtype != np.float64 or kept.shape != (sum(sizes),):
            raise ValueError("a second stage has too many or too few numbers, or the wrong type")
        parts = np.split(np.array(kept), np.cumsum(sizes)[:-1])
        if not all(np.isfinite(part).all() for part in parts[1:]):
            raise ValueError("a second stage holds a number that is not finite")
        tail, examples = float(parts[0][0]), float(parts[1][0])
        if not (np.isnan(tail) or 0 <= tail <= 1) or examples != int(examples) or examples < 0:
            raise ValueError("a second stage has an invalid tail or number of examples")
        precision = parts[4].reshape(_INPUTS, _INPUTS)
        stage.tail = None if np.isnan(tail) else tail
        stage.examples, stage.precision = int(examples), precision
        stage.gain, stage.weights = parts[2], parts[3]
        for one, (weight, counts, hits) in zip(
            calibrations, (parts[5:8], parts[8:11]), strict=True
        ):
            if not 1 <= weight[0] < 2 or not ((hits >= 0) & (hits <= counts * (1 + 1e-9))).all():
                raise ValueError("a second stage has an invalid weight, or more hits than labels")
            one.weight = float(weight[0])
            one.counts, one.hits = counts.reshape(-1, _KNOTS), hits.reshape(-1, _KNOTS)
        definite = (np.linalg.eigvalsh(precision) > 0).all() and (precision == precision.T).all()
        if stage.gain[1] < 0 or not definite:
            raise ValueError("a second stage has an invalid gain or precision matrix")
        return stage


def _worth_of_places(k: int) -> FloatArray:
    """Return the weight of a hit at each place, in the mean of the P@k."""
    places = np.zeros(k)
    for most in PLACES:
        places[:most] += 1 / (most * len(PLACES))
    return places


def _rising(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted isotonic regression (pool adjacent violators)."""
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        pool = (value, weight, 1)
        while pools and pools[-1][0] >= pool[0]:
            before = pools.pop()
            total = before[1] + pool[1]
            mean = (before[0] * before[1] + pool[0] * pool[1]) / total
            pool = (mean, total, before[2] + pool[2])
        pools.append(pool)
    means = np.array([pool[0] for pool in pools])
    return np.repeat(means, [pool[2] for pool in pools])


def _between_knots(x: FloatArray) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Return the knot below, and the relative position between it and the next knot."""
    at = np.clip((x - _FIRST) / _STEP, 0, _KNOTS - 1)
    low = np.minimum(at.astype(np.int64), _KNOTS - 2)
    return low, at - low


def _depth(places: npt.NDArray[np.int64] | int, n_places: int) -> FloatArray:
    """Return ln(1 + place), the scale on which places count."""
    return np.log1p(np.minimum(places, n_places - 1))


def _along(x: FloatArray, knots: FloatArray, values: FloatArray) -> FloatArray:
    """Interpolate linearly, and extrapolate with slope 1 beyond the knots."""
    inside: FloatArray = np.clip(x, knots[0], knots[-1])
    return np.asarray(np.interp(inside, knots, values) + (x - inside))


def _sigmoid(logits: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(-logits)))


def _logit(p: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p) - np.log1p(-p))
