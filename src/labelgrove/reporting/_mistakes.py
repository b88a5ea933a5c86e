"""The mistakes of a model: confused labels, and wrongly predicted examples with explanations."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from labelgrove._names import on_one_line
from labelgrove._sparse import without
from labelgrove.metrics._inputs import MISSING, ranking_indicator
from labelgrove.reporting._measured import Measured

_PAIRS = 20
_EXAMPLES = 12
_LABELS = 3  # true labels shown per example
_WORDS = 4  # words shown as an explanation
_CHARACTERS = 320  # characters shown of a text

Called = Callable[[Hashable], str]


def confusions(measured: Measured, called: Called) -> list[dict[str, Any]]:
    """List pairs of a missed label and a label predicted instead, the most frequent first.

    For an example with n true labels, the n best labels count as predicted, as far as the ranking
    goes. Each missed label is paired with each wrongly predicted label of the same example.
    """
    missed, instead = _in_places_of_true(measured)
    together = csr_array(missed.T @ instead).tocoo()
    counts = together.data.astype(np.int64)
    rows, columns = together.coords
    order = np.lexsort((columns, rows, -counts))[:_PAIRS]
    support = np.bincount(measured.truth.indices, minlength=measured.truth.shape[1])
    return [
        {
            "label": called(measured.labels[rows[i]]),
            "instead": called(measured.labels[columns[i]]),
            "examples": int(counts[i]),
            "of": int(support[rows[i]]),
        }
        for i in order.tolist()
    ]


def _in_places_of_true(measured: Measured) -> tuple[csr_array, csr_array]:
    truth, ranking = measured.truth, measured.ranking
    places = np.arange(ranking.shape[1]) < np.diff(truth.indptr)[:, None]
    taken = ranking_indicator(np.where(places, ranking, MISSING), truth.shape[1])
    return without(truth, taken), without(taken, truth)


def wrong_examples(model: Any, X: Any, measured: Measured, called: Called) -> list[dict[str, Any]]:
    """List examples whose best label is wrong, those with the highest probability first."""
    best, has_labels = measured.ranking[:, 0], np.diff(measured.truth.indptr) > 0
    wrong = np.flatnonzero(~measured.hits & (best != MISSING) & has_labels)
    sure = measured.estimates.multiply(measured.first).sum(axis=1)[wrong]
    chosen = wrong[np.lexsort((wrong, -sure))][:_EXAMPLES]
    return [_example(model, X, measured, called, int(row)) for row in chosen.tolist()]


def _example(model: Any, X: Any, measured: Measured, called: Called, row: int) -> dict[str, Any]:
    example = X[row : row + 1]
    truth = measured.truth
    true = truth.indices[truth.indptr[row] : truth.indptr[row + 1]].tolist()
    column = int(measured.ranking[row, 0])
    predicted = _described(model, example, measured, called, row, column)
    missed = [_described(model, example, measured, called, row, one) for one in true[:_LABELS]]
    return {
        "row": row + 1,
        "text": _text(example),
        "predicted": predicted,
        "true": missed,
        "more": max(len(true) - _LABELS, 0),
    }


def _text(example: Any) -> str | None:
    """Return the beginning of the text in a list, array or Series of one; None for features."""
    if len(getattr(example, "shape", (1,))) != 1:  # a matrix or a table
        return None
    [text] = example.to_pylist() if hasattr(example, "to_pylist") else example  # Arrow's
    return on_one_line(text, _CHARACTERS)


def _described(
    model: Any, example: Any, measured: Measured, called: Called, row: int, column: int
) -> dict[str, Any]:
    """Describe a label for an example: its probability, frequency, and words for and against."""
    label = measured.labels[column]
    found: dict[str, Any] = {
        "label": called(label),
        "known": bool(measured.known[column]),
        "probability": float(measured.estimates[row, column]),
        "seen": int(measured.counts[column]),
        "words_for": [],
        "words_against": [],
    }
    if found["known"] and hasattr(model, "explain"):
        [explained] = model.explain(example, label, top=2 * _WORDS).labels
        found["probability"] = float(explained.probability)
        parts = explained.contributions
        found["words_for"] = _words([one for one in parts if one.contribution > 0])
        found["words_against"] = _words([one for one in parts if one.contribution < 0])
    return found


def _words(contributions: Sequence[Any]) -> list[str]:
    named = [
        one.feature if isinstance(one.feature, str) else f"feature {one.feature}"
        for one in contributions[:_WORDS]
    ]
    return [on_one_line(name, 60) for name in named]
