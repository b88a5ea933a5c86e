"""The engine of learnt vectors equals its plain twin, for any number of threads and processor."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.driver import Example, labels_of, rows
from labelgrove import EmbeddingClassifier, _core
from labelgrove.models._embedding import EmbeddingOptions
from naive.embedding import Embedding, Learner

TREES: dict[str, dict[int, list[int]]] = {
    "flat": {0: [1], 1: [2, 3, 4, 5]},
    "deep": {0: [1], 1: [2, 3], 3: [4, 5], 5: [6, 7]},
    "wide": {0: [1], 1: [2, 3, 4], 2: [5, 6, 7], 4: [8, 9]},
}
FEATURES, DIMENSION, REPLAY, RESERVOIR, SHUFFLE, LABEL = 9, 3, 2, 3, 4, 10
NONE, SEED = 0xFFFFFFFF, 3


def options(**changes: Any) -> dict[str, Any]:
    plain = EmbeddingClassifier(dimension=DIMENSION, replay=0, random_state=SEED).get_params()
    parameters = {**plain, **changes}
    return EmbeddingOptions.from_parameters(parameters).to_dict()


def tree_arrays(children: dict[int, list[int]]) -> tuple[Any, Any, list[int]]:
    n = 1 + max(v for below in children.values() for v in below)
    parents, labels = np.full(n, NONE, np.uint32), np.full(n, NONE, np.uint32)
    for parent, below in children.items():
        parents[below] = parent
    leaves = [v for v in range(1, n) if v not in children]
    labels[leaves] = np.arange(len(leaves))
    return parents, labels, leaves


def engine_and_twin(tree: str, given: dict[str, Any]) -> tuple[Any, Embedding]:
    parents, labels, leaves = tree_arrays(TREES[tree])
    first = np.random.default_rng(0).normal(size=(FEATURES, DIMENSION)).astype(np.float32)
    engine = _core.EmbeddingPlt.on_tree(given, parents, labels, len(leaves))
    engine.start_with(np.arange(FEATURES, dtype=np.uint32), first.ravel())
    learner = Learner(given["learner"] == 0, given["rate"], given["epsilon"])
    vectors = {f: v.astype(np.float64) for f, v in enumerate(first)}
    leaf_of = dict(enumerate(leaves))
    return engine, Embedding(TREES[tree], leaf_of, vectors, given["softmax"], learner)


def assert_same(engine: Any, twin: Embedding, examples: list[Example]) -> None:
    saved = engine.save(False)
    mine = saved["feature.vector"].reshape(-1, DIMENSION)
    theirs = np.array([twin.vectors[f] for f in range(FEATURES)])
    np.testing.assert_allclose(mine, theirs, rtol=2e-3, atol=2e-4)
    expected = [
        twin.nodes[v] for p in sorted(twin.children) for v in twin.children[p] if v in twin.nodes
    ]
    np.testing.assert_allclose(saved["node.vector"], np.concatenate(expected), rtol=2e-3, atol=2e-4)
    ids, scores, _ = engine.top_k(*rows(examples), len(twin.leaf_of), 0, None, 1)
    for example, labels, found in zip(examples, ids, scores, strict=True):
        x = dict(zip(example.ids, example.values, strict=True))
        wanted = [twin.probability(x, label) for label in labels.tolist()]
        np.testing.assert_allclose(found, wanted, rtol=5e-3, atol=1e-5)


@st.composite
def problems(draw: Any) -> tuple[str, dict[str, Any], list[Example]]:
    tree = draw(st.sampled_from(sorted(TREES)))
    learner = draw(st.sampled_from(["adagrad", "sgd"]))
    softmax = draw(st.booleans())
    changes = {"learner": learner, "learning_rate": 0.1, "epsilon": 0.01}
    if softmax:
        changes["loss"] = "softmax"
    _, _, leaves = tree_arrays(TREES[tree])
    examples = []
    for _ in range(draw(st.integers(1, 20))):
        ids = sorted(draw(st.sets(st.integers(0, FEATURES - 1), max_size=4)))
        values = [draw(st.sampled_from([-1.0, 0.25, 0.5, 2.0])) for _ in ids]
        label = st.integers(0, len(leaves) - 1)
        labels = [draw(label)] if softmax else sorted(draw(st.sets(label, max_size=3)))
        examples.append(Example(tuple(ids), tuple(values), tuple(labels)))
    return tree, options(**changes), examples


def as_twin(example: Example) -> tuple[dict[int, float], tuple[int, ...]]:
    return dict(zip(example.ids, example.values, strict=True)), example.labels


@settings(max_examples=30, deadline=None)
@given(problems())
def test_a_stream_is_learnt_one_by_one(problem: tuple[str, dict[str, Any], list[Example]]) -> None:
    tree, given_options, examples = problem
    engine, twin = engine_and_twin(tree, given_options)
    engine.learn(*rows(examples), *labels_of(examples), 0, len(examples), 1)
    for example in examples:
        twin.learn([as_twin(example)], [1.0])
    assert_same(engine, twin, examples)


@settings(max_examples=15, deadline=None)
@given(problems(), st.integers(1, 2), st.integers(0, 5))
def test_earlier_examples_are_learnt_again(
    problem: tuple[str, dict[str, Any], list[Example]], times: int, room: int
) -> None:
    tree, given_options, examples = problem
    given_options |= {"replay": times, "replay_memory": room}
    engine, twin = engine_and_twin(tree, given_options)
    engine.learn(*rows(examples), *labels_of(examples), 0, len(examples), 1)
    memory: list[Example] = []
    for seen, example in enumerate(examples):
        twin.learn([as_twin(example)], [1.0])
        for turn in range(times if memory else 0):
            again = memory[_core.draw(SEED, REPLAY, seen, turn) % len(memory)]
            twin.learn([as_twin(again)], [1.0])
        place = _core.draw(SEED, RESERVOIR, seen + 1, 0) % (seen + 1)
        if not room or len(memory) < room:
            memory.append(example)
        elif place < room:
            memory[place] = example
    assert_same(engine, twin, examples)
    saved = engine.save(False)
    assert saved["memory.label"].tolist() == [label for one in memory for label in one.labels]
    other = _core.EmbeddingPlt.load(given_options, saved, False)
    for one in (engine, other):
        one.learn(*rows(examples), *labels_of(examples), 0, len(examples), 1)
    for name, array in engine.save(False).items():
        assert np.array_equal(array, other.save(False)[name])


@settings(max_examples=30, deadline=None)
@given(problems(), st.integers(1, 3))
def test_fit_learns_in_batches_at_a_falling_rate(
    problem: tuple[str, dict[str, Any], list[Example]], epochs: int
) -> None:
    tree, given_options, examples = problem
    n = len(examples)
    engine, twin = engine_and_twin(tree, given_options)
    data = (*rows(examples), *labels_of(examples), None)
    engine.fit(*data, epochs, 1, _core.Progress())
    order = list(range(n))
    for epoch in range(epochs):
        for i in range(n, 1, -1):
            j = _core.draw(SEED, SHUFFLE, epoch, i) % i
            order[i - 1], order[j] = order[j], order[i - 1]
        parts = [1.0 - (epoch * n + i) / (epochs * n) for i in range(n)]
        twin.learn([as_twin(examples[i]) for i in order], parts)
    assert_same(engine, twin, examples)
    for threads in (2, 3):
        other, _ = engine_and_twin(tree, given_options)
        other.fit(*data, epochs, threads, _core.Progress())
        assert all(
            np.array_equal(array, other.save(False)[name])
            for name, array in engine.save(False).items()
        )


def test_every_processor_learns_the_same() -> None:
    """Equal to the last bit with any instruction set; CI has several."""
    rng = np.random.default_rng(0)
    X, y = rng.random((200, 30)), rng.integers(0, 40, 200)
    digest = sha256()
    for changes in ({"dimension": 13, "replay": 0}, {"dimension": 100, "loss": "softmax"}):
        clf = EmbeddingClassifier(tree="huffman", arity=4, max_iter=3, **changes)
        clf.fit(X, y).partial_fit(X[:50], y[:50])
        arrays = clf._learned.engine.save(False)
        digest.update(b"".join(arrays[name].tobytes() for name in sorted(arrays)))
    assert digest.hexdigest()[:16] == "ad2c34db8a7d82c6"


def test_vectors_begin_where_the_seed_says() -> None:
    clfs = [EmbeddingClassifier(replay=0, random_state=seed) for seed in (5, 6, 5)]
    a, b, again = (clf.partial_fit(np.eye(3), list("abc")).predict_proba(np.eye(3)) for clf in clfs)
    assert np.array_equal(a, again) and not np.array_equal(a, b)


def test_what_came_early_is_not_forgotten() -> None:
    """Two halves that have nothing in common, one after the other."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 600) * 10 + rng.integers(0, 10, 1200)
    X = np.zeros((1200, 45))
    for i, label in enumerate(labels):
        X[i, [2 * label, 2 * label + 1, 40 + i % 5]] = 1.0  # two words of its own, one shared
    found = {}
    for replay in (0, 1):
        clf = EmbeddingClassifier(dimension=10, replay=replay).partial_fit(X, labels)
        found[replay] = (clf.predict(X[:600]) == labels[:600]).mean()
    assert found[1] > 0.9 > found[0]


def test_a_new_label_begins_as_rare_as_it_has_been() -> None:
    clf = EmbeddingClassifier(dimension=4, max_iter=1, replay=0)
    clf.fit([[1.0, 0.0]] * 9, ["a", "b", "c"] * 3)
    engine = clf._learned.engine
    weights = np.array([1e-6], np.float32)
    one = (np.array([0, 1]), np.array([0], np.uint32), np.array([1.0], np.float32))
    engine.learn(*one, np.array([0, 1]), np.array([3], np.uint32), 0, 1, 1, weights)
    ids, scores, _ = engine.top_k(*one, 4, 0, None, 1)
    found = dict(zip(ids[0].tolist(), scores[0].tolist(), strict=True))
    _, path = engine.paths(*one, np.array([0, 1]), np.array([3], np.uint32), 1)
    assert path[-1] == pytest.approx(1 / 11, rel=1e-3)  # nine examples without it
    assert found[3] == min(found.values())


def test_the_largest_steps_stay_finite() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 5)), rng.integers(0, 9, 200)
    for learner in ("adagrad", "sgd"):
        for loss in ("log", "softmax"):
            clf = EmbeddingClassifier(
                dimension=3, learner=learner, learning_rate=1e6, loss=loss, max_iter=5
            )
            clf.fit(X, y, sample_weight=np.full(200, 1e6)).partial_fit(X, y)
            assert np.isfinite(clf.predict_proba(X)).all()
            assert clf.__getstate__()  # what was learnt can be saved


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("feature.vector", lambda a: np.full_like(a, np.nan), "not finite"),
        ("node.vector", lambda a: np.full_like(a, 2e6), "larger than any"),
        ("feature.vector", lambda a: a[:-1], "a vector for every feature"),
        ("node.vector", lambda a: a[:-1], "too short"),
        ("node.vector", lambda a: np.append(a, a[:1]), "too long"),
        ("feature.id", lambda a: np.full_like(a, 3), "occurs twice"),
        ("feature.id", lambda a: a | NONE, "out of range"),
        ("feature.square", lambda a: -a - 1, "out of range"),
        ("feature.square", lambda a: a[:-1], "for every feature"),
        ("node.square", lambda a: np.full_like(a, np.inf), "out of range"),
        ("node.square", lambda a: a[:-1], "too short"),
        ("node.reached", lambda a: a[:-1], "for every node"),
        ("node.reached", lambda a: a + 2**60, "for every node"),
        ("memory.reached", lambda a: a + 1, "remembered examples is wrong"),
        ("memory.reached", lambda a: a[:0], "must hold a count"),
        ("memory.labels", lambda a: a[:-1], "too short"),
        ("memory.label", lambda a: a + 9, "does not exist"),
        ("example.value", lambda a: a[:-1], "too short"),
        ("counters", lambda a: a[:-1], "3 numbers"),
    ],
)
def test_what_cannot_be_is_refused(name: str, change: Any, says: str) -> None:
    clf = EmbeddingClassifier(dimension=4, max_iter=1).fit(np.eye(5), list("abcde"))
    given, arrays = clf._learned.options.to_dict(), clf._learned.engine.save(False)
    assert _core.EmbeddingPlt.load(given, arrays, False).examples_seen == 5
    with pytest.raises(ValueError, match=says):
        _core.EmbeddingPlt.load(given, {**arrays, name: change(arrays[name])}, False)


def packed(vectors: Any, dtype: str) -> tuple[Any, Any, Any]:
    """Numbers as docs/format.md has them, the vectors' scales, and what the two stand for."""
    rows = np.zeros((len(vectors), -(-vectors.shape[1] // 8) * 8), np.float32)
    rows[:, : vectors.shape[1]] = vectors
    scales = np.zeros(0, np.float32)
    if dtype == "int8":
        most = np.abs(rows).max(axis=1)
        scales = most / np.float32(127)
        inverse = np.divide(np.float32(127), most, out=np.zeros_like(most), where=most > 0)
        numbers = np.rint(rows * inverse[:, None]).astype(np.int8)
        return numbers, scales, numbers * scales[:, None]
    numbers = rows.astype(dtype)
    return numbers, scales, numbers.astype(np.float32)


@pytest.mark.parametrize("gone", [*"abc"])
def test_in_a_softmax_a_new_label_in_the_place_of_a_removed_one_starts_afresh(gone: str) -> None:
    X, y = np.tile(np.eye(4)[:3], (30, 1)), [*"abc"] * 30
    clf = EmbeddingClassifier(dimension=8, loss="softmax").fit(X, y).remove_labels([gone])
    clf.partial_fit(np.eye(4)[3:], ["new"])
    columns = clf.classes_.tolist()
    predicted = clf.predict_proba(np.eye(4)[:3])[:, columns.index("new")]
    assert (predicted < 0.1).all()


@pytest.mark.parametrize("loss", ["log", "softmax"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_a_compact_copy_is_its_vectors_rounded(dtype: str, loss: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((200, 30)) * (rng.random((200, 30)) < 0.3), rng.integers(0, 40, 200)
    clf = EmbeddingClassifier(dimension=13, arity=3, max_leaf_size=3, loss=loss).fit(X, y)
    saved = clf._learned.engine.save(False)
    copy = clf.compact(dtype=dtype)
    arrays = copy._learned.engine.save(True)
    nodes = saved["node.vector"].reshape(-1, 14)
    rounded = {**saved}
    for name, vectors in (("feature", saved["feature.vector"].reshape(-1, 13)), ("node", nodes)):
        numbers, scales, rounded[f"{name}.vector"] = packed(vectors[:, :13], dtype)
        assert arrays[f"{name}.vector"].tobytes() == numbers.tobytes()
        assert arrays[f"{name}.scale"].tolist() == scales.tolist()
    assert arrays["node.bias"].tolist() == nodes[:, 13].tolist()
    rounded["feature.vector"] = rounded["feature.vector"][:, :13].ravel()
    rounded["node.vector"] = np.hstack([rounded["node.vector"][:, :13], nodes[:, 13:]]).ravel()
    twin = _core.EmbeddingPlt.load(clf._learned.options.to_dict(), rounded, False)
    asked = (*clf._learned.check_rows(X).arrays, 9, 0, None, 1)
    mine, expected = copy._learned.engine.top_k(*asked), twin.top_k(*asked)
    np.testing.assert_allclose(mine[1], expected[1], rtol=1e-4)
    assert (mine[0] == expected[0]).mean() > 0.99  # except for the order of ties


def test_short_vectors_are_dropped_first() -> None:
    clf = EmbeddingClassifier(dimension=4, max_iter=3, arity=3).fit(np.eye(9), list("abcdefghi"))
    clf.partial_fit(np.eye(9)[:3], list("abc"))
    saved = clf._learned.engine.save(False)
    lengths = np.linalg.norm(saved["feature.vector"].reshape(-1, 4), axis=1)
    cut = float(np.sort(lengths)[4])
    kept = clf.compact(threshold=cut * 0.999)._learned.engine.save(True)["feature.id"]
    assert kept.tolist() == saved["feature.id"][lengths >= cut].tolist()
    each = 4 + 4 * 8  # a feature's number, and its vector, filled up
    assert clf._learned.engine.compact_threshold(0, 9 * each, 1) == 0.0
    least = clf._learned.engine.compact_threshold(0, 5 * each, 1)
    assert np.sort(lengths)[3] < least <= cut * (1 + 1e-6)
    assert len(clf.compact(threshold=least)._learned.engine.save(True)["feature.id"]) == 5


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("vector.type", lambda a: a + 1, "0 to 2"),
        ("vector.type", lambda a: a[:0], "one number"),
        ("feature.vector", lambda a: a[:-1], "one vector for each"),
        ("node.vector", lambda a: a[:-8], "one vector for each"),
        ("feature.scale", lambda a: a[:-1], "one number for each int8 vector"),
        ("node.scale", lambda a: a * np.nan, "not finite"),
        ("node.bias", lambda a: a + 1e7, "not finite"),
        ("node.bias", lambda a: a[:-1], "one vector for each"),
        ("feature.id", lambda a: a * 0, "occurs twice"),
        ("counters", lambda a: a[:-1], "3 numbers"),
    ],
)
def test_compact_vectors_that_cannot_be_are_refused(name: str, change: Any, says: str) -> None:
    clf = EmbeddingClassifier(dimension=4, max_iter=1).fit(np.eye(5), list("abcde"))
    given, arrays = clf._learned.options.to_dict(), clf._learned.engine.compact(2, 0.0)
    assert _core.CompactEmbedding.load(given, arrays, True).examples_seen == 5
    with pytest.raises(ValueError, match=says):
        _core.CompactEmbedding.load(given, {**arrays, name: change(arrays[name])}, True)


def test_a_file_gets_no_more_space_than_it_fills() -> None:
    """A small file may declare many dimensions: a terabyte here, for 2 000 labels."""
    clf = EmbeddingClassifier(dimension=1, max_iter=1).fit(np.eye(2000, 1), list(range(2000)))
    arrays = clf._learned.engine.save(False)
    arrays |= {name: np.empty(0, arrays[name].dtype) for name in arrays if "feature." in name}
    options = clf._learned.options.to_dict() | {"dimension": 10**8}
    with pytest.raises(ValueError, match=r"'node.vector' is too short"):
        _core.EmbeddingPlt.load(options, arrays, False)


def test_competing_labels_share_what_there_is() -> None:
    clf = EmbeddingClassifier(dimension=4, loss="softmax", arity=3, max_leaf_size=3)
    clf.fit(np.eye(9), list("abcdefghi"))
    np.testing.assert_allclose(clf.predict_proba(np.eye(9)).sum(axis=1), 1.0, rtol=1e-4)
    clf.partial_fit(np.eye(9)[:1], ["new"])
    np.testing.assert_allclose(clf.predict_proba(np.eye(9)).sum(axis=1), 1.0, rtol=1e-4)


def test_of_several_labels_that_compete_each_has_its_turn() -> None:
    engine, twin = engine_and_twin("wide", options(loss="softmax"))
    row = Example((0, 1), (1.0, 0.5), (0, 2))
    engine.learn(*rows([row] * 9), *labels_of([row] * 9), 0, 9, 1)
    for seen in range(1, 10):
        turn = row.labels[_core.draw(SEED, LABEL, NONE, seen) % 2]
        twin.learn([({0: 1.0, 1: 0.5}, [turn])], [1.0])
    assert_same(engine, twin, [row])


def test_vectors_to_begin_with_know_words_that_no_example_had() -> None:
    vectors = {"cat": [1.0, 0.0], "kitten": [0.9, 0.1], "dog": [-1.0, 0.0], "puppy": [-0.9, 0.2]}
    X = [{"cat": 1}, {"dog": 1}] * 20
    clf = EmbeddingClassifier(dimension=2, vectors=vectors, max_iter=5)
    clf.fit(X, ["feline", "canine"] * 20)
    assert clf.predict([{"kitten": 1}, {"puppy": 1}]).tolist() == ["feline", "canine"]


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ({1: [0.0, 1.0], "x": [1.0, 0.0]}, "all names or all column numbers"),
        ({True: [0.0, 1.0]}, "all names or all column numbers"),
        ({"\ud800": [0.0, 1.0]}, "vectors: the name '.ud800' holds a lone surrogate"),
        ({"x": [0.0, 1.0]}, "expected examples with names as well"),
        ([[10**400, 1.0]], "vectors: expected an array of numbers"),
    ],
)
def test_vectors_that_no_file_could_hold_are_refused(vectors: Any, message: str) -> None:
    X: Any = [[1.0, 0.0]] if message.startswith("expected") else [{"x": 1.0}]
    with pytest.raises(ValueError, match=message):
        EmbeddingClassifier(dimension=2, vectors=vectors).fit(X, ["cat"])


def test_what_explains_a_score_adds_up_to_it() -> None:
    X = [{"meow": 1, "red": 2}, {"purr": 1}, {"bark": 1, "red": 1}, {"growl": 1}] * 9
    Y = [["cat", "red"], ["cat"], ["dog", "red"], ["dog"]] * 9
    clf = EmbeddingClassifier(dimension=5, arity=2, max_leaf_size=2).fit(X, Y)
    row = {"meow": 3, "red": 1, "unheard": 1}
    told = clf.explain(row, label="cat").labels[0]
    for step in told.path:
        assert step.probability == pytest.approx(1 / (1 + np.exp(-step.margin)), rel=1e-4)
    column = clf.classes_.tolist().index("cat")
    assert told.probability == pytest.approx(clf.predict_proba([row])[0, column], rel=1e-4)
