"""A list of labels, one a line: the only ones that may be predicted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from labelgrove import OnlinePLTClassifier
from labelgrove._errors import DataError, FileFormatError
from labelgrove.cli._console import say_warning


def read_allowed_labels(path: str, classifier: OnlinePLTClassifier) -> list[Any]:
    """Read the labels that a model knows from a file; the others are counted in a warning.

    Parameters
    ----------
    path : str
        UTF-8 text, one label a line; empty lines are skipped.
    classifier : OnlinePLTClassifier
        The model; where its labels are integers the lines must be integers.

    Returns
    -------
    list
        Known labels, each once, in the order of the file.

    Raises
    ------
    FileFormatError
        When a line is not text in UTF-8, or not an integer where the labels are.
    DataError
        When the model knows none of the labels.
    """
    numbered = classifier.classes_.dtype.kind in "iu"
    known = set(classifier.classes_.tolist())
    allowed: dict[Any, None] = {}
    unknown: list[Any] = []
    with Path(path).open("rb") as lines:
        for number, raw in enumerate(lines, start=1):
            label = _parse(path, number, raw, numbered)
            if label in known:
                allowed[label] = None
            elif label is not None:
                unknown.append(label)
    if not allowed:
        raise DataError(f"{path}: the model knows none of the labels in this file ({len(unknown)})")
    if unknown:
        several = f"{len(unknown)} labels are" if len(unknown) > 1 else "one label is"
        say_warning(f"{path}: {several} unknown to the model and left out, first {unknown[0]!r}")
    return list(allowed)


def _parse(path: str, number: int, raw: bytes, numbered: bool) -> Any:
    try:
        text = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
    except UnicodeDecodeError:
        raise FileFormatError(path, number, "expected text in UTF-8") from None
    if not text:
        return None
    if not numbered:
        return text
    try:
        return int(text)
    except ValueError:
        raise FileFormatError(
            path,
            number,
            f"found {text!r} where a whole number, as the model's labels are, is expected",
        ) from None
