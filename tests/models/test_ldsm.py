"""LdSM as an estimator: reports on its trees, and odd data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import labelgrove
from contract.kit import checkerboard, label_sets, noise
from labelgrove import LdSMClassifier, ModelStateError
from labelgrove._validation import Rows


def grown(**parameters: object) -> LdSMClassifier:
    X, y = checkerboard()
    return LdSMClassifier(**{"n_estimators": 3, "min_samples_split": 2, **parameters}).fit(
        X, label_sets(y)
    )


def test_statistics_describe_the_trees() -> None:
    statistics = grown(n_estimators=4, arity=3, epochs_per_node=6).statistics_
    n, inner = statistics.n_nodes, ~np.isnan(statistics.balance)
    assert statistics.n_trees == 4 and (n - 4) % 3 == 0
    assert statistics.course.shape == (n, 6)
    roots = statistics.parents < 0
    assert np.array_equal(np.flatnonzero(roots), np.flatnonzero(statistics.depths == 0))
    assert (statistics.reached[roots] == 96).all()
    children = np.bincount(statistics.parents[~roots], minlength=n)
    assert np.array_equal(children[inner], np.full(inner.sum(), 3)) and not children[~inner].any()
    assert (statistics.depths[~roots] == statistics.depths[statistics.parents[~roots]] + 1).all()
    arrived = np.bincount(statistics.parents[~roots], statistics.reached[~roots], minlength=n)
    np.testing.assert_allclose(
        statistics.multi_way[inner], arrived[inner] / statistics.reached[inner] - 1
    )
    assert statistics.multi_way[inner].min() >= 0
    assert statistics.depth == statistics.depths.max() >= 2
    assert statistics.log_classes == pytest.approx(np.log(15) / np.log(3))


@given(st.integers(0, 2**32), st.integers(2, 5), st.sampled_from([0.5, 1.0, 2.0]))
@settings(max_examples=15, deadline=None)
def test_figures_stay_in_their_ranges(seed: int, arity: int, lambda1: float) -> None:
    X, Y = noise(seed, n=40)
    lambda2 = max(arity - 3, 0) * lambda1 + 1.0
    clf = LdSMClassifier(n_estimators=2, arity=arity, lambda1=lambda1, lambda2=lambda2)
    statistics = clf.fit(X, Y).statistics_
    inner = ~np.isnan(statistics.balance)
    pairs = (arity // 2) * (arity - arity // 2)  # of the balancing term, at most
    for J in (statistics.objective[inner], statistics.course[inner]):
        assert (lambda2 * (arity - 1) + pairs + 1e-5 >= J).all()
        assert (-lambda1 * pairs - 1e-5 <= J).all()
    assert (statistics.objective[inner] >= -lambda1 * (arity - 1) - 1e-5).all()  # Lemma 1
    assert (statistics.balance[inner] >= 0).all()
    assert (statistics.balance[inner] <= 1 - 1 / arity + 1e-6).all()
    assert ((statistics.purity[inner] >= 0) & (statistics.purity[inner] <= 1)).all()


def test_a_model_saved_for_prediction_knows_nothing_of_its_growth(tmp_path: Path) -> None:
    clf = grown()
    clf.save(tmp_path / "whole.lg")
    clf.save(tmp_path / "short.lg", for_prediction=True)
    whole, short = labelgrove.load(tmp_path / "whole.lg"), labelgrove.load(tmp_path / "short.lg")
    assert np.array_equal(whole.statistics_.course, clf.statistics_.course, equal_nan=True)
    with pytest.raises(ModelStateError, match="saved for prediction"):
        _ = short.statistics_
    X, _ = checkerboard()
    assert np.array_equal(short.predict_topk(X, 4)[1], clf.predict_topk(X, 4)[1])


def test_all_rows_are_routed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call copies the weights of many nodes, whatever the number of rows."""
    X, Y = noise(n=600)
    forest = LdSMClassifier(n_estimators=2, random_state=0).fit(X, Y)

    def part(self: Rows, begin: int, end: int) -> Rows:
        raise AssertionError(f"rows {begin} to {end} were routed without the others")

    monkeypatch.setattr(Rows, "part", part)
    forest.predict_topk(X, 2)
    forest.predict(X)


def test_answers_do_not_depend_on_the_rows_beside() -> None:
    X, Y = noise(3, n=200)
    clf = LdSMClassifier(n_estimators=5).fit(X, Y)
    together = clf.predict_proba(X).toarray()
    for n_jobs in (1, 3):
        clf.set_params(n_jobs=n_jobs)
        assert np.array_equal(clf.predict_proba(X).toarray(), together)
    one_by_one = [clf.predict_proba(X[[i]]).toarray()[0] for i in range(40)]
    assert np.array_equal(np.array(one_by_one), together[:40])


@pytest.mark.parametrize("learner", ["adagrad", "sgd", "nag"])
def test_steps_that_are_too_long_harm_nothing(learner: str) -> None:
    X, Y = noise()
    clf = LdSMClassifier(
        n_estimators=2, learner=learner, learning_rate=1e6, initial_spread=1e6, normalize=False
    )
    scores = clf.fit(X * np.float32(1e8), Y).predict_topk(X, 3)[1]
    assert np.isfinite(scores).all()


def test_examples_without_labels_lower_the_shares() -> None:
    X = np.eye(2)[[0] * 10 + [1] * 10]
    Y = [["a"]] * 5 + [[]] * 5 + [["b"]] * 10
    clf = LdSMClassifier(n_estimators=5).fit(X, Y)
    labels, scores = clf.predict_topk(np.eye(2), 1)
    assert labels[:, 0].tolist() == ["a", "b"]
    assert scores[:, 0].tolist() == pytest.approx([0.5, 1.0])


def test_two_ways_to_divide_what_is_in_a_leaf() -> None:
    X, Y = np.ones((4, 1)), [["a", "b"]] * 4
    each = {"examples": 1.0, "labels": 0.5}
    for leaf_share, score in each.items():
        clf = LdSMClassifier(n_estimators=2, leaf_share=leaf_share).fit(X, Y)
        assert clf.predict_topk(X[:1], 2)[1].tolist() == [[score, score]]


def test_the_nearness_of_centroids_counts_as_much_as_is_asked_for() -> None:
    X, Y = noise(5, n=80)
    plain = LdSMClassifier(n_estimators=4).fit(X, Y)
    mixed = LdSMClassifier(n_estimators=4, tail_weight=0.25, tail_gamma=3.0).fit(X, Y)
    unit = X.toarray() / np.linalg.norm(X.toarray(), axis=1, keepdims=True)
    has = np.array([[name in row for name in plain.classes_.tolist()] for row in Y], float)
    centroids = (has.T @ unit) / has.sum(axis=0)[:, None]
    distances = ((unit[:, None, :] - centroids[None]) ** 2).sum(axis=2)
    nearness = 2 / (1 + np.exp(1.5 * distances))
    shares = plain.predict_proba(X).toarray()
    np.testing.assert_allclose(
        mixed.predict_proba(X).toarray(), shares**0.75 * nearness**0.25, rtol=1e-4
    )


def test_a_forest_without_a_split_has_statistics() -> None:
    statistics = LdSMClassifier(n_estimators=2).fit([[1.0]], [["x"]]).statistics_
    assert np.isnan(statistics.objective).all() and len(statistics.course) == 2
