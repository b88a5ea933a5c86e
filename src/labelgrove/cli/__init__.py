"""The command line: ``labelgrove train``, ``learn``, ``predict``, ``eval`` and so on.

Commands translate options into library calls and results into text; they implement no algorithms.
"""

import gc
from typing import cast

__all__ = ["main"]


def main() -> None:
    """Run the command line of this process and end it with its status."""
    try:
        # This takes a moment, and Ctrl-C must exit quietly then, too.
        from typer.main import get_command

        from labelgrove.cli._application import Application
        from labelgrove.cli.commands import app

        command = cast("Application", get_command(app))
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    # Imported objects live until exit: the collector need not scan them again.
    command.imported = gc.freeze
    command()
