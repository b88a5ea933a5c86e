"""Raw text as tables: accuracy by setting and program, time of front ends, time of `train`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks._tables import Results, pivot, precision, table


def text(found: Results) -> str:
    """A table each for P@1 and P@5, time and size: settings and other programs by data sets."""
    figures: dict[str, Callable[[dict[str, Any]], str]] = {
        "P@1/5": lambda row: f"{row['p@1']:.1f}/{row['p@5']:.1f}",
        "learning s": lambda row: f"{row['learning_cpu']:.2f}",
        "model MB": lambda row: f"{row['bytes'] / 1e6:.1f}",
    }
    subjects = [result["subject"] for result in found]
    return "\n\n".join(
        pivot(
            title,
            subjects,
            [{_title(row): figure(row) for row in result["rows"]} for result in found],
        )
        for title, figure in figures.items()
    )


def _title(row: dict[str, Any]) -> str:
    learner, setting = str(row["learner"]), str(row["setting"])
    return setting if learner == "peer" else f"{learner}: {setting}"


def folds(found: Results) -> str:
    """P@1 and P@5 of both front ends in cross-validation, and their difference."""
    header = ["data", "texts", "learner", "default P@1/5", "tf-idf, letters P@1/5"]
    header += ["difference of P@1", "of P@5"]
    rows: list[list[object]] = []
    for result in found:
        for row in result["rows"]:
            ours, theirs = ("/".join(f"{x:.1f}" for x in row[name]) for name in ("ours", "theirs"))
            gains = [f"{g:+.1f} ± {e:.1f}" for g, e in zip(row["gain"], row["error"], strict=True)]
            subject = [result["subject"], f"{row['texts']:,}", row["learner"]]
            rows.append([*subject, ours, theirs, *gains])
    return table(header, rows)


def text_speed(found: Results) -> str:
    """Time of front ends, and their speed-up over scikit-learn's."""
    header = ["data", "front end", "wall s", "processor s", "speed-up over scikit-learn"]
    rows: list[list[object]] = []
    for result in found:
        for name, seconds in result["seconds"].items():
            theirs = result["seconds"].get(f"{name.partition(',')[0]}, scikit-learn")
            ratio = f"{theirs['wall'] / seconds['wall']:.1f}" if theirs else ""
            row = [result["subject"], name, f"{seconds['wall']:.2f}", f"{seconds['cpu']:.2f}"]
            rows.append([*row, ratio])
        one_text = "one text of 50 words to labels, ms"
        rows.append([result["subject"], one_text, result["one_row_ms"], "", ""])
    return table(header, rows)


def training(found: Results) -> str:
    """Time and memory of the whole command, also relative to an earlier version."""
    header = ["data", "`--algorithm`", "front end", "wall s", "÷ earlier", "processor s"]
    header += ["peak MB", "file MB", "P@1/3/5"]
    rows = [_training_row(result, row) for result in found for row in result["rows"]]
    return table(header, rows)


def _training_row(result: dict[str, Any], row: dict[str, Any]) -> list[object]:
    # Minima, not medians: other work on the machine takes a whole processor from two threads.
    figures = {
        name: min(run[name] for run in row["runs"])
        for name in ("wall", "cpu", "peak_mb", "file_mb")
    }
    before = [
        min(run["wall"] for run in one["runs"])
        for one in result["rows"]
        if one["algorithm"] == row["algorithm"] and one["setting"] == "before"
    ]
    return [
        result["subject"],
        row["algorithm"],
        {"before": "words, earlier 0.1"}.get(row["setting"], row["setting"]),
        f"{figures['wall']:.1f}",
        f"{figures['wall'] / before[0]:.2f}" if before else "",
        f"{figures['cpu']:.1f}",
        f"{figures['peak_mb']:,.0f}",
        f"{figures['file_mb']:.0f}",
        precision(row["precision"]) if "precision" in row else "",
    ]
