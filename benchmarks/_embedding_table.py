"""Learnt vectors as tables: compared with fastText and linear trees."""

from __future__ import annotations

from typing import Any

from benchmarks._tables import Results, table


def embedding(found: Results) -> str:
    """P@k and times by data set and model; at equal settings also the speed-up over fastText."""
    header = ["data", "model", "P@1/3/5", "learning s", "speed-up", "µs per row", "speed-up"]
    rows: list[list[object]] = []
    for result in found:
        theirs = {row["model"]: row for row in result["rows"]}.get("fastText hs")
        for row in result["rows"]:
            cells: list[object] = [result["subject"], _title(row)]
            if "precision" not in row:  # fastText aborted with its NaN error
                rows.append([*cells, "NaN", "", "", "", ""])
                continue
            cells.append("/".join(f"{p:.1f}" for p in row["precision"]))
            for figure in ("learning_cpu", "predicting_us"):
                cells.append(f"{row[figure]:.2f}")
                alike = row["model"] == "as fastText hs" and theirs and figure in theirs
                cells.append(f"{theirs[figure] / row[figure]:.1f}" if theirs and alike else "")
            rows.append(cells)
    return table(header, rows)


_SETTINGS = {
    "rate": ("lr", "learning_rate"),
    "passes": ("epoch", "max_iter"),
    "dimensions": ("dim", "dimension"),
}


def _title(row: dict[str, Any]) -> str:
    """The name of the model, with its settings if they were tuned."""
    options = row.get("options", {}) if "tuned" in row["model"] else {}
    tuned = [
        f"{word} {options[name]:g}"
        for word, names in _SETTINGS.items()
        for name in names
        if name in options
    ]
    return f"{row['model']}: {', '.join(tuned)}" if tuned else row["model"]
