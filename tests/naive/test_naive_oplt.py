"""OPLT is proper (OPLT, Definition 1): its classifiers are IPLT's on its own tree, bit for bit."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive.iplt import IPLT, NewClassifier, Observation
from naive.label_tree import LabelTree
from naive.learners import AROW, AdaGrad, LazySGD, bits, instance
from naive.oplt import OPLT
from naive.policy import Policy, policy_named
from naive.replay import Replay
from naive.streams import Event, play, random_stream, streams

LEARNERS: dict[str, NewClassifier] = {
    "adagrad": AdaGrad,
    "sgd": lambda: LazySGD(gamma=0.8, lam=0.05),
    "arow": AROW,
}
POLICIES = ["best-greedy", "random", "cpet", "complete"]
SHAPES = [(2, 2), (2, 4), (3, 3), (3, 5), (4, 4)]


def assert_proper(
    model: OPLT,
    new_classifier: NewClassifier,
    observations: Sequence[Observation],
) -> None:
    model.tree.check()
    assert set(model.label_ids.values()) == set(model.tree.live_labels())
    assert {v for v in model.tree.nodes() if model.policy.may_extend(model.tree, v)} == set(
        model.Theta
    )
    twin = IPLT(model.tree, new_classifier, model.replay, theta_nodes=model.Theta)
    twin.train(observations)
    for v in model.tree.nodes():
        assert bits(model.H[v]) == bits(twin.H[v]), f"eta({v})"
    for v in model.Theta:
        assert bits(model.Theta[v]) == bits(twin.Theta[v]), f"theta({v})"
    assert model.memory == twin.memory


def live(
    model: OPLT, new_classifier: NewClassifier, stream: Iterable[Event], every: int = 1
) -> None:
    """Play the stream, holding the model against IPLT after each prefix."""
    observations: list[Observation] = []
    assert_proper(model, new_classifier, observations)
    for t, event in enumerate(stream, start=1):
        observation = play(model, event)
        observations += [observation] if observation else []
        if t % every == 0:
            assert_proper(model, new_classifier, observations)
    assert_proper(model, new_classifier, observations)


policies: st.SearchStrategy[Callable[[], Policy]] = st.builds(
    lambda name, alpha, shape, seed: (
        lambda: policy_named(name, alpha=alpha, b=shape[0], b_max=shape[1], seed=seed)
    ),
    st.sampled_from(POLICIES),
    st.sampled_from([0.0, 0.5, 0.75, 1.0]),
    st.sampled_from(SHAPES),
    st.integers(0, 99),
)
replays = st.builds(
    Replay,
    times=st.integers(0, 2),
    memory=st.sampled_from([None, None, 0, 1, 3]),
    seed=st.integers(0, 99),
)


@settings(max_examples=60, deadline=None)
@given(stream=streams(), learner=st.sampled_from(sorted(LEARNERS)), policy=policies, replay=replays)
def test_proper_after_every_prefix(
    stream: list[Event], learner: str, policy: Callable[[], Policy], replay: Replay
) -> None:
    live(OPLT(LEARNERS[learner], policy(), replay), LEARNERS[learner], stream)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("learner", sorted(LEARNERS))
def test_proper_on_longer_streams(name: str, learner: str) -> None:
    replays = [Replay(times, memory, seed=5) for times, memory in [(0, None), (1, None), (2, 4)]]
    for (b, b_max), replay in itertools.product(SHAPES[:4], replays):
        policy = policy_named(name, b=b, b_max=b_max, seed=b_max)
        stream = random_stream(seed=b_max + replay.times, length=30)
        live(OPLT(LEARNERS[learner], policy, replay), LEARNERS[learner], stream, every=20)


def test_random_streams_reach_every_way_to_place_a_label() -> None:
    steps: Counter[str] = Counter()
    for name in ("best-greedy", "random", "complete"):
        for seed, (b, b_max) in enumerate(SHAPES):
            model = OPLT(AdaGrad, policy_named(name, b=b, b_max=b_max))
            for event in random_stream(seed, length=60):
                play(model, event)
            steps += model.steps
    rare = {step: steps[step] for step in ALL_STEPS if steps[step] < 5}
    assert not rare and set(steps) == ALL_STEPS


ALL_STEPS = {
    "root",
    "variant 1, pre-leaf",
    "variant 1, mixed",
    "variant 2",
    "variant 3",
    "variant 3, silent",
    "take place",
    "remove",
}


@st.composite
def start_trees(draw: st.DrawFn) -> LabelTree:
    """Draw any tree: mixed nodes with several leaves, single children, arities beyond b."""
    nodes = range(1, draw(st.integers(1, 9)))
    parents = [None, *(draw(st.integers(max(0, v - 4), v - 1)) for v in nodes)]
    leaves = [v for v in range(len(parents)) if v not in parents]
    order = draw(st.permutations(leaves))
    return LabelTree.from_parents(parents, dict(enumerate(order)))


@settings(max_examples=60, deadline=None)
@given(
    tree=start_trees(),
    stream=streams(),
    learner=st.sampled_from(sorted(LEARNERS)),
    policy=policies,
    replay=replays,
)
def test_proper_from_any_start_tree(
    tree: LabelTree,
    stream: list[Event],
    learner: str,
    policy: Callable[[], Policy],
    replay: Replay,
) -> None:
    names = range(len(tree.leaf_of))
    model = OPLT(LEARNERS[learner], policy(), replay, start=tree, names=names)
    live(model, LEARNERS[learner], stream)


def mixed_tree() -> LabelTree:
    """Return a root with an internal child and two leaves: no tree grown from nothing has that."""
    return LabelTree.from_parents([None, 0, 0, 0, 1, 1], {0: 4, 1: 5, 2: 2, 3: 3})


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("learner", sorted(LEARNERS))
def test_proper_on_longer_streams_from_a_mixed_tree(name: str, learner: str) -> None:
    for seed, (b, b_max) in enumerate([(2, 2), (2, 4), (4, 4), (6, 8)]):
        policy = policy_named(name, b=b, b_max=b_max, seed=seed)
        replay = Replay(times=seed % 3, memory=[None, 3][seed % 2])
        model = OPLT(LEARNERS[learner], policy, replay, start=mixed_tree(), names=range(4))
        live(model, LEARNERS[learner], random_stream(seed, length=40, removals=0.4), every=5)


def test_theta_of_a_place_that_is_taken_starts_afresh() -> None:
    """Its positives were the dead label's; the new label at that leaf has none yet."""
    policy = policy_named("best-greedy", b=5, b_max=5)
    model = OPLT(AdaGrad, policy, Replay(times=1), start=mixed_tree(), names="abcd")
    a, b = instance({0: 1.0}), instance({1: 1.0})
    observations: list[Observation] = [(a, model.learn(a, "c"))]
    assert bits(model.Theta[2]) != bits(AdaGrad())
    model.remove("c")
    observations.append((b, model.learn(b, "e")))
    assert model.tree.leaf_of[4] == 2
    assert model.memory[2].n == 1  # the new label's own example
    assert_proper(model, AdaGrad, observations)


def test_a_saved_node_that_filled_up_is_left_for_a_child() -> None:
    """The first of two new labels fills the root; the second goes below it."""
    policy = policy_named("complete", b=4, b_max=4)
    model = OPLT(AdaGrad, policy, start=mixed_tree(), names="abcd")
    x = instance({0: 1.0})
    observations: list[Observation] = [(x, model.learn(x, "ef"))]
    assert model.tree.children[0] == [1, 2, 3, 6]
    assert model.tree.path(model.tree.leaf_of[5]) == [8, 2, 0]
    assert_proper(model, AdaGrad, observations)


def test_a_name_that_comes_again_is_a_new_label() -> None:
    model = OPLT(AdaGrad, policy_named("best-greedy"))
    assert model.learn(instance({0: 1.0}), ["a", "b", "a"]) == [0, 1]
    model.remove("a")
    assert model.learn(instance({0: 1.0}), ["b", "a"]) == [1, 2]
    assert model.tree.leaf_of == {1: 2, 2: 1}  # in the place of the old "a"
    assert model.tree.ghosts == {0: 0}


def test_replay_does_not_revive_a_dead_label_at_its_old_place() -> None:
    """What the dead label left in the parent's memory is negative for the label after it."""
    model = OPLT(AdaGrad, policy_named("best-greedy"), Replay(times=1))
    model.learn(instance({0: 1.0}), ["old", "other"])
    model.remove("old")
    model.learn(instance({1: 1.0}), ["new"])
    place = model.tree.leaf_of[model.label_ids["new"]]
    first, second = model.memory[model.tree.root].entries
    assert place not in first.positives and place in second.positives


def test_only_the_root_learns_from_an_observation_without_labels() -> None:
    model = OPLT(AdaGrad, policy_named("best-greedy"))
    model.learn(instance({0: 1.0}), ["a", "b"])
    before = {v: bits(model.H[v]) for v in model.tree.nodes()}
    model.learn(instance({1: 1.0}), [])
    changed = {v for v in model.tree.nodes() if bits(model.H[v]) != before[v]}
    assert changed == {model.tree.root}
    assert model.probability(instance({1: 1.0}), model.tree.root) < 0.5
