"""The Typer application: commands are added to it by their own modules."""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from labelgrove import __version__
from labelgrove.cli._failures import debugging, reported_failures


class Application(TyperGroup):
    """A group of commands whose every failure is one sentence and an exit status."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command line and end the program with its status.

        Parameters
        ----------
        *args, **kwargs
            As of ``TyperGroup.main``: ``args`` holds the words, by default those of the process.

        Raises
        ------
        SystemExit
            Always; status 0 after success.
        """
        words = args[0] if args else kwargs.pop("args", None)
        words, debug = _without_debug(sys.argv[1:] if words is None else list(words))
        _mend_streams()
        token = debugging.set(debug)
        try:
            with reported_failures():
                # Without standalone mode failures come through to us, in our own words.
                kwargs["standalone_mode"] = False
                status = super().main(words, *args[1:], **kwargs)
        finally:
            debugging.reset(token)
        raise SystemExit(status if isinstance(status, int) else 0)

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the chosen command; its failures are reported before Typer sees them."""
        with reported_failures():
            return super().invoke(ctx)


def _mend_streams() -> None:
    """Let no message fail for want of a stream or of a sign in an old code page."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _without_debug(words: list[str]) -> tuple[list[str], bool]:
    """Take ``--debug`` out of the words: it may stand anywhere before a ``--``."""
    end = words.index("--") if "--" in words else len(words)
    kept = [word for word in words[:end] if word != "--debug"]
    return kept + words[end:], len(kept) < end


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"labelgrove {__version__}")
        raise typer.Exit


app = typer.Typer(
    name="labelgrove",
    cls=Application,
    help=(
        "Learn to pick the few right labels out of very many, from examples that arrive one "
        "after another; new labels are welcome at any time."
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
            "--version", help="Show the version and stop.", is_eager=True, callback=_show_version
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of a failure (anywhere in a line).")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        page = context.get_help()  # with rich, Typer has printed it and gives nothing back
        if page:
            typer.echo(page)
