"""How rows are grouped into chunks."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import vstack

from labelgrove import DataError
from labelgrove.data import Examples, _open, open_examples, read_examples
from labelgrove.data._chunks import Piece, SparseRows, rechunk


def piece_of(sizes: list[tuple[int, int]], first_line: int) -> Piece:
    """Rows of so many features and labels each."""
    indptr = np.concatenate([[0], np.cumsum([features for features, _ in sizes])]).astype(np.int64)
    ids = np.concatenate([np.arange(features) for features, _ in sizes] or [[]]).astype(np.int32)
    labels = [tuple(range(count)) for _, count in sizes]
    lines = np.arange(first_line, first_line + len(sizes))
    return Piece(labels, lines, SparseRows(indptr, ids, ids.astype(np.float32)))


ROW_SIZES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), max_size=30)


@given(ROW_SIZES, st.lists(st.integers(0, 30), max_size=4), st.integers(1, 9), st.integers(1, 20))
def test_chunks_depend_on_the_rows_alone(
    sizes: list[tuple[int, int]], cuts: list[int], chunk_size: int, max_entries: int
) -> None:
    bounds = [0, *sorted(min(cut, len(sizes)) for cut in cuts), len(sizes)]
    pieces = [piece_of(sizes[a:b], 1 + a) for a, b in pairwise(bounds) if a < b]
    chunks = list(rechunk(iter(pieces), chunk_size, max_entries, 7))
    expected: list[list[int]] = []
    weight = 0
    for row, (features, labels) in enumerate(sizes):
        full = not expected or len(expected[-1]) == chunk_size
        if full or weight + features + labels > max_entries:
            expected.append([])
            weight = 0
        expected[-1].append(row)
        weight += features + labels
    assert [(chunk.lines - 1).tolist() for chunk in chunks] == expected
    for chunk in chunks:
        rows = [sizes[line - 1] for line in chunk.lines]
        assert np.diff(chunk.X.indptr).tolist() == [features for features, _ in rows]
        assert [len(labels) for labels in chunk.labels] == [labels for _, labels in rows]
        assert chunk.first_line == chunk.lines[0]
        chunk.X.check_format(full_check=True)


def test_chunk_sizes_and_bounded_entries(tmp_path: Path) -> None:
    path = tmp_path / "f"
    rows = ["1 " + " ".join(f"{i}:1" for i in range(3)) for _ in range(10)]
    rows[4] = "1 " + " ".join(f"{i}:1" for i in range(50))
    path.write_text("\n".join(rows))
    with open_examples(path, "xmlc", chunk_size=4) as reader:
        assert [chunk.n_rows for chunk in reader] == [4, 4, 2]
    with open_examples(path, "xmlc", chunk_size=4, max_chunk_nnz=8) as reader:
        assert [chunk.n_rows for chunk in reader] == [2, 2, 1, 2, 2, 1]


def test_text_is_bounded_by_its_characters(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("".join(f"__label__a {'x' * 80}\n" for _ in range(10)))
    with open_examples(path, max_chunk_nnz=22) as reader:
        assert [chunk.n_rows for chunk in reader] == [2] * 5


def test_width_grows_without_header_and_stays_with_it(tmp_path: Path) -> None:
    path = tmp_path / "f"
    for header, widths in (("", [4, 9, 9]), ("3 12 5\n", [12, 12, 12])):
        path.write_text(f"{header}1 3:1\n1 8:1\n1 0:1\n")
        for chunk_size in (1, 2):  # the last chunk is full or not
            with open_examples(path, "xmlc", chunk_size=chunk_size) as reader:
                found = [chunk.X.shape[1] for chunk in reader if chunk.X is not None]
            assert found == (widths if chunk_size == 1 else widths[1:])


@pytest.mark.parametrize("block", [1, 2, 5, 64, 4096])
def test_block_size_does_not_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    rng = np.random.default_rng(block)
    rows = [
        f"{rng.integers(9)} " + " ".join(f"{i}:{rng.random():.4g}" for i in range(rng.integers(9)))
        for _ in range(500)
    ]
    path = tmp_path / "f"
    path.write_text("500 9 9\n" + "\n".join(rows) + "\n")
    assert path.stat().st_size > 8192  # the beginning is kept to look for a header
    whole = read_examples(path, "xmlc")
    monkeypatch.setattr(_open, "BLOCK_BYTES", block)
    with open_examples(path, "xmlc", chunk_size=70) as reader:
        chunks = list(reader)
    assert [chunk.n_rows for chunk in chunks] == [70] * 7 + [10]
    assert (vstack([chunk.X for chunk in chunks]) != whole.X).nnz == 0
    assert [row for chunk in chunks for row in chunk.labels] == whole.labels
    assert np.concatenate([chunk.lines for chunk in chunks]).tolist() == list(range(2, 502))


def test_examples_hold_features_or_text_and_equal_lengths() -> None:
    line = np.array([1])
    with pytest.raises(DataError, match="but not both"):
        Examples(None, None, [], 0, np.array([], np.int64))
    with pytest.raises(DataError, match="1 rows, 2 label tuples and 1 line numbers"):
        Examples(None, ["a"], [("x",), ("y",)], 1, line)
