"""Standard output for results, standard error for what people watch."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text


def is_terminal(stream: TextIO) -> bool:
    """Tell whether a person watches the stream on a screen that can move its cursor.

    Parameters
    ----------
    stream : file
        Standard output or standard error.

    Returns
    -------
    bool
        False for files, pipes and dumb terminals, whatever colours are asked for.
    """
    return stream.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")


def output_console() -> Console:
    """Give a console on standard output (a new one: tests exchange the streams)."""
    return Console(file=sys.stdout, highlight=False, soft_wrap=not is_terminal(sys.stdout))


def message_console() -> Console:
    """Give a console on standard error."""
    return Console(file=sys.stderr, highlight=False, soft_wrap=not is_terminal(sys.stderr))


def say_error(sentence: str) -> None:
    """Write ``error: sentence`` to standard error, on one line unless a person watches.

    Parameters
    ----------
    sentence : str
        What went wrong, where, and what was expected.
    """
    _say("error:", "bold red", sentence)


def say_warning(sentence: str) -> None:
    """Write ``warning: sentence`` to standard error.

    Parameters
    ----------
    sentence : str
        What the user should know although the command goes on.
    """
    _say("warning:", "bold yellow", sentence)


def say(sentence: str) -> None:
    """Write a plain sentence to standard error.

    Parameters
    ----------
    sentence : str
        What happened.
    """
    message_console().print(Text(sentence))


def _say(kind: str, style: str, sentence: str) -> None:
    # Line ends inside a message (a label, a file name) must not break the one sentence.
    message_console().print(Text.assemble((kind, style), " ", " ".join(sentence.split())))


_NEVER_WRAPPED = 10_000


def write_json(result: Mapping[str, Any]) -> None:
    """Write an object to standard output, as one line of UTF-8.

    Parameters
    ----------
    result : mapping
        Names and values that JSON knows; numbers that it does not know become null.
    """
    sys.stdout.buffer.write(encode(result))
    sys.stdout.flush()


def encode(result: Mapping[str, Any]) -> bytes:
    """Encode an object as one line of JSON.

    Parameters
    ----------
    result : mapping
        As for ``write_json``.

    Returns
    -------
    bytes
        UTF-8, with a line end.
    """
    plain = {name: _plain(value) for name, value in result.items()}
    text = json.dumps(plain, ensure_ascii=False, allow_nan=False)
    # A lone surrogate (from a file name) has no UTF-8: JSON's own escape stands for it.
    return text.encode("utf-8", errors="backslashreplace") + b"\n"


def show_pairs(pairs: Sequence[tuple[str, str]]) -> None:
    """Show names and values in two columns on standard output.

    Parameters
    ----------
    pairs : sequence of (str, str)
        In the order wanted.
    """
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in pairs:
        table.add_row(name, Text(value))
    show(table)


def show(content: RenderableType) -> None:
    """Show something on standard output; in files and pipes no line is broken or padded.

    Parameters
    ----------
    content : renderable
        What rich can draw.
    """
    console = output_console()
    if console.is_terminal:
        console.print(content)
        return
    console.width = _NEVER_WRAPPED
    with console.capture() as drawn:
        console.print(content)
    lines = [line.rstrip() for line in drawn.get().splitlines()]
    sys.stdout.write("\n".join(lines) + "\n")


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(name): _plain(inner) for name, inner in value.items()}
    return value
