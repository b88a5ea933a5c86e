"""Results about trees as tables: interpolated trees, warm start, and forests."""

from __future__ import annotations

from statistics import median
from typing import Any

import numpy as np

from benchmarks import _aims
from benchmarks._tables import Results, percent, pivot, precision, table


def knob(found: Results) -> str:
    """What λ′ saves at equal precision, then balanced 2-means beside wide trees."""
    gains = [row for result in found for row in _gains(result)]
    header = ["data", "leaf size", "P@1 at λ′ = 0", "fastest λ′ (its P@1)", "depth@1"]
    header += ["p50", "p99", "mean"]
    return "\n\n".join([table(header, gains), _beside(found)])


def _beside(found: Results) -> str:
    header = ["data", "tree", "P@1/3/5", "depth@1", "classifiers@1", "p50 µs", "p99 µs", "mean µs"]
    rows = []
    for result in found:
        for tree in result["trees"]:
            if tree["builder"] == "interpolated" and tree["lambda_prime"] > 0:
                continue
            one = tree["searches"]["1"]
            rows.append(
                [
                    result["subject"],
                    tree["title"],
                    precision(tree["precision"]),
                    f"{one['depth']:.2f}",
                    f"{one['classifiers']:.0f}",
                    f"{one['p50_us']:.0f}",
                    f"{one['p99_us']:.0f}",
                    f"{one['batch_us']:.1f}",
                ]
            )
    return table(header, rows)


EQUAL = 0.2
"""Points of P@1 within which two trees count as equally precise."""


def _gains(result: dict[str, Any]) -> list[list[object]]:
    """By leaf size: the fastest interpolated tree that is as precise as λ′ = 0."""
    rows: list[list[object]] = []
    trees = [tree for tree in result["trees"] if tree["builder"] == "interpolated"]
    for size in sorted({tree["max_leaf_size"] for tree in trees}, reverse=True):
        those = [tree for tree in trees if tree["max_leaf_size"] == size]
        plain = next(tree for tree in those if tree["lambda_prime"] == 0)
        equal = [t for t in those if t["precision"][0] >= plain["precision"][0] - EQUAL]
        best = min(equal, key=lambda tree: tree["searches"]["1"]["batch_us"])
        before, after = plain["searches"]["1"], best["searches"]["1"]
        changes = [_change(before[key], after[key]) for key in ("depth", "p50_us", "p99_us")]
        rows.append(
            [
                result["subject"],
                size,
                f"{plain['precision'][0]:.1f}",
                f"{best['lambda_prime']:g} ({best['precision'][0]:.1f})",
                *changes,
                _change(before["batch_us"], after["batch_us"]),
            ]
        )
    return rows


def _change(before: float, after: float) -> str:
    return f"{100 * (after / before - 1):+.0f} %".replace("-", "−")


def one_versus_rest(found: Results) -> str:
    """The default tree next to one classifier for each label."""
    header = ["data", "labels", "tree P@1/3/5", "one-versus-rest P@1/3/5"]
    header += ["learning s", "prediction µs", "model MB"]
    rows: list[list[object]] = []
    for result in found:
        tree, flat = result["rows"]
        rows.append(
            [
                result["subject"],
                f"{tree['labels']:,}",
                precision(tree["precision"]),
                precision(flat["precision"]),
                *(
                    "; ".join(f"{one[key]:.{digits}f}" for one in (tree, flat))
                    for key, digits in (("learning_cpu", 2), ("predicting_us", 0), ("mb", 1))
                ),
            ]
        )
    return table(header, rows)


def regularization(found: Results) -> str:
    """The default C next to the one that cross-validation chooses, and P@1 with every C."""
    rows: list[list[object]] = []
    for result in found:
        default, *others = result["rows"]
        chosen = next(row for row in result["rows"] if row["C"] == result["chosen"])
        rows.append(
            [
                result["subject"],
                precision(default["precision"]),
                precision(chosen["precision"]),
                "default" if chosen is default else f"{chosen['C']:g}",
                f"{result['searching_cpu'] / default['learning_cpu']:.0f}",
                *(percent(other["precision"][0]) for other in others),
            ]
        )
    constants = [f"P@1, C = {other['C']:g}" for other in found[0]["rows"][1:]]
    header = ["data", "default P@1/3/5", "chosen P@1/3/5", "chosen C", "search ÷ learning"]
    return table([*header, *constants], rows)


def warm_start(found: Results) -> str:
    """P@1 of Tables 7 and 8 of the paper: a row for each variant, a column for each data set."""
    figures = [
        {one["variant"]: percent(one["precision"][0]) for one in result["variants"]}
        for result in found
    ]
    return pivot("P@1", [result["subject"] for result in found], figures)


def ldsm(found: Results) -> str:
    """The largest ensemble next to the paper's figures, then smaller ones."""
    header = ["data", "trees", "P@1/3/5", "paper's", "learning s", "2 threads, wall s"]
    header += ["paper's s", "prediction µs", "paper's µs", "peak MB", "model MB"]
    return f"{table(header, map(_largest, found))}\n\n{_sizes(found)}"


def fastxml(found: Results) -> str:
    """The published FastXML, then our forests."""
    header = ["data", "forest", "trees", "P@1/3/5", "PSP@1/3/5", "learning s", "prediction µs"]
    header += ["one row µs", "peak MB", "model MB"]
    rows: list[list[object]] = []
    for result in found:
        paper = _aims.FASTXML.get(result["subject"])
        if paper is not None:
            times = [paper.learning_seconds or "", paper.prediction_us or ""]
            given = [result["subject"], "published FastXML", 50, precision(paper.precision), ""]
            rows.append([*given, *times, "", "", ""])
        rows += [_forest(result, run) for run in result["runs"]]
    return table(header, rows)


def splits(found: Results) -> str:
    """The published figures, then every model on the file's split and on random ones."""
    header = ["data", "model", "file's split", "random splits", "standard deviation", "best"]
    rows: list[list[object]] = []
    for result in found:
        for name, published in (("LdSM", _aims.LDSM), ("FastXML", _aims.FASTXML)):
            paper = published.get(result["subject"])
            if paper is not None:
                given = precision(paper.precision)
                rows.append([result["subject"], f"published {name}", "", given, "", ""])
        for model, run in result["runs"].items():
            drawn = np.array(run["drawn"])
            columns = [run["filed"], drawn.mean(0), drawn.std(0, ddof=1), drawn.max(0)]
            rows.append([result["subject"], f"`{model}`", *map(precision, columns)])
    return table(header, rows)


def _forest(result: dict[str, Any], run: dict[str, Any]) -> list[object]:
    return [
        result["subject"],
        run["title"],
        run["trees"],
        precision(run["precision"]),
        precision(run["psp"]),
        f"{run['learning']['cpu']:.2f}",
        f"{microseconds(run, result['rows']):.1f}",
        f"{run['single']['p50']:.0f}",
        f"{run['peak_mb']:,.0f}",
        f"{run['model_bytes'] / 2**20:.1f}",
    ]


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
        f"{microseconds(run, result['rows']):.1f}",
        f"{paper.prediction_us}" if paper else "",
        f"{run['peak_mb']:,.0f}",
        f"{run['model_bytes'] / 2**20:.1f}",
    ]


def _sizes(found: Results) -> str:
    """P@1 and times by the number of trees, one row per data set."""
    cells: dict[int, dict[str, str]] = {}
    for result in found:
        for run in result["ensembles"]:
            spent, seconds = microseconds(run, result["rows"]), run["learning"]["cpu"]
            figures = f"{run['precision'][0]:.1f}, {spent:.1f}, {seconds:.2f}"
            cells.setdefault(run["options"]["n_estimators"], {})[result["subject"]] = figures
    counts = sorted(cells)
    title = "P@1, prediction µs, learning s; trees →"
    return pivot(title, [str(n) for n in counts], [cells[n] for n in counts])


def microseconds(run: dict[str, Any], rows: int) -> float:
    return 1e6 * float(median(clock["cpu"] for clock in run["batch"])) / rows
