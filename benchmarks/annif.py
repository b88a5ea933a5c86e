"""The service compared with Annif: suggestions per second on the same texts.

Annif serves its omikuji and fastText backends with gunicorn, as its documentation advises, and one
worker per processor; LabelGrove is one process. All three have learnt the same examples and are
asked for five labels of the same texts over the loopback interface, in turns.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._environments import ANNIF
from benchmarks._results import RESULTS, write
from benchmarks.service import BATCH, Server, load, once, read, suggesting, teaching
from labelgrove.client import Client

KNOWN = 20_000
ASKED = 1_000
CONNECTIONS = (1, 8)
SUBJECT = "http://example.org/"
BACKENDS = {
    "omikuji": "backend=omikuji\ncluster_balanced=True",
    "fasttext": "backend=fasttext\ndim=100\nlr=0.5\nepoch=25\nloss=hs\nlimit=100\nchunksize=24",
}

# NLTK would download the parameters of its sentence splitter; train them locally instead.
_PUNKT = """
import sys
from pathlib import Path
from nltk.tokenize.punkt import PunktTrainer, save_punkt_params
trainer = PunktTrainer()
trainer.train(Path(sys.argv[1]).read_text("utf-8"), finalize=True)
save_punkt_params(trainer.get_params(), dir=sys.argv[2])
"""


class Annif:
    """Annif with a project for each of its backends.

    Parameters
    ----------
    folder : Path
        Empty.
    examples : sequence of (str, list of str)
        The training examples.
    """

    def __init__(self, folder: Path, examples: Sequence[tuple[str, Sequence[str]]]) -> None:
        ANNIF.install()
        self._python, self._folder = str(ANNIF.folder / "bin/python"), folder
        texts, words = folder / "texts.txt", folder / "nltk/tokenizers/punkt_tab/english"
        words.mkdir(parents=True)
        texts.write_text("\n".join(text for text, _ in examples[:1_000]), encoding="utf-8")
        self._run("-c", _PUNKT, str(texts), str(words))
        labels = sorted({label for _, own in examples for label in own})
        lines = [f"<{SUBJECT}{label}>\t{label}" for label in labels]
        (folder / "vocabulary.tsv").write_text("\n".join(lines), encoding="utf-8")
        lines = [
            f"{' '.join(text.split())}\t{' '.join(f'<{SUBJECT}{one}>' for one in own)}"
            for text, own in examples
        ]
        (folder / "train.tsv").write_text("\n".join(lines), encoding="utf-8")
        (folder / "projects.cfg").write_text(
            "\n".join(
                f"[{name}]\nname={name}\nlanguage=en\nvocab=all\nanalyzer=snowball(english)\n{how}"
                for name, how in BACKENDS.items()
            ),
            encoding="utf-8",
        )
        self._run("-m", "annif.cli", "load-vocab", "all", "vocabulary.tsv", "--language", "en")
        for name in BACKENDS:
            self._run("-m", "annif.cli", "train", name, "train.tsv")

    def serve(self, workers: int) -> None:
        """Start to serve."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        words = [self._python, "-m", "gunicorn", "-w", str(workers)]
        words += ["-k", "uvicorn.workers.UvicornWorker"]
        words += ["-b", f"127.0.0.1:{self.port}", "--log-level", "critical", "annif:create_app()"]
        self._process = subprocess.Popen(words, cwd=self._folder, env=self._environment())
        for name in BACKENDS:
            self._wait_for(suggesting("a text", name))

    def cpu(self) -> float:
        """Processor seconds used by its processes so far."""
        total = 0.0
        for about in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = about.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if self._process.pid in (int(about.parent.name), int(fields[1])):
                total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return total

    def stop(self) -> None:
        """Stop the server."""
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(60)

    def _wait_for(self, one: bytes) -> None:
        end = time.monotonic() + 120
        while True:
            try:
                return asyncio.run(once(self.port, one))
            except (OSError, EOFError, RuntimeError):
                if time.monotonic() > end:
                    raise
                time.sleep(0.5)

    def _run(self, *words: str) -> None:
        command = [self._python, *words]
        subprocess.run(command, cwd=self._folder, env=self._environment(), check=True)

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return kept | {
            "NLTK_DATA": str(self._folder / "nltk"),
            "ANNIF_CONFIG": "annif.default_config.ProductionConfig",
        }


def precision(port: int, project: str, examples: Sequence[tuple[str, Sequence[str]]]) -> float:
    """P@1: how often the first suggestion is right."""
    hits = 0
    with Client(f"http://127.0.0.1:{port}", project) as client:
        for text, labels in examples:
            best = client.suggest(text, 1)
            hits += bool(best) and best[0][0].removeprefix(SUBJECT) in labels
    return hits / len(examples)


def measure(folder: Path, data: Path, seconds: float, known: int, turns: int) -> dict[str, Any]:
    """Measure everything; figures are medians over the turns."""
    examples = read(data)
    learnt, asked = examples[:known], examples[known : known + ASKED]
    (folder / "annif").mkdir()
    annif = Annif(folder / "annif", learnt)
    workers = len(os.sched_getaffinity(0))
    annif.serve(workers)
    server = Server(folder / "served")
    for begin in range(0, known, BATCH):
        last = begin + BATCH >= known
        one = teaching(learnt[begin : begin + BATCH], "applied" if last else "durable")
        asyncio.run(once(server.port, one))
    programs: dict[str, tuple[Any, str]] = {"LabelGrove": (server, "demo")}
    programs |= {f"Annif, {name}": (annif, name) for name in BACKENDS}
    found: dict[str, Any] = {"known": known, "workers": workers, "programs": {}}
    times: dict[tuple[str, int], list[dict[str, float]]] = {}
    for _ in range(turns):
        for says, (one, project) in programs.items():
            requests = [suggesting(text, project) for text, _ in asked]
            for n in CONNECTIONS:
                times.setdefault((says, n), []).append(load(one, requests, n, seconds))
    for says, (one, project) in programs.items():
        figures: dict[str, Any] = {"p@1": precision(one.port, project, asked[:300])}
        for n in CONNECTIONS:
            rows = times[says, n]
            figures[str(n)] = {key: float(np.median([row[key] for row in rows])) for key in rows[0]}
        found["programs"][says] = figures
    annif.stop()
    server.stop()
    return found


def main(words: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("data", help="text examples, such as stackexchange-text's")
    parser.add_argument("--seconds", type=float, default=3.0, help="of load per figure and turn")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--known", type=int, default=KNOWN)
    parser.add_argument("--output", type=Path, default=RESULTS, help="directory of the result")
    asked = parser.parse_args(sys.argv[1:] if words is None else words)
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), Path(asked.data), asked.seconds, asked.known, asked.turns)
    print(json.dumps(found, indent=1))
    write(asked.output, "service", "annif", found)


if __name__ == "__main__":
    main()
