"""The application and its commands, in the order of ``--help``.

The module of a command is imported when the command is used: to import what most of them need takes
seconds, and a list of commands or a file to convert needs none of it.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import typer.main

from labelgrove.cli._application import Command, Listed, app

__all__ = ["app"]

#: The first paragraph of each command's help.
_SUMMARIES = {
    "train": "Learn a new model from DATA.",
    "learn": "Update MODEL with the examples of DATA, which may bring new labels.",
    "predict": "Predict labels and their probabilities for DATA or for texts.",
    "eval": "Measure MODEL on DATA: ranking quality, predicted label sets, and speed.",
    "report": "Measure MODEL on DATA in detail, and write an HTML report.",
    "tune": "Choose a threshold for each label, and store the thresholds in the model.",
    "compact": "Write a small copy of MODEL that predicts but can no longer learn.",
    "convert": "Convert DATA to one memory-mapped data set, a folder that the other commands read "
    "as DATA.",
    "explain": "Show why MODEL predicts labels for an example, or why it does not predict a label.",
    "info": "Describe MODEL; without MODEL, list the versions and kernels that LabelGrove runs "
    "with.",
    "serve": "Serve an HTTP API that suggests labels and learns.",
    "demo": "Watch a model learn from the documentation of Python, without any download.",
    "tree": "Build, show, plot and measure label trees.",
}

#: Functions whose name is not that of their command.
_FUNCTIONS = {"eval": "evaluate"}


@cache
def _whole(name: str) -> Any:
    """Import a command."""
    function = _FUNCTIONS.get(name, name)
    module = import_module(f"labelgrove.cli.commands.{function}")
    if name == "tree":
        return typer.main.get_command(module.tree_app)
    alone = typer.Typer(add_completion=False, rich_markup_mode=app.rich_markup_mode)
    epilog = getattr(module, "EPILOG", None)
    alone.command(name, cls=Command, epilog=epilog)(getattr(module, function))
    return typer.main.get_command(alone)


def _list(name: str, summary: str) -> None:
    @app.command(name, cls=Listed, help=summary)
    def whole() -> Any:
        return _whole(name)


for name, summary in _SUMMARIES.items():
    _list(name, summary)
