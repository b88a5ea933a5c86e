"""What fits into the budget of trees of regressors, and what is forgotten for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.driver import dense_rows, example, labels_of, rows, save_bytes, weights_of
from labelgrove import LOMTreeClassifier, MemoryTreeClassifier, ModelStateError, _core

Row = tuple[dict[int, float], int, float]
BUDGET = 100_000

TREES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "memory tree": (_core.MemoryTree, MemoryTreeClassifier, {}),
    "nearest": (_core.MemoryTree, MemoryTreeClassifier, {"classifiers": False}),
    "LOMtree": (_core.LomTree, LOMTreeClassifier, {}),
    "LOMtree, recycling": (
        _core.LomTree,
        LOMTreeClassifier,
        {"max_nodes": 20, "swap_resistance": 1, "learner": "sgd"},
    ),
}
each_tree = pytest.mark.parametrize("name", TREES)


def options(name: str, **changes: Any) -> dict[str, Any]:
    estimator, given = TREES[name][1:]
    clf = estimator(**{**given, "normalize": False, **changes})
    saved: dict[str, Any] = clf._start().options.to_dict()
    return saved


def wide_stream(seed: int, n: int, *, weighted: bool = False) -> list[Row]:
    """Twenty labels, more of them later, and many rare features; some rows have no gaps."""
    rng = np.random.default_rng(seed)
    stream = []
    for i in range(n):
        ids = np.unique((1200 * rng.random(24) ** 2).astype(int))
        if rng.random() < 0.1:
            ids = np.arange(len(ids))
        x = {int(f): float(rng.uniform(0.1, 1)) for f in ids}
        weight = float(rng.choice([0.0, 0.5, 2.0])) if weighted and i % 3 == 2 else 1.0
        stream.append((x, int(rng.integers(min(20, i + 1)) + i // 100), weight))
    return stream


def learn(engine: Any, stream: Sequence[Row]) -> None:
    examples = [example(x, [y], weight=w) for x, y, w in stream]
    engine.learn(
        *rows(examples), *labels_of(examples), 0, len(examples), 1, weights=weights_of(examples)
    )


def held(engine: Any) -> int:
    size = engine.size()
    return int(size["model_bytes"] + size.get("memory_bytes", 0))


@each_tree
@settings(max_examples=3, deadline=None)
@given(
    seed=st.integers(0, 99),
    loads=st.sets(st.integers(1, 399), min_size=1, max_size=3),
    weighted=st.booleans(),
)
def test_a_budget_holds_at_any_time_and_loading_decides_nothing(
    name: str, seed: int, loads: set[int], weighted: bool
) -> None:
    stream, given = wide_stream(seed, 400, weighted=weighted), options(name, max_bytes=BUDGET)
    make = TREES[name][0]
    whole, parts, free = make(given), make(given), make(options(name))
    learn(free, stream)
    assert held(free) > 1.1 * BUDGET
    for begin in range(0, len(stream), 20):
        learn(whole, stream[begin : begin + 20])
        assert held(whole) <= BUDGET
    for begin, end in zip([0, *sorted(loads)], [*sorted(loads), 400], strict=True):
        learn(parts, stream[begin:end])
        assert held(parts) <= BUDGET
        parts = make.load(given, parts.save(False), False)
        assert held(parts) <= BUDGET
    assert save_bytes(parts) == save_bytes(whole)
    assert whole.size()["weights"] > 100


@each_tree
def test_a_budget_that_is_never_reached_changes_nothing(name: str) -> None:
    make, stream = TREES[name][0], wide_stream(8, 80)
    free, roomy = make(options(name)), make(options(name, max_bytes=10**9))
    for engine in (free, roomy):
        learn(engine, stream)
    mine = save_bytes(roomy)
    mine.pop("budget", None)
    assert mine == save_bytes(free)


def test_classes_keep_the_nodes_that_tell_them_apart() -> None:
    rng = np.random.default_rng(5)
    names = rng.permutation(np.repeat(np.arange(40), 12))
    noise = rng.random((len(names), 1000), np.float32) < 0.03
    X = np.hstack([2 * np.eye(40, dtype=np.float32)[names], noise])
    free = LOMTreeClassifier().fit(X, names)
    half = LOMTreeClassifier(max_bytes=free.size()["model_bytes"] // 2).fit(X, names)
    assert free.score(X, names) == 1
    assert half.score(X, names) > 0.9


def test_recycled_nodes_are_among_those() -> None:
    engine = _core.LomTree(options("LOMtree, recycling", max_bytes=BUDGET))
    learn(engine, wide_stream(7, 400))
    assert engine.save(False)["node.swaps"].any()


def worths(saved: dict[str, Any], learner: str) -> dict[tuple[int, int], float]:
    """The value of every weight except biases, by regressor and feature."""
    owner = np.repeat(np.arange(len(saved["block.features"])), saved["block.features"])
    ends = np.cumsum(saved["block.features"], dtype=np.int64)
    biases = ends - saved["block.features"].astype(np.int64)
    weights, states = (
        np.delete(saved[f"weights.{name}"], biases + np.arange(len(biases)))
        for name in ("value", "state")
    )
    learnt = 1 / states - 1 if learner == "arow" else np.sqrt(states)
    keys = zip(owner.tolist(), saved["weights.feature"].tolist(), strict=True)
    return dict(zip(keys, np.abs(weights * learnt).tolist(), strict=True))


@pytest.mark.parametrize(
    ("name", "n", "changes"),
    [
        ("memory tree", 110, {"max_examples": 3}),
        ("LOMtree", 150, {"max_nodes": 9, "swap_resistance": 10**6}),
        ("LOMtree", 150, {"max_nodes": 9, "swap_resistance": 10**6, "learner": "adagrad"}),
    ],
)
def test_what_is_worth_least_is_forgotten(name: str, n: int, changes: dict[str, Any]) -> None:
    engine = TREES[name][0](options(name, max_bytes=BUDGET, **changes))
    tree, before, times = b"", {}, 0
    for row in wide_stream(9, n):
        learn(engine, [row])
        saved = engine.save(False)
        after = worths(saved, changes.get("learner", "arow"))
        if saved["node.left"].tobytes() == tree:  # otherwise regressors are numbered differently
            others = {key: w for key, w in before.items() if key[1] not in row[0]}
            lost = [w for key, w in others.items() if key not in after]
            kept = [w for key, w in others.items() if after.get(key) == w]
            if lost:
                times += 1
                assert max(lost) < min(kept)
        tree, before = saved["node.left"].tobytes(), after
    assert times > 2


@pytest.mark.parametrize("estimator", [MemoryTreeClassifier, LOMTreeClassifier])
def test_labels_that_do_not_fit_are_told_and_cost_nothing(estimator: Callable[..., Any]) -> None:
    X = np.eye(900, dtype=np.float32)
    clf = estimator(max_bytes=BUDGET)
    with pytest.raises(ModelStateError, match="max_bytes=100000: .* expected a larger budget"):
        clf.partial_fit(X, [f"l{i}" for i in range(900)])
    assert 10 < clf.examples_seen_ < 900
    assert clf.label_counts_.sum() == clf.examples_seen_
    assert clf.predict_topk(X[:3], 1)[0].shape == (3, 1)


def test_how_many_features_differ_is_known_whatever_has_touched_them() -> None:
    """Sparse and dense examples in turn, which learn where weights lie."""
    given = options("LOMtree", max_bytes=10**6, max_nodes=1)
    engine = _core.LomTree(given)
    learn(engine, [({0: 1.0}, 0, 1.0), ({1: 1.0}, 1, 1.0)])
    rng = np.random.default_rng(3)
    for turn in range(6):
        x = {int(f): 1.0 for f in rng.integers(0, 64, 9)}
        if turn % 2:
            examples = [example(x, [turn % 3], width=64)]
            engine.learn(*dense_rows(examples), *labels_of(examples), 0, 1, 1)
        else:
            learn(engine, [(x, turn % 3, 1.0)])
        again = _core.LomTree.load(given, engine.save(False), False)
        assert engine.size()["weights"] == again.size()["weights"]
