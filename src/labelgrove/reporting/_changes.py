"""What one model does better and worse than another, with significance tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from labelgrove.evaluation._figures import f1_finishes
from labelgrove.metrics import compare_rankings, label_changes, mcnemar
from labelgrove.metrics._comparison import estimated_changes
from labelgrove.metrics._score import Interval
from labelgrove.reporting._chart_parts import plain
from labelgrove.reporting._measured import PLACES, Measured
from labelgrove.reporting._mistakes import Called
from labelgrove.reporting._sections import NAMES, headline

SIGNIFICANT = 0.05


def differences(before: Measured, after: Measured, interval: Interval) -> list[dict[str, Any]]:
    """Compute the change of every headline metric that is a mean over rows or labels."""
    truth = after.truth
    found = compare_rankings(
        truth,
        before.ranking,
        after.ranking,
        PLACES,
        inverse_propensities=before.weights,
        interval=interval,
    )
    found["accuracy"] = found["p@1"]
    old, new = ((f1_finishes(one.observed, one.answer), truth.shape[0]) for one in (before, after))
    found |= estimated_changes(old, new, interval)
    rows, scores = [], headline(before)
    for name, score in headline(after).items():
        if name not in found or name not in scores:
            continue
        change = found[name]
        # Each model has its own propensities; a change is measured with those of the first.
        later = scores[name] + change if name.startswith("psp") else score
        low, high = change.interval or (np.nan, np.nan)
        verdict = "better" if low > 0 else "worse" if high < 0 else "undecided"
        numbers = plain([scores[name], later, change, low, high])
        values = dict(zip(("before", "after", "change", "low", "high"), numbers, strict=True))
        rows.append({"metric": NAMES[name], "verdict": verdict, **values})
    return rows


def first_places(before: Measured, after: Measured) -> dict[str, Any]:
    """Compare with McNemar's test how often each model's first label is right."""
    old, new = before.hits, after.hits
    only_before, only_after = int((old & ~new).sum()), int((new & ~old).sum())
    return {
        "both": int((old & new).sum()),
        "only_before": only_before,
        "only_after": only_after,
        "neither": int((~old & ~new).sum()),
        "p_value": float(mcnemar([only_before], [only_after]).p_value[0]),
    }


def changed_labels(
    before: Measured,
    after: Measured,
    f1: tuple[list[Any], list[Any]],
    called: Called,
) -> dict[str, Any]:
    """List the labels for which the models differ, column by column, sorted by significance."""
    found = label_changes(after.truth, before.answer, after.answer)
    gain = found.only_after - found.only_before
    differ = np.flatnonzero(found.only_after + found.only_before > 0)
    order = differ[np.lexsort((-np.abs(gain[differ]), found.p_value[differ]))]
    names = [called(name) for name in after.labels]
    sure = found.adjusted <= SIGNIFICANT
    return {
        "columns": {
            "label": [names[i] for i in order],
            "before": [f1[0][i] for i in order],
            "after": [f1[1][i] for i in order],
            "only_before": plain(found.only_before[order]),
            "only_after": plain(found.only_after[order]),
            "gain": plain(gain[order]),
            "adjusted": plain(found.adjusted[order]),
        },
        "better": int((sure & (gain > 0)).sum()),
        "worse": int((sure & (gain < 0)).sum()),
        "differ": len(differ),
    }
