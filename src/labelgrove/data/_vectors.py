"""Vectors of words or features that somebody else has learnt."""

from __future__ import annotations

import re
from contextlib import ExitStack
from os import PathLike, fspath
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove._errors import FileFormatError
from labelgrove._optional import optional
from labelgrove.data._lines import LineSource
from labelgrove.data._open import open_pieces

Vector = npt.NDArray[np.float32]

_HEADER = re.compile(rb"\d{1,10} (\d{1,10})\s*")


def read_vectors(path: str | PathLike[str]) -> dict[str, Vector] | Vector:
    """Read vectors, to begin with in :class:`~labelgrove.EmbeddingClassifier`.

    Parameters
    ----------
    path : str or os.PathLike
        Words and their vectors as text, as word2vec, fastText and GloVe have them: one word a line
        and its numbers behind it, spaces between, perhaps under a first line of two numbers; plain
        or .gz or .xz. Or a ``.safetensors`` file that holds one array of two dimensions, which
        needs ``pip install "labelgrove[embeddings]"``.

    Returns
    -------
    dict of str to ndarray, or ndarray
        By word, in the order of the file; the first of a word that occurs twice. Of a
        ``.safetensors`` file float32, shape (n_features, dimension): by column.

    Raises
    ------
    FileFormatError
        A line that is no word with as many numbers as the others, or a file without one array of
        two dimensions.
    OSError
        If the file cannot be read.
    """
    name = fspath(path)
    return _array(name) if name.endswith(".safetensors") else _words(name)


def _words(path: str) -> dict[str, Vector]:
    found: dict[str, Vector] = {}
    size = 0
    with ExitStack() as resources:
        for block in LineSource(path, open_pieces(path, resources)).blocks():
            for number, line in enumerate(block.data.split(b"\n"), block.first_line):
                fields = line.rstrip(b" ").split(b" ")
                if number == 1 and (header := _HEADER.fullmatch(line)):
                    size = int(header[1])
                    continue
                size = size or len(fields) - 1
                word, vector = _entry(path, number, fields, size)
                found.setdefault(word, vector)
    if not found:
        raise FileFormatError(path, None, "there is not a single vector in this file")
    return found


def _entry(path: str, number: int, fields: list[bytes], size: int) -> tuple[str, Vector]:
    # A word may itself hold spaces: the numbers are the last fields.
    try:
        word = b" ".join(fields[:-size]).decode() if 0 < size < len(fields) else ""
        with np.errstate(over="ignore"):  # to infinity, which is refused
            vector = np.array(fields[-size:], np.float32) if word else None
    except ValueError:
        vector = None
    if vector is None or not np.isfinite(vector).all():
        raise FileFormatError(
            path, number, f"expected a word in UTF-8 and {max(size, 1)} finite numbers, with spaces"
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
        raise FileFormatError(path, None, f"this is no safetensors file ({error})") from error
    if array is None or array.dtype.kind != "f":
        expected = "expected one of two dimensions, of floats"
        raise FileFormatError(path, None, f"found arrays of shapes {shapes}; {expected}")
    return np.asarray(array, np.float32)
