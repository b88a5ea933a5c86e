"""Training IPLT to be the twin of a given OPLT engine.

IPLT gets OPLT's final tree and the same examples. Three things are missing from that tree and
become leaves of it, so that IPLT learns them like any label:

* a label whose place was reused: a *ghost*, a child of the place's parent. It follows the place's
  siblings when a node is inserted between them and their parent;
* an auxiliary classifier theta(v): a leaf under v, positive in all that v is positive in. If v is a
  leaf, the new leaf takes its label;
* a removed label whose place was not reused: its silent leaf is a leaf like any other.

The twin's blocks are therefore wider than the engine's, and the same column is computed at another
position of another vector.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.driver import (
    ABOVE_ROOT,
    NONE,
    Block,
    Example,
    LabelBook,
    blocks,
    dense_rows,
    example,
    initial_row,
    labels_of,
    learn,
    rows,
    weights_of,
)
from engine.trees import engine_tree
from labelgrove import _core
from labelgrove.models._plt_options import POLICIES
from naive.label_tree import LabelTree
from naive.streams import Event, Learn

FIXED = POLICIES["fixed"]


class Witness:
    """An OPLT engine, and a record of everything done to it."""

    def __init__(
        self,
        given: dict[str, Any],
        *,
        width: int = 0,
        dense: bool = True,
        start: LabelTree | None = None,
    ) -> None:
        self.given = given
        self.width = width  # of rows in which all features stand; 0 where they are sparse
        self.dense = dense and width > 0
        self.engine = _core.OnlinePlt(given)
        self.book = LabelBook()
        if start is not None:
            labels = self.book.ids_of(range(len(start.leaf_of)))
            self.engine = _core.OnlinePlt.on_trees(given, [engine_tree(start)], len(labels))
        self.examples: list[Example] = []
        self.ghosts: dict[int, int] = {}  # label -> the node whose child it was

    def play(self, event: Event) -> None:
        if not isinstance(event, Learn):
            removed = self.book.remove(event.which)
            if removed is not None:
                self.engine.remove_labels(np.array([removed], np.uint32))
            return
        names = self.book.ids_of(event.names)
        row = example(event.x, names, width=self.width, weight=event.weight)
        before = self.engine.tree()
        learn(self.engine, [row], dense=self.dense)
        self.examples.append(row)
        self._follow_ghosts(before)

    def _follow_ghosts(self, before: dict[str, Any]) -> None:
        parent, label = self.engine.tree()["parent"], self.engine.tree()["label"]
        for ghost, v in self.ghosts.items():
            sibling = int(np.flatnonzero(before["parent"] == v)[0])
            self.ghosts[ghost] = int(parent[sibling])
        for leaf in np.flatnonzero(before["silent"]).tolist():
            dead = int(before["label"][leaf])
            if dead not in label:
                self.ghosts[dead] = int(parent[_place(parent, leaf, len(before["parent"]))])

    def twin(self) -> tuple[_core.OnlinePlt, dict[int, Block]]:
        """Train IPLT on the tree as it is now; return it with the engine's blocks."""
        mine = blocks(self.engine)
        tree = self.engine.tree()
        parents, labels = tree["parent"].tolist(), tree["label"].tolist()
        leaf_of = {label: v for v, label in enumerate(labels) if label != NONE}
        above = {label: _path(parents, v) for label, v in leaf_of.items()}
        for ghost, v in self.ghosts.items():
            above[ghost] = _path(parents, v)
            parents.append(v)
            labels.append(ghost)
        theta_label = {}
        for v in [v for v, block in mine.items() if block.theta]:
            theta_label[v] = self.book.count + v
            parents.append(v)
            labels.append(theta_label[v])
            labels[v] = NONE
        moved = {label for label, v in leaf_of.items() if v in theta_label}
        taught = []
        for seen in self.examples:
            positive = {v for label in seen.labels for v in above[label]}
            extra = [theta_label[v] for v in positive & theta_label.keys()]
            row = (*(label for label in seen.labels if label not in moved), *extra)
            taught.append(Example(seen.ids, seen.values, row, seen.weight))
        count = self.book.count + len(tree["parent"])
        arrays = np.array(parents, np.uint32), np.array(labels, np.uint32)
        iplt = _core.OnlinePlt.on_trees({**self.given, "policy": FIXED}, [arrays], count)
        if taught:
            given = (dense_rows if self.dense else rows)(taught)
            iplt.learn(*given, *labels_of(taught), 0, len(taught), 1, weights=weights_of(taught))
        return iplt, mine


def _place(parent: Any, leaf: int, old_size: int) -> int:
    """Return the leaf whose place was taken: this one, or, if it was split first, its lower half.

    That is the first node to be slipped in below it, and is never split while it is silent: the
    next new label of the same observation takes it.
    """
    new = range(old_size, len(parent))
    return next((v for v in new if leaf in _path(parent.tolist(), v)), leaf)


def _path(parents: list[int], v: int) -> list[int]:
    path = []
    while v != ABOVE_ROOT:
        path.append(v)
        v = parents[v]
    return path


def assert_proper(witness: Witness) -> None:
    """OPLT and IPLT agree in every bit (OPLT, Definition 1)."""
    iplt, mine = witness.twin()
    theirs = blocks(iplt)
    assert mine.keys() == theirs.keys()
    initial = initial_row(witness.given)
    for v, block in mine.items():
        twin = theirs[v]
        columns = [*range(block.children), *[twin.children - 1] * block.theta]
        assert block.updates == twin.updates, f"node {v}: updates"
        for feature in block.rows.keys() | twin.rows.keys():
            here, there = block.row(feature, initial), twin.row(feature, initial)[:, columns]
            assert here.tobytes() == there.tobytes(), f"node {v}, feature {feature}"
        assert block.links.tobytes() == twin.links[columns].tobytes(), f"node {v}: links"
        assert block.reached == twin.reached, f"node {v}: examples that have reached it"
        real = [(x, {c for c in on if c < block.children}) for x, on in twin.memory]
        assert block.memory == real, f"node {v}: memory"
