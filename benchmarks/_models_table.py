"""All models side by side, and a summary of which to choose."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any

import labelgrove
from benchmarks._tables import Results, percent, precision, table
from benchmarks._tree_tables import microseconds

_NEAR = 1.0
"""Points of P@1 that a user may give up for a cheaper model."""


def models(found: Results) -> str:
    """The summary, then every model on every data set."""
    return f"{_chooser(found)}\n\n{_everything(found)}"


def _everything(found: Results) -> str:
    header = ["data", "model", "P@1/3/5", "PSP@1/5", "learning s", "memory MB", "batch µs"]
    header += ["one row µs", "model MB"]
    rows = [
        [
            result["subject"],
            one["title"],
            precision(one["runs"][0]["precision"]),
            precision(one["runs"][0]["psp"][::2]),
            f"{_learning(one):.2f}",
            f"{median(run['peak_mb'] for run in one['runs']):,.0f}",
            f"{median(microseconds(run, result['rows']) for run in one['runs']):.1f}",
            f"{median(run['single']['p50'] for run in one['runs']):.0f}",
            f"{_size(one) / 2**20:.1f}",
        ]
        for result in found
        for one in result["models"]
    ]
    return table(header, rows)


def _chooser(found: Results) -> str:
    """The best model on each data set, cheaper models near it, and the choice of auto."""
    header = ["data", "rows", "labels", "labels per row", "features per row", "best P@1"]
    header += ["near it, fastest to learn", "near it, smallest", "best with `partial_fit`"]
    header += ["auto picks"]
    rows = []
    for result in found:
        of, all_of = result.get("data"), result["models"]
        if of is None:
            continue
        best = max(all_of, key=_first)
        near = [one for one in all_of if _first(one) >= _first(best) - _NEAR]
        online = max(filter(_can_continue, all_of), key=_first)
        (picked,) = (one for one in all_of if one["title"] == result["auto"]["title"])
        rows.append(
            [
                result["subject"],
                f"{of['rows']:,}",
                f"{of['labels']:,}",
                f"{of['labels_a_row']:.1f}",
                f"{of['features_a_row']:.0f}",
                f"{percent(_first(best))} {_short(best)}",
                _cell(min(near, key=_learning), lambda one: f"{_learning(one):.2f} s"),
                _cell(min(near, key=_size), lambda one: f"{_size(one) / 2**20:.1f} MB"),
                f"{percent(_first(online))} {_short(online)}",
                f"{percent(_first(picked))} {_short(picked)}, {result['auto']['cpu']:.0f} s",
            ]
        )
    return table(header, rows)


def _cell(one: dict[str, Any], cost: Callable[[dict[str, Any]], str]) -> str:
    return f"{cost(one)} {_short(one)}"


def _name(one: dict[str, Any]) -> str:
    return str(one["title"].split("`")[1])


def _short(one: dict[str, Any]) -> str:
    return str(one["title"].replace("`", "").replace("Classifier", ""))


def _can_continue(one: dict[str, Any]) -> bool:
    return hasattr(getattr(labelgrove, _name(one), None), "partial_fit")


def _first(one: dict[str, Any]) -> float:
    return float(one["runs"][0]["precision"][0])


def _learning(one: dict[str, Any]) -> float:
    return float(median(run["learning"]["cpu"] for run in one["runs"]))


def _size(one: dict[str, Any]) -> int:
    return int(one["runs"][0]["model_bytes"])
