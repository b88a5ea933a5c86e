"""Standard output for results, standard error for what people watch: two consoles."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from rich.console import Console
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
