"""JSON lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from labelgrove import FileFormatError
from labelgrove.data import Columns, open_examples, read_examples


def test_text_title_and_both(read) -> None:
    examples = read(
        '{"text": "a", "labels": ["x", 7, "x"]}\n\n'
        '{"labels": [], "title": "b", "more": {"left": "aside"}}\n'
        '{"text": "c", "content": "d", "title": "b", "labels": ["\\u00e9", -3]}\n',
        name="f.jsonl",
    )
    assert examples.text == ["a", "b", "b\nc"]
    assert examples.labels == [("x", "7"), (), ("é", "-3")]
    assert examples.lines.tolist() == [1, 3, 4]


def test_a_label_without_an_array_is_the_one_of_its_line(read) -> None:
    lines = (
        '{"text": "a", "labels": "tax; duty"}\n{"text": "b", "labels": ["tax"]}\n'
        '{"text": "c", "labels": 17}\n{"text": "d", "labels": null}\n'
    )
    examples = read(lines, name="f.jsonl")
    assert examples.labels == [("tax; duty",), ("tax",), ("17",), ()]


def test_labels_in_an_array_are_read_like_a_single_one(read) -> None:
    for label, labels in {
        " z ": ("z",),
        "<http://a/1>": ("http://a/1",),
        "<http://a/1> <http://a/2>": ("http://a/1", "http://a/2"),
        "a; b|c": ("a; b|c",),
    }.items():
        for value in (
            f'"{label}"',
            f'["{label}"]',
            f'[{{"uri": "{label}"}}]',
            f'["{label}", "{label}"]',
        ):
            assert read(f'{{"text": "a", "labels": {value}}}\n', "jsonl").labels == [labels]


def test_columns_choose_the_keys(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    path.write_text(
        '{"name": "a", "abstract": "b", "kind": "x|y", "more": ["z"], "text": 3}\n'
        '{"name": "c", "abstract": null, "kind": null, "more": ["z", "w"]}\n'
    )
    columns = Columns(("name", "abstract"), ("kind", "more"), "|")
    examples = read_examples(path, columns=columns)
    assert examples.text == ["a\nb", "c"]
    assert examples.labels == [("x", "y", "z"), ("z", "w")]
    with pytest.raises(FileFormatError, match=r":1: there is no 'author' among 'name', 'abs"):
        read_examples(path, columns=Columns(("author",)))


def test_raw_files_of_the_repository(read) -> None:
    lines = '{"uid": "B0", "title": "a", "content": "b", "target_ind": [3, 0], "target_rel": [1]}\n'
    examples = read(lines, name="trn.json")
    assert (examples.text, examples.labels) == (["a\nb"], [("3", "0")])


def test_annif_keeps_its_subjects_as_objects(read) -> None:
    lines = '{"text": "a", "subjects": [{"uri": "http://a/1", "label": "cats"}]}\n'
    assert read(lines, name="f.jsonl").labels == [("http://a/1",)]


def test_labels_may_be_absent_only_where_that_is_said(tmp_path: Path, read) -> None:
    content = '{"text": "a"}\n'
    with pytest.raises(FileFormatError, match=r":1: there is no 'labels'"):
        read(content, "jsonl", name="f")
    with open_examples(tmp_path / "f", "jsonl", labels_required=False) as reader:
        assert [chunk.labels for chunk in reader] == [[()]]


def test_what_the_fast_reader_refuses_beside_text_and_labels_does_no_harm(read) -> None:
    content = '{"score": NaN, "half": "\\ud800", "text": "a", "labels": ["x"]}\n' + GOOD
    assert read(content, "jsonl").text == ["a", "a"]


GOOD = '{"text": "a", "labels": ["x"]}\n'
MALFORMED = [
    (
        '{"text": "a", "labels": ["x"]',
        "the JSON does not end in this line; expected an object such",
    ),
    ('{"text": "a b', "the JSON does not end in this line"),
    ("{ ", "in every line, as jq -c . writes it"),
    ("nonsense", "not JSON"),
    (" ", "not JSON"),
    ('["a"]', "found an array; expected one object per line"),
    ("[", "found an array; expected one object per line, as written by jq"),
    ('"a"', "found a string; expected a JSON object"),
    ("17", "found a number; expected a JSON object"),
    ("null", "found null; expected a JSON object"),
    ('{"labels": ["x"]}', "there is no 'text' (and no 'title') among 'labels'"),
    ("{}", "there is no 'text' (and no 'title'); expected one of them"),
    (json.dumps(dict.fromkeys("abcdef", 0)), "among 'a', 'b', 'c', 'd', 'e', 'f';"),
    (json.dumps(dict.fromkeys("abcdefg", 0)), "'e', 'f' and 1 more; expected"),
    ('{"text": null, "title": null, "labels": []}', "'title' is null; expected a string"),
    ('{"text": 3, "labels": ["x"]}', "'text' is a number; expected a string"),
    ('{"text": null, "labels": ["x"]}', "is null; expected a string, which may be empty"),
    ('{"title": ["a"], "text": "a", "labels": ["x"]}', "'title' is an array; expected a string"),
    ('{"text": "a", "labels": true}', "'labels' is true or false; expected an array"),
    ('{"text": "a", "labels": 0.5}', "'labels' is 0.5, a decimal; expected an array"),
    ('{"text": "a", "labels": {"x": 1}}', "'labels' is an object; expected an array"),
    ('{"text": "a", "labels": ["x", 1.0]}', "label 2 is 1.0, a decimal; expected a string or"),
    ('{"text": "a", "labels": [NaN]}', "label 1 is nan, a decimal"),
    ('{"text": "a", "labels": [true]}', "label 1 is true or false"),
    ('{"text": "a", "labels": [null]}', "label 1 is null"),
    ('{"text": "a", "labels": [["x"]]}', "label 1 is an array"),
    ('{"text": "a", "labels": [{"uri": 1}]}', "label 1 is an object"),
    ('{"text": "a", "labels": ["x", ""]}', "label 2 is an empty string"),
    ('{"text": "a", "labels": ["x", "  "]}', "label 2 is blank; expected a name"),
    ('{"text": "a\\ud800", "labels": ["x"]}', "lone surrogate"),
    ('{"text": "a", "labels": ["\\udc00"]}', "lone surrogate"),
    ('{"text": "a", "labels": [' + "9" * 5000 + "]}", "thousands of digits"),
    ('{"text": ' + "[" * 100_000, "nested too deeply"),
    (b'{"text": "\xe9", "labels": ["x"]}', "byte 11 of the line is not UTF-8"),
]


@pytest.mark.parametrize(("row", "message"), MALFORMED)
def test_malformed(read, row: str | bytes, message: str) -> None:
    line = row if isinstance(row, bytes) else row.encode()
    with pytest.raises(FileFormatError) as caught:
        read(GOOD.encode() * 2 + line + b"\n" + GOOD.encode(), "jsonl")
    assert caught.value.line == 3
    assert message in str(caught.value)
