"""Results of LdSM, and of all models side by side, as tables."""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks import _aims
from benchmarks._tables import Results, precision, table


def ldsm(found: Results) -> str:
    """The largest ensemble beside the paper's figures, then ensembles and sizes of trees."""
    header = ["data", "trees", "P@1/3/5", "the paper's", "learning s", "2 threads, wall s"]
    header += ["the paper's s", "prediction µs", "the paper's µs", "peak MB", "model MB"]
    parts = [table(header, [_largest(result) for result in found])]
    parts += [_steps(found, "ensembles", "n_estimators", "trees")]
    parts += [_steps(found, "sizes", "max_nodes", "T_max")]
    return "\n\n".join(parts)


def _largest(result: dict[str, Any]) -> list[object]:
    run = max(result["ensembles"], key=lambda one: one["options"]["n_estimators"])
    paper = _aims.LDSM.get(result["subject"])
    return [
        result["subject"],
        run["options"]["n_estimators"],
        precision(run["precision"]),
        precision(paper.precision) if paper else "",
        f"{run['learning']['cpu']:.2f}",
        f"{result['two_threads']['learning']['wall']:.2f}",
        f"{paper.learning_seconds}" if paper else "",
        f"{_microseconds(run, result['rows']):.1f}",
        f"{paper.prediction_us}" if paper else "",
        f"{run['peak_mb']:,.0f}",
        f"{run['model_bytes'] / 2**20:.1f}",
    ]


def _steps(found: Results, part: str, option: str, title: str) -> str:
    """P@1 and microseconds along one option, one line a data set."""
    values = sorted({run["options"][option] for result in found for run in result[part]})
    rows = []
    for result in found:
        by_value = {run["options"][option]: run for run in result[part]}
        cells = [_step(by_value.get(value), result["rows"]) for value in values]
        rows.append([result["subject"], *cells])
    header = [f"P@1, prediction µs, learning s; {title} →", *(f"{value:,}" for value in values)]
    return table(header, rows)


def _step(run: dict[str, Any] | None, rows: int) -> str:
    if run is None:
        return ""
    microseconds, seconds = _microseconds(run, rows), run["learning"]["cpu"]
    return f"{run['precision'][0]:.1f}, {microseconds:.1f}, {seconds:.2f}"


def _microseconds(run: dict[str, Any], rows: int) -> float:
    return 1e6 * float(median(clock["cpu"] for clock in run["batch"])) / rows


def models(found: Results) -> str:
    """Every model on every data set."""
    header = ["data", "model", "P@1/3/5", "learning s", "memory MB", "batch µs", "one row µs"]
    header += ["model MB"]
    rows = [
        [
            result["subject"],
            one["title"],
            precision(one["runs"][0]["precision"]),
            f"{median(run['learning']['cpu'] for run in one['runs']):.2f}",
            f"{median(run['peak_mb'] for run in one['runs']):,.0f}",
            f"{median(_microseconds(run, result['rows']) for run in one['runs']):.1f}",
            f"{median(run['single']['p50'] for run in one['runs']):.0f}",
            f"{one['runs'][0]['model_bytes'] / 2**20:.1f}",
        ]
        for result in found
        for one in result["models"]
    ]
    return table(header, rows)
