"""Pretrained vectors of words or features."""

from __future__ import annotations

import re
from os import PathLike, fspath
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove._errors import FileFormatError
from labelgrove._optional import optional
from labelgrove.data._lines import lines_in

Vector = npt.NDArray[np.float32]

_HEADER = re.compile(rb"\d{1,10} (\d{1,10})\s*")


def read_vectors(path: str | PathLike[str]) -> dict[str, Vector] | Vector:
    """Read pretrained vectors, to initialise an :class:`~labelgrove.EmbeddingClassifier`.

    Parameters
    ----------
    path : str or os.PathLike
        A text file of words and their vectors, as used by word2vec, fastText and GloVe: one word
        per line, followed by its numbers, separated by spaces, with an optional first line of two
        numbers; plain, .gz, .bz2, .xz or .zst. Or a ``.safetensors`` file that holds one
        two-dimensional array, which needs ``pip install "labelgrove[embeddings]"``.

    Returns
    -------
    dict of str to ndarray, or ndarray
        Vectors by word, in file order; for a repeated word, the first. For a ``.safetensors``
        file, a float32 array of shape (n_features, dimension): vectors by column.

    Raises
    ------
    FileFormatError
        A line is not a word with as many numbers as the others, or the file does not hold exactly
        one two-dimensional array.
    OSError
        If the file cannot be read.
    """
    name = fspath(path)
    return _array(name) if name.endswith(".safetensors") else _words(name)


def _words(path: str) -> dict[str, Vector]:
    found: dict[str, Vector] = {}
    size = 0
    for number, line in lines_in(path):
        fields = line.rstrip(b" ").split(b" ")
        if number == 1 and (header := _HEADER.fullmatch(line)):
            size = int(header[1])
            continue
        size = size or len(fields) - 1
        word, vector = _entry(path, number, fields, size)
        found.setdefault(word, vector)
    if not found:
        raise FileFormatError(path, None, "there are no vectors in this file")
    return found


def _entry(path: str, number: int, fields: list[bytes], size: int) -> tuple[str, Vector]:
    # A word may itself contain spaces: the numbers are the last fields.
    try:
        word = b" ".join(fields[:-size]).decode() if 0 < size < len(fields) else ""
        numbers = fields[-size:]
        if b"_" in b"".join(numbers):  # Python reads 1_0 as 10
            raise ValueError
        with np.errstate(over="ignore"):  # gives infinity, which is refused below
            vector = np.array(numbers, np.float32) if word else None
    except ValueError:
        vector = None
    if vector is None or not np.isfinite(vector).all():
        raise FileFormatError(
            path,
            number,
            f"expected a word in UTF-8 and {max(size, 1)} finite numbers, separated by spaces",
        )
    return word, vector


def _array(path: str) -> Vector:
    safetensors = optional("safetensors", f"reading {path}", "embeddings")
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            shapes = {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118
            tables = [name for name, shape in shapes.items() if len(shape) == 2]
            array: Any = file.get_tensor(tables[0]) if len(tables) == 1 else None
    except (safetensors.SafetensorError, TypeError) as error:
        raise FileFormatError(path, None, f"not a safetensors file ({error})") from error
    if array is None or array.dtype.kind != "f":
        expected = "expected one of two dimensions, of floats"
        raise FileFormatError(path, None, f"found arrays of shapes {shapes}; {expected}")
    return np.asarray(array, np.float32)
