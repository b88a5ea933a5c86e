"""What fits into a budget, what is forgotten for it, and that nothing else influences this."""

from __future__ import annotations

import pickle
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from contract.kit import noise, same_answers, state
from engine.driver import Block, Example, blocks, learn, options, save_bytes
from labelgrove import (
    MemoryTreeClassifier,
    ModelStateError,
    OnlinePLTClassifier,
    ParameterError,
    PLTClassifier,
    _core,
    load,
)

BUDGET = 90_000


def stream(seed: int, n: int, labels: int = 12) -> list[Example]:
    """Some frequent and many rare features and labels."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        ids = np.unique((400 * rng.random(15) ** 2).astype(int))
        if rng.random() < 0.2:
            ids = np.arange(len(ids))  # without gaps: kept without ids
        values = rng.uniform(-1, 1, len(ids)).astype(np.float32)
        names = np.unique((labels * rng.random(rng.integers(0, 3)) ** 2).astype(int))
        rows.append(Example(tuple(ids.tolist()), tuple(values.tolist()), tuple(names.tolist())))
    return in_order_of_arrival(rows)


def in_order_of_arrival(rows: list[Example]) -> list[Example]:
    ids: dict[int, int] = {}
    return [
        Example(row.ids, row.values, tuple(ids.setdefault(name, len(ids)) for name in row.labels))
        for row in rows
    ]


def held(engine: _core.OnlinePlt) -> int:
    size = engine.size()
    return int(size["model_bytes"] + size["memory_bytes"])


def bounded(**changes: Any) -> dict[str, Any]:
    budget = changes.pop("max_bytes", BUDGET)
    given = {"replay": 1, "arity": 3, "max_leaves": 4, "normalize": True, **changes}
    return {**options(**given), "max_bytes": budget}


LEARNERS = ["arow", "adagrad", "sgd"]


@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 99),
    learner=st.sampled_from(LEARNERS),
    cuts=st.sets(st.integers(1, 149), max_size=3),
    loads=st.sets(st.integers(1, 149), max_size=2),
    threads=st.sampled_from([1, 2, 3]),
)
def test_threads_cuts_and_loading_decide_nothing(
    seed: int, learner: str, cuts: set[int], loads: set[int], threads: int
) -> None:
    given, rows = bounded(learner=learner), stream(seed, 150)
    whole, parts = _core.OnlinePlt(given), _core.OnlinePlt(given)
    learn(whole, rows)
    for begin, end in zip([0, *sorted(cuts | loads)], [*sorted(cuts | loads), 150], strict=True):
        if begin in loads:
            parts = _core.OnlinePlt.load(given, parts.save(False), False)
        learn(parts, rows[begin:end], threads=threads)
    assert save_bytes(parts) == save_bytes(whole)
    assert held(whole) <= BUDGET


def worth(block: Block, row: int, learner: str) -> int:
    """The first 16 bits of a row's worth, computed in 32."""
    one = np.float32(1)
    weights, states = block.cells[row].astype(np.float32)
    largest = np.abs(weights).max()
    if learner == "arow":
        sharing = max(np.count_nonzero(block.places == (np.uint32(row) | np.uint32(2**31))), 1)
        columns = block.children + block.theta
        room = 2 if columns <= 2 else -(-columns // 4) * 4
        taken = room * 3 + 5 + sharing * 38
        evidence = one / states.min() - one
        largest *= np.sqrt(np.sqrt(evidence / np.float32(taken)) / np.float32(sharing))
    return int(largest.view(np.uint32)) >> 16


@pytest.mark.parametrize("learner", LEARNERS)
def test_what_is_worth_least_is_forgotten_and_nothing_else_changes(learner: str) -> None:
    given = bounded(learner=learner, replay=0)
    engine, times = _core.OnlinePlt(given), 0
    after: dict[int, Block] = {}
    for row in stream(5, 160):
        before = after
        learn(engine, [row])
        assert held(engine) <= BUDGET
        if not after and held(engine) < 0.4 * BUDGET:
            continue  # nothing is forgotten yet
        after = blocks(engine)
        lost, kept = [], []
        for node, block in before.items():
            now = after.get(node)
            if now is None or (now.children, now.theta) != (block.children, block.theta):
                continue  # a new leaf changes the columns
            for i, feature in enumerate(block.features):
                if feature in row.ids:
                    continue
                (kept if feature in now.rows else lost).append(
                    worth(block, int(block.places[i] & np.uint32(2**31 - 1)), learner)
                )
                if feature in now.rows:
                    assert np.array_equal(now.rows[feature], block.rows[feature])
        if lost:
            times += 1
            assert max(lost) < min(kept)
        if times == 4:
            return
    pytest.fail("too little was forgotten")


def test_little_of_a_budget_is_kept_free() -> None:
    engine = _core.OnlinePlt(bounded(max_bytes=600_000))
    rows = stream(2, 1200, labels=900)
    learn(engine, rows[:600])
    shares = []
    for row in rows[600:]:
        learn(engine, [row])
        shares.append(held(engine) / 600_000)
    # 579 labels and their names are counted with 256 bytes each, a quarter of the budget.
    assert max(shares) <= 1
    assert np.mean(shares) > 0.42


def test_a_budget_that_is_never_reached_changes_nothing() -> None:
    rows = stream(1, 100)
    free, roomy = _core.OnlinePlt(bounded(max_bytes=0)), _core.OnlinePlt(bounded(max_bytes=10**9))
    for engine in (free, roomy):
        learn(engine, rows)
    mine = save_bytes(roomy)
    assert mine.pop("budget")
    assert mine == save_bytes(free)


def test_remembered_examples_count() -> None:
    given = bounded(replay=2)
    engine = _core.OnlinePlt(given)
    learn(engine, stream(2, 600))
    assert engine.size()["memory_bytes"] < BUDGET / 2
    assert 0 < engine.save(False)["budget"][1] < 600
    assert held(engine) <= BUDGET


def test_remembered_examples_have_a_part_of_what_the_tree_leaves() -> None:
    engine = _core.OnlinePlt(bounded(max_bytes=300_000))
    learn(engine, stream(2, 600, labels=300))  # the tree takes more than half of the budget
    assert engine.size()["memory_bytes"] < 300_000 / 8


def test_estimators_take_sizes_and_keep_them(tmp_path: Any) -> None:
    X, Y = noise(n=200, d=60)
    small = {"max_bytes": "200kB", "arity": 3, "max_leaves": 4, "n_trees": 2}
    clf = OnlinePLTClassifier(**small).fit(X, Y)
    size = clf.size()
    assert size["model_bytes"] + size["memory_bytes"] <= 200_000
    clf.save(tmp_path / "small.lg")
    again = load(tmp_path / "small.lg")
    assert same_answers(again, clf, X)
    assert state(again.partial_fit(X, Y)) == state(clf.partial_fit(X, Y))
    for bad in ["much", "10kB", 0, -1, 1.5]:
        with pytest.raises(ParameterError, match="max_bytes"):
            OnlinePLTClassifier(max_bytes=bad).fit(X, Y)


def test_trees_share_what_a_batch_model_leaves_of_the_budget() -> None:
    rows = stream(3, 300)
    single, several = (
        _core.OnlinePlt(bounded()),
        _core.OnlinePlt(bounded(n_trees=2, max_bytes=2 * BUDGET)),
    )
    for engine in (single, several):
        learn(engine, rows)
    saved = save_bytes(several)
    assert {name: saved[name] for name in save_bytes(single)} == save_bytes(single)
    X, Y = noise(n=200, d=60)
    learned = PLTClassifier(n_trees=2, normalize=True).fit(X, Y)._learned
    assert learned is not None
    batch = learned.engine.batch
    for most in (1000, batch.size()["model_bytes"] + 1):  # nothing is left
        heir = _core.OnlinePlt.from_batch(
            bounded(n_trees=2, max_bytes=most), batch.save(True), None
        )
        with pytest.raises(_core.BudgetExceeded):
            learn(heir, [Example((0,), (1.0,), (0,))])


def test_a_budget_that_is_too_small_is_told_and_costs_nothing() -> None:
    X = sp.eye_array(400, dtype=np.float32, format="csr")
    names = [f"l{i}" for i in range(400)]
    clf = OnlinePLTClassifier(max_bytes=100_000, arity=2, max_leaves=2)
    with pytest.raises(ModelStateError, match="max_bytes=100000: .* expected a larger budget"):
        clf.partial_fit(X, names)
    assert 10 < clf.examples_seen_ < 400
    assert clf.label_counts_.sum() == clf.examples_seen_
    assert same_answers(pickle.loads(pickle.dumps(clf)), clf, X[:10])


def test_a_long_row_at_a_wide_node_fits_into_a_budget_of_its_own_weights() -> None:
    rng, n, columns, features = np.random.default_rng(7), 120, 101, 300
    rows = [
        Example(
            tuple(np.sort(rng.choice(2000, features, replace=False)).tolist()),
            (1.0,) * features,
            (i % (columns - 1),),
        )
        for i in range(n)
    ]
    budget = features * columns * 8
    engine = _core.OnlinePlt(bounded(max_leaves=columns, max_bytes=budget))
    for row in rows:
        learn(engine, [row])
        assert held(engine) <= budget
    assert engine.examples_seen == n


@pytest.mark.parametrize("threads", [1, 3])
def test_what_comes_before_a_refused_example_is_learnt(threads: int) -> None:
    given, rows = bounded(max_bytes=300_000), stream(6, 60)
    wide = Example(tuple(range(8000)), (1.0,) * 8000, rows[0].labels)
    learnt, refused = _core.OnlinePlt(given), _core.OnlinePlt(given)
    learn(learnt, rows)
    with pytest.raises(_core.BudgetExceeded):
        learn(refused, [*rows, wide], threads=threads)
    assert {**save_bytes(refused), "budget": b""} == {**save_bytes(learnt), "budget": b""}


def ones(columns: Any) -> sp.csr_array:
    return sp.csr_array((np.ones(len(columns)), columns, [0, len(columns)]), shape=(1, 4000))


@pytest.mark.parametrize(
    ("estimator", "columns", "names"),
    [
        (OnlinePLTClassifier, range(1000, 4000), ["l1"]),
        (OnlinePLTClassifier, range(1000, 4000), ["l1", "new"]),
        (OnlinePLTClassifier, range(3), [f"new{i}" for i in range(4000)]),
        (MemoryTreeClassifier, range(3), [f"new{i}" for i in range(4000)]),
    ],
    ids=["many features", "and a new label", "many new labels", "memory tree"],
)
def test_nothing_is_forgotten_for_an_example_that_cannot_fit(
    estimator: Any, columns: range, names: list[str]
) -> None:
    rng = np.random.default_rng(0)
    X = sp.vstack([ones(np.sort(rng.choice(500, 5, replace=False))) for _ in range(300)])
    Y = [[f"l{i % 20}"] for i in range(300)]
    clf = estimator(max_bytes=200_000).partial_fit(X, Y)
    before = clf.size()["weights"], clf.predict_topk(X, 3)[1].tolist(), clf.classes_.tolist()
    with pytest.raises(ModelStateError, match="expected a larger budget"):
        clf.partial_fit(ones(np.asarray(columns)), [names])
    after = clf.size()["weights"], clf.predict_topk(X, 3)[1].tolist(), clf.classes_.tolist()
    assert after == before
    assert clf.partial_fit(X[:9], Y[:9]).examples_seen_ == 309


@pytest.mark.parametrize("policy", ["best-greedy", "random", "cpet", "complete"])
@pytest.mark.parametrize("preset", [None, "paper"])
def test_a_refused_example_leaves_a_model_that_can_be_saved(
    policy: str, preset: str | None, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    shape = {"arity": 2, "max_leaves": 2, "policy": policy}
    clf = OnlinePLTClassifier(**shape, **({"preset": preset} if preset else {}), max_bytes=100_000)
    refused = 0
    for i in range(3000):
        columns = np.sort(rng.choice(200, int(rng.integers(1, 4)), replace=False))
        ones = np.ones(len(columns), np.float32)
        x = sp.csr_array((ones, columns, [0, len(columns)]), shape=(1, 200))
        try:
            clf.partial_fit(x, [[f"l{i}", f"m{i}"]])
        except ModelStateError:
            refused += 1
            clf.save(tmp_path / "m.lg")
            assert same_answers(load(tmp_path / "m.lg"), clf, x)
        if refused == 8:
            return
    raise AssertionError("expected more labels than fit")


@pytest.mark.parametrize("second_stage", ["calibrate", "head"])
@pytest.mark.parametrize(
    "estimator", [partial(OnlinePLTClassifier, arity=3, max_leaves=4), MemoryTreeClassifier]
)
def test_the_second_stage_learns_from_all_that_comes_before_a_refused_example(
    estimator: Any, second_stage: str
) -> None:
    X, Y = noise(n=400, d=60)
    given = sp.vstack([sp.csr_array(X[:300]), sp.csr_array(X[300:])], format="csr")
    Y[300] = [f"new{i}" for i in range(4000)]
    whole, parts = (estimator(max_bytes="1MB", second_stage=second_stage) for _ in range(2))
    for begin, end in [(0, 100), (100, 180), (180, 300), (300, 301), (301, 400)]:
        with pytest.raises(ModelStateError) if begin == 300 else nullcontext():
            parts.partial_fit(given[begin:end], Y[begin:end])
    with pytest.raises(ModelStateError):
        whole.partial_fit(given, Y)
    whole.partial_fit(given[301:], Y[301:])
    assert whole.second_stage_["examples"] == parts.second_stage_["examples"] > 100
    assert whole.fingerprint() == parts.fingerprint()


def test_what_is_inherited_counts() -> None:
    X, Y = noise(n=200, d=60)
    batch = PLTClassifier(arity=3, max_leaf_size=4).fit(X, Y)
    online = OnlinePLTClassifier.from_batch(batch, max_bytes="300kB", arity=3, max_leaves=4)
    online.partial_fit(X, Y)
    size = online.size()
    assert size["model_bytes"] + size["memory_bytes"] <= 300_000
