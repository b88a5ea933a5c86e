"""A second stage after trees: effect on head, tail and probabilities, and its cost.

The calibration error covers the five best labels of every test row; the expected number of labels,
the sum of their probabilities, covers all labels of the first rows. *By chance* is the error that
remains if every estimate is right, because test rows are few. Times are processor time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from benchmarks._data import indicator, is_there, label_count, load
from benchmarks._measure import Clock
from benchmarks._results import command_line, compare
from labelgrove import OnlinePLTClassifier, PLTClassifier
from labelgrove.metrics import (
    expected_calibration_error,
    inverse_propensity,
    precision_at_k,
    psp_at_k,
)

DATASETS = (
    "bibtex",
    "clinc150-tfidf",
    "cooking-tfidf",
    "cpv-italian",
    "delicious",
    "eurlex57k-tfidf",
    "gutenberg-tfidf",
    "hmc-cellcycle-go",
    "kirjastonhoitaja-yso",
    "onet-titles",
    "phyletic-go",
    "rcv1sub1",
    "stackexchange-tfidf",
    "synth4k-hard",
)
LEARNERS = {"batch": PLTClassifier, "online": OnlinePLTClassifier}
STAGES = (None, "calibrate", "head", 0.25, "tail")
PLACES = (1, 5)
ROWS = 500
"""Number of test rows whose probabilities are added up."""
DRAWS = 20
"""Number of times that labels are drawn to find the error by chance."""


def measure(dataset: str, learner: str, stage: str | float | None) -> dict[str, Any]:
    """Learn in this process, then measure on the test set."""
    train, test = load(dataset, "train"), load(dataset, "test")
    width = label_count(dataset)
    Y, true = indicator(train.labels, width), indicator(test.labels, width)
    with Clock() as learning:
        model = LEARNERS[learner](second_stage=stage).fit(train.X, Y)
    with Clock() as predicting:
        best, _ = model.predict_topk(test.X, PLACES[-1])
    weights = inverse_propensity(Y)
    found: dict[str, Any] = {}
    for k in PLACES:
        found[f"p@{k}"] = float(precision_at_k(true, best, k))
        found[f"psp@{k}"] = float(psp_at_k(true, best, weights, k))
    estimates = model.predict_proba(test.X, top_k=PLACES[-1])
    if stage in (None, "calibrate"):
        everything = model.predict_proba(test.X[:ROWS], threshold=0.0)
        found["expected"] = float(everything.sum() / true[:ROWS].sum())
    return {
        **found,
        "ece": float(expected_calibration_error(true, estimates)),
        "ece_by_chance": chance(estimates),
        "learning_cpu": learning.cpu,
        "predicting_us": 1e6 * predicting.cpu / len(test.labels),
        "reranks": stage is not None and model.second_stage_["reranks"],
        "mb": model.size()["model_bytes"] / 2**20,
    }


def chance(estimates: csr_matrix) -> float:
    """The mean calibration error if every label is drawn by its estimate, independently."""
    generator = np.random.default_rng(0)
    drawn = estimates.copy()
    errors = []
    for _ in range(DRAWS):
        drawn.data = (generator.random(estimates.nnz) < estimates.data).astype(np.float64)
        errors.append(expected_calibration_error(drawn, estimates))
    return float(np.mean(errors))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``second_stage-<dataset>.json``."""
    chosen = command_line(__doc__ or "", DATASETS).parse_args(arguments)
    for dataset in filter(is_there, chosen.subjects):
        compare(
            chosen.output, "second_stage", dataset, "measure", learner=[*LEARNERS], stage=STAGES
        )


if __name__ == "__main__":
    main()
