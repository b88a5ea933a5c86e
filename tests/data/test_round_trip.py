"""What is written is read back, exactly, in every format and compression."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

from labelgrove.data import Examples, open_examples, read_examples, write_examples

MAX_ID = 2**31 - 2
WRITTEN = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
COMPRESSIONS = st.sampled_from(["", ".gz", ".bz2", ".xz", ".zst"])

small_or_any = st.integers(0, 12) | st.integers(0, MAX_ID)
float32s = st.floats(width=32, allow_nan=False, allow_infinity=False)
sparse_rows = st.lists(
    st.tuples(
        st.lists(small_or_any, max_size=4, unique=True),
        st.dictionaries(small_or_any, float32s, max_size=5),
    ),
    min_size=1,
    max_size=8,
)
# Without the surrogates, which are no characters.
characters = st.characters(exclude_categories=["Cs"])
# Without blanks and angle brackets around them, which JSON lines drop.
names = (
    st.text(characters, max_size=5).map(str.strip).filter(lambda name: name and name[0] != "<")
) | st.integers(-(10**20), 10**20).map(str)
text_rows = st.lists(
    st.tuples(st.lists(names, max_size=3, unique=True), st.text(characters, max_size=20)),
    min_size=1,
    max_size=8,
)


def matrix(rows: list[dict[int, float]]) -> csr_array:
    """The rows, as wide as their largest id asks for."""
    ids = [feature for row in rows for feature in row]
    indptr = np.cumsum([0, *map(len, rows)])
    values = np.array([value for row in rows for value in row.values()], np.float32)
    width = max(ids, default=-1) + 1
    X = csr_array((values, np.array(ids, np.int32), indptr), shape=(len(rows), width))
    X.sort_indices()
    return X


def bits(values: NDArray[np.float32]) -> list[int]:
    return values.view(np.uint32).tolist()


def assert_same(examples: Examples, X: csr_array, labels: list[tuple[int, ...]]) -> None:
    assert examples.X.shape[0] == X.shape[0]
    assert examples.labels == labels
    assert examples.X.indptr.tolist() == X.indptr.tolist()
    assert examples.X.indices.tolist() == X.indices.tolist()
    assert bits(examples.X.data) == bits(X.data)
    examples.X.check_format(full_check=True)


@pytest.mark.parametrize("format", ["xmlc", "svmlight", "npz"])
@WRITTEN
@given(rows=sparse_rows, compression=COMPRESSIONS)
def test_features(tmp_path: Path, format: str, rows: list, compression: str) -> None:
    X = matrix([features for _, features in rows])
    labels = [tuple(row_labels) for row_labels, _ in rows]
    path = tmp_path / f"f{'.npz' if format == 'npz' else compression}"
    write_examples(path, X, labels, format)
    assert_same(read_examples(path, format), X, labels)


@pytest.mark.parametrize("format", ["fasttext", "jsonl"])
@WRITTEN
@given(rows=text_rows, compression=COMPRESSIONS)
def test_texts(tmp_path: Path, format: str, rows: list, compression: str) -> None:
    if format == "fasttext":  # no line breaks; no blanks in labels nor around the text
        rows = [
            (
                list(dict.fromkeys(re.sub("[ \t\n\v\f\r\0]", "_", name) for name in row_names)),
                text.replace("\n", " ").strip(" \t\v\f\r\0"),
            )
            for row_names, text in rows
        ]
    texts = [text for _, text in rows]
    labels = [tuple(row_names) for row_names, _ in rows]
    path = tmp_path / f"f{compression}"
    write_examples(path, texts, labels, format)
    examples = read_examples(path, format)
    assert examples.text == texts
    assert examples.labels == labels
    assert examples.lines.tolist() == list(range(1, len(rows) + 1))


@WRITTEN
@given(rows=sparse_rows)
def test_xmlc_is_recognised_by_its_content(tmp_path: Path, rows: list) -> None:
    X = matrix([features for _, features in rows])
    write_examples(tmp_path / "f", X, [tuple(labels) for labels, _ in rows])
    with open_examples(tmp_path / "f") as reader:
        assert reader.format == "xmlc"
        assert reader.declared_features == X.shape[1]
