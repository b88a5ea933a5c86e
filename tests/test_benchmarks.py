"""The benchmark that needs no data set still runs, and its tables can be rendered."""

from __future__ import annotations

from benchmarks._multiclass_tables import classes
from benchmarks.classes import learn_ours


def test_time_against_classes() -> None:
    found = learn_ours(20, "LOMtree", learnt=400, tested=100)
    assert min(found.values()) > 0
    names = {"learning_cpu": "learning_us", "predicting_cpu": "predicting_us"}
    point = {"classes": 20, "model_mb": found["model_bytes"] / 2**20}
    point |= {name: 1e6 * found[key] / 100 for key, name in names.items()}
    shown = classes([{"subject": "LOMtree", "points": [point]}])
    assert all(title in shown for title in ("learning, µs", "prediction, µs", "model MB", "k = 20"))
