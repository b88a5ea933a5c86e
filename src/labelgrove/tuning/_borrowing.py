"""Borrowing: labels with few positives share counts with labels of similar frequency."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from labelgrove._errors import ParameterError
from labelgrove._parameters import numbers
from labelgrove.tuning._measure import f_from_counts, last_best
from labelgrove.tuning._pairs import FloatArray, IntArray

INDEX = np.int8
"""Type of a candidate's index: small, as there is one for every setting, fold and label."""

IndexArray = npt.NDArray[np.int8]

_RATIO_BITS = 2  # a band's frequencies differ by less than this power of two
_FEWEST_POSITIVES = 20


class Setting(NamedTuple):
    """Rule that turns counts into thresholds.

    It maximises macro F + weight · micro F or, without a weight, hits - price · predictions, so
    that a prediction just at the threshold is right with the probability ``price``.
    """

    strength: float  # positives at which a label's own counts weigh as much as the borrowed ones
    weight: float | None
    price: float | None


@dataclass(frozen=True)
class Bands:
    """Labels in bands of frequency, each spanning a factor of four, the rarest in the first.

    Neighbouring bands with few positives are merged.
    """

    of_label: IntArray
    frequencies: FloatArray  # by label

    @classmethod
    def of(cls, frequencies: npt.ArrayLike | None, positives: IntArray) -> Bands:
        """Sort labels into bands by their frequencies, by default those in the given rows.

        `positives` are the numbers of given rows with each label.
        """
        known = numbers("frequencies", positives if frequencies is None else frequencies)
        if known.shape != positives.shape or not ((known >= 0) & (known < np.inf)).all():
            raise ParameterError(
                f"frequencies: expected {len(positives)} numbers of 0 or more, one per label"
            )
        power = (np.frexp(np.maximum(known, 1))[1] - 1) // _RATIO_BITS
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


class Counts(NamedTuple):
    """Numbers of rows for b labels at k rising candidate thresholds."""

    labels: slice  # selects from the labels that are true, or reach a candidate, in any row
    hits: FloatArray  # (b, k): rows where a label reaches a candidate and is true
    predicted: FloatArray  # (b, k): rows where it reaches the candidate
    positives: FloatArray  # (b,)


class Curves:
    """F-measures at rising candidate thresholds, from which a setting derives thresholds.

    The F-measure curve of a label with p positives is mixed with the mean curve of its band, p
    parts of the former to `Setting.strength` parts of the latter (empirical Bayes). Its hits and
    predictions are mixed likewise. Only the bands' curves are kept; labels are counted again when
    needed, a few at a time: ``counts()`` yields the counts of the given labels, those that are true
    or reach a candidate in any row, in order. ``band`` is the band of every label.
    """

    def __init__(
        self,
        labels: IntArray,
        counts: Callable[[], Iterator[Counts]],
        n_candidates: int,
        bands: Bands,
        zero_division: float,
    ) -> None:
        self.band = of_label = bands.of_label
        self._counts, self._zero = counts, zero_division
        sizes = np.bincount(of_label)
        n_bands = len(sizes)
        self._band = of_label[labels]
        f, hits, predicted = (np.zeros((n_bands, n_candidates)) for _ in range(3))
        positives = np.zeros(n_bands)
        for found in counts():
            n, band = len(found.positives), self._band[found.labels]
            members = csr_array((np.ones(n), (band, np.arange(n))), shape=(n_bands, n))
            f += members @ self._f_measures(found)
            hits += members @ found.hits
            predicted += members @ found.predicted
            positives += members @ found.positives
        # Labels not counted have the same F at all candidates, which decides nothing.
        self._f = f / sizes[:, np.newaxis]
        self._hits = hits / np.maximum(positives, 1.0)[:, np.newaxis]
        self._predicted = predicted / np.maximum(positives, 1.0)[:, np.newaxis]

        n_true, n_found = float(positives.sum()), predicted.sum(axis=0)
        curve = f_from_counts(hits.sum(axis=0), n_true, n_found, 0.0)
        best = int(np.argmax(curve))
        self._micro_f = float(curve[best])
        self._n_pairs = max(n_true + float(n_found[best]), 1.0)
        self._n_labels = len(of_label)
        share = n_true / max(float(bands.frequencies.sum()), 1e-9)
        self._expected = bands.frequencies[labels] * share
        self._expected_of_band = np.bincount(of_label, weights=bands.frequencies) / sizes * share

    def thresholds(self, settings: Sequence[Setting]) -> tuple[IndexArray, IndexArray]:
        """Return the best candidates of labels and of bands, for settings of the same strength.

        Those of bands, shape (len(settings), bands), are for labels without counts of their own.
        """
        of_label = np.empty((len(settings), len(self._band)), INDEX)
        for found in self._counts():
            own = found.labels
            of_label[:, own] = self._best(settings, found, self._band[own], self._expected[own])
        bands = np.arange(len(self._f))
        none = np.zeros_like(self._f)
        nothing = Counts(slice(0), none, none, np.zeros(len(bands)))
        return of_label, self._best(settings, nothing, bands, self._expected_of_band)

    def _f_measures(self, found: Counts) -> FloatArray:
        positives = found.positives[:, np.newaxis]
        return f_from_counts(found.hits, positives, found.predicted, self._zero)

    def _best(
        self, settings: Sequence[Setting], found: Counts, band: IntArray, expected: FloatArray
    ) -> IndexArray:
        """Return every label's best candidate by each setting; ties go to the highest."""
        strength = settings[0].strength
        each = (1.0 / (found.positives + strength))[:, np.newaxis]  # the share of one positive
        own = found.positives[:, np.newaxis] * each
        borrowed = 1.0 - own
        hits = found.hits * each + self._hits[band] * borrowed
        predicted = found.predicted * each + self._predicted[band] * borrowed
        # The slope of micro F = 2 hits / pairs at its maximum.
        micro = (2 * hits - self._micro_f * predicted) * expected[:, np.newaxis] / self._n_pairs
        macro = (own * self._f_measures(found) + borrowed * self._f[band]) / self._n_labels
        best = np.empty((len(settings), len(band)), INDEX)
        for at, setting in enumerate(settings):
            assert setting.strength == strength
            if setting.weight is None:
                assert setting.price is not None
                value = hits - setting.price * predicted
            else:
                value = macro + setting.weight * micro
            best[at] = last_best(value)
        return best
