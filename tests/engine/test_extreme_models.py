"""Consistent but extreme models, learnt or from a file, answer or are refused clearly."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

import labelgrove
from labelgrove import (
    LdSMClassifier,
    LOMTreeClassifier,
    MemoryTreeClassifier,
    ModelFileError,
    OnlinePLTClassifier,
    PLTClassifier,
)
from labelgrove.persistence import read_model, write_model

NONE = 0xFFFFFFFF
Arrays = dict[str, Any]
Header = dict[str, Any]


def parts(path: Path) -> tuple[Header, Arrays]:
    stored = read_model(path)
    header = {k: v for k, v in stored.header.items() if k not in ("format", "library")}
    return header, {name: np.array(array) for name, array in stored.arrays.items()}


def small_data(kinds: int = 6) -> tuple[np.ndarray, list[list[str]]]:
    X = np.random.default_rng(0).random((60, 5)).astype(np.float32)
    return X, [[f"l{i % kinds}"] for i in range(60)]


# --- depth ---------------------------------------------------------------------------------------


def test_two_label_trees_that_are_one_long_path_each(tmp_path: Path) -> None:
    depth, trees, path = 200_000, 2, tmp_path / "deep.lg"
    X, Y = small_data()
    PLTClassifier(n_trees=trees).fit(X, Y).save(path)
    header, arrays = parts(path)
    n = depth + 2
    parents = np.concatenate([[NONE], np.arange(n - 1)]).astype(np.uint32)
    labels = np.full(n, NONE, np.uint32)
    labels[-1] = 0
    blocks = trees * (n - 1)
    arrays["counters"][0] = 1
    arrays |= {
        "tree.nodes": np.array([n] * trees, np.uint32),
        "tree.parent": np.tile(parents, trees),
        "tree.label": np.tile(labels, trees),
        "tree.silent": np.zeros(n * trees, np.uint8),
        "block.link": np.zeros(blocks, np.uint8),
        "block.scale": np.ones(blocks, np.float32),
        **{
            f"block.{name}": np.zeros(blocks, np.uint32)
            for name in ("features", "multiplier", "pairs", "bytes")
        },
        "index.pair": np.zeros(0, np.uint32),
        "index.offset": np.zeros(0, np.uint32),
        "weights.bias": np.full(blocks, 50.0, np.float32),
        "weights.row": np.zeros(64, np.uint8),
        "labels.retired": np.zeros(1, np.uint8),
        "labels.text": np.frombuffer(b"x", np.uint8),
        "labels.offsets": np.array([0, 1], np.uint64),
        "label.count": np.zeros(1, np.int64),
    }
    write_model(path, header, arrays)
    found, scores = labelgrove.load(path).predict_topk(X[:2], 1)
    assert found.tolist() == [["x"], ["x"]]
    assert scores.tolist() == [[1.0], [1.0]]


def test_an_ldsm_tree_that_is_one_long_path_is_refused(tmp_path: Path) -> None:
    depth, path = 20_000, tmp_path / "deep.lg"
    X, Y = small_data()
    LdSMClassifier(n_estimators=1, arity=2, max_nodes=9).fit(X, Y).save(path, for_prediction=True)
    header, arrays = parts(path)
    n = 2 * depth + 1
    first = np.full(n, NONE, np.uint32)
    first[[0] + [2 * i - 1 for i in range(1, depth)]] = 2 * np.arange(depth) + 1
    leaf = first == NONE
    arrays |= {
        "tree.nodes": np.array([n], np.uint32),
        "node.first_child": first,
        "node.labels": leaf.astype(np.uint32),
        "leaf.label": np.zeros(leaf.sum(), np.uint32),
        "leaf.share": np.ones(leaf.sum(), np.float32),
        "block.features": np.zeros(depth, np.uint32),
        "weights.feature": np.zeros(0, np.uint32),
        "weights.value": np.tile(np.array([1.0, -1.0], np.float32), depth),
    }
    write_model(path, header, arrays)
    with pytest.raises(ModelFileError, match="tree 0: it is deeper than 1000 levels"):
        labelgrove.load(path)


def test_no_ldsm_tree_grows_beyond_all_sense() -> None:
    """Every split sends almost all examples to all children."""
    X = np.random.default_rng(0).random((60, 2)).astype(np.float32)
    model = LdSMClassifier(
        n_estimators=1,
        arity=3,
        max_nodes=12_000,
        epochs_per_node=1,
        lambda1=1e6,
        lambda2=0.1,
        initial_spread=0.0,
        min_samples_split=2,
        min_feature_count=1,
        normalize=False,
        random_state=71,
        shuffle=False,
    ).fit(X, [[i] for i in range(60)])
    assert model.statistics_.depth == 1000
    assert np.isfinite(model.predict_topk(X, 2)[1]).all()


# --- NaN and infinity ----------------------------------------------------------------------------

MODELS: dict[str, Any] = {
    "oplt": OnlinePLTClassifier,
    "oplt sgd": lambda: OnlinePLTClassifier(learner="sgd"),
    "plt": PLTClassifier,
    "lomtree": LOMTreeClassifier,
    "memory tree": MemoryTreeClassifier,
    "ldsm": lambda: LdSMClassifier(n_estimators=2, tail_weight=0.2),
}


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("for_prediction", [False, True], ids=["whole", "for prediction"])
@pytest.mark.parametrize("name", MODELS)
def test_weights_that_are_not_finite_are_refused(
    name: str, for_prediction: bool, bad: float, tmp_path: Path
) -> None:
    X, Y = small_data()
    model = MODELS[name]()
    model.fit(X, [row[0] for row in Y] if name == "lomtree" else Y)
    check_refused(model, bad, for_prediction, tmp_path / "model.lg")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_compact_weights_that_are_not_finite_are_refused(
    dtype: str, bad: float, tmp_path: Path
) -> None:
    model = PLTClassifier().fit(*small_data()).compact(dtype=dtype)
    check_refused(model, bad, True, tmp_path / "model.lg")


def check_refused(model: Any, bad: float, for_prediction: bool, path: Path) -> None:
    model.save(path, for_prediction=for_prediction)
    header, arrays = parts(path)
    names = [n for n, a in arrays.items() if a.dtype == np.float32 and len(a) and is_weight(n)]
    if "weights.row" in arrays and header.get("compact", {}).get("dtype") != "int8":
        names.append("weights.row")
    assert names
    for name in names:
        changed = arrays[name].copy()
        if name == "weights.row":  # the last value of the last row, before 64 bytes of padding
            half = header.get("compact", {}).get("dtype") == "float16"
            value = np.array([bad], np.float16 if half else np.float32).view(np.uint8)
            changed[-64 - len(value) : -64] = value
        else:
            changed[-1] = bad
        write_model(path, header, arrays | {name: changed})
        with pytest.raises(ModelFileError) as caught:
            labelgrove.load(path)
        assert "finite" in str(caught.value) or "range" in str(caught.value), (name, caught.value)


def is_weight(name: str) -> bool:
    return name.startswith(("weights.", "centroid.")) or name == "block.scale"


def test_lomtree_probabilities_are_none_beyond_one(tmp_path: Path) -> None:
    """Even if the path to every leaf is so improbable that its product underflows."""
    g = np.random.default_rng(0)
    X = (g.random((300, 6)) * 1e9).astype(np.float32)
    model = LOMTreeClassifier(normalize=False, r=1e-3, leaves=4)
    for _ in range(5):
        model.partial_fit(X, [f"l{int(v)}" for v in g.integers(0, 12, 300)])
    model.save(tmp_path / "model.lg")
    for clf in (model, labelgrove.load(tmp_path / "model.lg")):
        P = clf.predict_proba(X)
        assert np.isfinite(P).all()
        assert (P >= 0).all()
        assert (P.sum(axis=1) <= 1 + 1e-5).all()


# --- empty models --------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [PLTClassifier, OnlinePLTClassifier, LdSMClassifier])
@pytest.mark.parametrize("Y", [[[], [], []], [["a"], [], []]], ids=["no label", "one label"])
def test_learnt_from_rows_without_labels(make: Any, Y: Any, tmp_path: Path) -> None:
    X = np.eye(3, dtype=np.float32)
    parameters = {"tail_weight": 0.2} if make is LdSMClassifier else {}
    model = make(**parameters).fit(X, Y)
    model.save(tmp_path / "model.lg")
    loaded = labelgrove.load(tmp_path / "model.lg")
    expected = model.predict_topk(X, 2)
    for found, wanted in zip(loaded.predict_topk(X, 2)[:2], expected[:2], strict=True):
        np.testing.assert_array_equal(found, wanted)


# --- labels without names ------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are Linux's")
@pytest.mark.slow  # sanitizers need the whole address space
def test_no_tree_takes_room_for_labels_that_have_no_names(
    warm: Sequence[str], tmp_path: Path
) -> None:
    X, Y = np.eye(4), [["a"], ["b"], ["c"], ["a", "d"]]
    batch = PLTClassifier(n_trees=2).fit(X, Y)
    heir = OnlinePLTClassifier.from_batch(batch, n_trees=2).partial_fit(X, Y)
    ready = PLTClassifier(online_ready=True).fit(X, Y)
    wrong = {"tree1.counters": heir, "batch.counters": heir, "online.counters": ready}
    for name, model in wrong.items():
        model.save(tmp_path / name)
        header, arrays = parts(tmp_path / name)
        arrays[name][0] = 2**31
        write_model(tmp_path / name, header, arrays)
    program = """
        import resource, sys, labelgrove
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        for path in sys.argv[1:]:
            try:
                labelgrove.load(path)
            except labelgrove.ModelFileError as error:
                print(error)
    """
    command = [*warm, "-c", dedent(program), *(str(tmp_path / name) for name in wrong)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(told) == 3
    for line in told:
        reasons = ("different examples", "different labels", "do not match")
        assert any(reason in line for reason in reasons)
