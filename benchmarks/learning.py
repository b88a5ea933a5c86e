"""Speed of learning: one pass of OPLT as published, compared with napkinXC, and of the default.

Programs run in turns, each run in a new process, so that other load on the machine affects all of
them; medians are reported. ``docs/benchmarks.md`` explains the figures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from benchmarks import _napkinxc
from benchmarks._data import is_there, load, precisions
from benchmarks._measure import Growth, copy_bandwidth, fresh
from benchmarks._models import DEFAULT, PAPER, learn
from benchmarks._results import command_line, write
from benchmarks._traffic import weights_touched

DATASETS = ("synth4k", "eurlex57k-tfidf")
SETTINGS = {"published": PAPER, "default": DEFAULT}
_LINE = "{dataset}: {name} {wall:.2f} s, {cpu:.2f} s of processor time"


def learn_once(dataset: str, setting: str, threads: int) -> dict[str, Any]:
    """Learn in one pass in this process: seconds, memory, and P@1/3/5 on the test set."""
    options = {**SETTINGS[setting], "n_jobs": threads}
    chunks, test = load(dataset, "train").chunks, load(dataset, "test")
    learn(chunks[:1], options)  # trigger lazy imports
    with Growth() as memory:
        model, clock = learn(chunks, options)
    precision = precisions(model.predict_topk(test.X, 5)[0], test.labels)
    return {**clock.to_dict(), "peak_growth_mb": memory.peak, "precision": precision}


def peer_once(dataset: str) -> dict[str, Any]:
    """Do the same with napkinXC."""
    found = _napkinxc.learn(dataset)
    best = _napkinxc.predicted(_napkinxc.predict(dataset, 1, 0))
    return {**found, "precision": precisions(best, load(dataset, "test").labels)}


def bandwidth_once() -> dict[str, Any]:
    """Bytes per second that the machine copies in one thread."""
    return {"bytes_per_second": copy_bandwidth()}


def count_weights(dataset: str) -> int:
    """Count the weights that one pass of the published algorithm must touch."""
    return weights_touched(load(dataset, "train"), PAPER)


def measure(dataset: str, repetitions: int, peers: bool) -> dict[str, Any]:
    """Run everything on one data set.

    Returns
    -------
    dict
        ``weights_touched``, and the results of all ``runs`` by program.
    """
    turns: dict[str, Callable[[], dict[str, Any]]] = {
        f"{setting}, {threads}": partial(_learn, dataset, setting, threads)
        for setting in SETTINGS
        for threads in (1, 2)
    }
    turns["copy"] = lambda: fresh("benchmarks.learning:bandwidth_once")
    if peers:
        turns["napkinxc"] = lambda: peer_once(dataset)
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in turns}
    for turn in range(repetitions):
        for name, run in turns.items():
            if name == "napkinxc" and turn > 0:
                continue  # it takes minutes
            runs[name].append(run())
            if "wall" in runs[name][-1]:
                print(_LINE.format(dataset=dataset, name=name, **runs[name][-1]), flush=True)
    touched = fresh("benchmarks.learning:count_weights", dataset=dataset)
    return {"weights_touched": touched, "runs": runs}


def _learn(dataset: str, setting: str, threads: int) -> dict[str, Any]:
    arguments: dict[str, Any] = {"dataset": dataset, "setting": setting, "threads": threads}
    found: dict[str, Any] = fresh("benchmarks.learning:learn_once", **arguments)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``learning-<dataset>.json``."""
    parser = command_line(__doc__ or "", DATASETS)
    parser.add_argument("--repetitions", type=int, default=5, help="runs of LabelGrove")
    parser.add_argument("--peers", action="store_true", help="measure napkinXC too (installs it)")
    chosen = parser.parse_args(arguments)
    for dataset in filter(is_there, chosen.subjects):
        found = measure(dataset, chosen.repetitions, chosen.peers)
        write(chosen.output, "learning", dataset, found)


if __name__ == "__main__":
    main()
