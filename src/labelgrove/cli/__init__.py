"""The command line: ``labelgrove train``, ``learn``, ``predict``, ``eval`` and so on.

Commands translate words into calls of the library and its results into words; they hold no
algorithm of their own.
"""

import gc

__all__ = ["main"]


def main() -> None:
    """Run the command line of this process and end it with its status."""
    try:
        # Loading takes a moment, in which Ctrl-C must be answered quietly too.
        from labelgrove.cli.commands import app
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    gc.freeze()  # what has been loaded stays to the end, and need not be looked through again
    app()
