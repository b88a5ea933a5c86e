"""What explanations of all kinds of trees share: the row, its features' names, what they weigh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove._errors import DataError
from labelgrove._validation import Rows
from labelgrove.models.engine._learned import Learned
from labelgrove.models.engine._results import MISSING
from labelgrove.models.explanations._explanation import Contribution

FeatureNaming = Mapping[int, str] | Sequence[str]


def one_row(learned: Learned, x: Any) -> Rows:
    """The example to be explained, as the engine takes it.

    Raises
    ------
    DataError
        If it is not one row.
    """
    if isinstance(x, Mapping):
        x = [x]
    elif getattr(x, "ndim", 2) == 1:
        x = x.reshape(1, -1)
    rows = learned.check_rows(x)
    if rows.n_rows != 1:
        raise DataError(f"x has {rows.n_rows} rows; expected the one to be explained")
    return rows


def best_labels(
    learned: Learned, rows: Rows, k: int, least: npt.NDArray[np.float32] | None = None
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.float32]]:
    """Ids and scores of the k best labels, or of all that are at least so probable, best first."""
    if least is None:
        ids, scores, *_ = learned.engine.top_k(*rows.arrays, k, 0, None, 1)
        there = ids[0] != MISSING
        return ids[0][there], scores[0][there]
    _, ids, scores, *_ = learned.engine.above_threshold(*rows.arrays, least, None, 1)
    order = np.lexsort((ids, -scores))
    return ids[order], scores[order]


def probability_of(learned: Learned, rows: Rows, label: int) -> float:
    """The probability of one label, as a search finds it; 0 where it finds none."""
    only = np.array([label], np.uint32)
    score = learned.engine.top_k(*rows.arrays, 1, 0, only, 1)[1][0, 0]
    return 0.0 if np.isnan(score) else float(score)


def rank_of(learned: Learned, rows: Rows, label: int, probability: float) -> int:
    """Labels that come before, and one: higher probability, or equal and an earlier arrival."""
    ids, _ = best_labels(learned, rows, 0, np.array([probability], np.float32))
    before = np.flatnonzero(ids == label)
    return int(before[0] if before.size else len(ids)) + 1


def id_of(learned: Learned, label: Any) -> int:
    """The id of a label that may be predicted.

    Raises
    ------
    DataError
        If there is no such label.
    """
    [found] = learned.labels.ids_of([label])
    if found < 0 or not np.isin(found, learned.engine.labels()):
        raise DataError(f"label {label!r} is not known to the model")
    return int(found)


def name_of(learned: Learned, label: int) -> Any:
    """The name of a label as a plain value."""
    return learned.labels.names[[label]].tolist()[0]


def feature_naming(learned: Learned, given: FeatureNaming | None) -> FeatureNaming:
    """What was given, else the names that features of dicts have."""
    if given is not None:
        return given
    return [] if learned.features is None else learned.features.names()


def weighed(
    rows: Rows,
    found: Mapping[str, npt.NDArray[Any]],
    i: int,
    top: int,
    named: FeatureNaming,
) -> dict[str, Any]:
    """The margin of the i-th node and what it is made of, the heaviest features by name."""
    added, values = found["contributions"][i].astype(np.float64), found["value"]
    heaviest = np.argsort(-np.abs(added), kind="stable")[:top]
    heaviest = heaviest[added[heaviest] != 0]
    ids, bias = rows.arrays[1], float(found["bias"][i])
    listed = tuple(
        Contribution(
            feature=_name(named, int(ids[j])),
            value=float(values[j]),
            weight=float(added[j] / values[j]),
            contribution=float(added[j]),
        )
        for j in heaviest
    )
    return {
        "margin": float(added.sum()) + bias,
        "bias": bias,
        "contributions": listed,
        "others": float(added.sum() - added[heaviest].sum()),
    }


def _name(named: FeatureNaming, feature: int) -> str | int:
    if isinstance(named, Mapping):
        return named.get(feature, feature)
    return str(named[feature]) if feature < len(named) else feature
