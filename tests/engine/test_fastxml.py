"""The compiled FastXML forest equals its plain twin: examples, leaves and figures, node for node.

The twin reports decisions that a slightly less exact hyperplane could reverse; examples with such
decisions are discarded.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine.driver import example as engine_example
from engine.driver import rows
from engine.forest_driver import LEAF, grow_fastxml, nodes
from engine.test_ldsm import WEIGHTS, examples
from labelgrove import _core
from naive.fastxml import Node, Settings, Tree, predict
from naive.ldsm import Example
from naive.learners import BIAS

GAIN = {0: 1.0, 1: 1.5, 2: 2.0, 3: 1.0, 4: 3.0, 5: 4.0, 6: 2.5}

chosen = st.builds(
    Settings,
    MaxLeaf=st.integers(1, 5),
    C_delta=st.sampled_from([0.5, 2.0, 8.0]),
    C_r=st.sampled_from([0.5, 1.0, 20.0]),
    bias=st.sampled_from([0.0, 1.0]),
    rounds=st.integers(1, 3),
    seed=st.integers(0, 2**64 - 1),
)


def require_equal(tree: Tree, found: list[dict[str, Any]]) -> None:
    pairs: list[tuple[Node, int]] = [(tree.root, 0)]
    for node, v in pairs:
        mine = found[v]
        assert mine["examples"] == len(node.Id)
        assert (mine["first_child"] == LEAF) == (not node.children)
        if not node.children:
            assert mine["shares"] == pytest.approx(node.P)
            continue
        assert mine["objective"] == pytest.approx(node.ndcg, abs=1e-6)
        train = [tree.data[i] for i in node.Id if tree.data[i].y and tree.data[i].weight > 0]
        ours = {f: row[0] for f, row in mine["weights"].items()}
        theirs = {**node.w, BIAS: node.w.get(BIAS, 0.0) * tree.settings.bias}
        for e in train:
            margins = [sum(w.get(f, 0.0) * x for f, x in e.x.items()) for w in (ours, theirs)]
            assert margins[0] == pytest.approx(margins[1], rel=1e-3, abs=2e-4)
        pairs += [(child, mine["first_child"] + m) for m, child in enumerate(node.children)]


@given(examples(WEIGHTS), chosen, st.sampled_from([{}, GAIN]))
@settings(max_examples=25, deadline=None)
def test_trees_are_the_twins(data: list[Example], some: Settings, gain: dict[int, float]) -> None:
    trees = [Tree(some, data, _core.draw, number, gain) for number in range(2)]
    assume(not any(tree.doubtful for tree in trees))
    engine = grow_fastxml(some, data, trees=2, gain=gain)
    for mine, tree in zip(nodes(engine.save(False), 1), trees, strict=True):
        require_equal(tree, mine)
    given_rows = rows([engine_example(e.x, ()) for e in data])
    labels, scores, *_ = engine.top_k(*given_rows, 7, 0, None, 1)
    for i, e in enumerate(data):
        expected = predict(trees, e.x)
        for label, score in zip(labels[i].tolist(), scores[i].tolist(), strict=True):
            assert np.isnan(score) or score == pytest.approx(expected.get(label, 0.0))
