"""Time per example against the number of labels, from a thousand to a million.

A synthetic stream brings label after label (`benchmarks._growing_stream`). At certain numbers of
labels it pauses, and the time per example is measured: to learn an example with known labels, to
learn one with new labels, and to predict the best five labels; in batches and with one row per
call. The result is the median over several streams.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import numpy as np

from benchmarks._data import Chunk, precisions
from benchmarks._growing_stream import LABELS, NONZEROS, TOPIC_LABELS, GrowingStream
from benchmarks._measure import Clock, fresh, resident_mb
from benchmarks._models import DEFAULT, PAPER
from benchmarks._results import command_line, write
from benchmarks._traffic import Columns
from labelgrove import OnlinePLTClassifier

PRESETS = {"paper": PAPER, "default": DEFAULT}

K = 5

WINDOWS = 5
"""Number of windows whose median is taken."""

WINDOW = 2000
"""Examples in a window; at most a fifth of the number of labels."""

SINGLE = 50
"""Examples in a window with one row per call."""

STEPS_A_DECADE = 4
_GROWN = 10_000
"""Learning new labels is timed on this many labels before a stop, or fewer."""


def grow(largest: int, seed: int, options: dict[str, Any]) -> list[dict[str, float]]:
    """Grow a model in this process and measure at every stop.

    Returns
    -------
    list of dict
        One per stop: ``labels``; processor microseconds per example, by kind of work; and figures
        that do not depend on the machine: the ``classifiers`` evaluated per prediction, P@1, and,
        if the options include ``arity``, the weights ``touched`` in learning an example.
    """
    stream, model = GrowingStream(seed), OnlinePLTClassifier(**options)
    found = []
    for stop in _stops(largest):
        timed = min(_GROWN, stop // 40 * 10)
        for chunk in stream.arrivals(stop - timed):
            model.partial_fit(*chunk)
        chunks = list(stream.arrivals(stop))
        with Clock() as clock:
            for chunk in chunks:
                model.partial_fit(*chunk)
        examples = sum(len(labels) for _, labels in chunks)
        point = {"labels": float(model.n_classes_), "grow": 1e6 * clock.cpu / examples}
        point |= _standing(model, stream)
        if "arity" in options:
            point["touched"] = _touched(model, stream, options["arity"])
        found.append(point)
    return found


def _stops(largest: int) -> list[int]:
    decades = np.log10(largest) - 3
    exponents = 3 + np.arange(round(decades * STEPS_A_DECADE) + 1) / STEPS_A_DECADE
    return [round(10**exponent) // TOPIC_LABELS * TOPIC_LABELS for exponent in exponents]


def _standing(model: OnlinePLTClassifier, stream: GrowingStream) -> dict[str, float]:
    """Measure examples with known labels only."""

    def learn(rows: Chunk) -> None:
        model.partial_fit(*rows)

    def predict(rows: Chunk) -> None:
        model.predict_topk(rows[0], K)

    window = min(WINDOW, model.n_classes_ // 5)
    X, labels = stream.known(WINDOW)
    best, _, stats = model.predict_topk(X, K, return_stats=True)
    return {
        "held_mb": resident_mb(),
        "predict": _timed(predict, stream, window, window),
        "predict_row": _timed(predict, stream, SINGLE, 1),
        "learn": _timed(learn, stream, window, window),
        "learn_row": _timed(learn, stream, SINGLE, 1),
        "classifiers": float(np.mean(stats.classifiers)),
        "depth": float(np.mean(stats.depth)),
        "precision": precisions(best, labels)[0],
    }


def _touched(model: OnlinePLTClassifier, stream: GrowingStream, arity: int) -> float:
    """Mean number of weights touched in learning an example without replay."""
    columns = Columns.of(model.tree_, arity)
    _, labels = stream.known(WINDOW)
    return (NONZEROS + 1) * float(np.mean([columns.touched(row) for row in labels]))


def _timed(work: Callable[[Chunk], None], stream: GrowingStream, n: int, at_once: int) -> float:
    """Microseconds per example: median over windows of `n`, with `at_once` rows per call."""
    seconds = []
    for _ in range(WINDOWS):
        X, labels = stream.known(n)
        calls = [(X[i : i + at_once], labels[i : i + at_once]) for i in range(0, n, at_once)]
        with Clock() as clock:
            for call in calls:
                work(call)
        seconds.append(clock.cpu)
    return 1e6 * float(np.median(seconds)) / n


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``growth-<preset>.json``."""
    parser = command_line(__doc__ or "", tuple(PRESETS), "presets")
    parser.add_argument("--labels", type=int, default=1_000_000, help="at the end")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2], help="seeds of the streams")
    chosen = parser.parse_args(arguments)
    runs: dict[str, list[list[dict[str, float]]]] = {preset: [] for preset in chosen.subjects}
    for seed in chosen.seeds:
        for preset, found in runs.items():
            options, task = PRESETS[preset], "benchmarks.growth:grow"
            found.append(fresh(task, largest=chosen.labels, seed=seed, options=options))
            print(f"{preset}, seed {seed}: {found[-1][-1]}", flush=True)
    for preset, found in runs.items():
        about = {"seeds": chosen.seeds, "nonzeros": NONZEROS, "labels_an_example": LABELS}
        points = [
            {key: median(point[key] for point in stop) for key in stop[0]}
            for stop in zip(*found, strict=True)
        ]
        write(chosen.output, "growth", preset, {**about, "points": points, "runs": found})


if __name__ == "__main__":
    main()
