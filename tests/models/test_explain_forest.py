"""``explain`` of LdSM and FastXML: leaves, their label shares, and the paths to them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from contract.kit import noise
from labelgrove import DataError, FastXMLClassifier, LdSMClassifier, NotLearnedError, ParameterError

X, Y = noise(7, n=150)

Forest = FastXMLClassifier | LdSMClassifier


FORESTS: dict[str, Forest] = {
    "ldsm": LdSMClassifier(n_estimators=6, arity=3, lambda2=2.0, min_samples_split=4),
    "fastxml": FastXMLClassifier(n_estimators=6, C=8.0, max_leaf_size=3),
}


@pytest.fixture(scope="module", params=FORESTS)
def model(request: pytest.FixtureRequest) -> Forest:
    return FORESTS[request.param].fit(X, Y)


def test_shares_add_up_to_the_score(model: Forest) -> None:
    for i in range(20):
        explained = model.explain(X[[i]], k=4)
        labels, scores = model.predict_topk(X[[i]], 4)
        assert [one.label for one in explained.labels] == labels[0].tolist()
        for place, one in enumerate(explained.labels, 1):
            assert one.rank == place and one.predicted
            assert one.probability == pytest.approx(float(scores[0, place - 1]))
            shares = [leaf.share for leaf in one.leaves]
            assert np.mean(shares) == pytest.approx(one.probability, rel=1e-5)
            assert shares == sorted(shares, reverse=True)
            assert len({leaf.tree for leaf in one.leaves}) >= 5
            assert len(one.path) == one.leaves[0].depth
            assert one.fallen_out is None


def test_labels_of_probability_0_have_ranks_too(model: Forest) -> None:
    labels, scores = model.predict_topk(X[:1], model.n_classes_)
    explained = model.explain(X[:1], k=model.n_classes_)
    assert scores[0, -1] == 0.0
    assert [one.label for one in explained.labels] == labels[0].tolist()
    assert [one.rank for one in explained.labels] == [*range(1, model.n_classes_ + 1)]


def test_ways_are_those_of_the_hyperplanes(model: Forest) -> None:
    statistics = model.statistics_
    roots = np.flatnonzero(statistics.parents < 0)
    for i in range(20):
        for one in model.explain(X[[i]], k=2, top=100).labels:
            [first, *_] = one.leaves
            at = roots[first.tree]
            for step in one.path:
                assert statistics.parents[roots[first.tree] + step.node] == at
                at = roots[first.tree] + step.node
                parts = sum(c.contribution for c in step.contributions)
                assert step.margin == pytest.approx(step.bias + step.others + parts)
                if isinstance(model, FastXMLClassifier):
                    assert step.margin >= 0
                assert step.others == pytest.approx(0, abs=1e-9)
            assert at - roots[first.tree] == first.node
            assert statistics.depths[at] == first.depth


def test_features_that_led_to_a_label_are_named() -> None:
    rows, labels = [{"moon": 1}, {"wind": 1}] * 20, [["tide"], ["wave", "storm"]] * 20
    clf = LdSMClassifier(n_estimators=8).fit(rows, labels)
    [wave] = clf.explain({"wind": 1}, "wave").labels
    assert wave.contributions[0].feature == "wind" and wave.contributions[0].contribution > 0
    [tide] = clf.explain({"wind": 1}, "tide", threshold=0.5).labels
    assert (tide.predicted, tide.path, tide.contributions) == (False, (), ())
    assert [leaf.share for leaf in tide.leaves] == [0.0] * 8
    assert "in 0 of 8 leaves" in str(tide)
    found = json.loads(json.dumps(clf.explain({"wind": 1}).to_dict()))
    assert found["labels"][0]["leaves"][0]["share"] == 1.0


def test_what_cannot_be_used_is_named(model: Forest) -> None:
    with pytest.raises(NotLearnedError):
        LdSMClassifier().explain(X[[0]])
    with pytest.raises(DataError, match="not known"):
        model.explain(X[[0]], "no such label")
    with pytest.raises(DataError, match="2 rows"):
        model.explain(X[:2])


def test_a_beam_is_refused(model: Forest) -> None:
    with pytest.raises(ParameterError, match="beam_width=3: .*Classifier does not search"):
        model.predict_topk(X, 2, beam_width=3)
    with pytest.raises(ParameterError, match="beam_width=3"):
        model.predict_proba(X, top_k=2, beam_width=3)
