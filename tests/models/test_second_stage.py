"""A second stage after every estimator: what it ranks, when it does, and that it is proper."""

from __future__ import annotations

from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss

import labelgrove
from labelgrove import (
    EmbeddingClassifier,
    FastXMLClassifier,
    LdSMClassifier,
    LOMTreeClassifier,
    MemoryTreeClassifier,
    OnlinePLTClassifier,
    ParameterError,
    PLTClassifier,
    TextClassifier,
)
from labelgrove.metrics import inverse_propensity
from labelgrove.models._online import predict_and_learn
from labelgrove.models.engine import _staged
from labelgrove.models.engine._learned import MISSING
from labelgrove.models.engine._staged import StagedEngine, _both
from labelgrove.tuning._second_stage import CANDIDATES, PLACES, SecondStage
from labelgrove.vocabulary import Concept, Vocabulary
from naive import second_stage as naive

Row = npt.NDArray[np.float32]


def near_centroids(seed: int = 0, n: int = 600, labels: int = 50) -> tuple[Any, list[list[str]]]:
    """Rows near the mean of their label, most labels being rare: the ideal case for centroids."""
    rng = np.random.default_rng(seed)
    means = np.random.default_rng(7).normal(size=(labels, 24))
    y = (labels * rng.random(n) ** 2).astype(int)
    X = (means[y] + 1.4 * rng.normal(size=(n, 24))).astype(np.float32)
    return X, [[f"l{label}"] if i % 11 else [] for i, label in enumerate(y.tolist())]


@pytest.fixture(scope="module")
def online() -> OnlinePLTClassifier:
    X, Y = near_centroids()
    clf = OnlinePLTClassifier(second_stage="head", max_leaves=4, arity=2).fit(X, Y)
    seen = clf.second_stage_
    assert seen["reranks"] and seen["gain"] > 2 * seen["error"] > 0 and seen["examples"] > 99
    return clf


@pytest.fixture(scope="module")
def batch() -> PLTClassifier:
    X, Y = near_centroids()
    shape: dict[str, Any] = {"arity": 3, "max_leaf_size": 4, "link": "squared_hinge"}
    clf = PLTClassifier(second_stage="tail", **shape).fit(X, Y)
    assert stage_of(clf).stage.reranks
    return clf


def stage_of(clf: Any) -> StagedEngine:
    engine = clf._learned.engine
    assert isinstance(engine, StagedEngine)
    return engine


def let_places_differ(clf: Any) -> None:
    """Show the second stage examples where, of equal scores, only the first is right."""
    even = np.full((300, 5), 0.5, np.float32)
    stage_of(clf).stage.observe(even, even, even, np.arange(5) < even, np.ones(300))


def test_labels_as_good_as_the_last_of_the_best_are_found_too() -> None:
    X, Y = near_centroids(labels=3)
    twins = [[f"{one}-{twin}" for one in row for twin in range(40)] for row in Y]  # of equal scores
    clf = OnlinePLTClassifier(max_leaves=256).fit(X, twins)
    let_places_differ(clf)
    assert stage_of(clf).stage.counts_places
    scores = first_of_stage(clf, X, PLACES + 1)
    assert (scores[:, PLACES - 1] == scores[:, PLACES]).mean() > 0.5
    everything = clf.predict_proba(X, threshold=0.0).toarray()
    for each in (np.full(120, 0.3), np.random.default_rng(0).random(120)):
        each[0] += 1e-3
        found = clf.predict_proba(X, threshold=each).toarray()
        reached = everything.astype(np.float64) >= each
        assert reached.any() and np.array_equal(found, np.where(reached, everything, 0))


def first_of_stage(clf: Any, X: Any, k: int) -> Any:
    rows = clf._learned.check_rows(X)
    return stage_of(clf).first.top_k(*rows.arrays, k, 0, None, 1)[1]


def first_of(clf: Any) -> Any:
    """The same model without the second stage."""
    plain = type(clf)(**{**clf.get_params(), "second_stage": None})
    X, Y = near_centroids()
    return plain.fit(X, Y)


def test_what_was_learnt_before_an_error_counts_without_its_predictions() -> None:
    class Full:
        examples_seen = 0

        def learn(self, *_: Any) -> Any:
            self.examples_seen = 200
            raise MemoryError

    engine, ends = StagedEngine(Full(), SecondStage(None)), np.arange(301)
    one = np.zeros(300, np.uint32)
    with pytest.raises(MemoryError):
        engine.learn(ends, one, np.ones(300, np.float32), ends, one, 0, 300, 1)
    assert (engine.met, engine.stage.examples) == (200, 0)


def test_the_predictions_grow_as_the_logarithm_of_a_long_stream() -> None:
    X, y = np.eye(2, dtype=np.float32)[np.arange(8192) % 2], ["odd", "even"] * 4096
    clf = OnlinePLTClassifier(second_stage="calibrate")
    seen = [clf.partial_fit(X, y).second_stage_["examples"] for _ in range(6)]
    bursts = [*range(2, 8)]  # of 64 examples each; after 512, four whenever the stream doubles
    for first in (8, 16, 32, 64, 128, 256, 512):
        bursts += range(first, 2 * first, first // 4)
    assert seen == [64 * sum(burst < 128 * n for burst in bursts) for n in range(1, 7)]


@pytest.mark.parametrize("kind", ["online", "batch"])
def test_the_best_labels_are_ranked_as_the_twin_ranks_them(
    kind: str, request: pytest.FixtureRequest
) -> None:
    clf = request.getfixturevalue(kind)
    (X, Y), rows = near_centroids(), near_centroids(1, 12)[0]
    staged, twin = stage_of(clf), naive.SecondStage(float(stage_of(clf).stage.tail or 0))
    twin.weights = staged.stage.reranking.weights.tolist()
    for its, ours in (
        (twin.first, staged.stage.first),
        (twin.second, staged.stage.second),
    ):
        weight, *numbers = ours.save()
        tables = np.reshape(numbers[: -len(naive.POWERS)], (2, -1, naive.KNOTS)) / weight
        its.counts, its.hits = tables.tolist()
    named = [
        [dict(enumerate(x.tolist())) for x, y in zip(X, Y, strict=True) if name in y]
        for name in clf.classes_
    ]
    first, second, fall = twin.first.curve(), twin.second.curve(), twin.first.fall()
    worth = inverse_propensity(clf.label_counts_, n_examples=len(Y))
    labels, scores = first_of(clf).predict_topk(rows, 14)
    found, probabilities = clf.predict_topk(rows, 14)
    for i, x in enumerate(rows):
        expected = []
        for place in range(CANDIDATES):
            j = int(np.searchsorted(clf.classes_, labels[i, place]))
            near = naive.cosine(dict(enumerate(x.tolist())), named[j])
            p = float(np.clip(scores[i, place], 1e-9, 1 - 1e-9))
            p = twin.second(twin.score(p, near), second)
            expected.append((-p * twin.merit(worth[j]), place, p))
        order = [place for _, place, _ in sorted(expected)]
        assert found[i, :CANDIDATES].tolist() == labels[i, order].tolist()
        assert found[i, CANDIDATES:].tolist() == labels[i, CANDIDATES:].tolist()
        ps = [expected[place][2] for place in order]
        np.testing.assert_allclose(probabilities[i, :CANDIDATES], ps, rtol=1e-5)
        for place in range(CANDIDATES, 14):
            score = naive.logit(float(scores[i, place]))
            later = min(twin.first(score, first, place, fall), *ps)
            np.testing.assert_allclose(probabilities[i, place], later, rtol=1e-5)


@pytest.mark.parametrize("k", [3, 14])
def test_labels_of_examples_about_to_be_learnt_are_ranked_as_predict_ranks_them(
    online: OnlinePLTClassifier, k: int
) -> None:
    (X, Y), clf, moved = near_centroids(1, 20), deepcopy(online), 0
    for i in range(len(X)):
        x, first = X[i : i + 1], np.zeros(1, np.uint64)
        expected = clf.predict_topk(x, k)[0].tolist()
        ranked = stage_of(clf).first.top_k(*clf._learned.check_rows(x).arrays, k, 0, None, 1)[0]
        moved += clf._learned.labels.names[ranked].tolist() != expected
        assert predict_and_learn(clf, x, Y[i : i + 1], first, k) == expected
    assert moved


@pytest.fixture(scope="module")
def calibrated() -> OnlinePLTClassifier:
    X, Y = near_centroids()
    clf = OnlinePLTClassifier(second_stage="calibrate", max_leaves=4, arity=2).fit(X, Y)
    let_places_differ(clf)
    assert stage_of(clf).stage.first.curve()[0] > 0
    return clf


def test_labels_are_the_same_if_more_reach_a_threshold_than_are_sought_first(
    calibrated: OnlinePLTClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, _ = near_centroids(1)
    each = np.random.default_rng(0).random(calibrated.n_classes_) ** 4
    for threshold in (*np.geomspace(1e-5, 0.6, 20), each):
        found = []
        for few, start in ((PLACES + 1, 0.0), (64, 0.0), (64, np.inf)):
            monkeypatch.setattr(_staged, "_FEW", few)
            monkeypatch.setattr(_staged, "_FEW_FROM", start)
            found.append(calibrated.predict_proba(X, threshold=threshold).toarray())
        assert np.array_equal(found[0], found[1]) and np.array_equal(found[1], found[2])
        assert found[0].any()


def test_labels_of_equal_scores_are_all_found_if_they_are_more_than_are_sought_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, Y = near_centroids(labels=3)
    twins = [[f"{one}-{twin}" for one in row for twin in range(_staged._FEW + 6)] for row in Y]
    clf = OnlinePLTClassifier(max_leaves=256).fit(X, twins)
    let_places_differ(clf)
    scores = first_of_stage(clf, X, _staged._FEW + 1)
    least = stage_of(clf).stage.uncalibrated(np.float32([0.3]), PLACES)
    X = X[(scores[:, 0] == scores[:, _staged._FEW]) & (scores[:, 0] < least)]
    assert len(X)  # with scores that are too low for labels after others
    everything = clf.predict_proba(X, threshold=0.0).toarray()
    found = clf.predict_proba(X, threshold=0.3).toarray()
    assert np.array_equal(found, np.where(everything >= np.float32(0.3), everything, 0))
    first, ranked = stage_of(clf).first, list[int]()

    class Watched:
        def top_k(self, *given: Any) -> Any:
            ranked.append(given[3])
            return first.top_k(*given)

        def __getattr__(self, name: str) -> Any:
            return getattr(first, name)

    monkeypatch.setattr(stage_of(clf), "first", Watched())
    assert clf.predict_proba(X, threshold=0.3).nnz == np.count_nonzero(found)
    assert ranked == [_staged._FEW]  # and not once more for the places of all labels


@pytest.fixture(scope="module")
def level() -> OnlinePLTClassifier:
    """Calibrated alike at all places, so that nobody needs to know them."""
    X, Y = near_centroids()
    clf = OnlinePLTClassifier(max_leaves=4, arity=2).fit(X, Y)
    rng = np.random.default_rng(0)
    scores = np.sort(rng.random((3000, 5)), axis=1)[:, ::-1].astype(np.float32)
    right = rng.random(scores.shape) < scores**2
    stage_of(clf).stage.observe(scores, scores, scores, right, np.ones(3000))
    assert not stage_of(clf).stage.counts_places
    return clf


@pytest.mark.parametrize(("n_classes", "noise"), [(2, 1.0), (3, 1.0), (3, 0.1), (12, 0.3)])
def test_classes_compete_by_a_power_that_is_learnt(n_classes: int, noise: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 12))
    y = np.argmax(X[:, :n_classes] + noise * rng.gumbel(size=(3000, n_classes)), axis=1)
    X, test, y, true = X[:2000], X[2000:], y[:2000], y[2000:]

    def shares(own: Any, power: float) -> Any:
        own = own.toarray().astype(np.float64)
        odds = (own / np.maximum(1 - own, 2.0**-25)) ** power
        return odds / odds.sum(axis=1, keepdims=True)

    few = OnlinePLTClassifier().fit(X[:100], y[:100])  # has predicted nothing yet
    own = few.predict_proba(test, threshold=0.0)
    expected = {2: 0.5, 3: 0.75, 12: 1.25}[n_classes]
    np.testing.assert_allclose(few.predict_proba(test), shares(own, expected), rtol=1e-4)
    few.partial_fit(X[100:129], y[100:129])  # now one, correctly: the largest power is best
    power = stage_of(few).stage.power(expected)
    assert stage_of(few).stage.examples == 1 and expected <= power < 4.0
    clf = OnlinePLTClassifier().fit(X, y)
    own = OnlinePLTClassifier(second_stage=None).fit(X, y).predict_proba(test, threshold=0.0)
    found = {power: shares(own, power) for power in np.arange(1, 17) / 4}
    np.testing.assert_allclose(
        clf.predict_proba(test), found[stage_of(clf).stage.power(expected)], 1e-9
    )
    losses = [log_loss(true, P) for P in found.values()]
    assert log_loss(true, clf.predict_proba(test)) < min(losses) + 0.02


@pytest.mark.parametrize(
    ("make", "stage", "competes"),
    [
        (OnlinePLTClassifier, "calibrate", True),
        (OnlinePLTClassifier, "head", False),  # which re-ranks
        (LOMTreeClassifier, "calibrate", False),  # whose probabilities sum to 1 as they are
    ],
)
def test_probabilities_of_classes_are_what_they_are_unless_all_compete(
    make: Any, stage: str, competes: bool
) -> None:
    X, Y = near_centroids(labels=12, n=900)
    clf = make(second_stage=stage).fit(X, [(row or ["none"])[0] for row in Y])
    some = clf.predict_proba(X[:40], labels=clf.classes_[:3])
    best, scores = clf.predict_topk(X[:40], 3, labels=clf.classes_[:3])
    at = np.searchsorted(clf.classes_, best)
    assert np.array_equal(np.take_along_axis(some, at, axis=1), scores)
    own = clf.predict_proba(X[:40], threshold=0.0).toarray()
    shares = own / own.sum(axis=1, keepdims=True, dtype=np.float64)
    assert np.allclose(clf.predict_proba(X[:40]), shares) != competes


@pytest.mark.parametrize("n_classes", [PLACES, PLACES + 1])
def test_a_memory_tree_learns_how_classes_compete_if_all_of_them_are_counted(
    n_classes: int,
) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(900) % n_classes
    X = np.eye(n_classes)[y] + 0.3 * rng.normal(size=(900, n_classes))
    clf = MemoryTreeClassifier(second_stage="calibrate").fit(X[:800], y[:800])
    plain = MemoryTreeClassifier().fit(X[:800], y[:800])
    same = np.array_equal(clf.predict_proba(X[800:]), plain.predict_proba(X[800:]))
    assert stage_of(clf).stage.power(1.0) != 1.0
    assert same == (n_classes > PLACES)


@pytest.mark.parametrize("kind", ["online", "batch", "calibrated", "level"])
def test_all_ways_to_ask_agree(kind: str, request: pytest.FixtureRequest) -> None:
    clf = request.getfixturevalue(kind)
    X, _ = near_centroids(1, 40)
    everything = clf.predict_proba(X, threshold=0.0).toarray()
    labels, scores = clf.predict_topk(X, clf.n_classes_)
    at = np.searchsorted(clf.classes_, labels)
    assert np.array_equal(np.take_along_axis(everything, at, axis=1), scores)
    assert (everything >= 0).all() and (everything <= 1).all()
    for k in (1, 4, CANDIDATES, CANDIDATES + 3):
        assert np.array_equal(clf.predict_topk(X, k)[0], labels[:, :k])
    each = np.random.default_rng(0).random(clf.n_classes_) ** 4
    for threshold in (0.02, 0.2, float(everything[0].max()), each):
        reached = everything.astype(np.float64) >= threshold
        found = clf.predict_proba(X, threshold=threshold)
        assert np.array_equal(found.toarray(), np.where(reached, everything, 0))
    if kind in ("calibrated", "level"):
        # A label's probability does not depend on the other labels requested.
        some = clf.classes_[::3].tolist()
        allowed = clf.predict_proba(X, threshold=0.02, labels=some).toarray()
        others = ~np.isin(clf.classes_, some)
        assert np.array_equal(
            allowed, np.where((everything < np.float32(0.02)) | others, 0, everything)
        )
        found, among = clf.predict_topk(X, 3, labels=some)
        at = np.searchsorted(clf.classes_, found)
        assert np.array_equal(np.take_along_axis(everything, at, axis=1), among)
    clf.set_thresholds(each)
    assert np.array_equal(clf.predict(X).toarray(), everything.astype(np.float64) >= each)
    if kind == "level":  # a single search is enough
        engine, rows = stage_of(clf), clf._learned.check_rows(X).arrays
        scope = engine.scope(clf._learned.thresholds(each))
        costs = engine.above_threshold(*rows, scope, 1)[3]
        assert np.array_equal(costs, engine.first.above_threshold(*rows, scope.first, 1)[3])
    one_by_one = [clf.predict_topk(X[[i]], 5)[1][0] for i in range(len(X))]
    assert np.array_equal(one_by_one, scores[:, :5])
    assert clf.tune_thresholds(*near_centroids(2, 100)).predict(X).shape == everything.shape


@pytest.mark.parametrize(
    ("estimator", "parameters"),
    [
        (OnlinePLTClassifier, {"max_leaves": 4, "arity": 2, "second_stage": 0.3}),
        (OnlinePLTClassifier, {"max_leaves": 4, "arity": 2, "second_stage": "calibrate"}),
        (
            EmbeddingClassifier,
            {"dimension": 5, "max_leaf_size": 4, "arity": 2, "second_stage": 0.3},
        ),
    ],
)
def test_online_it_is_the_same_for_all_cuts_threads_and_files(
    estimator: Any, parameters: dict[str, Any], tmp_path: Path
) -> None:
    X, Y = near_centroids(n=700)
    expected = estimator(**parameters).partial_fit(X, Y).fingerprint()
    clf = estimator(**parameters, n_jobs=2)
    for begin, end in ((0, 1), (1, 130), (130, 131), (131, 450), (450, 700)):
        clf.partial_fit(X[begin:end], Y[begin:end])
        if begin == 130:
            clf.save(tmp_path / "model.lg")
            clf = labelgrove.load(tmp_path / "model.lg", n_jobs=2)
    assert clf.fingerprint() == expected


@pytest.mark.parametrize("parameters", [{}, {"thresholds": "ofo"}, {"n_trees": 2}])
def test_what_is_asked_within_learning_is_as_between_two_calls(parameters: dict[str, Any]) -> None:
    X, Y = near_centroids(n=90)
    asked, k = np.array([0, 1, 40, 89], np.uint64), 4
    clf = OnlinePLTClassifier(max_leaves=4, arity=2, n_jobs=2, **parameters)
    ids = {name: i for i, name in enumerate(dict.fromkeys(name for row in Y for name in row))}
    ends = np.cumsum([0, *map(len, Y)])
    labels = np.array([ids[name] for row in Y for name in row], np.uint32)
    dense = np.empty(0, np.int64), np.arange(24, dtype=np.uint32), X.ravel()
    engine = clf._start().make(None)
    found, scores = engine.learn(*dense, ends, labels, 0, 90, 2, None, asked, k)
    for i, row in enumerate(asked.tolist()):
        names = np.array([*ids, ""], object)[np.minimum(found[i], len(ids))]
        if row == 0:
            assert names.tolist() == [""] * k and np.isnan(scores[i]).all()
            continue
        until = OnlinePLTClassifier(max_leaves=4, arity=2, **parameters).partial_fit(
            X[:row], Y[:row]
        )
        best, probabilities = until.predict_topk(X[[row]], k)
        there = ~np.isnan(scores[i])
        assert names[there].tolist() == best[0][there].tolist()
        assert np.array_equal(scores[i], probabilities[0], equal_nan=True)
    with pytest.raises(ValueError, match="rows to predict"):
        engine.learn(*dense, ends, labels, 0, 40, 1, None, asked, k)


def test_it_ranks_for_what_it_was_asked_for(batch: PLTClassifier) -> None:
    """Rare labels come first more often where the tail is wanted."""
    X, Y = near_centroids(1, 200)
    head = PLTClassifier(**{**batch.get_params(), "second_stage": "head"}).fit(*near_centroids())
    plain = first_of(batch)
    counts = dict(zip(batch.classes_, batch.label_counts_, strict=True))

    def rarity(clf: Any) -> float:
        return float(np.mean([1 / counts[name] for name in clf.predict_topk(X, 1)[0][:, 0]]))

    assert rarity(batch) > rarity(head) > rarity(plain)
    assert head.score(X, Y) > plain.score(X, Y)


def test_where_ranking_gains_nothing_it_stays_as_it_was() -> None:
    rng = np.random.default_rng(0)
    X, Y = near_centroids()
    X = rng.normal(size=X.shape).astype(np.float32)  # uninformative features
    shape: dict[str, Any] = {"arity": 3, "max_leaf_size": 4, "link": "squared_hinge"}
    clf = PLTClassifier(second_stage="head", **shape).fit(X, Y)
    assert not stage_of(clf).stage.reranks
    plain = PLTClassifier(**shape).fit(X, Y)
    labels, scores = plain.predict_topk(X[:30], 14)
    found, probabilities = clf.predict_topk(X[:30], 14)
    assert np.array_equal(found, labels) and not np.array_equal(probabilities, scores)
    assert (np.diff(probabilities, axis=1) <= 0).all()


def test_calibrated_probabilities_are_right_as_often_as_they_say() -> None:
    X, Y = near_centroids(1, 400)

    def error(clf: Any) -> float:
        labels, scores = clf.predict_topk(X, 5)
        right = np.array([np.isin(names, row) for names, row in zip(labels, Y, strict=True)])
        return abs(float(scores.mean() - right.mean()))

    given = near_centroids(n=2000)
    shape: dict[str, Any] = {"arity": 3, "max_leaf_size": 4, "link": "squared_hinge"}
    plain = PLTClassifier(**shape).fit(*given)
    calibrated = PLTClassifier(**shape, second_stage="calibrate").fit(*given)
    assert np.array_equal(plain.predict_topk(X)[0], calibrated.predict_topk(X)[0])
    assert error(calibrated) < 0.05 < error(plain)


class _Sure:
    """An engine that predicts label 0 with probability 1/2, and no other label."""

    examples_seen = 0

    def learn(self, *given: Any) -> tuple[Any, ...]:
        begin, end, _, _, asked, k = given[5:]
        self.examples_seen += end - begin
        alone = np.broadcast_to(np.arange(k) == 0, (len(asked), k))
        found = np.where(alone, 0, MISSING).astype(np.uint32)
        return found, np.where(alone, 0.5, np.nan).astype(np.float32)


def test_the_later_in_a_stream_the_more_it_counts_though_most_predictions_are_early() -> None:
    engine, n = StagedEngine(_Sure(), SecondStage(None)), 4000
    ends, features, ones = np.arange(n + 1), np.zeros(n, np.uint32), np.ones(n, np.float32)
    labels = (np.arange(n) < n // 4).astype(np.uint32)  # wrong for a quarter, then right
    engine.learn(ends, features, ones, ends, labels, 0, n, 1, None)
    assert engine.stage.examples < 1300  # of which half are of that quarter
    counts, hits = np.split(engine.stage.first.save()[1 : -len(naive.POWERS)], 2)
    assert hits.sum() > 0.9 * counts.sum()


def test_two_searches_cost_their_sum_but_are_as_deep_as_the_deeper_one() -> None:
    one, other = np.array([[1, 5, 2, 3], [1, 2, 0, 0]]), np.array([[4, 2, 1, 1], [1, 7, 1, 0]])
    assert _both(one, other).tolist() == [[5, 5, 3, 4], [2, 7, 1, 0]]


def test_small_copies_have_it_too(online: OnlinePLTClassifier, tmp_path: Path) -> None:
    X, _ = near_centroids(1, 20)
    small = online.compact()
    assert np.array_equal(small.predict_topk(X)[0], online.predict_topk(X)[0])
    small.save(tmp_path / "small.lg")
    loaded = labelgrove.load(tmp_path / "small.lg")
    assert np.array_equal(loaded.predict_topk(X)[1], small.predict_topk(X)[1])
    least = online.compact(max_bytes=30_000)
    least.save(tmp_path / "least.lg")
    assert (tmp_path / "least.lg").stat().st_size <= 30_000


def test_online_goes_on_from_batch_with_a_second_stage_of_its_own(batch: PLTClassifier) -> None:
    X, Y = near_centroids(3, 200)
    clf = OnlinePLTClassifier.from_batch(batch)
    assert clf.second_stage == "tail" and stage_of(clf).stage.examples == 0
    before = stage_of(clf).sums.examples
    clf.partial_fit(X, Y)
    assert stage_of(clf).stage.examples == 200 - 128
    assert stage_of(clf).sums.examples == before + 200
    assert OnlinePLTClassifier.from_batch(batch, second_stage=None).second_stage is None


def test_labels_that_are_removed_leave_nothing_behind(online: OnlinePLTClassifier) -> None:
    clf = OnlinePLTClassifier(**online.get_params()).fit(*near_centroids())
    X, _ = near_centroids(1, 20)
    best = clf.predict_topk(X, 1)[0][0, 0]
    engine, of_best = stage_of(clf), clf._learned.labels.ids_of([best]).view(np.uint32)
    assert engine.sums.counts(of_best)[0] == clf.label_counts_[clf.classes_ == best][0]
    clf.remove_labels([best])
    assert engine.sums.counts(of_best)[0] == 0
    assert not (clf.predict_topk(X, 14)[0] == best).any()
    clf.partial_fit(X[:1], [[best]])
    assert clf.label_counts_[clf.classes_ == best] == 1


def test_an_explanation_says_what_the_second_stage_went_by(online: OnlinePLTClassifier) -> None:
    X, _ = near_centroids(1, 1)
    labels, scores = online.predict_topk(X, 3)
    explained = online.explain(X, k=3).labels
    assert [one.label for one in explained] == labels[0].tolist()
    assert [one.probability for one in explained] == scores[0].tolist()
    for one in explained:
        assert one.first_stage == pytest.approx(one.path[-1].product, rel=1e-5)
        assert one.cosine is not None and f"cosine to its centroid, {one.cosine:.2f}" in str(one)
    every = online.predict_proba(X).toarray()[0]
    for label, probability in zip(online.classes_, every, strict=True):
        [one] = online.explain(X, label).labels
        assert one.probability == probability
        assert (one.cosine is not None) == (label in online.predict_topk(X, CANDIDATES)[0])


def test_the_rank_that_is_explained_is_the_place_among_the_predictions(
    batch: PLTClassifier,
) -> None:
    X, _ = near_centroids(1, 6)
    found, scores = batch.predict_topk(X, CANDIDATES + 2)
    assert (np.diff(scores) > 0).any()  # not ranked by probability alone
    for x, ranking in zip(X, found, strict=True):
        ranks = [batch.explain(x, label).labels[0].rank for label in ranking]
        assert ranks == [*range(1, len(ranking) + 1)]


def test_a_path_ends_at_the_calibrated_probability(calibrated: OnlinePLTClassifier) -> None:
    X, _ = near_centroids(1, 30)
    labels, scores = calibrated.predict_topk(X, 9)
    paths = calibrated.label_paths(X, labels.tolist())
    assert paths.products[paths.indptr[1:] - 1].tolist() == scores.ravel().tolist()
    for begin, end in pairwise(paths.indptr.tolist()):
        assert (np.diff(paths.products[begin:end]) <= 0).all()
    for x, row, probabilities in zip(X, labels, scores, strict=True):
        needed = float(probabilities[2])
        for one in calibrated.explain(x, threshold=needed).labels:
            assert one.predicted and one.fallen_out is None
        for label, probability in zip(row, probabilities, strict=True):
            just_above = (1 + 1e-5) * float(probability)  # the curve is nearly flat in places
            [one] = calibrated.explain(x, label, threshold=just_above).labels
            assert one.fallen_out is not None
            assert one.fallen_out.needed == pytest.approx(one.first_stage, rel=0.05)
        third = calibrated.explain(x, k=3).labels[2]
        for label in row[3:]:
            [one] = calibrated.explain(x, label, k=3).labels
            assert one.fallen_out is not None and one.fallen_out.needed == third.first_stage


def test_online_trees_calibrate_unless_told_otherwise() -> None:
    X, Y = near_centroids(n=200)
    assert OnlinePLTClassifier().fit(X, Y).second_stage_["examples"] == 200 - 128
    assert OnlinePLTClassifier().fit(X[:128], Y[:128]).second_stage_["examples"] == 0
    for other in ({"preset": "paper"}, {"thresholds": "ofo"}, {"second_stage": None}):
        clf = OnlinePLTClassifier(**other).fit(X, Y)
        assert not hasattr(clf, "second_stage_"), other
    staged = OnlinePLTClassifier(preset="paper", second_stage="calibrate").fit(X, Y)
    assert staged.second_stage_["examples"] == 200 - 128
    with pytest.raises(ParameterError, match="second_stage='auto'"):
        LOMTreeClassifier(second_stage="auto").fit(X, Y)


def test_a_second_stage_that_has_seen_nothing_leaves_everything_as_it_is() -> None:
    X, Y = near_centroids(n=128)
    new, plain = (OnlinePLTClassifier(second_stage=stage).fit(X, Y) for stage in ("head", None))
    for ours, its in zip(new.predict_topk(X, 9), plain.predict_topk(X, 9), strict=True):
        assert np.array_equal(ours, its)
    for threshold in np.unique(plain.predict_proba(X, threshold=0.1).data)[::20]:
        ours, its = (clf.predict_proba(X, threshold=threshold) for clf in (new, plain))
        assert np.array_equal(ours.toarray(), its.toarray())


def test_later_passes_tell_it_nothing() -> None:
    X, Y = near_centroids()
    clf = OnlinePLTClassifier(second_stage="head", epochs=2).fit(X, Y)
    once = OnlinePLTClassifier(second_stage="head").fit(X, Y)
    assert clf.examples_seen_ == 2 * len(Y)
    assert stage_of(clf).stage.examples == stage_of(once).stage.examples
    assert stage_of(clf).sums.examples == len(Y)
    texts = [" ".join(row) or "none" for row in Y[:200]]
    model = TextClassifier(OnlinePLTClassifier(second_stage="head")).partial_fit(texts, Y[:200])
    model.partial_fit(texts, Y[:200], again=True)
    model.shared().partial_fit(texts, Y[:200], again=True)
    assert stage_of(model.classifier_).stage.examples == 200 - 128


def test_rows_of_weight_0_tell_it_nothing() -> None:
    X, Y = near_centroids(n=600)
    some = np.arange(600) % 3 > 0
    clf = OnlinePLTClassifier(second_stage="head").fit(X, Y, sample_weight=some)
    left_out = [labels for labels, there in zip(Y, some, strict=True) if there]
    other = OnlinePLTClassifier(second_stage="head").fit(X[some], left_out)
    assert clf.second_stage_ == other.second_stage_ and clf.second_stage_["examples"] > 99
    assert np.array_equal(clf.predict_topk(X, 3)[1], other.predict_topk(X, 3)[1])


@pytest.mark.parametrize("names", ["met", "all"])
@pytest.mark.parametrize(
    "make",
    [OnlinePLTClassifier, lambda: PLTClassifier(second_stage="calibrate")],
    ids=["online", "batch"],
)
def test_names_of_labels_tell_it_nothing(make: Any, names: Any) -> None:
    texts = [f"word{i % 40} about {i % 7}" for i in range(400)]
    labels = [[f"label{i % 40}"] for i in range(400)]
    concepts = [Concept(f"label{i}", {"": f"name{i}"}) for i in range(300)]
    model = TextClassifier(make(), vocabulary=Vocabulary(concepts), names=names)
    plain = TextClassifier(make()).fit(texts, labels)
    examples = plain.second_stage_["examples"]
    assert examples > 0 and model.fit(texts, labels).second_stage_["examples"] == examples
    if hasattr(model.classifier_, "partial_fit"):
        in_pieces = clone(model)
        for i in range(0, 400, 33):
            in_pieces.partial_fit(texts[i : i + 33], labels[i : i + 33])
        assert in_pieces.second_stage_["examples"] == examples


@pytest.mark.parametrize("make", [LdSMClassifier, FastXMLClassifier])
@pytest.mark.parametrize("single", [False, True])
def test_forests_give_one_answer_too(make: Any, single: bool) -> None:
    X, Y = near_centroids(labels=12, n=900)
    Y = [row or ["none"] for row in Y]
    y: Any = [row[0] for row in Y] if single else Y
    clf = make(n_estimators=6, second_stage="calibrate").fit(X, y)
    let_places_differ(clf)
    X_test, _ = near_centroids(1, 40, 12)
    labels, scores = clf.predict_topk(X_test, clf.n_classes_)
    everything = np.zeros(labels.shape, np.float32)
    np.put_along_axis(everything, np.searchsorted(clf.classes_, labels), scores, axis=1)
    for threshold in (0.02, 0.2, np.linspace(0.01, 0.5, clf.n_classes_)):
        reached = everything.astype(np.float64) >= threshold
        found = clf.predict_proba(X_test, threshold=threshold).toarray()
        assert reached.any() and np.array_equal(found, np.where(reached, everything, 0))


@pytest.mark.parametrize(
    "make", [LOMTreeClassifier, MemoryTreeClassifier, LdSMClassifier, FastXMLClassifier]
)
@pytest.mark.parametrize("stage", ["calibrate", "head"])
def test_labels_are_explained_before_it_has_learnt(make: Any, stage: str) -> None:
    clf = make(second_stage=stage).fit([[1.0, 0.0], [0.0, 1.0]] * 2, ["cat", "dog"] * 2)
    assert clf.second_stage_["examples"] == 0
    explained = clf.explain([[1.0, 0.0]])
    assert explained.labels[0].label == clf.predict_topk([[1.0, 0.0]], 1)[0][0, 0]


def test_thresholds_tuned_in_the_core_and_a_second_stage_exclude_each_other() -> None:
    X, Y = near_centroids(n=20)
    with pytest.raises(ParameterError, match="second_stage='head'"):
        OnlinePLTClassifier(second_stage="head", thresholds="ofo").fit(X, Y)


@pytest.mark.parametrize("make", [OnlinePLTClassifier, MemoryTreeClassifier, LOMTreeClassifier])
def test_sums_stay_within_the_budget(make: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 64)).astype(np.float32)
    y = [f"l{label}" for label in rng.integers(0, 60, 600)]
    clf, parts = (make(second_stage="head", max_bytes="300kB", normalize=True) for _ in range(2))
    largest = 0
    for begin in range(0, 600, 60):
        clf.partial_fit(X[begin : begin + 60], y[begin : begin + 60])
        parts.partial_fit(X[begin : begin + 30], y[begin : begin + 30])
        parts.save(tmp_path / "parts.lg")
        parts = labelgrove.load(tmp_path / "parts.lg")
        parts.partial_fit(X[begin + 30 : begin + 60], y[begin + 30 : begin + 60])
        assert sum(clf.size()[part] for part in ("model_bytes", "memory_bytes")) <= 300_000
        largest = max(largest, stage_of(clf).sums.bytes)
        assert largest <= 300_000 * 3 // 16
    assert clf.fingerprint() == parts.fingerprint()
    free = make(second_stage="head").fit(X, y)
    assert stage_of(free).sums.bytes < 300_000
    small = make(second_stage="head", max_bytes="150kB").fit(X, y)
    assert stage_of(small).sums.bytes <= 150_000 * 3 // 16 < stage_of(free).sums.bytes


@pytest.mark.parametrize("make", [OnlinePLTClassifier, PLTClassifier, MemoryTreeClassifier])
def test_one_class_of_many_gets_the_probability_that_it_deserves(make: Any) -> None:
    rng = np.random.default_rng(0)
    means = rng.normal(size=(40, 30))
    y = rng.integers(40, size=3000)
    X = (means[y] + 1.1 * rng.normal(size=(3000, 30))).astype(np.float32)
    model = make().fit(X[:2000], y[:2000])
    P = model.predict_proba(X[2000:])
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert (model.classes_[P.argmax(axis=1)] == model.predict(X[2000:])).mean() > 0.999
    right = (P.argmax(axis=1) == y[2000:]).mean()
    assert P.max(axis=1).mean() == pytest.approx(right, abs=0.15)
