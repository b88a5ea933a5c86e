"""Formatting of rows: blocks of bytes from checked features, texts and labels."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove._errors import DataError
from labelgrove.data._columns import split_labels
from labelgrove.data._fasttext import BLANKS, PREFIX, parse_line
from labelgrove.data._rows import RowError, shown

_ROWS_PER_BLOCK = 2048

Labels = list[tuple[Any, ...]]


def xmlc_blocks(X: csr_array, labels: Labels) -> Iterator[bytes]:
    """Format the header, then the rows."""
    width = 1 + max((label for row in labels for label in row), default=-1)
    yield f"{X.shape[0]} {X.shape[1]} {width}\n".encode()
    yield from sparse_blocks(X, labels)


def sparse_blocks(X: csr_array, labels: Labels) -> Iterator[bytes]:
    """Format rows as ``1,5 0:0.5 7:1``, common to xmlc and svmlight."""
    for start in range(0, len(labels), _ROWS_PER_BLOCK):
        stop = min(start + _ROWS_PER_BLOCK, len(labels))
        low, high = int(X.indptr[start]), int(X.indptr[stop])
        names = X.indices[low:high].tolist()
        values = format_floats(X.data[low:high])
        features = [f"{name}:{value}" for name, value in zip(names, values, strict=True)]
        ends = (X.indptr[start : stop + 1] - low).tolist()
        rows = (
            f"{','.join(map(str, labels[start + row]))} {' '.join(features[a:b])}\n"
            for row, (a, b) in enumerate(pairwise(ends))
        )
        yield "".join(rows).encode("ascii")


def format_floats(values: NDArray[np.float32]) -> list[str]:
    """Format float32 values as the shortest decimals that round-trip exactly.

    Reading rounds twice, to float64 and then to float32. For a handful of float32 values, this
    gives a neighbouring number; those are written with the digits of a float64.
    """
    distinct, place = np.unique(values.view(np.uint32), return_inverse=True)
    numbers = distinct.view(np.float32)
    texts = numbers.astype(np.str_)
    wrong = texts.astype(np.float64).astype(np.float32) != numbers
    shortest = [text.removesuffix(".0") for text in texts.tolist()]
    for index in np.flatnonzero(wrong).tolist():
        shortest[index] = repr(float(numbers[index]))
    return [shortest[index] for index in place.tolist()]


def fasttext_blocks(texts: list[str], labels: Labels) -> Iterator[bytes]:
    """Format rows as ``__label__a __label__b text``."""
    for row, (text, names) in enumerate(zip(texts, labels, strict=True)):
        line = " ".join([*(f"{PREFIX}{name}" for name in names), text])
        if not _survives(line, names, text):
            raise DataError(
                f"row {row}: the fastText format cannot hold these labels and this text; expected "
                "labels without blanks, and text without line breaks and without words that begin "
                f"with {PREFIX}"
            )
        yield _utf8(f"{line or ' '}\n", row)


def _survives(line: str, names: tuple[Any, ...], text: str) -> bool:
    """Return whether reading the line restores these labels and this text."""
    if "\n" in line:
        return False
    try:
        return parse_line(line) == (tuple(map(str, names)), text.strip(BLANKS))
    except RowError:
        return False


def jsonl_blocks(texts: list[str], labels: Labels) -> Iterator[bytes]:
    """Format rows as ``{"text": ..., "labels": [...]}``."""
    for row, (text, names) in enumerate(zip(texts, labels, strict=True)):
        for name in names:
            if name == "":
                raise DataError(f"row {row}: a label is an empty string; expected a name")
            if split_labels(str(name), "") != [str(name)]:
                raise DataError(
                    f"row {row}: JSON lines cannot hold the label {shown(name)}; expected a name "
                    "without blanks or angle brackets around it"
                )
        line = json.dumps({"text": text, "labels": list(names)}, ensure_ascii=False)
        yield _utf8(f"{line}\n", row)


def _utf8(line: str, row: int) -> bytes:
    try:
        return line.encode("utf-8")
    except UnicodeEncodeError as error:
        half = shown(line[error.start])
        raise DataError(f"row {row}: {half} is a lone surrogate; expected characters") from None
