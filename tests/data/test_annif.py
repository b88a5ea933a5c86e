"""Annif's corpora, as a file and as a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from labelgrove import FileFormatError
from labelgrove.data import open_examples, read_examples

LINES = "a text\t<http://a/1> <http://a/2>\r\nb\thttp://a/1\tname\nc\t\n"


@pytest.mark.parametrize("name", ["f.tsv", "f.txt"])
def test_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(LINES.partition("\r\n")[0] + "\nc\t\n")
    with open_examples(path) as reader:
        assert reader.format == "annif"
        [examples] = reader
    assert examples.text == ["a text", "c"]
    assert examples.labels == [("http://a/1", "http://a/2"), ()]


def test_a_table_with_names_of_columns_is_none(read) -> None:
    assert read("text\tlabel\na\t<http://a/1>\n", name="f.tsv").text == ["a"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a\t<http://a/1>\nno tab\n", ":2: there is no tab; expected text, a tab"),
        ("a\t<http://a/1\n", ":1: '<http://a/1' is not a label; expected <uri>"),
        ("a\t<http://a/1> cats\n", ":1: 'cats' is mixed with URIs in angle brackets"),
        ("a\t<>\n", ":1: '<>' is not a label"),
    ],
)
def test_malformed(read, content: str, message: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        read(content, "annif")
    assert message in str(caught.value)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "b.txt").write_text("second\ntext\n")
    (tmp_path / "b.key").write_text("cats\n\nred things\n")
    (tmp_path / "a.txt").write_text("first")
    (tmp_path / "a.tsv").write_text("<http://a/1>\tcats\n<http://a/2>\n")
    (tmp_path / "README").write_text("nothing")
    return tmp_path


def test_folder(folder: Path) -> None:
    with open_examples(folder, chunk_size=1) as reader:
        assert (reader.format, reader.declared_rows) == ("folder", 2)
        first, second = reader
    assert (first.text, first.labels) == (["first"], [("http://a/1", "http://a/2")])
    assert (second.text, second.labels) == (["second\ntext\n"], [("cats", "red things")])


def test_suffixes_in_upper_case(folder: Path) -> None:
    for name in ("a.txt", "a.tsv", "b.key"):
        (folder / name).rename(folder / f"{name[:1]}{name[1:].upper()}")
    found = read_examples(folder)
    assert found.text == ["first", "second\ntext\n"]
    assert found.labels == [("http://a/1", "http://a/2"), ("cats", "red things")]


def test_only_line_feeds_separate_the_labels_of_a_folder(tmp_path: Path) -> None:
    inside = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"
    for name, suffix, end in (("a", "key", ""), ("b", "tsv", "\tname")):
        (tmp_path / f"{name}.txt").write_text("text")
        lines = f"one{inside}label{end}\r\nanother{end}\r\n"
        (tmp_path / f"{name}.{suffix}").write_bytes(lines.encode())
    assert read_examples(tmp_path).labels == [(f"one{inside}label", "another")] * 2


def test_folder_with_faults(folder: Path) -> None:
    (folder / "c.txt").write_text("third")
    with pytest.raises(FileFormatError, match=r"c\.txt: has no labels; expected 'c.tsv' or"):
        read_examples(folder)
    with open_examples(folder, labels_required=False) as reader:
        assert [row for chunk in reader for row in chunk.labels][2] == ()
    (folder / "c.tsv").write_text("<http://a/1>\n<http\tx\n")
    with pytest.raises(FileFormatError, match=r"c\.tsv:2: '<http' is not a label"):
        read_examples(folder)
    (folder / "c.txt").write_bytes(b"one\ntwo\xff\n")
    (folder / "c.tsv").unlink()
    (folder / "c.key").write_text("x")
    with pytest.raises(FileFormatError, match=r"c\.txt:2: is not UTF-8 here"):
        read_examples(folder)


def test_folder_without_texts(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="the folder holds no texts; expected files NAME.txt"):
        read_examples(tmp_path)
