"""The link measured while a batch model is learnt: its counts, its curve, and what it is worth."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.metrics import log_loss

from labelgrove import PLTClassifier, _core
from labelgrove.metrics import expected_calibration_error
from naive import calibration as twin

HOLDING_OUT = 14  # stream of draws: see hash.hpp
SHARE = 100 / 800


def noisy(n: int = 800, labels: int = 12, seed: int = 0) -> tuple[Any, list[list[int]]]:
    """Examples whose labels only partly follow from their features."""
    rng = np.random.default_rng(seed)
    X = (rng.random((n, 40)) < 0.2).astype(np.float32)
    scores = X @ rng.normal(size=(40, labels)) + rng.normal(size=(n, labels))
    return X, [np.flatnonzero(row > 1.5).tolist() or [int(row.argmax())] for row in scores]


def arrays_of(clf: PLTClassifier) -> dict[str, Any]:
    return {name: np.array(array) for name, array in clf._learned.engine.save(False).items()}


def margins(clf: PLTClassifier, X: Any) -> npt.NDArray[np.float64]:
    """Of the labels of a flat tree; NaN where the squared hinge's link hardly tells them apart."""
    arrays = arrays_of(clf)
    del arrays["margins.negative"], arrays["margins.positive"], arrays["weights.rarity"]
    arrays["block.link"][:] = _core.Link.squared_hinge.value
    plain = PLTClassifier(tree="flat", link="squared_hinge").fit(X[:30], [[0]] * 30)
    plain._learned = clf._learned.__class__(
        **{**vars(clf._learned), "engine": _core.CompactPlt.load({"normalize": True}, arrays, True)}
    )
    P = plain.predict_proba(X).toarray().astype(float)
    with np.errstate(divide="ignore"):
        return np.where(P < 0.999, 1 - np.sqrt(-np.log(P)), np.nan)


def test_the_format_gives_the_numbers_of_the_twin() -> None:
    page = Path(__file__).parents[2] / "docs" / "format.md"
    [link] = re.findall(r"(?ms)^\*\*Link 4\.\*\*.*?(?=^\*\*)", page.read_text("utf-8"))
    words = " ".join(link.split())
    for phrase in (
        f"divided by {twin.POSITIVES_FOR_ONE} and rounded down, at most {twin.MOST_OF_EACH}.",
        f"at least {twin.FEWEST_CHILDREN} children",
        f"at least {twin.LEAST_DOUBT} and at most {1 - twin.LEAST_DOUBT}.",
        f"fewer than {twin.FEWEST_POSITIVES} right children",
        f"max(0, z + {-twin.KNOTS[0]:.0f}) + d max(0, z)",
        f"plus {twin.TOWARDS_ALL / 2:.0f} (a² +",
        f"below {twin.LEAST_SLOPE}, it is raised to that,",
        f"the value at z = −{-twin.KNOTS[0]:.0f} stays.",
    ):
        assert phrase in words


@settings(max_examples=30)
@given(
    st.integers(0, 2**20),
    st.floats(0.2, 4.0),
    st.integers(1, 3000),
    st.integers(1, 5),
    st.sampled_from([1.0, -1.0]),
)
@example(1, 2.0, 3000, 3, -1.0)
def test_the_curves_are_the_twins(
    seed: int, slope: float, n: int, rarities: int, of_first: float
) -> None:
    rng = np.random.default_rng(seed)
    m = np.clip(rng.normal(size=n) - 0.5, -3.99, 3.99)
    bins = ((m + twin.RANGE) / (2 * twin.RANGE) * twin.BINS).astype(int)
    there = rng.choice(twin.RARITIES, rarities, replace=False)
    rarity = rng.choice(there, n)
    odds = slope * m * np.where(rarity == there[0], of_first, 1.0)  # may fall
    right = rng.random(n) < 1 / (1 + np.exp(-odds))
    bins += twin.BINS * rarity
    size = twin.RARITIES * twin.BINS
    negatives, positives = (np.bincount(bins[right == r], minlength=size) for r in (False, True))
    by_rarity = [c.reshape(twin.RARITIES, twin.BINS).tolist() for c in (negatives, positives)]
    curves = twin.curves(*by_rarity)
    clf = PLTClassifier(tree="flat", bias=0.0).fit(np.eye(2, dtype=np.float32), [["a"], ["b"]])
    arrays = arrays_of(clf)
    arrays["block.link"][:] = _core.Link.calibrated.value
    arrays |= {
        "margins.negative": negatives.astype(np.uint64),
        "margins.positive": positives.astype(np.uint64),
        "weights.rarity": np.array([0, there[0], rng.choice(twin.RARITIES)], np.uint8),
    }
    engine = _core.CompactPlt.load({"normalize": False}, arrays, True)
    x = rng.uniform(-8, 8, (20, 1)).astype(np.float32)
    rows = np.arange(21), np.zeros(20, np.uint32), x.ravel()
    found, scores, *_ = engine.top_k(*rows, 2, 0, None, 1)
    of_root = twin.probability(curves[0], arrays["weights.bias"][0])
    weight = 2 / 3  # 2C / (1 + 2C |x|^2), C = 1: what one example of either label teaches
    for value, labels, p in zip(x.ravel(), found, scores, strict=True):
        for label, score in zip(labels, p, strict=True):
            curve = curves[arrays["weights.rarity"][1 + label]]
            expected = twin.probability(curve, float(value) * (weight if label == 0 else -weight))
            assert score == pytest.approx(of_root * expected, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("loss", ["squared_hinge", "log"])
def test_children_are_as_rare_as_they_are_among_their_nodes_examples(loss: str) -> None:
    rng = np.random.default_rng(0)
    X, Y = noisy(400)
    counts = [1, 2, 6, 7, 24, 25, 99, 100, 399, 400]
    Y = np.stack([rng.permutation(400) < count for count in counts], axis=1).astype(int)
    found = arrays_of(PLTClassifier(tree="flat", loss=loss).fit(X, Y)).get("weights.rarity")
    expected = [0, *(twin.rarity(count, 400) for count in counts)]
    assert len(set(expected)) == twin.RARITIES
    assert found is None if loss == "log" else found.tolist() == expected


def test_what_costs_have_done_is_not_undone_by_a_curve_for_each_rarity() -> None:
    X, Y = noisy()
    costs = np.where([row[0] == 3 for row in Y], 10.0, 1.0)
    for weighted in (
        PLTClassifier().fit(X, Y, sample_weight=costs),
        PLTClassifier(class_weight={3: 10.0}).fit(X, Y),
    ):
        arrays = arrays_of(weighted)
        assert not arrays["weights.rarity"].any()
        assert not arrays["margins.positive"][twin.BINS :].any()
    plain = arrays_of(PLTClassifier().fit(X, Y))
    assert plain["weights.rarity"].any()
    alike = arrays_of(PLTClassifier().fit(X, Y, sample_weight=np.ones(len(Y))))
    assert all(np.array_equal(plain[name], alike[name]) for name in plain)


def test_a_model_that_tells_no_rarities_has_one_curve() -> None:
    X, Y = noisy()
    clf = PLTClassifier().fit(X, Y)
    arrays = arrays_of(clf)
    assert len(set(arrays["weights.rarity"].tolist())) > 1
    before = dict(arrays)
    del before["weights.rarity"]
    for name in ("margins.negative", "margins.positive"):
        before[name] = arrays[name].reshape(twin.RARITIES, twin.BINS).sum(axis=0)
    of_one = {**arrays, "weights.rarity": np.zeros_like(arrays["weights.rarity"])}
    for name in ("margins.negative", "margins.positive"):
        of_one[name] = np.concatenate([before[name], np.zeros(4 * twin.BINS, np.uint64)])
    rows = csr_array(X)
    engines = [_core.CompactPlt.load({"normalize": True}, a, True) for a in (before, of_one)]
    of_rows = rows.indptr.astype(np.int64), rows.indices.astype(np.uint32), rows.data
    old, new = (engine.top_k(*of_rows, 5, 0, None, 1) for engine in engines)
    assert all(np.array_equal(a, b) for a, b in zip(old[:2], new[:2], strict=True))
    saved = engines[0].save(False)
    assert "weights.rarity" not in saved
    again = _core.CompactPlt.load({"normalize": True}, saved, True).top_k(*of_rows, 5, 0, None, 1)
    assert all(np.array_equal(a, b) for a, b in zip(old[:2], again[:2], strict=True))


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_a_compact_copy_keeps_rarities_and_counts(dtype: str) -> None:
    X, Y = noisy()
    clf = PLTClassifier(n_trees=2, arity=3, max_leaf_size=4).fit(X, Y)
    small = clf.compact(dtype=dtype)
    before, after = arrays_of(clf), arrays_of(small)
    assert len(set(before["weights.rarity"].tolist())) > 1
    for name in ("weights.rarity", "margins.negative", "margins.positive"):
        assert np.array_equal(before[name], after[name])
    expected, found = (model.predict_proba(X).toarray() for model in (clf, small))
    assert found == pytest.approx(
        expected, abs={"float32": 0.0, "float16": 0.01, "int8": 0.05}[dtype]
    )


def test_classes_that_are_far_apart_are_sure() -> None:
    rng = np.random.default_rng(0)
    rare = rng.random(8000) < 0.005
    X = rng.normal(size=(8000, 20)) + 1.2 * rare[:, None]
    clf = PLTClassifier().fit(X[:4000], rare[:4000])
    p = clf.predict_proba(X[4000:])[:, 1]
    assert p[~rare[4000:]].mean() < 0.015
    knowing_nothing = log_loss(rare[4000:], np.full(4000, rare.mean()))
    assert log_loss(rare[4000:], p) < 0.4 * knowing_nothing


def test_every_example_held_out_is_counted_once_for_every_label() -> None:
    X, Y = noisy()
    arrays = arrays_of(PLTClassifier(tree="flat", random_state=3).fit(X, Y))
    root, first = 1, 0
    held = [
        row
        for i, row in enumerate(Y)
        if (_core.draw(3, HOLDING_OUT, root ^ (first << 32), i) >> 40) * 2.0**-24 < SHARE
    ]
    assert 40 < len(held) < 140
    positives, negatives = (int(arrays[f"margins.{s}"].sum()) for s in ("positive", "negative"))
    assert positives == sum(map(len, held))
    assert positives + negatives == 12 * len(held)


def test_what_was_held_out_is_learnt_in_the_end() -> None:
    X, Y = noisy()
    exact: dict[str, Any] = {"tree": "flat", "tol": 1e-4, "max_iter": 2000, "weight_threshold": 0.0}
    ours = margins(PLTClassifier(**exact).fit(X, Y), X)
    P = PLTClassifier(link="squared_hinge", **exact).fit(X, Y).predict_proba(X).toarray()
    sure = np.isnan(ours)
    assert (P[sure] > 0.99).all()
    assert np.exp(-((1 - ours[~sure]) ** 2)) == pytest.approx(P[~sure], abs=2e-3)


def test_probabilities_are_right_as_often_as_they_say() -> None:
    rng = np.random.default_rng(1)
    X = (rng.random((4000, 60)) < 0.1).astype(np.float32)
    y = (X @ rng.normal(size=(60, 80)) + rng.normal(size=(4000, 80))).argmax(axis=1)
    told = csr_array((np.ones(1000, int), (np.arange(1000), y[3000:])), shape=(1000, 80))

    def error(**parameters: Any) -> float:
        clf = PLTClassifier(arity=4, max_leaf_size=20, **parameters)
        P = clf.fit(X[:3000], y[:3000]).predict_proba(X[3000:], top_k=5)
        wide = csr_array((P.data, clf.classes_[P.indices], P.indptr), shape=told.shape)
        return float(expected_calibration_error(told, wide))

    measured, fixed = error(), error(link="squared_hinge")
    assert measured < fixed / 2


def test_a_single_label_is_calibrated_by_the_rows_without_it() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 5))
    p = 1 / (1 + np.exp(1 - X[:, 0]))
    Y = [["a"] if right else [] for right in rng.random(4000) < p]
    found = PLTClassifier(random_state=0).fit(X[:3000], Y[:3000]).predict_proba(X[3000:])
    assert np.abs(found[:, 0] - p[3000:]).mean() < 0.1


def test_siblings_of_one_rarity_keep_their_order() -> None:
    X, Y = noisy()
    Y[0] = list(range(12))  # so that the children are in the order of the classes
    clf = PLTClassifier(tree="flat").fit(X, Y)
    m, P = margins(clf, X), clf.predict_proba(X).toarray()
    rarities = arrays_of(clf)["weights.rarity"][1:]
    assert len(set(rarities.tolist())) > 1
    for row, scores in zip(m, P, strict=True):
        for rarity in set(rarities.tolist()):
            there = np.flatnonzero(~np.isnan(row) & (rarities == rarity))
            order = there[np.argsort(row[there])]
            assert (np.diff(scores[order]) >= 0).all()


@pytest.mark.parametrize(("n", "share"), [(100, 0.3), (400, 0.25), (2000, 0.1)])
def test_of_fewer_examples_more_are_held_out(n: int, share: float) -> None:
    X, Y = noisy(n)
    arrays = arrays_of(PLTClassifier(tree="flat").fit(X, Y))
    counted = arrays["margins.positive"].sum() + arrays["margins.negative"].sum()
    assert abs(counted / (12 * n) - share) < 0.05


def test_few_examples_are_all_learnt_from_at_once() -> None:
    X, Y = noisy(99)
    default, plain = (PLTClassifier(link=link).fit(X, Y) for link in (None, "squared_hinge"))
    ours, theirs = arrays_of(default), arrays_of(plain)
    assert ours.keys() == theirs.keys()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize(("n", "measured"), [(123, False), (124, True)])
def test_a_link_is_not_measured_if_the_second_stage_has_seen_the_fixed_one(
    n: int, measured: bool
) -> None:
    X, Y = noisy(n)
    assert arrays_of(PLTClassifier().fit(X, Y))["margins.positive"].sum() > 0
    ours, fixed = (
        arrays_of(PLTClassifier(link=link, second_stage="calibrate").fit(X, Y))
        for link in (None, "squared_hinge")
    )
    assert ("margins.positive" in ours) == measured
    assert measured or all(ours[name].tobytes() == fixed[name].tobytes() for name in fixed)


def test_nor_if_what_the_second_stage_has_seen_was_too_little_to_measure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    train, links = PLTClassifier._train, list[bool]()

    def watched(*given: Any) -> Any:
        engine = train(*given)
        links.append(engine.batch.link_is_measured)
        return engine

    monkeypatch.setattr(PLTClassifier, "_train", watched)
    X, Y = noisy(2000)
    y: list[list[int]] = [row[:1] if i % 9 == 0 else [] for i, row in enumerate(Y)]
    for seed in range(8):
        PLTClassifier(random_state=seed).fit(X, y)
        plain = links.pop()
        PLTClassifier(random_state=seed, second_stage="calibrate").fit(X, y)
        if plain and not links[0]:
            assert links == [False, False]
            return
        links.clear()
    raise AssertionError("every seed measures both links, or none")


def test_an_example_that_counts_nothing_calibrates_nothing() -> None:
    X, Y = noisy(1200)
    weights = np.ones(len(Y))
    weights[:600] = 0
    arrays = arrays_of(PLTClassifier(tree="flat").fit(X, Y, sample_weight=weights))
    counted = int(arrays["margins.positive"].sum() + arrays["margins.negative"].sum())
    assert 0 < counted < 12 * 0.2 * 600
