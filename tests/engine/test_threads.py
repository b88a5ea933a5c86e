"""The same bytes for any number of threads and any division of a stream into calls."""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import pytest

from engine.driver import (
    LEARNERS,
    POLICIES,
    Example,
    LabelBook,
    dense_rows,
    example,
    learn,
    options,
    rows,
    save_bytes,
)
from labelgrove import LOMTreeClassifier, MemoryTreeClassifier, OnlinePLTClassifier, _core
from naive.learners import instance

# The core admits examples in windows of 512 while helpers process the previous window.
LENGTH, REMOVED_AFTER = 1300, 600


@cache
def stream(seed: int, width: int = 30) -> tuple[list[Example], list[int]]:
    """Return examples with ever new labels, and labels to be removed half-way."""
    rng = random.Random(seed)
    book = LabelBook()
    examples: list[Example] = []
    removed: list[int] = []
    for t in range(LENGTH):
        if t == REMOVED_AFTER:
            removed = [book.remove(rng.randrange(100)) or 0 for _ in range(30)]
        x = instance({f: rng.uniform(-1, 1) for f in rng.sample(range(width), width // 3)})
        names = [int((10 + t / 4) * rng.random() ** 2) for _ in range(rng.randint(0, 5))]
        examples.append(example(x, book.ids_of(names), width=width if seed % 2 else 0))
    return examples, removed


def learnt(
    given: dict[str, object],
    seed: int,
    *,
    threads: int = 1,
    run: int | None = None,
) -> dict[str, bytes]:
    examples, removed = stream(seed)
    engine = _core.OnlinePlt(given)
    dense = bool(seed % 2)
    learn(engine, examples[:REMOVED_AFTER], threads=threads, run=run, dense=dense)
    engine.remove_labels(np.array(removed, np.uint32))
    learn(engine, examples[REMOVED_AFTER:], threads=threads, run=run, dense=dense)
    assert engine.examples_seen == LENGTH
    return save_bytes(engine)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("learner", LEARNERS)
def test_same_bytes_for_any_threads_and_runs(policy: str, learner: str) -> None:
    # Every policy and every learner meets every replay, and both sparse and dense rows.
    case = POLICIES.index(policy) + LEARNERS.index(learner)
    replay, memory = [(0, 0), (2, 0), ("auto", 20)][case % 3]
    given = options(
        policy=policy, learner=learner, max_leaves=6, replay=replay, replay_memory=memory, l2=0.01
    )
    seed = case % 2
    expected = learnt(given, seed)
    for threads, run in [[(2, None), (8, 40)], [(3, 100), (1, 1)]][case // 2 % 2]:
        assert learnt(given, seed, threads=threads, run=run) == expected, (threads, run)


def test_same_bytes_in_the_largest_calls_over_many_nodes() -> None:
    """Enough nodes for many overlaps between threads."""
    given = options(policy="random", max_leaves=3, replay=1)
    expected = learnt(given, seed=4)
    for _ in range(20):
        assert learnt(given, seed=4, threads=8) == expected


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_same_answers_for_any_threads(threads: int) -> None:
    examples, _ = stream(0)
    engine = _core.OnlinePlt(options(max_leaves=6))
    learn(engine, examples)
    for given in (rows(examples), dense_rows(stream(1)[0])):
        alone = engine.top_k(*given, 5, 0, None, 1)
        many = engine.top_k(*given, 5, 0, None, threads)
        assert [a.tobytes() for a in alone] == [a.tobytes() for a in many]
        scope = engine.scope(np.array([0.02], np.float32))
        alone = engine.above_threshold(*given, scope, 1)
        many = engine.above_threshold(*given, scope, threads)
        assert [a.tobytes() for a in alone] == [a.tobytes() for a in many]
        assert len(alone[1]) > 100


@pytest.mark.parametrize("engine", ["OnlinePlt", "LomTree", "MemoryTree"])
def test_a_call_looks_at_no_other_rows_than_its_own(engine: str) -> None:
    """Otherwise the cost of a stream of n rows, cut into runs, would be quadratic in n."""
    estimator = {
        "OnlinePlt": OnlinePLTClassifier,
        "LomTree": LOMTreeClassifier,
        "MemoryTree": MemoryTreeClassifier,
    }[engine]
    model = estimator().fit([[1.0, 0.0], [0.0, 1.0]], ["a", "b"])
    learned = model._learned
    arrays = learned.check_rows([[1.0, 0.0]] * 3).arrays
    indptr, labels = np.array([0, 1, 2, 3]), np.array([1, 2**31, 0], np.uint32)
    for begin, end in ((0, 1), (2, 3), (3, 3)):
        learned.engine.learn(*arrays, indptr, labels, begin, end, 1)
    for begin, end in ((1, 2), (0, 3), (2, 4), (2, 1)):
        with pytest.raises(ValueError, match="do not fit together|out of bounds"):
            learned.engine.learn(*arrays, indptr, labels, begin, end, 1)
