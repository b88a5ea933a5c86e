"""The engine equals its plain twin: tree for tree, and weight for weight.

AROW's numbers agree to the last bit; AdaGrad's and SGD's, which the twin computes in double
precision, to float32 accuracy.

Both make random choices with the engine's hash. Under BEST-GREEDY the engine's probabilities, which
have 24 bits, could order two nearly equal children differently, so the twin asks the engine there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.driver import (
    ABOVE_ROOT,
    LEARNERS,
    NONE,
    POLICIES,
    Block,
    LabelBook,
    blocks,
    example,
    halves,
    options,
    play,
    rows,
)
from engine.trees import engine_tree, start_trees
from fuzz.extremes import examples
from labelgrove import _core
from labelgrove.models._plt_options import CALM, MOST
from naive import search, streams
from naive.label_tree import LabelTree, Node
from naive.learners import BIAS, AdaGrad, Instance, LazySGD, Learner, RoundedAROW, instance
from naive.oplt import OPLT, SUPER_ROOT
from naive.policy import PreLeafPolicy, RandomChoice, policy_named
from naive.replay import FULL, NodeMemory, Replay, times_now
from naive.streams import Event, Learn, in_blocks, random_stream, with_late_label

CLOSE = {"rtol": 1e-4, "atol": 2e-5}


def draw(stream: int) -> Callable[..., int]:
    return lambda seed, counter, sub=0: _core.draw(seed, stream, counter, sub)


def new_learner(name: str, l2: float, seed: int) -> Callable[[], Learner]:
    learners: dict[str, Callable[[], Learner]] = {
        "adagrad": lambda: AdaGrad(eta=0.8, epsilon=0.05),
        "sgd": lambda: LazySGD(gamma=0.8, lam=l2),
        "arow": lambda: RoundedAROW(2.0, seed, draw(11)),
    }
    return learners[name]


class Twin(OPLT):
    """OPLT in plain Python; the engine's classifiers answer the queries of BEST-GREEDY."""

    def __init__(
        self,
        *,
        learner: str,
        policy: str,
        alpha: float,
        arity: int,
        max_leaves: int,
        first_leaves: int = 0,
        replay: int | str,
        replay_memory: int,
        random_state: int,
        l2: float,
        start: LabelTree | None = None,
    ) -> None:
        seed = random_state
        shape = {"b": arity, "b_max": max_leaves, "first": first_leaves}
        chooser = policy_named(policy, alpha=alpha, **shape, seed=seed)
        if policy == "random":
            chooser = PreLeafPolicy(RandomChoice(seed, draw(1)), **shape)
        times, most = (CALM, MOST) if isinstance(replay, str) else (replay, 0)
        again = Replay(times, replay_memory or None, seed, draw(2), draw(3), most)
        names = range(len(start.leaf_of) if start else 0)
        super().__init__(new_learner(learner, l2, seed), chooser, again, start, names)
        self.asked = 0
        self.alpha = alpha
        self.options = options(
            learner=learner,
            learning_rate=0.8,
            epsilon=0.05,
            r=2.0,
            l2=l2,
            policy=policy,
            alpha=alpha,
            arity=arity,
            max_leaves=max_leaves,
            first_leaves=first_leaves,
            replay=replay,
            replay_memory=replay_memory,
            random_state=seed,
        )
        self.engine = _core.OnlinePlt(self.options)
        if start is not None:
            arrays = engine_tree(start)
            self.engine = _core.OnlinePlt.on_trees(self.options, [arrays], len(names))
        self.before: dict[int, Block] = {}

    def probability(self, x: Instance, v: Node) -> float:
        if self.alpha == 1.0:
            return 0.0  # has no weight
        self.asked += 1
        parent = self.tree.parent[v]
        above = ABOVE_ROOT if parent is None else parent + 1
        column = 0 if parent is None else self.tree.children[parent].index(v)
        return eta(self.options, self.before[above], column, x)


def eta(given: dict[str, Any], block: Block, column: int, x: Instance) -> float:
    """Ask the engine for one classifier's probability: as the root of a tree of one label."""
    weights, state = np.ascontiguousarray(block.cells[:, :, column].T)
    numbers = {"weights.value": weights, "weights.state": state}
    if given["learner"] == _core.LearnerKind.arow.value:
        numbers = {f"{name}16": halves(array) for name, array in numbers.items()}
    arrays = {
        "tree.parent": np.array([NONE, 0], np.uint32),
        "tree.label": np.array([NONE, 0], np.uint32),
        "tree.silent": np.zeros(2, np.uint8),
        "counters": np.array([1, 0, 0], np.uint64),
        "block.node": np.zeros(1, np.uint32),
        "block.features": np.array([len(block.features)], np.uint32),
        "block.rows": np.array([len(weights)], np.uint32),
        "block.theta": np.zeros(1, np.uint8),
        "block.updates": np.array([block.updates], np.uint64),
        "weights.feature": np.array(block.features, np.uint32),
        "weights.place": block.places,
        "weights.share": block.shares,
        **numbers,
        "weights.link": block.links[column],
    }
    one = _core.OnlinePlt.load(given, arrays, for_prediction=True)
    return float(one.top_k(*rows([example(x, [])]), 1, 0, None, 1)[1][0, 0])


def live(twin: Twin, events: list[Event]) -> None:
    """Apply the same events to engine and twin, and compare them at the end."""
    book = LabelBook()
    book.ids_of(twin.names)
    for event in events:
        asks = isinstance(event, Learn) and twin.alpha < 1
        if asks and any(name not in book.ids for name in event.names):
            twin.before = blocks(twin.engine)
        streams.play(twin, event)
        play(twin.engine, book, event)
        assert_same_tree(twin)
    assert_same_classifiers(twin)


def assert_same_tree(twin: Twin) -> None:
    tree = twin.engine.tree()
    parents = [-1 if parent is None else parent for parent in twin.tree.parent]
    assert tree["parent"][1:].tolist() == [parent + 1 for parent in parents]
    labels = [NONE if label is None else label for label in twin.tree.label]
    assert tree["label"][1:].tolist() == labels
    assert set((np.flatnonzero(tree["silent"]) - 1).tolist()) == twin.tree.silent


def assert_same_classifiers(twin: Twin) -> None:
    held = blocks(twin.engine)
    assert {v - 1 for v, block in held.items() if block.theta} == twin.Theta.keys()
    assert {v - 1 for v in held} == twin.memory.keys()
    for v, block in held.items():
        children = [0] if v == ABOVE_ROOT else twin.tree.children[v - 1]
        learners = [twin.H[child] for child in children]
        learners += [twin.Theta[v - 1]] if block.theta else []
        for column, learner in enumerate(learners):
            assert_same_learner(block, column, learner)
        if twin.replay.times > 0:
            assert_same_memory(block, children, twin.memory[v - 1 if v else SUPER_ROOT])


def assert_same_learner(block: Block, column: int, learner: Any) -> None:
    seen = {BIAS if f == -1 else f: row[:, column] for f, row in block.rows.items()}
    if isinstance(learner, LazySGD):
        expected = {f: (w, 0.0) for f, w in learner.weights().items()}
        decay = learner.lam * learner.gamma
        scale = (1 + decay) / (1 + decay * (block.updates + 1))
        assert block.updates == learner.t
        seen = {f: row * scale for f, row in seen.items()}
    elif isinstance(learner, AdaGrad):
        expected = {f: (w, learner.G[f]) for f, w in learner.w.items()}
    else:
        assert block.updates == learner.t
        expected = {f: learner.weight_and_variance(f) for f in [BIAS, *learner.places]}
        assert {f: (w, s) for f, (w, s) in seen.items()} == expected
        return
    fresh = (0.0, 0.0)
    for feature in seen.keys() | expected.keys():
        np.testing.assert_allclose(
            seen.get(feature, fresh), expected.get(feature, fresh), **CLOSE, err_msg=str(feature)
        )


def assert_same_memory(block: Block, children: list[Node], memory: NodeMemory) -> None:
    assert block.reached == memory.n
    expected = [
        (example(e.x, [], weight=e.weight), {children.index(c) for c in e.positives})
        for e in memory.entries
    ]
    assert block.memory == expected


@st.composite
def parameters(draw: st.DrawFn) -> dict[str, Any]:
    arity = draw(st.integers(2, 4))
    policy = draw(st.sampled_from(POLICIES))
    # Within one observation CPET asks about nodes that the engine has not finished yet.
    alphas = [1.0] if policy == "cpet" else [0.0, 0.5, 0.75, 1.0]
    return {
        "learner": draw(st.sampled_from(LEARNERS)),
        "policy": policy,
        "alpha": draw(st.sampled_from(alphas)),
        "arity": arity,
        "max_leaves": arity + draw(st.sampled_from([0, 1, 3])),
        "replay": draw(st.sampled_from([0, 1, 2, "auto"])),
        "replay_memory": draw(st.sampled_from([0, 1, 3])),
        "random_state": draw(st.integers(0, 2**64 - 1)),
        "l2": draw(st.sampled_from([0.0, 0.05])),
    }


@pytest.mark.fuzz
@settings(max_examples=examples(60), deadline=None)
@given(parameters(), streams.streams(max_size=20))
def test_same_on_any_stream(given: dict[str, Any], stream: list[Event]) -> None:
    live(Twin(**given), stream)


@pytest.mark.fuzz
@settings(max_examples=examples(60), deadline=None)
@given(parameters(), start_trees(), streams.streams(max_size=20))
def test_same_from_any_start_tree(
    given: dict[str, Any], tree: LabelTree, stream: list[Event]
) -> None:
    """A node can fill up within an observation, so that the policy moves on to a new child."""
    live(Twin(**{**given, "alpha": 1.0}, start=tree), stream)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("learner", LEARNERS)
def test_same_on_longer_streams(policy: str, learner: str) -> None:
    cases = [(2, 2, 0, 0), (2, 5, 1, 0), (3, 4, 2, 4)]
    for seed, (arity, max_leaves, replay, memory) in enumerate(cases):
        twin = Twin(
            learner=learner,
            policy=policy,
            alpha=1.0 if policy == "cpet" else 0.5,
            arity=arity,
            max_leaves=max_leaves,
            replay=replay,
            replay_memory=memory,
            random_state=seed,
            l2=0.01,
        )
        live(twin, random_stream(seed, length=50))
        assert (twin.asked > 20) == (policy == "best-greedy")


@pytest.mark.parametrize("policy", POLICIES)
def test_same_where_the_first_node_is_wide(policy: str) -> None:
    """Only while examples have many features: in the first of these streams, not in the last."""
    most_children = []
    for features in (11, 9, 6):
        twin = Twin(
            learner="arow",
            policy=policy,
            alpha=1.0 if policy == "cpet" else 0.5,
            arity=2,
            max_leaves=3,
            first_leaves=7,
            replay=1,
            replay_memory=0,
            random_state=features,
            l2=0.0,
        )
        live(twin, random_stream(0, length=30, removals=0.1, features=features))
        most_children.append(max(map(len, twin.tree.children)))
    assert most_children[::2] == ([2, 2] if policy == "cpet" else [7, 3])


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("learner", LEARNERS)
def test_same_from_a_mixed_tree(policy: str, learner: str) -> None:
    """A root with an inner child and two leaves, unlike any that grows, keeps a leaf's theta."""
    for seed, (arity, max_leaves) in enumerate([(2, 2), (4, 4), (6, 8)]):
        start = LabelTree.from_parents([None, 0, 0, 0, 1, 1], {0: 4, 1: 5, 2: 2, 3: 3})
        twin = Twin(
            learner=learner,
            policy=policy,
            alpha=1.0,
            arity=arity,
            max_leaves=max_leaves,
            replay=seed,
            replay_memory=0,
            random_state=seed,
            l2=0.01,
            start=start,
        )
        live(twin, random_stream(seed, length=40, removals=0.4))


def learning_by_the_stream(learner: str, memory: int) -> Twin:
    return Twin(
        learner=learner,
        policy="best-greedy",
        alpha=0.5,
        arity=2,
        max_leaves=4,
        replay="auto",
        replay_memory=memory,
        random_state=1,
        l2=0.01,
    )


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("memory", [0, 4])
def test_same_where_labels_come_in_blocks(learner: str, memory: int) -> None:
    twin = learning_by_the_stream(learner, memory)
    live(twin, in_blocks(random_stream(5, length=100, removals=0.1)))
    assert times_now(twin.replay, twin.gauge, ()) > FULL


@pytest.mark.parametrize("learner", LEARNERS)
def test_same_where_labels_come_in_long_blocks(learner: str) -> None:
    twin = learning_by_the_stream(learner, memory=0)
    live(twin, in_blocks(random_stream(5, length=160, names=3, removals=0.0), 50))
    assert twin.gauge.share(()) < 0.9


@pytest.mark.parametrize("learner", LEARNERS)
def test_same_where_a_label_turns_up_late(learner: str) -> None:
    twin = learning_by_the_stream(learner, memory=0)
    live(twin, with_late_label(random_stream(5, length=160, removals=0.0)))
    assert twin.gauge.late(twin.label_ids[99])


@pytest.mark.parametrize("learner", LEARNERS)
def test_same_in_a_stream_of_single_labels(learner: str) -> None:
    twin = learning_by_the_stream(learner, memory=0)
    stream = random_stream(5, length=100, removals=0.1)
    live(twin, [Learn(e.x, e.names[:1], e.weight) if isinstance(e, Learn) else e for e in stream])
    assert twin.gauge.single()


@pytest.mark.parametrize("learner", LEARNERS)
def test_same_in_a_stream_of_several_labels(learner: str) -> None:
    twin = learning_by_the_stream(learner, memory=0)
    live(twin, random_stream(5, length=100, removals=0.1))
    assert twin.gauge.several()


@pytest.mark.parametrize("learner", LEARNERS)
def test_cpet_weighs_fit_too(learner: str) -> None:
    """With one new label per observation, every queried node is older than it."""
    twin = Twin(
        learner=learner,
        policy="cpet",
        alpha=0.3,
        arity=2,
        max_leaves=2,
        replay=1,
        replay_memory=0,
        random_state=0,
        l2=0.01,
    )
    shown: set[int] = set()
    stream = []
    for event in random_stream(9, length=120, removals=0.0):
        new = [name for name in event.names if name not in shown][:1]
        names = [name for name in event.names if name in shown]
        stream.append(Learn(event.x, (*names, *new)))
        shown.update(new)
    live(twin, stream)
    assert twin.asked > 100


def test_replay_of_everything_reads_no_bound_as_zero() -> None:
    """replay_memory 0 is no bound in the engine, None in the twin."""
    given: dict[str, Any] = {"policy": "complete", "alpha": 1.0, "arity": 2, "max_leaves": 4}
    common: dict[str, Any] = {**given, "learner": "adagrad", "random_state": 1, "l2": 0.0}
    for memory, kept in [(0, 30), (7, 7)]:
        twin = Twin(**common, replay=1, replay_memory=memory)
        live(twin, random_stream(1, length=30, removals=0.0))
        assert len(blocks(twin.engine)[ABOVE_ROOT].memory) == kept


@pytest.mark.parametrize("learner", LEARNERS)
def test_same_probabilities(learner: str) -> None:
    """With features known to all blocks, to some, or to none."""
    given = parameters_of(learner)
    twin = Twin(**given)
    live(twin, random_stream(4, length=70))
    for f in range(14):
        x = instance({f: 1.0, (f * 5) % 12: -0.5, 1000: 0.2})
        indptr, labels, scores, *_ = twin.engine.above_threshold(
            *rows([example(x, [])]), twin.engine.scope(np.zeros(1, np.float32)), 1
        )
        twin_eta = {v: twin.H[v].probability(x) for v in twin.tree.nodes()}
        expected = dict(search.exhaustive(twin.tree, twin_eta.__getitem__))
        assert expected.keys() == set(labels.tolist()) and len(expected) == indptr[1] > 20
        for label, score in zip(labels.tolist(), scores.tolist(), strict=True):
            np.testing.assert_allclose(score, expected[label], rtol=1e-3, atol=1e-6)


def parameters_of(learner: str) -> dict[str, Any]:
    common: dict[str, Any] = {"policy": "complete", "alpha": 1.0, "arity": 2, "max_leaves": 4}
    return {
        **common,
        "learner": learner,
        "replay": 1,
        "replay_memory": 0,
        "random_state": 3,
        "l2": 0.02,
    }
