"""The multi-label svmlight format."""

from __future__ import annotations

import io

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from labelgrove import FileFormatError


def test_rows_remarks_and_empty_lines(read) -> None:
    content = (
        "# made by hand\n\n3,17 1:0.5 21:1.25 # a remark\n\n4:1 9:2\n 4:1\n \n  # indented\n5\n"
    )
    examples = read(content, "svmlight")
    assert examples.labels == [(3, 17), (), (), (), (5,)]
    assert examples.lines.tolist() == [3, 5, 6, 7, 9]
    assert examples.first_line == 3
    assert examples.X.indptr.tolist() == [0, 2, 4, 5, 5, 5]
    assert examples.X.shape == (5, 22)


def test_three_integers_are_no_header_here(read) -> None:
    with pytest.raises(FileFormatError, match=r":1: feature '2' has no value; expected id:value"):
        read("1 2 3\n", "svmlight")


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("1 2:1\n-1 2:1\n", 2, "'-1' is not a label"),
        ("1 2:1\n1 qid:3 2:1\n", 2, "'qid:3' is not a feature"),
        ("1 2:1\n1 2:nan\n", 2, "expected a finite one"),
        ("# x\n1 2:1 2:1\n", 2, "feature 2 occurs twice"),
        ("1 2:1\n1 4294967298:1\n", 2, "is too large"),
    ],
)
def test_malformed(read, content: str, line: int, message: str) -> None:
    with pytest.raises(FileFormatError) as caught:
        read(content, "svmlight")
    assert caught.value.line == line
    assert message in str(caught.value)


def test_file_of_remarks_holds_no_examples(read) -> None:
    with pytest.raises(FileFormatError, match="holds no examples"):
        read("# nothing\n\n", "svmlight")


def test_scikit_learn_writes_what_we_read(read) -> None:
    rng = np.random.default_rng(5)
    X = rng.random((20, 12)) * (rng.random((20, 12)) < 0.4)
    Y = (rng.random((20, 6)) < 0.3).astype(int)
    X[3], Y[4], Y[5] = X[3] + 0.5, 0, 0
    file = io.BytesIO()
    dump_svmlight_file(X, Y, file, zero_based=True, multilabel=True)
    examples = read(file.getvalue(), "svmlight")
    file.seek(0)
    expected, labels = load_svmlight_file(file, multilabel=True, zero_based=True, n_features=12)
    kept = [row for row, found in enumerate(examples.labels) if found or X[row].any()]
    assert [examples.labels[row] for row in kept] == [tuple(map(int, row)) for row in labels]
    difference = examples.X[kept].toarray() - expected.toarray()[:, : examples.X.shape[1]]
    np.testing.assert_allclose(difference, 0, atol=1e-7)
