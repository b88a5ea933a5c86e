"""OPLT is proper: after any prefix it is IPLT trained on the tree it has, bit for bit.

Engine against engine, for every policy, learner and replay, with labels removed on the way.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.driver import LEARNERS, POLICIES, blocks, initial_row, learn, options, save_bytes
from engine.trees import start_trees
from engine.witness import FIXED, Witness, assert_proper
from fuzz.extremes import examples
from labelgrove import _core
from naive.label_tree import LabelTree
from naive.learners import instance
from naive.streams import Event, Learn, Remove, in_blocks, random_stream, streams, with_late_label

REPLAYS = [(0, 0), (1, 0), (2, 0), (1, 1), (2, 3)]  # number of replays, and size of memory


@st.composite
def parameters(draw: st.DrawFn) -> dict[str, Any]:
    replay, memory = draw(st.sampled_from(REPLAYS))
    arity = draw(st.integers(2, 4))
    return options(
        learner=draw(st.sampled_from(LEARNERS)),
        policy=draw(st.sampled_from(POLICIES)),
        alpha=draw(st.sampled_from([0.0, 0.5, 0.75, 1.0])),
        l2=draw(st.sampled_from([0.0, 0.05])),
        arity=arity,
        max_leaves=arity + draw(st.sampled_from([0, 1, 2, 6, 130])),
        replay=replay,
        replay_memory=memory,
        normalize=draw(st.booleans()),
        random_state=draw(st.integers(0, 99)),
    )


def live(witness: Witness, stream: Iterable[Event], every: int = 1) -> None:
    assert_proper(witness)
    events = list(stream)
    for t, event in enumerate(events, start=1):
        witness.play(event)
        if t % every == 0 or t == len(events):
            assert_proper(witness)


@pytest.mark.fuzz
@settings(max_examples=examples(60), deadline=None)
@given(parameters(), streams(max_size=20), st.sampled_from([0, 6]))
def test_proper_after_every_prefix(given: dict[str, Any], stream: list[Event], width: int) -> None:
    live(Witness(given, width=width), stream)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("learner", LEARNERS)
def test_proper_on_longer_streams(policy: str, learner: str) -> None:
    shapes = [(2, 2), (2, 5), (3, 3), (4, 11), (2, 3)]
    for seed, ((arity, max_leaves), (replay, memory)) in enumerate(
        zip(shapes, REPLAYS, strict=True)
    ):
        given = options(
            policy=policy,
            learner=learner,
            arity=arity,
            max_leaves=max_leaves,
            replay=replay,
            replay_memory=memory,
            random_state=seed,
        )
        live(Witness(given), random_stream(seed, length=80, removals=0.25), every=40)


@pytest.mark.parametrize("features", [6, 9, 11])
def test_proper_where_the_first_node_is_wide(features: int) -> None:
    given = options(max_leaves=3, first_leaves=7, replay=1)
    live(Witness(given), random_stream(0, length=40, features=features), every=4)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("shaped", [in_blocks, with_late_label])
def test_proper_where_the_stream_says_how_often_to_learn_again(
    shaped: Callable[[list[Event]], list[Event]], policy: str, learner: str
) -> None:
    """The number of replays depends on all labels of an example, so IPLT gets exactly these.

    Hence theta, which the witness teaches as a label, is not compared here, and none is removed.
    """
    given = options(
        policy=policy, learner=learner, arity=2, max_leaves=4, replay="auto", replay_memory=20
    )
    witness = Witness(given)
    for event in shaped(random_stream(3, length=150, removals=0.0)):
        witness.play(event)
    mine, tree = blocks(witness.engine), witness.engine.tree()
    fixed = {**given, "policy": FIXED}
    iplt = _core.OnlinePlt.on_trees(fixed, [(tree["parent"], tree["label"])], witness.book.count)
    learn(iplt, witness.examples)
    theirs, initial = blocks(iplt), initial_row(given)
    for v, twin in theirs.items():
        block = mine[v]
        assert block.updates == twin.updates
        assert block.memory == twin.memory
        for feature in block.rows.keys() | twin.rows.keys():
            here = block.row(feature, initial)[:, : block.children]
            assert here.tobytes() == twin.row(feature, initial).tobytes()
    times = mine[0].updates / mine[0].reached  # 3 in a mixed stream without late labels
    assert times > (5 if shaped is in_blocks else 3)


def wide_stream(seed: int, labels: int, width: int, length: int = 70) -> list[Event]:
    """Return a stream whose rows bring many new labels, so that blocks quickly grow wide."""
    rng = random.Random(seed)
    stream: list[Event] = []
    for t in range(length):
        if t % 10 == 9:
            stream.append(Remove(rng.randrange(labels)))
        features = rng.sample(range(width), rng.randint(1, width))
        x = instance({f: rng.uniform(-1, 1) for f in features})
        stream.append(Learn(x, tuple(rng.sample(range(labels), rng.randint(0, 12)))))
    return stream


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("policy", ["best-greedy", "random", "complete"])
@pytest.mark.parametrize("dense", [False, True])
def test_proper_in_wide_blocks(learner: str, policy: str, dense: bool) -> None:
    """From one column to more than 128, so that every vector width occurs in many combinations."""
    for seed, (arity, more) in enumerate([(2, 130), (3, 61), (4, 20)]):
        given = options(
            learner=learner,
            policy=policy,
            arity=arity,
            max_leaves=arity + more,
            replay=seed % 2,
            replay_memory=[0, 8][seed % 2],
            l2=0.01,
        )
        witness = Witness(given, width=9 if dense else 0)
        live(witness, wide_stream(seed, labels=220, width=9), every=9)
        widths = {block.children + block.theta for block in blocks(witness.engine).values()}
        assert max(widths) > {130: 128, 61: 60, 20: 20}[more]


def test_every_width_from_one_to_140_columns() -> None:
    """One more label each time; the last block has them all."""
    for learner in LEARNERS:
        witness = Witness(options(learner=learner, max_leaves=140, replay=1))
        rng = random.Random(7)
        for label in range(139):
            x = instance({f: rng.uniform(-1, 1) for f in rng.sample(range(6), 3)})
            witness.play(Learn(x, (label, rng.randint(0, label))))
            if label % 6 == 0 or label > 120:
                assert_proper(witness)
        assert max(block.children for block in blocks(witness.engine).values()) == 139


def test_the_streams_reach_what_they_are_meant_to_reach() -> None:
    """Reused places, moving ghosts, auxiliary classifiers of leaves, full memories."""
    seen: Counter[str] = Counter()
    for policy in POLICIES:
        for seed, (arity, max_leaves) in enumerate([(2, 2), (2, 5), (3, 3), (4, 11)]):
            shape = {"arity": arity, "max_leaves": max_leaves}
            given = options(policy=policy, **shape, replay=1, replay_memory=3)
            witness = Witness(given)
            for event in random_stream(seed, length=120, removals=0.25):
                ghosts = dict(witness.ghosts)
                witness.play(event)
                seen["ghosts"] += len(witness.ghosts) - len(ghosts)
                seen["moved"] += any(witness.ghosts[g] != v for g, v in ghosts.items())
            parents = set(witness.engine.tree()["parent"].tolist())
            for v, block in blocks(witness.engine).items():
                seen["theta of a leaf"] += block.theta and v not in parents
                seen["theta of an inner node"] += block.theta and v in parents
                seen["full memory"] += len(block.memory) == 3 < block.reached
            seen["silent"] += int(witness.engine.tree()["silent"].sum())
    assert min(seen.values()) >= 10 and len(seen) == 6, seen


def test_several_passes_are_proper() -> None:
    witness = Witness(options(max_leaves=3, replay=1))
    stream = random_stream(3, length=40, removals=0.0)
    for _ in range(3):
        live(witness, stream, every=10)


@pytest.mark.parametrize("learner", LEARNERS)
def test_dense_rows_learn_what_sparse_ones_do(learner: str) -> None:
    """A dense row equals the sparse one that stores all features, including zeros."""
    given = options(learner=learner, max_leaves=5, replay=1)
    as_dense, as_sparse = Witness(given, width=12), Witness(given, width=12, dense=False)
    for event in random_stream(2, length=60):
        as_dense.play(event)
        as_sparse.play(event)
    assert save_bytes(as_dense.engine) == save_bytes(as_sparse.engine)


@pytest.mark.fuzz
@settings(max_examples=examples(60), deadline=None)
@given(parameters(), start_trees(), streams(max_size=20))
def test_proper_from_any_start_tree(
    given: dict[str, Any], tree: LabelTree, stream: list[Event]
) -> None:
    """OPLT-W: IPLT on the tree that the given one becomes agrees, too."""
    live(Witness(given, start=tree), stream)


@pytest.mark.parametrize("policy", POLICIES)
def test_proper_from_a_start_tree_on_longer_streams(policy: str) -> None:
    mixed = LabelTree.from_parents([None, 0, 0, 0, 1, 1], {0: 4, 1: 5, 2: 2, 3: 3})
    for seed, (arity, max_leaves) in enumerate([(2, 2), (2, 4), (4, 4), (6, 8)]):
        given = options(policy=policy, arity=arity, max_leaves=max_leaves, replay=seed % 3)
        live(Witness(given, start=mixed), random_stream(seed, length=60, removals=0.4), every=6)
