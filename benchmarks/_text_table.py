"""Raw text: settings, learners and other programs as a table; and seconds of front ends."""

from __future__ import annotations

from typing import Any

from benchmarks._tables import Results, table


def text(found: Results) -> str:
    """P@k and PSP@k by data set, learner and setting, with seconds and bytes."""
    header = ["data", "learning", "setting", "P@1/3/5", "PSP@1/3/5", "learning s", "MB"]
    rows = [_row(result["subject"], row) for result in found for row in result["rows"]]
    return table(header, rows)


def _row(subject: str, row: dict[str, Any]) -> list[object]:
    said = ", ".join(f"{name} {value}" for name, value in row.get("options", {}).items())
    return [
        subject,
        "" if row["learner"] == "peer" else row["learner"],
        f"{row['setting']} ({said})" if said else row["setting"],
        "/".join(f"{row[f'p@{k}']:.1f}" for k in (1, 3, 5)),
        "/".join(f"{row[f'psp@{k}']:.1f}" for k in (1, 3, 5)),
        f"{row['learning_cpu']:.2f}",
        f"{row['bytes'] / 1e6:.1f}",
    ]


def text_speed(found: Results) -> str:
    """Seconds of front ends, and how many times scikit-learn's are those of ours."""
    header = ["data", "front end", "wall s", "processor s", "times scikit-learn"]
    rows: list[list[object]] = []
    for result in found:
        for name, seconds in result["seconds"].items():
            theirs = result["seconds"].get(f"{name.partition(',')[0]}, scikit-learn")
            ratio = f"{theirs['wall'] / seconds['wall']:.1f}" if theirs else ""
            row = [result["subject"], name, f"{seconds['wall']:.2f}", f"{seconds['cpu']:.2f}"]
            rows.append([*row, ratio])
        rows.append(
            [result["subject"], "one text of 50 words to labels, ms", result["one_row_ms"], "", ""]
        )
    return table(header, rows)
