"""What the log of a project holds: events, and the words that they are written in.

A model is a function of its project's events, taken in order of their sequence numbers. Bodies
are JSON, so that a log can be read with nothing but SQLite's own shell.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct

MOST_TEXT = 1_000_000
MOST_LABELS = 1_000
MOST_EXAMPLES = 10_000

Name = Annotated[str, Meta(min_length=1, max_length=1_000)]
Text = Annotated[str, Meta(min_length=1, max_length=MOST_TEXT)]
Names = Annotated[list[Name], Meta(min_length=1, max_length=MOST_LABELS)]
Probability = Annotated[float, Meta(ge=0.0, le=1.0)]
ExampleId = Annotated[
    str,
    Meta(
        # Dots alone are no names: paths end there. What follows $ keeps Python's from a line's end.
        pattern=r"^(?!\.{1,2}$)[^@\x00-\x1f/][^\x00-\x1f/]*$(?!\n)",
        max_length=200,
        description="The caller's name for an example. One that begins with @ stands for the "
        "sequence number of an example that was sent without a name.",
    ),
]

PROJECT_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
"""What a project may be called: it becomes the name of a folder."""


class Row(NamedTuple):
    """An event as the log keeps it.

    Attributes
    ----------
    sequence : int
        Its number: 1, 2, 3 and so on, without a gap.
    kind : str
        ``settings`` (the first), or one of `BODIES`.
    name : str or None
        The caller's name of an example.
    body : bytes
        JSON, decoded by `body_of`.
    at : int
        When it was written, in milliseconds since 1970. No model depends on it.
    """

    sequence: int
    kind: str
    name: str | None
    body: bytes
    at: int

    @property
    def checksum(self) -> int:
        """CRC-32 over all of it; stored beside it."""
        head = f"{self.sequence} {self.kind} {self.at} {self.name or ''}\n"
        return zlib.crc32(self.body, zlib.crc32(head.encode()))


class Event(Struct):
    """An event of the log, as it is stored."""

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
    """``forgotten``: what is left of an example that was forgotten."""


class Forgetting(Struct, forbid_unknown_fields=True):
    """``forget``: the sequence numbers of examples whose text and labels left the log."""

    sequences: list[int]


class Renaming(Struct, forbid_unknown_fields=True):
    """``rename``: labels get other names; what was learnt about them stays."""

    names: Annotated[dict[Name, Name], Meta(min_length=1, max_length=10_000)]


class Removal(Struct, forbid_unknown_fields=True):
    """``remove``: labels are never suggested again, until an example has them anew."""

    labels: Annotated[list[Name], Meta(min_length=1, max_length=10_000)]


class Merging(Struct, forbid_unknown_fields=True):
    """``merge``: what had one of these labels has ``into``, from the first example on."""

    labels: Names
    into: Name


class Deprecation(Struct, forbid_unknown_fields=True):
    """``deprecate``: labels are learnt but not suggested; or suggested again."""

    labels: Annotated[list[Name], Meta(min_length=1, max_length=10_000)]
    deprecated: bool = True


class ThresholdValues(Struct, forbid_unknown_fields=True):
    """``thresholds``: from which probability on labels are predicted; null goes back."""

    default: Probability = 0.5
    values: dict[Name, Probability] | None = None


class Rebuilt(Struct, forbid_unknown_fields=True):
    """``rebuilt``: the model begins anew as a tree of all examples up to ``upto``, in batch."""

    upto: int


NAME_CHANGES = ("rename", "remove", "merge")
"""Kinds of events that change what labels are called."""

NEW_BEGINNINGS = ("merge", "rebuilt")
"""Kinds of events at which the model is learnt anew, from the first example on."""

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
    """JSON, the same for the same content."""
    return _encoder.encode(body)


def body_of(row: Row) -> Any:
    """What a row says, as the type that `BODIES` names for its kind.

    Raises
    ------
    msgspec.ValidationError
        It says something else.
    """
    return _decoders[row.kind].decode(row.body)


# --- names of labels, as time goes by ------------------------------------------------------------


def aliases_after(aliases: dict[str, str], change: Any) -> dict[str, str]:
    """Which labels stand for others, after a change: those that were merged into them.

    An example that comes later and still has a merged label has the other one.
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


def aliased(labels: Sequence[str], aliases: dict[str, str]) -> list[str]:
    """Labels by what they stand for, none of them twice."""
    return list(dict.fromkeys(aliases.get(label, label) for label in labels))


def named_now(rows: Iterable[Row], changes: Sequence[Row]) -> Iterator[Example]:
    """The examples among some events, with their labels as changes since then have named them.

    Parameters
    ----------
    rows : iterable of Row
        In order, from the first event on.
    changes : sequence of Row
        All changes of names up to now.

    Yields
    ------
    Example
        Those left without a label are left out.
    """
    to_come = [(row.sequence, body_of(row)) for row in changes]
    aliases: dict[str, str] = {}
    for row in rows:
        while to_come and to_come[0][0] < row.sequence:
            aliases = aliases_after(aliases, to_come.pop(0)[1])
        if row.kind == "learn":
            example = body_of(row)
            labels = aliased(example.labels, aliases)
            for _, change in to_come:
                labels = _changed(labels, change)
            if labels:
                yield Example(row.sequence, example.text, labels)


def _changed(labels: list[str], change: Any) -> list[str]:
    if isinstance(change, Renaming):
        return aliased(labels, change.names)
    if isinstance(change, Merging):
        return aliased(labels, dict.fromkeys(change.labels, change.into))
    if isinstance(change, Removal):
        gone = set(change.labels)
        return [label for label in labels if label not in gone]
    return labels
