"""The errors that LabelGrove raises on purpose: one tree, one sentence each."""

from __future__ import annotations

from os import PathLike, fspath

from sklearn.exceptions import NotFittedError


class LabelGroveError(Exception):
    """Root of every error that the library raises on purpose."""


class DataError(LabelGroveError, ValueError):
    """Examples or labels that cannot be used; the message names the place."""


class FileFormatError(DataError):
    """A data file whose content is malformed.

    Parameters
    ----------
    path : str or os.PathLike
        The file as the caller named it.
    line : int or None
        Line number, counted from 1; None when the whole file is meant.
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
    """A parameter outside its domain; the message names it and the domain."""


class ModelFileError(LabelGroveError, ValueError):
    """A model file that is missing parts, damaged, hostile or of an unknown version."""


class NotLearnedError(LabelGroveError, NotFittedError):
    """Something was asked of a model that has not learnt from any example yet."""


class ModelStateError(LabelGroveError, RuntimeError):
    """A model that cannot do this now: in use by another thread, or saved for prediction only."""


class LearningInterrupted(LabelGroveError, KeyboardInterrupt):
    """Learning was stopped by the user; the model is valid and keeps all it has learnt.

    Parameters
    ----------
    message : str
        What was stopped, and where.
    examples_learned : int
        Examples of the interrupted call that the model has learnt from.
    """

    def __init__(self, message: str, examples_learned: int) -> None:
        super().__init__(message)
        self.examples_learned = examples_learned

    def __reduce__(self) -> tuple[type[LearningInterrupted], tuple[str, int]]:
        return type(self), (str(self), self.examples_learned)


class MissingDependencyError(LabelGroveError, ImportError):
    """An optional package is needed; the message says how to install it."""
