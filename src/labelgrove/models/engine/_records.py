"""Records in a model file's header: the engine's options, and the report of a compaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, asdict, dataclass, field, fields
from enum import Enum
from typing import Any, ClassVar, NamedTuple, Self

from labelgrove import _core
from labelgrove._errors import ModelFileError, ParameterError
from labelgrove._parameters import choice, seed_from

DTYPES = {dtype.name: dtype.value for dtype in _core.WeightType}
"""The core's numbers of the types of weights."""

PLACES = (1, 3, 5)
"""The k of the P@k in a report."""


class Source(NamedTuple):
    """The parameter of an estimator that an option comes from."""

    name: str
    read: Callable[[str, Any], Any]  # from name and value to the option; may refuse them
    write: Callable[[Any], Any]  # from an option to a value that gives it, None if none does


def _from(source: Source, default: Any = MISSING) -> Any:
    return field(default=default, metadata={"source": source})


def given(
    name: str,
    check: Callable[..., Any],
    *domain: Any,
    zero: Any = MISSING,
    default: Any = MISSING,
) -> Any:
    """Declare an option that is a parameter's value, as ``check(name, value, *domain)`` returns it.

    The word ``zero``, or None, as the parameter's value gives the option 0. Models saved before
    there was such an option have ``default``.
    """

    def read(name: str, value: Any) -> Any:
        is_zero = isinstance(value, str | None) and value == zero
        return 0 if is_zero else check(name, value, *domain)

    def write(option: Any) -> Any:
        return option if option or zero is MISSING else zero

    return _from(Source(name, read, write), default)


def word(name: str, words: Mapping[str, Any]) -> Any:
    """Declare an option that a parameter gives by one of a few words."""
    return _from(
        Source(
            name,
            lambda name, value: words[choice(name, value, words)],
            lambda option: word_for(option, words),
        )
    )


def seed() -> Any:
    """Declare the seed that ``random_state`` gives."""
    return _from(Source("random_state", lambda _, value: seed_from(value), lambda option: option))


class Options:
    """Options that an engine was started with, with values checked.

    Subclasses are dataclasses. An option that a single parameter gives is declared with `given`,
    `word` or `seed`; the others are arguments of `_with`.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    normalize: bool
    """Whether rows are scaled to unit length."""

    n_trees: int = 1
    """Number of trees that share the limit on memory."""

    sums_bytes: int = 0
    """Limit on the sums of a second stage; 0 for none."""

    def odds(self, _: int, /) -> float:
        """Return the power of a class's odds in proportion to which it is the only right one.

        The argument is the number of classes. The power is a multiple of 1/4, used until a second
        stage has learnt another; 0 if the probabilities of all labels sum to 1 anyway. See
        docs/decisions/calibration.md.
        """
        return 0.0

    @property
    def learns_odds_to(self) -> int:
        """Largest number of classes for which a second stage can learn that power."""
        return 2**32

    def to_dict(self) -> dict[str, Any]:
        """Return the options in the form used by the core and by model files."""
        return asdict(self)

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Self:
        """Restore and check options from the result of :meth:`to_dict`.

        Options added by later versions have defaults, and may be missing.
        """
        names = [one.name for one in fields(cls)]
        saved = cls.completed(saved)
        if sorted(saved) != sorted(names):
            raise ParameterError(f"engine options: expected {', '.join(names)}")
        options = cls.from_parameters(cls._parameters_of(saved))
        if options.to_dict() != dict(saved):
            raise ParameterError("engine options: found a value of the wrong type or domain")
        return options

    @classmethod
    def completed(cls, saved: Mapping[str, Any]) -> dict[str, Any]:
        """Return options saved by an earlier version, with defaults for newer options."""
        defaults = {one.name: one.default for one in fields(cls) if one.default is not MISSING}
        return {**defaults, **saved}

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> Self:
        """Resolve and check an estimator's parameters."""
        return cls._with(parameters)

    @classmethod
    def _with(cls, parameters: Mapping[str, Any], **others: Any) -> Self:
        """Check the parameters that give options of their own, and add the other options."""
        found = {
            option: source.read(source.name, parameters[source.name])
            for option, source in cls._sources().items()
        }
        return cls(**found, **others)

    @classmethod
    def _parameters_of(cls, saved: Mapping[str, Any]) -> dict[str, Any]:
        """Return parameters that give these options; None for a value that no parameter gives."""
        sources = cls._sources()
        return {source.name: source.write(saved[option]) for option, source in sources.items()}

    @classmethod
    def _sources(cls) -> dict[str, Source]:
        return {one.name: one.metadata["source"] for one in fields(cls) if "source" in one.metadata}


def words_of(enumeration: type[Enum]) -> dict[str, int]:
    """Map the values of a parameter to the numbers of a core's enumeration, as in files."""
    return {one.name.replace("_", "-"): one.value for one in enumeration}


def word_for(value: Any, words: Mapping[str, int]) -> str | None:
    """Return the word for a number, or None if there is none."""
    return {number: word for word, number in words.items()}.get(value)


@dataclass(frozen=True)
class CompactionReport:
    """What a compact copy of a model saves and loses.

    Attributes
    ----------
    dtype : {"float32", "float16", "int8"}
        How weights are stored.
    threshold : float
        Weights that contribute less than this to the linear score of a feature with value 1 were
        dropped, or features whose vectors are shorter.
    weights_before, weights_after : int
        Number of weights.
    bytes_before, bytes_after : int
        Size of the model's file when saved for prediction.
    precision_before, precision_after : tuple of 3 float, or None
        P@1, P@3 and P@5 on the given data; None without data.
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
        """Return the report in the form used by model files."""
        return asdict(self)

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Self:
        """Restore and check a report from the result of :meth:`to_dict`."""
        values = dict(saved)
        for name in ("precision_before", "precision_after"):
            if isinstance(values.get(name), list):
                values[name] = tuple(values[name])
        try:
            report = cls(**values)
        except TypeError as error:
            raise ModelFileError(f"the header's 'compact': {error}") from error
        if not report._is_sound():
            raise ModelFileError("the header's 'compact' has an invalid value")
        return report

    def _is_sound(self) -> bool:
        weights = self.weights_before, self.weights_after
        sizes = self.bytes_before, self.bytes_after
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
