"""Files of vectors: read as written, or refused with the position of the error."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from labelgrove import EmbeddingClassifier, FileFormatError, ParameterError, TextClassifier
from labelgrove.data import read_vectors
from labelgrove.text import TextFeatures

VEC = "3 2\ncat 1 0.5\nné e -1 2e-1\ncat 9 9\n"


@pytest.mark.parametrize("head", [True, False])
def test_words_and_their_numbers(head: bool, tmp_path: Path) -> None:
    path = tmp_path / "words.vec.gz"
    path.write_bytes(gzip.compress(VEC[0 if head else 4 :].encode()))
    found = read_vectors(path)
    assert {word: vector.tolist() for word, vector in found.items()} == {
        "cat": [1.0, 0.5],
        "né e": [-1.0, np.float32(0.2)],
    }


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (b"3 2\ncat 1 x\n", ":2: "),
        (b"cat 1 2\ndog 3\n", ":2: "),
        (b"3 2\ncat 1 inf\n", ":2: "),
        (b"3 2\ncat 1 1_0\n", ":2: "),
        (b"3 2\ncat 1 1e39\n", ":2: "),
        (b"9" * 5000 + b" " + b"9" * 5000 + b"\ncat 1\n", ":1: "),
        (b"cat 1 2\n\xff 1 2\n", ":2: "),
        (b"cat\n", ":1: "),
        (b"cat 1 2\n\n", ":2: "),
        (b"3 2\n", ": there are no vectors"),
        (b"", ": there are no vectors"),
    ],
)
def test_what_is_no_vector_is_named(text: bytes, place: str, tmp_path: Path) -> None:
    path = tmp_path / "words.vec"
    path.write_bytes(text)
    with pytest.raises(FileFormatError, match=f"words.vec{place}"):
        read_vectors(path)


def test_one_array_of_two_dimensions(tmp_path: Path) -> None:
    path, table = tmp_path / "table.safetensors", np.arange(6, dtype=np.float16).reshape(3, 2)
    save_file({"weight": table, "bias": np.zeros(3)}, path)
    found: Any = read_vectors(path)
    assert found.dtype == np.float32 and np.array_equal(found, table)
    for arrays in ({"a": table, "b": table}, {"a": np.zeros((2, 2), np.int64)}, {"a": np.ones(2)}):
        save_file(arrays, path)
        with pytest.raises(FileFormatError, match="expected one of two dimensions"):
            read_vectors(path)
    path.write_bytes(b"\x00" * 20)
    with pytest.raises(FileFormatError, match="not a safetensors file"):
        read_vectors(path)


@pytest.mark.parametrize("setting", ["words", "words+stems", "words+pairs"])
def test_vectors_of_words_go_to_the_columns_of_texts(setting: str) -> None:
    text = TextFeatures(setting)
    columns = text.by_column({"Cats": 1, "dog": 2, "hot dog": 3, "CATS": 4, "!": 5})
    words = {column: names[0] for column, names in text.sources("cats dog!").items()}
    found = [(words[column].lower(), one) for column, one in columns.items()]
    assert found == [("cats", 1), ("dog", 2), ("!", 5)]
    with pytest.raises(ParameterError, match="need single words"):
        TextFeatures("subwords").by_column({"cat": 1})


def test_words_that_no_text_had_are_known(tmp_path: Path) -> None:
    lines = ["cat 1 0", "kitten 0.9 0.1", "dog -1 0", "puppy -0.9 0.2"]
    (tmp_path / "words.vec").write_text("\n".join(lines), "utf-8")
    vectors = read_vectors(tmp_path / "words.vec")
    text = TextFeatures("words", idf=False)  # idf would drop features that no document had
    clf = TextClassifier(EmbeddingClassifier(dimension=2, vectors=vectors), text)
    clf.fit(["cat", "dog"] * 20, ["feline", "canine"] * 20)
    assert clf.predict_topk(["kitten", "puppy"], 1)[0].ravel().tolist() == ["feline", "canine"]


def test_vectors_by_column() -> None:
    X, y = np.eye(4, dtype=np.float32)[[0, 2] * 20], ["feline", "canine"] * 20
    vectors = {0: [1.0, 0.0], 1: [0.9, 0.1], 2: [-1.0, 0.0], 3: [-0.9, 0.2]}
    clf = EmbeddingClassifier(dimension=2, vectors=vectors).fit(X, y)
    assert clf.predict(np.eye(4)[[1, 3]]).tolist() == ["feline", "canine"]
    for key in (-1, 2**31 - 1):
        with pytest.raises(ParameterError, match="outside"):
            EmbeddingClassifier(dimension=2, vectors={key: [1.0, 0.0]}).fit(X, y)
