"""The paths of an example through trees, read from the three kinds of engines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from labelgrove import _core
from labelgrove._validation import Rows
from labelgrove.models.engine._learned import AnyLearned, TreeEngine
from labelgrove.models.engine._predicting import MISSING
from labelgrove.models.engine._trees import tree_numbers
from labelgrove.models.explanations._explanation import Leaf
from labelgrove.models.explanations._paths import products_along

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
