"""A batch model continued online equals an online model that started with all of its rows.

The twin gives every feature of the batch model a row at once; the engine creates one when it first
learns from the feature.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.driver import NONE, Array, LabelBook, blocks, example, learn, options, play, save_bytes
from labelgrove import PLTClassifier, _core
from naive.streams import Event, Learn, random_stream, streams

FEATURES, LABELS = 8, 12
QUESTIONS = sp.csr_array(
    np.vstack(
        [np.eye(12), np.random.default_rng(1).uniform(-1, 1, (20, 12))],
        dtype=np.float32,
    )
)


@cache
def batch_arrays(n_trees: int) -> tuple[dict[str, Array], Array]:
    """Return a batch model over the first features and labels, and the label counts."""
    rng = np.random.default_rng(n_trees)
    X = sp.random_array((60, FEATURES), density=0.3, rng=rng, dtype=np.float32, format="csr")
    Y = [rng.choice(LABELS, rng.integers(1, 4), replace=False).tolist() for _ in range(60)]
    Y = [[0, 1], list(range(LABELS)), *Y[2:]]  # ids are names, in this order
    model = PLTClassifier(arity=3, max_leaf_size=3, n_trees=n_trees, normalize=False).fit(X, Y)
    learned = model._learned
    assert learned is not None
    return learned.engine.batch.save(False), learned.counts.astype(np.uint64)


def answers(engine: _core.OnlinePlt) -> list[bytes]:
    X = QUESTIONS
    arrays = X.indptr.astype(np.int64), X.indices.astype(np.uint32), X.data
    found = engine.top_k(*arrays, 40, 0, None, 1)
    return [np.asarray(array).tobytes() for array in found[:2]]


def both(given: dict[str, Any], *, guessed: bool = True) -> tuple[_core.OnlinePlt, _core.OnlinePlt]:
    """Return the engine, and the twin with all rows."""
    arrays, counts = batch_arrays(given["n_trees"])
    heir, twin = (
        _core.OnlinePlt.from_batch(given, arrays, counts if guessed else None) for _ in range(2)
    )
    twin.restore_inherited()
    return heir, twin


def assert_same(heir: _core.OnlinePlt, twin: _core.OnlinePlt) -> None:
    assert answers(heir) == answers(twin)
    ours, theirs = heir.tree(), twin.tree()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)
    mine, all_rows = blocks(heir), blocks(twin)
    assert mine.keys() == all_rows.keys()
    for node, block in mine.items():
        assert block.updates == all_rows[node].updates
        assert block.rows.keys() <= all_rows[node].rows.keys()
        for feature, row in block.rows.items():
            assert np.array_equal(row, all_rows[node].rows[feature]), (node, feature)


def live(given: dict[str, Any], stream: list[Event], cuts: set[int], guessed: bool) -> None:
    heir, twin = both(given, guessed=guessed)
    books = LabelBook(), LabelBook()
    for book in books:
        book.ids_of(range(LABELS))
    for t, event in enumerate(stream):
        if t in cuts:
            saved = heir.save(False)
            heir = _core.OnlinePlt.load(given, saved, False)
            assert {name: array.tobytes() for name, array in saved.items()} == save_bytes(heir)
        play(heir, books[0], event)
        play(twin, books[1], event)
        assert answers(heir) == answers(twin)
    assert_same(heir, twin)
    for_prediction = heir.save(True)
    assert {"weights.state", "weights.state8"}.isdisjoint(for_prediction)
    assert answers(_core.OnlinePlt.load(given, for_prediction, True)) == answers(twin)


@settings(max_examples=30, deadline=None)
@given(
    stream=streams(max_size=16),
    learner=st.sampled_from(["arow", "adagrad"]),
    policy=st.sampled_from(["best-greedy", "random", "cpet", "complete"]),
    replay=st.sampled_from([0, 2]),
    n_trees=st.sampled_from([1, 1, 2]),
    cuts=st.sets(st.integers(0, 16), max_size=3),
    guessed=st.booleans(),
)
def test_rows_begin_when_they_are_needed(
    stream: list[Event],
    learner: str,
    policy: str,
    replay: int,
    n_trees: int,
    cuts: set[int],
    guessed: bool,
) -> None:
    given = options(
        learner=learner, policy=policy, replay=replay, n_trees=n_trees, arity=3, max_leaves=4
    )
    live(given, stream, cuts, guessed)


@pytest.mark.parametrize("learner", ["arow", "adagrad"])
def test_long_streams(learner: str) -> None:
    given = options(learner=learner, replay=1, thresholds="ofo", arity=2, max_leaves=3)
    live(given, random_stream(3, 80), {17, 40}, True)


def test_any_number_of_threads_makes_the_same_rows() -> None:
    given = options(replay=1, arity=2, max_leaves=3)
    stream = [event for event in random_stream(5, 60, removals=0.0) if isinstance(event, Learn)]
    engines = [both(given)[0] for _ in range(2)]
    book = LabelBook()
    book.ids_of(range(LABELS))
    examples = [example(event.x, book.ids_of(event.names)) for event in stream]
    for engine, threads in zip(engines, (1, 3), strict=True):
        learn(engine, examples, threads=threads, run=7)
    assert save_bytes(engines[0]) == save_bytes(engines[1])


def test_what_is_learnt_is_what_is_held() -> None:
    given = options(replay=1)
    heir, twin = both(given)
    assert set(heir.save(False)["inherited.node"].tolist()) - {NONE}
    assert sum(len(block.rows) for block in blocks(heir).values()) == len(blocks(heir))  # biases
    learn(heir, [example({0: 1.0}, [0])])
    learnt = blocks(heir)
    assert {tuple(block.rows) for block in learnt.values()} <= {(-1,), (-1, 0)}
    assert heir.size()["weights"] < 2 * twin.size()["weights"]
    learn(twin, [example({0: 1.0}, [0])])
    assert answers(heir) == answers(twin)
