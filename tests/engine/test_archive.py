"""A saved and loaded model equals the model that never stopped, in every byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import labelgrove
from engine.driver import (
    LEARNERS,
    POLICIES,
    LabelBook,
    options,
    play,
    save_bytes,
)
from labelgrove import OnlinePLTClassifier, _core
from naive.streams import Event, random_stream, streams

REPLAYS: list[tuple[int | str, int]] = [(0, 0), (1, 0), ("auto", 3)]


def reloaded(engine: _core.OnlinePlt, given: dict[str, Any]) -> _core.OnlinePlt:
    return _core.OnlinePlt.load(given, engine.save(False), for_prediction=False)


def check_resuming(given: dict[str, Any], stream: list[Event], cuts: set[int]) -> None:
    """Save, load and continue at every cut; always equal the uninterrupted model."""
    straight, resumed = _core.OnlinePlt(given), _core.OnlinePlt(given)
    books = LabelBook(), LabelBook()
    for t, event in enumerate(stream):
        if t in cuts:
            resumed = reloaded(resumed, given)
            assert save_bytes(resumed) == save_bytes(straight), t
        play(straight, books[0], event)
        play(resumed, books[1], event)
    assert save_bytes(resumed) == save_bytes(straight)
    assert save_bytes(reloaded(resumed, given)) == save_bytes(straight)


@settings(max_examples=100, deadline=None)
@given(
    stream=streams(max_size=20),
    learner=st.sampled_from(LEARNERS),
    policy=st.sampled_from(POLICIES),
    replay=st.sampled_from(REPLAYS),
    shape=st.sampled_from([(2, 2), (2, 4), (3, 3)]),
    cuts=st.sets(st.integers(0, 20), max_size=20),
)
def test_resuming_anywhere(
    stream: list[Event],
    learner: str,
    policy: str,
    replay: tuple[int | str, int],
    shape: tuple[int, int],
    cuts: set[int],
) -> None:
    given = options(
        learner=learner,
        policy=policy,
        replay=replay[0],
        replay_memory=replay[1],
        arity=shape[0],
        max_leaves=shape[1],
        l2=0.01,
    )
    check_resuming(given, stream, cuts)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("learner", LEARNERS)
def test_resuming_on_longer_streams(policy: str, learner: str) -> None:
    for replay, memory in REPLAYS:
        given = options(
            policy=policy, learner=learner, replay=replay, replay_memory=memory, max_leaves=4
        )
        check_resuming(given, random_stream(5, length=120), cuts={0, 1, 2, 30, 31, 60, 90, 119})


@pytest.mark.parametrize("features", [9, 11])
def test_resuming_where_the_first_node_may_be_wide(features: int) -> None:
    given = options(max_leaves=3, first_leaves=7, replay=1)
    stream = random_stream(0, length=40, features=features)
    check_resuming(given, stream, cuts={0, 1, 5, 10, 20})


@pytest.mark.parametrize("learner", LEARNERS)
def test_resuming_with_dense_rows(learner: str) -> None:
    given = options(learner=learner, max_leaves=4, replay=1)
    straight, resumed = _core.OnlinePlt(given), _core.OnlinePlt(given)
    books = LabelBook(), LabelBook()
    for event in random_stream(6, length=60):
        play(straight, books[0], event, width=12)
        resumed = reloaded(resumed, given)
        play(resumed, books[1], event, width=12)
    assert save_bytes(resumed) == save_bytes(straight)


def realistic(learner: str, replay: int, n: int = 3000) -> tuple[OnlinePLTClassifier, Any]:
    """A model of text-like rows: many features and labels, frequent and rare."""
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    topic = (400 * rng.random(n) ** 2).astype(int)
    words = [
        np.unique(
            np.concatenate(
                [(20_000 * rng.random(25) ** 3).astype(int), 20_000 + 6 * t + rng.integers(0, 6, 8)]
            )
        )
        for t in topic
    ]
    indptr = np.cumsum([0, *map(len, words)])
    X = sp.csr_array((np.ones(indptr[-1], np.float32), np.concatenate(words), indptr))
    Y = [[int(t), 400 + int(t) % 20, 420 + int(t) % 7] for t in topic]
    clf = OnlinePLTClassifier(learner=learner, replay=replay)
    return clf.partial_fit(X, Y), X


@pytest.mark.parametrize(("learner", "replay"), [("arow", 1), ("arow", 0), ("adagrad", 0)])
def test_saved_for_prediction_it_takes_little_more_than_its_weights(
    learner: str, replay: int, tmp_path: Path
) -> None:
    clf, X = realistic(learner, replay)
    clf.save(tmp_path / "all.lg")
    clf.save(tmp_path / "lean.lg", for_prediction=True)
    share = (tmp_path / "lean.lg").stat().st_size / (tmp_path / "all.lg").stat().st_size
    assert share <= (0.75 if learner == "arow" else 0.6), share  # a variance has half the bytes
    lean = labelgrove.load(tmp_path / "lean.lg")
    for mine, theirs in zip(clf.predict_topk(X[:50]), lean.predict_topk(X[:50]), strict=True):
        assert mine.tobytes() == theirs.tobytes()
    assert clf.score(X[:500], [[int(t)] for t in lean.predict_topk(X[:500], 1)[0][:, 0]]) == 1.0


def test_an_empty_array_may_lie_anywhere() -> None:
    """Unpickled ones do, from Python 3.13 on."""
    given = options()
    engine = _core.OnlinePlt(given)
    saved = {
        name: array if array.size else np.ndarray(0, array.dtype, bytearray(9), offset=1)
        for name, array in engine.save(False).items()
    }
    assert save_bytes(_core.OnlinePlt.load(given, saved, for_prediction=False)) == save_bytes(
        engine
    )
