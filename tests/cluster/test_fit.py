"""Learning in pieces gives the same bytes as learning in memory, for any pieces and workers."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cluster.kit import (
    fit_like_memory,
    in_memory,
    limited_descriptors,
    limited_files,
    some_rows,
    written,
    written_texts,
)
from fuzz.extremes import examples
from labelgrove import (
    DataError,
    FileFormatError,
    LabelTree,
    ModelFileError,
    ParameterError,
    PLTClassifier,
    TextClassifier,
    distributed,
)
from labelgrove.data import Columns
from labelgrove.data._mapped import open_arrays, open_dataset
from labelgrove.distributed import _fit, _plan, _tasks
from labelgrove.models import _plt_options
from labelgrove.models.engine import _trees
from labelgrove.text import HashedText, TextFeatures, _embeddings, _settings
from labelgrove.vocabulary import Vocabulary


@pytest.fixture(autouse=True)
def links_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with few examples."""
    monkeypatch.setattr(_plt_options, "_FEWEST_TO_HOLD_OUT", 1)


KINDS: list[dict[str, Any]] = [
    {"arity": 3, "max_leaf_size": 4},
    {"tree": "interpolated", "arity": 4, "max_leaf_size": 5, "n_trees": 2, "random_state": 3},
    {"tree": "cost", "loss": "log"},
    {"tree": "huffman", "arity": 2, "class_weight": "balanced"},
    {"tree": "random", "arity": 5, "max_leaf_size": 5, "bias": 0.0, "normalize": False},
    {"tree": "flat", "class_weight": {"l1": 3.0, "l2": 0.5}},
    {"tree": LabelTree.flat([f"l{i}" for i in range(70)])},
    {"tree": LabelTree([-1, 0, *([1] * 70)], {i + 2: f"l{i}" for i in range(70)})},
]


@pytest.mark.parametrize(
    ("parameters", "memory"),
    [*((parameters, 30_000) for parameters in KINDS), *((one, 1 << 30) for one in KINDS[:2])],
    ids=lambda given: str(given.get("tree", "kmeans"))[:12] if isinstance(given, dict) else None,
)
def test_the_bytes_are_those_of_memory(
    tmp_path: Path, parameters: dict[str, Any], memory: int
) -> None:
    dataset = written(tmp_path / "rows", some_rows(300))
    model = PLTClassifier(**parameters)
    shares: list[float] = []
    found = fit_like_memory(model, dataset, memory=memory, progress=shares.append)
    assert shares == sorted(shares) and shares[-1] == 1.0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["memory.lg", "pieces.lg", "rows"]
    assert not hasattr(model, "classes_") and found.classes_.size > 0


@pytest.mark.parametrize("tree", ["kmeans", "random"])
@pytest.mark.parametrize(("few", "is_flat"), [(300, True), (299, False)])
def test_few_examples_are_few_in_pieces_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tree: str, few: int, is_flat: bool
) -> None:
    for name, number in {"_LEAF_SIZE": 4, "_LEAF_SIZE_OF_FEW": 70, "_FEW_EXAMPLES": few}.items():
        monkeypatch.setattr(_trees, name, number)
    dataset = written(tmp_path / "rows", some_rows(300))
    found = fit_like_memory(PLTClassifier(tree=tree), dataset, memory=1 << 30)
    assert (found.tree_.depth == 1) == is_flat


TEXTS: list[TextFeatures] = [
    TextFeatures(n_features=2**10),
    TextFeatures("words+subwords", n_features=2**10, min_documents=3),
    TextFeatures("words", n_features=2**10, idf=False),
]


@pytest.mark.parametrize(
    ("text", "memory"), [*((text, 30_000) for text in TEXTS), (TEXTS[0], 1 << 30)], ids=range(4)
)
def test_the_bytes_are_those_of_memory_for_texts(
    tmp_path: Path, text: TextFeatures, memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_settings, "_FIRST_DOCUMENTS", 100)
    dataset = written_texts(tmp_path / "texts", 300)
    model = TextClassifier(PLTClassifier(arity=3, max_leaf_size=4), text)
    model.set_params(vocabulary=Vocabulary([]), columns=Columns(("title",), ("codes",)))
    shares: list[float] = []
    with ThreadPoolExecutor(2) as executor:
        found = fit_like_memory(
            model, dataset, memory=memory, executor=executor, progress=shares.append
        )
    assert shares == sorted(shares) and shares[0] == 0.0 and shares[-1] == 1.0
    assert not hasattr(model, "classifier_")
    assert found.predict_topk(["Wört01"], k=1)[0].shape == (1, 1)


def test_many_pieces_are_not_open_at_once(tmp_path: Path) -> None:
    dataset = written_texts(tmp_path / "texts", 200)
    model = TextClassifier(
        PLTClassifier(arity=3, max_leaf_size=4, n_trees=3), TextFeatures(n_features=2**10)
    )
    expected = in_memory(model, dataset, tmp_path / "memory.lg")
    with limited_descriptors(25):
        distributed.fit(model, dataset, tmp_path / "pieces.lg", memory=30_000)
    assert (tmp_path / "pieces.lg").read_bytes() == expected


def test_zeros_of_embeddings_are_not_stored_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def letters(texts: list[str]) -> Any:
        return np.array([[text.count(letter) for letter in "w13"] for text in texts], np.float32)

    monkeypatch.setattr(_embeddings, "_wordllama", letters)
    dataset = written_texts(tmp_path / "texts", 300)
    text = TextFeatures(n_features=2**10, embeddings="wordllama")
    model = TextClassifier(PLTClassifier(arity=3, max_leaf_size=4), text)
    fit_like_memory(model, dataset, memory=30_000)


def test_an_open_data_set_stands_for_its_path(tmp_path: Path) -> None:
    dataset = written(tmp_path / "rows", some_rows(30))
    model = distributed.fit(PLTClassifier(), dataset, tmp_path / "m.lg")
    [(labels, _)] = distributed.predict_topk(tmp_path / "m.lg", dataset)
    assert labels.tolist() == model.predict_topk(dataset.X)[0].tolist()
    assert distributed.evaluate(tmp_path / "m.lg", dataset)["examples"] == 30


def test_an_open_data_set_that_has_been_replaced_is_not_learnt(tmp_path: Path) -> None:
    dataset = written(tmp_path / "rows", some_rows(30))
    distributed.fit(PLTClassifier(), dataset, tmp_path / "m.lg")
    (tmp_path / "rows").rename(tmp_path / "old")
    written(tmp_path / "rows", some_rows(30)[::-1])
    for call in (
        lambda: distributed.fit(PLTClassifier(), dataset, tmp_path / "m.lg"),
        lambda: list(distributed.predict_topk(tmp_path / "m.lg", dataset)),
        lambda: distributed.evaluate(tmp_path / "m.lg", dataset),
    ):
        with pytest.raises(DataError, match="has been replaced in the meantime"):
            call()


@given(
    sizes=st.lists(st.integers(0, 120), min_size=1, max_size=20).map(np.array),
    most=st.integers(1, 100),
)
def test_only_a_single_item_may_exceed_the_size_of_a_range(sizes: Any, most: int) -> None:
    ranges = _fit._ranges(sizes, most)
    assert [i for ends in ranges for i in range(*ends)] == list(range(len(sizes)))
    for begin, end in ranges:
        assert begin < end
        assert sizes[begin:end].sum() <= most or not sizes[begin + 1 : end].any()


def test_damaged_data_are_refused(tmp_path: Path) -> None:
    written(tmp_path / "rows", some_rows(30))
    distributed.fit(PLTClassifier(), tmp_path / "rows", tmp_path / "m.lg")
    values = tmp_path / "rows" / "X.data.f32"
    values.write_bytes(values.read_bytes()[:-4] + np.float32(np.nan).tobytes())
    with pytest.raises(FileFormatError, match="does not match its checksum"):
        distributed.fit(PLTClassifier(), tmp_path / "rows", tmp_path / "m.lg")
    with pytest.raises(FileFormatError, match="does not match its checksum"):
        next(distributed.predict_topk(tmp_path / "m.lg", tmp_path / "rows"))
    unverified = open_dataset(tmp_path / "rows", verify=False)
    with pytest.raises(DataError, match="rows: is damaged; convert it again"):
        distributed.fit(PLTClassifier(), unverified, tmp_path / "m.lg")


rows = st.lists(
    st.tuples(
        st.lists(st.integers(0, 12), max_size=3, unique=True),
        st.dictionaries(st.integers(0, 15), st.floats(-9, 9, width=32), max_size=4),
    ),
    min_size=1,
    max_size=20,
)


@given(
    rows=rows,
    memory=st.sampled_from([1, 5_000, 1 << 30]),
    arity=st.none() | st.integers(2, 4),
    normalize=st.booleans(),
)
@example(rows=[([0, 1, 2], {})], memory=1, arity=2, normalize=False)
@settings(max_examples=examples(8), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_bytes_are_those_of_memory_for_any_rows(
    rows: list[Any], memory: int, arity: int | None, normalize: bool
) -> None:
    model = PLTClassifier(arity=arity, max_leaf_size=2, normalize=normalize)
    with TemporaryDirectory() as folder:
        dataset = written(Path(folder, "rows"), rows, width=16)
        fit_like_memory(model, dataset, memory=memory)


def test_rows_that_are_not_normalized_have_one_scale_wherever_they_are_learnt(
    tmp_path: Path,
) -> None:
    rows = [([f"l{i % 8}"], {i % 8: 2.0 ** (i % 8), 8 + i % 3: 1.0}) for i in range(80)]
    dataset = written(tmp_path / "rows", rows)
    model = PLTClassifier(tree="complete", arity=2, max_leaf_size=2, normalize=False)
    with ThreadPoolExecutor(2) as executor:
        fit_like_memory(model, dataset, memory=1, executor=executor)


def test_large_arrays_lie_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rooms: list[int] = []

    def room(job: _tasks.Job, n_bytes: int) -> Any:
        rooms.append(n_bytes)
        return own(job, n_bytes)

    own = _tasks._room
    monkeypatch.setattr(_tasks, "_room", room)
    dataset = written(tmp_path / "rows", some_rows(700))
    fit_like_memory(PLTClassifier(arity=20, max_leaf_size=4), dataset, memory=1)
    assert max(rooms) > 1 << 16


def test_units_hold_every_inner_node_once_and_respect_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "rows", some_rows(300))
    data = str(tmp_path / "rows")
    header, _ = open_arrays(data)
    job = _tasks.Job(data, header, str(tmp_path), {"normalize": True}, 40, None, 60, 100_000)
    labels = open_dataset(tmp_path / "rows").labels
    _tasks.store(tmp_path / "labels", {"ids": labels.ids.astype(np.uint32)})
    parents = np.array([0xFFFFFFFF, 0, *([1] * 6), *np.repeat(np.arange(2, 8), 10)], np.uint32)
    leaves = np.full(68, 0xFFFFFFFF, np.uint32)
    leaves[8:] = np.arange(60)
    _tasks.store(tmp_path / "tree-0", {"parents": parents, "labels": leaves})
    nodes, ends, needs = _plan.plan_units(job, 0, 1).values()
    assert sorted(nodes.tolist()) == list(range(8))
    assert nodes[: ends[1]].tolist() == [0, 1]
    assert (needs[1:] <= job.memory).all() and needs[0] > job.memory
    up = np.append(0, parents[1:]).astype(np.int64)
    rows, cells = _plan._sizes(job, up, leaves)
    ends, ids = labels.indptr.tolist(), (labels.ids + 8).tolist()
    its_leaves = [set(ids[begin:end]) for begin, end in pairwise(ends)]
    for node in range(68):
        below = {leaf for leaf in range(8, 68) if node in (leaf, up[leaf])}
        its = [
            len(features)
            for at, (_, features) in zip(its_leaves, some_rows(300), strict=True)
            if node < 2 or at & below
        ]
        assert (rows[node], cells[node]) == (len(its), sum(its))
    # The root goes with the node above it, even if only that one is too large a share.
    monkeypatch.setattr(_plan, "_LEAST", int(cells @ np.bincount(up[1:], minlength=68)) - 1)
    units = _plan.plan_units(replace(job, memory=1 << 40), 0, 1)
    assert units["ends"].tolist() == [0, 2, 8]


def test_a_unit_of_constants_alone_has_counted_nothing(tmp_path: Path) -> None:
    every = [(labels or ["l0"], features) for labels, features in some_rows(300)]
    dataset = written(tmp_path / "rows", every)
    one_top = LabelTree([-1, 0, *([1] * 70)], {i + 2: f"l{i}" for i in range(70)})
    fit_like_memory(PLTClassifier(tree=one_top), dataset)


class Twice(ThreadPoolExecutor):
    """Runs every task twice, the second time beside other tasks."""

    def submit(self, task: Any, /, *args: Any, **kwargs: Any) -> Any:
        super().submit(task)
        return super().submit(task)


@pytest.mark.parametrize("executor", [ThreadPoolExecutor, Twice])
def test_any_executor_will_do(tmp_path: Path, executor: type[Executor]) -> None:
    dataset = written(tmp_path / "rows", some_rows(200))
    with executor(3) as pool:
        fit_like_memory(PLTClassifier(**KINDS[1]), dataset, memory=20_000, executor=pool)


class Killed(BaseException):
    """Stands in for SIGKILL: no clean-up of the call runs."""


@pytest.mark.parametrize("of", ["features", "texts"])
def test_what_is_done_is_not_done_again_after_a_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of: str
) -> None:
    model: Any = PLTClassifier(**KINDS[0])
    if of == "features":
        dataset = written(tmp_path / "rows", some_rows(200))
    else:
        dataset = written_texts(tmp_path / "rows", 200)
        model = TextClassifier(model, TextFeatures(n_features=2**10))
    expected = in_memory(model, dataset, tmp_path / "memory.lg")
    begun: list[str] = []

    def die_after(n: int) -> Callable[..., None]:
        def store(path: Path, arrays: Any) -> None:
            if len(begun) >= n:
                path.with_name(".half.partial").write_bytes(b"half of it")
                raise Killed
            begun.append(path.name)
            own(path, arrays)

        return store

    own = _tasks.store
    stops = 0
    for n in range(1, 1000, 2):
        for module in (_tasks, _fit):
            monkeypatch.setattr(module, "store", die_after(n))
        try:
            distributed.fit(model, tmp_path / "rows", tmp_path / "pieces.lg", memory=20_000)
            break
        except Killed:
            stops += 1
    assert stops > 5 and len(begun) == len(set(begun))
    assert (tmp_path / "pieces.lg").read_bytes() == expected


def test_another_call_begins_anew(tmp_path: Path) -> None:
    dataset = written(tmp_path / "rows", some_rows(100))
    work = tmp_path / ".pieces.lg.partial"
    work.mkdir()
    (work / "request.json").write_text("{}")
    (work / "labels").mkdir()
    fit_like_memory(PLTClassifier(), dataset)


def test_more_threads_share_the_memory_after_a_stop_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = written(tmp_path / "rows", some_rows(200))
    names = tmp_path / "rows", tmp_path / "pieces.lg"
    monkeypatch.setattr(_plan, "_LEAST", 1 << 24)
    units = []

    def die(*_: Any) -> None:
        (plan,) = tmp_path.glob(".pieces.lg.partial/*/units-0")
        units.append(len(_tasks.stored(plan, "ends")[0]))
        raise Killed

    for threads in 1, 4:
        with monkeypatch.context() as patched, suppress(Killed):
            patched.setattr(_fit, "learn", die)
            distributed.fit(PLTClassifier(**KINDS[0], n_jobs=threads), *names, memory=150_000)
    assert units[0] < units[1]
    fit_like_memory(PLTClassifier(**KINDS[0], n_jobs=4), dataset, memory=150_000)


def test_what_comes_late_or_twice_changes_nothing(tmp_path: Path) -> None:
    dataset = written(tmp_path / "rows", some_rows(100))
    names, small = (tmp_path / "rows", tmp_path / "pieces.lg"), {"max_leaf_size": 4, "arity": 3}
    expected = in_memory(PLTClassifier(**small), dataset, tmp_path / "memory.lg")
    late: list[Any] = []

    class Dead(ThreadPoolExecutor):
        def submit(self, task: Any, /, *args: Any, **kwargs: Any) -> Any:
            late.append(task)
            raise Killed

    class Late(ThreadPoolExecutor):
        def submit(self, task: Any, /, *args: Any, **kwargs: Any) -> Any:
            done = super().submit(task)
            super().submit(task).result()
            for old in late:
                with suppress(OSError):  # its folder was removed
                    old()
            return done

    with Dead(1) as dead, pytest.raises(Killed):
        distributed.fit(PLTClassifier(**small, tree="random"), *names, executor=dead)
    assert late
    with Late(3) as pool:
        distributed.fit(
            PLTClassifier(**small, tree="random", random_state=1), *names, executor=pool
        )
        first = names[1].read_bytes()
        distributed.fit(PLTClassifier(**small), *names, executor=pool)
    assert names[1].read_bytes() == expected
    PLTClassifier(**small, tree="random", random_state=1).fit(dataset.X, dataset.labels).save(
        tmp_path / "other.lg"
    )
    assert (tmp_path / "other.lg").read_bytes() == first
    assert not (tmp_path / ".pieces.lg.partial").exists()


def test_a_full_disk_leaves_no_half_file_and_the_same_call_goes_on(tmp_path: Path) -> None:
    dataset = written(tmp_path / "rows", some_rows(200))
    small = {"max_leaf_size": 4, "arity": 3}
    target = tmp_path / "pieces.lg"
    expected = in_memory(PLTClassifier(**small), dataset, tmp_path / "memory.lg")
    for most in (200, 2_000, len(expected) - 1):
        with limited_files(most), pytest.raises(OSError, match=r"File too large: '.*/pieces\.lg'"):
            distributed.fit(PLTClassifier(**small), tmp_path / "rows", target)
        assert not target.exists()
        assert (tmp_path / ".pieces.lg.partial").exists() == (most > 200)
    distributed.fit(PLTClassifier(**small), tmp_path / "rows", target)
    assert target.read_bytes() == expected


def test_what_cannot_be_learnt_is_refused(tmp_path: Path) -> None:
    written(tmp_path / "none", [])
    written(tmp_path / "rows", some_rows(20))
    written(tmp_path / "large", [(["a"], {0: 1e10})])
    written_texts(tmp_path / "texts", 1)
    target = tmp_path / "model.lg"
    embeddings = TextFeatures(embeddings=lambda _: np.ones((1, 2)))
    named = TextClassifier(PLTClassifier(), None, Vocabulary([]), "met")
    for given_model, data, error, message in (
        (PLTClassifier(second_stage="head"), "rows", ParameterError, "second_stage"),
        (PLTClassifier(online_ready=True), "rows", ParameterError, "online_ready"),
        (PLTClassifier(link="softmax"), "rows", ParameterError, "softmax"),
        (PLTClassifier(arity=1), "rows", ParameterError, "arity"),
        (PLTClassifier(class_weight={"x": 2}), "rows", DataError, "'x' is not a label"),
        (PLTClassifier(tree=LabelTree.flat(["l1"])), "rows", DataError, "is not in the tree"),
        (PLTClassifier(normalize=False), "large", DataError, "column 0: found 1e\\+10"),
        (PLTClassifier(), "none", DataError, "none: has no examples; expected at least one"),
        (PLTClassifier(), "texts", DataError, "holds texts"),
        (TextClassifier(PLTClassifier()), "rows", DataError, "holds features"),
        (TextClassifier(), "texts", ParameterError, "the classifier OnlinePLTClassifier"),
        (TextClassifier(PLTClassifier(), HashedText()), "texts", ParameterError, "a HashedText"),
        (TextClassifier(PLTClassifier(), embeddings), "texts", ParameterError, "with a function"),
        (named, "texts", ParameterError, "names='met'"),
    ):
        with pytest.raises(error, match=message):
            distributed.fit(given_model, tmp_path / data, target)
    with pytest.raises(ParameterError, match="executor is a int"):
        distributed.fit(PLTClassifier(), tmp_path / "rows", target, executor=3)
    for memory in (float("inf"), 1e9, 10**30, "much"):
        with pytest.raises(ParameterError, match="memory.*: expected an? (integer|size)"):
            distributed.fit(PLTClassifier(), tmp_path / "rows", target, memory=memory)
    with pytest.raises(ModelFileError, match="texts: a model can only replace a regular file"):
        distributed.fit(PLTClassifier(), tmp_path / "rows", tmp_path / "texts")
    assert not target.exists() and not (tmp_path / ".texts.partial").exists()


def test_a_data_set_that_is_replaced_meanwhile_is_not_learnt(tmp_path: Path) -> None:
    data = tmp_path / "rows"
    other = some_rows(100)[::-1]
    written(data, some_rows(100))

    def replace(share: float) -> None:
        if share > 0 and data.exists() and not (tmp_path / "old").exists():
            data.rename(tmp_path / "old")
            written(data, other)

    target = tmp_path / "pieces.lg"
    with pytest.raises(DataError, match="rows: has been replaced in the meantime"):
        distributed.fit(PLTClassifier(), data, target, progress=replace)
    fit_like_memory(PLTClassifier(), open_dataset(data))
