"""What the settings of the front end are worth, as a table."""

from __future__ import annotations

from typing import Any

from benchmarks._tables import Results, table


def text(found: Results) -> str:
    """P@k and PSP@k by data set, learner and front end, with seconds and bytes."""
    header = ["data", "learning", "front end", "P@1/3/5", "PSP@1/3/5", "learning s", "MB"]
    rows = [_row(result["subject"], row) for result in found for row in result["rows"]]
    return table(header, rows)


def _row(subject: str, row: dict[str, Any]) -> list[object]:
    return [
        subject,
        row["learner"],
        row["front_end"],
        "/".join(f"{row[f'p@{k}']:.1f}" for k in (1, 3, 5)),
        "/".join(f"{row[f'psp@{k}']:.1f}" for k in (1, 3, 5)),
        f"{row['learning_cpu']:.2f}",
        f"{row['bytes'] / 1e6:.1f}",
    ]
