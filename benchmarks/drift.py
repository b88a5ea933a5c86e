"""Streams whose labels change their meaning: accuracy of every example before it is learnt.

The streams are drawn by river's generators; their columns are standardised by the first rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from river.datasets import synth
from sklearn.preprocessing import StandardScaler

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
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    '`learner="adagrad", replay=0`': {"learner": "adagrad", "replay": 0},
    '`learner="sgd", replay=0`': {"learner": "sgd", "replay": 0},
}
SCALED_BY = 500
"""Number of rows by which columns are standardised."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``drift-all.json``."""
    parser = command_line(__doc__ or "", tuple(STREAMS), "streams")
    parser.add_argument("--rows", type=int, default=20_000, help="examples of each stream")
    chosen = parser.parse_args(arguments)
    rows = []
    for name in chosen.subjects:
        examples = [*itertools.islice(STREAMS[name], chosen.rows)]
        X = np.array([[*x.values()] for x, _ in examples], float)
        X, y = (
            StandardScaler().fit(X[:SCALED_BY]).transform(X),
            [int(label) for _, label in examples],
        )
        found = {
            setting: float(
                progressive_validation(OnlinePLTClassifier(**options), (X, y)).accuracy[-1]
            )
            for setting, options in SETTINGS.items()
        }
        rows.append({"stream": name, **found})
        print(rows[-1], flush=True)
    write(chosen.output, "drift", "all", {"rows": rows})


if __name__ == "__main__":
    main()
