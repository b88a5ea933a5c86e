"""Weighted hits of rankings, and those of the best possible rankings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from labelgrove._errors import DataError
from labelgrove.metrics._hits import RankedHits, discounts
from labelgrove.metrics._inputs import MISSING, top_columns
from labelgrove.metrics._ranking import ideal_gain
from labelgrove.metrics._score import Finish, FloatArray, divide, mean_of, ratio_of


@dataclass(frozen=True)
class Gains:
    """Weights of the hits, place by place.

    Attributes
    ----------
    hits : RankedHits
    found : float64 array (n, k)
        Weight of the label in each place where it is relevant, 0 elsewhere.
    best : float64 array (n, k)
        The same for the ranking of a row's relevant labels by decreasing weight.
    """

    hits: RankedHits
    found: FloatArray
    best: FloatArray


def weigh(hits: RankedHits, inverse_propensities: npt.ArrayLike) -> Gains:
    """Check the labels' weights and look them up for the rankings and for the best possible."""
    truth = hits.truth
    q = _check_weights(inverse_propensities, int(truth.shape[1]))
    weighted = csr_array((q[truth.indices], truth.indices, truth.indptr), shape=truth.shape)
    best = top_columns(weighted, hits.ids.shape[1])
    return Gains(
        hits, np.where(hits.hit, q[hits.ids], 0.0), np.where(best != MISSING, q[best], 0.0)
    )


def _check_weights(inverse_propensities: npt.ArrayLike, n_labels: int) -> FloatArray:
    q = np.asarray(inverse_propensities, dtype=np.float64)
    if q.shape != (n_labels,):
        raise DataError(f"inverse_propensities has shape {q.shape}: expected ({n_labels},)")
    good = np.isfinite(q) & (q > 0)
    if not good.all():
        label = int(np.argmin(good))
        raise DataError(
            f"inverse_propensities: {q[label]} found for label {label} where a positive number "
            "was expected"
        )
    return q


def psp_finish(gains: Gains, k: int, zero_division: float) -> Finish:
    return ratio_of(gains.found[:, :k].sum(axis=1), gains.best[:, :k].sum(axis=1), zero_division)


def raw_psp_finish(gains: Gains, k: int) -> Finish:
    return mean_of(gains.found[:, :k].sum(axis=1) / k)


def psndcg_finish(gains: Gains, k: int, zero_division: float) -> Finish:
    ideal = ideal_gain(gains.hits, k)
    found = divide(gains.found[:, :k] @ discounts(k), ideal, 0.0)
    best = divide(gains.best[:, :k] @ discounts(k), ideal, 0.0)
    return ratio_of(found, best, zero_division)


def raw_psndcg_finish(gains: Gains, k: int, zero_division: float) -> Finish:
    found = gains.found[:, :k] @ discounts(k)
    return mean_of(divide(found, ideal_gain(gains.hits, k), zero_division))
