"""Streams whose labels change their meaning.

Of streams drawn by river's generators, whose columns are standardised by the first rows: the
accuracy of every example before it is learnt. Of data sets: P@1 on test rows after one pass in
random order, if half of the labels swap their meanings halfway.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from river.datasets import synth
from sklearn.preprocessing import StandardScaler

from benchmarks._data import Stream, is_there, load, precisions
from benchmarks._results import command_line, write
from labelgrove import OnlinePLTClassifier
from labelgrove.evaluation import progressive_validation

STREAMS: dict[str, Any] = {
    "`Hyperplane`: two classes, a boundary that turns": synth.Hyperplane(
        seed=1, n_features=20, n_drift_features=10, mag_change=0.01, noise_percentage=0.05
    ),
    "`RandomRBFDrift`: six classes that wander": synth.RandomRBFDrift(
        seed_model=1,
        seed_sample=1,
        n_classes=6,
        n_features=20,
        n_centroids=12,
        n_drift_centroids=12,
        change_speed=0.002,
    ),
    "`LED`: ten classes that stay": synth.LED(
        seed=1, noise_percentage=0.1, irrelevant_features=True
    ),
}
DATASETS = ("clinc150-tfidf", "cooking-tfidf", "stackexchange-tfidf")
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "`replay=0`": {"replay": 0},
    '`learner="adagrad", replay=0`': {"learner": "adagrad", "replay": 0},
    '`learner="sgd", replay=0`': {"learner": "sgd", "replay": 0},
}
SCALED_BY = 500
"""Number of rows by which columns are standardised."""


def along_stream(name: str, n_rows: int) -> dict[str, float]:
    """Measure the accuracy along a stream with every setting."""
    examples = [*itertools.islice(STREAMS[name], n_rows)]
    X = np.array([[*x.values()] for x, _ in examples], float)
    X, y = StandardScaler().fit(X[:SCALED_BY]).transform(X), [int(label) for _, label in examples]
    return {
        setting: float(progressive_validation(OnlinePLTClassifier(**options), (X, y)).accuracy[-1])
        for setting, options in SETTINGS.items()
    }


def after_swap(name: str) -> dict[str, float]:
    """Measure P@1 after half of the labels of a data set have swapped their meanings."""
    rng = np.random.default_rng(0)
    train, test = load(name, "train"), load(name, "test")
    order = rng.permutation(len(train.labels))
    labels = sorted({label for row in train.labels for label in row})
    swapped = rng.permutation(labels)[: len(labels) // 2].tolist()
    now = dict(zip(swapped, [*swapped[1:], swapped[0]], strict=True))

    def renamed(stream: Stream) -> list[tuple[int, ...]]:
        return [tuple(now.get(label, label) for label in row) for row in stream.labels]

    half = len(order) // 2
    changed = renamed(train)
    Y = [train.labels[i] for i in order[:half]] + [changed[i] for i in order[half:]]
    found = {}
    for setting, options in SETTINGS.items():
        model = OnlinePLTClassifier(**options).fit(train.X[order], Y)
        best = model.predict_topk(test.X, 5)[0]
        found[setting] = precisions(best, renamed(test))[0] / 100
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``drift-all.json``."""
    parser = command_line(__doc__ or "", (*STREAMS, *DATASETS), "streams and data sets")
    parser.add_argument("--rows", type=int, default=20_000, help="examples of each stream")
    chosen = parser.parse_args(arguments)
    rows: list[dict[str, object]] = []
    for name in chosen.subjects:
        if name in STREAMS:
            rows.append({"stream": name, **along_stream(name, chosen.rows)})
        elif is_there(name):
            rows.append({"stream": f"{name}, half of its labels swapped", **after_swap(name)})
        else:
            continue
        print(rows[-1], flush=True)
    write(chosen.output, "drift", "all", {"rows": rows})


if __name__ == "__main__":
    main()
