"""Learnt vectors as tables: compared with fastText and linear trees."""

from __future__ import annotations

from typing import Any

from benchmarks._tables import Results, pivot


def embedding(found: Results) -> str:
    """A table each for P@k and times: models by data sets; at equal settings also the speed-up."""
    subjects = [result["subject"] for result in found]
    precisions = [{row["model"]: _precision(row) for row in one["rows"]} for one in found]
    figures = {
        "learning s (speed-up)": "learning_cpu",
        "µs per row (speed-up)": "predicting_us",
    }
    times = [
        pivot(title, subjects, [_times(result, figure) for result in found])
        for title, figure in figures.items()
    ]
    return "\n\n".join([pivot("P@1/3/5", subjects, precisions), *times])


def _precision(row: dict[str, Any]) -> str:
    # fastText may abort with its NaN error.
    return "/".join(f"{p:.1f}" for p in row["precision"]) if "precision" in row else "NaN"


def _times(result: dict[str, Any], figure: str) -> dict[str, str]:
    """A time of every model; fastText's settings are compared with fastText."""
    times = {row["model"]: row[figure] for row in result["rows"] if "precision" in row}
    shown = {model: f"{time:.2f}" for model, time in times.items()}
    ours, theirs = times.get("as fastText hs"), times.get("fastText hs")
    if ours and theirs:
        shown["as fastText hs"] += f" ({theirs / ours:.1f})"
    return shown
