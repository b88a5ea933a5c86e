"""Results of `benchmarks.thresholds` as Markdown tables."""

from __future__ import annotations

from typing import Any

from benchmarks._tables import Results, table

WAYS = {"0.5": "0.5 for all", "auto": "auto", "fta": "FTA", "sto": "STO", "ofo": "OFO"}
PUBLISHED = ("fta", "sto", "ofo")
SOURCES = ("PLT", "FastXML")
"""Sources of probabilities in Table 2 of Jasinska et al. (2016)."""


def thresholds(found: Results) -> str:
    """The paper's Table 2; all models and methods; along the stream; the cost of tuning."""
    data = [result for result in found if "rows" in result]
    header = ["data", "model", "method", "macro F, held-out", "macro F", "macro F, 0/0 = 1"]
    header += ["micro F", "instance F", "labels", "ms", "inner products", "tuning ms"]
    rows = [cells(result, row) for result in data for row in result["rows"]]
    streams = [result for result in data if "curve" in result]
    tuned = [result for result in data if "while_learning" in result]
    tables = [
        table_2(data),
        table(header, rows),
    ]
    tables += [along(streams)] if streams else []
    tables += [while_learning(tuned)] if tuned else []
    tables += [speeds(result["sizes"]) for result in found if "sizes" in result]
    return "\n\n".join(tables)


def table_2(data: Results) -> str:
    """Macro F on the test set and inner products per row: the methods over both sources."""
    header = ["macro F; inner products", *(f"{s}, {WAYS[w]}" for s in SOURCES for w in PUBLISHED)]
    rows = []
    for result in data:
        by = {(row["model"], row["way"]): row for row in result["rows"]}
        if all((source, "fta") in by for source in SOURCES):
            found = [by[source, way] for source in SOURCES for way in PUBLISHED]
            cells_of = [f"{row['macro']:.1f}; {row['inner_products']:,.0f}" for row in found]
            rows.append([result["subject"], *cells_of])
    return table(header, rows)


def cells(result: dict[str, Any], row: dict[str, Any]) -> list[object]:
    """A row of the first table."""
    figures = ("validation", "macro", "macro_one", "micro", "instance")
    tuning = 1e3 * row["tuning"]["cpu"] / row["tuned_over"] if "tuning" in row else None
    return [
        result["subject"],
        row["model"],
        WAYS.get(row["way"], row["way"]),
        *(f"{row[name]:.1f}" for name in figures),
        f"{row['labels']:.2f}",
        f"{row['cpu_ms']:.3f}",
        f"{row['inner_products']:,.0f}",
        "" if tuning is None else f"{tuning:.3f}",
    ]


def along(data: Results) -> str:
    """Macro F on the test set at each checkpoint of the stream."""
    names = {"online": "OFO online", "offline": "OFO on held-out rows", "half": "0.5 for all"}
    points = max(len(result["curve"]) for result in data)
    header = ["data", "thresholds", *(f"{100 * (i + 1) // points} %" for i in range(points))]
    rows = [
        [result["subject"], title, *(f"{point[name]:.1f}" for point in result["curve"])]
        for result in data
        for name, title in names.items()
    ]
    return table(header, rows)


def while_learning(data: Results) -> str:
    """F on the test set and the cost of learning when thresholds are tuned online."""
    header = ["data", "tuned by", "macro F", "micro F", "labels", "learning s", "time ratio"]
    rows = []
    for result in data:
        plain = result["while_learning"][0]["cpu"]
        for run in result["while_learning"][1:]:
            by = "every example" if run["every"] == 1 else f"one in {run['every']}"
            figures = (f"{run['macro']:.1f}", f"{run['micro']:.1f}", f"{run['labels']:.2f}")
            cost = (f"{run['cpu']:.2f}", f"{run['cpu'] / plain:.1f}")
            rows.append([result["subject"], by, *figures, *cost])
    return table(header, rows)


def speeds(sizes: dict[str, list[dict[str, Any]]]) -> str:
    """The cost of tuning alone, on synthetic scores."""
    rows = [
        [
            size,
            run["method"],
            f"{run['cpu']:.2f}",
            f"{run['grown_mb']:,.0f}",
            f"{run['peak_mb']:,.0f}",
        ]
        for size, runs in sizes.items()
        for run in runs
    ]
    return table(["size", "method", "processor s", "memory MB", "whole process MB"], rows)
