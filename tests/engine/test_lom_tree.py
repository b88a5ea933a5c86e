"""The engine of LOMtree grows the tree of its plain twin, node for node."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.driver import NONE, dense_rows, example, labels_of, rows
from labelgrove import LOMTreeClassifier, _core
from labelgrove.models._lom_tree import LOMTreeOptions
from labelgrove.models._lom_tree import statistics_of_lom_tree as statistics_of
from naive.learners import AROW, Instance
from naive.lomtree import Gradient, LOMTree, NewRegressor, Node
from naive.streams import instances
from naive.test_naive_lomtree import drifting_stream, random_stream

REGRESSORS: dict[str, tuple[NewRegressor, dict[str, Any]]] = {
    "arow": (AROW, {"learner": "arow", "r": 1.0}),
    "sgd": (lambda: Gradient(0.5), {"learner": "sgd", "learning_rate": 0.5}),
}


def options(**changes: Any) -> dict[str, Any]:
    parameters = {**LOMTreeClassifier().get_params(), "normalize": False, **changes}
    return LOMTreeOptions.from_parameters(parameters).to_dict()


def learn(
    engine: Any,
    stream: Sequence[tuple[Instance, int]],
    *,
    width: int = 0,
    weights: Sequence[float] | None = None,
) -> None:
    examples = [example(x, [y], width=width) for x, y in stream]
    given = (dense_rows if width else rows)(examples)
    counts = None if weights is None else np.array(weights, np.float32)
    engine.learn(*given, *labels_of(examples), 0, len(examples), 1, weights=counts)


def by_number(nodes: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """The engine's statistics of each node."""
    ends = np.cumsum(nodes["node.classes"])
    found = {}
    for v, (begin, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        columns = ("reached", "trained", "right", "score")
        at = slice(begin, end)
        values = zip(*(nodes[f"class.{name}"][at].tolist() for name in columns), strict=True)
        found[v] = {
            "children": (int(nodes["node.left"][v]), int(nodes["node.right"][v])),
            "classes": dict(zip(nodes["class.label"][at].tolist(), values, strict=True)),
            "C": int(nodes["node.smallest"][v]),
            "swaps": int(nodes["node.swaps"][v]),
            "slope": float(nodes["node.slope"][v]),
        }
    return found


def assert_same(engine: Any, twin: LOMTree) -> None:
    mine = by_number(engine.nodes())
    assert len(mine) == len(twin.nodes)
    for v in twin.nodes:
        node = mine[v.number]
        children = (NONE, NONE) if v.is_leaf else tuple(child.number for child in v.children())
        assert (node["children"], node["C"], node["swaps"]) == (children, v.C, v.swaps), v.number
        assert list(node["classes"]) == list(v.l), f"node {v.number}: classes in order of arrival"
        for y, (reached, trained, right, score) in node["classes"].items():
            assert (reached, trained, right) == (v.l[y], v.n[y], v.went_right[y])
            assert score == pytest.approx(v.m[y], abs=1e-3)
        assert node["slope"] == pytest.approx(v.slope, rel=1e-3)


def assert_same_figures(engine: Any, twin: LOMTree) -> None:
    statistics = statistics_of(engine.nodes())
    assert statistics.entropy == pytest.approx(twin.entropy())
    assert statistics.depth == twin.depth()
    assert statistics.n_leaves == twin.t + 1
    for v in twin.nodes:
        figures: list[tuple[Any, Callable[[Node], float]]] = [
            (statistics.balance, twin.balance),
            (statistics.purity, twin.purity),
            (statistics.objective, twin.objective),
        ]
        for mine, theirs in figures:
            expected = math.nan if v.is_leaf else theirs(v)
            assert mine[v.number] == pytest.approx(expected, nan_ok=True)


def assert_same_answers(engine: Any, twin: LOMTree, xs: Sequence[Instance]) -> None:
    given = rows([example(x, []) for x in xs])
    for leaves in (1, 2, 5):
        ids, scores, costs = engine.top_k(*given, len(twin.root.l), leaves, None, 1)
        best = engine.top_k(*given, 2, leaves, None, 1)
        assert np.array_equal(best[0][:, 0], ids[:, 0]) and np.array_equal(
            best[1][:, 0], scores[:, 0]
        )
        for i, x in enumerate(xs):
            path, expected = twin.path(x), twin.probabilities(x, leaves)
            if any(not v.is_leaf and abs(v.h(x)) < 1e-5 for v in path):
                continue  # too near to call
            if leaves == 1:
                assert costs[i, 1] == len(path) - 1
            found = dict(zip(ids[i].tolist(), scores[i].tolist(), strict=True))
            assert found == pytest.approx(expected, rel=1e-3, abs=1e-6)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(instances(), st.integers(0, 7)), min_size=1, max_size=40),
    st.sampled_from(sorted(REGRESSORS)),
    st.sampled_from([1, 2, 5, "auto"]),
    st.sampled_from([1, 4]),
)
def test_small_streams(
    stream: list[tuple[Instance, int]], name: str, T: int | str, resistance: int
) -> None:
    check(stream, name, T, resistance)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", sorted(REGRESSORS))
@pytest.mark.parametrize("T", [5, 30, "auto"])
def test_long_streams(name: str, T: int | str, weighted: bool) -> None:
    assert check(drifting_stream(3, n=100), name, T, 4, weighted=weighted) > 150


def check(
    stream: Sequence[tuple[Instance, int]],
    name: str,
    T: int | str,
    R_S: int,
    *,
    weighted: bool = False,
) -> int:
    """Compare until a decision is too close for float32."""
    new_regressor, parameters = REGRESSORS[name]
    weights = [(0.25, 1.0, 3.0)[n % 3] if weighted else 1.0 for n in range(len(stream))]

    def grown(stream: Sequence[tuple[Instance, int]]) -> tuple[LOMTree, int]:
        twin = LOMTree(
            new_regressor, (lambda k: 4 * k - 1) if T == "auto" else lambda k: int(T), R_S
        )
        for n, (x, y) in enumerate(stream):
            twin.learn(x, y, weights[n])
            if twin.closest < 1e-5:
                return grown(stream[:n])
        return twin, len(stream)

    twin, n = grown(stream)
    engine = _core.LomTree(options(max_nodes=T, swap_resistance=R_S, **parameters))
    learn(engine, stream[:n], weights=weights[:n])
    assert_same(engine, twin)
    if n:
        assert_same_figures(engine, twin)
        assert_same_answers(engine, twin, [x for x, _ in stream[:20]])
    return n


@pytest.mark.parametrize("learner", ["arow", "sgd", "adagrad"])
def test_dense_rows_and_any_cut_give_the_same_bytes(learner: str) -> None:
    stream = random_stream(1, 400)
    engines = [_core.LomTree(options(learner=learner, max_nodes=9)) for _ in range(3)]
    learn(engines[0], stream)
    learn(engines[1], stream, width=6)
    for i in range(0, 400, 7):
        learn(engines[2], stream[i : i + 7])
    saved = [engine.save(False) for engine in engines]
    for other in saved[1:]:
        assert all(saved[0][name].tobytes() == other[name].tobytes() for name in saved[0])


def test_a_swap_needs_two_levels_below_the_root() -> None:
    """Both children of the root are leaves: there is nothing to recycle, however full they are."""
    engine = _core.LomTree(options(max_nodes=1))
    learn(engine, random_stream(0, 500, classes=4))
    assert engine.nodes()["node.swaps"].tolist() == [0, 0, 0]


def test_no_node_is_recycled_more_often_than_lemma_3_allows() -> None:
    engine = _core.LomTree(options(max_nodes=20, learner="sgd"))
    stream = drifting_stream(0, parts=20)
    for i in range(0, len(stream), 200):
        learn(engine, stream[i : i + 200])
        swaps = engine.nodes()["node.swaps"]
        assert swaps.max() <= math.log2(engine.examples_seen)
    assert swaps.sum() > 0


def test_statistics_of_a_tree_that_only_saw_examples_of_weight_0() -> None:
    model = LOMTreeClassifier().partial_fit([[1.0], [2.0]], [0, 1], sample_weight=[0.0, 0.0])
    statistics = model.statistics_
    assert (statistics.n_nodes, statistics.entropy, statistics.mean_depth) == (1, 0.0, 0.0)
