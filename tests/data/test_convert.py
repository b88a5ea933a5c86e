"""Data sets on disk: the files' rows, reproducible bytes, damage detected."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import SGDClassifier

from cluster.kit import limited_descriptors, limited_files
from fuzz.extremes import examples as n_examples
from labelgrove import (
    FileFormatError,
    LabelGroveError,
    ParameterError,
    PLTClassifier,
    TextClassifier,
)
from labelgrove._unfinished import Unfinished
from labelgrove.data import _convert, _mapped, convert, open_dataset, read_examples, write_examples
from labelgrove.data._mapped import HEADER, Writer, open_arrays


@pytest.fixture(autouse=True, scope="module")
def small_pieces() -> Iterator[None]:
    """Limits so low that small data sets are written and read in several pieces."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_convert, "_ROWS", 3)
        for name in ("_ROWS_PER_PIECE", "BLOCK_BYTES"):
            patch.setattr(_mapped, name, 3)
        yield


TEXTS = ["a red fox", "", "ein süßer Bär", "🦊 狐", "x" * 200]


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def svm(folder: Path, name: str, rows: list[tuple[tuple[int, ...], dict[int, float]]]) -> Path:
    path = folder / name
    lines = (
        ",".join(map(str, labels)) + "".join(f" {i}:{value!r}" for i, value in sorted(row.items()))
        for labels, row in rows
    )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def jsonl(folder: Path, name: str, rows: list[tuple[str, list[str]]]) -> Path:
    path = folder / name
    lines = (json.dumps({"text": text, "labels": labels}) for text, labels in rows)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def two(tmp_path: Path) -> list[Path]:
    """Two files, the second of which brings new labels and wider rows."""
    return [
        svm(tmp_path, "a.svm", [((3, 1), {0: 0.5, 7: 1.25}), ((1,), {2: -3.0})]),
        svm(tmp_path, "b.svm", [((9,), {11: 1.0}), ((1, 3), {0: 2.0, 1: 1e-20})]),
    ]


numbers = st.floats(-1e6, 1e6, width=32)
sparse = st.tuples(
    st.lists(st.integers(0, 50), min_size=1, max_size=4, unique=True).map(tuple),
    st.dictionaries(st.integers(0, 40), numbers, min_size=1, max_size=5),
)
texts = st.tuples(st.sampled_from(TEXTS), st.lists(st.sampled_from("äbc"), unique=True))


@settings(max_examples=n_examples(15))
@given(st.lists(st.lists(sparse, min_size=1, max_size=6), min_size=1, max_size=3))
def test_features_come_back_as_the_files_have_them(files: Any) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        paths = [svm(folder, f"{i}.svm", rows) for i, rows in enumerate(files)]
        found = convert(paths, folder / "out")
        single = [read_examples(path) for path in paths]
        assert list(found.labels) == [row for one in single for row in one.labels]
        width = max(one.X.shape[1] for one in single if one.X is not None)
        assert found.X.shape == (sum(map(len, files)), width)
        dense = np.zeros(found.X.shape, np.float32)
        for i, (_, row) in enumerate(row for rows in files for row in rows):
            dense[i, list(row)] = list(row.values())
        np.testing.assert_array_equal(found.X.toarray(), dense)
        again = read_examples(folder / "out")
        assert again.labels == list(found.labels)
        assert again.lines.tolist() == [*range(1, len(found) + 1)]
        np.testing.assert_array_equal(again.X.toarray(), dense)


@settings(max_examples=n_examples(15))
@given(st.lists(st.lists(texts, min_size=1, max_size=6), min_size=1, max_size=3))
def test_texts_come_back_as_the_files_have_them(files: Any) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        paths = [jsonl(folder, f"{i}.jsonl", rows) for i, rows in enumerate(files)]
        found = convert(paths, folder / "out")
        rows = [row for rows in files for row in rows]
        assert found.X is None and found.text is not None
        assert list(found.text) == [text for text, _ in rows]
        assert list(found.labels) == [tuple(labels) for _, labels in rows]
        assert read_examples(folder / "out").text == [text for text, _ in rows]


def test_only_row_ends_are_copied_on_the_way_in(two: list[Path], tmp_path: Path) -> None:
    X = convert(two, tmp_path / "out").X
    for array in (X.indices, X.data):
        assert isinstance(array.base, np.memmap) and not array.flags.writeable
    assert not X.indptr.flags.writeable


def test_models_learn_from_it_what_they_learn_from_the_files(tmp_path: Path) -> None:
    rows = [(f"word{i % 5} word{i % 3}", [f"l{i % 5}", f"m{i % 3}"]) for i in range(40)]
    found = convert([jsonl(tmp_path, "a.jsonl", rows)], tmp_path / "out")
    models = [TextClassifier(PLTClassifier(random_state=0)) for _ in range(2)]
    models[0].fit(found.text, found.labels)
    models[1].fit([text for text, _ in rows], [labels for _, labels in rows])
    for i, model in enumerate(models):
        model.save(tmp_path / f"{i}.lg")
    assert (tmp_path / "0.lg").read_bytes() == (tmp_path / "1.lg").read_bytes()


def test_processes_give_the_same_bytes(two: list[Path], tmp_path: Path) -> None:
    told: list[float] = []
    convert(two, tmp_path / "one")
    convert(two, tmp_path / "both", n_jobs=2, progress=told.append)
    assert bytes_of(tmp_path / "one") == bytes_of(tmp_path / "both")
    assert told[-1] == 1.0 and told == sorted(told)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.svm", "b.svm", "both", "one"]


def test_one_process_needs_no_shared_memory(
    two: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise OSError(errno.EROFS, "Read-only file system", "/dev/shm")

    monkeypatch.setattr(multiprocessing.context.BaseContext, "Array", refused)
    monkeypatch.setattr(_convert, "_ROWS", 1)  # several chunks of each file
    told: list[float] = []
    assert len(convert(two, tmp_path / "one", progress=told.append)) == 4
    assert told[-1] == 1.0
    with pytest.raises(OSError, match="Read-only"):
        convert(two, tmp_path / "both", n_jobs=2)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files of which all rows are read."""
    names: list[str] = []

    def opened(name: str, *rest: Any, **options: Any) -> Any:
        if "chunk_size" in options:
            names.append(Path(name).name)
        return open_examples(name, *rest, **options)

    open_examples = _convert.open_examples
    monkeypatch.setattr(_convert, "open_examples", opened)
    return names


@pytest.mark.slow  # a process that imports everything
def test_it_goes_on_after_a_process_is_killed(
    two: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = multiprocessing.active_children()  # of other tests in this process

    def kill(_: float) -> None:
        for process in set(multiprocessing.active_children()) - {*others}:
            process.kill()

    monkeypatch.setattr(_convert, "_TOLD_EVERY", 0)
    with pytest.raises(LabelGroveError, match="was killed, perhaps .* resumes where it stopped"):
        convert(two, tmp_path / "out", n_jobs=2, progress=kill)
    assert len(convert(two, tmp_path / "out")) == 4


def test_it_goes_on_after_a_stop(
    two: list[Path], tmp_path: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    convert(two, tmp_path / "one")
    read.clear()
    closed = []

    def finish(writer: Writer) -> None:
        closed.append(writer)
        if len(closed) == 2:
            raise KeyboardInterrupt
        whole(writer)

    whole = Writer._finish
    monkeypatch.setattr(Writer, "_finish", finish)
    with pytest.raises(KeyboardInterrupt):
        convert(two, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    convert(two, tmp_path / "out")
    assert read == ["a.svm", "b.svm", "b.svm"]
    assert bytes_of(tmp_path / "out") == bytes_of(tmp_path / "one")


@pytest.mark.parametrize("most", [10, 2_000])
def test_a_full_disk_leaves_no_half_data_set(tmp_path: Path, most: int) -> None:
    files = [svm(tmp_path, f"{n}.svm", [((n, i), {i: 0.5}) for i in range(200)]) for n in (0, 300)]
    with limited_files(most), pytest.raises(OSError, match="File too large: '.*out'"):
        convert(files, tmp_path / "out")
    assert not list(tmp_path.glob("*out"))
    halves = [path for path in tmp_path.rglob("X.*") if not (path.parent / HEADER).exists()]
    assert not halves
    convert(files, tmp_path / "out")
    convert(files, tmp_path / "straight")
    assert bytes_of(tmp_path / "out") == bytes_of(tmp_path / "straight")
    assert not list(tmp_path.glob(".*"))


def test_nothing_is_left_of_a_first_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "bad.svm").write_text("1 1:1\n1 no\n", encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"bad\.svm:2"):
        convert(tmp_path / "bad.svm", tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["bad.svm"]


def test_many_files_are_not_open_at_once(tmp_path: Path) -> None:
    files = [svm(tmp_path, f"{n}.svm", [((n,), {n: 0.5})]) for n in range(20)]
    with limited_descriptors(20):
        assert list(convert(files, tmp_path / "out").labels) == [(n,) for n in range(20)]


def test_only_files_that_have_changed_are_read_again(
    two: list[Path], tmp_path: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_convert, "_ROWS", 1)
    bad = tmp_path / "c.svm"
    bad.write_bytes(b"1 no\n")
    with pytest.raises(FileFormatError, match=r"c\.svm:1"):
        convert([*two, bad], tmp_path / "out")
    read.clear()
    two[0].write_text("7 1:1\n", encoding="utf-8")
    bad.write_text("5 1:1\n", encoding="utf-8")
    found = convert([bad, *two, bad], tmp_path / "out")
    assert list(found.labels) == [(5,), (7,), (9,), (1, 3), (5,)]
    assert sorted(read) == ["a.svm", "c.svm"]


def test_another_version_reads_all_files_again(
    two: list[Path], tmp_path: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = tmp_path / "c.svm"
    bad.write_bytes(b"1 no\n")
    for version in ("1", "1", "2"):
        monkeypatch.setattr(_convert, "__version__", version)
        with pytest.raises(FileFormatError, match=r"c\.svm:1"):
            convert([two[0], bad], tmp_path / "out")
    assert [name for name in read if name == "a.svm"] == ["a.svm"] * 2


def test_what_is_there_is_replaced_only_if_it_is_a_data_set(
    two: list[Path], tmp_path: Path
) -> None:
    convert(two[:1], tmp_path / "out")
    assert len(convert(two, tmp_path / "out")) == 4
    (tmp_path / "other").mkdir()
    with pytest.raises(ParameterError, match="exists and is not a data set"):
        convert(two, tmp_path / "other")
    for content in ('{"my": "important"}', "[]", "3", "{"):
        (tmp_path / "other" / HEADER).write_text(content, encoding="utf-8")
        with pytest.raises(ParameterError, match="exists and is not a data set"):
            convert(two, tmp_path / "other")
        assert (tmp_path / "other" / HEADER).read_text(encoding="utf-8") == content
    (tmp_path / "out" / "model.lg").touch()
    with pytest.raises(ParameterError, match=r"also holds model\.lg"):
        convert(two, tmp_path / "out")
    moved = two[1].rename(tmp_path / "out" / "b.svm")
    for inside in (moved, tmp_path / "out"):
        with pytest.raises(ParameterError, match="lies in the output"):
            convert([two[0], inside], tmp_path / "out")
    assert moved.exists()


def test_what_appears_at_the_output_meanwhile_is_kept(two: list[Path], tmp_path: Path) -> None:
    precious = tmp_path / "out" / "precious.txt"

    def appear(share: float) -> None:
        if share == 1:
            precious.parent.mkdir(exist_ok=True)
            precious.touch()

    with pytest.raises(ParameterError, match="exists and is not a data set"):
        convert(two, tmp_path / "out", progress=appear)
    assert precious.exists()
    shutil.rmtree(precious.parent)
    assert len(convert(two, tmp_path / "out")) == 4
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("kind", ["folder", "mapped"])
def test_an_output_may_lie_in_a_folder_of_data(kind: str, tmp_path: Path, read: list[str]) -> None:
    data, bad = tmp_path / "data", jsonl(tmp_path, "bad.jsonl", [("c", ["z"])])
    if kind == "folder":
        data.mkdir()
        for name in "ab":
            (data / f"{name}.txt").write_text(name, encoding="utf-8")
            (data / f"{name}.key").write_text("x\n", encoding="utf-8")
    else:
        convert([jsonl(tmp_path, "a.jsonl", [("a", ["x"]), ("b", ["x"])])], data)
    good = bad.read_bytes()
    bad.write_bytes(b"{}\n")
    read.clear()
    with pytest.raises(FileFormatError, match=r"bad\.jsonl:1"):
        convert([data, bad], data / "out")
    bad.write_bytes(good)
    for _ in range(2):
        assert list(convert([data, bad], data / "out").labels) == [("x",), ("x",), ("z",)]
    assert read == ["data", "bad.jsonl", "bad.jsonl", "data", "bad.jsonl"]


def test_the_current_folder_is_replaced_too(
    two: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    convert(two[:1], tmp_path / "out")
    monkeypatch.chdir(tmp_path / "out")
    convert(two, ".")
    assert len(open_dataset(tmp_path / "out")) == 4


def test_what_was_there_comes_back_after_a_kill_between_two_renames(
    two: list[Path], tmp_path: Path
) -> None:
    convert(two[:1], tmp_path / "out")
    before = bytes_of(tmp_path / "out")
    (tmp_path / ".out.partial").mkdir()
    (tmp_path / "out").rename(tmp_path / ".out.partial" / "replaced")
    (tmp_path / "bad.svm").write_text("1 x\n")
    with pytest.raises(FileFormatError):
        convert([two[0], tmp_path / "bad.svm"], tmp_path / "out")
    assert bytes_of(tmp_path / "out") == before


def test_ctrl_c_between_two_renames_leaves_the_new_data_set(
    two: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    convert(two[:1], tmp_path / "out")
    rename = Path.rename

    def interrupted(path: Path, target: Path) -> Path:
        moved = rename(path, target)
        if target.name == "replaced":
            signal.raise_signal(signal.SIGINT)
        return moved

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        convert(two, tmp_path / "out")
    assert len(open_dataset(tmp_path / "out")) == 4


def test_a_file_that_changes_while_it_is_read_is_refused(two: list[Path], tmp_path: Path) -> None:
    def grow(_share: float) -> None:
        with two[1].open("a") as file:
            file.write("1 1:1\n")

    with pytest.raises(FileFormatError, match=f"{two[1].name}: changed after the call began"):
        convert(two[1], tmp_path / "out", progress=grow)
    assert len(convert(two[1], tmp_path / "out")) > 2


@pytest.mark.parametrize("other", ["2 1:1\n", '{"text": "a", "labels": ["b"]}\n'])
def test_a_file_that_changes_before_it_is_read_is_not_taken_for_the_old_one(
    two: list[Path], tmp_path: Path, other: str
) -> None:
    expected = bytes_of(Path(convert(two, tmp_path / "expected").path))
    names = [path.rename(path.with_suffix("")) for path in two]
    old = Path(shutil.copy2(names[1], tmp_path / "old"))

    def replace(_share: float) -> None:
        names[1].write_text(other, encoding="utf-8")

    with pytest.raises(FileFormatError, match=f"{names[1].name}: changed after the call began"):
        convert(names, tmp_path / "out", progress=replace)
    old.replace(names[1])
    convert(names, tmp_path / "out")
    assert bytes_of(tmp_path / "out") == expected


def test_it_replaces_again_after_a_kill_before_the_end(
    two: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(_: Unfinished) -> None:
        raise KeyboardInterrupt

    convert(two[:1], tmp_path / "out")
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Unfinished, "remove", killed)
        convert(two, tmp_path / "out")
    assert len(convert(two, tmp_path / "out")) == 4
    assert not list(tmp_path.glob(".*"))


def test_what_is_half_removed_is_no_result(tmp_path: Path) -> None:
    target, request = tmp_path / "out", {"a": 1}
    with Unfinished(target) as unfinished:
        unfinished.begin(request)
        for name in ("1", "2"):
            (unfinished.path / name).mkdir()
            (unfinished.path / name / "x").touch()
    killed = pytest.MonkeyPatch()
    with killed.context() as patched, Unfinished(target) as unfinished:
        patched.setattr(shutil, "rmtree", lambda path: Path(path, "x").unlink())
        unfinished.remove()
    with Unfinished(target) as unfinished:
        assert not unfinished.is_of(request)
        unfinished.begin(request)
        assert sorted(path.name for path in unfinished.path.iterdir()) == ["lock", "request.json"]


def test_the_format_given_decides_which_files_are_read(tmp_path: Path) -> None:
    svm(tmp_path, "a.npz", [((1,), {0: 1.0})])
    assert list(convert([tmp_path / "a.npz"], tmp_path / "out", format="svmlight").labels) == [(1,)]
    rows = read_examples(tmp_path / "out")
    write_examples(tmp_path / "pair.npz", rows.X, rows.labels)
    for side in "XY":
        (tmp_path / f"pair.{side}.npz").rename(tmp_path / f"pair.bin.{side}.npz")
    assert len(convert([tmp_path / "pair.bin"], tmp_path / "again", format="npz")) == 1


def test_files_of_two_kinds_are_refused_before_any_is_read(two: list[Path], tmp_path: Path) -> None:
    text = jsonl(tmp_path, "c.jsonl", [("a", ["b"])])
    with pytest.raises(FileFormatError, match=r"c\.jsonl: holds texts .* expected features"):
        convert([*two, text], tmp_path / "out")
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("inputs", [[], ["-"]])
def test_inputs_are_files(inputs: list[str], tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="expected files"):
        convert(inputs, tmp_path / "out")


def test_inputs_may_be_a_single_file_or_data_set(two: list[Path], tmp_path: Path) -> None:
    found = convert(str(two[0]), tmp_path / "out")
    for inputs in (two[0], found, [found]):
        assert list(convert(inputs, tmp_path / "again").labels) == [(3, 1), (1,)]
    wrong: Any = [3]
    with pytest.raises(ParameterError, match="inputs: found a int; expected names of files"):
        convert(wrong, tmp_path / "out")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no named pipes")
def test_pipes_are_refused_unread(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"1 0:1\n")
    os.close(writing)
    try:
        with pytest.raises(ParameterError, match="is a pipe or a device; expected a file"):
            convert([f"/dev/fd/{reading}"], tmp_path / "out")
        assert os.read(reading, 9) == b"1 0:1\n"
    finally:
        os.close(reading)
    for name in ("p.svm", "trn_X_Y.txt"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "trn_X_Xf.txt").write_text("1 1\n0:1\n", encoding="utf-8")
    for name in ("p.svm", "trn_X_Xf.txt"):
        with pytest.raises(ParameterError, match=r"(p\.svm|_Y\.txt): is a pipe or a device"):
            convert([tmp_path / name], tmp_path / "out")


def test_rows_of_labels_are_sequences(two: list[Path], tmp_path: Path) -> None:
    labels = convert(two, tmp_path / "out").labels
    assert labels[1] == (1,) and labels[-1] == (1, 3) and len(labels) == 4
    assert list(labels[1:3]) == [(1,), (9,)] and list(labels[3:1]) == []
    with pytest.raises(IndexError):
        labels[4]
    rows = list(labels)
    for step in (-3, -1, 2, 3):
        for start in (None, 0, 1, 3, -1):
            assert list(labels[start::step]) == rows[start::step]
    assert list(labels[::2][::-1]) == rows[::2][::-1]


def test_features_are_a_sound_sparse_array(two: list[Path], tmp_path: Path) -> None:
    examples = convert(two, tmp_path / "out")
    X = examples.X
    assert X.indptr.dtype == X.indices.dtype == np.int32
    dense = X.toarray()
    assert np.array_equal(X[::2].toarray(), dense[::2])
    assert np.array_equal(X.tocoo().toarray(), dense)
    assert np.array_equal(np.stack(X.nonzero()), np.stack(np.nonzero(dense)))
    assert str(X)
    SGDClassifier().fit(X, [row[0] for row in examples.labels])
    assert PLTClassifier().fit(X[::2], examples.labels[::2]).n_classes_


# --- damage --------------------------------------------------------------------------------------


@settings(max_examples=n_examples(20))
@given(st.data())
def test_every_flipped_bit_of_an_array_is_found(data: st.DataObject) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        convert([jsonl(folder, "a.jsonl", [("a b", ["x", "y"]), ("c", [])])], folder / "out")
        arrays = [path for path in sorted((folder / "out").iterdir()) if path.name != HEADER]
        path = data.draw(st.sampled_from(arrays))
        content = bytearray(path.read_bytes())
        content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
        path.write_bytes(content)
        with pytest.raises(FileFormatError, match="is damaged"):
            open_dataset(folder / "out")


def test_no_flipped_bit_of_the_header_changes_what_is_read(two: list[Path], tmp_path: Path) -> None:
    convert(two[:1], tmp_path / "out")
    path, (before, _) = tmp_path / "out" / HEADER, open_arrays(str(tmp_path / "out"))
    content = path.read_bytes()
    for bit in range(0, 8 * len(content), 7):
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        with suppress(FileFormatError):
            assert open_arrays(str(tmp_path / "out"))[0] == before


@pytest.mark.parametrize("change", [{"features": 11}, {"labels_may_be_names": True}])
def test_a_header_that_was_changed_is_refused(
    change: dict[str, Any], two: list[Path], tmp_path: Path
) -> None:
    convert(two[:1], tmp_path / "out")
    path = tmp_path / "out" / HEADER
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | change))
    with pytest.raises(FileFormatError, match=r"dataset\.json does not match its checksum"):
        open_dataset(tmp_path / "out", verify=False)


def without_checksum(header: dict[str, Any]) -> str:
    """A header as early versions wrote it, whose numbers may be any."""
    return json.dumps({name: value for name, value in header.items() if name != "crc32"})


@settings(max_examples=n_examples(40))
@given(st.data())
def test_what_is_not_verified_harms_nobody(data: st.DataObject) -> None:
    """Any content of an array of the right size: rows, or an error."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        if data.draw(st.booleans()):
            convert([jsonl(folder, "a.jsonl", [("a b", ["x", "y"]), ("c", [])])], folder / "out")
        else:
            convert(
                [svm(folder, "a", [((1,), {3: 1.0, 9: 2.0}), ((2,), {1: 1.0})])], folder / "out"
            )
        arrays = [path for path in sorted((folder / "out").iterdir()) if path.name != HEADER]
        path = data.draw(st.sampled_from(arrays))
        size = path.stat().st_size
        path.write_bytes(data.draw(st.binary(min_size=size, max_size=size)))
        try:
            found = open_dataset(folder / "out", verify=False)
            rows = [*found.labels, *(found.text or ())]
            assert len(rows) in (2, 4)
            if found.X is not None:
                PLTClassifier().fit(found.X, found.labels)
        except FileFormatError as error:
            assert "is damaged" in str(error)
        except ValueError as error:
            assert str(error).startswith("X: row")


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("", "cannot be read"),
        ("[]", "cannot be read"),
        ("{}", "cannot be read"),
        ({"labelgrove_dataset": 2}, "of version 2; expected 1"),
        ({"rows": -1}, "invalid sizes"),
        ({"labels_may_be_names": 1}, "does not say whether labels may be names"),
        ({"rows": 1}, "has 2 rows"),
        ({"features": 2**40}, "expected at most"),
        ({"features": None}, "wrong arrays"),
        ({"arrays": {}}, "wrong arrays"),
        ({"arrays": {"X.indptr.i64": {"length": "3", "crc32": 0}}}, "invalid sizes"),
    ],
)
def test_a_header_that_is_wrong_is_refused(
    header: str | dict[str, Any], said: str, two: list[Path], tmp_path: Path
) -> None:
    convert(two[:1], tmp_path / "out")
    path = tmp_path / "out" / HEADER
    if isinstance(header, dict):
        header = without_checksum(json.loads(path.read_text(encoding="utf-8")) | header)
    path.write_text(header, encoding="utf-8")
    with pytest.raises(FileFormatError, match=said):
        open_dataset(tmp_path / "out")


def test_a_folder_without_header_is_none(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"has no dataset\.json"):
        open_dataset(tmp_path)
    (tmp_path / "X.data.f32").touch()  # as if the folder had been copied halfway
    with pytest.raises(FileFormatError, match=r"has no dataset\.json"):
        read_examples(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("X.indptr.i64", [0, 3, 2, 4], "X.indptr.i64 holds invalid row ends"),
        ("X.indptr.i64", [0, 3, 5, 4], "X.indptr.i64 holds invalid row ends"),
        ("X.indptr.i64", [1, 2, 3, 4], "X.indptr.i64 holds invalid row ends"),
        ("Y.indptr.i64", [0, 3, 1, 4], "Y.indptr.i64 holds invalid row ends"),
        ("Y.indptr.i64", [0, 1, 3, 3], "Y.indptr.i64 holds invalid row ends"),
        ("Y.indptr.i64", [0, 2**63 - 1, -(2**63), -1, 4], "Y.indptr.i64 holds invalid row ends"),
        ("Y.indices.i32", [-1, 2, 4, 5], "Y.indices.i32 holds an invalid label"),
        ("Y.indices.i32", [1, 2, 4, -5], "Y.indices.i32 holds an invalid label"),
        ("X.indices.i32", [9, 3, 1, 0], "rows 0 to 2 hold invalid features"),
        ("X.indices.i32", [3, 9, 1, 10], "rows 0 to 2 hold invalid features"),
        ("X.indices.i32", [-1, 9, 1, 0], "rows 0 to 2 hold invalid features"),
        ("X.data.f32", [1, 1, 1, np.nan], "rows 0 to 2 hold invalid features"),
        ("X.data.f32", [1, 1, 1], r"X.indices.i32 and X.data.f32 have different lengths"),
    ],
)
def test_rows_that_are_no_rows_are_refused_while_reading(
    name: str, content: list[float], said: str, tmp_path: Path
) -> None:
    rows = [((1,), {3: 1.0, 9: 2.0}), ((2, 4), {1: 1.0}), ((5,), {0: 1.0})]
    convert([svm(tmp_path, "a", rows)], tmp_path / "out")
    path = tmp_path / "out" / name
    dtype = {"i64": "<i8", "i32": "<i4", "f32": "<f4"}[name.rpartition(".")[2]]
    path.write_bytes(np.array(content, dtype).tobytes())
    header = json.loads((tmp_path / "out" / HEADER).read_text(encoding="utf-8"))
    header["arrays"][name] = {"length": len(content), "crc32": zlib.crc32(path.read_bytes())}
    (tmp_path / "out" / HEADER).write_text(without_checksum(header), encoding="utf-8")
    with pytest.raises(FileFormatError, match=said):
        read_examples(tmp_path / "out")


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="signals cannot be held here")
def test_processes_hear_no_interrupt_while_they_begin() -> None:
    print_mask = "import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    with _convert._interrupts_held():
        begun = subprocess.run([sys.executable, "-c", print_mask], capture_output=True, check=True)
    assert b"SIGINT" in begun.stdout
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before


def test_what_a_killed_process_leaves_is_cleared_away(
    two: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def killed(*_: object, **__: object) -> None:
        raise Killed

    folder = tmp_path / "out"
    with Unfinished(folder) as unfinished:
        unfinished.begin({})
        monkeypatch.setattr(_convert, "Writer", killed)
        part = (0, str(two[0]), unfinished.path / "00000", None, None)
        with pytest.raises(Killed):
            _convert._convert_part(part, [0.0, 0.0])
        unfinished.begin({})
        left = sorted(path.name for path in unfinished.path.iterdir())
        assert left == ["lock", "request.json"]
