"""Features and labels in two files, as the Extreme Classification Repository has them."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from labelgrove import FileFormatError
from labelgrove.data import open_examples, read_examples

X = "4 10\n0:0.5 7:1.25\n\n9:2\n1:1\n"
Y = "4 8\n1:1 3:1\n2:0 0:1\n\n7:1\n"


def write(folder: Path, X: str = X, Y: str = Y) -> Path:
    (folder / "trn_X_Xf.txt").write_text(X)
    (folder / "trn_X_Y.txt").write_text(Y)
    return folder / "trn_X_Xf.txt"


@pytest.mark.parametrize("name", ["trn_X_Xf.txt", "trn_X_Y.txt"])
def test_either_name_stands_for_both(tmp_path: Path, name: str) -> None:
    write(tmp_path)
    with open_examples(tmp_path / name) as reader:
        assert (reader.format, reader.declared_rows) == ("xmlc-pair", 4)
        assert (reader.declared_features, reader.declared_labels) == (10, 8)
        [examples] = reader
    assert examples.labels == [(1, 3), (0,), (), (7,)]
    assert examples.X.indptr.tolist() == [0, 2, 2, 3, 4]
    assert examples.X.data.tolist() == [0.5, 1.25, 2.0, 1.0]


def test_compressed(tmp_path: Path) -> None:
    for side, content in (("Xf", X), ("Y", Y)):
        (tmp_path / f"t_X_{side}.txt.gz").write_bytes(gzip.compress(content.encode()))
    assert read_examples(tmp_path / "t_X_Xf.txt.gz").n_rows == 4


def test_rows_of_many_blocks_stay_side_by_side(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("labelgrove.data._open.BLOCK_BYTES", 64)
    rows = 300
    path = write(
        tmp_path,
        f"{rows} 1000\n" + "".join(f"{i}:1 {i + 1}:2.5\n" for i in range(rows)),
        f"{rows} 1000\n" + "".join(f"{i}:1\n" for i in range(rows)),
    )
    examples = read_examples(path)
    assert examples.labels == [(i,) for i in range(rows)]
    assert examples.X.indices[::2].tolist() == list(range(rows))


def test_labels_may_be_absent_only_where_that_is_said(tmp_path: Path) -> None:
    path = write(tmp_path)
    (tmp_path / "trn_X_Y.txt").unlink()
    with pytest.raises(OSError, match="trn_X_Y"):
        read_examples(path)
    with open_examples(path, labels_required=False) as reader:
        assert (reader.declared_rows, reader.declared_features) == (4, 10)
        assert [chunk.labels for chunk in reader] == [[(), (), (), ()]]


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (X, "5 8\n", "X_Y.txt:1: the header declares 5 rows; expected the 4 of"),
        (X, "1:1\n", "X_Y.txt:1: expected a header, the numbers of rows and labels"),
        (X + "2:1\n", Y, "X_Xf.txt:6: the file ends after 5 rows; expected the 4"),
        (X, Y + "2:1\n", "X_Y.txt:6: the file ends after 5 rows; expected the 4"),
        (X, Y[:-4], "X_Y.txt:4: the file ends after 3 rows"),
        (X.replace("9:2", "9:x"), Y, "X_Xf.txt:4: feature 9 has the value 'x'"),
        (X, Y.replace("7:1", "8:1"), "X_Y.txt:5: feature 8 is beyond the 8"),
        (X, Y.replace("7:1", "7"), "X_Y.txt:5: feature '7' has no value"),
        ("4 99999999999\n", Y, "X_Xf.txt:1: expected a header"),
        ("4 2147483648\n", Y, "declares 2147483648 features; expected at most 2147483647"),
    ],
)
def test_malformed(tmp_path: Path, x: str, y: str, message: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        read_examples(write(tmp_path, x, y))
    assert message in str(caught.value)
