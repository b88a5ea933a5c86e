"""Paths through trees: an example's, read from the three kinds of engines, and those of labels."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from labelgrove import _core
from labelgrove._errors import DataError
from labelgrove._validation import Rows
from labelgrove.models.engine._learned import AnyLearned, Learned, TreeEngine
from labelgrove.models.engine._options import Options
from labelgrove.models.engine._predicting import MISSING
from labelgrove.models.engine._trees import tree_numbers
from labelgrove.models.explanations._explanation import Leaf

Floats = npt.NDArray[np.float32]

_MOST = 0.5


@dataclass(frozen=True, eq=False)
class Ways:
    """Steps towards a label; one of the ways is its path.

    Attributes
    ----------
    values : float32 array (n_features,)
        The example's.
    bias : float32 array (n_steps,)
    contributions : float32 array (n_steps, n_features)
    counts : float array (n_steps,)
        How much each step counts where all are averaged.
    path : list of int
        Steps, from the root on.
    nodes : list of int
        The node that each step of the path leads to.
    probabilities : float32 array (len(path),), or None
    leaves : tuple of Leaf
    needed : float or None
        The product below which the label falls out, whatever is predicted.
    """

    values: Floats
    bias: Floats
    contributions: Floats
    counts: npt.NDArray[Any]
    path: list[int]
    nodes: list[int]
    probabilities: Floats | None
    leaves: tuple[Leaf, ...] = ()
    needed: float | None = None

    def products(self) -> Floats | None:
        """Products of the probabilities along the path, as a search takes them."""
        if self.probabilities is None:
            return None
        return products_along(self.probabilities, np.array([0, self.probabilities.size]))


def ways_to(learned: AnyLearned, rows: Rows, label: int) -> Ways:
    """The paths of a single row to a label, by id."""
    if isinstance(learned.engine, _core.LomTree):
        return _in_lom_tree(learned, rows, label)
    if isinstance(learned.engine, _core.Ldsm):
        return _in_forest(learned, rows, label)
    return _in_label_tree(learned, rows, label)


def _in_label_tree(learned: AnyLearned, rows: Rows, label: int) -> Ways:
    """The path to the label's own leaf, in the first tree."""
    found = learned.engine.explain(*rows.arrays, label)
    tree = cast("TreeEngine", learned.engine).tree()
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


def _in_lom_tree(learned: AnyLearned, rows: Rows, label: int) -> Ways:
    """The way of the example, and how many of the label's examples have gone it."""
    found = learned.engine.explain(*rows.arrays, label)
    nodes, seen = found["node"].tolist(), found["seen"].astype(np.float64)
    # The engine's margins speak for the right child; ours for the child that the example goes to.
    sign = np.where(found["right"][1:], 1, -1).astype(np.float32)
    share = seen[-1] / max(float(found["reached"][-1]), 1.0)
    return Ways(
        values=found["value"],
        bias=sign * found["bias"],
        contributions=sign[:, np.newaxis] * found["contributions"],
        counts=np.ones(sign.size),
        path=list(range(sign.size)),
        nodes=nodes[1:],
        probabilities=(seen[1:] / np.maximum(seen[:-1], 1.0)).astype(np.float32),
        leaves=(Leaf(0, nodes[-1], sign.size, float(share)),),
        needed=_MOST,
    )


def _in_forest(learned: AnyLearned, rows: Rows, label: int) -> Ways:
    """The ways to all leaves that count labels; the path leads to the label's largest share."""
    found = learned.engine.explain(*rows.arrays, label)
    before = found["step.before"].tolist()
    ways = [_way(before, last) for last in found["leaf.step"].tolist()]
    counts = np.zeros(len(before))
    for way, share in zip(ways, found["leaf.share"].tolist(), strict=True):
        counts[way] += share
    order = [
        i
        for i in np.argsort(-found["leaf.share"], kind="stable").tolist()
        if found["leaf.votes"][i]
    ]
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
    """The steps that end with this one, in their order."""
    way = []
    while last != int(MISSING):
        way.append(last)
        last = before[last]
    return way[::-1]


@dataclass(frozen=True, eq=False)
class LabelPaths:
    """The nodes on the paths to labels, one path after another, each from the root to the leaf.

    Attributes
    ----------
    indptr : int64 array (n_labels + 1,)
        The i-th label's path stands in ``[indptr[i]:indptr[i + 1]]``.
    nodes : int64 array
        Numbers of nodes in the model's ``tree_``.
    products : float32 array
        P(node | x).
    """

    indptr: npt.NDArray[np.int64]
    nodes: npt.NDArray[np.int64]
    products: npt.NDArray[np.float32]


def label_paths(
    learned: Learned[Options, TreeEngine], X: Any, labels: Sequence[Collection[Any]], threads: int
) -> LabelPaths:
    """Follow the labels of every row: `LabelTreeClassifier.label_paths`."""
    rows = learned.check_rows(X)
    if len(labels) != rows.n_rows:
        raise DataError(f"labels has {len(labels)} rows: expected {rows.n_rows}, as X has")
    ends = np.cumsum([0, *map(len, labels)]).astype(np.int64)
    ids = learned.labels.ids_of([name for row in labels for name in row]).astype(np.int64)
    nowhere = learned.engine.label_count
    ids[~np.isin(ids, learned.engine.labels())] = nowhere
    indptr, conditional = learned.engine.paths(*rows.arrays, ends, ids.astype(np.uint32), threads)
    tree = learned.engine.tree()
    leaf_of = np.zeros(nowhere + 1, np.int64)
    there = (tree["silent"] == 0) & (tree["label"] < nowhere)
    leaf_of[tree["label"][there]] = np.flatnonzero(there)
    nodes = _nodes_above(leaf_of[ids], tree, indptr)
    return LabelPaths(indptr, nodes, products_along(conditional, indptr))


def _nodes_above(
    leaves: npt.NDArray[np.int64],
    tree: Mapping[str, npt.NDArray[Any]],
    indptr: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """Walk up from all leaves at once, filling every path from its end."""
    numbers, parents = tree_numbers(tree), tree["parent"].astype(np.int64)
    nodes = np.empty(int(indptr[-1]), np.int64)
    at, end = leaves, indptr[1:] - 1
    on_path = end >= indptr[:-1]
    while on_path.any():
        nodes[end[on_path]] = numbers[at[on_path]]
        at, end = np.where(on_path, parents[at], at), end - 1
        on_path = end >= indptr[:-1]
    return nodes


def products_along(
    conditional: npt.NDArray[np.float32], indptr: npt.NDArray[np.int64]
) -> npt.NDArray[np.float32]:
    """Products along every path, from its beginning, as a search takes them."""
    products = conditional.copy()
    at = indptr[:-1] + 1
    on_path = at < indptr[1:]
    while on_path.any():
        here = at[on_path]
        products[here] *= products[here - 1]
        at, on_path = at + 1, at + 1 < indptr[1:]
    products[~(products >= 0)] = 0  # a weight that is not a number counts as 0
    return products
