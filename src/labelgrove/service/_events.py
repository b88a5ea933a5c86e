"""The events of a project's log, and their encoding.

A model is a function of its project's events, in order of their sequence numbers. Bodies are JSON,
so that a log can be read with nothing but SQLite's shell.
"""

from __future__ import annotations

import re
import zlib
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct

from labelgrove.service._problems import Problem

MOST_TEXT = 1_000_000
MOST_LABELS = 1_000
MOST_EXAMPLES = 10_000

# "." and ".." are not names, since clients resolve them in paths. The part after $ stops Python's $
# from matching before a trailing newline.
_EXAMPLE_ID = r"^(?!\.{1,2}$)[^@\x00-\x1f/][^\x00-\x1f/]*$(?!\n)"
_LANGUAGE = r"^[a-z]{2,3}(-[A-Za-z0-9]{1,8})*$(?!\n)"
_NOT_BLANK = r"\S"
_IN_WORDS = {
    _NOT_BLANK: "that is not blank",
    _EXAMPLE_ID: "without slashes and control characters that does not begin with @ and is not . "
    "or ..",
    _LANGUAGE: "with a language code, such as en or pt-BR",
}

Name = Annotated[str, Meta(min_length=1, max_length=1_000)]
Text = Annotated[str, Meta(min_length=1, max_length=MOST_TEXT)]
Names = Annotated[list[Name], Meta(min_length=1, max_length=MOST_LABELS)]
# Of requests; older logs may hold blank labels.
NewLabel = Annotated[Name, Meta(pattern=_NOT_BLANK)]
NewLabels = Annotated[list[NewLabel], Meta(min_length=1, max_length=MOST_LABELS)]
Probability = Annotated[float, Meta(ge=0.0, le=1.0)]
ExampleId = Annotated[
    str,
    Meta(
        pattern=_EXAMPLE_ID,
        max_length=200,
        description="The caller's name for an example. @ followed by a sequence number names an "
        "example that was sent without a name.",
    ),
]

Language = Annotated[str, Meta(pattern=_LANGUAGE)]

PROJECT_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
"""Valid project names; each becomes the name of a folder."""


class Row(NamedTuple):
    """An event as stored in the log.

    Attributes
    ----------
    sequence : int
        Its number: 1, 2, 3 and so on, without gaps.
    kind : str
        ``settings`` (the first), or one of `BODIES`.
    name : str or None
        The caller's name of an example.
    body : bytes
        JSON, decoded by `body_of`.
    at : int
        Time of writing, in milliseconds since 1970. No model depends on it.
    """

    sequence: int
    kind: str
    name: str | None
    body: bytes
    at: int

    @property
    def checksum(self) -> int:
        """CRC-32 of the whole event; stored with it."""
        head = f"{self.sequence} {self.kind} {self.at} {self.name or ''}\n"
        return zlib.crc32(self.body, zlib.crc32(head.encode()))


class Event(Struct):
    """An event as stored in the log."""

    sequence: int
    kind: str
    name: str | None
    body: msgspec.Raw
    at: int
    checksum: int


class Example(NamedTuple):
    """An example for a model: its sequence number, its text and its labels."""

    sequence: int
    text: str
    labels: list[str]


# --- bodies --------------------------------------------------------------------------------------


class Learnt(Struct, forbid_unknown_fields=True):
    """``learn``: an example."""

    text: Text
    labels: Names


class Forgotten(Struct, forbid_unknown_fields=True):
    """``forgotten``: the remains of a forgotten example."""


class Forgetting(Struct, forbid_unknown_fields=True):
    """``forget``: the sequence numbers of examples whose text and labels were erased."""

    sequences: list[int]


class Renaming(Struct, forbid_unknown_fields=True):
    """``rename``: labels get new names; what was learnt about them remains."""

    names: Annotated[dict[Name, Name], Meta(min_length=1, max_length=10_000)]


class Removal(Struct, forbid_unknown_fields=True):
    """``remove``: labels are no longer suggested, until a new example has them."""

    labels: Annotated[list[Name], Meta(min_length=1, max_length=10_000)]


class Merging(Struct, forbid_unknown_fields=True):
    """``merge``: all examples with one of these labels get ``into`` instead, past and future."""

    labels: Names
    into: Name


class Deprecation(Struct, forbid_unknown_fields=True):
    """``deprecate``: labels are still learnt but no longer suggested, or suggested again."""

    labels: Annotated[list[Name], Meta(min_length=1, max_length=10_000)]
    deprecated: bool = True


class ThresholdValues(Struct, forbid_unknown_fields=True):
    """``thresholds``: the least probability of each predicted label; null restores the default."""

    default: Probability = 0.5
    values: dict[Name, Probability] | None = None


class Rebuilt(Struct, forbid_unknown_fields=True):
    """``rebuilt``: the model restarts from a batch model of all examples up to ``upto``."""

    upto: int


NAME_CHANGES = ("rename", "remove", "merge")
"""Kinds of events that change the labels of earlier examples."""

NEW_BEGINNINGS = ("merge", "rebuilt")
"""Kinds of events at which the model is learnt again from the first example."""

BODIES: dict[str, type[Struct]] = {
    "learn": Learnt,
    "forgotten": Forgotten,
    "forget": Forgetting,
    "rename": Renaming,
    "remove": Removal,
    "merge": Merging,
    "deprecate": Deprecation,
    "thresholds": ThresholdValues,
    "rebuilt": Rebuilt,
}

_encoder = msgspec.json.Encoder(order="deterministic")
_decoders: dict[str, msgspec.json.Decoder[Any]] = {
    kind: msgspec.json.Decoder(body) for kind, body in BODIES.items()
}


def encoded(body: Any) -> bytes:
    """Encode as JSON, deterministically."""
    return _encoder.encode(body)


def checked(kind: str, body: Any) -> bytes:
    """Encode the body of a new event, which `body_of` must be able to decode.

    Raises Problem: 422 if the body violates the limits of its kind.
    """
    written = encoded(body)
    if kind in BODIES:
        try:
            _decoders[kind].decode(written)
        except msgspec.ValidationError as error:
            raise Problem(422, sentence(error)) from None
    for label in _given_by(body):
        if not label.strip():
            raise Problem(422, f"label {label!r:.80} is blank; expected a name")
    return written


def _given_by(body: Any) -> Iterable[str]:
    """Return the labels that may be new to a model."""
    if isinstance(body, Renaming):
        return body.names.values()
    if isinstance(body, Merging):
        return [body.into]
    return body.labels if isinstance(body, Learnt) else ()


def sentence(error: msgspec.ValidationError) -> str:
    """Say where a request is wrong; regular expressions are put in words."""
    said = str(error).replace(" - at `$", " at `")
    for pattern, words in _IN_WORDS.items():
        said = said.replace(f"matching regex {pattern!r}", words)
    return said


def body_of(row: Row) -> Any:
    """Decode the body of a row to the type that `BODIES` lists for its kind.

    Raises msgspec.ValidationError if the body does not match the type.
    """
    return _decoders[row.kind].decode(row.body)


# --- changes of label names ----------------------------------------------------------------------


def aliases_after(aliases: dict[str, str], change: Any) -> dict[str, str]:
    """Update the aliases of merged labels after a change.

    A later example with a merged label gets the label that it was merged into.
    """
    if isinstance(change, Merging):
        gone = set(change.labels)
        aliases = {old: change.into if new in gone else new for old, new in aliases.items()}
        aliases |= dict.fromkeys(gone, change.into)
        return {old: new for old, new in aliases.items() if old != new}
    if isinstance(change, Renaming):
        taken = set(change.names.values())
        aliases = {old: change.names.get(new, new) for old, new in aliases.items()}
        return {old: new for old, new in aliases.items() if old not in taken}
    if isinstance(change, Removal):
        gone = set(change.labels)
        return {old: new for old, new in aliases.items() if new not in gone}
    return aliases


def thresholds_after(thresholds: ThresholdValues | None, change: Any) -> ThresholdValues | None:
    """Let the thresholds that were set follow their labels through a change, as in the model.

    A label that is removed, or merged into another, leaves none for a later label of its name.
    """
    if isinstance(change, ThresholdValues):
        return None if change.values is None else change
    if thresholds is None or not isinstance(change, Renaming | Merging | Removal):
        return thresholds
    values = dict(thresholds.values or {})
    renamed: dict[str, float] = {}
    if isinstance(change, Renaming):
        renamed = {new: values.pop(old) for old, new in change.names.items() if old in values}
        gone = set(change.names.values())
    else:
        gone = set(change.labels) - {change.into if isinstance(change, Merging) else None}
    for label in gone:
        values.pop(label, None)
    return ThresholdValues(thresholds.default, values | renamed)


def aliased(labels: Sequence[str], aliases: dict[str, str]) -> list[str]:
    """Resolve the aliases of labels, without duplicates and the blank ones of older logs."""
    return [one for one in dict.fromkeys(aliases.get(one, one) for one in labels) if one.strip()]


def named_now(rows: Iterable[Row], changes: Sequence[Row]) -> Iterator[Example]:
    """Yield the examples among some events with the current names of their labels.

    The events are in order, from the first one; `changes` are all changes of label names so far.
    Examples without any remaining label are skipped.
    """
    to_come = deque((row.sequence, body_of(row)) for row in changes)
    names, aliases = _LaterNames(to_come), dict[str, str]()
    for row in rows:
        while to_come and to_come[0][0] < row.sequence:
            aliases = aliases_after(aliases, to_come.popleft()[1])
        if row.kind == "learn":
            example = body_of(row)
            known = (names.find(one, row.sequence) for one in aliased(example.labels, aliases))
            labels = [*dict.fromkeys(one for one in known if one is not None)]
            if labels:
                yield Example(row.sequence, example.text, labels)


class _LaterNames:
    """Follows labels through later changes of their names.

    It looks only at the changes of the label it follows: applying every change to every example
    would take minutes after some hundred of them.
    """

    def __init__(self, changes: Iterable[tuple[int, Any]]) -> None:
        self._steps: dict[str, list[tuple[int, str | None]]] = {}
        for sequence, change in changes:
            for old, new in _names_after(change).items():
                self._steps.setdefault(old, []).append((sequence, new))

    def find(self, label: str, sequence: int) -> str | None:
        """Return the last name of a label that has this one at an event; None if it is removed."""
        found: str | None = label
        while found is not None:
            steps = self._steps.get(found, [])
            place = bisect_right(steps, sequence, key=itemgetter(0))
            if place == len(steps):
                break
            sequence, found = steps[place]
        return found


def _names_after(change: Any) -> Mapping[str, str | None]:
    """Return the new name of each label that a change names, or None if it removes the label."""
    if isinstance(change, Renaming):  # older logs may have blank names
        return {old: new if new.strip() else None for old, new in change.names.items()}
    if isinstance(change, Merging):
        return dict.fromkeys(change.labels, change.into if change.into.strip() else None)
    return dict.fromkeys(change.labels) if isinstance(change, Removal) else {}
