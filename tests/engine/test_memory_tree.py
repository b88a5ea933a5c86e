"""The engine of the memory tree grows the tree of its plain twin, memory for memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.driver import NONE, dense_rows, example, labels_of, rows, weights_of
from labelgrove import MemoryTreeClassifier, _core
from labelgrove.models._memory_tree import MemoryTreeOptions
from naive.learners import BIAS, Instance
from naive.memory_tree import MemoryTree
from naive.streams import WEIGHTS, instances
from naive.test_naive_memory_tree import random_stream

Row = tuple[Instance, tuple[int, ...], float]

SEED = 3


def options(**changes: Any) -> dict[str, Any]:
    plain = MemoryTreeClassifier(random_state=SEED, normalize=False).get_params()
    parameters = {**plain, **changes}
    return MemoryTreeOptions.from_parameters(parameters).to_dict()


def learn(engine: Any, stream: Sequence[Row], *, width: int = 0) -> None:
    examples = [example(x, labels, width=width, weight=w) for x, labels, w in stream]
    given = (dense_rows if width else rows)(examples)
    engine.learn(*given, *labels_of(examples), 0, len(examples), 1, weights=weights_of(examples))


def twin_of(**parameters: Any) -> MemoryTree:
    return MemoryTree(lambda stream, n, sub: _core.draw(SEED, stream, n, sub), **parameters)


def assert_same(engine: Any, twin: MemoryTree) -> None:
    saved = engine.save(False)
    children = [
        (NONE, NONE) if v.is_leaf else tuple(u.number for u in v.children()) for v in twin.nodes
    ]
    assert (
        list(zip(saved["node.left"].tolist(), saved["node.right"].tolist(), strict=True))
        == children
    )
    assert saved["node.entries"].tolist() == [len(v.memories) for v in twin.nodes]
    number = {id(z): i for i, z in enumerate(twin.memories)}
    assert saved["leaf.entry"].tolist() == [number[id(z)] for v in twin.nodes for z in v.memories]
    assert saved["entry.label"].tolist() == [y for z in twin.memories for y in z.labels]
    assert saved["node.slope"] == pytest.approx([v.slope for v in twin.nodes], rel=1e-3)
    regressors = [v.g.w for v in twin.nodes if not v.is_leaf] + [twin.f.w]
    if twin.h is not None:
        regressors += [twin.h[y].w if y in twin.h else {} for y in range(int(saved["counters"][0]))]
    ends = np.cumsum(saved["block.features"], dtype=np.int64)
    assert len(ends) == len(regressors)
    features = np.split(saved["weights.feature"], ends[:-1])
    weights = np.split(saved["weights.value"], ends[:-1] + np.arange(1, len(ends)))
    for ids, values, w in zip(features, weights, regressors, strict=True):
        mine = dict(zip([BIAS, *ids.tolist()], values.tolist(), strict=True))
        theirs = {BIAS: 0.0, **w}
        for f in mine.keys() | theirs.keys():
            assert mine.get(f, 0.0) == pytest.approx(theirs.get(f, 0.0), rel=1e-3, abs=1e-4)


def assert_same_answers(engine: Any, twin: MemoryTree, xs: Sequence[Instance]) -> None:
    given = rows([example(x, []) for x in xs])
    for leaves in (1, 2, 5):
        ids, scores, _ = engine.top_k(*given, len(twin.seen) + 1, leaves, None, 1)
        for i, x in enumerate(xs):
            found = {
                y: s for y, s in zip(ids[i].tolist(), scores[i].tolist(), strict=True) if y != NONE
            }
            if any(v.is_torn(x) for v in twin.nodes if not v.is_leaf):
                continue
            expected = twin.probabilities(x, leaves)
            assert found == pytest.approx(expected, rel=1e-3, abs=1e-5)


def check(stream: Sequence[Row], **parameters: Any) -> int:
    """Compare until a decision is too close for float32."""

    def grown(stream: Sequence[Row]) -> tuple[MemoryTree, int]:
        twin = twin_of(**parameters)
        for n, row in enumerate(stream):
            twin.learn(*row)
            if twin.closest < 1e-5:
                return grown(stream[:n])
        return twin, len(stream)

    twin, n = grown(stream)
    names = {"c": "leaf_multiplier", "d": "reroutes", "max_memories": "max_examples"}
    given = {names.get(name, name): value for name, value in parameters.items()}
    engine = _core.MemoryTree(
        options(**{**given, "max_examples": given.get("max_examples") or None})
    )
    learn(engine, stream[:n])
    assert_same(engine, twin)
    if n:
        assert_same_answers(engine, twin, [x for x, *_ in stream[:8]])
    return n


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            instances(),
            st.lists(st.integers(0, 7), max_size=3, unique=True).map(tuple),
            st.sampled_from(WEIGHTS),
        ),
        max_size=30,
    ),
    st.sampled_from([1, 2]),
    st.sampled_from([0, 1, 3]),
    st.sampled_from([0, 1, 9]),
    st.booleans(),
)
def test_small_streams(stream: list[Row], c: int, d: int, most: int, classifiers: bool) -> None:
    check(stream, c=c, d=d, max_memories=most, classifiers=classifiers)


@pytest.mark.parametrize("most", [0, 60])
@pytest.mark.parametrize("alpha", [0.1, 0.9])
def test_long_streams(most: int, alpha: float) -> None:
    assert check(random_stream(1, 150), c=1, d=1, max_memories=most, alpha=alpha) > 100


def test_removed_labels_have_no_classifiers() -> None:
    """Their examples are still remembered, and still attract others."""
    stream = random_stream(1, 120)
    twin, engine = twin_of(c=1), _core.MemoryTree(options(leaf_multiplier=1))
    for row in stream[:60]:
        twin.learn(*row)
    learn(engine, stream[:60])
    for label in (0, 3):
        twin.remove(label)
    engine.remove_labels(np.array([0, 3], np.uint32))
    assert_same(engine, twin)
    after = [row for row in stream[60:] if not twin.removed & set(row[1])]
    for row in after:
        twin.learn(*row)
    learn(engine, after)
    assert twin.closest > 1e-5
    assert_same(engine, twin)


def test_any_cut_gives_the_same_bytes() -> None:
    stream = random_stream(1, 300)
    whole, cut = (_core.MemoryTree(options(max_examples=200)) for _ in range(2))
    learn(whole, stream)
    for i in range(0, 300, 7):
        learn(cut, stream[i : i + 7])
    one, other = whole.save(False), cut.save(False)
    assert all(one[name].tobytes() == other[name].tobytes() for name in one)


def test_dense_rows() -> None:
    """Dense rows with zeros are summed in another order than sparse ones, and find the same."""
    stream = random_stream(1, 60)
    sparse, dense = (_core.MemoryTree(options()) for _ in range(2))
    learn(sparse, stream)
    learn(dense, stream, width=8)
    one, other = sparse.save(False), dense.save(False)
    assert one["leaf.entry"].tolist() == other["leaf.entry"].tolist()
    examples = [example(x, [], width=8) for x, *_ in stream]
    found = [engine.top_k(*dense_rows(examples), 7, 2, None, 1) for engine in (sparse, dense)]
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-3)


def test_features_chosen_to_collide_change_nothing() -> None:
    """More features than a probe reaches have the same place in the table of a question."""
    inverse = pow(0x9E3779B1, -1, 2**32)
    homes = (place * inverse % 2**32 for place in range(1500))
    colliding = np.sort([feature for feature in homes if feature < 2**31 - 2])
    rng = np.random.default_rng(0)
    values = rng.random((12, len(colliding)), dtype=np.float32)
    values[rng.random(values.shape) < 0.5] = 0
    harmless = np.arange(len(colliding)) * 7 + 3
    answers = []
    for columns in (colliding, harmless):
        rows = sp.csr_array(values)
        X = sp.csr_array((rows.data, columns[rows.indices], rows.indptr), shape=(12, 2**31 - 1))
        clf = MemoryTreeClassifier().partial_fit(X, [str(i % 4) for i in range(12)])
        answers.append([part.tolist() for part in clf.predict_topk(X, 3)])
    assert len(colliding) > 500 and answers[0] == answers[1]


def test_what_no_router_tells_apart_stays_at_one_leaf() -> None:
    engine = _core.MemoryTree(options(leaf_multiplier=1, alpha=1.0))
    same = {0: 1.0, BIAS: 1.0}
    learn(engine, [(same, (n % 3,), 1.0) for n in range(200)])
    saved = engine.save(False)
    assert saved["node.entries"].tolist() == [200]
    given = rows([example(same, [])])
    assert engine.top_k(*given, 3, 1, None, 1)[1].min() > 0


def test_a_search_passes_over_classifiers_that_cannot_matter() -> None:
    rng = np.random.default_rng(1)
    X = np.maximum(rng.normal(size=(400, 12)), 0)
    order = np.argsort(-(X @ rng.normal(size=(12, 30))))
    Y = [row[: 1 + i % 5].tolist() for i, row in enumerate(order)]
    model = MemoryTreeClassifier().fit(X, Y)
    labels, scores, every = model.predict_topk(X, 30, return_stats=True)
    for k in (1, 3, 10):
        best, their_scores, some = model.predict_topk(X, k, return_stats=True)
        assert np.array_equal(best, labels[:, :k]) and np.array_equal(their_scores, scores[:, :k])
        assert some.classifiers.sum() < every.classifiers.sum()
    above, some = model.predict_proba(X, threshold=0.4, return_stats=True)
    assert np.array_equal(np.sort(above.data), np.sort(scores[scores >= np.float32(0.4)]))
    assert some.classifiers.sum() < every.classifiers.sum()


def test_classes_in_blocks_are_not_forgotten() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(1200) // 120
    X = np.maximum(rng.normal(size=(10, 20))[y] + rng.normal(size=(1200, 20)), 0)
    held_out = np.arange(1200) % 4 == 0
    model = MemoryTreeClassifier().partial_fit(X[~held_out], y[~held_out])
    assert model.score(X[held_out], y[held_out]) > 0.6


def test_a_bounded_memory_is_a_fair_sample() -> None:
    engine = _core.MemoryTree(options(max_examples=100))
    learn(engine, [({0: 1.0, 1 + n % 5: 1.0, BIAS: 1.0}, (n // 100,), 1.0) for n in range(1000)])
    saved = engine.save(False)
    assert saved["node.entries"].sum() == 100
    early = np.bincount(saved["entry.label"], minlength=10)
    assert early.min() >= 3 and early.max() <= 20
