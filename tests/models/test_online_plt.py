"""Specifics of OnlinePLTClassifier: presets, policies, trees, memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from contract.kit import checkerboard, noise, same_answers, state
from labelgrove import DataError, LabelTree, OnlinePLTClassifier, ParameterError, load

POLICIES = ["best-greedy", "random", "cpet", "complete"]


def children(tree: LabelTree) -> list[list[int]]:
    return [tree.children(v) for v in range(tree.n_nodes)]


def is_pre_leaf(tree: LabelTree, v: int) -> bool:
    return bool(tree.children(v)) and not any(tree.children(c) for c in tree.children(v))


def many_labels(n: int = 300) -> tuple[sp.csr_array, list[list[int]]]:
    X, _ = noise(n=n)
    return X, [sorted({t // 2, t % 7}) for t in range(n)]


def test_the_presets() -> None:
    X, Y = noise()
    paper: dict[str, Any] = {
        "learner": "adagrad",
        "arity": 2,
        "max_leaves": 100,
        "replay": 0,
        "replay_memory": 0,
        "learning_rate": 1.0,
        "epsilon": 0.01,
        "alpha": 0.75,
        "policy": "best-greedy",
        "second_stage": None,
    }
    by_hand = OnlinePLTClassifier(**paper).fit(X, Y)
    assert state(OnlinePLTClassifier(preset="paper").fit(X, Y)) == state(by_hand)
    assert state(OnlinePLTClassifier().fit(X, Y)) != state(by_hand)
    changed = OnlinePLTClassifier(preset="paper", replay=1).fit(X, Y)
    assert state(changed) == state(OnlinePLTClassifier(**{**paper, "replay": 1}).fit(X, Y))


def test_it_is_what_it_would_be_had_the_tree_been_known() -> None:
    """OPLT is proper: IPLT on its tree gives the same answers, bit for bit."""
    X, Y = many_labels()
    shape: dict[str, Any] = {"arity": 3, "max_leaves": 5}
    shape["second_stage"] = None  # what the two would predict on the way differs
    grown = OnlinePLTClassifier(replay=2, **shape).fit(X, Y)
    given = OnlinePLTClassifier(replay=2, policy="fixed", tree=grown.tree_, **shape).fit(X, Y)
    assert given.tree_.parents.tolist() == grown.tree_.parents.tolist()
    assert given.tree_.labels == grown.tree_.labels
    assert sorted(given.classes_) == sorted(grown.classes_)
    mine = grown.predict_proba(X, threshold=0.0).toarray()
    theirs = given.predict_proba(X, threshold=0.0).toarray()
    order = [given.classes_.tolist().index(name) for name in grown.classes_]
    assert np.array_equal(mine, theirs[:, order])


@pytest.mark.parametrize(("arity", "max_leaves"), [(2, 10), (5, 40)])
def test_arities_are_kept(arity: int, max_leaves: int) -> None:
    X, Y = many_labels()
    tree = OnlinePLTClassifier(arity=arity, max_leaves=max_leaves).fit(X, Y).tree_
    for v, below in enumerate(children(tree)):
        most = max_leaves if is_pre_leaf(tree, v) else arity
        assert not below or 2 <= len(below) <= most
    assert max(map(len, children(tree))) > arity


def test_cpet_grows_a_binary_tree() -> None:
    X, Y = many_labels()
    tree = OnlinePLTClassifier(policy="cpet", arity=4, max_leaves=50).fit(X, Y).tree_
    assert {len(below) for below in children(tree)} == {0, 2}


def test_complete_and_balance_alone_keep_the_tree_balanced() -> None:
    X, _ = noise(n=64)
    for kind in ({"policy": "complete"}, {"policy": "best-greedy", "alpha": 1.0}):
        clf = OnlinePLTClassifier(arity=2, max_leaves=2, **kind).fit(X, np.arange(64))
        assert clf.tree_.depth == 6


def test_fit_alone_follows_the_examples() -> None:
    """With alpha 0 a new label goes where its example fits best."""
    X, y = checkerboard(6)
    clf = OnlinePLTClassifier(alpha=0.0, arity=2, max_leaves=4)
    clf.fit(np.vstack([X, X[:1]]), np.append(y, 99))
    path: dict[int, set[int]] = {}
    for leaf, name in clf.tree_.labels.items():
        path[name] = set()
        while leaf >= 0:
            path[name].add(int(leaf))
            leaf = clf.tree_.parents[leaf]
    shared = {name: len(path[99] & path[name]) for name in range(12)}
    assert shared[0] == max(shared.values())


def test_one_level_is_one_versus_rest() -> None:
    """A label's classifier is independent of how the others are distinguished."""
    X, Y = noise()
    names = {"l0": "a", "l1": "b", "l2": "c"}
    Y = [[names[name] for name in row if name in names] for row in Y]
    merged = [["b" if name == "c" else name for name in row] for row in Y]
    three = OnlinePLTClassifier(tree=LabelTree.flat(["a", "b", "c"]), policy="fixed").fit(X, Y)
    two = OnlinePLTClassifier(tree=LabelTree.flat(["a", "b"]), policy="fixed").fit(X, merged)
    scores = [clf.predict_proba(X, threshold=0.0)[:, [0]].toarray() for clf in (three, two)]
    assert np.array_equal(*scores) and three.tree_.depth == 1


@pytest.mark.parametrize(
    ("differ", "parameters"),
    [
        (False, {}),
        (False, {"policy": "cpet", "arity": 2}),
        (True, {"policy": "random"}),
        (True, {"policy": "best-greedy"}),
        (True, {"replay": 1}),
        (True, {"warm_start_size": 0.5}),
    ],
)
def test_several_trees_need_something_to_differ_in(
    differ: bool, parameters: dict[str, Any]
) -> None:
    X, y = checkerboard(1)
    trees = OnlinePLTClassifier(**{"policy": "complete", "replay": 0} | parameters, n_trees=2)
    if differ:
        assert trees.fit(X, y).examples_seen_ == len(y)
        return
    with pytest.raises(ParameterError, match="n_trees=2: these trees would all be identical"):
        trees.fit(X, y)


def test_a_wrong_way_to_tune_while_learning_is_refused_with_both_right_ones() -> None:
    with pytest.raises(ParameterError, match="thresholds='of': expected None or 'ofo'"):
        OnlinePLTClassifier(thresholds="of").fit(np.eye(2), [["a"], ["b"]])


def test_a_fixed_tree_takes_no_other_labels() -> None:
    X, y = checkerboard(2)
    tree = LabelTree([-1, 0, 0, 1, 1], {2: 2, 3: 0, 4: 1})
    clf = OnlinePLTClassifier(tree=tree, policy="fixed").fit(X[y < 3], y[y < 3])
    assert clf.classes_.tolist() == [0, 1, 2]
    before = state(clf)
    with pytest.raises(DataError, match="label 3 is not in the tree"):
        clf.partial_fit(X, y)
    assert state(clf) == before
    assert clf.tree_.labels == tree.labels and clf.tree_.parents.tolist() == [-1, 0, 0, 1, 1]
    with pytest.raises(ParameterError, match="needs a tree"):
        OnlinePLTClassifier(policy="fixed").fit(X, y)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_tree_to_start_from_may_grow(policy: str) -> None:
    X, y = checkerboard(3)
    tree = LabelTree([-1, 0, 0, 0, 1, 1], {2: 100, 3: 101, 4: 102, 5: 103})
    clf = OnlinePLTClassifier(tree=tree, policy=policy, arity=2, max_leaves=3)
    for _ in range(10):
        clf.partial_fit(X, y)
    assert clf.classes_.tolist() == [*range(12), 100, 101, 102, 103]
    assert clf.label_counts_.tolist() == [30] * 12 + [0] * 4
    assert sorted(clf.tree_.labels.values()) == sorted(clf.classes_)
    assert tree.n_labels == 4  # the one that was given stays as it is
    assert clf.score(X, y) > 0.9


def test_labels_of_the_tree_and_of_the_targets_are_of_one_type() -> None:
    X, y = checkerboard(1)
    with pytest.raises(DataError, match="other type"):
        OnlinePLTClassifier(tree=LabelTree.flat(["a", "b"])).fit(X, y)
    only = OnlinePLTClassifier(tree=LabelTree([-1], {0: "alone"}), policy="fixed")
    assert only.fit(X, [["alone"]] * 12).predict_topk(X, 1)[0].tolist() == [["alone"]] * 12
    none = OnlinePLTClassifier(tree=LabelTree([-1], {}))
    assert none.fit(X, y).classes_.tolist() == list(range(12))


def test_parameters_of_the_learners_have_an_effect() -> None:
    X, Y = noise()
    effects = {
        "arow": {"r": 3.0},
        "adagrad": {"learning_rate": 0.3, "epsilon": 1.0},
        "sgd": {"learning_rate": 0.3, "l2": 0.1},
    }
    for learner, parameters in effects.items():
        plain = OnlinePLTClassifier(learner=learner).fit(X, Y)
        for name, value in parameters.items():
            changed = OnlinePLTClassifier(learner=learner, **{name: value}).fit(X, Y)
            assert not same_answers(plain, changed, X), (learner, name)


def test_replay_keeps_what_came_early() -> None:
    """Classes that arrive one after another: the first are not forgotten."""
    X, y = checkerboard(40)
    order = np.argsort(y, kind="stable")
    right = {}
    for replay in (0, 2):
        clf = OnlinePLTClassifier(preset="paper", max_leaves=4, replay=replay)
        clf.fit(X[order], y[order])
        right[replay] = clf.predict_topk(X[y < 4], 1)[1].mean()
    assert right[2] > right[0]


def test_a_bounded_memory_is_bounded() -> None:
    X, Y = many_labels(400)
    sizes = {}
    for memory in (0, 10, 50):
        clf = OnlinePLTClassifier(replay=1, replay_memory=memory, arity=2, max_leaves=5)
        sizes[memory] = clf.fit(X, Y).size()["memory_bytes"]
    assert sizes[10] < sizes[50] < sizes[0]
    assert OnlinePLTClassifier(replay=0).fit(X, Y).size()["memory_bytes"] < sizes[10]


def test_weights_are_counted() -> None:
    """One inner node over two leaves, its auxiliary classifier, and the root's own classifier."""
    X = sp.csr_array(np.eye(3, dtype=np.float32))
    clf = OnlinePLTClassifier().fit(X, ["a", "b", "a"])
    assert clf.size()["weights"] == (3 + 1) * 3 + (3 + 1) * 1
    assert clf.size()["model_bytes"] > 0


def test_without_scaling_values_have_a_bound() -> None:
    X, y = checkerboard(1)
    clf = OnlinePLTClassifier(normalize=False).fit(X, y)
    before = state(clf)
    for form in (np.asarray, sp.csr_array):
        large = X.copy()
        large[3, 5] = 1e30
        for use in (clf.predict, lambda rows: clf.partial_fit(rows, y)):
            with pytest.raises(DataError, match="row 3, column 5.*normalize=False"):
                use(form(large))
    assert state(clf) == before
    longer = OnlinePLTClassifier(normalize=False).fit(2 * X, y)
    assert not same_answers(clf, longer, X)
    assert same_answers(OnlinePLTClassifier().fit(2 * X, y), OnlinePLTClassifier().fit(X, y), X)


@pytest.mark.parametrize("learner", ["arow", "adagrad", "sgd"])
def test_extreme_but_allowed_values_never_make_a_weight_that_is_no_number(learner: str) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 60)
    X = rng.normal(size=(60, 5)) * 10.0 ** rng.integers(-40, 38, (60, 1))
    for parameters in ({}, {"learning_rate": 1e-20, "epsilon": 1e-20, "r": 1e-20}):
        clf = OnlinePLTClassifier(learner=learner, **parameters)
        for _ in range(20):
            clf.partial_fit(X, y)
        assert np.isfinite(clf.predict_proba(X, threshold=0.0).data).all()
        saved = state(clf)["_learned"][1]
        for name in ("weights.value", "weights.state"):
            if name in saved:
                assert np.isfinite(np.frombuffer(saved[name][2], np.float32)).all()
            if f"{name}16" in saved:  # the upper halves of floats, whose exponents are not all ones
                bits = np.frombuffer(saved[f"{name}16"][2], np.uint16)
                assert ((bits & 0x7F80) < 0x7F80).all()
    if learner != "arow":
        return
    large = OnlinePLTClassifier(normalize=False, learner=learner)
    bounded = np.clip(X, -1e6, 1e6)
    for _ in range(20):
        large.partial_fit(bounded, y)
    assert np.isfinite(large.predict_proba(bounded, threshold=0.0).data).all()


@pytest.mark.parametrize("kind", [{"policy": "random", "replay": 0}, {"replay": 1}])
def test_another_seed_makes_other_choices(kind: dict[str, Any]) -> None:
    X, Y = many_labels()
    one, other = (
        OnlinePLTClassifier(arity=2, max_leaves=4, random_state=seed, **kind).fit(X, Y)
        for seed in (1, 2**64 - 1)
    )
    assert not same_answers(one, other, X)


def test_thresholds_tuned_while_learning_are_a_half_at_most_and_may_be_removed(
    tmp_path: Path,
) -> None:
    clf = OnlinePLTClassifier(thresholds="ofo", ofo_a=3, ofo_b=4)
    clf.partial_fit(np.eye(2), [["cat"], ["cat"]], classes=["cat", "dog"])
    assert clf.thresholds_[1] == 0.5
    clf.save(tmp_path / "small.lg", for_prediction=True)
    for small in (load(tmp_path / "small.lg"), clf.compact()):
        assert small.thresholds_.tolist() == clf.thresholds_.tolist()
        assert not hasattr(small.set_thresholds(None), "thresholds_")


def test_columns_of_the_matrix_learnt_may_be_listed() -> None:
    X, Y = np.eye(3), np.array([[0, 1, 1], [1, 0, 0], [0, 0, 0]])
    listed, given = [[2, 1], [0], []], OnlinePLTClassifier().fit(X, Y)
    clf = OnlinePLTClassifier().fit(X, Y).partial_fit(X, listed)
    assert clf.fingerprint() == given.partial_fit(X, Y).fingerprint()
    for label in (3, -1):
        with pytest.raises(DataError, match=f"row 1: found the label {label}; expected a column"):
            clf.partial_fit(X, [[2], [label], []])
    with pytest.raises(DataError, match="multilabel targets, but the model has learnt indicator"):
        clf.partial_fit(X, [["a"], [], []])
    with pytest.raises(DataError, match="indicator targets, but the model has learnt multilabel"):
        OnlinePLTClassifier().fit(X, listed).partial_fit(X, Y)
    with pytest.raises(DataError, match="multilabel targets, but the model has learnt multiclass"):
        OnlinePLTClassifier().fit(X, [2, 1, 0]).partial_fit(X, listed)
