"""Given trees: any shape, as the twin has them and as the engine takes them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from engine.driver import NONE, Array
from naive.label_tree import LabelTree


@st.composite
def start_trees(draw: st.DrawFn, most: int = 9) -> LabelTree:
    """Draw any tree: mixed nodes with several leaves, single children, wide nodes, deep ones."""
    nodes = range(1, draw(st.integers(1, most)))
    parents = [None, *(draw(st.integers(max(0, v - 5), v - 1)) for v in nodes)]
    leaves = [v for v in range(len(parents)) if v not in parents]
    return LabelTree.from_parents(parents, dict(enumerate(draw(st.permutations(leaves)))))


def engine_tree(tree: LabelTree) -> tuple[Array, Array]:
    """Return parents and labels as the engine numbers them: a node above the root comes first."""
    parents = [NONE, *(0 if p is None else p + 1 for p in tree.parent)]
    labels = [NONE, *(NONE if j is None else j for j in tree.label)]
    return np.array(parents, np.uint32), np.array(labels, np.uint32)
