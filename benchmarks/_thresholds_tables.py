"""Results of `benchmarks.thresholds` as Markdown tables."""

from __future__ import annotations

from typing import Any

from benchmarks._tables import Results, table

WAYS = {
    "0.5": "0.5 for all",
    "auto": "auto",
    "auto, instance": "auto for instance F",
    "fta": "FTA",
    "ofo": "OFO",
}
"""Methods compared with the best k, by their titles."""

PUBLISHED = ("fta", "sto", "ofo")
SOURCES = ("PLT", "FastXML")
"""Sources of probabilities in Table 2 of Jasinska et al. (2016)."""


def thresholds(found: Results) -> str:
    """The paper's Table 2; label trees with our methods; thresholds tuned along the stream."""
    data = [result for result in found if "rows" in result]
    tuned = [result for result in data if "while_learning" in result]
    return "\n\n".join([table_2(data), label_trees(data), while_learning(tuned)])


def table_2(data: Results) -> str:
    """Macro F on the test set and inner products per row: the methods over both sources."""
    header = ["macro F; inner products", *(f"{s}, {w.upper()}" for s in SOURCES for w in PUBLISHED)]
    rows = []
    for result in data:
        by = {(row["model"], row["way"]): row for row in result["rows"]}
        if all((source, "fta") in by for source in SOURCES):
            found = [by[source, way] for source in SOURCES for way in PUBLISHED]
            cells_of = [f"{row['macro']:.1f}; {row['inner_products']:,.0f}" for row in found]
            rows.append([result["subject"], *cells_of])
    return table(header, rows)


def label_trees(data: Results) -> str:
    """The F-measures and the number of labels of the best k and of thresholds, by label tree."""
    rows = []
    for result in data:
        for model in ("PLT", "OPLT"):
            by = {row["way"]: row for row in result["rows"] if row["model"] == model}
            best = next((by[way] for way in by if way.startswith("best ")), None)
            if best is not None:
                found = [best, *(by[way] for way in WAYS)]
                rows.append([result["subject"], model, *map(_cell, found)])
    return table(["macro/micro/instance F; labels", "model", "best k", *WAYS.values()], rows)


def _cell(row: dict[str, Any]) -> str:
    figures = "/".join(f"{row[name]:.1f}" for name in ("macro", "micro", "instance"))
    return f"{figures}; {row['labels']:.1f}"


def while_learning(data: Results) -> str:
    """F on the test set and the cost of learning when thresholds are tuned online."""
    header = ["every example; one in 4", "macro F", "micro F", "labels", "time ratio"]
    rows = []
    for result in data:
        plain, *runs = result["while_learning"]
        figures = [
            "; ".join(f"{run[name]:.1f}" for run in runs) for name in ("macro", "micro", "labels")
        ]
        ratios = "; ".join(f"{run['cpu'] / plain['cpu']:.1f}" for run in runs)
        held_out = f"{result['curve'][-1]['offline']:.1f}" if "curve" in result else ""
        rows.append([result["subject"], *figures, ratios, held_out])
    return table([*header, "macro F, OFO on held-out rows"], rows)
