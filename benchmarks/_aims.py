"""The goals of the project; ``docs/benchmarks.md`` shows them next to what was measured."""

from __future__ import annotations

from dataclasses import dataclass

LEARNING_TIMES_NAPKINXC = 40
"""Least speed-up of learning over napkinXC's OPLT, one thread each."""

LEARNING_BOUND_SHARE = 0.5
"""Least share of the speed that memory bandwidth allows."""

LEARNING_TWO_THREADS = {"published": 1.7, "default": 1.75}
"""Least speed-up with two threads, on data sets that take more than two seconds."""

PREDICTION_TIMES_NAPKINXC = 4
"""Least speed-up of batch prediction over napkinXC, on the same tree."""

MEMORY_BYTES_A_WEIGHT = 9
"""Most bytes per weight while learning: value, state, keys and slack."""

ACCURACY: dict[tuple[str, str, bool], tuple[float, ...]] = {
    ("bibtex", "paper", False): (62.0, 37.2, 27.1),
    ("delicious", "paper", False): (66.2, 59.6, 55.2),
    ("eurlex57k-tfidf", "paper", False): (83.5, 72.6, 60.3),
    ("eurlex57k-tfidf", "paper", True): (88.3, 77.6, 64.7),
    ("stackexchange-tfidf", "paper", False): (29.6, 18.0, 13.1),
    ("synth4k", "paper", False): (98.9, 90.5, 73.2),
    ("bibtex", "default", False): (62.5,),
    ("delicious", "default", False): (64.9,),
    ("eurlex57k-tfidf", "default", False): (88.7, 78.1, 65.2),
    ("stackexchange-tfidf", "default", False): (63.6, 40.8, 29.3),
    ("gutenberg-tfidf", "default", False): (31.0, 18.8, 13.4),
}
"""P@1, P@3 and P@5 in per cent by data set, preset and whether the stream is shuffled."""

SHARED_P99_MS = 10
"""Largest 99th percentile of predicting one row while the model learns."""

BATCH_LEARNING_TIMES = 4
"""Least speed-up of learning a batch tree over the fastest peer of equal accuracy."""

BATCH_PREDICTION_TIMES = 3
"""Least speed-up of batch prediction over those peers."""

BATCH_ROW_TIMES = 5
"""Least speed-up of single-row prediction from Python over those peers."""

BATCH_EQUAL = 0.5
"""Points of P@1 by which a peer may be worse and still count as equally accurate."""


@dataclass(frozen=True)
class Published:
    """Published figures of a model on a data set: P@1/3/5, seconds, microseconds per example."""

    precision: tuple[float, float, float]
    learning_seconds: float | None = None
    prediction_us: float | None = None


LDSM = {
    "bibtex": Published((64.69, 39.70, 29.25), 20.7, 13),
    "delicious": Published((71.91, 65.34, 60.24), 65.0, 17),
}
"""Majzoubi & Choromanska (2020), Tables 1 and 2, on other splits of the same data."""

FASTXML = {
    "bibtex": Published((63.42, 39.23, 28.86), 21.68, 640),
    "delicious": Published((69.61, 64.12, 59.27)),
}
"""FastXML as reported by Majzoubi & Choromanska (2020), Tables 5 to 7, on splits of equal sizes."""
