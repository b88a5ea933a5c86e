"""A second stage for any ranking: it calibrates scores and re-ranks the best labels.

It learns, one example at a time, from examples that the first stage ranked before learning from
them. So it always knows whether its own ranking would have been better, and re-ranks only then.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from labelgrove import _core
from labelgrove._errors import ParameterError, brief
from labelgrove._parameters import real
from labelgrove.tuning._pairs import FloatArray

_TAILS = {"calibrate": None, "head": 0.0, "tail": 1.0}

CANDIDATES = 10
"""Number of the first stage's labels that are re-ranked."""

PLACES = 32
"""Number of its labels that calibration learns from, and whose places are distinguished."""

_MEMORY = 4096.0
"""Number of examples after which the weight of an example falls to 1/e, as in the core."""

_SURE = 2.0
"""Number of standard errors by which the ranking must have improved."""


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
        self.reranking = _core.Reranking()
        self.first = _core.ScoreCalibration(PLACES)
        self.second = _core.ScoreCalibration(1)
        self.examples = 0

    @classmethod
    def of(cls, second_stage: Any) -> Self | None:
        """Create the stage for an estimator's ``second_stage`` parameter."""
        if second_stage is None:
            return None
        if not isinstance(second_stage, str):
            return cls(real("second_stage", second_stage, 0.0, 1.0))
        if second_stage not in _TAILS:
            raise ParameterError(
                f"second_stage={brief(second_stage)}: expected 'calibrate', 'head', 'tail', a "
                "number from 0 to 1, or None"
            )
        return cls(_TAILS[second_stage])

    @property
    def reranks(self) -> bool:
        """Whether re-ranking has improved the measure by more than two standard errors."""
        if self.tail is None:
            return False
        gain, squares = self.reranking.gain
        return bool(gain > _SURE * np.sqrt(squares))

    def report(self) -> dict[str, Any]:
        """Return the number of examples seen and the mean gain of the ranking."""
        n = -_MEMORY * np.expm1(self.examples * np.log1p(-1 / _MEMORY))  # sum of their weights
        gain, squares = self.reranking.gain
        return {
            "tail": self.tail,
            "examples": self.examples,
            "gain": float(gain / max(n, 1.0)),
            "error": float(np.sqrt(squares) / max(n, 1.0)),
            "reranks": self.reranks,
        }

    def merit(self, inverse_propensity: FloatArray) -> FloatArray:
        """Return the gain from each label if it is right."""
        tail = self.tail or 0.0
        return (1 - tail) + tail * inverse_propensity

    def observe(
        self,
        probabilities: npt.NDArray[np.float32],
        cosines: npt.NDArray[np.floating[Any]],
        inverse_propensity: FloatArray,
        right: npt.NDArray[np.bool_],
        keeps: npt.NDArray[np.float64],
    ) -> None:
        """Learn from the first stage's best labels for some examples, best first.

        Parameters
        ----------
        probabilities, right : arrays (n, k)
            Probabilities are NaN where there is no label.
        cosines, inverse_propensity : arrays (n, CANDIDATES)
            Of those that are re-ranked; not used by a stage that only calibrates.
        keeps : array (n,)
            Factors that discount earlier observations, which describe an earlier first stage: on a
            stream, the squared ratio of the numbers of examples it had learnt from, then and now.
        """
        self.examples += len(keeps)
        odds = _core.log_odds(probabilities.ravel()).reshape(probabilities.shape)
        self.first.add(odds, right.ravel(), keeps)
        if self.tail is None:
            return
        probabilities, right = probabilities[:, :CANDIDATES], right[:, :CANDIDATES]
        given = probabilities, cosines.astype(np.float64), self.merit(inverse_propensity), right
        logits = self.reranking.learn(*map(np.ascontiguousarray, given))
        self.second.add(logits, right.ravel(), keeps)

    def calibrated(
        self,
        probabilities: npt.NDArray[np.float32],
        row_of: npt.NDArray[np.int64],
        best: npt.NDArray[np.float32],
    ) -> npt.NDArray[np.float32]:
        """Return calibrated probabilities for the first stage's.

        Parameters
        ----------
        probabilities : array (n,)
        row_of : array (n,)
            The row of ``best`` that belongs to each label's example.
        best : array (m, k)
            The first stage's highest probabilities for each example.
        """
        return self.first.calibrated(probabilities, row_of, np.ascontiguousarray(best))

    def power(self, expected: float) -> float:
        """Return the power of a class's odds in proportion to which it is the only right one.

        It is ``expected``, a multiple of 1/4, until examples tell otherwise.
        """
        return self.first.power(expected)

    @property
    def counts_places(self) -> bool:
        """Whether a label's calibrated probability depends on how many labels are before it."""
        fall, _ = self.first.curve()
        return bool(fall > 0)

    def uncalibrated(
        self, thresholds: npt.NDArray[np.float32], place: int = 0
    ) -> npt.NDArray[np.float32]:
        """Return the first stage's thresholds for labels with ``place`` labels before them."""
        return self.first.uncalibrate(thresholds, place)

    def uncalibrated_by_place(self, threshold: float) -> npt.NDArray[np.float32]:
        """Return the first stage's threshold for every place; shape (1, PLACES + 1)."""
        return self.first.uncalibrate_by_place(threshold, PLACES + 1).reshape(1, -1)

    def rescored(
        self, probabilities: npt.NDArray[np.float32], cosines: npt.NDArray[np.float32]
    ) -> FloatArray:
        """Return new probabilities of the best labels; arrays (n, k), NaN where there is none."""
        given = probabilities.ravel(), cosines.ravel().astype(np.float64)
        found: FloatArray = self.second.apply(self.reranking.logits(*given))
        return found.reshape(probabilities.shape)

    def to_array(self) -> FloatArray:
        """Return the complete state as an array."""
        own = [np.nan if self.tail is None else self.tail, self.examples]
        learnt = self.reranking, self.first, self.second
        return np.concatenate([own, *(one.save() for one in learnt)])

    @classmethod
    def from_array(cls, kept: npt.NDArray[Any]) -> Self:
        """Restore a stage from the output of :meth:`to_array`.

        Raises ValueError if the array violates an invariant.
        """
        stage = cls(None)
        learnt = stage.reranking, stage.first, stage.second
        sizes = [1, 1, *(len(one.save()) for one in learnt)]
        if kept.dtype != np.float64 or kept.shape != (sum(sizes),):
            raise ValueError("a second stage has too many or too few numbers, or the wrong type")
        parts = np.split(np.array(kept), np.cumsum(sizes)[:-1])
        if not all(np.isfinite(part).all() for part in parts[1:]):
            raise ValueError("a second stage holds a number that is not finite")
        tail, examples = float(parts[0][0]), float(parts[1][0])
        if not (np.isnan(tail) or 0 <= tail <= 1) or examples != int(examples) or examples < 0:
            raise ValueError("a second stage has an invalid tail or number of examples")
        stage.tail = None if np.isnan(tail) else tail
        stage.examples = int(examples)
        try:
            stage.reranking = _core.Reranking.load(parts[2])
            stage.first, stage.second = (_core.ScoreCalibration.load(part) for part in parts[3:])
        except ValueError as error:
            raise ValueError(f"a second stage is damaged: {error}") from None
        return stage
