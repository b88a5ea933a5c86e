"""The parts of a report as numbers: what the charts and tables of the page show."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from labelgrove.metrics import (
    expected_calibration_error,
    inverse_propensity,
    label_table,
    reliability_curve,
)
from labelgrove.metrics._score import Interval, Score, estimate
from labelgrove.metrics._summary import ranking_finishes, set_finishes
from labelgrove.reporting._losses import Losses
from labelgrove.reporting._numbers import plain, records
from labelgrove.reporting._observed import PLACES, FloatArray, IntArray, Observed

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
"""What metrics are called in the page."""

UNDEFINED = float("nan")
"""What 0/0 counts as in F1: not at all. A label that a resample happens to miss is no failure."""

_FEWEST_FOR_PROPENSITY = 3
_FREQUENCY_BINS = 4  # for each power of ten


def propensities(observed: Observed) -> FloatArray | None:
    """Inverse propensities from what the model has seen; None where it is too little."""
    if observed.examples_seen < _FEWEST_FOR_PROPENSITY:
        return None
    return inverse_propensity(observed.counts, n_examples=observed.examples_seen)


def in_test(truth: csr_array) -> IntArray:
    """Labels that any example has: of others no F1 can be told, and none counts."""
    return np.unique(truth.indices).astype(np.int64)


def headline(
    truth: csr_array, observed: Observed, task: str, interval: Interval
) -> dict[str, Score]:
    """The metrics of the first lines, with their intervals."""
    places = (1,) if task == "multiclass" else (1, 3, 5)
    finishes, n = ranking_finishes(
        truth, observed.ranking, places, propensities(observed), None, 0.0
    )
    sets, _ = set_finishes(truth, observed.answer, in_test(truth), UNDEFINED)
    finishes |= sets
    left_out = {"accuracy", "psp@1"}
    if task == "multiclass":
        finishes["accuracy"] = finishes["p@1"]
        left_out = NAMES.keys() - {"accuracy", "macro_f1", "psp@1", "ece"}
    error = expected_calibration_error(truth, observed.estimates, interval=interval)
    found = {name: estimate(finishes[name], n, interval) for name in NAMES if name in finishes} | {
        "ece": error
    }
    return {name: score for name, score in found.items() if name not in left_out}


def ranking_curve(
    truth: csr_array, observed: Observed, model: str, interval: Interval
) -> list[dict[str, Any]]:
    """P@k and R@k for k = 1 to 10."""
    ks = range(1, PLACES + 1)
    finishes, n = ranking_finishes(truth, observed.ranking, ks, None, None, 0.0)
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


def threshold_curve(truth: csr_array, observed: Observed) -> list[dict[str, Any]]:
    """F1, averaged in three ways, where all labels share one threshold."""
    rows, labels = [], in_test(truth)
    for threshold in np.arange(1, 50) / 50:
        kept = csr_array(observed.estimates, copy=True)
        kept.data = (kept.data >= threshold).astype(np.float64)
        kept.eliminate_zeros()
        finishes, _ = set_finishes(truth, kept, labels, UNDEFINED)
        rows += [
            {
                "threshold": float(threshold),
                "average": average,
                "f": plain([finishes[f"{average}_f1"](None)])[0],
            }
            for average in ("macro", "micro", "instance")
        ]
    return rows


def reliability(truth: csr_array, observed: Observed, model: str) -> list[dict[str, Any]]:
    """The reliability curve over the estimates that were looked at."""
    curve = reliability_curve(truth, observed.estimates)
    there = curve.count > 0
    rows = records(
        predicted=curve.mean_probability[there],
        observed=curve.frequency[there],
        count=curve.count[there].astype(np.int64),
    )
    return [{"model": model, **row} for row in rows]


def counts_in_bins(values: FloatArray, edges: FloatArray) -> list[dict[str, Any]]:
    """A histogram, as the page draws it."""
    counts, edges = np.histogram(values, edges)
    return records(low=edges[:-1], high=edges[1:], count=counts)


def latency_bins(seconds: FloatArray) -> list[dict[str, Any]]:
    """Milliseconds a row, in bins of equal ratio."""
    ms = seconds * 1000
    low, high = np.log10(max(ms.min(), 1e-4)), np.log10(max(ms.max(), 1e-4))
    return counts_in_bins(ms, np.logspace(low - 0.01, high + 0.01, 41))


def label_columns(
    truth: csr_array, observed: Observed, ids: Mapping[Hashable, int], losses: Losses | None
) -> dict[str, Any]:
    """The per-label table, column by column."""
    table = label_table(truth, observed.answer, names=list(ids), thresholds=observed.thresholds)
    f1 = table.f1.copy()
    f1[table.support == 0] = np.nan  # of a label that is not in the test nothing can be said
    columns: dict[str, Any] = {
        "label": [str(name) for name in table.name],
        "seen": plain(observed.counts),
        "support": plain(table.support),
        "right": plain(table.true_positives),
        "wrong": plain(table.false_positives),
        "missed": plain(table.false_negatives),
        "precision": plain(np.where(table.support > 0, table.precision, np.nan)),
        "recall": plain(np.where(table.support > 0, table.recall, np.nan)),
        "f1": plain(f1),
    }
    if observed.rule == "thresholds":
        columns["threshold"] = plain(table.threshold)
    if losses is not None:
        node, share = losses.main_nodes(len(ids))
        columns |= {"node": plain(node), "share": plain(share)}
    return columns


def frequency(columns: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """F1 by label against the examples seen of it, and its means within bins of log(seen)."""
    seen = np.array(columns["seen"], np.int64)
    f1 = np.array([np.nan if value is None else value for value in columns["f1"]], np.float64)
    there = (seen > 0) & np.isfinite(f1)
    points = [
        {
            "label": columns["label"][i],
            "seen": columns["seen"][i],
            "f1": columns["f1"][i],
            "support": columns["support"][i],
        }
        for i in np.flatnonzero(there).tolist()
    ]
    which = np.floor(np.log10(np.maximum(seen, 1)) * _FREQUENCY_BINS).astype(np.int64)
    means = []
    for one in np.unique(which[there]).tolist():
        inside = there & (which == one)
        middle = float(np.exp(np.log(seen[inside]).mean()))
        means.append({"seen": middle, "f1": float(f1[inside].mean()), "labels": int(inside.sum())})
    return points, means


def lost_by_depth(losses: Losses) -> list[dict[str, Any]]:
    """Misses by the depth at which they fell out, inner nodes and leaves apart."""
    total = max(losses.depths.size, 1)
    rows = []
    for depth in np.unique(losses.depths).tolist():
        for at_leaf, where in ((False, "at an inner node"), (True, "at the leaf")):
            misses = int(((losses.depths == depth) & (losses.at_leaf == at_leaf)).sum())
            if misses:
                rows.append(
                    {"depth": depth, "where": where, "misses": misses, "share": misses / total}
                )
    return rows


def tree_arrays(tree: Any, ids: Mapping[Hashable, int], losses: Losses | None) -> dict[str, Any]:
    """The tree: by node its parent, its label's number (-1: none) and the misses lost there."""
    labels: IntArray = np.full(tree.n_nodes, -1, np.int64)
    for node, name in tree.labels.items():
        labels[node] = ids[name]
    lost = losses.by_node(tree.n_nodes) if losses is not None else np.zeros(tree.n_nodes, np.int64)
    return {"parents": plain(tree.parents), "labels": plain(labels), "lost": plain(lost)}
