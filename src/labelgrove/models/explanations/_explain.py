"""How every estimator explains its predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove._errors import DataError
from labelgrove._parameters import integer
from labelgrove._validation import Rows
from labelgrove.models.engine._learned import AnyLearned
from labelgrove.models.engine._predicting import MISSING
from labelgrove.models.explanations._explanation import (
    Contribution,
    Explanation,
    FallOut,
    LabelExplanation,
    Step,
)
from labelgrove.models.explanations._ways import Floats, Ways, ways_to

FeatureNaming = Mapping[int, str] | Sequence[str]


def explain(
    learned: AnyLearned,
    X: Any,
    label: Any,
    *,
    k: int,
    threshold: Any,
    top: int,
    feature_names: FeatureNaming | None,
) -> Explanation:
    """Explain the labels of one example; see `LabelClassifier.explain`."""
    k, top = integer("k", k, 1), integer("top", top, 0)
    rows = _one_row(learned, X)
    least = None if threshold is None else learned.thresholds(threshold)
    best, scores = _best_labels(learned, rows, k, least)
    wanted = best.tolist() if label is None else [_id_of(learned, label)]
    named = _feature_naming(learned, feature_names)
    explained = []
    for one in wanted:
        found = ways_to(learned, rows, one)
        path = _path(found, rows, top, named)
        probability = _probability_of(learned, rows, one)
        predicted = bool(np.isin(one, best))
        if found.needed is not None:
            needed = found.needed
        elif least is not None:
            needed = float(least[one if len(least) > 1 else 0])
        else:
            needed = float(scores[k - 1]) if len(scores) >= k else 0.0
        average = found.counts @ found.contributions / max(found.counts.sum(), _TINY)
        explained.append(
            LabelExplanation(
                label=_name_of(learned, one),
                probability=probability,
                rank=_rank_of(learned, rows, one, probability),
                predicted=predicted,
                path=path,
                leaves=found.leaves,
                contributions=_weighed(average, found.values, rows, top, named)[0],
                fallen_out=None if predicted else _fall(path, needed),
            )
        )
    common = None if least is None or len(least) > 1 else float(least[0])
    return Explanation(tuple(explained), k, common)


_TINY = float(np.finfo(np.float64).tiny)


def _path(found: Ways, rows: Rows, top: int, named: FeatureNaming) -> tuple[Step, ...]:
    products = found.products()
    steps = []
    for i, (step, node) in enumerate(zip(found.path, found.nodes, strict=True)):
        added, bias = found.contributions[step].astype(np.float64), float(found.bias[step])
        listed, others = _weighed(added, found.values, rows, top, named)
        steps.append(
            Step(
                node=node,
                probability=None if found.probabilities is None else float(found.probabilities[i]),
                product=None if products is None else float(products[i]),
                margin=float(added.sum()) + bias,
                bias=bias,
                contributions=listed,
                others=others,
            )
        )
    return tuple(steps)


def _weighed(
    added: npt.NDArray[np.float64], values: Floats, rows: Rows, top: int, named: FeatureNaming
) -> tuple[tuple[Contribution, ...], float]:
    """The features that add most to a margin, for or against; and what all others add."""
    order = np.argsort(-np.abs(added), kind="stable")
    ids = rows.arrays[1]
    listed = tuple(
        Contribution(
            feature=_feature(named, int(ids[j])),
            value=float(values[j]),
            weight=float(added[j] / values[j]),
            contribution=float(added[j]),
        )
        for j in order[:top].tolist()
        if added[j] != 0
    )
    return listed, float(added[order[top:]].sum())


def _fall(path: tuple[Step, ...], needed: float) -> FallOut | None:
    """The first node where less is left than is needed."""
    for i, step in enumerate(path):
        if step.product is not None and step.product < needed:
            return FallOut(i, step.node, step.product, needed)
    return None


def _one_row(learned: AnyLearned, x: Any) -> Rows:
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


def _best_labels(
    learned: AnyLearned, rows: Rows, k: int, least: npt.NDArray[np.float32] | None = None
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.float32]]:
    """Ids and scores of the k best labels, or of all that are at least so probable, best first."""
    if least is None:
        ids, scores, *_ = learned.engine.top_k(*rows.arrays, k, 0, None, 1)
        there = ids[0] != MISSING
        return ids[0][there], scores[0][there]
    _, ids, scores, *_ = learned.engine.above_threshold(*rows.arrays, least, None, 1)
    order = np.lexsort((ids, -scores))
    return ids[order], scores[order]


def _probability_of(learned: AnyLearned, rows: Rows, label: int) -> float:
    """The probability of one label, as a search finds it; 0 where it finds none."""
    only = np.array([label], np.uint32)
    score = learned.engine.top_k(*rows.arrays, 1, 0, only, 1)[1][0, 0]
    return 0.0 if np.isnan(score) else float(score)


def _rank_of(learned: AnyLearned, rows: Rows, label: int, probability: float) -> int:
    """Labels that come before, and one: higher probability, or equal and an earlier arrival."""
    ids, _ = _best_labels(learned, rows, 0, np.array([probability], np.float32))
    before = np.flatnonzero(ids == label)
    return int(before[0] if before.size else len(ids)) + 1


def _id_of(learned: AnyLearned, label: Any) -> int:
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


def _name_of(learned: AnyLearned, label: int) -> Any:
    """The name of a label as a plain value."""
    return learned.labels.names[[label]].tolist()[0]


def _feature_naming(learned: AnyLearned, given: FeatureNaming | None) -> FeatureNaming:
    """What was given, else the names that features of dicts have."""
    if given is not None:
        return given
    return [] if learned.features is None else learned.features.names()


def _feature(named: FeatureNaming, feature: int) -> str | int:
    if isinstance(named, Mapping):
        return named.get(feature, feature)
    return str(named[feature]) if feature < len(named) else feature
