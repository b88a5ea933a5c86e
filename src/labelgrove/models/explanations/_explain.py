"""Explaining the predictions of any estimator: paths through trees, contributions of features."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from numbers import Real
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, issparse

from labelgrove import _core
from labelgrove._errors import DataError, ParameterError, brief
from labelgrove._parameters import integer
from labelgrove._validation import Rows
from labelgrove.models.engine._learned import MISSING, AnyLearned, Floats, TreeEngine
from labelgrove.models.engine._staged import StagedEngine, first_stage
from labelgrove.models.engine._trees import tree_numbers
from labelgrove.models.explanations._explanation import (
    Contribution,
    Explanation,
    FallOut,
    LabelExplanation,
    Leaf,
    Step,
)
from labelgrove.tuning._second_stage import CANDIDATES

_TINY = float(np.finfo(np.float64).tiny)
_MOST = 0.5

_Weighed = tuple[tuple[Contribution, ...], float]

FeatureNaming = Mapping[int, str] | Mapping[int, list[str]] | Sequence[str]


def explain(
    learned: AnyLearned,
    X: Any,
    label: Any,
    *,
    k: int,
    threshold: Any,
    least_labels: int,
    top: int,
    feature_names: FeatureNaming | None,
) -> Explanation:
    """Explain the labels of one example; see `LabelClassifier.explain`."""
    k, top = integer("k", k, 1), integer("top", top, 0)
    rows = _one_row(learned, X)
    given = None if threshold is None else learned.thresholds(threshold)
    best = _best_labels(learned, rows, k, given)
    if integer("least_labels", least_labels, 0) and given is not None:
        best = _best_labels(learned, rows, least_labels) | best
    compared, first_best = best, dict[int, float]()
    tree = replace(learned, engine=first_stage(learned.engine))  # only this has paths
    staged = None
    if isinstance(learned.engine, StagedEngine) and learned.engine.stage.examples > 0:
        staged = learned.engine
        if given is None:
            compared = first_best = _best_labels(tree, rows, k)
    kth = next(islice(compared.values(), k - 1, None), 0.0)
    wanted = list(best) if label is None else [_id_of(learned, label)]
    named = _named(_feature_naming(learned, feature_names), rows.ids.tolist())
    explained = []
    weighed: dict[bytes, _Weighed] = {}

    def weigh(added: npt.NDArray[Any], values: Floats) -> _Weighed:
        step = added.tobytes()
        if step not in weighed:  # paths to several labels share steps
            weighed[step] = _weighed(added, values, top, named)
        return weighed[step]

    for one in wanted:
        found = ways_to(tree, rows, one)
        path = _path(found, weigh)
        probability = _probability_of(learned, rows, one, best)
        if one in best and given is None:
            rank = list(best).index(one) + 1
        else:
            rank = _rank_of(learned, rows, one, probability)
        needed = kth
        if found.needed is not None:
            needed = found.needed
        elif given is not None:
            own = given[one : one + 1] if len(given) > 1 else given
            if staged is not None:
                own = staged.stage.uncalibrated(own, 0 if staged.stage.reranks else rank - 1)
            needed = float(own[0])
        average = found.counts @ found.contributions / max(found.counts.sum(), _TINY)
        explained.append(
            LabelExplanation(
                label=learned.labels.names[[one]].tolist()[0],  # a plain value
                probability=probability,
                rank=rank,
                predicted=one in best,
                path=path,
                leaves=found.leaves,
                contributions=weigh(average, found.values)[0],
                fallen_out=None if one in best else _fall(path, needed),
                first_stage=_probability_of(tree, rows, one, first_best) if staged else None,
                cosine=staged.cosine(rows.arrays, one) if staged else None,
            )
        )
    common = None if given is None or len(given) > 1 else float(given[0])
    return Explanation(tuple(explained), k, common)


def _path(found: Ways, weigh: Callable[[npt.NDArray[Any], Floats], _Weighed]) -> tuple[Step, ...]:
    products = None
    if found.probabilities is not None:
        products = products_along(found.probabilities, np.array([0, len(found.path)]))
    steps = []
    for i, (step, node) in enumerate(zip(found.path, found.nodes, strict=True)):
        added, bias = found.contributions[step].astype(np.float64), float(found.bias[step])
        listed, others = weigh(added, found.values)
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


def _weighed(added: npt.NDArray[np.float64], values: Floats, top: int, named: _Named) -> _Weighed:
    """Return the features with the largest contributions, and the sum of all others."""
    if named.shares is not None:
        added, values = added @ named.shares, values @ named.shares
    order = np.argsort(-np.abs(added), kind="stable")
    listed = tuple(
        Contribution(
            feature=named.names[j],
            value=float(values[j]),
            weight=float(added[j] / values[j]) if values[j] else 0.0,
            contribution=float(added[j]),
        )
        for j in order[:top].tolist()
        if added[j] != 0
    )
    return listed, float(added[order[top:]].sum())


def _fall(path: tuple[Step, ...], needed: float) -> FallOut | None:
    """Return the first node whose product is below the required one, if any."""
    for i, step in enumerate(path):
        if step.product is not None and step.product < needed:
            return FallOut(i, step.node, step.product, needed)
    return None


def _one_row(learned: AnyLearned, x: Any) -> Rows:
    """Validate the example to explain, which must be one row."""
    if isinstance(x, Mapping):
        x = [x]
    elif hasattr(x, "to_frame") and learned.column_names is not None:
        x = x.to_frame().T  # a pandas Series: a row of a data frame
    elif getattr(x, "ndim", 2) == 1 or (
        isinstance(x, list | tuple) and len(x) > 0 and isinstance(x[0], Real)
    ):
        x = (x if issparse(x) else np.asarray(x)).reshape(1, -1)
    rows = learned.check_rows(x)
    if rows.n_rows != 1:
        raise DataError(f"X has {rows.n_rows} rows; expected the one to explain")
    return rows


def _best_labels(
    learned: AnyLearned, rows: Rows, k: int, least: Floats | None = None
) -> dict[int, float]:
    """Return the scores of the k best labels by id, or of all that reach ``least``, best first."""
    if least is None:
        (ids,), (scores,), _ = learned.engine.top_k(*rows.arrays, k, 0, None, 1)
        order = np.flatnonzero(ids != MISSING)
    else:
        scope = learned.engine.scope(least)
        _, ids, scores, _ = learned.engine.above_threshold(*rows.arrays, scope, 1)
        order = np.lexsort((ids, -scores))
    return dict(zip(ids[order].tolist(), scores[order].tolist(), strict=True))


def _probability_of(
    learned: AnyLearned, rows: Rows, label: int, known: Mapping[int, float]
) -> float:
    """Return the probability of one label if known, or as found by a search; 0 if it is not found.

    Other labels have thresholds that nothing reaches. They are not excluded, since the second
    stage decides by rank which labels it ranks anew.
    """
    if label in known:
        return known[label]
    thresholds = np.full(max(learned.engine.label_count, 2), np.inf, np.float32)
    thresholds[label] = 0.0
    found = learned.engine.above_threshold(*rows.arrays, learned.engine.scope(thresholds), 1)[2]
    return float(found[0]) if len(found) else 0.0


def _rank_of(learned: AnyLearned, rows: Rows, label: int, probability: float) -> int:
    """Return the label's rank in `predict_topk`, from 1.

    Calibration may give neighbouring ranks the same probability, and a second stage that re-ranks
    does not order its candidates by probability alone.
    """
    reaching = _best_labels(learned, rows, 0, np.array([probability], np.float32))
    ids = list(_best_labels(learned, rows, max(len(reaching), CANDIDATES)))
    return (ids.index(label) if label in ids else len(reaching)) + 1


def _id_of(learned: AnyLearned, label: Any) -> int:
    """Return the id of a label, or raise DataError unless it may be predicted."""
    [found] = learned.labels.ids_of([label])
    if found < 0 or not learned.labels.active[found]:
        raise DataError(f"label {label!r} is not known to the model")
    if not np.isin(found, learned.engine.labels()):
        raise DataError(f"label {label!r} has no examples yet, so there is nothing to explain")
    return int(found)


def _feature_naming(learned: AnyLearned, given: FeatureNaming | None) -> FeatureNaming:
    """Return the given names, or those of dict features or data frame columns."""
    if given is not None:
        if isinstance(given, str) or not hasattr(given, "__len__"):
            raise ParameterError(
                f"feature_names={brief(given)}: expected a name for each column, or names by column"
            )
        return given
    if learned.features is not None:
        return learned.features.names()
    return [] if learned.column_names is None else learned.column_names.tolist()


class _Named(NamedTuple):
    """Names of the features of a row."""

    names: list[str | int]
    # Of each feature the share that belongs to each name; None if they are one to one.
    shares: csr_array | None


def _named(naming: FeatureNaming, features: list[int]) -> _Named:
    if not isinstance(naming, Mapping):
        known = len(naming)
        return _Named([str(naming[one]) if one < known else one for one in features], None)
    if not any(isinstance(name, list) for name in naming.values()):
        return _Named([str(naming[one]) if one in naming else one for one in features], None)
    places: dict[str | int, int] = {}
    indptr, columns, shares = [0], list[int](), list[float]()
    for one in features:
        sources: Any = naming.get(one, [one])
        columns += [places.setdefault(source, len(places)) for source in sources]
        shares += [1 / len(sources)] * len(sources)
        indptr.append(len(columns))
    shape = (len(features), len(places))
    return _Named(list(places), csr_array((shares, columns, indptr), shape=shape))


@dataclass(frozen=True, eq=False)
class Ways:
    """Steps of one or more ways through the trees towards a label; one of the ways is its path."""

    values: Floats  # of the example's features
    bias: Floats  # (n_steps,)
    contributions: Floats  # (n_steps, n_features)
    counts: npt.NDArray[Any]  # weight of each step in the average over all steps
    path: list[int]  # indices of its steps, from the root
    nodes: list[int]  # the node that each step of the path leads to
    probabilities: Floats | None  # of the steps of the path
    leaves: tuple[Leaf, ...] = ()
    # The product below which the label falls out, if this does not depend on other labels.
    needed: float | None = None


def ways_to(learned: AnyLearned, rows: Rows, label: int) -> Ways:
    """Return the ways of a single row to a label, by id."""
    found = learned.engine.explain(*rows.arrays, label)
    if isinstance(learned.engine, _core.LomTree):
        return _in_lom_tree(found)
    if isinstance(learned.engine, _core.MemoryTree):
        return _in_memory_tree(found)
    if isinstance(learned.engine, _core.Forest):
        return _in_forest(found)
    return _in_label_tree(found, cast("TreeEngine", learned.engine).tree())


def _in_label_tree(found: Mapping[str, Any], tree: Mapping[str, npt.NDArray[Any]]) -> Ways:
    """Return the path to the label's own leaf, in the first tree."""
    nodes = tree_numbers(tree)[found["node"].astype(np.int64)]
    return Ways(
        values=found["value"],
        bias=found["bias"],
        contributions=found["contributions"],
        counts=np.ones(nodes.size),
        path=list(range(nodes.size)),
        nodes=nodes.tolist(),
        probabilities=found["probability"],
    )


def _in_lom_tree(found: Mapping[str, Any]) -> Ways:
    """Return the example's path, with the share of the label's examples that followed it."""
    nodes, seen = found["node"].tolist(), found["seen"].astype(np.float64)
    sign, share = _signs(found), float(seen[-1]) / max(float(found["reached"][-1]), 1.0)
    return Ways(
        values=found["value"],
        bias=sign * found["bias"],
        contributions=sign[:, np.newaxis] * found["contributions"],
        counts=np.ones(sign.size),
        path=list(range(sign.size)),
        nodes=nodes[1:],
        probabilities=(seen[1:] / np.maximum(seen[:-1], 1.0)).astype(np.float32),
        leaves=(Leaf(0, nodes[-1], sign.size, share),),
        needed=_MOST,
    )


def _in_memory_tree(found: Mapping[str, Any]) -> Ways:
    """Return the example's path, then the similarity of the label's examples and its classifier.

    Only these last two, at the leaf, are averaged, since routers do not distinguish labels.
    """
    nodes = found["node"].tolist()
    sign = _signs(found)
    at_leaf = [(found["near.bias"], found["near"])]
    if found["classifier"].size == found["near"].size:
        at_leaf.append((found["classifier.bias"], found["classifier"]))
    steps = sign.size + len(at_leaf)
    return Ways(
        values=found["value"],
        bias=np.append(sign * found["bias"], [bias for bias, _ in at_leaf]).astype(np.float32),
        contributions=np.vstack(
            [sign[:, np.newaxis] * found["contributions"], *(added for _, added in at_leaf)]
        ),
        counts=np.arange(steps) >= sign.size,
        path=list(range(steps)),
        nodes=nodes[1:] + nodes[-1:] * len(at_leaf),
        probabilities=None,
        leaves=(Leaf(0, nodes[-1], sign.size, float(found["share"])),),
    )


def _signs(found: Mapping[str, Any]) -> Floats:
    """Return factors of the engine's margins, which are positive for the right child.

    With them, margins are positive for the child that the example goes to.
    """
    return np.where(found["right"][1:], np.float32(1), np.float32(-1))


def _in_forest(found: Mapping[str, Any]) -> Ways:
    """Return the ways to all leaves reached; the path leads to the label's largest share."""
    before = found["step.before"].tolist()
    ways = [_way(before, last) for last in found["leaf.step"].tolist()]
    counts = np.zeros(len(before))
    for way, share in zip(ways, found["leaf.share"].tolist(), strict=True):
        counts[way] += share
    best_first = np.argsort(-found["leaf.share"], kind="stable")
    order = best_first[found["leaf.votes"][best_first] != 0].tolist()
    leaves = tuple(
        Leaf(
            tree=int(found["leaf.tree"][i]),
            node=int(found["leaf.node"][i]),
            depth=len(ways[i]),
            share=float(found["leaf.share"][i]),
        )
        for i in order
    )
    path = ways[order[0]] if leaves and leaves[0].share > 0 else []
    nodes = found["step.node"][path[1:]].tolist() + [leaf.node for leaf in leaves[:1]]
    return Ways(
        values=found["value"],
        bias=found["bias"],
        contributions=found["contributions"],
        counts=counts,
        path=path,
        nodes=nodes[: len(path)],
        probabilities=None,
        leaves=leaves,
    )


def _way(before: list[int], last: int) -> list[int]:
    """Return the steps up to and including this one, in order."""
    way = []
    while last != int(MISSING):
        way.append(last)
        last = before[last]
    return way[::-1]


def products_along(
    conditional: npt.NDArray[np.float32], indptr: npt.NDArray[np.int64]
) -> npt.NDArray[np.float32]:
    """Return the products along every path from its beginning, rounded as in a search."""
    products = conditional.copy()
    at = indptr[:-1] + 1
    on_path = at < indptr[1:]
    while on_path.any():
        here = at[on_path]
        products[here] *= products[here - 1]
        at, on_path = at + 1, at + 1 < indptr[1:]
    products[~(products >= 0)] = 0  # NaN counts as 0
    return products
