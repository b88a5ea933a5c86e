"""``--set name=value``: text from the command line as a parameter's own type."""

from __future__ import annotations

import builtins
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from labelgrove._errors import ParameterError

_TRUE = ("true", "yes", "on", "1")
_FALSE = ("false", "no", "off", "0")
_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a word"}


@dataclass(frozen=True)
class Settings:
    """Parameters given by ``--set``.

    Parameters
    ----------
    estimator : dict
        Parameters of the estimator.
    text : dict
        Parameters of the text front-end (those written ``text.name=value``).
    """

    estimator: dict[str, Any] = field(default_factory=dict)
    text: dict[str, Any] = field(default_factory=dict)


def parse_settings(
    assignments: Iterable[str],
    estimator: Callable[..., Any],
    text: Callable[..., Any],
    reserved: Mapping[str, str],
) -> Settings:
    """Read all ``--set`` of a command line.

    Parameters
    ----------
    assignments : iterable of str
        Each ``name=value`` or ``text.name=value``; the last of several for one name counts.
    estimator, text : type
        The classes whose constructors say which names there are and what type each has.
    reserved : mapping
        Names of the estimator that have an option of their own, to that option.

    Returns
    -------
    Settings
        The values, each of its parameter's type.

    Raises
    ------
    ParameterError
        Where an assignment has no ``=``, an unknown name or a value of the wrong type.
    """
    settings = Settings()
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        name = name.strip()
        if not equals or not name:
            raise ParameterError(f"--set {assignment}: expected name=value, as in --set alpha=0.5")
        if name in reserved:
            raise ParameterError(f"--set {name}: give it by the option {reserved[name]}")
        prefix, dot, rest = name.partition(".")
        if dot and prefix == "text":
            settings.text[rest] = _parse(rest, value, text, "text.")
        else:
            settings.estimator[name] = _parse(name, value, estimator, "", hidden=reserved)
    return settings


def settable_types(owner: Callable[..., Any]) -> dict[str, tuple[Any, ...]]:
    """List what the command line can set: parameter name → the types that it takes.

    Parameters
    ----------
    owner : type
        A class with typed keyword parameters in its constructor.

    Returns
    -------
    dict
        Each value a tuple of ``int``, ``float``, ``bool``, ``str``, ``NoneType``, ``Literal[...]``
        and ``tuple[...]`` of numbers; parameters that take only other objects are left out.
    """
    constructor = owner.__init__ if inspect.isclass(owner) else owner
    hints = get_type_hints(constructor, localns=_Names(getattr(constructor, "__globals__", {})))
    found = {}
    for name in inspect.signature(owner).parameters:
        kinds = _alternatives(hints.get(name, str))
        if any(kind is not types.NoneType for kind in kinds):
            found[name] = kinds
    return found


class _Names(dict[str, Any]):
    """Names for evaluating annotations; those imported for type checking only are objects."""

    def __missing__(self, name: str) -> Any:
        return getattr(builtins, name, getattr(typing, name, object))


def _alternatives(hint: Any) -> tuple[Any, ...]:
    """Flatten a union and keep what can be written on a command line."""
    if get_origin(hint) in (Union, types.UnionType):
        return tuple(kind for part in get_args(hint) for kind in _alternatives(part))
    simple = hint in (int, float, bool, str, types.NoneType)
    return (hint,) if simple or get_origin(hint) in (Literal, tuple) else ()


def _parse(
    name: str,
    text: str,
    owner: Callable[..., Any],
    prefix: str,
    hidden: Iterable[str] = (),
) -> Any:
    known = settable_types(owner)
    if name not in known:
        _refuse_name(name, owner, prefix, [key for key in known if key not in hidden])
    for kind in sorted(known[name], key=_rank):
        try:
            return _convert(text.strip(), kind)
        except ValueError:
            continue
    expected = " or ".join(dict.fromkeys(_describe(kind) for kind in known[name]))
    raise ParameterError(f"--set {prefix}{name}={text}: expected {expected}")


def _refuse_name(name: str, owner: Callable[..., Any], prefix: str, known: list[str]) -> None:
    if name in inspect.signature(owner).parameters:
        raise ParameterError(f"--set {prefix}{name}: this parameter can only be set from Python")
    close = get_close_matches(name, known, n=1)
    hint = f"; did you mean {prefix}{close[0]}?" if close else ""
    names = ", ".join(f"{prefix}{key}" for key in sorted(known))
    raise ParameterError(f"--set {prefix}{name}: no such parameter{hint} (there are {names})")


def _rank(kind: Any) -> int:
    """Order of trial: the stricter first, a plain word last."""
    order = (types.NoneType, bool, int, float)
    return order.index(kind) if kind in order else len(order) + (kind is str)


def _convert(text: str, kind: Any) -> Any:
    """Convert or raise ValueError."""
    lowered = text.lower()
    if kind is types.NoneType:
        if lowered in ("none", "null"):
            return None
    elif kind is bool:
        if lowered in _TRUE or lowered in _FALSE:
            return lowered in _TRUE
    elif kind is str:
        return text
    elif get_origin(kind) is Literal:
        for choice in get_args(kind):
            if text == str(choice):
                return choice
    elif get_origin(kind) is tuple:
        element = get_args(kind)[0]
        parts = tuple(_convert(part.strip(), element) for part in text.strip("()[]").split(","))
        if Ellipsis in get_args(kind) or len(parts) == len(get_args(kind)):
            return parts
    elif kind is int and "e" in lowered and float(text).is_integer():
        return int(float(text))  # 1e6 is how people write a million
    else:
        return kind(text)
    raise ValueError(text)


def _describe(kind: Any) -> str:
    if kind is types.NoneType:
        return "none"
    if get_origin(kind) is Literal:
        return ", ".join(str(choice) for choice in get_args(kind))
    if get_origin(kind) is tuple:
        return "numbers separated by commas"
    return _WORDS[kind]
