"""What engines are started with, to and from the dicts that model files keep."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import Enum
from typing import Any, Protocol, Self

from labelgrove._errors import ParameterError


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

        Raises
        ------
        ParameterError
        """
        names = [field.name for field in fields(cls)]
        if sorted(saved) != sorted(names):
            raise ParameterError(f"engine options: expected {', '.join(names)}")
        options = cls.from_parameters(cls._parameters_of(saved))
        if options.to_dict() != dict(saved):
            raise ParameterError("engine options: found a value of the wrong type or domain")
        return options

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
