"""Calls of the engine that Python never makes, and that would read or write beyond its arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from engine.driver import Array, options
from labelgrove import (
    EmbeddingClassifier,
    LdSMClassifier,
    LOMTreeClassifier,
    MemoryTreeClassifier,
    OnlinePLTClassifier,
    PLTClassifier,
    _core,
)
from labelgrove.models._ldsm import LdsmOptions
from labelgrove.models._plt_options import BatchOptions
from labelgrove.text import TextFeatures

NONE = 0xFFFFFFFF
Y = [["a"], ["b"], ["c"], ["a"], ["b"]]
X = np.eye(5, dtype=np.float32)
DENSE = np.empty(0, np.int64), np.arange(5, dtype=np.uint32), X.ravel()


def i64(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


def u32(*numbers: int) -> Array:
    return np.array(numbers, np.uint32)


def f32(*numbers: float) -> Array:
    return np.array(numbers, np.float32)


def f64(*numbers: float) -> Array:
    return np.array(numbers, np.float64)


ROWS = i64(0, 1, 2), u32(0, 1), f32(1, 1)
LABELS = i64(0, 1, 2), u32(0, 1)


def engine_of(estimator: Any, y: Any = Y) -> Any:
    return estimator.fit(X, y)._learned.engine


def refused(call: Callable[..., Any], *arguments: Any, match: str, **named: Any) -> None:
    with pytest.raises((ValueError, RuntimeError), match=match):
        call(*arguments, **named)


# --- rows, their labels and weights --------------------------------------------------------------


@pytest.mark.parametrize(
    ("indptr", "labels"),
    [
        (i64(0, 1), u32(0)),
        (i64(0, 1, 2, 2), u32(0, 1)),
        (i64(1, 1, 2), u32(0, 1)),
        (i64(0, 2, 1), u32(0, 1)),
        (i64(-1, 1, 2), u32(0, 1)),
        (i64(0, 1, 3), u32(0, 1)),
        (i64(0, 1, 1), u32(0, 1)),
        (i64(0, 1, 2), u32(0, NONE // 2)),
        (i64(), u32()),
    ],
)
def test_labels_that_are_not_those_of_the_rows(indptr: Array, labels: Array) -> None:
    sums = _core.LabelSums(4)
    refused(sums.add, *ROWS, indptr, labels, 0, 2, None, match="the labels' arrays do not fit")
    assert sums.examples == 0


def test_parts_of_rows_and_labels_that_are_none() -> None:
    """The other parts are not looked at."""
    add = _core.LabelSums(4).add
    three, ids = np.arange(4, dtype=np.int64), (u32(0, 1, 2), f32(1, 1, 1))
    for ends, begin, end in ((i64(0, -1, 2, 3), 1, 2), (i64(0, 4, 3, 3), 0, 1)):
        refused(add, ends, *ids, three, u32(0, 0, 0), begin, end, None, match="of the rows do not")
        refused(add, three, *ids, ends, u32(0, 0, 0), begin, end, None, match="the labels' arrays")
    unsorted = i64(0, 2, 1, 3)
    refused(add, three, *ids, unsorted, u32(0, 0, 0), 0, 3, None, match="the labels' arrays")
    refused(add, unsorted, *ids, three, u32(0, 0, 0), 0, 3, None, match="of the rows do not")


@pytest.mark.parametrize("range_", [(0, 3), (2, 1), (3, 3)])
def test_ranges_beyond_the_rows(range_: tuple[int, int]) -> None:
    for rows in (ROWS, (DENSE[0], u32(0), f32(1, 1))):
        refused(_core.LabelSums(4).add, *rows, *LABELS, *range_, None, match="out of bounds")


@pytest.mark.parametrize(
    "rows",
    [
        (i64(0, -1, 2), u32(0, 1), f32(1, 1)),
        (i64(0, 3, 2), u32(0, 1), f32(1, 1)),
        (i64(0, 2, 2, 2), u32(1, 1), f32(1, 1)),
        (i64(0, 2, 2, 2), u32(0, NONE // 2), f32(1, 1)),
        (i64(1, 1, 2), u32(0, 1), f32(1, 1)),
        (i64(0, 1, 2), u32(0, 1), f32(1)),
        (i64(0, 1, 1), u32(0, 1), f32(1, 1)),
        (i64(), u32(0, 1), f32(1, 1, 1)),
        (i64(), u32(), f32(1, 1)),
    ],
)
def test_rows_that_are_none(rows: tuple[Array, ...]) -> None:
    n = max(len(rows[0]) - 1, 0)
    labels = np.arange(n + 1, dtype=np.int64), np.zeros(n, np.uint32)
    refused(_core.LabelSums(4).add, *rows, *labels, 0, n, None, match="rows")
    refused(_core.LabelSums(4).cosines, *rows, u32(), 1, match="rows")


@pytest.mark.parametrize("weights", [f32(1), f32(1, 1, 1), f32(1, -1), f32(np.nan, 1), f32(2e6, 1)])
def test_weights_that_are_none(weights: Array) -> None:
    add = _core.LabelSums(4).add
    refused(add, *ROWS, *LABELS, 0, 2, weights, match="a weight from 0 to a million")
    refused(add, *ROWS, *LABELS, 0, 2, f64(1, 1), match="a weight from 0 to a million")


def test_rows_of_weight_0_leave_label_sums_as_they_are() -> None:
    sums = _core.LabelSums(4)
    sums.add(*ROWS, *LABELS, 0, 2, f32(0, 1e6))
    assert (sums.examples, sums.counts(u32(0, 1)).tolist()) == (1, [0, 1])
    refused(sums.cosines, *ROWS, u32(0, 1, 1), 1, match="same number of candidates")


def test_questions_beyond_the_rows() -> None:
    engine = engine_of(OnlinePLTClassifier())
    labels = i64(0, 1, 2, 3, 4, 5), u32(0, 1, 2, 0, 1)
    for asked in ([0], [4], [2, 1]):
        given = np.array(asked, np.uint64)
        refused(engine.learn, *DENSE, *labels, 1, 4, 1, None, given, 2, match="rows to predict")
    engine.learn(*DENSE, *labels, 1, 4, 1, None, np.array([1, 3], np.uint64), 2)


@pytest.mark.parametrize("estimator", [OnlinePLTClassifier(), LdSMClassifier(n_estimators=2)])
def test_explanations_of_several_rows_or_none(estimator: Any) -> None:
    for rows in (ROWS, (i64(0), u32(), f32())):
        refused(engine_of(estimator).explain, *rows, 0, match="expected one row to explain")


def test_more_than_one_class() -> None:
    engine = engine_of(LOMTreeClassifier(), list("abcab"))
    for labels in ((i64(0, 2, 3), u32(0, 1, 2)), (i64(0, 0, 1), u32(0))):
        refused(engine.learn, *ROWS, *labels, 0, 2, 1, match="exactly one class")


@pytest.mark.parametrize(
    ("estimator", "y"),
    [
        (OnlinePLTClassifier(), Y),
        (EmbeddingClassifier(dimension=4), Y),
        (LOMTreeClassifier(), list("abcab")),
    ],
)
def test_learning_by_a_model_that_only_predicts(estimator: Any, y: Any) -> None:
    learned = estimator.fit(X, y)._learned
    engine = getattr(learned.engine, "first", learned.engine)  # without its second stage
    reader = type(engine).load(learned.options.to_dict(), engine.save(True), True)
    refused(reader.learn, *ROWS, *LABELS, 0, 2, 1, match="loaded for prediction only")


# --- types of arrays -----------------------------------------------------------------------------


def calls() -> Iterator[tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Functions with arguments that they accept."""
    examples = (*ROWS, *LABELS)
    yield _core.check_rows, (*ROWS, 2)
    sums = _core.LabelSums(4)
    yield sums.add, (*examples, 0, 2, None)
    yield sums.cosines, (*ROWS, u32(0, 1), 1)
    yield sums.counts, (u32(0),)
    yield sums.forget, (u32(0),)
    calibration = _core.ScoreCalibration(2)
    yield _core.ScoreCalibration.load, (calibration.save(),)
    yield calibration.add, (np.zeros((2, 3)), np.zeros(6, bool), f64(1, 1))
    yield calibration.apply, (f64(0),)
    yield calibration.calibrated, (f32(0), i64(0), np.zeros((2, 1), np.float32))
    yield calibration.uncalibrate, (f32(0.5), 0)
    yield _core.log_odds, (f32(0.5),)
    reranking, two = _core.Reranking(), np.zeros((1, 2))
    yield _core.Reranking.load, (reranking.save(),)
    yield reranking.learn, (two.astype(np.float32), two, two, two.astype(bool))
    yield reranking.logits, (f32(0.5), f64(0))
    yield _core.exp, (f64(0),)
    yield _core.log, (f64(1),)
    yield _core.label_vectors, (*ROWS, 5, *LABELS, 1)
    yield _core.visits, (PARENTS, LEAVES, i64(0, 1), u32(0), f64(1))
    yield _core.cheapest_reduction, (PARENTS, LEAVES, f64(1, 1, 1), 1.0)
    yield _core.cluster_labels, (*ROWS, 5, f64(1, 1), f64(1, 1), CLUSTERING, 1, False)
    progress = _core.Progress()
    yield _core.train_batch_plt, (training(), [TREE], 2, *examples, None, None, 1, progress)
    nodes = (training(), TREE, u32(1), 2, *examples, None, 1, progress, None)
    yield _core.train_batch_nodes, nodes
    engine = engine_of(OnlinePLTClassifier())
    scope = engine.scope(f32(0.5))
    yield engine.scope, (f32(0.5),)
    yield engine.top_k, (*ROWS, 2, 0, None, 1)
    yield engine.above_threshold, (*ROWS, scope, 1)
    yield engine.explain, (*[array[:n] for array, n in zip(ROWS, (2, 1, 1), strict=True)], 0)
    yield engine.paths, (*examples, 1)
    yield engine.learn, (*examples, 0, 2, 1)
    yield engine.remove_labels, (u32(0),)
    forest = _core.Forest(LdsmOptions.from_parameters(LdSMClassifier().get_params()).to_dict())
    yield forest.grow, (*examples, None, None, 2, 1, progress)
    embedding = engine_of(EmbeddingClassifier(dimension=4))
    yield embedding.start_with, (u32(0, 1), f32(*range(8)))
    yield embedding.fit, (*examples, None, 1, 1, progress)
    text: Any = TextFeatures("words").fit(["one two"])._engine
    yield text.add, ROWS
    yield text.learn, (*ROWS, 1)


def test_arrays_of_another_type_are_not_converted() -> None:
    """A copy of an array would cost time and memory that nothing accounts for."""
    for call, given in calls():
        for i, array in enumerate(given):
            if not isinstance(array, np.ndarray):
                continue
            another = array.astype(np.float32 if array.dtype == np.float64 else np.float64)
            for wrong in (another, np.repeat(array, 2, axis=-1)[..., ::2]):
                if wrong.dtype == array.dtype and wrong.flags.c_contiguous:
                    continue  # a single number
                with pytest.raises(TypeError, match="incompatible function arguments"):
                    call(*given[:i], wrong, *given[i + 1 :])
        call(*given)


def test_arrays_that_may_be_left_out_are_not_converted_either() -> None:
    examples, progress = (*ROWS, *LABELS), _core.Progress()
    rest: Any = (None, 1, progress)
    online = engine_of(OnlinePLTClassifier(second_stage=None))
    tree = engine_of(LOMTreeClassifier(second_stage=None), list("abcab"))
    batch = engine_of(PLTClassifier(second_stage=None)).save(True)
    text: Any = TextFeatures("words").fit(["one two"])._engine
    growth = LdsmOptions.from_parameters(LdSMClassifier(n_estimators=1).get_params()).to_dict()

    def train(tree: tuple[Array, Array], costs: Array | None = None) -> None:
        _core.train_batch_plt(training(), [tree], 2, *examples, costs, *rest)

    def grow(weights: Array | None, gains: Array | None) -> None:
        _core.Forest(growth).grow(*examples, weights, gains, 2, 1, progress)

    takes: list[tuple[Callable[[Array], Any], Array]] = [
        (lambda asked: online.learn(*examples, 0, 2, 1, None, asked, 1), np.ones(1, np.uint64)),
        (lambda allowed: online.scope(f32(0.5), allowed), u32(0)),
        (lambda allowed: tree.scope(f32(0.5), allowed), u32(0)),
        (lambda allowed: online.top_k(*ROWS, 2, 0, allowed, 1), u32(0)),
        (lambda least: online.top_k(*ROWS, 2, 0, None, 1, least), np.zeros((1, 2), np.float32)),
        (lambda costs: train(TREE, costs), f32(1, 1)),
        (lambda parents: train((parents, TREE[1])), TREE[0]),
        (lambda leaves: train((TREE[0], leaves)), TREE[1]),
        (lambda weights: grow(weights, None), f32(1, 1)),
        (lambda gains: grow(None, gains), f64(1, 1)),
        (lambda n: _core.OnlinePlt.from_batch(options(), batch, n), np.ones(3, np.uint64)),
        (lambda values: text.weighted([(*ROWS[:2], values)], False, 1), ROWS[2]),
    ]
    for call, array in takes:
        call(array)
        with pytest.raises(RuntimeError, match="bad_cast"):
            call(array.astype(np.float32 if array.dtype == np.float64 else np.float64))


# --- scopes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator",
    [
        OnlinePLTClassifier(),
        PLTClassifier(),
        PLTClassifier(n_trees=2),
        LdSMClassifier(n_estimators=2),
    ],
)
def test_scopes_of_another_model(estimator: Any) -> None:
    engine, other = engine_of(estimator), engine_of(estimator)
    refused(engine.scope, f32(), match="expected one threshold")
    everything = other.scope(f32(0))
    refused(engine.above_threshold, *DENSE, everything, 1, match="made for another model")


def test_a_scope_of_a_model_that_has_grown() -> None:
    for engine, at_first in (
        (engine_of(OnlinePLTClassifier()), f32(0.1, 0.2, 0.3)),
        (engine_of(MemoryTreeClassifier()), f32(0.1, 0.2, 0.3)),
        (engine_of(LOMTreeClassifier(), list("abcab")), f32(0.1)),
    ):
        scopes = [engine.scope(at_first, allowed) for allowed in (None, u32(0, 1))]
        engine.learn(*ROWS, i64(0, 1, 2), u32(3, 4), 0, 2, 1)
        for scope in scopes:
            refused(engine.above_threshold, *DENSE, scope, 1, match="the model has grown since")


# --- trees ---------------------------------------------------------------------------------------

PARENTS, LEAVES = i64(-1, 0, 0), u32(0, 1)
CLUSTERING: dict[str, Any] = {
    "arity": 2,
    "max_leaf_size": 1,
    "tolerance": 1e-4,
    "max_iterations": 10,
    "seed": 0,
    "lambda": 0.0,
    "smoothing": 0.0,
    "weighted_intermediate": True,
}


@pytest.mark.parametrize(
    ("parents", "leaves"),
    [
        (i64(), u32()),
        (i64(0, 0, 0), u32(0, 1)),
        (i64(-1, -1, 0), u32(0, 1)),
        (i64(-1, 2, 0), u32(0)),
        (i64(-1, 1, 0), u32(0)),
        (i64(-1, 0, 0), u32(0)),
        (i64(-1, 0, 0), u32(0, 1, 2)),
        (i64(-1, 0, 0), u32(0, 0)),
        (i64(-1, 0, 0), u32(0, 2)),
        (i64(-1, 0, 0), u32(0, NONE)),
    ],
)
def test_clusters_that_are_no_tree(parents: Array, leaves: Array) -> None:
    refused(_core.cheapest_reduction, parents, leaves, f64(1, 1, 1), 1.0, match="of the tree")
    refused(_core.visits, parents, leaves, i64(0), u32(), f64(), match="of the tree")


def test_what_is_asked_about_clusters() -> None:
    for visits in (f64(1, 1), f64(1, 1, 1, 1)):
        refused(_core.cheapest_reduction, PARENTS, LEAVES, visits, 1.0, match="every node")
    refused(_core.visits, PARENTS, LEAVES, i64(0, 1), u32(2), f64(1), match="not in the tree")
    refused(_core.label_vectors, *DENSE, 5, i64(0, 1), u32(0), 1, match="expected sparse rows")
    refused(_core.label_vectors, *ROWS, 5, i64(0, 1), u32(2), 1, match="does not exist")
    refused(_core.label_vectors, *ROWS, 5, i64(), u32(), 1, match="the labels' arrays")
    refused(_core.label_vectors, *ROWS, 1, i64(0, 2), u32(0, 1), 1, match="out of range")


@pytest.mark.parametrize(
    ("frequencies", "fano", "changes", "dimension", "message"),
    [
        (f64(1, 1), f64(1, 1, 1), {}, 5, "frequency for each label"),
        (f64(1, 1, 1), f64(1, 1, 1), {}, 5, "frequency for each label"),
        (f64(), f64(), {"arity": 1}, 5, "too small"),
        (f64(), f64(), {"max_leaf_size": 0}, 5, "too small"),
        (f64(), f64(), {}, 1, "out of range"),
    ],
)
def test_labels_that_cannot_be_clustered(
    frequencies: Array, fano: Array, changes: dict[str, Any], dimension: int, message: str
) -> None:
    rest = (frequencies, fano, {**CLUSTERING, **changes}, 1, False)
    refused(_core.cluster_labels, *ROWS, dimension, *rest, match=message)


# --- batches -------------------------------------------------------------------------------------

TREE = u32(NONE, 0, 1, 1), u32(NONE, NONE, 0, 1)


def training() -> dict[str, Any]:
    return BatchOptions.from_parameters(PLTClassifier().get_params()).for_training(2)


def test_batches_that_do_not_fit() -> None:
    def train(trees: list[Any], labels: Any = LABELS, costs: Any = (None, None)) -> None:
        rest = (*ROWS, *labels, *costs, 1, _core.Progress())
        _core.train_batch_plt(training(), trees, 2, *rest)

    train([TREE], costs=(f32(1, 1), f32(1, 1)))
    refused(train, [], match="there is no tree")
    refused(train, [TREE], (i64(0, 1, 2), u32(0, 2)), match="not in every tree")
    for costs in ((f32(1), None), (None, f32(1, 1, 1))):
        refused(train, [TREE], LABELS, costs, match="one number for every example")
    refused(_core.OnlinePlt.on_trees, options(), [TREE, TREE], 2, match="number of trees")


def test_nodes_that_cannot_be_trained() -> None:
    def train(nodes: Array, make_room: Any = None) -> Any:
        ids = np.tile(np.arange(40_000, dtype=np.uint32), 2)
        rows = i64(0, 40_000, 80_000), ids, np.ones(80_000, np.float32)
        return _core.train_batch_nodes(
            training(), TREE, nodes, 2, *rows, *LABELS, None, 1, _core.Progress(), make_room
        )

    for nodes in (u32(1, 0), u32(1, 1), u32(2), u32(4)):
        refused(train, nodes, match="expected inner nodes")
    train(u32(0, 1), lambda size: np.empty(size, np.uint8))
    refused(train, u32(1), lambda size: np.empty(size - 1, np.uint8), match="too small")


def test_nodes_without_weights() -> None:
    engine = engine_of(PLTClassifier())
    parents = engine.tree()["parent"]
    for node in (len(parents), NONE, int(np.argmax(engine.tree()["label"] != NONE))):
        refused(engine.weights_of, node, match="no such inner node")


@pytest.mark.parametrize(
    ("labels", "weights", "gains", "message"),
    [
        (u32(0, 2), None, None, "do not fit together"),
        (u32(0, 1), f32(1), None, "one number for every example"),
        (u32(0, 1), None, f64(1), "one number for every example"),
    ],
)
def test_forests_that_cannot_grow(labels: Array, weights: Any, gains: Any, message: str) -> None:
    given = LdsmOptions.from_parameters(LdSMClassifier(n_estimators=1).get_params()).to_dict()
    forest = _core.Forest(given)
    rest: Any = (2, 1, _core.Progress())
    refused(forest.grow, *ROWS, i64(0, 1, 2), labels, weights, gains, *rest, match=message)
    forest.grow(*ROWS, *LABELS, f32(1, 1), f64(1, 1), *rest)
    refused(forest.grow, *ROWS, *LABELS, None, None, *rest, match="already been grown")


def test_embeddings_that_do_not_fit() -> None:
    engine = engine_of(EmbeddingClassifier(dimension=4))
    for size in (7, 9):
        refused(engine.start_with, u32(0, 1), f32(*range(size)), match="a vector for every feature")
    rest = (None, 1, 1, _core.Progress())
    refused(engine.fit, *ROWS, i64(0, 1, 2), u32(0, 3), *rest, match="not in the tree")


# --- the rest ------------------------------------------------------------------------------------


def test_calibrations_that_do_not_fit() -> None:
    calibration, logits = _core.ScoreCalibration(2), np.zeros((2, 3))
    right = np.zeros(6, bool)
    refused(calibration.add, logits, right[:5], f64(1, 1), match="as many outcomes")
    refused(calibration.add, logits, right, f64(1), match="as many outcomes")
    best = np.zeros((2, 1), np.float32)
    for scores, rows in ((f32(0, 0), i64(0)), (f32(0), i64(0, 0))):
        refused(calibration.calibrated, scores, rows, best, match="row of every label")
    for row in (2, -1):
        refused(calibration.calibrated, f32(0), i64(row), best, match="row does not exist")
    for size in (0, 2, 16, 18):
        refused(_core.ScoreCalibration.load, np.ones(size), match="as many hits as counts")


def test_rerankings_that_do_not_fit() -> None:
    reranking = _core.Reranking()
    given = np.zeros((2, 3), np.float32), np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((2, 3), bool)
    for wrong in (1, 2, 3):
        arrays = list(given)
        for smaller in (arrays[wrong][1:], np.ascontiguousarray(arrays[wrong][:, 1:])):
            arrays[wrong] = smaller
            refused(reranking.learn, *arrays, match="same shape")
    refused(reranking.logits, f32(0.5), f64(0, 0), match="as many cosines")
    for numbers in (reranking.save()[1:], reranking.save() * np.nan):
        refused(_core.Reranking.load, numbers, match="re-ranking")


def test_saved_arrays_of_another_kind() -> None:
    sums = _core.LabelSums(4)
    sums.add(*ROWS, *LABELS, 0, 2, None)
    saved = sums.save()
    counts = saved["sum.count"]
    for wrong in (counts.astype(np.int64), np.repeat(counts, 2)[::2], counts.tolist()):
        refused(_core.LabelSums.load, {**saved, "sum.count": wrong}, match="of the wrong type")
    odd = np.frombuffer(b"?" + counts.tobytes(), np.uint8)[1:].view(np.uint64)
    refused(_core.LabelSums.load, {**saved, "sum.count": odd}, match="not aligned")
    refused(_core.LabelSums.load, {}, match="is missing or of the wrong type")
    new = _core.LabelSums(4).save()
    anywhere = {name: odd[:0].view(array.dtype) for name, array in new.items() if len(array) == 0}
    assert anywhere and _core.LabelSums.load({**new, **anywhere}).examples == 0


def test_texts_that_are_none() -> None:
    engine: Any = TextFeatures("words").fit(["one two"])._engine
    with pytest.raises(TypeError, match="expected strings"):
        engine.transform(["one", b"two"], 1)
    too_far = u32(0, NONE // 2 - 1)
    for call, rest in ((engine.add, ()), (engine.learn, (1,))):
        refused(call, ROWS[0], too_far, ROWS[2], *rest, match="out of range")
        refused(call, i64(0, 2), u32(1, 0), ROWS[2], *rest, match="rows of X")
