"""The errors that LabelGrove raises on purpose."""

from __future__ import annotations

import re
import reprlib
from os import PathLike, fspath
from typing import Any

_brief = reprlib.Repr()
_brief.maxstring = _brief.maxother = _brief.maxlong = 100


def brief(value: Any) -> str:
    """Return the `repr` of a value, in one line and truncated to fit into a message."""
    return re.sub(r"\s*\n\s*", " ", _brief.repr(value))


class LabelGroveError(Exception):
    """Base class of all errors that the library raises on purpose."""


class DataError(LabelGroveError, ValueError):
    """Examples or labels that cannot be used; the message names the place."""


class DataTypeError(DataError, TypeError):
    """Features that are not numbers, for which scikit-learn raises a TypeError."""


class FileFormatError(DataError):
    """A data file whose content is malformed.

    Parameters
    ----------
    path : str or os.PathLike
        The file as named by the caller.
    line : int or None
        Line number, counted from 1; None for the whole file.
    message : str
        What was found and what was expected.
    """

    def __init__(self, path: str | PathLike[str], line: int | None, message: str) -> None:
        self.path = fspath(path)
        self.line = line
        place = self.path if line is None else f"{self.path}:{line}"
        super().__init__(f"{place}: {message}")
        self._arguments = (self.path, line, message)

    def __reduce__(self) -> tuple[type[FileFormatError], tuple[str, int | None, str]]:
        return type(self), self._arguments


class ParameterError(LabelGroveError, ValueError):
    """A parameter is outside its domain; the message names it and the domain."""


class ModelFileError(LabelGroveError, ValueError):
    """A model file that is incomplete, damaged, hostile or of an unknown version."""


class ModelStateError(LabelGroveError, RuntimeError):
    """The model cannot do this now: in use by another thread, or saved for prediction only."""


class LearningInterrupted(LabelGroveError, KeyboardInterrupt):
    """The user interrupted learning; the model is valid and keeps everything it has learnt.

    Parameters
    ----------
    message : str
        What was interrupted, and where.
    examples_learned : int
        Number of examples of the interrupted call that the model has learnt from.
    """

    def __init__(self, message: str, examples_learned: int) -> None:
        super().__init__(message)
        self.examples_learned = examples_learned

    def __reduce__(self) -> tuple[type[LearningInterrupted], tuple[str, int]]:
        return type(self), (str(self), self.examples_learned)


class MissingDependencyError(LabelGroveError, ImportError):
    """An optional package is missing or cannot be imported; the message says which."""
