"""Pretrained embeddings: the meaning of a text as a few hundred numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove._errors import DataError, ModelStateError, ParameterError
from labelgrove._optional import optional

Embed = Callable[[list[str]], Any]
"""Function from a list of texts to an array with one row per text."""

Triple = tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32], npt.NDArray[np.float32]]

WORDLLAMA = "wordllama"
GIVEN = "given"
"""Placeholder in files for a function, which cannot be stored."""

_MOST_CHARACTERS = 1 << 14
_BATCH = 16


def embedding_of(name: object) -> Embed:
    """Return the function that embeds texts: the one of a known name, or the given one."""
    if isinstance(name, str) and name == WORDLLAMA:
        return _wordllama
    if isinstance(name, str) and name == GIVEN:
        return _missing
    if not callable(name):
        raise ParameterError(
            f"embeddings={name!r:.80}: expected None, {WORDLLAMA!r}, or a function from a list of "
            "texts to an array with one row per text"
        )
    return name


def unit_rows(embed: Embed, texts: list[str], size: int | None = None) -> npt.NDArray[np.float32]:
    """Embed texts as rows of length 1, or of zeros.

    Raises DataError if the function does not return an array of finite numbers with one row per
    text and ``size`` columns, or at least one.
    """
    whole = [text.encode("utf-8", "replace").decode() for text in texts]
    given = embed(whole) if whole else np.zeros((0, size or 0))
    try:
        found = np.asarray(given)
    except ValueError:
        raise DataError(
            "embeddings returned rows of different lengths; expected as many numbers for each text"
        ) from None
    sized = found.ndim == 2 and (found.shape[1] > 0 if size is None else found.shape[1] == size)
    if not sized or len(found) != len(texts):
        raise DataError(
            f"embeddings returned an array of shape {found.shape} for {len(texts)} texts; expected "
            f"({len(texts)}, {'at least 1' if size is None else size})"
        )
    numbers = found.dtype.kind in "fiu"
    with np.errstate(over="ignore"):  # of numbers longer than 64 bits
        rows: npt.NDArray[np.float64] = found.astype(np.float64) if numbers else np.empty(0)
    if not (numbers and np.isfinite(rows).all()):
        raise DataError("embeddings returned a value that is not a finite number; expected floats")
    # Dividing by a power of 2 changes no digit, and keeps squares within range.
    rows = np.ldexp(rows, -np.frexp(np.abs(rows).max(axis=1, keepdims=True))[1])
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)


def appended(rows: Triple, dense: npt.NDArray[np.float32], first: int) -> Triple:
    """Append dense columns, numbered from ``first``, to sparse rows."""
    indptr, ids, values = rows
    n, width = dense.shape
    ends = indptr + width * np.arange(n + 1)
    sparse, behind = _places(ends, width)
    all_ids = np.empty(int(ends[-1]), np.uint32)
    all_values = np.empty(len(all_ids), np.float32)
    all_ids[sparse], all_values[sparse] = ids, values
    all_ids[behind] = first + np.arange(width, dtype=np.uint32)
    all_values[behind] = dense
    return ends, all_ids, all_values


def taken_apart(rows: Triple, width: int) -> tuple[Triple, npt.NDArray[np.float32]]:
    """Undo `appended`."""
    ends, ids, values = rows
    sparse, behind = _places(ends, width)
    indptr = ends - width * np.arange(len(ends))
    return (indptr, ids[sparse], values[sparse]), values[behind]


def _places(
    ends: npt.NDArray[np.int64], width: int
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
    """Return which entries are sparse, and the positions of the dense entries of each row."""
    behind = ends[1:, None] - width + np.arange(width)
    sparse = np.ones(int(ends[-1]), bool)
    sparse[behind] = False
    return sparse, behind


def _wordllama(texts: list[str]) -> npt.NDArray[np.float32]:
    cut = [text[:_MOST_CHARACTERS] for text in texts]
    found: npt.NDArray[np.float32] = _wordllama_model().embed(cut, batch_size=_BATCH)
    return found


@cache
def _wordllama_model() -> Any:
    wordllama = optional("wordllama", f"embeddings={WORDLLAMA!r}", "embeddings")
    # The package includes the weights, but does not look for them in its own folder.
    own = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(cache_dir=own, disable_download=True)


def _missing(_texts: list[str]) -> Any:
    raise ModelStateError(
        "the model embeds texts with a function, which a model file cannot hold; expected "
        "labelgrove.load(path, embeddings=function), with the function it was trained with"
    )
