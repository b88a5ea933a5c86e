"""``explain`` of a tree that routes: the way, and who went it before."""

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
        assert len(explained.route) == model.predict_topk(X[[i]], 1, return_stats=True)[2].depth[0]
        assert explained.reached[0] == len(X)
        assert sorted(explained.reached, reverse=True) == list(explained.reached)
        for node in explained.route:
            assert node.side == ("right" if node.margin > 0 else "left")
            parts = [c.contribution for c in node.contributions]
            assert node.margin == pytest.approx(node.bias + node.others + sum(parts))


def test_a_class_that_went_another_way(model: LOMTreeClassifier) -> None:
    explained = model.explain(X[0], "class 5")
    [one] = explained.labels
    assert one.label == "class 5" and one.seen[0] == 30
    if one.parted is None:
        assert 2 * one.seen[-1] >= 30
    else:
        assert 2 * one.seen[one.parted + 1] < one.seen[one.parted]
        assert f"parts at node {explained.route[one.parted].node}" in str(explained)
    assert any(model.explain(X[0], label).labels[0].parted is not None for label in Y[1:N])
    found = json.loads(json.dumps(explained.to_dict()))
    assert found["labels"][0]["seen"] == list(one.seen)


def test_what_cannot_be_used_is_named(model: LOMTreeClassifier) -> None:
    with pytest.raises(NotLearnedError):
        LOMTreeClassifier().explain(X[0])
    with pytest.raises(DataError, match="not known"):
        model.explain(X[0], "class 9")
    with pytest.raises(DataError, match="2 rows"):
        model.explain(X[:2])
