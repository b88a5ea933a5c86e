"""What a model file's header keeps of an engine: options, and what compaction has cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from enum import Enum
from typing import Any, Protocol, Self

from labelgrove import _core
from labelgrove._errors import ModelFileError, ParameterError

DTYPES = {dtype.name: dtype.value for dtype in _core.WeightType}
"""Types of weights, and the core's numbers for them."""

PLACES = (1, 3, 5)
"""k of the P@k that a report holds."""


class Options(Protocol):
    """What an engine was started with, every value checked."""

    @property
    def normalize(self) -> bool:
        """Whether rows are scaled to unit length."""

    def to_dict(self) -> dict[str, Any]:
        """As the core takes it, and as the model file keeps it."""

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Self:
        """What :meth:`to_dict` gave, checked again."""


@dataclass(frozen=True)
class SavedOptions(ABC):
    """All that the core must know, every default resolved and every value checked."""

    def to_dict(self) -> dict[str, Any]:
        """As the core takes it, and as the model file keeps it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Self:
        """What :meth:`to_dict` gave, checked again.

        Options that came with later versions have a default, and may be missing.
        """
        names = [field.name for field in fields(cls)]
        saved = cls.completed(saved)
        if sorted(saved) != sorted(names):
            raise ParameterError(f"engine options: expected {', '.join(names)}")
        options = cls.from_parameters(cls._parameters_of(saved))
        if options.to_dict() != dict(saved):
            raise ParameterError("engine options: found a value of the wrong type or domain")
        return options

    @classmethod
    def completed(cls, saved: Mapping[str, Any]) -> dict[str, Any]:
        """What an earlier version saved, with the defaults of what it did not know."""
        known = {field.name: field.default for field in fields(cls)}
        return {
            **{name: value for name, value in known.items() if value is not MISSING},
            **saved,
        }

    @classmethod
    @abstractmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> Self:
        """Resolve and check an estimator's parameters.

        Raises
        ------
        ParameterError
            Naming the parameter, its value and its domain.
        """

    @classmethod
    @abstractmethod
    def _parameters_of(cls, saved: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters that give these options; None for a value that none gives."""


def words_of(enumeration: type[Enum]) -> dict[str, int]:
    """The words that parameters know a core's enumeration by, and the numbers that files hold."""
    return {one.name.replace("_", "-"): one.value for one in enumeration}


def word_for(value: Any, words: Mapping[str, int]) -> str | None:
    """The word that stands for a number, None if none does."""
    return {number: word for word, number in words.items()}.get(value)


@dataclass(frozen=True)
class CompactionReport:
    """What a compact copy of a model saves and loses.

    Attributes
    ----------
    dtype : {"float32", "float16", "int8"}
        How weights are held.
    threshold : float
        Weights that add less than this to the linear score of a feature of value 1 were dropped, or
        features whose vectors are shorter.
    weights_before, weights_after : int
        Weights held.
    bytes_before, bytes_after : int
        Bytes of the model's file, when it is saved for prediction.
    precision_before, precision_after : tuple of 3 float, or None
        P@1, P@3 and P@5 on the data that were given; None without data.
    """

    dtype: str
    threshold: float
    weights_before: int
    weights_after: int
    bytes_before: int
    bytes_after: int
    precision_before: tuple[float, ...] | None = None
    precision_after: tuple[float, ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        """As a model's file keeps it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Self:
        """What :meth:`to_dict` gave.

        Raises
        ------
        ModelFileError
            If it is not.
        """
        values = dict(saved)
        for name in ("precision_before", "precision_after"):
            if isinstance(values.get(name), list):
                values[name] = tuple(values[name])
        try:
            report = cls(**values)
        except TypeError as error:
            raise ModelFileError(f"the header's 'compact': {error}") from error
        if not report._is_sound():
            raise ModelFileError("the header's 'compact' holds a value that cannot be")
        return report

    def _is_sound(self) -> bool:
        weights, sizes = (
            (self.weights_before, self.weights_after),
            (self.bytes_before, self.bytes_after),
        )
        measured = [one for one in (self.precision_before, self.precision_after) if one is not None]
        return (
            isinstance(self.dtype, str)
            and self.dtype in DTYPES
            and all(type(count) is int and count >= 0 for count in weights)
            and all(type(size) is int and size >= 1 for size in sizes)
            and type(self.threshold) in {int, float}
            and self.threshold >= 0
            and all(len(one) == len(PLACES) for one in measured)
            and all(type(p) in {int, float} and 0 <= p <= 1 for one in measured for p in one)
        )
