"""``explain`` of LOMtree: the path of an example, and the share of a class that takes it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from labelgrove import DataError, LOMTreeClassifier, NotLearnedError

N = 8
X, Y = np.eye(N)[np.arange(N * 30) % N], [f"class {i % N}" for i in range(N * 30)]


@pytest.fixture(scope="module")
def model() -> LOMTreeClassifier:
    return LOMTreeClassifier(leaves=1).fit(X, Y)


def test_the_way_and_what_is_predicted(model: LOMTreeClassifier) -> None:
    for i in range(N):
        explained = model.explain(X[i], k=3)
        labels, scores = model.predict_topk(X[[i]], 3)
        assert [one.label for one in explained.labels] == labels[0].tolist()
        assert [one.probability for one in explained.labels] == pytest.approx(scores[0].tolist())
        assert [one.rank for one in explained.labels] == [1, 2, 3]
        depth = model.predict_topk(X[[i]], 1, return_stats=True)[2].depth[0]
        for one in explained.labels:
            [leaf] = one.leaves
            assert len(one.path) == leaf.depth == depth
            assert (leaf.tree, leaf.node) == (0, one.path[-1].node)
            assert one.path[-1].product == pytest.approx(
                np.prod([step.probability for step in one.path])
            )
            for step in one.path:
                assert step.margin >= 0  # it supports the example's direction
                parts = sum(c.contribution for c in step.contributions)
                assert step.margin == pytest.approx(step.bias + step.others + parts)


def test_steps_are_those_of_the_tree(model: LOMTreeClassifier) -> None:
    parents = model.statistics_.parents
    for i in range(N):
        nodes = [step.node for step in model.explain(X[i], k=1).labels[0].path]
        assert parents[nodes].tolist() == [0, *nodes[:-1]]


def test_a_class_that_went_another_way(model: LOMTreeClassifier) -> None:
    for label in Y[1:N]:
        explained = model.explain(X[0], label, k=1)
        [one] = explained.labels
        assert one.label == label and not one.predicted and one.rank > 1
        products = [step.product for step in one.path]
        if (fall := one.fallen_out) is None:
            assert min(products) >= 0.5
        else:
            assert products[fall.step] == fall.product < fall.needed == 0.5
            assert all(product >= 0.5 for product in products[: fall.step])
            assert f"falls out at node {one.path[fall.step].node}" in str(explained)
    assert any(model.explain(X[0], label, k=1).labels[0].fallen_out for label in Y[1:N])
    found = json.loads(json.dumps(explained.to_dict()))
    assert found["labels"][0]["leaves"][0]["share"] == one.leaves[0].share


def test_a_threshold_counts_as_for_label_trees(model: LOMTreeClassifier) -> None:
    likely = model.predict_proba(X[:1], threshold=0.5).indices
    found = model.explain(X[0], threshold=0.5)
    assert [one.label for one in found.labels] == model.classes_[likely].tolist()
    assert found.threshold == 0.5


def test_what_cannot_be_used_is_named(model: LOMTreeClassifier) -> None:
    with pytest.raises(NotLearnedError):
        LOMTreeClassifier().explain(X[0])
    with pytest.raises(DataError, match="not known"):
        model.explain(X[0], "class 9")
    with pytest.raises(DataError, match="2 rows"):
        model.explain(X[:2])


def test_a_step_shared_by_paths_is_listed_once(model: LOMTreeClassifier) -> None:
    first, *others = model.explain(X[0], k=3).labels
    assert others
    for label in others:
        for step, same in zip(first.path, label.path, strict=True):
            assert step.contributions is same.contributions
