"""Small real files, and the same rows through every format."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import numpy as np
import pytest

from labelgrove.data import open_examples, read_examples, write_examples

pytestmark = pytest.mark.data


@pytest.mark.parametrize(("part", "rows"), [("train", 4880), ("test", 2515)])
def test_bibtex(data_folder: Path, part: str, rows: int) -> None:
    path = data_folder / f"bibtex/{part}.txt.xz"
    examples = read_examples(path)
    header, *lines = lzma.decompress(path.read_bytes()).decode().splitlines()
    assert header == f"{rows} 1836 159"
    assert examples.X.shape == (rows, 1836)
    assert len(lines) == rows
    for row in range(0, rows, 97):
        labels, *features = lines[row].split(" ")
        assert examples.labels[row] == tuple(int(label) for label in labels.split(",") if label)
        low, high = examples.X.indptr[row : row + 2]
        assert examples.X.indices[low:high].tolist() == [int(f.split(":")[0]) for f in features]
        expected = [np.float32(f.split(":")[1]) for f in features]
        assert examples.X.data[low:high].tolist() == expected


@pytest.mark.parametrize("name", ["copy.txt.gz", "copy.svm", "copy.npz"])
def test_bibtex_through_other_formats(data_folder: Path, tmp_path: Path, name: str) -> None:
    examples = read_examples(data_folder / "bibtex/test.txt.xz")
    write_examples(tmp_path / name, examples.X, examples.labels)
    copy = read_examples(tmp_path / name)
    assert copy.labels == examples.labels
    assert copy.X.indices.tolist() == examples.X.indices.tolist()
    assert copy.X.indptr.tolist() == examples.X.indptr.tolist()
    assert copy.X.data.tolist() == examples.X.data.tolist()


@pytest.mark.parametrize("name", ["copy.jsonl.xz", "copy.ft"])
def test_cooking_text(data_folder: Path, tmp_path: Path, name: str) -> None:
    path = data_folder / "cooking-text/test.jsonl.xz"
    rows = [json.loads(line) for line in lzma.decompress(path.read_bytes()).splitlines()]
    with open_examples(path, chunk_size=1000) as reader:
        assert reader.is_text
        chunks = list(reader)
    texts = [text for chunk in chunks for text in chunk.text or ()]
    labels = [label for chunk in chunks for label in chunk.labels]
    assert [chunk.n_rows for chunk in chunks] == [1000] * 3
    assert texts == [row["text"] for row in rows]
    assert labels == [tuple(row["labels"]) for row in rows]
    write_examples(tmp_path / name, texts, labels)
    copy = read_examples(tmp_path / name)
    assert copy.labels == labels
    assert copy.text == [text.strip() for text in texts] if name == "copy.ft" else texts


def test_stack_exchange_has_titles_and_texts(data_folder: Path) -> None:
    path = data_folder / "stackexchange-text/test.jsonl.xz"
    with open_examples(path, chunk_size=1) as reader:
        first = next(iter(reader))
    with lzma.open(path, "rt", encoding="utf-8") as file:
        row = json.loads(file.readline())
    assert first.text == [f"{row['title']}\n{row['text']}"]
