"""Run the benchmarks one after another, then update ``docs/benchmarks.md``."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from benchmarks import render

QUICK_DATA = "bibtex"
QUICK_CLASSES = "clinc150-tfidf"

PEER_ROWS = "eurlex57k-tfidf-first3000"
"""As much of that data set as napkinXC's OPLT can learn in reasonable time."""


@dataclass(frozen=True)
class Benchmark:
    """How a module of this package is called.

    Attributes
    ----------
    minutes : float
        Duration of the full measurement on two idle processors.
    peer_minutes : float
        What the other programs add to it; 0 if there are none.
    calls : tuple of tuples of str
        Arguments of the full measurement, one call each.
    quick : tuple of str
        Arguments of a trial run that takes seconds.
    """

    minutes: float
    calls: tuple[tuple[str, ...], ...] = ((),)
    quick: tuple[str, ...] = (QUICK_DATA,)
    peer_minutes: float = 0

    def run(self, name: str, peers: bool) -> None:
        """Measure everything, other programs in the first call."""
        option = ["--peers"] if peers and self.peer_minutes else []
        for call in self.calls:
            import_module(f"benchmarks.{name}").main([*call, *option])
            option = []

    def attempt(self, name: str, peers: bool, output: Path) -> None:
        """Try it on little data; the results are not meaningful."""
        option = ["--peers"] if peers and self.peer_minutes else []
        arguments = [*self.quick, *option, f"--output={output}"]
        import_module(f"benchmarks.{name}").main(arguments)


BENCHMARKS = {
    "memory": Benchmark(1),
    "budget": Benchmark(4),
    "files": Benchmark(2, quick=("100",)),
    "accuracy": Benchmark(1),
    "progress": Benchmark(3),
    "learning": Benchmark(
        5,
        (("synth4k", PEER_ROWS), ("eurlex57k-tfidf",)),
        (QUICK_DATA, "--repetitions=2"),
        peer_minutes=4,
    ),
    "prediction": Benchmark(
        3,
        (("synth4k",), ("eurlex57k-tfidf",)),
        (QUICK_DATA, "--repetitions=1"),
        peer_minutes=1,
    ),
    "sharing": Benchmark(4, quick=(QUICK_DATA, "--readers=1")),
    "thresholds": Benchmark(8),
    "batch": Benchmark(5, quick=(QUICK_DATA, "--threads=1", "--repetitions=1"), peer_minutes=60),
    "whole": Benchmark(1, peer_minutes=7),
    "schedule": Benchmark(1),
    "calibration": Benchmark(1),
    "second_stage": Benchmark(10, quick=("cooking-tfidf",)),
    "exclusive": Benchmark(1, quick=("clinc150-tfidf",)),
    "one_versus_rest": Benchmark(2),
    "regularization": Benchmark(6, quick=("bibtex",)),
    "knob": Benchmark(8, quick=(QUICK_DATA, "--lambdas=1", "--leaf-sizes=100")),
    "warm_start": Benchmark(4),
    "multiclass": Benchmark(
        2, quick=(QUICK_CLASSES, "--repetitions=1", "--steps=1"), peer_minutes=5
    ),
    "classes": Benchmark(
        3,
        quick=("LOMtree", "--classes=100", "--fewest=2000", "--tested=500"),
        peer_minutes=2,
    ),
    "river": Benchmark(1, quick=(QUICK_CLASSES, "--rows=200")),
    "late": Benchmark(3),
    "drift": Benchmark(1, quick=("`LED`: ten classes that stay", QUICK_CLASSES, "--rows=1000")),
    "ldsm": Benchmark(6, quick=(QUICK_DATA, "--ensembles=2", "--sizes=100")),
    "fastxml": Benchmark(6, quick=(QUICK_DATA,)),
    "splits": Benchmark(10, quick=(QUICK_DATA, "--models=PLTClassifier", "--splits=2")),
    "models": Benchmark(6, quick=(QUICK_CLASSES,)),
    "names": Benchmark(8, quick=("onet-titles",)),
    "text": Benchmark(
        12, ((), ("stackexchange-text", "--speed")), quick=("cooking-text",), peer_minutes=60
    ),
    "training": Benchmark(10, quick=("cooking-text", "--repetitions=1")),
    "embedding": Benchmark(
        12,
        quick=(QUICK_CLASSES, "--repetitions=1", "--lambdas=1"),
        peer_minutes=20,
    ),
    "growth": Benchmark(12, quick=("--labels=10000", "--seeds=1")),
}
"""The benchmarks that ``python -m benchmarks`` runs, in this order."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run benchmarks, all by default."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        epilog=_listing(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="name", help="benchmarks to run (see below)")
    parser.add_argument(
        "--peers", action="store_true", help="measure the other programs too (installs them)"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="try the benchmarks on little data and print the tables without keeping them",
    )
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark is called {unknown[0]!r}; choose from {', '.join(BENCHMARKS)}")
    names = chosen.names or list(BENCHMARKS)
    if chosen.quick:
        with tempfile.TemporaryDirectory() as folder:
            for name in names:
                BENCHMARKS[name].attempt(name, chosen.peers, Path(folder))
            render.main([f"--results={folder}", "--show", *names])
        return
    for name in names:
        BENCHMARKS[name].run(name, chosen.peers)
    render.main([])


def _listing() -> str:
    """List the benchmarks with their duration and the first line of their documentation."""
    lines = ["benchmarks, and minutes on two idle processors (+ other programs, with --peers):"]
    for name, benchmark in BENCHMARKS.items():
        summary = (import_module(f"benchmarks.{name}").__doc__ or "").splitlines()[0]
        added = f" + {benchmark.peer_minutes:g}" if benchmark.peer_minutes else ""
        lines.append(f"  {name:<15} {benchmark.minutes:g}{added} min: {summary}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
