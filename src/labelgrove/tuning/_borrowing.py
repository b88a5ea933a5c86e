"""What labels with few positives borrow from others that are about as frequent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from labelgrove._errors import ParameterError
from labelgrove.tuning._measure import f_from_counts
from labelgrove.tuning._pairs import FloatArray, IntArray

_RATIO = 4.0
_FEWEST_POSITIVES = 20


class Setting(NamedTuple):
    """How thresholds follow from counts.

    Attributes
    ----------
    strength : float
        With how many positives a label's own counts weigh as much as what it borrows.
    weight : float or None
        Thresholds with the greatest macro F + weight · micro F.
    price : float or None
        Where there is no weight: thresholds with the most hits - price · predictions, so that a
        prediction just at a threshold is right with this probability.
    """

    strength: float
    weight: float | None
    price: float | None


@dataclass(frozen=True)
class Bands:
    """Labels by frequency: each band's are up to four times as frequent as its rarest.

    Attributes
    ----------
    of_label : ndarray of int64, shape (m,)
        The band of every label, the rarest first; neighbours are one where positives are few.
    frequencies : ndarray of float64, shape (m,)
    """

    of_label: IntArray
    frequencies: FloatArray

    @classmethod
    def of(cls, frequencies: npt.ArrayLike | None, positives: IntArray) -> Bands:
        """Sort labels into bands.

        Parameters
        ----------
        frequencies : array-like of shape (m,), or None
            None: the positives.
        positives : ndarray of int64, shape (m,)
            How many rows at hand have each label.

        Raises
        ------
        ParameterError
            If the frequencies are not one number of 0 or more for each label.
        """
        known = np.array(positives if frequencies is None else frequencies, np.float64)
        if known.shape != positives.shape or not ((known >= 0) & (known < np.inf)).all():
            raise ParameterError(
                f"frequencies: expected {len(positives)} numbers of 0 or more, one a label"
            )
        power = np.floor(np.log(np.maximum(known, 1)) / np.log(_RATIO)).astype(np.int64)
        band, held = 0, 0.0
        bands = np.zeros(int(power.max(initial=0)) + 1, np.int64)
        for i, count in enumerate(np.bincount(power, weights=positives)):
            bands[i] = band
            held += count
            if held >= _FEWEST_POSITIVES:
                band, held = band + 1, 0.0
        if held < _FEWEST_POSITIVES and band > 0:
            bands[bands == band] = band - 1
        return cls(bands[power], known)


class Curves:
    """Counts at rising candidate thresholds, from which thresholds follow by a setting.

    A label with p positives has the curve of its F-measure mixed with the mean curve of its band,
    p parts of the one and `Setting.strength` parts of the other (empirical Bayes), and its hits and
    predictions likewise.

    Parameters
    ----------
    labels : ndarray of int64, shape (a,)
        Those that are true, or reach a candidate, in any row.
    hits, predicted : ndarray of float64, shape (a, k)
        Rows where each of them reaches a candidate and is true, or reaches it.
    positives : ndarray of float64, shape (a,)
    bands : Bands
    zero_division : {0, 1}
        F-measure of a label that is nowhere true and nowhere predicted.

    Attributes
    ----------
    band : ndarray of int64, shape (m,)
        The band of every label.
    """

    def __init__(
        self,
        labels: IntArray,
        hits: FloatArray,
        predicted: FloatArray,
        positives: FloatArray,
        bands: Bands,
        zero_division: float,
    ) -> None:
        self.band = of_label = bands.of_label
        sizes = np.bincount(of_label)
        band, n_bands = of_label[labels], len(sizes)
        members = csr_array(
            (np.ones(len(labels)), (band, np.arange(len(labels)))), shape=(n_bands, len(labels))
        )
        f = f_from_counts(hits, positives[:, np.newaxis], predicted, zero_division)
        unseen = sizes - np.bincount(band, minlength=n_bands)
        band_f = (members @ f + (zero_division * unseen)[:, np.newaxis]) / sizes[:, np.newaxis]
        band_positives = np.maximum(members @ positives, 1.0)[:, np.newaxis]

        curve = f_from_counts(hits.sum(axis=0), positives.sum(), predicted.sum(axis=0), 0.0)
        best = int(np.argmax(curve)) if len(labels) else 0
        self._micro_f = float(curve[best])
        self._n_pairs = max(float(positives.sum() + predicted.sum(axis=0)[best]), 1.0)

        # Behind the labels the bands themselves, as labels that have nothing of their own.
        def with_bands(own: FloatArray) -> FloatArray:
            return np.concatenate((own, np.zeros((n_bands, *own.shape[1:]))))

        self._n_labels, self._n_known = len(of_label), len(labels)
        self._positives = with_bands(positives)[:, np.newaxis]
        self._f, self._hits, self._predicted = map(with_bands, (f, hits, predicted))
        at = np.concatenate((band, np.arange(n_bands)))
        self._band_f = band_f[at]
        self._band_hits = (members @ hits / band_positives)[at]
        self._band_predicted = (members @ predicted / band_positives)[at]
        frequent = np.bincount(of_label, weights=bands.frequencies) / sizes
        frequencies = np.concatenate((bands.frequencies[labels], frequent))
        share = float(positives.sum()) / max(float(bands.frequencies.sum()), 1e-9)
        self._expected = (frequencies * share)[:, np.newaxis]

    def thresholds(self, setting: Setting) -> tuple[IntArray, IntArray]:
        """Return the index of the best candidate for each of the labels, and for each band."""
        each = 1.0 / (self._positives + setting.strength)  # the share of a single positive
        own = self._positives * each
        borrowed = 1.0 - own
        hits = self._hits * each + self._band_hits * borrowed
        predicted = self._predicted * each + self._band_predicted * borrowed
        if setting.weight is None:
            assert setting.price is not None
            value = hits - setting.price * predicted
        else:
            # The slope of micro F = 2 hits / pairs, where it is best.
            micro = (2 * hits - self._micro_f * predicted) * self._expected / self._n_pairs
            macro = (own * self._f + borrowed * self._band_f) / self._n_labels
            value = macro + setting.weight * micro
        best = value.shape[1] - 1 - np.argmax(value[:, ::-1], axis=1)  # of equals the highest
        return best[: self._n_known], best[self._n_known :]
