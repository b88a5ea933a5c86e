"""IPLT against the definition: every node is a binary problem of its own (OPLT, Eq. 1 and 2)."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from naive.iplt import IPLT, SUPER_ROOT, assign_to_nodes
from naive.label_tree import LabelTree
from naive.learners import AROW, AdaGrad, Evidence, Instance, bits
from naive.replay import NodeMemory, Replay
from naive.streams import instances

#        0
#      / | \
#     1  2  3          leaf 2: label 3; a ghost, label 4, haunts node 1
#    /|     |\
#   4 5     6 7        labels 0 1 and 2 5
TREE = LabelTree.from_parents([None, 0, 0, 0, 1, 1, 3, 3], {0: 4, 1: 5, 2: 6, 3: 2, 5: 7})
TREE.ghosts = {4: 1}
BELOW = {0: {0, 1, 2, 3, 4, 5}, 1: {0, 1, 4}, 2: {3}, 3: {2, 5}, 4: {0}, 5: {1}, 6: {2}, 7: {5}}

label_sets = st.sets(st.integers(0, 5))


@given(label_sets)
def test_assignment_is_equation_1(labels: set[int]) -> None:
    P, N = assign_to_nodes(TREE, sorted(labels))
    assert {v for v in TREE.nodes() if BELOW[v] & labels} == P
    assert {v for v in TREE.nodes() if v == 0 or TREE.parent[v] in P} == P | N
    assert not P & N


def test_assignment_of_no_labels_is_the_root_alone() -> None:
    assert assign_to_nodes(TREE, []) == (set(), {0})
    assert assign_to_nodes(LabelTree(), []) == (set(), {0})


@settings(max_examples=60, deadline=None)
@given(
    stream=st.lists(st.tuples(instances(), label_sets), max_size=10),
    times=st.integers(0, 2),
    memory=st.sampled_from([None, 2]),
)
def test_nodes_are_independent_problems(
    stream: list[tuple[Instance, set[int]]], times: int, memory: int | None
) -> None:
    """Learn each node separately from the examples positive at its parent, with replay."""
    replay = Replay(times, memory, seed=3)
    model = IPLT(TREE, AROW, replay, theta_nodes=TREE.nodes())
    model.train(stream)
    for v in TREE.nodes():
        parent = TREE.parent[v]
        alone, remembered = AROW(), NodeMemory(replay)
        for x, labels in stream:
            if parent is not None and not BELOW[parent] & labels:
                continue
            examples = [(x, bool(BELOW[v] & labels))]
            remembered.add(x, frozenset({v}) if examples[0][1] else frozenset())
            examples += [(entry.x, v in entry.positives) for entry in remembered.drawn()]
            for i, (again, positive) in enumerate(examples):
                evidence = Evidence.AGAIN if i else Evidence.FULL
                alone.update(again, 1 if positive else -1, evidence=evidence)
        assert bits(model.H[v]) == bits(alone)


def test_theta_learns_a_positive_from_each_positive_example() -> None:
    model = IPLT(TREE, AdaGrad, theta_nodes=[1])
    a, b, c = {0: 1.0}, {1: 1.0}, {2: 1.0}
    model.train([(a, {0}), (b, {2}), (c, {4})])
    expected = AdaGrad()
    expected.update(a, +1)
    expected.update(c, +1)
    assert bits(model.Theta[1]) == bits(expected)


def test_the_super_root_remembers_every_example() -> None:
    model = IPLT(TREE, AdaGrad)
    model.train([({0: 1.0}, set()), ({1: 1.0}, {3})])
    assert [set(entry.positives) for entry in model.memory[SUPER_ROOT].entries] == [set(), {0}]
    assert [set(entry.positives) for entry in model.memory[0].entries] == [{2}]
    assert 2 not in model.memory  # a leaf without theta


def test_a_tree_of_one_level_is_one_versus_rest() -> None:
    """Given the root, each label is learnt against all others."""
    tree = LabelTree.from_parents([None, 0, 0, 0], {0: 1, 1: 2, 2: 3})
    model = IPLT(tree, AdaGrad)
    stream: list[tuple[Instance, set[int]]] = [({0: 1.0}, {0}), ({1: 1.0}, {1, 2}), ({0: 0.5}, {2})]
    model.train(stream)
    for label in range(3):
        alone = AdaGrad()
        for x, labels in stream:
            alone.update(x, 1 if label in labels else -1)
        assert bits(model.H[tree.leaf_of[label]]) == bits(alone)
