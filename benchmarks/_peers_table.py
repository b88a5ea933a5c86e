"""Other programs, as measured earlier, beside LabelGrove's accuracy results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks._results import RESULTS, read
from benchmarks._tables import precision, table

_EARLIER = RESULTS / "peers.json"
_ORDER = ("synth4k", "synth4k-hard", "clinc150-tfidf", "eurlex57k-tfidf")


def peers(results: Path) -> str:
    """All programs by data set; LabelGrove's own lines are those of ``accuracy``, as filed."""
    earlier = json.loads(_EARLIER.read_text("utf-8"))
    own = [
        {"dataset": result["subject"], **_own(row)}
        for result in read(results, "accuracy", _ORDER)
        for row in result["rows"]
        if row["shuffle"] is None
    ]
    header = ["data", "program", "threads", "learning, processor s", "prediction ms, batch"]
    header += ["one row ms", "memory MB", "P@1/3/5"]
    rows = [
        [
            dataset,
            " ".join(filter(None, (one["program"], one["algorithm"], one["parameters"]))),
            one["threads"],
            *(_number(one[key]) for key in ("learning_cpu_s", "batch_ms", "one_row_ms")),
            _number(one["memory_mb"]),
            precision(one["precision"]),
        ]
        for dataset in _ORDER
        for one in own + earlier["figures"]
        if one["dataset"] == dataset
    ]
    return table(header, rows)


def _own(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "program": "**LabelGrove**",
        "algorithm": f"preset {row['preset']}",
        "parameters": "",
        "threads": 1,
        "learning_cpu_s": row["learning"]["cpu"],
        "batch_ms": 1e3 * row["predicting"]["cpu"] / row["predicted_rows"],
        "one_row_ms": None,
        "memory_mb": row["peak_growth_mb"],
        "precision": row["precision"],
    }


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
