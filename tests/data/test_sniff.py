"""Detecting the format from name and content."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelgrove import FileFormatError, ParameterError
from labelgrove.data import Columns
from labelgrove.data._lines import LineSource
from labelgrove.data._sniff import format_from_content, format_from_name


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.jsonl", "jsonl"),
        ("a.JSONL.GZ", "jsonl"),
        ("a.ndjson.xz", "jsonl"),
        ("dir.npz/a.svm", "svmlight"),
        ("a.libsvm.gz", "svmlight"),
        ("a.svmlight", "svmlight"),
        ("a.ft", "fasttext"),
        ("a.fasttext", "fasttext"),
        ("a.xmlc", "xmlc"),
        ("X.trn.npz", "npz"),
        ("a.json", "jsonl"),
        ("a.csv.gz", "csv"),
        ("a.tsv", "tsv"),
        ("a.parquet", "parquet"),
        ("a.arrow", "arrow"),
        ("a.feather", "arrow"),
        ("trn_X_Y.txt.xz", "xmlc-pair"),
        ("trn_X_Xf.txt.zst", "xmlc-pair"),
        ("a.txt", None),
        ("a.gz", None),
        ("jsonl", None),
        ("-", None),
    ],
)
def test_name(name: str, format: str | None) -> None:
    assert format_from_name(name) == format


def test_npz_is_not_compressed_twice() -> None:
    with pytest.raises(ParameterError, match="must not be compressed again"):
        format_from_name(str(Path("X.npz.gz")))


@pytest.mark.parametrize(
    ("content", "format"),
    [
        ("12 34 5\n", "xmlc"),
        ("12 34 5\r\n1 2:3\r\n", "xmlc"),
        ("1,2 3:0.5\n", "xmlc"),
        (" 3:0.5 4\n", "xmlc"),
        ("1,2\n", "xmlc"),
        ("1\t2:1 3:1\n", "xmlc"),
        (" \n1 2:3\n", "xmlc"),
        ("3:0.5 7:1\n", "svmlight"),
        ("# remark\n1 2:3\n", "svmlight"),
        ("+1 3:0.5\n", "svmlight"),
        ("-1 3:0.5\n", "svmlight"),
        ('{"text": 1}\n', "jsonl"),
        ("\ufeff{}\n", "jsonl"),
        ("\n\n[1]\n", "jsonl"),
        ("__label__a b\n", "fasttext"),
        ("no labels\n__label__a b\n", "fasttext"),
        ("some text\t<http://a/1>\n", "annif"),
    ],
)
def test_content(content: str, format: str) -> None:
    assert format_from_content(LineSource("f", iter([content.encode()])), Columns()) == format


@pytest.mark.parametrize(
    ("content", "unknown", "text", "numbers"),
    [
        ("2012\n", "xmlc", "fasttext", "xmlc"),
        ("3 4\nwords\n", "fasttext", "fasttext", "xmlc"),
        ("3 blind mice\n", "fasttext", "fasttext", "fasttext"),
        ("1:2\n", "svmlight", "fasttext", "svmlight"),
        ("# hashtag\n", "svmlight", "fasttext", "svmlight"),
        (" \n", "svmlight", "fasttext", "xmlc"),
        ("{curly} hello\n", "jsonl", "fasttext", "jsonl"),
        ('{"quoted"} hello\n', "jsonl", "fasttext", "jsonl"),
        ('{ "te\\"xt" : nonsense\n', "jsonl", "jsonl", "jsonl"),
        ('{"text": "' + "a" * 70_000 + '"}\n', "jsonl", "jsonl", "jsonl"),
        ("{ }\r\n", "jsonl", "jsonl", "jsonl"),
        ("[1]\n", "fasttext", "fasttext", "fasttext"),
        ("[\n", "jsonl", "jsonl", "jsonl"),
        ("2012\n__label__a b\n", "fasttext", "fasttext", "xmlc"),
        ("a\t<http://a/1>\n__label__a b\n", "fasttext", "fasttext", "fasttext"),
        ("\ufeff\n \r\n2012\r\n{}\r\n", "fasttext", "fasttext", "xmlc"),
        ("2012\t<http://a/1>\n", "annif", "annif", "annif"),
        ("0:1 3:2\n4:1\n", "svmlight", "svmlight", "svmlight"),  # surely features, not text
        ("0:1 3:2\nscores 4:1\n", "fasttext", "fasttext", "svmlight"),
        ("2 5 3\n0,2 4:1\n1 0:1 2:3\n", "xmlc", "xmlc", "xmlc"),  # after a header
        ("2 5 3\n0,2 4:1\nwords\n", "fasttext", "fasttext", "xmlc"),
        ("2 5 3\n2 1\n", "xmlc", "fasttext", "xmlc"),
        ("2 5 3\n", "xmlc", "fasttext", "xmlc"),
    ],
)
def test_content_that_needs_no_labels(content: str, unknown: str, text: str, numbers: str) -> None:
    whole = content.encode()
    for expected, format in ((None, unknown), (True, text), (False, numbers)):
        for size in (len(whole), 1 + len(whole) // 1000):  # whatever comes at a time from a pipe
            pieces = (whole[start : start + size] for start in range(0, len(whole), size))
            source = LineSource("f", pieces)
            found = format_from_content(
                source, Columns(), labels_required=False, text_expected=expected
            )
            assert found == format


def test_a_pipe_is_read_no_further_than_its_format_needs() -> None:
    def slow(first: bytes) -> Iterator[bytes]:
        yield first
        pytest.fail("waits for more")

    for first, expected, format in (
        (b"a\n", True, "fasttext"),
        (b"a\n", None, "fasttext"),
        (b"{}\n", None, "jsonl"),
        (b"1\n", True, "fasttext"),
        (b"1\n", False, "xmlc"),
        (b"text,labels\n", None, "csv"),
    ):
        source = LineSource("f", slow(first))
        assert source.peek(1) == first[:1]
        found = format_from_content(
            source, Columns(), labels_required=False, text_expected=expected
        )
        assert found == format
        assert next(source.blocks()).data == first.removesuffix(b"\n")


#: As of a model that has learnt from these columns.
COLUMNS = Columns(of_model=Columns(("a", "b"), ("c",)))


@pytest.mark.parametrize(
    ("first", "with_labels", "without"),
    [
        ("text,labels", "csv", "csv"),
        ("id;Labels ; title;label", "csv", "csv"),
        ("\ufeff\n text\tlabels\r", "tsv", "tsv"),
        ("sep=;\r", "csv", "csv"),
        ("\ufeffsep=\t", "tsv", "tsv"),
        ("text,id", None, "fasttext"),  # a plain text, perhaps
        ("text", None, "fasttext"),
        ("labels,id", None, "fasttext"),
        ("text,text,labels", None, "fasttext"),
        ('text,"labels', None, "fasttext"),
        ("__label__a text,labels", "fasttext", "fasttext"),
    ],
)
def test_a_table_begins_with_the_names_of_its_columns(
    first: str, with_labels: str | None, without: str
) -> None:
    def found(**options: Any) -> str:
        source = LineSource("f", iter([f"{first}\n__label__a text,b\n".encode()]))
        return format_from_content(source, Columns(), **options)

    assert found() == (with_labels or "fasttext")
    assert found(labels_required=False, text_expected=True) == without


@pytest.mark.parametrize(
    ("first", "columns", "format"),
    [
        ("a,b", COLUMNS, "csv"),
        ("x;b;a", COLUMNS, "csv"),
        ("a,c", COLUMNS, "fasttext"),
        ("text,labels", COLUMNS, "fasttext"),
        ("about,x", Columns(("about",)), "csv"),
        ("about", Columns(("about",)), "fasttext"),
        ("text,kind", Columns((), ("kind",)), "csv"),
        ("text,labels", Columns((), ("kind",)), "fasttext"),
    ],
)
def test_columns_that_are_given_tell_a_table(first: str, columns: Columns, format: str) -> None:
    source = LineSource("f", iter([f"{first}\n1,2,3\n".encode()]))
    assert format_from_content(source, columns, labels_required=False) == format


lines_of_formats = st.sampled_from(
    [
        "",
        " ",
        "a",
        "2012",
        "1 2 3",
        "3 1:2",
        "1:2",
        "# a",
        "{}",
        "{a",
        "[",
        "__label__a",
        "a\t<http://a>",
        "a,b",
    ]
)


@given(st.lists(lines_of_formats).map("\n".join), st.integers(1, 20), st.booleans() | st.none())
def test_the_format_does_not_depend_on_the_pieces(
    content: str, size: int, expected: bool | None
) -> None:
    whole = content.encode()
    pieces = (whole[start : start + size] for start in range(0, len(whole), size))
    found = [
        format_from_content(
            LineSource("f", given), COLUMNS, labels_required=False, text_expected=expected
        )
        for given in (iter([whole]), pieces)
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("content", ["plain words\n", "2020 was a year\n", "a,b,c\n", "\x00\x01"])
def test_content_that_looks_like_nothing(content: str) -> None:
    with pytest.raises(FileFormatError, match="cannot be determined from the name or the content"):
        format_from_content(LineSource("f", iter([content.encode()])), Columns())


def test_long_first_line_is_looked_at_in_part() -> None:
    row = b"1 " + b" ".join(b"%d:1" % i for i in range(50_000)) + b"\n"
    assert format_from_content(LineSource("f", iter([row])), Columns()) == "xmlc"
