"""What got better and what got worse from one model to another, and whether it is chance."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from labelgrove.metrics import compare_rankings, compare_sets, label_changes, mcnemar
from labelgrove.metrics._score import Interval, Score
from labelgrove.reporting._numbers import plain
from labelgrove.reporting._observed import Observed
from labelgrove.reporting._sections import NAMES, UNDEFINED, in_test, propensities

SIGNIFICANT = 0.05


def differences(
    truth: csr_array,
    before: tuple[Observed, Mapping[str, Score]],
    after: tuple[Observed, Mapping[str, Score]],
    interval: Interval,
) -> list[dict[str, Any]]:
    """The change of every metric of the headlines that is a mean over rows or labels."""
    ks = (1, 3, 5)
    found = compare_rankings(
        truth,
        before[0].ranking,
        after[0].ranking,
        ks,
        inverse_propensities=propensities(before[0]),
        interval=interval,
    )
    found |= compare_sets(
        truth,
        before[0].answer,
        after[0].answer,
        labels=in_test(truth),
        zero_division=UNDEFINED,
        interval=interval,
    )
    found["accuracy"] = found["p@1"]
    rows = []
    for name, score in after[1].items():
        if name not in found:
            continue
        change = found[name]
        low, high = change.interval or (np.nan, np.nan)
        verdict = "better" if low > 0 else "worse" if high < 0 else "undecided"
        numbers = plain([before[1][name], score, change, low, high])
        values = dict(zip(("before", "after", "change", "low", "high"), numbers, strict=True))
        rows.append({"metric": NAMES[name], "verdict": verdict, **values})
    return rows


def first_places(truth: csr_array, before: Observed, after: Observed) -> dict[str, Any]:
    """McNemar's test of who is right with the first label."""
    right = []
    for observed in (before, after):
        best = observed.ranking[:, 0]
        hits = np.zeros(len(best), np.bool_)
        rows = np.repeat(np.arange(len(best)), np.diff(truth.indptr))
        hits[rows[truth.indices == best[rows]]] = True
        right.append(hits)
    only_before, only_after = right[0] & ~right[1], right[1] & ~right[0]
    test = mcnemar([int(only_before.sum())], [int(only_after.sum())])
    return {
        "both": int((right[0] & right[1]).sum()),
        "only_before": int(only_before.sum()),
        "only_after": int(only_after.sum()),
        "neither": int((~right[0] & ~right[1]).sum()),
        "p_value": float(test.p_value[0]),
    }


def changed_labels(
    truth: csr_array,
    before: Observed,
    after: Observed,
    ids: Mapping[Hashable, int],
    f1: tuple[list[Any], list[Any]],
) -> dict[str, Any]:
    """The labels on which the models ever differ, column by column, the surest change first."""
    found = label_changes(truth, before.answer, after.answer)
    gain = found.only_after - found.only_before
    differ = np.flatnonzero(found.only_after + found.only_before > 0)
    order = differ[np.lexsort((-np.abs(gain[differ]), found.p_value[differ]))]
    names = [str(name) for name in ids]
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
