"""Label frequencies: given, counted, and adjusted for Fano trees."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove._errors import ParameterError, brief
from labelgrove._names import Names, as_names, as_vector, place_in_list
from labelgrove._parameters import choice, numbers, real, vector
from labelgrove.trees._embeddings import as_indicator

Frequencies = npt.NDArray[np.float64]

METHODS = ("marginal", "greedy")


def as_labels(labels: Iterable[Any]) -> Names:
    """Return labels as `as_names` does, from any iterable except a string."""
    if not isinstance(labels, Sequence | np.ndarray) and isinstance(labels, Iterable):
        labels = list(labels)
    return as_names(as_vector(labels), place=place_in_list, classes=False)


def as_frequencies(
    frequencies: Any, labels: Sequence[Any] | Names | None, name: str = "frequencies"
) -> tuple[Names, Frequencies]:
    """Return labels and the frequency of each, from a mapping or from a sequence.

    The labels of a sequence are `labels`, or else 0, 1, 2... Raises ParameterError for `name` if a
    frequency is negative or not a finite number, the sum is too large for a float, or the numbers
    of labels and frequencies differ; DataError as `as_labels` does.
    """
    if isinstance(frequencies, Mapping):
        if labels is not None:
            raise ParameterError("labels: expected None if frequencies are a mapping from labels")
        names, values = as_labels(frequencies.keys()), _numbers(list(frequencies.values()), name)
    else:
        values = _numbers(frequencies, name)
        names = np.arange(values.size) if labels is None else as_labels(labels)
    if names.size != values.size:
        raise ParameterError(
            f"{name}: there are {values.size} for {names.size} labels; expected one for each"
        )
    _require_finite(values, f"{name}: the frequency of label {{0!r}} is {{1}}", names)
    with np.errstate(over="ignore"):
        total = values.sum()
    if total > np.finfo(np.float64).max / max(values.size, 1):
        raise ParameterError(f"{name}: they sum to {total}, too large to compute with")
    return names, values


def label_frequencies(Y: Any, *, context_frequencies: Any = None) -> Frequencies:
    """Return the frequency of each label: f = Yᵀp of Baharav et al. (2021).

    Parameters
    ----------
    Y : sparse array or array-like of 0 and 1, shape (n_examples, n_labels)
        As from `label_indicator`.
    context_frequencies : array-like of shape (n_examples,), optional
        Frequency p of each example ("context"); all equal if not given.

    Returns
    -------
    ndarray of float64, shape (n_labels,)
        In the unit of `context_frequencies`; by default the number of examples.

    Raises
    ------
    DataError
        Y holds anything but 0 and 1.
    ParameterError
        The context frequencies are negative, not finite, or not one for each example.

    Examples
    --------
    >>> Y = [[1, 1, 0], [1, 0, 0], [0, 1, 1]]
    >>> label_frequencies(Y).tolist()
    [2.0, 2.0, 1.0]
    >>> label_frequencies(Y, context_frequencies=[3, 1, 1]).tolist()
    [4.0, 4.0, 1.0]
    """
    indicator = as_indicator(Y)
    return _marginal(indicator, _contexts(context_frequencies, indicator.shape[0]))


def fano_frequencies(
    Y: Any,
    *,
    method: str = "marginal",
    softness: float = 0.0,
    context_frequencies: Any = None,
) -> Frequencies:
    """Return how often a search for one label should end at each: f̃ of Baharav et al. (2021).

    Two frequent labels that always occur together need not both be near the root: it is enough to
    find one of them quickly. So every example counts towards only one of its labels.

    Parameters
    ----------
    Y : sparse array or array-like of 0 and 1, shape (n_examples, n_labels)
        As from `label_indicator`.
    method : {"marginal", "greedy"}
        `"marginal"` (Algorithm 2): the label that is most frequent overall. `"greedy"` (Algorithm
        1): the label that is most frequent among the examples not yet counted, which is sharper,
        and worse for the labels that come second (the paper's figure 3). Ties go to the first
        label.
    softness : float
        For `"marginal"`, between 0 and 1: the part of an example that also counts towards each of
        its other labels. With 1 the result equals `label_frequencies`.
    context_frequencies : array-like of shape (n_examples,), optional
        Frequency p of each example; all equal if not given.

    Returns
    -------
    ndarray of float64, shape (n_labels,)

    Raises
    ------
    DataError
        Y holds anything but 0 and 1.
    ParameterError
        The method is unknown, the softness is outside its domain or given for `"greedy"`, or the
        context frequencies are invalid as for `label_frequencies`.

    Examples
    --------
    >>> Y = [[1, 1, 0], [1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 1, 1]]
    >>> fano_frequencies(Y).tolist()
    [1.0, 4.0, 0.0]
    >>> fano_frequencies(Y, softness=0.5).tolist()
    [2.0, 4.0, 1.0]
    >>> fano_frequencies(Y, method="greedy").tolist()
    [1.0, 4.0, 0.0]
    """
    choice("method", method, METHODS)
    part = real("softness", softness, 0.0, 1.0)
    if method == "greedy" and part > 0:
        raise ParameterError(f"softness={brief(softness)}: expected 0 with method='greedy'")
    indicator = as_indicator(Y)
    contexts = _contexts(context_frequencies, indicator.shape[0])
    if method == "greedy":
        return _greedy(indicator, contexts)
    frequencies = _marginal(indicator, contexts)
    first = _first_label(indicator, frequencies, contexts)
    return first + part * (frequencies - first) if part < 1 else frequencies


def _numbers(values: Any, name: str) -> Frequencies:
    error = ParameterError(
        f"{name}: expected a mapping from labels to numbers or a flat sequence of numbers"
    )
    return vector(values, "iuf", error).astype(np.float64)


def _contexts(frequencies: Any, n: int) -> Frequencies:
    if frequencies is None:
        return np.ones(n)
    p = numbers("context_frequencies", frequencies)
    if p.shape != (n,):
        raise ParameterError(f"context_frequencies: expected one number for each of {n} examples")
    _require_finite(p, "context_frequencies: found {1} for example {0}", np.arange(n))
    return p


def _require_finite(values: Frequencies, found: str, names: npt.NDArray[Any]) -> None:
    good = (values >= 0) & (values < np.inf)
    if not good.all():
        wrong = int(np.argmin(good))
        said = found.format(names[wrong : wrong + 1].tolist()[0], values[wrong])
        raise ParameterError(f"{said}; expected a finite number that is not negative")


def _marginal(indicator: Any, contexts: Frequencies) -> Frequencies:
    frequencies: Frequencies = indicator.T @ contexts
    return frequencies


def _first_label(indicator: Any, frequencies: Frequencies, contexts: Frequencies) -> Frequencies:
    """Count every example towards its most frequent label only (Algorithm 2)."""
    examples = np.repeat(np.arange(indicator.shape[0]), np.diff(indicator.indptr))
    order = np.lexsort((indicator.indices, -frequencies[indicator.indices], examples))
    labelled = np.flatnonzero(np.diff(indicator.indptr))
    first = indicator.indices[order[indicator.indptr[labelled]]]
    return np.bincount(first, contexts[labelled], indicator.shape[1]).astype(np.float64)


def _greedy(indicator: Any, contexts: Frequencies) -> Frequencies:
    """Repeatedly take the most frequent label with all its remaining examples (Algorithm 1).

    Frequencies only fall, so those in the queue are upper bounds: the first label whose queued
    frequency is still current is the most frequent one.
    """
    by_label = indicator.tocsc()
    left = contexts.copy()
    frequencies = np.zeros(indicator.shape[1])
    queue = [(-count, label) for label, count in enumerate(_marginal(indicator, left).tolist())]
    heapq.heapify(queue)
    while queue and queue[0][0] < 0:
        count, label = queue[0]
        examples = by_label.indices[by_label.indptr[label] : by_label.indptr[label + 1]]
        now = float(left[examples].sum())
        if now < -count:
            heapq.heapreplace(queue, (-now, label))
            continue
        heapq.heappop(queue)
        frequencies[label] = now
        left[examples] = 0.0
    return frequencies
