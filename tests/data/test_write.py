"""Writing: refusals, leftovers of a failure, and the spelling of numbers."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array

from labelgrove import DataError, ParameterError, _unfinished
from labelgrove._unfinished import Unfinished
from labelgrove.data import read_examples, write_examples
from labelgrove.data._sink import open_sink
from labelgrove.data._write_rows import format_floats

X = csr_array(np.array([[0, 0.1], [3, 0]]))
LABELS = [(1, 0), ()]


def test_floats_are_short() -> None:
    values = np.array([0.1, 1, -0.0, 1e-5, 1234.5, 3.4028235e38, 1e-45], np.float32)
    expected = ["0.1", "1", "-0", "1e-05", "1234.5", "3.4028235e+38", "1e-45"]
    assert format_floats(values) == expected


def test_floats_whose_shortest_decimal_rounds_elsewhere_get_more_digits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Clumsy(np.ndarray):
        def astype(self, dtype: type, **options: Any) -> np.ndarray:
            spelled = dtype is np.str_
            return np.asarray(["0.1", "2.5"]) if spelled else super().astype(dtype, **options)

    unique = np.unique
    monkeypatch.setattr(
        np, "unique", lambda *a, **k: [part.view(Clumsy) for part in unique(*a, **k)]
    )
    values = np.array([0.1000001, 2.5], np.float32)
    assert format_floats(values) == [repr(float(values[0])), "2.5"]


@pytest.mark.parametrize(
    ("name", "format", "content"),
    [
        ("f.txt", None, "2 2 2\n1,0 1:0.1\n 0:3\n"),
        ("f.svm", None, "1,0 1:0.1\n 0:3\n"),
        ("f", "svmlight", "1,0 1:0.1\n 0:3\n"),
    ],
)
def test_what_is_written_of_features(tmp_path: Path, name, format, content: str) -> None:
    for given_X in (X, coo_array(X), X.tocsc(), X.toarray(), X.toarray().tolist()):
        write_examples(tmp_path / name, given_X, LABELS, format)
        assert (tmp_path / name).read_text() == content


def test_unsorted_and_repeated_entries_are_put_in_order(tmp_path: Path) -> None:
    untidy = csr_array((np.array([1.0, 2, 3]), np.array([4, 1, 4]), np.array([0, 3])), shape=(1, 5))
    write_examples(tmp_path / "f", untidy, [(0,)], "svmlight")
    assert (tmp_path / "f").read_text() == "0 1:2 4:4\n"
    assert untidy.data.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("f.jsonl", '{"text": "é", "labels": ["a", 3]}\n{"text": "", "labels": []}\n'),
        ("f.txt", '{"text": "é", "labels": ["a", 3]}\n{"text": "", "labels": []}\n'),
        ("f.ft", "__label__a __label__3 é\n \n"),
    ],
)
def test_what_is_written_of_texts(tmp_path: Path, name: str, content: str) -> None:
    write_examples(tmp_path / name, ["é", ""], [["a", np.int64(3), "a"], set()])
    assert (tmp_path / name).read_text("utf-8") == content


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz", "zst"])
def test_compressed_and_the_same_every_time(tmp_path: Path, suffix: str) -> None:
    contents = []
    for name in ("one", "two"):
        path = tmp_path / f"{name}.txt.{suffix}"
        write_examples(path, X, LABELS)
        assert read_examples(path).labels == LABELS
        contents.append(path.read_bytes())
    assert contents[0] == contents[1]
    if suffix == "gz":
        assert contents[0][4:8] == bytes(4), "the time of writing is not to be in it"


def test_standard_output(monkeypatch: pytest.MonkeyPatch) -> None:
    stdout = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", stdout)
    write_examples("-", X, LABELS)
    assert stdout.buffer.getvalue() == b"2 2 2\n1,0 1:0.1\n 0:3\n"
    with pytest.raises(ParameterError, match="standard output"):
        write_examples("-", X, LABELS, "npz")


class Interruption(Exception):
    pass


@pytest.mark.parametrize("name", ["f.txt", "f.txt.gz", "f.txt.xz", "f.npz"])
def test_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    write_examples(tmp_path / name, X, LABELS)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(before) == (2 if name == "f.npz" else 1)

    def fail(*_: object) -> None:
        raise Interruption

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(Interruption):
        write_examples(tmp_path / name, X * 2, LABELS)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_full_disk_is_told_with_the_name_of_the_file(tmp_path: Path) -> None:
    path = str(tmp_path / "out")
    with pytest.raises(OSError, match="full") as full, open_sink(path):
        raise OSError(errno.ENOSPC, "full")
    assert full.value.filename == path
    with pytest.raises(OSError, match="lost") as lost, open_sink(path):
        raise OSError(errno.EIO, "lost")  # perhaps from a file that is read
    assert lost.value.filename is None
    assert not any(tmp_path.iterdir())


@pytest.mark.skipif(os.name == "nt", reason="an open file cannot be removed there")
def test_two_processes_do_not_mix_what_they_write_where_there_are_no_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_unfinished, "locked", lambda path, _: path.open("a"))
    path = tmp_path / "out"
    with pytest.raises(FileNotFoundError), open_sink(str(path)) as sink:
        with open_sink(str(path)) as other:
            other.write(b"whole")
        sink.write(b"half")
    assert path.read_bytes() == b"whole"


def test_what_a_kill_left_of_a_data_set_of_the_same_name_is_not_in_the_way(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with Unfinished(path) as unfinished:
        unfinished.begin({})
        (unfinished.path / "whole").mkdir()
        (unfinished.path / "whole" / "text.u8").touch()
    with open_sink(str(path)) as sink:
        sink.write(b"whole")
    assert path.read_bytes() == b"whole" and (unfinished.path / "whole").is_dir()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork, and kills by SIGKILL")
def test_what_a_kill_leaves_goes_when_the_file_is_written_again(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    child = os.fork()
    if child == 0:
        with open_sink(str(path)) as sink:
            sink.write(b"half")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert not path.exists()
    with open_sink(str(path)) as sink:
        sink.write(b"whole")
    assert [left.name for left in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == b"whole"


@pytest.mark.skipif(os.name == "nt", reason="permissions and links are those of POSIX")
def test_names_may_be_as_long_as_the_system_allows(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 250 + ".json")
    with open_sink(str(path)) as sink:
        sink.write(b"{}")
    assert path.read_bytes() == b"{}"
    with Unfinished(path) as unfinished:
        assert unfinished.path.is_dir() and unfinished.path != Unfinished(tmp_path / "n").path
    assert [left.name for left in tmp_path.iterdir()] == [path.name]


def test_permissions_are_kept_and_links_followed(tmp_path: Path) -> None:
    target = tmp_path / "target.txt"
    target.write_text("old")
    target.chmod(0o640)
    (tmp_path / "link.txt").symlink_to(target)
    write_examples(tmp_path / "link.txt", X, LABELS)
    assert (tmp_path / "link.txt").is_symlink()
    assert target.read_text().startswith("2 2 2\n")
    assert target.stat().st_mode & 0o777 == 0o640
    write_examples(os.devnull, X, LABELS)


@pytest.mark.parametrize(
    ("data", "labels", "format", "message"),
    [
        (X, [(1,)], None, "found 2 examples and 1 rows of labels"),
        (["a"], [(1,), (2,)], None, "found 1 examples and 2 rows of labels"),
        (X[:0], [], None, "expected at least one example"),
        (X, ["ab", "c"], None, "labels of row 0 are 'ab'; expected a collection of labels"),
        (X, [(1,), 3], None, "labels of row 1 are '3'; expected a collection"),
        (X, [(1,), (-1,)], None, "row 1 has the label -1; expected 0 to 2147483646"),
        (X, [(1,), (2**31 - 1,)], None, "row 1 has the label 2147483647"),
        (X, [(1,), ("a",)], None, "row 1 has the label 'a'; expected an integer"),
        (X, [(1,), (True,)], None, "row 1 has the label True; expected an integer"),
        (X, [(1,), (1.0,)], None, "row 1 has the label 1.0; expected an integer"),
        (["a"], [(None,)], None, "row 0 has the label None; expected a string or an integer"),
        (["a"], [("",)], "jsonl", "row 0: a label is an empty string"),
        (
            ["a"],
            [("b", " ")],
            "jsonl",
            "row 0: JSON lines cannot hold the label ' '; expected a name",
        ),
        (
            ["a"],
            [("<http://a/1>",)],
            "jsonl",
            "row 0: JSON lines cannot hold the label '<http://a/1>'",
        ),
        (["a"], [("",)], "fasttext", "row 0: the fastText format cannot hold"),
        (["a"], [(" b",)], "fasttext", "row 0: the fastText format cannot hold"),
        (["a"], [("b c",)], "fasttext", "row 0: the fastText format cannot hold"),
        (["a", "a\nb"], [(), ()], "fasttext", "row 1: the fastText format cannot hold"),
        (["a __label__x"], [("b",)], "fasttext", "row 0: the fastText format cannot hold"),
        (["a\ud800"], [()], "jsonl", "row 0: '\\ud800' is a lone surrogate"),
        (["a\ud800"], [()], "fasttext", "row 0: '\\ud800' is a lone surrogate"),
        (["a"], [()], "xmlc", "found texts to write as xmlc; expected features"),
        (X, LABELS, "jsonl", "found features to write as jsonl; expected texts"),
        ("abc", [(), (), ()], None, "found one string"),
        ([[1, np.nan]], [()], None, "X has nan in row 0, column 1"),
        ([[1, 0], [0, 1e39]], LABELS, None, "X has inf in row 1, column 1"),
        ([["a"]], [()], None, "X holds something that is not a number"),
        ([1, 2], LABELS, None, "X has 1 dimensions; expected 2"),
        (csr_array((2, 2**31)), LABELS, None, "X has 2147483648 columns"),
    ],
)
def test_what_cannot_be_written(tmp_path: Path, data, labels, format, message: str) -> None:
    with pytest.raises(DataError) as caught:
        write_examples(tmp_path / "f", data, labels, format)
    assert message in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_labels_of_a_set_are_written_in_order(tmp_path: Path) -> None:
    write_examples(tmp_path / "f.jsonl", ["a"], [set("hgfedcba")])
    assert read_examples(tmp_path / "f.jsonl").labels == [tuple("abcdefgh")]
    write_examples(tmp_path / "f.svm", X, [{10, 9, 2}, set()])
    assert read_examples(tmp_path / "f.svm").labels == [(2, 9, 10), ()]
