"""Accuracy along the stream and after it, for every learner with and without replay.

Progressive validation: every example is predicted before it is learnt from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks._data import is_there, load, precisions
from benchmarks._measure import fresh
from benchmarks._results import command_line, write
from benchmarks.accuracy import DATASETS
from labelgrove import OnlinePLTClassifier
from labelgrove.evaluation import progressive_validation

LEARNERS = ("adagrad", "sgd", "arow")
REPLAYS = (0, 2)
"""None, and as many as the default has."""

POINTS = 100
"""Figures along a stream, each over the examples since the one before."""


def follow(dataset: str, learner: str, replay: int) -> dict[str, Any]:
    """Validate progressively in this process, in the file's order."""
    stream = load(dataset, "train")
    step = max(1, len(stream.labels) // POINTS)
    model = OnlinePLTClassifier(learner=learner, replay=replay)
    course = progressive_validation(model, (stream.X, stream.labels), k=1, window=step, every=step)
    test = load(dataset, "test")
    tested = precisions(model.predict_topk(test.X, 5)[0], test.labels)
    # Checkpoints also stand at powers of two, where the window reaches back over another one.
    kept = course.examples % step == 0
    return {
        "learner": learner,
        "replay": replay,
        "examples": course.examples[kept].tolist(),
        "labels": course.n_labels[kept].tolist(),
        "recent": [round(100 * value, 2) for value in course.recent_precision[kept, 0].tolist()],
        "overall": round(100 * float(course.precision[-1, 0]), 2),
        "tested": tested,
        "seconds": round(float(course.seconds[-1]), 2),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``progress-<dataset>.json``."""
    chosen = command_line(__doc__ or "", DATASETS).parse_args(arguments)
    for dataset in filter(is_there, chosen.subjects):
        curves = []
        for learner in LEARNERS:
            for replay in REPLAYS:
                task = "benchmarks.progress:follow"
                found = fresh(task, dataset=dataset, learner=learner, replay=replay)
                curves.append(found)
                print(f"{dataset}: {learner}, replay {replay}: {found['overall']}", flush=True)
        write(chosen.output, "progress", dataset, {"curves": curves})


if __name__ == "__main__":
    main()
