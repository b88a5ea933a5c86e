"""The data behind the charts and tables of a report."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from labelgrove._cuts import reaches
from labelgrove.evaluation._figures import f1_finishes
from labelgrove.metrics import label_table, reliability_curve
from labelgrove.metrics._inputs import IntArray, keep_entries
from labelgrove.metrics._score import FloatArray, Interval, Score, estimate
from labelgrove.metrics._summary import ranking_finishes
from labelgrove.reporting._chart_parts import plain, records
from labelgrove.reporting._losses import Losses
from labelgrove.reporting._measured import Measured
from labelgrove.reporting._mistakes import Called

NAMES = {
    "accuracy": "accuracy",
    "p@1": "P@1",
    "p@3": "P@3",
    "p@5": "P@5",
    "r@5": "R@5",
    "ndcg@5": "nDCG@5",
    "psp@1": "PSP@1",
    "psp@5": "PSP@5",
    "macro_f1": "macro F1",
    "micro_f1": "micro F1",
    "instance_f1": "instance F1",
    "ece": "calibration error",
}
"""Names of the metrics on the page."""

_FREQUENCY_BINS = 4  # per power of ten


def headline(measured: Measured) -> dict[str, Score]:
    """Select the headline metrics, with their intervals."""
    if measured.rule == "class":
        chosen = ["accuracy", "psp@1", "macro_f1", "ece"]
    else:
        chosen = [name for name in NAMES if name not in ("accuracy", "psp@1")]
    return {name: measured.figures[name] for name in chosen if name in measured.figures}


def ranking_curve(measured: Measured, model: str, interval: Interval) -> list[dict[str, Any]]:
    """Compute P@k and R@k for k = 1 to 10."""
    ks = range(1, measured.ranking.shape[1] + 1)
    finishes, n = ranking_finishes(measured.truth, measured.ranking, ks, None, None, 0.0)
    rows = []
    for letter, metric in (("p", "precision"), ("r", "recall")):
        for k in ks:
            score = estimate(finishes[f"{letter}@{k}"], n, interval)
            low, high = score.interval or (score, score)
            value, low, high = plain([score, low, high])
            rows.append(
                {"model": model, "k": k, "metric": metric, "value": value, "low": low, "high": high}
            )
    return rows


def threshold_curve(measured: Measured) -> list[dict[str, Any]]:
    """Compute F1, averaged in three ways, for thresholds shared by all labels."""
    rows, estimates = [], measured.estimates
    for threshold in np.arange(1, 50) / 50:
        kept = keep_entries(estimates, reaches(estimates.data, threshold))
        ones = csr_array((np.ones(kept.nnz), kept.indices, kept.indptr), shape=kept.shape)
        rows += [
            {
                "threshold": float(threshold),
                "average": name.removesuffix("_f1"),
                "f": plain([finish(None)])[0],
            }
            for name, finish in f1_finishes(measured.observed, ones).items()
        ]
    return rows


def reliability(measured: Measured, model: str) -> list[dict[str, Any]]:
    """Compute the reliability curve from the same estimates as the calibration error."""
    curve = reliability_curve(measured.truth, measured.best)
    there = curve.count > 0
    rows = records(
        predicted=curve.mean_probability[there],
        observed=curve.frequency[there],
        count=curve.count[there].astype(np.int64),
    )
    return [{"model": model, **row} for row in rows]


def counts_in_bins(values: FloatArray, edges: FloatArray) -> list[dict[str, Any]]:
    """Compute a histogram in the page's format."""
    counts, edges = np.histogram(values, edges)
    return records(low=edges[:-1], high=edges[1:], count=counts)


def latency_bins(seconds: FloatArray) -> list[dict[str, Any]]:
    """Compute a histogram of milliseconds per row, in bins of equal ratio."""
    ms = seconds * 1000
    low, high = np.log10(max(ms.min(), 1e-4)), np.log10(max(ms.max(), 1e-4))
    return counts_in_bins(ms, np.logspace(low - 0.01, high + 0.01, 41))


def label_columns(
    measured: Measured, losses: Losses | None, called: Called = str
) -> dict[str, Any]:
    """Build the per-label table, column by column."""
    table = label_table(
        measured.truth, measured.answer, names=measured.labels, thresholds=measured.thresholds
    )
    f1 = table.f1.copy()
    f1[table.support == 0] = np.nan  # unknown for labels that are not in the test set
    columns: dict[str, Any] = {
        "label": [called(name) for name in table.name.tolist()],
        "seen": plain(measured.counts),
        "support": plain(table.support),
        "right": plain(table.true_positives),
        "wrong": plain(table.false_positives),
        "missed": plain(table.false_negatives),
        "precision": plain(np.where(table.support > 0, table.precision, np.nan)),
        "recall": plain(np.where(table.support > 0, table.recall, np.nan)),
        "f1": plain(f1),
    }
    if measured.rule == "thresholds":
        columns["threshold"] = plain(table.threshold)
    if losses is not None:
        node, share = losses.main_nodes(len(measured.labels))
        columns |= {"node": plain(node), "share": plain(share)}
    return columns


def frequency(columns: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Pair each label's F1 with its number of training examples; also means in logarithmic bins."""
    seen = np.array(columns["seen"], np.int64)
    f1 = np.array([np.nan if value is None else value for value in columns["f1"]], np.float64)
    there = (seen > 0) & np.isfinite(f1)
    shown = ("label", "seen", "f1", "support")
    points = [{name: columns[name][i] for name in shown} for i in np.flatnonzero(there).tolist()]
    which = np.floor(np.log10(np.maximum(seen, 1)) * _FREQUENCY_BINS).astype(np.int64)
    means = []
    for one in np.unique(which[there]).tolist():
        inside = there & (which == one)
        middle = float(np.exp(np.log(seen[inside]).mean()))
        means.append({"seen": middle, "f1": float(f1[inside].mean()), "labels": int(inside.sum())})
    return points, means


def lost_by_depth(losses: Losses) -> list[dict[str, Any]]:
    """Count misses by the depth at which they were lost, separately for inner nodes and leaves."""
    rows, total = [], losses.depths.size
    for depth in np.unique(losses.depths).tolist():
        for at_leaf, where in ((False, "at a group of labels"), (True, "at the label itself")):
            misses = int(((losses.depths == depth) & (losses.at_leaf == at_leaf)).sum())
            if misses:
                rows.append(
                    {"depth": depth, "where": where, "misses": misses, "share": misses / total}
                )
    return rows


def tree_arrays(tree: Any, labels: Sequence[Hashable], losses: Losses | None) -> dict[str, Any]:
    """Describe the tree by node: its parent, its label's number (-1: none), and misses lost."""
    ids = {label: i for i, label in enumerate(labels)}
    numbers: IntArray = np.full(tree.n_nodes, -1, np.int64)
    for node, name in tree.labels.items():
        numbers[node] = ids[name]
    lost = losses.by_node(tree.n_nodes) if losses is not None else np.zeros(tree.n_nodes, np.int64)
    return {"parents": plain(tree.parents), "labels": plain(numbers), "lost": plain(lost)}
