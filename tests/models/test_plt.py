"""Specifics of PLTClassifier: trees, weights, losses and ensembles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from contract.kit import checkerboard, label_sets, noise, same_answers, state
from labelgrove import (
    DataError,
    LabelTree,
    OnlinePLTClassifier,
    ParameterError,
    PLTClassifier,
    load,
)
from labelgrove.models.engine._trees import TREES

KINDS = sorted(set(TREES))


@pytest.mark.parametrize("tree", KINDS)
def test_every_tree_can_be_learnt_on(tree: str, tmp_path: Any) -> None:
    X, y = checkerboard()
    clf = PLTClassifier(tree=tree, arity=3, max_leaf_size=4, C=10.0).fit(X, y)
    assert clf.score(X, y) == 1.0
    assert sorted(clf.tree_.labels.values()) == list(range(12))
    sets = PLTClassifier(tree=tree, arity=3, max_leaf_size=4).fit(X, label_sets(y))
    best = sets.predict_topk(X, 2)[0]
    assert [sorted(row) for row in best.tolist()] == [sorted(row) for row in label_sets(y)]
    sets.save(tmp_path / "model.lg")
    assert same_answers(load(tmp_path / "model.lg"), sets, X)


def test_trees_of_no_and_of_one_label() -> None:
    X, _ = checkerboard(1)
    for tree in KINDS:
        nothing = PLTClassifier(tree=tree).fit(X, [[] for _ in X])
        assert nothing.predict_topk(X, 3)[0].tolist() == [[None] * 3] * len(X)
        one = PLTClassifier(tree=tree).fit(X, [["a"] if i % 2 else [] for i in range(len(X))])
        assert one.predict_topk(X, 1)[0].tolist() == [["a"]] * len(X)


def test_one_versus_rest_is_flat() -> None:
    X, y = checkerboard(2)
    flat = PLTClassifier(tree="flat").fit(X, y)
    assert flat.tree_.depth == 1
    given = LabelTree([-1] + [0] * 12, {v + 1: v for v in range(12)})
    assert same_answers(PLTClassifier(tree=given).fit(X, y), flat, X)


def test_a_tree_must_have_the_labels() -> None:
    X, Y = noise()
    with pytest.raises(DataError, match="is not in the tree"):
        PLTClassifier(tree=LabelTree([-1, 0, 0], ["l0", "l1"])).fit(X, Y)
    with pytest.raises(DataError, match="label 18 is not in the tree"):
        PLTClassifier(tree=LabelTree([-1, 0, 0], [1, 2])).fit([[1, 0], [0, 1]], [1, 18])
    more = LabelTree([-1, 0, 0, 0], ["a", "b", "never"])
    clf = PLTClassifier(tree=more).fit([[1, 0], [0, 1]] * 9, ["a", "b"] * 9)
    assert clf.predict_topk([[1, 0]], 3)[0].tolist() == [["a", "b", "never"]]


def test_several_trees_need_something_to_differ_in() -> None:
    X, y = checkerboard(1)
    for tree in ("flat", "huffman", "complete", LabelTree([-1], ["a"])):
        with pytest.raises(ParameterError, match="n_trees"):
            PLTClassifier(tree=tree, n_trees=2).fit(X, y)


KINDS_OF_NODES: list[dict[str, Any]] = [{}, {"loss": "log"}, {"link": "softmax"}]


@pytest.mark.parametrize("parameters", KINDS_OF_NODES)
@pytest.mark.parametrize("unit", [2.0**-20, 2.0**12])
def test_the_unit_of_rows_that_are_not_normalized_is_as_good_as_any(
    parameters: dict[str, Any], unit: float
) -> None:
    X, y = checkerboard(20)
    X = X.astype(np.float32) * np.random.default_rng(0).uniform(0.5, 2.0, (len(X), 1))
    weight = np.arange(len(y)) % 5
    plain = PLTClassifier(normalize=False, max_leaf_size=4, **parameters)
    other = clone(plain).fit(unit * X, y, sample_weight=weight)
    plain.fit(X, y, sample_weight=weight)
    assert plain.score(X, y) == 1.0
    assert np.array_equal(other.predict_proba(unit * X), plain.predict_proba(X))
    small = other.compact(dtype="int8")  # float16 cannot hold weights in any unit
    assert small.score(unit * X, y) == 1.0


@pytest.mark.parametrize("parameters", KINDS_OF_NODES)
def test_a_few_enormous_rows_do_not_keep_the_others_from_being_learnt(
    parameters: dict[str, Any],
) -> None:
    X, y = checkerboard(20)
    X = np.vstack([X, 1e8 * X[:3]])
    y = np.append(y, y[:3])
    clf = PLTClassifier(normalize=False, **parameters).fit(X, y)
    assert clf.score(X, y) == 1.0


def test_rows_of_unit_length_are_as_they_are_if_not_normalized() -> None:
    X, y = np.eye(6, dtype=np.float32)[np.arange(180) % 6], np.arange(180) % 6
    made, same = (
        PLTClassifier(normalize=flag).fit(X, y)._learned.engine.save(False)
        for flag in (True, False)
    )
    assert all(np.array_equal(made[name], same[name]) for name in made)


@pytest.mark.parametrize("length", [1e-40, 1e-12, 1e9])
def test_rows_of_any_length_give_a_file_that_can_be_read(length: float, tmp_path: Path) -> None:
    X, y = checkerboard(4)
    X = np.abs(X.astype(np.float64)) * length / np.abs(X).max()
    clf = PLTClassifier(normalize=False, C=1e6).fit(X, y)
    clf.save(tmp_path / "model.lg")
    assert same_answers(load(tmp_path / "model.lg"), clf, X)


def test_dear_labels_are_missed_less() -> None:
    X, Y = noise(n=300)
    plain = PLTClassifier(tree="flat").fit(X, Y)
    dear = PLTClassifier(tree="flat", class_weight={"l9": 20.0}).fit(X, Y)
    of_l9 = plain.classes_.tolist().index("l9")

    def proba(clf: PLTClassifier) -> Any:
        return clf.predict_proba(X).toarray()

    assert proba(dear)[:, of_l9].mean() > 1.5 * proba(plain)[:, of_l9].mean()
    for other in ("balanced", "propensity"):
        weighted = PLTClassifier(tree="flat", class_weight=other).fit(X, Y)
        rare = int(np.argmin(plain.label_counts_))
        assert proba(weighted)[:, rare].sum() != proba(plain)[:, rare].sum()
    with pytest.raises(DataError, match="class_weight: 'nobody' is not a label of y"):
        PLTClassifier(class_weight={"nobody": 2.0}).fit(X, Y)
    with pytest.raises(DataError, match="class_weight: label 0 of the list: label 9 is an integer"):
        PLTClassifier(class_weight={9: 20.0}).fit(X, Y)
    costs = {label: 20.0 if label == "l9" else 1.0 for label in plain.classes_} | {"nobody": 500.0}
    of_all = PLTClassifier(tree="flat", class_weight=costs).fit(X, Y)
    assert np.array_equal(proba(of_all), proba(dear))
    for wrong in (1j, np.complex64(2), True, 0, 1e6, float("nan"), 10**400):
        with pytest.raises(ParameterError, match="expected a number above 0 and below 1e6"):
            PLTClassifier(class_weight={"l9": wrong}).fit(X, Y)


def test_examples_weigh_what_they_are_said_to() -> None:
    X, y = checkerboard(3)
    exact: dict[str, Any] = {"tree": "flat", "tol": 1e-4, "max_iter": 5000}
    twice = PLTClassifier(**exact).fit(np.vstack([X, X[:12]]), np.append(y, y[:12]))
    weight = np.where(np.arange(len(X)) < 12, 2.0, 1.0)
    weighed = PLTClassifier(**exact).fit(X, y, sample_weight=weight)
    assert weighed.predict_topk(X, 3)[1] == pytest.approx(twice.predict_topk(X, 3)[1], abs=1e-3)
    weight[y == 3] = 0.0
    gone = PLTClassifier(**exact).fit(X, y, sample_weight=weight)
    assert (gone.predict(X[y != 3]) == y[y != 3]).all()


@pytest.mark.parametrize("parameters", [{}, {"loss": "log"}, {"link": "softmax"}])
def test_costs_beyond_floats_are_those_that_fit(parameters: dict[str, Any]) -> None:
    X, y = checkerboard(2)
    clf = PLTClassifier(C=1e6, class_weight={y[0]: 9e5}, **parameters)
    large, largest = (
        clf.fit(X, y, sample_weight=np.full(len(y), weight)).predict_topk(X, 3)
        for weight in (1e20, 3e38)
    )
    assert np.array_equal(large[1], largest[1], equal_nan=True)
    assert (large[0][:, 0] == y).all()


def test_passes_of_adagrad_go_as_far_as_examples_weigh() -> None:
    X, y = checkerboard(3)
    X, y = np.vstack([X, X]), np.append(y, np.roll(y, 1))  # every row has two answers
    for shift, whose in ((0, y[: len(y) // 2]), (len(y) // 2, y[len(y) // 2 :])):
        weight = np.full(len(y), 0.1)
        weight[shift : shift + len(whose)] = 3.0
        clf = PLTClassifier(solver="adagrad", max_iter=20).fit(X, y, sample_weight=weight)
        assert (clf.predict(X[: len(whose)]) == whose).all()


@pytest.mark.parametrize("options", [{"solver": "adagrad"}, {"online_ready": True}])
def test_what_is_learnt_online_cannot_weigh_more_than_a_million(options: dict[str, Any]) -> None:
    X, y = checkerboard(1)
    weight = np.ones(len(y))
    weight[2] = 2e6
    with pytest.raises(DataError, match="row 2: found 2e"):
        PLTClassifier(**options).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize(
    ("weighted", "plain"),
    [
        (PLTClassifier(C=1.0), PLTClassifier(C=4.0)),
        (OnlinePLTClassifier(r=1.0), OnlinePLTClassifier(r=0.25)),
    ],
    ids=["batch", "online"],
)
def test_a_factor_of_all_weights_is_one_of_c_or_of_its_inverse_r(weighted: Any, plain: Any) -> None:
    X, Y = noise(n=300)
    scores = plain.fit(X, Y).predict_topk(X, k=3)[1]
    same = weighted.fit(X, Y, np.full(300, 4.0)).predict_topk(X, k=3)[1]
    assert np.array_equal(same, scores)
    assert not np.array_equal(weighted.fit(X, Y).predict_topk(X, k=3)[1], scores)


def test_what_is_prepared_has_been_learnt_with_its_weights() -> None:
    X, y = checkerboard(3)
    weight = np.where(np.arange(len(y)) % 2, 1.0, 0.0)
    clf = PLTClassifier(online_ready=True, tree="complete").fit(X, y, sample_weight=weight)
    remembered = [clf._learned.engine.online.size()["memory_bytes"]]
    clf = PLTClassifier(online_ready=True, tree="complete").fit(X, y)
    remembered.append(clf._learned.engine.online.size()["memory_bytes"])
    assert 0 < remembered[0] < remembered[1]  # what has weight 0 is not relearnt


def test_iplt_has_no_costs_of_labels() -> None:
    X, y = checkerboard(1)
    with pytest.raises(ParameterError, match="class_weight"):
        PLTClassifier(solver="adagrad", class_weight="balanced").fit(X, y)
    with pytest.raises(ParameterError, match="loss"):
        PLTClassifier(solver="adagrad", loss="squared_hinge").fit(X, y)


def test_only_classes_compete() -> None:
    X, Y = noise()
    with pytest.raises(DataError, match="softmax"):
        PLTClassifier(link="softmax").fit(X, Y)
    with pytest.raises(DataError, match="y is a 0/1 matrix; expected one label per row"):
        PLTClassifier(link="softmax").fit(np.eye(2), np.array([[1, 0], [1, 1]]))
    with pytest.raises(ParameterError, match="loss"):
        PLTClassifier(link="softmax", loss="squared_hinge").fit(X, [0] * len(Y))


def test_collections_of_one_label_are_classes_that_compete() -> None:
    X, y = checkerboard()
    clf = PLTClassifier(link="softmax")
    expected = state(clone(clf).fit(X, y))
    rows = [(label,) for label in y.tolist()]
    clf.fit(X, rows)
    assert state(clf) == expected
    assert clf.score(X, rows) == clf.score(X, y)
    assert clf.compact(X=X, y=rows, threshold=0.01).compaction_ is not None


def test_a_cubic_hinge_ranks_the_same_weights(tmp_path: Path) -> None:
    X, Y = noise()
    shape: dict[str, Any] = {"arity": 3, "max_leaf_size": 4}
    cubic = PLTClassifier(link="cubic_hinge", **shape).fit(X, Y)
    squared = PLTClassifier(**shape).fit(X, Y)
    assert cubic.size()["weights"] == squared.size()["weights"]
    assert (cubic.predict_proba(X) != squared.predict_proba(X)).nnz > 0
    cubic.save(tmp_path / "cubic.lg")
    again = load(tmp_path / "cubic.lg")
    assert (again.predict_proba(X) != cubic.predict_proba(X)).nnz == 0
    online = OnlinePLTClassifier.from_batch(cubic)
    assert online.learner == "arow"
    for wrong in ({"loss": "log"}, {"solver": "adagrad"}):
        with pytest.raises(ParameterError, match="cubic_hinge"):
            PLTClassifier(link="cubic_hinge", **wrong).fit(X, Y)


def test_few_weights_are_kept() -> None:
    X, Y = noise(n=200)
    sizes = [PLTClassifier(weight_threshold=w).fit(X, Y).size()["weights"] for w in (0, 0.1, 0.5)]
    assert sizes[0] > sizes[1] > sizes[2] > 0


def embeddings(n: int, classes: int, d: int, noise: float) -> tuple[Any, Any]:
    """Rows of unit length in which every column says a little."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % classes
    X = rng.normal(size=(classes, d))[y] + noise * rng.normal(size=(n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def test_small_weights_of_dense_rows_are_kept() -> None:
    X, y = embeddings(n=400, classes=100, d=2000, noise=4.0)
    clfs = [PLTClassifier(weight_threshold=w).fit(X[:200], y[:200]) for w in (0, 0.1, 0.11)]
    everything, usual, dropping = (clf.score(X[200:], y[200:]) for clf in clfs)
    assert everything > 0.7
    assert usual > everything - 0.05
    assert dropping < 0.3  # a larger threshold drops whatever is smaller
    assert clfs[0].size()["weights"] > 1.5 * clfs[1].size()["weights"]


def test_nodes_of_two_sparse_examples_are_not_dense() -> None:
    rng = np.random.default_rng(0)
    X = np.zeros((40, 20_000), np.float32)
    np.put_along_axis(X, rng.integers(0, 20_000, (40, 300)), 1, axis=1)
    narrow: dict[str, Any] = {"arity": 2, "max_leaf_size": 2}
    usual, dropping = (
        PLTClassifier(weight_threshold=w, **narrow).fit(X, np.arange(40)) for w in (0.1, 0.1001)
    )
    assert usual.size()["weights"] < 1.1 * dropping.size()["weights"]


def weights_of(X: Any, y: Any, label: int, threshold: float) -> Any:
    """The label's weights in a flat tree."""
    clf = PLTClassifier(tree="flat", normalize=False, weight_threshold=threshold).fit(X, y)
    [explained] = clf.explain(np.ones((1, X.shape[1])), label, top=X.shape[1]).labels
    return np.array([c.weight for c in explained.path[-1].contributions])


def test_no_more_small_weights_are_kept_than_needed() -> None:
    X, y = embeddings(n=400, classes=40, d=1000, noise=3.0)
    everything, kept = (weights_of(X, y, 7, w) for w in (0.0, 0.1))
    assert len(kept) > np.count_nonzero(abs(kept) >= 0.1) > 0
    squares = np.sort(everything**2)[::-1]
    assert squares[: len(kept)].sum() >= 0.95 * squares.sum() > squares[: len(kept) - 1].sum()
    assert sorted(kept**2, reverse=True) == pytest.approx(squares[: len(kept)].tolist())


def test_a_failed_fit_changes_nothing() -> None:
    X, y = checkerboard(2)
    clf = PLTClassifier().fit(X, y)
    before = state(clf)
    with pytest.raises(DataError):
        clf.fit(X, y[:-1])
    with pytest.raises(ParameterError):
        clf.set_params(C=-1.0).fit(X, y)
    assert state(clf) == before
