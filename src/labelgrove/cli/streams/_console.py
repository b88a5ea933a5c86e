"""Results on standard output; progress, messages and errors on standard error."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from labelgrove._paths import named


def is_terminal(stream: TextIO) -> bool:
    """Return whether the stream is a terminal that can move its cursor."""
    return stream.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")


# Characters that move the cursor, change colours, ring or reverse the text: control characters
# other than newline and tab, and Unicode's line separators and direction marks.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_PICTURES = {character: 0x2400 + character for character in range(32)} | {0x7F: 0x2421}


def visible(text: str) -> str:
    r"""Replace characters that would control the terminal by visible ones.

    Labels, feature names and file names may come from untrusted sources.

    >>> visible("\x1b[31mred\x9b")
    '␛[31mred�'
    """
    return _UNSEEN.sub(lambda found: chr(_PICTURES.get(ord(found[0]), 0xFFFD)), text)


class _VisibleConsole(Console):
    """A console whose texts cannot control the terminal; only the console itself does."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))


def output_console() -> Console:
    """Return a new console on standard output (not a shared one: tests replace the streams)."""
    return _VisibleConsole(file=sys.stdout, highlight=False, soft_wrap=not is_terminal(sys.stdout))


def message_console() -> Console:
    """Return a console on standard error."""
    return _VisibleConsole(file=sys.stderr, highlight=False, soft_wrap=not is_terminal(sys.stderr))


def about_os_error(failure: OSError) -> str:
    """Describe an OS error: the file, if any, and the reason."""
    reason = failure.strerror or str(failure) or type(failure).__name__
    reason = reason[:1].lower() + reason[1:]
    names = [os.fsdecode(name) for name in (failure.filename, failure.filename2) if name]
    if not names and isinstance(failure, FileNotFoundError):  # of os.getcwd, after its removal
        names = ["the current folder"]
    return f"{names[-1]}: {reason}" if names else reason


def say_error(sentence: str) -> None:
    """Write ``error: sentence`` to standard error, on one line unless it is a terminal."""
    _say("error:", "bold red", sentence)


def say_warning(sentence: str) -> None:
    """Write ``warning: sentence`` to standard error."""
    _say("warning:", "bold yellow", sentence)


def say(sentence: str) -> None:
    """Write a plain sentence to standard error."""
    message_console().print(Text(sentence))


def _say(kind: str, style: str, sentence: str) -> None:
    # Newlines inside a message (in a label or a file name) must not split it.
    message_console().print(Text.assemble((kind, style), " ", " ".join(sentence.split())))


_NARROWEST, _NEVER_WRAPPED = 40, 10_000

STANDARD_OUTPUT = "standard output"

_to_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def write_json(result: Mapping[str, Any]) -> None:
    """Write an object to standard output, as one line of JSON in UTF-8.

    NaN and infinities become null.
    """
    with named(STANDARD_OUTPUT):
        sys.stdout.buffer.write(encode(result))
        sys.stdout.flush()


def encode(result: Mapping[str, Any]) -> bytes:
    """Encode an object as one line of JSON, with control characters escaped."""
    try:
        text = _to_json(dict(result))
    except ValueError:  # there is a NaN or infinity; to look first takes longer than the encoding
        text = _to_json(_plain(dict(result)))
    text = _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    # UTF-8 cannot encode a lone surrogate (from a file name); write it as a JSON escape.
    return text.encode("utf-8", errors="backslashreplace") + b"\n"


def encode_prediction(
    labels: Sequence[Any], scores: Iterable[float], names: Iterable[str | None] | None = None
) -> bytes:
    """Encode the labels of an example, with their names if there is a vocabulary."""
    named = {} if names is None else {"names": list(names)}
    # Scores have single precision: further digits would be noise.
    rounded = [float(f"{score:.6g}") for score in scores]
    return encode({"labels": labels, **named, "scores": rounded})


def show_result(
    result: Mapping[str, Any], pairs: Sequence[tuple[str, str]], *, as_json: bool
) -> None:
    """Write a result as JSON for programs, or show these pairs to people."""
    if as_json:
        write_json(result)
    else:
        show_pairs(pairs)


def show_pairs(pairs: Sequence[tuple[str, str]]) -> None:
    """Show names and values in two columns on standard output."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in pairs:
        table.add_row(name, Text(value))
    show(table)


def show(content: RenderableType) -> None:
    """Show something on standard output; without a terminal, lines are not wrapped or padded."""
    console = output_console()
    with named(STANDARD_OUTPUT):
        if console.is_terminal:
            # Rich leaves out what does not fit; a narrower terminal breaks the lines itself.
            console.width = max(console.width, _NARROWEST)
            console.print(content)
            return
        console.width = _NEVER_WRAPPED
        with console.capture() as drawn:
            console.print(content)
        lines = [line.rstrip() for line in drawn.get().splitlines()]
        sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value
