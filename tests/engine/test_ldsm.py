"""The compiled forest equals its plain twin: tree for tree, weights to float32 accuracy.

The twin reports decisions that single precision could reverse; examples with such decisions are
discarded.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine.driver import example as engine_example
from engine.driver import rows
from engine.forest_driver import first_child, grow, nodes, single, twins
from naive.ldsm import Example, Settings, Tree, balancedness, objective, predict, purity, shares
from naive.learners import instance

WEIGHTS = (1.0, 1.0, 0.5, 2.0, 0.0)
CLOSE = {"rel": 2e-3, "abs": 2e-4}


def drawn_examples(seed: int, n: int, weights: tuple[float, ...]) -> list[Example]:
    """Return examples of seven labels; each has a feature that indicates it, with a few errors."""
    rng = random.Random(seed)
    data = []
    for _ in range(n):
        y = tuple(sorted({int(7 * rng.random() ** 2) for _ in range(rng.randint(0, 3))}))
        features = {f: rng.uniform(-1, 1) for f in rng.sample(range(10), rng.randint(0, 3))}
        features |= {k: 2.0 for k in y if rng.random() < 0.8}
        data.append(Example(single(instance(features)), y, rng.choice(weights)))
    return data


def examples(weights: tuple[float, ...] = (1.0,)) -> st.SearchStrategy[list[Example]]:
    seeds = st.integers(0, 2**32)
    return st.builds(drawn_examples, seeds, st.integers(1, 24), st.just(weights))


chosen = st.builds(
    Settings,
    M=st.integers(2, 4),
    T_max=st.integers(1, 40),
    E=st.integers(1, 3),
    lambda1=st.sampled_from([0.0, 0.5, 1.0, 2.0]),
    lambda2=st.sampled_from([0.5, 1.0, 2.0]),
    learner=st.sampled_from(["adagrad", "sgd", "nag"]),
    rate=st.sampled_from([0.1, 0.3, 1.0]),
    spread=st.sampled_from([0.1, 0.3]),
    min_examples=st.integers(2, 4),
    min_count=st.integers(1, 3),
    shuffle=st.booleans(),
    seed=st.integers(0, 2**64 - 1),
)


def require_equal(engine_tree: list[dict[str, object]], tree: Tree, share: str) -> None:
    assert [node["first_child"] for node in engine_tree] == [
        first_child(tree, v) for v in tree.nodes
    ]
    for mine, v in zip(engine_tree, tree.nodes, strict=True):
        assert mine["examples"] == len(v.I)
        if v.is_leaf:
            expected = shares(v, tree.data, share) if v.LHist else {}
            assert mine["shares"] == pytest.approx(expected)
            continue
        assert v.regressors is not None
        weights = mine["weights"]
        assert isinstance(weights, dict) and list(weights) == list(v.places)
        for f, row in weights.items():
            assert row == pytest.approx(v.regressors.w.get(f, [0.0] * len(row)), **CLOSE)
        assert mine["course"] == pytest.approx(v.J, **CLOSE)


@given(examples(WEIGHTS), chosen, st.sampled_from(["examples", "labels"]))
@settings(max_examples=40, deadline=None)
def test_trees_are_the_twins(data: list[Example], given_settings: Settings, share: str) -> None:
    trees = twins(given_settings, data, 2)
    assume(not any(tree.doubtful for tree in trees))
    engine = grow(given_settings, data, trees=2, share=share)
    for mine, tree in zip(nodes(engine.save(False), given_settings.M), trees, strict=True):
        require_equal(mine, tree, share)


@pytest.mark.parametrize("arity", [2, 5, 8])
def test_every_arity(arity: int) -> None:
    data = checker(20)
    wide = Settings(
        M=arity, T_max=3 * arity, E=2, lambda1=1.0, lambda2=2.0, learner="nag", rate=0.3
    )
    (tree,) = twins(wide, data)
    assert not tree.doubtful and len(tree.nodes) > arity
    (mine,) = nodes(grow(wide, data).save(False), arity)
    require_equal(mine, tree, "examples")


@given(examples(), examples(), st.sampled_from(["examples", "labels"]))
@settings(max_examples=30, deadline=None)
def test_scores_are_the_mean_of_the_leaves_shares(
    data: list[Example], others: list[Example], share: str
) -> None:
    some = Settings(M=3, T_max=20, E=2, lambda1=1.5, lambda2=1.5, rate=0.3)
    trees = twins(some, data, 3)
    assume(not any(tree.doubtful for tree in trees))
    engine = grow(some, data, trees=3, share=share)
    given_rows = rows([engine_example(e.x, ()) for e in others])
    labels, scores, *_ = engine.top_k(*given_rows, 7, 0, None, 1)
    ends, found, found_scores, *_ = engine.above_threshold(
        *given_rows, engine.scope(np.array([0.25], np.float32)), 2
    )
    for i, other in enumerate(others):
        expected = predict(trees, other.x, share)
        for label, score in zip(labels[i].tolist(), scores[i].tolist(), strict=True):
            assert np.isnan(score) or score == pytest.approx(expected.get(label, 0.0))
        ranked = [-score for score in scores[i][~np.isnan(scores[i])]]
        assert ranked == sorted(ranked)
        part = slice(ends[i], ends[i + 1])
        assert (np.diff(found_scores[part]) <= 0).all()
        mine = dict(zip(found[part].tolist(), found_scores[part].tolist(), strict=True))
        assert all(score >= 0.25 for score in mine.values())
        near = {k for k, score in expected.items() if abs(score - 0.25) < 1e-6}
        assert mine.keys() - near == {k for k, s in expected.items() if s >= 0.25} - near


@given(examples(WEIGHTS), chosen)
@settings(max_examples=30, deadline=None)
def test_split_statistics_are_those_of_the_children(data: list[Example], given_: Settings) -> None:
    (tree,) = twins(given_, data)
    assume(not tree.doubtful)
    (mine,) = nodes(grow(given_, data).save(False), given_.M)
    for node, v in zip(mine, tree.nodes, strict=True):
        if v.is_leaf:
            continue
        total = sum(v.LHist.values())
        P = [sum(child.LHist.values()) / total for child in v.ch]
        Pi = [
            (count / total, [child.LHist.get(k, 0.0) / count for child in v.ch])
            for k, count in v.LHist.items()
        ]
        J = objective(P, Pi, given_.lambda1, given_.lambda2)
        assert node["objective"] == pytest.approx(J, abs=1e-5)
        assert node["balance"] == pytest.approx(balancedness(P), abs=1e-5)
        assert node["purity"] == pytest.approx(purity(Pi), abs=1e-5)


def checker(n: int) -> list[Example]:
    """Examples of four labels with features of their own, and two shared features."""
    data = []
    for i in range(n):
        x = {i % 4: 0.5, 4 + i % 3: 0.25 + 0.01 * i, "bias": 1.0}
        data.append(Example(single(x), (i % 4, 4 + i % 2)))
    return data
