"""The format of the Extreme Classification Repository."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from labelgrove import FileFormatError
from labelgrove.data import _open, open_examples


def test_header_and_rows(tmp_path: Path) -> None:
    path = tmp_path / "f.txt"
    path.write_text("3 10 5\n4,0 1:0.5 9:-2e-3\n 0:1\n2\n")
    with open_examples(path) as reader:
        assert (reader.format, reader.is_text, reader.labels_are_int) == ("xmlc", False, True)
        declared = reader.declared_rows, reader.declared_features, reader.declared_labels
        assert declared == (3, 10, 5)
        [chunk] = reader
    assert chunk.labels == [(4, 0), (), (2,)]
    assert chunk.first_line == 2
    assert chunk.lines.tolist() == [2, 3, 4]
    assert chunk.X.shape == (3, 10)
    assert chunk.X.dtype == np.float32
    assert chunk.X.indices.tolist() == [1, 9, 0]
    assert chunk.X.data.tolist() == [0.5, np.float32(-2e-3), 1]
    assert chunk.X.has_canonical_format


def test_without_header_the_width_is_what_was_seen(read) -> None:
    examples = read("1,2 3:0.5\n 7:1\n", "xmlc")
    assert examples.X.shape == (2, 8)
    assert examples.first_line == 1


def test_three_integers_are_the_header_only_at_the_very_start_of_a_line(read) -> None:
    assert read(" 4 1 2\n5 3:1\n", "xmlc").labels == [(), (5,)]
    assert read("1 9 9\n7 1 2\n", "xmlc").labels == [(7,)]
    assert read("1\t9   9 \r\n7 1 2\r\n", "xmlc").labels == [(7,)]


def test_feature_without_value_means_one(read) -> None:
    examples = read("1 3 5:2 8\n2 1\n", "xmlc")
    assert examples.X.indices.tolist() == [3, 5, 8, 1]
    assert examples.X.data.tolist() == [1, 2, 1, 1]


def test_unsorted_features_are_sorted_and_repeated_labels_dropped(read) -> None:
    examples = read("3,1,3 9:1 2:2 5:3\n4 1:1 0:7\n", "xmlc")
    assert examples.X.indices.tolist() == [2, 5, 9, 0, 1]
    assert examples.X.data.tolist() == [2, 3, 1, 7, 1]
    assert examples.labels == [(3, 1), (4,)]


def test_tabs_runs_of_blanks_and_windows_line_ends_separate(read) -> None:
    examples = read("1,2\t 3:1\t\t4:2  \r\n\t5:1\r\n", "xmlc")
    assert examples.labels == [(1, 2), ()]
    assert examples.X.indices.tolist() == [3, 4, 5]


def test_row_of_nothing_is_a_blank_and_empty_lines_may_end_the_file(read) -> None:
    examples = read("2 3 3\n \n1 0:1\n\n\r\n\n", "xmlc")
    assert examples.labels == [(), (1,)]
    assert examples.X.indptr.tolist() == [0, 0, 1]


def test_careful_path_sorts_and_drops_repetitions_too(read) -> None:
    row = "00000000003,2147483646,3 2147483646:1 2:2\n"  # too many digits for the fast path
    examples = read(row, "xmlc")
    assert examples.labels == [(3, 2147483646)]
    assert examples.X.indices.tolist() == [2, 2147483646]
    assert examples.X.data.tolist() == [2, 1]


@pytest.mark.parametrize("block", [1, 4, 7, 1000])
def test_empty_lines_are_found_across_blocks(
    read, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(_open, "BLOCK_BYTES", block)
    rows = "1 2:1\n" * 1000  # more than is searched for the header
    assert read(f"{rows}\n\n\n", "xmlc").n_rows == 1000
    with pytest.raises(FileFormatError, match=":1001: the line is empty"):
        read(f"{rows}\n\n\n5 6:1\n", "xmlc")


def test_last_line_needs_no_line_break(read) -> None:
    assert read("1 2:3\n4 5:6", "xmlc").labels == [(1,), (4,)]


@pytest.mark.parametrize(
    "number", ["0.1", "+.5", "5.", "1e-3", "1.5E+2", "-0", "00012.50", "1e-60"]
)
def test_spellings_of_numbers(read, number: str) -> None:
    expected = np.float32(float(number))
    with np.errstate(all="raise"):
        assert read(f"1 2:{number}\n", "xmlc").X.data.tolist() == [expected]


MALFORMED = [
    ("1 2:nan\n", 1, "feature 2 has the value 'nan'; expected a finite one"),
    ("1 2:1\n1 2:-Infinity\n", 2, "expected a finite one"),
    ("1 2:1e39\n", 1, "a float32 can hold"),
    ("1 2:3.4028236e38\n", 1, "a float32 can hold"),
    ("1 2:1e999\n", 1, "a float32 can hold"),
    ("1 2:abc\n", 1, "feature 2 has the value 'abc'; expected a number"),
    ("1 2:\n", 1, "feature 2 has the value ''; expected a number"),
    ("1 2:1:2\n", 1, "has the value '1:2'"),
    (f"1 2:{2**128 - 2**103}\n", 1, "expected one that a float32 can hold"),
    ("1 2:1_0\n", 1, "has the value '1_0'"),
    ("1 2:0x10\n", 1, "has the value '0x10'"),
    ("1 2:1 -3:1\n", 1, "'-3:1' is not a feature; expected an integer from 0"),
    ("1 +3:1\n", 1, "'+3:1' is not a feature"),
    ("1 2.5:1\n", 1, "'2.5:1' is not a feature"),
    ("1 :1\n", 1, "':1' is not a feature"),
    ("1 2 :1\n", 1, "':1' is not a feature"),
    ("1 2: 1\n", 1, "feature 2 has the value ''"),
    ("1 x\n", 1, "'x' is not a feature"),
    (f"1 {'x' * 40}\n", 1, f"'{'x' * 40}' is not a feature"),
    (f"1 {'x' * 41}\n", 1, f"'{'x' * 37}...' is not a feature"),
    ("1 2147483647:1\n", 1, "feature '2147483647' is too large; expected at most 2147483646"),
    (f"1 {'9' * 5000}:1\n", 1, "is too large"),
    ("1 5:1 3:1 5:2\n", 1, "feature 5 occurs twice"),
    ("1 5:1 05:2\n", 1, "feature 5 occurs twice"),
    ("-1 5:1\n", 1, "'-1' is not a label; expected an integer from 0"),
    ("1.0 5:1\n", 1, "'1.0' is not a label"),
    ("1, 5:1\n", 1, "'' is not a label"),
    ("2147483647 5:1\n", 1, "label '2147483647' is too large"),
    ("a,b 5:1\n", 1, "'a' is not a label"),
    ("5:1 6:1\n", 1, "a blank at the start of a row without labels"),
    ("1 2:1\n\n1 2:1\n", 2, "the line is empty"),
    ("1 2:1\n\n\n\n1 2:1\n", 2, "the line is empty"),
    ("2 3 5\n1 3:1\n", 2, "feature 3 is beyond the 3 features that the header declares (0 to 2)"),
    ("2 3 5\n1 2:1\n7 0:1\n", 3, "label 7 is beyond the 5 labels"),
    ("1 0 5\n1 0:1\n", 2, "(none at all)"),
    ("3 3 5\n1 2:1\n4 0:1\n", 3, "ends after 2 examples; expected the 3"),
    ("1 3 5\n1 2:1\n4 0:1\n", 3, "ends after 2 examples; expected the 1"),
    ("1000000000000000000 3 5\n1 2:1\n", 2, "ends after 1 examples"),
    ("1 2147483648 5\n1 2:1\n", 1, "declares 2147483648 features; expected at most 2147483647"),
    ("1 5 2147483648\n1 2:1\n", 1, "declares 2147483648 labels"),
    (f"1 5 {'9' * 5000}\n1 2:1\n", 1, "a number of at most 19 digits"),
    ("1 2:1\n1 2:1\x00\n", 2, "has the value '1\\x00'"),
    ("1 2:1\n1\v2:1\n", 2, "where the labels should be"),
    (b"1 2:1\n\xff 2:1\n", 2, "'\\\\xff' is not a label"),
    (b"1 2:1\n1 2:1\xc3\n", 2, "has the value '1\\\\xc3'"),
]


@pytest.mark.parametrize(("content", "line", "message"), MALFORMED)
def test_what_is_malformed_is_named_with_its_line(
    read, content: str | bytes, line: int, message: str
) -> None:
    with pytest.raises(FileFormatError) as caught:
        read(content, "xmlc")
    assert caught.value.line == line
    assert message in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("content", "message"),
    [("", "the file is empty"), ("\ufeff", "the file is empty"), ("0 5 5\n", "holds no examples")],
)
def test_file_without_examples(read, content: str, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        read(content, "xmlc")


def test_chunks_before_the_malformed_row_are_delivered(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("1 2:1\n" * 7 + "oops\n" + "1 2:1\n" * 7)
    delivered = 0
    with open_examples(path, "xmlc", chunk_size=3) as reader, pytest.raises(FileFormatError) as bad:
        for chunk in reader:
            delivered += chunk.n_rows
    assert delivered == 6
    assert bad.value.line == 8
