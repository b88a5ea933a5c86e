"""Results of `benchmarks.batch` and `benchmarks.whole` as tables."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks import _aims
from benchmarks._tables import Results, precision, table
from benchmarks.batch import PEERS, SUBJECTS, Subject
from benchmarks.whole import STEPS


@dataclass(frozen=True)
class Figures:
    """Medians over the runs of one program with a given number of threads."""

    subject: Subject
    learning_cpu: float
    learning_wall: float
    peak_mb: float
    batch_us: float
    row_us: float
    megabytes: float
    precision: list[float]

    @classmethod
    def of(cls, key: str, runs: Results, rows: int) -> Figures:
        """Take the medians of runs, and the precision of the first."""
        batches = [clock["cpu"] for run in runs for clock in run["batch"]]
        return cls(
            SUBJECTS[key],
            median(run["learning"]["cpu"] for run in runs),
            median(run["learning"]["wall"] for run in runs),
            median(run["peak_mb"] for run in runs),
            1e6 * median(batches) / rows,
            median(run["single"]["p50"] for run in runs),
            runs[0]["model_bytes"] / 2**20,
            runs[0]["precision"],
        )


def _figures(result: dict[str, Any], threads: int) -> dict[str, Figures]:
    return {
        key: Figures.of(key, result["runs"][f"{key}/{threads}"], result["rows"])
        for key in SUBJECTS
        if f"{key}/{threads}" in result["runs"]
    }


def batch(found: Results) -> str:
    """LabelGrove's default against the best of the others, then every program with one tree."""
    aims = [row for result in found for row in _aims_rows(result)]
    header = ["data", "trees", "P@1/3/5", "best of the others"]
    header += [f"learning speed-up (aim: {_aims.BATCH_LEARNING_TIMES})", "with 2 threads"]
    header += [f"batch speed-up (aim: {_aims.BATCH_PREDICTION_TIMES})"]
    header += [f"one-row speed-up (aim: {_aims.BATCH_ROW_TIMES})"]
    header += ["memory ÷ theirs (aim: 1)", "model size ÷ theirs (aim: 1)"]
    parts = [table(header, aims)] if aims else []
    return "\n\n".join([*parts, _one_tree(found)])


def _one_tree(found: Results) -> str:
    header = ["data", "program", "learning, processor s", "2 threads, wall s", "memory MB"]
    header += ["batch µs", "one row µs", "model MB", "P@1/3/5"]
    rows = []
    for result in found:
        one, two = _figures(result, 1), _figures(result, 2)
        rows += [
            [
                result["subject"],
                figures.subject.title,
                f"{figures.learning_cpu:.2f}",
                f"{two[key].learning_wall:.2f}" if key in two else "",
                f"{figures.peak_mb:,.0f}",
                f"{figures.batch_us:,.1f}",
                f"{figures.row_us:,.0f}",
                f"{figures.megabytes:.1f}",
                precision(figures.precision),
            ]
            for key, figures in one.items()
            if figures.subject.trees == 1
        ]
    return table(header, rows)


def _aims_rows(result: dict[str, Any]) -> list[list[object]]:
    one, two = _figures(result, 1), _figures(result, 2)
    rows = []
    for trees in (1, 3):
        ours = f"labelgrove-{trees}"
        peers = [key for key in PEERS if key in one and SUBJECTS[key].trees == trees]
        if ours not in one or not peers:
            continue
        mine = one[ours]
        best = [max(one[key].precision[i] for key in peers) for i in range(3)]
        floor = min(mine.precision[0], best[0]) - _aims.BATCH_EQUAL
        equal = [key for key in peers if one[key].precision[0] >= floor]
        rows.append(
            [
                result["subject"],
                trees,
                precision(mine.precision),
                precision(best),
                _times([one[key].learning_cpu for key in equal], mine.learning_cpu),
                _times(
                    [two[key].learning_wall for key in equal if key in two],
                    two[ours].learning_wall if ours in two else None,
                ),
                _times([one[key].batch_us for key in equal], mine.batch_us),
                _times([one[key].row_us for key in equal], mine.row_us),
                f"{mine.peak_mb / min(one[key].peak_mb for key in equal):.2f}",
                f"{mine.megabytes / min(one[key].megabytes for key in equal):.2f}",
            ]
        )
    return rows


def _times(theirs: list[float], mine: float | None) -> str:
    return f"{min(theirs) / mine:.1f}" if theirs and mine else ""


def whole(found: Results) -> str:
    """Processor seconds from a text file to a saved model, LabelGrove's also step by step."""
    peers = [key for key, subject in PEERS.items() if subject.trees == 1]
    header = ["data", "LabelGrove, s", *STEPS, *(f"{SUBJECTS[key].title}, s" for key in peers)]
    header += [f"fastest of the others ÷ LabelGrove (aim: {_aims.BATCH_LEARNING_TIMES})"]
    rows = []
    for result in found:
        steps = {
            key: [median(run[step] for run in runs) for step in STEPS]
            for key, runs in result["runs"].items()
        }
        own, theirs = steps["labelgrove-1"], [sum(steps[key]) for key in peers if key in steps]
        shown = [f"{sum(steps[key]):.2f}" if key in steps else "" for key in peers]
        rows.append([result["subject"], f"{sum(own):.2f}", *(f"{one:.2f}" for one in own), *shown])
        rows[-1].append(_times(theirs, sum(own)))
    return table(header, rows)
