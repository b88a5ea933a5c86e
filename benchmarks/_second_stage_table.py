"""What a second stage gives and costs, as a table."""

from __future__ import annotations

from typing import Any

from benchmarks._tables import Results, table


def second_stage(found: Results) -> str:
    """P@k, PSP@k, calibration error and times, by data set, learner and second stage."""
    header = ["data", "learning", "second stage", "re-ranked", "P@1/5", "PSP@1/5", "ECE"]
    header += ["prediction µs", "learning s", "MB"]
    rows = [_row(result["subject"], row) for result in found for row in result["rows"]]
    return table(header, rows)


def _row(subject: str, row: dict[str, Any]) -> list[object]:
    return [
        subject,
        row["learner"],
        row["stage"] or "–",
        "yes" if row["reranks"] else "no",
        f"{100 * row['p@1']:.1f}/{100 * row['p@5']:.1f}",
        f"{100 * row['psp@1']:.1f}/{100 * row['psp@5']:.1f}",
        f"{100 * row['ece']:.1f}",
        f"{row['predicting_us']:.0f}",
        f"{row['learning_cpu']:.1f}",
        f"{row['mb']:.1f}",
    ]
