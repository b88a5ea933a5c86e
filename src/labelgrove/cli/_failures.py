"""One door out for everything that goes wrong: a sentence on standard error and a status.

Status 0 is success, 1 a failure, 2 a wrong command line, 130 a stop by Ctrl-C, 141 a reader
of our output that went away (the status that a shell gives to a program ended by SIGPIPE).
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import typer

from labelgrove._errors import LabelGroveError
from labelgrove.cli._console import say_error

FAILURE = 1
INTERRUPTED = 130
BROKEN_PIPE = 141

#: True when ``--debug`` asks for the traceback of a failure.
debugging: ContextVar[bool] = ContextVar("debugging", default=False)


@contextmanager
def reported_failures() -> Iterator[None]:
    """Turn every exception of the body into a sentence and the end of the program.

    Raises
    ------
    SystemExit
        With the status described at the head of this module.
    """
    try:
        yield
        sys.stdout.flush()
    except (SystemExit, typer.Exit):
        raise
    except BaseException as failure:
        if debugging.get() and not isinstance(failure, BrokenPipeError):
            raise
        raise SystemExit(_report(failure)) from None


def _report(failure: BaseException) -> int:
    """Say what happened; return the exit status."""
    if isinstance(failure, BrokenPipeError):
        _abandon_stdout()
        return BROKEN_PIPE
    if isinstance(failure, OSError):
        if failure.errno == errno.ENOSPC:
            _abandon_stdout()
        say_error(_about_os_error(failure))
        return FAILURE
    if isinstance(failure, KeyboardInterrupt | typer.Abort):
        say_error(str(failure) or "stopped by Ctrl-C")
        return INTERRUPTED
    if isinstance(failure, LabelGroveError):
        say_error(str(failure))
        return FAILURE
    if isinstance(failure, MemoryError):
        say_error(f"out of memory{f': {failure}' if str(failure) else ''}")
        return FAILURE
    usage = getattr(failure, "format_message", None)
    if usage is not None:
        say_error(_about_usage(failure, str(usage())))
        return int(getattr(failure, "exit_code", FAILURE))
    say_error(
        f"this is a fault of LabelGrove itself ({type(failure).__name__}: {failure}); "
        "please report it with what the same command prints under --debug"
    )
    return FAILURE


def _about_os_error(failure: OSError) -> str:
    reason = failure.strerror or str(failure) or type(failure).__name__
    reason = reason[:1].lower() + reason[1:]
    names = [os.fsdecode(name) for name in (failure.filename, failure.filename2) if name]
    return f"{names[-1]}: {reason}" if names else reason


def _about_usage(failure: BaseException, message: str) -> str:
    """Complete the parser's words with the command whose help says more."""
    message = message.rstrip(".")
    context = getattr(failure, "ctx", None)
    if context is None:
        return message
    return f"{message[:1].lower()}{message[1:]} (see '{context.command_path} --help')"


def _abandon_stdout() -> None:
    """Let nothing be written again at exit, where Python would print a second error."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):  # a stream without a descriptor, in tests
        return
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)
