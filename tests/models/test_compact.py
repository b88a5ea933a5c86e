"""Compact copies: predictions, size, reports and files."""

from __future__ import annotations

import dataclasses
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import labelgrove
from labelgrove import (
    EmbeddingClassifier,
    LdSMClassifier,
    ModelFileError,
    ModelStateError,
    OnlinePLTClassifier,
    ParameterError,
    PLTClassifier,
)
from labelgrove.models.engine import _compacting
from labelgrove.persistence import read_model, write_model

MODELS: dict[str, Any] = {
    "arow": OnlinePLTClassifier(arity=3, max_leaves=5),
    "sgd": OnlinePLTClassifier(learner="sgd", l2=1e-3, arity=2, max_leaves=3),
    "batch": PLTClassifier(max_leaf_size=5, arity=4),
    "flat": PLTClassifier(tree="flat"),
    "embedding": EmbeddingClassifier(dimension=12, max_leaf_size=5, arity=4),
    "several trees": PLTClassifier(n_trees=2, max_leaf_size=5, arity=4),
}


def data(seed: int, n: int = 120, width: int = 60) -> tuple[sp.csr_array, list[list[str]]]:
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, width), density=0.2, rng=rng, dtype=np.float32, format="csr")
    return X, [[f"l{int(j)}" for j in 30 * rng.random(rng.integers(0, 4)) ** 2] for _ in range(n)]


@pytest.fixture(scope="module", params=sorted(MODELS))
def model(request: Any) -> Any:
    return MODELS[request.param].fit(*data(0))


def same(one: Any, other: Any, X: Any) -> bool:
    pairs = zip(one.predict_topk(X, 9), other.predict_topk(X, 9), strict=True)
    ranked = all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in pairs)
    above = one.predict_proba(X, threshold=0.01) != other.predict_proba(X, threshold=0.01)
    return ranked and above.nnz == 0


def test_whole_floats_change_nothing(model: Any) -> None:
    X, _ = data(1)
    copy = model.compact()
    if model in (MODELS["arow"], MODELS["embedding"]):  # sums are rounded in another order
        ours, theirs = (clf.predict_topk(X, 9)[1] for clf in (copy, model))
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    else:
        assert same(copy, model, X)
    assert type(copy) is type(model) and copy.get_params() == model.get_params()
    assert copy.classes_.tolist() == model.classes_.tolist()
    assert copy.examples_seen_ == model.examples_seen_
    *_, cost = model.predict_topk(X, 3, return_stats=True)
    *_, same_cost = copy.predict_topk(X, 3, return_stats=True)
    assert cost.blocks.tolist() == same_cost.blocks.tolist()


@pytest.mark.parametrize("learn_on", [False, True])
def test_a_copy_predicts_in_the_form_of_the_model(learn_on: bool) -> None:
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(np.eye(6), columns=list("abcdef"))
    Y = np.eye(6, 3, dtype=int)
    batch = PLTClassifier().fit(X, Y)
    other = OnlinePLTClassifier.from_batch(batch) if learn_on else batch.compact()
    for found in (other.predict(X), other.predict_proba(X)):
        assert isinstance(found, np.ndarray)
    assert other.feature_names_in_.tolist() == list("abcdef")


def test_an_explanation_of_the_copy_is_that_of_the_model(model: Any) -> None:
    X, _ = data(2)
    copy = model.compact()
    label = model.classes_[3]
    ours, theirs = (leaves(clf.explain(X[:1], label)) for clf in (copy, model))
    assert ours == [
        pytest.approx(value, rel=1e-5, abs=1e-6) if isinstance(value, float) else value
        for value in theirs
    ]


def leaves(value: Any) -> list[Any]:
    """The leaves of nested dataclasses and tuples, in order."""
    if dataclasses.is_dataclass(value):
        value = tuple(getattr(value, field.name) for field in dataclasses.fields(value))
    return [leaf for item in value for leaf in leaves(item)] if type(value) is tuple else [value]


def naive(model: Any, threshold: float, X: sp.csr_array, k: int) -> Any:
    """The best k probabilities, with small weights dropped."""
    engine = model._learned.engine
    parents = engine.save(True)["tree.parent"]
    length = np.sqrt(X.multiply(X).sum(axis=1))[:, None]
    rows = np.divide(X.toarray(), length, out=np.zeros(X.shape, np.float32), where=length > 0)
    found = np.ones((X.shape[0], len(parents)))
    for v in np.unique(parents[1:]).tolist():
        features, flat = engine.weights_of(v)
        weights = flat.reshape(len(features) + 1, -1)
        kept = np.where(np.abs(weights[1:]) < threshold, 0, weights[1:])
        margins = rows[:, features] @ kept + weights[0]
        children = 1 + np.flatnonzero(parents[1:] == v)
        found[:, children] = found[:, [v]] * np.exp(-np.square(np.maximum(0, 1 - margins)))
    leaves = np.setdiff1d(np.arange(len(parents)), parents[1:])
    return -np.sort(-found[:, leaves])[:, :k]


@settings(max_examples=20, deadline=None)
@given(st.floats(0, 2), st.integers(0, 9))
def test_dropping_is_dropping(threshold: float, seed: int) -> None:
    clf = PLTClassifier(max_leaf_size=5, arity=4, link="squared_hinge").fit(*data(0))
    X, _ = data(seed)
    cut = float(np.float32(threshold))
    _, found = clf.compact(threshold=cut).predict_topk(X, 7)
    np.testing.assert_allclose(found, naive(clf, cut, X, 7), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("dtype", "error"), [("float16", 2e-3), ("int8", 5e-2)])
def test_rounding_moves_probabilities_a_little(model: Any, dtype: str, error: float) -> None:
    X, _ = data(3)
    copy = model.compact(dtype=dtype)
    ours, theirs = (clf.predict_proba(X, threshold=0.0).toarray() for clf in (copy, model))
    assert 0 < np.abs(ours - theirs).max() < error


def test_the_report(model: Any, tmp_path: Path) -> None:
    X, y = data(4)
    copy = model.compact(dtype="float16", threshold=0.3, X=X, y=y)
    report = copy.compaction_
    model.save(tmp_path / "model.lg", for_prediction=True)
    copy.save(tmp_path / "copy.lg")
    assert report.bytes_before == (tmp_path / "model.lg").stat().st_size
    assert report.bytes_after == (tmp_path / "copy.lg").stat().st_size
    assert (report.dtype, report.threshold) == ("float16", 0.3)
    assert report.weights_before == model.size()["weights"]
    assert report.weights_after == copy.size()["weights"]
    for clf, found in ((model, report.precision_before), (copy, report.precision_after)):
        best = clf.predict_topk(X, 5)[0]
        hits = np.array([[name in true for name in row] for true, row in zip(y, best, strict=True)])
        expected = [hits[:, :k].mean() for k in (1, 3, 5)]
        np.testing.assert_allclose(found, expected, atol=1e-6)
    assert model.compact().compaction_.precision_before is None
    with pytest.raises(AttributeError, match="copies"):
        _ = model.compaction_


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_a_size_is_kept_by_dropping_no_more_than_needed(model: Any, dtype: str) -> None:
    X, y = data(5)
    whole = model.compact(dtype=dtype, X=X, y=y)
    least = model.compact(dtype=dtype, threshold=1e30, X=X, y=y).compaction_.bytes_after
    most = (whole.compaction_.bytes_after + least) // 2
    fitted = model.compact(dtype=dtype, max_bytes=most, X=X, y=y).compaction_
    assert least < fitted.bytes_after <= most
    lower = model.compact(dtype=dtype, threshold=fitted.threshold * 0.97, X=X, y=y).compaction_
    assert lower.bytes_after + 512 > most  # what may be too large without its report's numbers
    roomy = model.compact(dtype=dtype, max_bytes=10**9)
    assert roomy.compaction_.threshold == 0.0
    with pytest.raises(ParameterError, match=f"max_bytes={least // 2}: .* even without all"):
        model.compact(dtype=dtype, max_bytes=least // 2)


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_a_copy_of_limited_size_is_made_once(
    model: Any, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All candidates are counted; only one copy is made, plus an empty one for the rest."""
    made = []
    load = _compacting._loaded

    def loaded(*arguments: Any) -> Any:
        made.append(arguments)
        return load(*arguments)

    size = model.compact(dtype=dtype).compaction_.bytes_after
    least = model.compact(dtype=dtype, threshold=1e30).compaction_.bytes_after
    monkeypatch.setattr(_compacting, "_loaded", loaded)
    for max_bytes in (size - 1, (size + least) // 2):
        made.clear()
        assert model.compact(dtype=dtype, max_bytes=max_bytes).compaction_.bytes_after <= max_bytes
        assert len(made) == 2


def test_files_and_pickles_of_copies(model: Any, tmp_path: Path) -> None:
    X, _ = data(6)
    copy = model.compact(dtype="float16", threshold=0.1)
    copy.save(tmp_path / "copy.lg")
    loaded = labelgrove.load(tmp_path / "copy.lg")
    for again in (loaded, pickle.loads(pickle.dumps(copy)), loaded.compact(dtype="float32")):
        assert same(again, copy, X)
    assert loaded.compaction_ == copy.compaction_
    loaded.save(tmp_path / "again.lg")
    assert (tmp_path / "again.lg").read_bytes() == (tmp_path / "copy.lg").read_bytes()
    loaded.remove_labels(loaded.classes_[:2].tolist())
    loaded.save(tmp_path / "fewer.lg")
    assert same(labelgrove.load(tmp_path / "fewer.lg"), loaded, X)
    assert len(model.classes_) == len(loaded.classes_) + 2


def test_all_that_can_be_dropped_may_be(model: Any, tmp_path: Path) -> None:
    copy = model.compact(threshold=np.inf)
    copy.save(tmp_path / "copy.lg")
    assert labelgrove.load(tmp_path / "copy.lg").compaction_ == copy.compaction_


def test_a_copy_cannot_learn_on() -> None:
    X, y = data(7)
    with pytest.raises(ModelStateError, match="prediction only"):
        MODELS["arow"].fit(X, y).compact().partial_fit(X, y)
    with pytest.raises(ParameterError, match="compact"):
        OnlinePLTClassifier.from_batch(MODELS["batch"].fit(X, y).compact())


@pytest.mark.skipif(os.name == "nt", reason="a mapped file cannot be written there")
def test_a_loaded_copy_keeps_its_weights_in_the_file(tmp_path: Path) -> None:
    """The model sees changes to its mapped file, which users must not make."""
    X, y = data(8, n=400, width=3000)
    path = tmp_path / "copy.lg"
    OnlinePLTClassifier(arity=8, max_leaves=8).fit(X, y).compact().save(path)
    loaded = labelgrove.load(path)
    before = loaded.predict_topk(X)[1]
    weights = read_model(path).arrays["weights.row"]
    assert not weights.flags.writeable and not weights.flags.owndata
    content = path.read_bytes()
    begin = content.index(weights.tobytes())
    with path.open("r+b") as file:  # rows of no weight at all
        file.seek(begin)
        file.write(bytes(weights.nbytes))
    assert not np.array_equal(loaded.predict_topk(X)[1], before)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dtype": "float64"}, "dtype='float64'"),
        ({"threshold": -1}, "threshold=-1"),
        ({"threshold": float("nan")}, "threshold=nan"),
        ({"threshold": 0.1, "max_bytes": 10**6}, "exclude"),
        ({"max_bytes": 0}, "max_bytes=0"),
        ({"max_bytes": 1.5}, "max_bytes=1.5"),
        ({"max_bytes": "1 B"}, "max_bytes=1:"),
        ({"X": [[1.0]]}, "only one of X and y"),
    ],
)
def test_bad_parameters_are_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        MODELS["batch"].fit(*data(0)).compact(**change)


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("tree.nodes", np.ones(1001, np.uint32), "must hold 1 to 1,000 trees"),
        ("weights.scale", np.full(999, 3e38, np.float32), "finite numbers within range"),
    ],
)
def test_what_would_cost_memory_or_overflow_is_refused_first(
    name: str, array: Any, message: str, tmp_path: Path
) -> None:
    MODELS["batch"].fit(*data(0)).compact(dtype="int8").save(tmp_path / "copy.lg")
    stored = read_model(tmp_path / "copy.lg")
    write_model(tmp_path / "changed.lg", dict(stored.header), {**stored.arrays, name: array})
    with pytest.raises(ModelFileError, match=message):
        labelgrove.load(tmp_path / "changed.lg")


@pytest.mark.parametrize(
    ("name", "at", "value", "message"),
    [
        ("counters", 2, 3, "type of weights"),
        ("tree.nodes", 0, 10**6, "too short"),
        ("block.link", 0, 9, "unknown link"),
        ("block.features", 1, 10**6, "too short|wrong number of rows"),
        ("block.pairs", 1, 10**6, "index"),
        ("block.bytes", 1, 1, "cut short|stated size"),
        ("index.offset", 1, 10**6, "does not lead to a row"),
    ],
)
def test_damage_is_named(name: str, at: int, value: int, message: str, tmp_path: Path) -> None:
    MODELS["batch"].fit(*data(0)).compact().save(tmp_path / "copy.lg")
    stored = read_model(tmp_path / "copy.lg")
    arrays = {key: np.array(array) for key, array in stored.arrays.items()}
    arrays[name][at] = value
    write_model(tmp_path / "changed.lg", dict(stored.header), arrays)
    with pytest.raises(ModelFileError, match=message):
        labelgrove.load(tmp_path / "changed.lg")


def test_other_kinds_of_models_have_no_compact_file(tmp_path: Path) -> None:
    X, y = data(9)
    MODELS["batch"].fit(X, y).compact().save(tmp_path / "copy.lg")
    report = read_model(tmp_path / "copy.lg").header["compact"]
    LdSMClassifier().fit(X, y).save(tmp_path / "other.lg")
    stored = read_model(tmp_path / "other.lg")
    write_model(tmp_path / "bad.lg", {**stored.header, "compact": report}, dict(stored.arrays))
    with pytest.raises(ModelFileError, match="compact"):
        labelgrove.load(tmp_path / "bad.lg")
