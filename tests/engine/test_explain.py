"""Explanations of the engine, against plain arithmetic on its saved weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.driver import NONE, Example, LabelBook, blocks, example, options, play, rows
from labelgrove import _core
from naive.learners import sigma
from naive.streams import instances, random_stream

L2 = 0.01
LEARNERS = st.sampled_from(["arow", "adagrad", "sgd"])


def learnt(learner: str, seed: int) -> tuple[_core.OnlinePlt, LabelBook]:
    engine = _core.OnlinePlt(options(learner=learner, l2=L2, max_leaves=3, replay=1))
    book = LabelBook()
    for event in random_stream(seed, 25, removals=0.1):
        play(engine, book, event)
    return engine, book


def slope(learner: str, updates: int) -> float:
    """What w . x is multiplied by before the sigmoid (docs/decisions/arow.md; PLT, Appendix B)."""
    if learner == "sgd":
        return (1 + L2) / (1 + L2 * (updates + 1))
    return 3.0 if learner == "arow" else 1.0


def naive_path(engine: _core.OnlinePlt, learner: str, row: Example, label: int) -> list[Any]:
    """(node, bias, contributions) from the root to the label's leaf."""
    tree, held = engine.tree(), blocks(engine)
    path: list[Any] = []
    v = int(np.flatnonzero((tree["label"] == label) & (tree["silent"] == 0))[0])
    while v != 0:
        parent = int(tree["parent"][v])
        slot = int(np.flatnonzero(tree["parent"] == parent).tolist().index(v))
        block = held[parent]
        times = slope(learner, block.updates)
        nothing = np.zeros((2, block.children + block.theta), np.float32)
        weights = [float(block.rows.get(f, nothing)[0, slot]) for f in (-1, *row.ids)]
        parts = [times * w * x for w, x in zip(weights[1:], row.values, strict=True)]
        path.insert(0, (v, times * weights[0], parts))
        v = parent
    return path


@settings(max_examples=20, deadline=None)
@given(learner=LEARNERS, seed=st.integers(0, 50), x=instances())
def test_explanations_are_what_the_weights_say(learner: str, seed: int, x: Any) -> None:
    engine, book = learnt(learner, seed)
    row = example(x, ())
    given_rows = rows([row])
    everything = engine.scope(np.zeros(1, np.float32))
    _, labels, scores, *_ = engine.above_threshold(*given_rows, everything, 1)
    assert set(labels.tolist()) == set(book.ids.values())
    for label, score in zip(labels.tolist(), scores, strict=True):
        found = engine.explain(*given_rows, label)
        assert np.multiply.reduce(found["probability"], dtype=np.float32) == score
        path = naive_path(engine, learner, row, label)
        assert found["node"].tolist() == [node for node, _, _ in path]
        assert found["value"].tolist() == list(row.values)
        for i, (_, bias, parts) in enumerate(path):
            assert found["bias"][i] == pytest.approx(bias, rel=1e-5, abs=1e-6)
            assert found["contributions"][i] == pytest.approx(parts, rel=1e-5, abs=1e-6)
            assert found["probability"][i] == pytest.approx(
                sigma(bias + math.fsum(parts)), abs=1e-5
            )


@settings(max_examples=20, deadline=None)
@given(learner=LEARNERS, seed=st.integers(0, 50), threads=st.sampled_from([1, 3]))
def test_paths_of_many_labels_are_those_of_one(learner: str, seed: int, threads: int) -> None:
    engine, book = learnt(learner, seed)
    examples = [Example((i % 7, 9), (0.5, -1.0)) for i in range(40)]
    known = [*book.ids.values(), NONE // 2 - 1]  # the last has no leaf
    per_row = [known[i % 3 :: 4] for i in range(40)]
    ends = np.cumsum([0, *map(len, per_row)]).astype(np.int64)
    labels = np.array([label for row in per_row for label in row], np.uint32)
    indptr, values = engine.paths(*rows(examples), ends, labels, threads)
    at = 0
    for one, wanted in zip(examples, per_row, strict=True):
        for label in wanted:
            path = values[indptr[at] : indptr[at + 1]]
            at += 1
            if label not in book.ids.values():
                assert len(path) == 0
                continue
            expected = engine.explain(*rows([one]), label)["probability"]
            assert path.tobytes() == expected.tobytes()
    assert indptr[-1] == len(values)


def test_what_cannot_be_explained_is_refused() -> None:
    engine, book = learnt("arow", 1)
    one = rows([Example((1,), (1.0,))])
    with pytest.raises(ValueError, match="no leaf"):
        engine.explain(*one, len(book.ids) + 1000)
    with pytest.raises(ValueError, match="one row"):
        engine.explain(*rows([Example((), ())] * 2), 0)
    with pytest.raises(ValueError, match="do not fit together"):
        engine.paths(*one, np.array([0, 2], np.int64), np.zeros(1, np.uint32), 1)
