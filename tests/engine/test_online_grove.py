"""Several online trees each equal the tree learnt alone, and predict the mean."""

from __future__ import annotations

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
    Array,
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
from naive.streams import Event, Learn, random_stream, streams

TREE_STREAM = 8  # of the core's random choices
EVERYTHING = np.zeros(1, np.float32)
RANDOM, BEST_GREEDY = (options(policy=name)["policy"] for name in ("random", "best-greedy"))


class Twin:
    """Single-tree engines, one per tree of the grove, with the random choices of that tree."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.told = told
        self.trees = [_core.OnlinePlt(self.options_of(t)) for t in range(told["n_trees"])]

    def options_of(self, tree: int) -> dict[str, Any]:
        own = {**self.told, "n_trees": 1, "ofo_a": 0.0, "ofo_b": 0.0}
        if tree > 0:
            own["seed"] = _core.draw(own["seed"], TREE_STREAM, tree)
            own["policy"] = RANDOM if own["policy"] == BEST_GREEDY else own["policy"]
        return own

    def play(self, book: LabelBook, event: Event) -> None:
        known = dict(book.ids), book.count
        for tree in self.trees:
            book.ids, book.count = dict(known[0]), known[1]
            play(tree, book, event)

    def save(self) -> dict[str, bytes]:
        saved = save_bytes(self.trees[0])
        for t, tree in enumerate(self.trees[1:], 1):
            saved |= {f"tree{t}.{name}": array for name, array in save_bytes(tree).items()}
        return saved

    def mean(self, x: tuple[Array, ...], labels: int) -> Array:
        total = np.zeros(labels, np.float32)
        for tree in self.trees:
            _, found, scores, *_ = tree.above_threshold(*x, tree.scope(EVERYTHING), 1)
            total[found] += scores
        return total / np.float32(len(self.trees))


def played(engine: _core.OnlinePlt, stream: list[Event], threads: int) -> LabelBook:
    """All examples between two removals are learnt in one call."""
    book = LabelBook()
    for are_learnt, run in groupby(stream, lambda event: isinstance(event, Learn)):
        events = list(run)
        if are_learnt:
            given_rows = [example(e.x, book.ids_of(e.names), weight=e.weight) for e in events]
            learn(engine, given_rows, threads=threads)
        else:
            for event in events:
                play(engine, book, event)
    return book


@given(
    streams(),
    st.sampled_from(POLICIES),
    st.sampled_from(LEARNERS),
    st.integers(2, 4),
    st.integers(1, 5),
)
def test_its_trees_are_those_of_single_engines_and_their_mean_is_predicted(
    stream: list[Event], policy: str, learner: str, n_trees: int, threads: int
) -> None:
    told = options(policy=policy, learner=learner, max_leaves=3, replay=1, n_trees=n_trees)
    engine, twin, book = _core.OnlinePlt(told), Twin(told), LabelBook()
    played(engine, stream, threads)
    for event in stream:
        twin.play(book, event)
    saved = engine.save(False)
    assert {name: array.tobytes() for name, array in saved.items()} == twin.save()
    again = _core.OnlinePlt.load(told, saved, False)
    assert save_bytes(again) == twin.save()
    labels = engine.labels()
    for event in stream:
        if isinstance(event, Learn):
            x = rows([example(event.x, ())])
            mean = twin.mean(x, engine.label_count)[labels]
            best = np.argsort(-mean, kind="stable")[:3]
            found, scores, _ = engine.top_k(*x, len(best), 0, None, 1)
            assert found[0].tolist() == labels[best].tolist()
            assert scores[0].tolist() == mean[best].tolist()


@given(
    st.builds(random_stream, st.integers(0, 99), st.integers(1, 80)),
    st.sampled_from(POLICIES),
    st.integers(1, 3),
)
def test_thresholds_are_tuned_by_the_mean(stream: list[Event], policy: str, threads: int) -> None:
    told = options(
        policy=policy,
        max_leaves=3,
        replay=1,
        n_trees=3,
        thresholds="ofo",
        ofo_a=1,
        ofo_b=4,
        ofo_every=2,
        random_state=3,
    )
    engine, twin, book = _core.OnlinePlt(told), Twin(told), LabelBook()
    played(engine, stream, threads)
    ofo = OFO(a=1, b=4)
    for event in stream:
        if isinstance(event, Learn) and event.weight > 0:
            first = twin.trees[0]
            asked = _core.draw(told["seed"], 13, first.examples_seen, 0) % 2 == 0
            mean = twin.mean(rows([example(event.x, ())]), first.label_count)
            twin.play(book, event)
            if not asked:
                continue
            width = max(ofo.n_labels, book.count)
            ids = sorted({book.ids[name] for name in event.names})
            Y = csr_array((np.ones(len(ids)), ([0] * len(ids), ids)), shape=(1, width))
            ofo.update(Y, csr_array(np.append(mean, np.zeros(width - len(mean)))[np.newaxis]))
        else:
            twin.play(book, event)
    saved = save_bytes(engine)
    assert {name: array for name, array in saved.items() if "ofo." not in name} == twin.save()
    m = engine.label_count
    ofo.update(csr_array((0, m)), csr_array((0, m)))  # labels that it never saw in an example
    assert engine.thresholds().tolist() == ofo.thresholds()[:m].tolist()
    again = _core.OnlinePlt.load(told, engine.save(False), False)
    assert again.thresholds().tolist() == engine.thresholds().tolist()


@pytest.mark.parametrize("wrong", ["labels", "label", "examples", "threshold"])
def test_trees_that_learnt_from_other_examples_are_refused(wrong: str) -> None:
    told = options(n_trees=2, thresholds="ofo")
    engine = _core.OnlinePlt(told)
    learn(engine, [example({i % 2: 1.0}, [i % 2]) for i in range(8)])
    saved = {name: array.copy() for name, array in engine.save(False).items()}
    if wrong == "labels":
        saved["tree1.counters"][0] += 1  # which nothing may be allocated for
    elif wrong == "label":
        saved["tree1.tree.silent"][-1] = 1
    elif wrong == "examples":
        saved["tree1.counters"][1] += 1
    else:
        saved["tree1.ofo.positives"][0] += 1
    with pytest.raises(ValueError, match="tree 1 has learnt different examples"):
        _core.OnlinePlt.load(told, saved, False)
