"""Measure everything and write it into ``docs/benchmarks.md``."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks import accuracy, growth, learning, memory, prediction, progress, render

QUICK_DATA = "bibtex"

PEER_ROWS = "eurlex57k-tfidf-first3000"
"""As much of that data set as napkinXC can be given in reasonable time."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all benchmarks, one after another."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--peer", action="store_true", help="measure napkinXC too (installs it)")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="try all benchmarks on little data, and show the tables without keeping them",
    )
    chosen = parser.parse_args(arguments)
    peer = ["--peer"] if chosen.peer else []
    if chosen.quick:
        with tempfile.TemporaryDirectory() as folder:
            quick(Path(folder), peer)
        return
    memory.main([])
    accuracy.main([])
    progress.main([])
    learning.main(["synth4k", PEER_ROWS, *peer])
    learning.main(["eurlex57k-tfidf"])
    prediction.main(["synth4k", *peer])
    prediction.main(["eurlex57k-tfidf"])
    growth.main([])
    render.main([])


def quick(folder: Path, peer: list[str]) -> None:
    """Run all benchmarks in about a minute; what they find is no measurement."""
    output = [f"--output={folder}"]
    few = [QUICK_DATA, *output]
    memory.main(few)
    accuracy.main(few)
    learning.main([*few, *peer, "--repetitions=2", "--peer-repetitions=1"])
    prediction.main([*few, *peer, "--repetitions=1"])
    progress.main(few)
    growth.main([*output, "--labels=10000", "--seeds=1"])
    render.main([f"--results={folder}", "--show"])


if __name__ == "__main__":
    main()
