"""Tables: CSV and TSV, Parquet, Arrow, and those of the package datasets."""

from __future__ import annotations

import csv
import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labelgrove import FileFormatError, ParameterError
from labelgrove.data import Columns, open_examples, read_examples


def test_columns_by_default(read) -> None:
    examples = read('id,text,labels\n1,"a, red\ncat",cat; red\n\n2,b,\n', name="f.csv")
    assert examples.text == ["a, red\ncat", "b"]
    assert examples.labels == [("cat", "red"), ()]
    assert examples.lines.tolist() == [2, 5]


def test_columns_by_name(tmp_path: Path) -> None:
    path = tmp_path / "f.tsv"
    path.write_text('name\tabstract\tfirst\tsecond\n"x ""y"""\t\ta|b\tb | c\n')
    examples = read_examples(path, columns=Columns(("name", "abstract"), ("first", "second"), "|"))
    assert (examples.text, examples.labels) == (['x "y"'], [("a", "b", "c")])


def test_an_empty_separator_keeps_labels_whole(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("text,label\na,x; y\n")
    assert read_examples(path, columns=Columns(separator="")).labels == [("x; y",)]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_separator_of_columns_is_found(read, delimiter: str) -> None:
    examples = read(f"text{delimiter}label\r\na{delimiter}x\r\n", name="f.csv")
    assert (examples.text, examples.labels) == (["a"], [("x",)])


def test_uris_in_a_cell_are_several_labels(read) -> None:
    for cell in ("<http://a/1> <http://a/2>", " <http://a/1><http://a/2>", "http://a/1 http://a/2"):
        plain = read(f"text,subject_uris\na,{cell}\n", name="f.csv")
        assert plain.labels == [("http://a/1", "http://a/2")]
    with pytest.raises(FileFormatError, match="no 'labels' among 'text', 'Labels'"):
        read("text;Labels\na;b\n", name="f.csv")


def test_a_text_longer_than_python_lets_fields_be(read) -> None:
    assert read("text,label\n" + "ab " * 100_000 + ",x\n", name="f.csv").text == ["ab " * 100_000]


def test_labels_may_be_absent_only_where_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("text\na\n")
    with pytest.raises(
        FileFormatError, match=r"f.csv:1: .*there is no 'labels' among 'text'.*by --label-column"
    ):
        read_examples(path)
    with open_examples(path, labels_required=False) as reader:
        assert [chunk.labels for chunk in reader] == [[()]]


characters = st.characters(exclude_categories=["Cs"], exclude_characters="\r")
names = (
    st.text(characters, min_size=1, max_size=4)
    .map(str.strip)
    .filter(lambda name: name and "|" not in name and name[0] not in "<[({")
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.tuples(st.text(characters, max_size=12), st.lists(names, max_size=3, unique=True)),
        min_size=1,
        max_size=5,
    ),
    delimiter=st.sampled_from(",;\t"),
)
def test_what_python_writes_is_read_back(tmp_path: Path, rows: list, delimiter: str) -> None:
    path = tmp_path / "f.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow(["text", "label"])
        writer.writerows((text, "|".join(labels)) for text, labels in rows)
    examples = read_examples(path, columns=Columns(separator="|"))
    assert examples.text == [text for text, _ in rows]
    assert examples.labels == [tuple(labels) for _, labels in rows]


GOOD = "text,label\na,x\nb,y\n"


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("name,label\na,x\n", 1, "there is no 'text' (and no 'title') among 'name', 'label'"),
        ("age,label\n9,x\n", 1, "columns of numbers are learnt in Python, by fit"),
        ("text,text,label\n", 1, "'text' occurs twice"),
        ('"text,label\n', 1, "quotes do not match"),
        ("text|label\na|x\n", 1, "; columns are separated by ',' or ';' or tabs"),
        ("text,label\ra,x\rb,y\r", 1, "is a carriage return; expected lines to end with"),
        (
            GOOD + "c,x,z\n",
            4,
            "the row has 3 fields; expected 2, one for each column (a field that",
        ),
        (GOOD + "c\n", 4, "the row has 1 fields; expected 2"),
        (GOOD + '"c,x\nd,y\n', 4, "not CSV (unexpected end of data)"),
        (GOOD + '"c"d,x\n', 4, "not CSV ("),
        (GOOD + "c,\"['x' 'y']\"\n", 4, "is not a list of labels; expected one such as ['a', 'b']"),
        (GOOD + "c,\"['x', None]\"\n", 4, "label 2 is null"),
        ('text\tlabel\n"a\tx\nthe "b"\ty\n', 2, "not TSV (a tab expected after '\"')"),
        ('text;label\n"a" b;x\n', 2, "not CSV (';' expected after '\"')"),
        ('text\tlabel\n"a\tx\nb 5"\ty\n', 2, "ends in line 3, and each line up to there could"),
        (GOOD + 'c, "x;y"\n', 4, "labels begin with a blank and a double quote; expected quotes"),
        (GOOD + 'c, "x, y"\n', 4, "one for each column (expected quotes around a field to begin"),
        ("sep=;\ntext;label\na;x;y\n", 3, "the row has 3 fields; expected 2"),
        ("sep=;\ntext,label\na,x\n", 2, "there is no 'text' (and no 'title') among 'text,label'"),
        (GOOD.encode() + b"\xff,x\n", 4, "byte 1 of the line is not UTF-8"),
    ],
)
def test_malformed(read, content: str | bytes, line: int, message: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        read(content, name="f.csv")
    assert caught.value.line == line
    assert message in str(caught.value)


def test_a_label_in_brackets_that_begins_with_a_number_warns_of_nothing(read) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rows = read("text,label\na,(10in pipes)\nb,\"['10in pipes', '5or6']\"\n", name="f.csv")
    assert not caught
    assert [*rows.labels] == [("(10in pipes)",), ("10in pipes", "5or6")]


@pytest.mark.parametrize("separator", ",;|\t")
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_line_for_excel_tells_the_separator(read, separator: str, end: str) -> None:
    lines = [f"sep={separator}", f"text{separator}label", f"a{separator}x", f"b{separator}y"]
    examples = read(end.join(lines) + end, name="f.csv")
    assert (examples.text, examples.labels) == (["a", "b"], [("x",), ("y",)])
    assert examples.lines.tolist() == [3, 4]


def test_empty_lines_before_the_names_are_skipped(read) -> None:
    for begin in ("", "sep=,\n"):
        examples = read(f"\n\r\n{begin}text,label\n\na,x\n", name="f.csv")
        assert (examples.text, examples.labels) == (["a"], [("x",)])
        assert examples.lines.tolist() == [5 + (begin != "")]
    with pytest.raises(FileFormatError, match="f.csv:3: in the line that names the columns"):
        read("\n\nbody,label\na,x\n", name="f.csv")


def test_a_quoted_label_may_begin_with_a_blank_and_a_quote(read) -> None:
    rows = read('text,label\nc," ""x"" y; z"\nd,\n', name="f.csv")
    assert [*rows.labels] == [('"x" y', "z"), ()]


def test_many_columns_are_read_in_linear_time(read) -> None:
    names = [f"column {i}" for i in range(100_000)]
    started = time.process_time()
    with pytest.raises(FileFormatError, match="there is no 'text'"):
        read(",".join(names) + "\n", name="f.csv")
    assert time.process_time() - started < 10  # a minute if each name is counted
    with pytest.raises(FileFormatError, match="'column 7' occurs twice"):
        read(",".join([*names, "column 9", "column 7"]) + "\n", name="f.csv")


def test_a_long_cell_that_begins_like_a_list_is_read_in_linear_time(read) -> None:
    started = time.process_time()
    for opening in "[{":
        [labels] = read(f'text,label\nc,"{opening}{"a," * 60_000}"\n', name="f.csv").labels
        assert len(labels) == 1
    assert time.process_time() - started < 5  # 15 if every comma is tried


def test_lists_in_cells_are_several_labels(tmp_path: Path) -> None:
    cells = ["['x', ' y ']", '[""x"", ""it\'s""]', "[1, 2]", "[]", "[draft]", "[[a]]", "[x]; [1]"]
    content = "text,label\n" + "".join(f'a,"{cell}"\n' for cell in cells)
    path = tmp_path / "f.csv"
    path.write_text(content)
    labels = read_examples(path).labels
    assert labels[:4] == [("x", "y"), ("x", "it's"), ("1", "2"), ()]
    assert labels[4:] == [("[draft]",), ("[[a]]",), ("[x]", "[1]")]
    assert read_examples(path, columns=Columns(separator="")).labels[0] == ("['x', ' y ']",)


@pytest.mark.parametrize(
    "cell",
    [
        "[1 2 3]",
        "[ 1\n  2]",
        "[np.str_('x'), np.str_('y')]",
        "(np.int64(1), np.int64(2))",
        "array(['x', 'y'], dtype=object)",
        "frozenset({'x', 'y'})",
        "{'x': 1}",
        "[x, y]",
        "{x,y}",
        "[nan, 'x']",
        r"['it\'s', 'x']",
    ],
)
def test_collections_that_are_printed_otherwise_are_no_name(tmp_path: Path, cell: str) -> None:
    path = tmp_path / "f.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), ("a", cell)])
    for separator in (None, ",", "|"):
        with pytest.raises(
            FileFormatError, match=r"f\.csv:2: .* is not a list of labels; expected"
        ):
            read_examples(path, columns=Columns(separator=separator))
    assert read_examples(path, columns=Columns(separator="")).labels == [(cell,)]


def test_blanks_around_a_list_are_no_part_of_a_name(read) -> None:
    rows = read("text,label\na,\" ['x', 'y'] \"\nb, set()\n", name="f.csv")
    assert [*rows.labels] == [("x", "y"), ()]


def test_a_string_in_json_may_be_a_list_that_pandas_has_written(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    cells = ["['x', 'y']", '["x"]', "[]", "(draft)", "{x,y}", "x; y", "('x', 'y')"]
    path.write_text("".join(json.dumps({"text": "a", "label": cell}) + "\n" for cell in cells))
    labels = read_examples(path).labels
    assert labels == [("x", "y"), ("x",), (), *((cell,) for cell in cells[3:])]
    assert read_examples(path, columns=Columns(separator="")).labels == [(cell,) for cell in cells]
    path.write_text('{"text": "a", "label": "[x, y]"}\n')
    with pytest.raises(FileFormatError, match=r"f\.jsonl:1: '\[x, y\]' is not a list of labels"):
        read_examples(path)


def test_tuples_and_sets_as_pandas_writes_them_are_several_labels(tmp_path: Path) -> None:
    cells = [("x", "it's"), (1, 2), ("x",), (), {"z", "x", "y"}, set(), {2, "x"}]
    names = [
        "(draft)",
        "('t Hooft)",
        "{draft}",
        "{}",
        "(x) y",
        "x (y)",
        "sets)",
        "('x')",
        "{['x']}",
        "[" * 100_000 + "]" * 100_000,
        f"[{'-' * 3000}1]",
        f"[{'-' * 10000}1]",
    ]
    with (tmp_path / "f.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *(("a", cell) for cell in cells + names)])
    labels = read_examples(tmp_path / "f.csv").labels
    sets = [("x", "y", "z"), (), ("2", "x")]
    assert labels[: len(cells)] == [("x", "it's"), ("1", "2"), ("x",), (), *sets]
    assert labels[len(cells) :] == [(name,) for name in names]


def test_a_text_between_tabs_may_have_lines_and_tabs(read) -> None:
    found = read('text\tlabel\n"a\tb\nc\td"\tx\n"e\nf"\ty\n', name="f.tsv")
    assert found.text == ["a\tb\nc\td", "e\nf"]


def test_rows_before_a_malformed_one_are_handed_out(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text(GOOD + "c\n")
    with open_examples(path, chunk_size=1) as reader, pytest.raises(FileFormatError):
        for chunk in reader:
            last = chunk.text
    assert last == ["b"]


def test_formats_without_names_refuse_columns(tmp_path: Path) -> None:
    path = tmp_path / "f.ft"
    path.write_text("__label__a b\n")
    for columns in (Columns(("a",)), Columns(separator="")):
        with pytest.raises(ParameterError, match="the format fasttext has none"):
            read_examples(path, columns=columns)


@pytest.mark.parametrize("names", [("a", "a"), ("",), ["a"], (1,)])
def test_columns_are_checked(names: Any) -> None:
    with pytest.raises(ParameterError, match="columns of text are"):
        Columns(names)


@pytest.mark.parametrize(
    ("given_", "message"),
    [({"separator": 1}, "separator is 1;"), ({"of_model": ("a",)}, r"of_model is \('a',\);")],
)
def test_other_settings_of_columns_are_checked(given_: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Columns(**given_)


TABLE = {
    "title": ["a", "b", None],
    "text": ["x", None, "z"],
    "labels": [["p", "q"], [], None],
    "label": [1, 2, None],
}


def write_table(path: Path, table: Any) -> Path:
    pa = pytest.importorskip("pyarrow")
    content = pa.table(table) if isinstance(table, dict) else table
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        pq.write_table(content, path, row_group_size=2)
    elif path.suffix == ".feather":
        from pyarrow import feather

        feather.write_feather(content, path)
    else:
        with pa.ipc.new_stream(path, content.schema) as stream:
            stream.write_table(content, max_chunksize=2)
    return path


KINDS = ["f.parquet", "f.feather", "f.arrow"]


@pytest.mark.parametrize("name", KINDS)
def test_arrow(tmp_path: Path, name: str) -> None:
    path = write_table(tmp_path / name, TABLE)
    with open_examples(path, chunk_size=2) as reader:
        assert reader.is_text
        chunks = list(reader)
    assert [text for chunk in chunks for text in chunk.text or ()] == ["a\nx", "b", "z"]
    assert [row for chunk in chunks for row in chunk.labels] == [("p", "q"), (), ()]
    assert [n for chunk in chunks for n in chunk.lines.tolist()] == [1, 2, 3]
    numbered = read_examples(path, columns=Columns(labels=("label",)))
    assert numbered.labels == [("1",), ("2",), ()]


@pytest.mark.parametrize("name", KINDS)
def test_arrow_with_a_row_that_cannot_be_used(tmp_path: Path, name: str) -> None:
    path = write_table(tmp_path / name, {"text": ["a", "b", None], "label": ["x", "y", "z"]})
    with pytest.raises(FileFormatError, match=rf"{name}:3: 'text' is null; expected a string"):
        read_examples(path)
    write_table(path, {"text": ["a"], "label": [0.5]})
    with pytest.raises(
        FileFormatError, match=rf"{name}:1: 'label' is 0.5, a decimal; expected an array"
    ):
        read_examples(path)
    with pytest.raises(FileFormatError, match="there is no 'body' among 'text', 'label'"):
        read_examples(path, columns=Columns(("body",)))


@pytest.mark.parametrize("name", ["f.parquet", "f.arrow"])
def test_a_column_that_occurs_twice_is_refused_if_it_is_read(tmp_path: Path, name: str) -> None:
    pa = pytest.importorskip("pyarrow")
    columns = [["a", "b"], ["x", "y"], ["c", "d"]]
    twice = pa.Table.from_arrays([pa.array(one) for one in columns], ["text", "label", "text"])
    with pytest.raises(FileFormatError, match="in the table 'text' occurs twice; expected every"):
        read_examples(write_table(tmp_path / name, twice))
    other = twice.rename_columns(["text", "label", "text "]).append_column("text ", twice[0])
    assert read_examples(write_table(tmp_path / name, other)).text == ["a", "b"]


@pytest.mark.parametrize("name", KINDS)
def test_arrow_that_is_none(tmp_path: Path, name: str) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / name
    path.write_bytes(b"no such thing\n")
    with pytest.raises(FileFormatError, match="not a readable"):
        read_examples(path)
    with pytest.raises(OSError, match="gone"):
        read_examples(tmp_path / "gone.parquet")
    with pytest.raises(ParameterError, match="cannot be read from standard input"):
        open_examples("-", "parquet")


@pytest.mark.parametrize("source", [{"train": None}, None, [("a", "b")]])
def test_what_is_neither_a_file_nor_a_data_set_is_named(source: Any) -> None:
    with pytest.raises(
        ParameterError, match=rf"path is a {type(source).__name__}; expected .* file"
    ):
        read_examples(source)


@pytest.mark.parametrize("name", KINDS)
def test_classes_that_the_package_datasets_has_numbered_in_a_file(
    tmp_path: Path, name: str
) -> None:
    pa = pytest.importorskip("pyarrow")
    one = {"names": ["ham", "spam"], "_type": "ClassLabel"}
    kinds = {"label": one, "all": {"feature": one, "_type": "List"}, "old": [one], "none": {"a": 1}}
    columns = {"label": [1, -1, 0], "all": [[0, 1], [-1], None], "old": [[1], [], [0]]}
    table = pa.table({"text": ["a", "b", "c"], **columns, "none": [7, 8, -1]})
    noted = {"huggingface": json.dumps({"info": {"features": kinds}})}
    path = write_table(tmp_path / name, table.replace_schema_metadata(noted))
    for column, expected in {
        "label": [("spam",), (), ("ham",)],
        "all": [("ham", "spam"), (), ()],
        "old": [("spam",), (), ("ham",)],
        "none": [("7",), ("8",), ("-1",)],
    }.items():
        assert read_examples(path, columns=Columns(labels=(column,))).labels == expected
    odd = [{"info": {"features": one}} for one in ([1], {"label": 3}, {"label": {"names": [2, 3]}})]
    for other in ("{", "[]", *map(json.dumps, odd)):
        write_table(path, table.replace_schema_metadata({"huggingface": other}))
        assert read_examples(path).labels == [("1",), ("-1",), ("0",)]


def test_a_data_set_of_the_package_datasets() -> None:
    # In the package's format; the package is too large to install just for this.
    class Feature:
        names = ("ham", "spam")

    class Dataset:
        column_names = ("text", "label")
        features = {"label": Feature()}  # noqa: RUF012

        def __init__(self, values: list[Any], form: str | None = None) -> None:
            self.values, self.form = values, form

        def with_format(self, form: str | None) -> Dataset:
            return Dataset(self.values, form)

        def iter(self, batch_size: int) -> Iterator[dict[str, Any]]:
            if self.form == "some columns":
                yield {"text": ["a", "b", "c"]}
                return
            form = np.array if self.form == "numpy" else list
            yield {"text": form(["a", "b"]), "label": form(self.values[:2])}
            yield {"text": form(["c"]), "label": form(self.values[2:])}

    for form in (None, "numpy", "some columns"):
        with open_examples(Dataset([1, 0, 1], form), chunk_size=2) as reader:
            assert reader.format == "datasets"
            rows = [(chunk.text, chunk.labels) for chunk in reader]
        assert rows == [(["a", "b"], [("spam",), ("ham",)]), (["c"], [("spam",)])]
    assert list(read_examples(Dataset([1, -1, 0])).labels) == [("spam",), (), ("ham",)]
    lists = Dataset([[1, -1], [-1], [0, 1]])
    assert list(read_examples(lists).labels) == [("spam",), (), ("ham", "spam")]
