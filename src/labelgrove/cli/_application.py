"""The Typer application, and its error reporting.

Every failure is reported as one sentence on standard error and an exit status: 0 for success, 1 for
a failure, 2 for a wrong command line, 130 for Ctrl-C, and 141 if the reader of our output went away
(the status that a shell reports for a program killed by SIGPIPE).
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import accumulate
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from labelgrove._errors import LabelGroveError
from labelgrove._paths import is_there
from labelgrove._unfinished import DISK_FULL
from labelgrove._version import __version__
from labelgrove.cli.streams._console import about_os_error, say_error
from labelgrove.cli.streams._output import check_outputs
from labelgrove.cli.streams._source import check_inputs

FAILURE = 1
INTERRUPTED = 130
BROKEN_PIPE = 141

#: Set by ``--debug``: failures show their traceback.
debugging: ContextVar[bool] = ContextVar("debugging", default=False)

#: Set by ``--trust-pattern``: regular expressions in model files are trusted.
trusting: ContextVar[bool] = ContextVar("trusting", default=False)


#: Parameters of estimators that have their own option.
OPTIONS = {
    "n_jobs": "--jobs",
    "random_state": "--seed",
    "epochs": "--passes",
    "n_trees": "--trees",
}
_NAMED = OPTIONS | {
    "labels_per_row": "--labels",
    "least_recall": "--recall",
    "beam_width": "--beam",
}
_PARAMETER = re.compile(rf"^({'|'.join(_NAMED)})='?([^':]*)'?:")

_INVALID = re.compile(
    r"Invalid value for '([^']+)'.*: Input should be "
    r"(greater than or equal to|less than or equal to|a valid integer|a valid number)([^,]*).*"
)
_SURPLUS = re.compile(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)")
_NO_CHOICE = re.compile(r"Invalid value for '([^']+)': (?:Value error, )?'(.*)' is not one of (.*)")
_EXPECTED = {
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
    "a valid integer": "an integer",
    "a valid number": "a number",
}


@contextmanager
def reported_failures() -> Iterator[None]:
    """Report any exception of the body as one sentence, then exit."""
    try:
        yield
        sys.stdout.flush()
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # rich exits with status 1
            raise SystemExit(BROKEN_PIPE) from None
        raise
    except typer.Exit:
        raise
    except BaseException as failure:
        if debugging.get() and not isinstance(failure, BrokenPipeError):
            raise
        raise SystemExit(_report(failure)) from None


def _report(failure: BaseException) -> int:
    """Print the error; return the exit status."""
    if isinstance(failure, BrokenPipeError):
        _abandon_stdout()
        return BROKEN_PIPE
    if isinstance(failure, OSError):
        if failure.errno in DISK_FULL:
            _abandon_stdout()
        say_error(about_os_error(failure))
        return FAILURE
    if isinstance(failure, KeyboardInterrupt | typer.Abort):
        say_error(str(failure) or "stopped by Ctrl-C")
        return INTERRUPTED
    if isinstance(failure, LabelGroveError):
        said = str(failure)
        if found := _PARAMETER.match(said):
            said = f"{_NAMED[found[1]]} {found[2]}:{said[found.end() :]}"
            said = said.removesuffix(", or None")  # which no option can be
        say_error(said)
        return FAILURE
    if isinstance(failure, MemoryError):
        told = str(failure).removeprefix("std::bad_alloc")  # of C++, which says nothing else
        say_error(f"out of memory{f': {told}' if told else ''}")
        return FAILURE
    if isinstance(failure, ImportError):
        say_error(f"cannot import a package, which is damaged or lacks memory ({failure})")
        return FAILURE
    usage = getattr(failure, "format_message", None)
    if usage is not None:
        say_error(_about_usage(failure, str(usage())))
        return int(getattr(failure, "exit_code", FAILURE))
    say_error(
        f"internal error ({type(failure).__name__}: {failure}); please report it, with the output "
        "of the same command under --debug"
    )
    return FAILURE


def _about_usage(failure: BaseException, message: str) -> str:
    """Give the parser's message the form of ours, and append which ``--help`` to read."""
    message = message.rstrip(".") or "missing command"
    # Typer parses by Pydantic, whose errors hold what was given.
    problems: list[Any] = getattr(failure.__cause__, "errors", list)()
    found = _INVALID.fullmatch(message)
    if found is not None and problems:
        expected = _EXPECTED.get(found[2], found[2])
        message = f"{found[1]} {problems[0]['input']}: expected {expected}{found[3]}"
    if no_choice := _NO_CHOICE.fullmatch(message):
        name, given, quoted = no_choice.groups()
        message = f"{name} {given}: expected one of " + quoted.replace("'", "")
    context = getattr(failure, "ctx", None)
    if context is None:
        return message
    surplus = _SURPLUS.fullmatch(message)
    if (
        surplus
        and {"data", "limit"} <= context.params.keys()
        and any(map(is_there, accumulate(surplus[1].split(" "), "{} {}".format)))
    ):
        message += "; labelgrove convert joins several files into one DATA"
    return f"{message[:1].lower()}{message[1:]} (see '{context.command_path} --help')"


def _abandon_stdout() -> None:
    """Redirect stdout to the null device, so that flushing at exit prints no second error."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):  # a stream without a descriptor, in tests
        return
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)


class _BareFlags:
    """Make help show ``--json``, not ``--json <bool>``: a flag takes no value."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return options and arguments with the metavars that help should show."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
        return parameters


class Command(_BareFlags, TyperCommand):
    """A command whose help shows flags as they are typed, and whose files are checked first."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the command."""
        check_inputs(ctx.params)
        check_outputs(str(ctx.info_name), ctx.params)
        return super().invoke(ctx)


class Group(_BareFlags, TyperGroup):
    """A group of commands whose help shows flags as they are typed."""


class Listed(TyperCommand):
    """A command as far as a list of commands shows it; its callback returns the whole command."""


class Application(Group):
    """A group of commands that reports every failure as one sentence and an exit status."""

    #: Called when the modules of a command have been imported.
    imported: Callable[[], object] | None = None

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command line, by default the process's, and exit with its status."""
        words = args[0] if args else kwargs.pop("args", None)
        words, debug = _without("--debug", sys.argv[1:] if words is None else list(words))
        words, trust = _without("--trust-pattern", words)
        _mend_streams()
        before = debugging.set(debug), trusting.set(trust)
        try:
            with reported_failures():
                # In standalone mode Typer would report failures in its own words.
                kwargs["standalone_mode"] = False
                status = super().main(words, *args[1:], **kwargs)
        finally:
            debugging.reset(before[0])
            trusting.reset(before[1])
        raise SystemExit(status if isinstance(status, int) else 0)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Choose a command, and make it whole."""
        name, command, rest = super().resolve_command(ctx, args)
        if isinstance(command, Listed) and command.callback is not None:
            command = command.callback()
            if self.imported is not None:
                self.imported()
        return name, command, rest

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the chosen command, and report its failures before Typer sees them."""
        with reported_failures():
            return super().invoke(ctx)


def _mend_streams() -> None:
    """Keep messages from failing on a closed stream or a character its encoding lacks."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the parent process
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _without(flag: str, words: list[str]) -> tuple[list[str], bool]:
    """Remove a flag from the words; it may appear anywhere before a ``--``."""
    end = words.index("--") if "--" in words else len(words)
    kept = [word for word in words[:end] if word != flag]
    return kept + words[end:], len(kept) < end


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"labelgrove {__version__}")
        raise typer.Exit


app = typer.Typer(
    name="labelgrove",
    cls=Application,
    help=(
        "Extreme multi-label classification: learn which few of very many labels apply to an "
        "example. Examples arrive one at a time; new labels may appear at any time."
    ),
    epilog="Start with: labelgrove demo",
    no_args_is_help=False,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def begin(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", is_eager=True, callback=_show_version
        ),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug", help="Show the traceback of a failure. May appear anywhere on the line."
        ),
    ] = False,
    trust_pattern: Annotated[
        bool,
        typer.Option(
            "--trust-pattern",
            help="Trust the text.token_pattern in a model file: a malicious regular expression can "
            "take forever to match. May appear anywhere on the line.",
        ),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        page = context.get_help()  # with rich, Typer prints it and returns nothing
        if page:
            typer.echo(page)
