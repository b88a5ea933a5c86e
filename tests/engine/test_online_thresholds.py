"""Thresholds tuned while learning equal those of predicting each example, then learning it."""

from __future__ import annotations

import random
from itertools import groupby
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from engine.driver import (
    LEARNERS,
    POLICIES,
    Example,
    LabelBook,
    example,
    learn,
    options,
    play,
    rows,
    save_bytes,
)
from labelgrove import _core
from labelgrove.tuning import OFO
from naive.learners import instance
from naive.streams import Event, Learn, streams

EVERYTHING = np.zeros(1, np.float32)
OFO_ARRAYS = ("ofo.hits", "ofo.positives", "ofo.predicted")


ASKING = 13  # the random stream that selects tuning examples


def counts(engine: _core.OnlinePlt) -> list[list[int]]:
    saved = engine.save(False)
    return [saved[name].tolist() for name in OFO_ARRAYS]


def one_by_one(given_options: dict[str, Any], events: list[Event]) -> tuple[_core.OnlinePlt, OFO]:
    """Predict examples with an engine without tuning, show them to OFO, then learn them."""
    engine = _core.OnlinePlt({**given_options, "ofo_a": 0.0, "ofo_b": 0.0})
    seed, every = given_options["seed"], given_options["ofo_every"]
    ofo = OFO(a=given_options["ofo_a"], b=given_options["ofo_b"])
    book = LabelBook()
    for event in events:
        if isinstance(event, Learn):
            x = example(event.x, ())
            labels = book.ids_of(event.names)
            if _core.draw(seed, ASKING, engine.examples_seen, 0) % every == 0:
                _, found, scores, *_ = engine.above_threshold(
                    *rows([x]), engine.scope(EVERYTHING), 1
                )
                width = max([ofo.n_labels, *(j + 1 for j in [*labels, *found.tolist()])])
                Y = csr_array((np.ones(len(labels)), ([0] * len(labels), labels)), shape=(1, width))
                estimates = csr_array((scores, ([0] * len(found), found)), shape=(1, width))
                ofo.update(Y, estimates)
            learn(engine, [example(event.x, labels)])
        else:
            play(engine, book, event)
    return engine, ofo


@given(
    streams(),
    st.sampled_from(POLICIES),
    st.sampled_from(LEARNERS),
    st.sampled_from([(5.0, 50.0), (1.0, 2.0), (0.0, 1.0), (3.0, 4.0), (0.01, 100.0)]),
    st.sampled_from([1, 2, 3]),
    st.integers(0, 3),
)
def test_it_predicts_each_example_before_it_learns_it(
    stream: list[Event],
    policy: str,
    learner: str,
    start: tuple[float, float],
    every: int,
    seed: int,
) -> None:
    told = options(
        policy=policy,
        learner=learner,
        max_leaves=3,
        replay=1,
        thresholds="ofo",
        ofo_a=start[0],
        ofo_b=start[1],
        ofo_every=every,
        random_state=seed,
    )
    engine, book = _core.OnlinePlt(told), LabelBook()
    for are_learnt, run in groupby(stream, lambda event: isinstance(event, Learn)):
        events = list(run)
        if are_learnt:  # in one call
            learn(engine, [example(e.x, book.ids_of(e.names)) for e in events])
        else:
            for event in events:
                play(engine, book, event)
    plain, ofo = one_by_one(told, stream)
    learnt, expected = save_bytes(engine), save_bytes(plain)
    learnt.pop("ofo.examples", None)
    tuned = {name: learnt.pop(name) for name in OFO_ARRAYS}
    assert learnt == expected, "tuning must leave learning alone"
    m = engine.label_count
    ofo.update(csr_array((0, m)), csr_array((0, m)))  # labels that it never saw in an example
    assert engine.thresholds().tolist() == ofo.thresholds()[:m].tolist()
    padded = [[*numbers, *[0] * m][:m] for numbers in counts(engine)]
    assert (start[0] + np.array(padded[0])).tolist() == ofo.a[:m].tolist()
    assert (start[1] + np.array(padded[1]) + padded[2]).tolist() == ofo.b[:m].tolist()
    assert all(len(array) == len(tuned["ofo.hits"]) for array in tuned.values())


def long_stream() -> list[Example]:
    """Separable clusters whose labels arrive over time."""
    rng, book = random.Random(7), LabelBook()
    found = []
    for t in range(1300):
        topic = rng.randrange(1 + t // 30)
        x = {f: rng.uniform(0, 0.3) for f in rng.sample(range(60), 5)} | {topic: 2.0}
        names = [topic, 100 + topic % 7, *([200 + topic % 3] if rng.random() < 0.4 else [])]
        found.append(example(instance(x), book.ids_of(names)))
    return found


@pytest.mark.parametrize("policy", ["best-greedy", "complete"])
def test_threads_calls_and_a_stop_do_not_show(policy: str) -> None:
    told = options(policy=policy, max_leaves=4, replay=2, replay_memory=50, thresholds="ofo")
    stream = long_stream()

    def learnt(threads: int, run: int | None) -> dict[str, bytes]:
        engine = _core.OnlinePlt(told)
        learn(engine, stream, threads=threads, run=run)
        return save_bytes(engine)

    expected = learnt(1, None)
    for threads, run in [(2, None), (8, None), (1, 1), (3, 100)]:
        assert learnt(threads, run) == expected, (threads, run)
    engine = _core.OnlinePlt(told)
    learn(engine, stream[:700])
    saved = engine.save(False)
    again = _core.OnlinePlt.load(told, saved, False)
    assert again.thresholds().tolist() == engine.thresholds().tolist()
    learn(again, stream[700:])
    assert save_bytes(again) == expected
    hits, _, predicted = counts(again)
    assert sum(hits) > 0.5 * sum(predicted) > 500, "the stream must be learnable"


def test_a_given_tree_starts_at_the_prior() -> None:
    told = options(policy="fixed", thresholds="ofo", ofo_a=2.0, ofo_b=10.0)
    parents = np.array([0xFFFFFFFF, 0, 1, 1], np.uint32)
    labels = np.array([0xFFFFFFFF, 0xFFFFFFFF, 0, 1], np.uint32)
    engine = _core.OnlinePlt.on_trees(told, [(parents, labels)], 2)
    assert engine.thresholds().tolist() == [0.2, 0.2]
    learn(engine, [Example((0,), (1.0,), (1,))])
    # All classifiers say 1/2 at first, so both labels are 1/4, and predicted. The one that all
    # examples have so far is not predicted below 1/2, half of what predicting it always gives.
    assert engine.thresholds().tolist() == [2 / 11, 0.5]


def test_without_it_there_are_none() -> None:
    engine = _core.OnlinePlt(options())
    learn(engine, [Example((0,), (1.0,), (0,))])
    assert engine.thresholds().tolist() == []
    assert not set(OFO_ARRAYS) & set(engine.save(False))


def test_a_model_for_prediction_keeps_no_counts() -> None:
    told = options(thresholds="ofo")
    engine = _core.OnlinePlt(told)
    learn(engine, long_stream()[:50])
    saved = engine.save(True)
    assert not set(OFO_ARRAYS) & set(saved)
    assert _core.OnlinePlt.load(told, saved, True).thresholds().tolist() == []


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("ofo.hits", lambda a: a + np.uint64(1000)),
        ("ofo.positives", lambda a: a * np.uint64(0)),
        ("ofo.predicted", lambda a: a + np.uint64(2**63)),
        ("ofo.predicted", lambda a: a[:-1]),
        ("ofo.hits", lambda a: a.astype(np.int64)),
    ],
)
def test_counts_that_cannot_be_are_refused(name: str, change: Any) -> None:
    told = options(thresholds="ofo")
    engine = _core.OnlinePlt(told)
    learn(engine, long_stream()[:200])
    saved = engine.save(False)
    saved[name] = change(saved[name])
    with pytest.raises(ValueError, match=r"ofo\.|counts of its threshold"):
        _core.OnlinePlt.load(told, saved, False)
