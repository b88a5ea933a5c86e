"""Online trees that start from a sample's tree or from a batch model."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from scipy.sparse import vstack
from sklearn.base import clone

from contract.kit import checkerboard, noise, same_answers, state
from labelgrove import (
    EmbeddingClassifier,
    LabelTree,
    OnlinePLTClassifier,
    ParameterError,
    PLTClassifier,
    TextClassifier,
    load,
)
from labelgrove.models.engine._trees import TreePlan
from labelgrove.persistence import read_model

SMALL: dict[str, Any] = {"arity": 3, "max_leaves": 4}


def test_a_whole_sample_and_no_new_label_is_iplt_on_its_tree() -> None:
    X, Y = noise(n=120)
    warm = OnlinePLTClassifier(warm_start_size=1.0, **SMALL).fit(X, Y)
    kmeans = PLTClassifier(arity=3, max_leaf_size=4).fit(X, Y).tree_
    assert warm.tree_ == kmeans
    iplt = OnlinePLTClassifier(tree=kmeans, policy="fixed", **SMALL).fit(X, Y)
    order = [warm.classes_.tolist().index(name) for name in iplt.classes_.tolist()]
    assert np.array_equal(
        warm.predict_proba(X).toarray()[:, order], iplt.predict_proba(X).toarray()
    )
    counted = OnlinePLTClassifier(warm_start_size=len(Y), **SMALL).fit(X, Y)
    assert state(counted) == state(warm)


def test_labels_after_the_sample_extend_its_tree() -> None:
    X, Y = noise(n=200)
    warm = OnlinePLTClassifier(warm_start_size=0.1, **SMALL).fit(X, Y)
    assert sorted(warm.classes_) == sorted({name for row in Y for name in row})
    assert warm.examples_seen_ == 200
    first = OnlinePLTClassifier(warm_start_size=20, **SMALL).fit(X, Y)
    assert state(first) == state(warm)
    nothing = OnlinePLTClassifier(warm_start_size=1).fit(X[:3], [[], ["a"], ["b"]])
    assert nothing.classes_.tolist() == ["a", "b"]


@pytest.mark.parametrize("size", [1.0, 0.5, 40])
def test_the_sample_has_no_examples_that_are_ignored(size: float) -> None:
    X, Y = noise(n=120)
    weights = np.arange(120) % 3 > 0
    kept = np.flatnonzero(weights)
    others = [Y[i] if weights[i] else [f"ignored {i}"] for i in range(120)]
    warm = OnlinePLTClassifier(warm_start_size=size, **SMALL).fit(X, others, sample_weight=weights)
    alone = OnlinePLTClassifier(warm_start_size=size, **SMALL).fit(X[kept], [Y[i] for i in kept])
    assert warm.tree_ == alone.tree_
    assert np.array_equal(warm.predict_topk(X, 9)[1], alone.predict_topk(X, 9)[1], equal_nan=True)


@pytest.mark.parametrize("size", [0, -1, 1.5, 0.0, "all", True, np.nan])
def test_a_sample_has_a_size(size: Any) -> None:
    X, Y = noise()
    with pytest.raises(ParameterError, match="warm_start_size"):
        OnlinePLTClassifier(warm_start_size=size).fit(X, Y)
    with pytest.raises(ParameterError, match="warm_start_size"):
        OnlinePLTClassifier(warm_start_size=0.5, tree=LabelTree([-1], ["a"])).fit(X, Y)
    with pytest.raises(ParameterError, match="warm_start_size"):
        OnlinePLTClassifier(warm_start_size=0.5, policy="fixed").fit(X, Y)


@pytest.mark.parametrize("ready", [False, True])
@pytest.mark.parametrize("learner", ["arow", "adagrad"])
def test_nothing_is_forgotten_on_the_way(ready: bool, learner: str) -> None:
    X, y = checkerboard()
    loss = "squared_hinge" if learner == "arow" else "log"
    batch = PLTClassifier(loss=loss, C=10.0, arity=3, max_leaf_size=3, online_ready=ready).fit(X, y)
    before = state(batch)
    online = OnlinePLTClassifier.from_batch(batch)
    assert online.get_params()["learner"] == learner
    assert online.tree_ == batch.tree_
    assert np.array_equal(online.predict(X), y)
    if learner == "adagrad":  # the link is the same, and so are the probabilities
        assert np.allclose(online.predict_topk(X, 3)[1], batch.predict_topk(X, 3)[1], atol=1e-6)
    new = X[:3].copy()
    new[:, 0] = new[:, 5] = 3.0
    online.partial_fit(new, [77, 77, 77])
    assert online.predict(new).tolist() == [77] * 3
    assert online.score(X, y) > 0.8
    assert online.examples_seen_ == len(X) + 3
    assert state(batch) == before


def test_what_was_prepared_is_what_learning_online_leaves(tmp_path: Any) -> None:
    X, Y = noise(n=100)
    batch = PLTClassifier(online_ready=True, arity=3, max_leaf_size=4).fit(X, Y)
    batch.save(tmp_path / "batch.lg")
    stored = load(tmp_path / "batch.lg")
    assert state(stored) == state(batch)
    online = [OnlinePLTClassifier.from_batch(model) for model in (batch, stored)]
    more, names = noise(seed=1, n=30)
    assert state(online[0].partial_fit(more, names)) == state(online[1].partial_fit(more, names))
    batch.save(tmp_path / "small.lg", for_prediction=True)
    small = load(tmp_path / "small.lg")
    assert same_answers(small, batch, X)
    assert not any(name.startswith("online") for name in read_model(tmp_path / "small.lg").arrays)
    plain = PLTClassifier(arity=3, max_leaf_size=4).fit(X, Y)
    assert same_answers(plain, batch, X)
    assert plain.size()["model_bytes"] < batch.size()["model_bytes"]
    assert batch.size()["memory_bytes"] > plain.size()["memory_bytes"] == 0


def test_labels_that_were_removed_stay_away() -> None:
    X, Y = noise(n=100)
    for ready in (False, True):
        batch = PLTClassifier(online_ready=ready, arity=3, max_leaf_size=4).fit(X, Y)
        batch.remove_labels(["l0"])
        online = OnlinePLTClassifier.from_batch(batch)
        assert "l0" not in online.predict_topk(X, 99)[0]
        assert "l0" not in online.partial_fit(X, [["l1"] for _ in Y]).classes_
        assert "l0" in online.partial_fit(X[:1], [["l0"]]).classes_


def test_learning_on_leaves_the_batch_model_as_it_was() -> None:
    batch = PLTClassifier().fit([{"meow": 1}, {"bark": 1}] * 4, ["cat", "dog"] * 4)
    before = state(batch)
    online = OnlinePLTClassifier.from_batch(batch)
    online.partial_fit([{"meow": 1}], ["cat"]).rename_labels({"cat": "lion"})
    online.partial_fit([{"moo": 1}], ["cow"])
    assert state(batch) == before


def test_what_cannot_be_learnt_on() -> None:
    X, y = checkerboard(2)
    with pytest.raises(ParameterError, match="online_ready"):
        PLTClassifier(online_ready=True, link="softmax").fit(X, y)
    with pytest.raises(ParameterError, match="softmax"):
        OnlinePLTClassifier.from_batch(PLTClassifier(link="softmax").fit(X, y))
    for other in (OnlinePLTClassifier(), EmbeddingClassifier(), TextClassifier(PLTClassifier())):
        with pytest.raises(ParameterError, match="expected a PLTClassifier"):
            OnlinePLTClassifier.from_batch(other)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="compact model can only predict"):
        OnlinePLTClassifier.from_batch(PLTClassifier().fit(X, y).compact())
    with pytest.raises(ParameterError, match="n_trees=3: expected the 2 trees"):
        OnlinePLTClassifier.from_batch(PLTClassifier(n_trees=2).fit(X, y), n_trees=3)
    with pytest.raises(ParameterError, match="learner"):
        OnlinePLTClassifier.from_batch(PLTClassifier().fit(X, y), learner="sgd")


def test_seeds_of_a_grove_differ() -> None:
    plan = TreePlan(PLTClassifier(tree="random", n_trees=3, arity=2).get_params(), 0)
    X, y = checkerboard(1)
    model = PLTClassifier().fit(X, y)
    rows = model._learned.check_rows(X)  # type: ignore[union-attr]
    indptr, ids = np.arange(len(y) + 1), np.arange(12, dtype=np.uint32)
    trees = plan.build(rows, indptr, ids, model._learned.labels)  # type: ignore[union-attr]
    assert len({tuple(tree.labels.items()) for tree in trees}) == 3


@pytest.mark.parametrize("size", [0.4, 50])
def test_rows_of_weight_0_are_not_in_the_sample(size: float) -> None:
    X, Y = noise(n=120)
    clf = OnlinePLTClassifier(warm_start_size=size, **SMALL)
    between = vstack([X[:, ::-1], X]).tocsr()[np.arange(240).reshape(2, -1).T.ravel()]
    paired = [row for row in Y for _ in range(2)]
    ignoring = clone(clf).fit(between, paired, sample_weight=np.tile([0.0, 1.0], 120))
    without = clone(clf).fit(X, Y)
    assert ignoring.tree_ == without.tree_
    assert same_answers(ignoring, without, X)


def test_a_label_of_rows_of_weight_0_alone_is_learnt_later() -> None:
    X, Y = noise(n=60)
    weights = np.array([0.0] + [1.0] * 60)
    clf = OnlinePLTClassifier(warm_start_size=1.0, **SMALL)
    clf.fit(vstack([X[:1], X]), [["first of all"], *Y], sample_weight=weights)
    assert "first of all" in clf.classes_
    assert state(copy.deepcopy(clf)) == state(clf)
    clf.partial_fit(X, [["first of all"]] * 60)
    assert state(copy.deepcopy(clf)) == state(clf)
    assert clf.predict_topk(X, 1)[0].tolist() == [["first of all"]] * 60
