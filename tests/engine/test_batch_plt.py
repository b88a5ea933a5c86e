"""The batch engine equals its twin for any number of threads, and groves average exactly."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contract.kit import checkerboard, noise
from labelgrove import LabelTree, PLTClassifier
from labelgrove.models import _plt_options
from naive.batch_plt import BatchPLT

EXACT: dict[str, Any] = {
    "tol": 1e-5,
    "max_iter": 20_000,
    "weight_threshold": 0.0,
    "normalize": False,
}


def small_case(seed: int) -> tuple[npt.NDArray[np.float64], list[list[int]], LabelTree]:
    """Ten examples, some without labels, and a random tree over five labels, one never seen."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10, 4)).astype(np.float32).astype(np.float64)
    Y = [sorted(set(rng.integers(0, 4, rng.integers(0, 4)).tolist())) for _ in X]
    parents, leaves = [-1], [0]
    while len(leaves) < 5:
        v = leaves.pop(int(rng.integers(len(leaves))))
        wide = int(rng.integers(1, 4))
        leaves += range(len(parents), len(parents) + wide)
        parents += [v] * wide
    names = np.random.default_rng(seed).permutation(len(leaves)).tolist()
    return X, Y, LabelTree(parents, dict(zip(sorted(leaves), names, strict=True)))


def probabilities(clf: PLTClassifier, X: Any) -> dict[int, npt.NDArray[np.float64]]:
    """Of every label, for all rows."""
    P = clf.predict_proba(X).toarray()
    return {int(name): P[:, i] for i, name in enumerate(clf.classes_)}


@settings(max_examples=6, deadline=None)
@given(
    seed=st.integers(0, 2**20),
    functions=st.sampled_from(
        [("squared_hinge", None), ("log", None), ("squared_hinge", "cubic_hinge")]
    ),
    C=st.sampled_from([None, 0.3, 3.0]),
    bias=st.sampled_from([0.0, 1.0, 2.0]),
    weighted=st.booleans(),
)
def test_the_engine_is_the_twin(
    seed: int, functions: tuple[str, str | None], C: float | None, bias: float, weighted: bool
) -> None:
    X, Y, tree = small_case(seed)
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, len(X)) if weighted else None
    classes = {0: 3.0, 1: 0.5} if weighted else None
    loss, link = functions
    clf = PLTClassifier(tree=tree, loss=loss, link=link, C=C, bias=bias, **EXACT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_plt_options, "_PLENTY", 2.0)
        clf.set_params(class_weight=classes).fit(X, Y, sample_weight=weight)
    twin = BatchPLT(
        tree.parents.tolist(),
        {v: int(name) for v, name in tree.labels.items()},
        X,
        Y,
        loss=loss,
        link_name=link,
        C=C or {"squared_hinge": 1.0, "log": 10.0}[loss],
        plenty=2.0 if C is None and loss == "squared_hinge" else math.inf,
        bias=bias,
        example_costs=None if weight is None else weight.astype(np.float32).astype(np.float64),
        label_costs=classes,
    )
    found = probabilities(clf, X)
    for i, x in enumerate(X):
        for label, expected in twin.probabilities(x).items():
            assert found[label][i] == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("tree", ["kmeans", "huffman"])  # seeds change its shape, or examples only
def test_another_seed_is_another_model(tree: str) -> None:
    X, Y = noise(n=300, d=80)
    a, b = (
        PLTClassifier(tree=tree, random_state=seed).fit(X, Y)._learned.engine.save(False)
        for seed in (5, 6)
    )
    assert any(not np.array_equal(a[name], b[name]) for name in a)


def test_wide_nodes_are_cut_and_put_together_again() -> None:
    X, classes = checkerboard(4)
    Y = [[10 * c + j for j in range(8)] for c in classes.tolist()]  # 96 labels, three tiles
    wide = PLTClassifier(tree="flat", **EXACT).fit(X, Y)
    for column in (0, 40, 95):
        alone = PLTClassifier(tree="flat", **EXACT).fit(
            X, [[v for v in row if v == wide.classes_[column]] for row in Y]
        )
        ours = wide.predict_proba(X).toarray()[:, column]
        # With a single label, the root's classifier decides whether there is any label.
        assert ours == pytest.approx(alone.predict_proba(X).toarray()[:, 0], abs=2e-3)


@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 2**20),
    k=st.integers(1, 6),
    threshold=st.sampled_from([0.0, 0.02, 0.3]),
    width=st.sampled_from([4, 100]),
)
def test_a_grove_averages_exactly(seed: int, k: int, threshold: float, width: int) -> None:
    X, Y = noise(seed, n=40)
    shape: dict[str, Any] = {"tree": "random", "arity": 3, "max_leaf_size": width}
    grove = PLTClassifier(n_trees=3, random_state=seed, **shape).fit(X, Y)
    mean = mean_of_trees(grove, X, Y)
    order = np.argsort(-mean, axis=1, kind="stable")[:, :k]
    labels, scores = grove.predict_topk(X, k)
    assert np.array_equal(labels, grove.classes_[order])
    assert np.array_equal(scores, np.take_along_axis(mean, order, axis=1))
    above = grove.predict_proba(X, threshold=threshold).toarray()
    assert np.array_equal(above, np.where(mean >= np.float32(threshold), mean, 0))
    beam, sums = grove.predict_topk(X, k, beam_width=1000)
    assert np.array_equal(beam, labels) and np.array_equal(sums, scores)
    few = grove.classes_[::3].tolist()
    among = np.where(np.isin(grove.classes_, few), mean, -1)
    allowed, _ = grove.predict_topk(X, 2, labels=few)
    assert np.array_equal(allowed, grove.classes_[np.argsort(-among, axis=1, kind="stable")[:, :2]])


def mean_of_trees(grove: PLTClassifier, X: Any, Y: Any) -> npt.NDArray[np.float32]:
    """Each tree learnt alone with all its labels; then the mean, in the order of the trees."""
    learned = grove._learned
    assert learned is not None
    arrays = learned.engine.save(True)
    ends = np.cumsum([0, *arrays["tree.nodes"]])
    total = np.zeros((X.shape[0], len(grove.classes_)), np.float32)
    for begin, end in pairwise(ends.tolist()):
        parents = arrays["tree.parent"][begin:end].astype(np.int64)[1:] - 1
        ids = arrays["tree.label"][begin:end][1:]
        leaves = np.setdiff1d(np.arange(len(parents)), parents).tolist()
        names = learned.labels.names[ids[leaves]].tolist()
        tree = LabelTree(parents, dict(zip(leaves, names, strict=True)))
        alone = PLTClassifier(tree=tree, random_state=grove.random_state).fit(X, Y)
        order = [alone.classes_.tolist().index(name) for name in grove.classes_.tolist()]
        total += alone.predict_proba(X, threshold=0.0).toarray()[:, order]
    return total / np.float32(len(arrays["tree.nodes"]))


def test_softmax_sums_to_one_and_is_right() -> None:
    X, y = checkerboard(6)
    for tree in ("kmeans", "huffman", "flat"):
        clf = PLTClassifier(tree=tree, arity=3, max_leaf_size=3, link="softmax", C=10.0).fit(X, y)
        P = clf.predict_topk(X, 12)[1]
        assert P.sum(axis=1) == pytest.approx(np.ones(len(X)), abs=1e-5)
        assert clf.score(X, y) == 1.0
