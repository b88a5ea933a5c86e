"""Arbitrary bytes give a correct result or a FileFormatError, never anything else."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, save_npz

from data.test_tables import write_table
from fuzz.extremes import examples
from labelgrove import FileFormatError
from labelgrove.data import open_examples
from labelgrove.data._npz import pair_of
from labelgrove.data._zstd import zstd

FUZZ = settings(
    max_examples=examples(50), suppress_health_check=[HealthCheck.function_scoped_fixture]
)

MORE = settings(FUZZ, max_examples=examples(150))
"""Fewer do not reach the compressed bytes within an archive."""

pytestmark = pytest.mark.fuzz

VALID = {
    "xmlc": b"4 10 8\n1,3 0:0.5 7:1.25\n 4:1 9:2e-3\n7 3\n0,1,2 9:-1 8:4 \n",
    "svmlight": b"1,3 0:0.5 7:1.25 # remark\n\n 4:1 9:2\n3:4\n",
    "fasttext": "__label__a __label__b some text\nnö labels\n__label__c\n".encode(),
    "csv": 'text,labels\n"a, ""b""\nc",x;y\n\nö,\n'.encode(),
    "tsv": b"title\ttext\tlabel\na\tb\tx; y\n\tc\t<http://a/1> <http://a/2>\n",
    "annif": b"a text\t<http://a/1> <http://a/2>\nb\t\n",
    "jsonl": b'{"text": "a", "labels": ["x", 3]}\n{"title": "b\\u00e9", "labels": []}\n',
}

edits = st.lists(
    st.tuples(
        st.integers(0, 10**6),
        st.sampled_from(["flip", "delete", "insert", "cut", "repeat"]),
        st.binary(min_size=1, max_size=4) | st.sampled_from([b"\n", b" ", b":", b"-", b"9" * 12]),
    ),
    min_size=1,
    max_size=4,
)


def mutated(content: bytes, changes: list[tuple[int, str, bytes]]) -> bytes:
    """The content after some random edits."""
    data = bytearray(content)
    for place, what, new in changes:
        at = place % (len(data) + 1)
        if what == "flip" and at < len(data):
            data[at] ^= new[0] or 1
        elif what == "delete":
            del data[at : at + len(new)]
        elif what == "insert":
            data[at:at] = new
        elif what == "cut":
            del data[at:]
        elif what == "repeat":
            data[at:at] = data[at : at + 30]
    return bytes(data)


def read_or_refuse(path: Path, format: str | None) -> None:
    """Read the file; any result must be valid."""
    error = None
    try:
        with open_examples(path, format, chunk_size=3) as reader:
            last_line = 0
            for chunk in reader:
                assert 1 <= chunk.n_rows <= 3
                assert chunk.lines[0] > last_line
                assert (np.diff(chunk.lines) > 0).all()
                last_line = chunk.lines[-1]
                for labels in chunk.labels:
                    assert len(set(labels)) == len(labels)
                    assert all(isinstance(label, int) == reader.labels_are_int for label in labels)
                    assert not reader.labels_are_int or all(0 <= n < 2**31 - 1 for n in labels)
                if chunk.X is not None:
                    chunk.X.check_format(full_check=True)
                    assert np.isfinite(chunk.X.data).all()
                    assert all((np.diff(row.indices) > 0).all() for row in chunk.X)
    except FileFormatError as caught:
        error = caught
    if error is not None:
        names = pair_of(str(path)) if format == "npz" else (str(path).removesuffix("_X_Xf.txt"),)
        assert str(error).startswith(tuple(names))
        assert len(str(error)) < 600 + len(str(path))


@pytest.mark.parametrize("format", [*VALID, None])
@FUZZ
@given(content=st.binary(max_size=200) | st.text("0123456789:,. \n-e{}[]\"'#_label", max_size=60))
def test_arbitrary_content(tmp_path: Path, format: str | None, content: bytes | str) -> None:
    path = tmp_path / "f"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    read_or_refuse(path, format)


@pytest.mark.parametrize("format", VALID)
@FUZZ
@given(changes=edits)
def test_mutations_of_valid_files(tmp_path: Path, format: str, changes: list) -> None:
    path = tmp_path / "f"
    path.write_bytes(mutated(VALID[format], changes))
    read_or_refuse(path, format)
    read_or_refuse(path, None)


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [
        ("gz", gzip.compress),
        ("bz2", bz2.compress),
        ("xz", lzma.compress),
        ("zst", zstd.compress),
    ],
)
@FUZZ
@given(changes=edits)
def test_mutations_of_compressed_files(
    tmp_path: Path, suffix: str, compress, changes: list
) -> None:
    path = tmp_path / f"f.{suffix}"
    path.write_bytes(mutated(compress(VALID["xmlc"]), changes))
    read_or_refuse(path, "xmlc")


@pytest.mark.parametrize("side", ["X", "Y"])
@pytest.mark.parametrize("compressed", [True, False])
@MORE
@given(changes=edits)
def test_mutations_of_npz(tmp_path: Path, side: str, compressed: bool, changes: list) -> None:
    X = csr_array(np.array([[0, 0.5, 2], [0, 0, 0], [1, 0, 0]]))
    file = io.BytesIO()
    save_npz(file, X, compressed=compressed)
    for name in "XY":
        content = file.getvalue()
        path = tmp_path / f"f.{name}.npz"
        path.write_bytes(mutated(content, changes) if name == side else content)
    read_or_refuse(tmp_path / "f.npz", "npz")


@pytest.mark.parametrize("side", ["Xf", "Y"])
@FUZZ
@given(changes=edits)
def test_mutations_of_a_pair(tmp_path: Path, side: str, changes: list) -> None:
    content = b"4 10\n0:0.5 7:1.25\n\n9:2\n1:1\n"
    for name in ("Xf", "Y"):
        changed = mutated(content, changes) if name == side else content
        (tmp_path / f"f_X_{name}.txt").write_bytes(changed)
    read_or_refuse(tmp_path / "f_X_Xf.txt", "xmlc-pair")


@FUZZ
@given(texts=st.lists(st.binary(max_size=20), max_size=3), labels=st.binary(max_size=20))
def test_arbitrary_folders(tmp_path: Path, texts: list[bytes], labels: bytes) -> None:
    with TemporaryDirectory(dir=tmp_path) as folder:
        for number, text in enumerate(texts):
            Path(folder, f"{number}.txt").write_bytes(text)
            Path(folder, f"{number}.{'tsv' if number % 2 else 'key'}").write_bytes(labels)
        read_or_refuse(Path(folder), None)


@pytest.mark.parametrize("name", ["f.parquet", "f.feather", "f.arrow"])
@FUZZ
@given(changes=edits)
def test_mutations_of_arrow(tmp_path: Path, name: str, changes: list) -> None:
    path = tmp_path / name
    if not path.exists():
        write_table(path, {"text": ["a", "b", "c"], "labels": [["x", "y"], [], ["z"]]})
    changed = path.with_stem("changed")
    changed.write_bytes(mutated(path.read_bytes(), changes))
    read_or_refuse(changed, None)


@FUZZ
@given(content=st.binary(max_size=100))
def test_arbitrary_npz(tmp_path: Path, content: bytes) -> None:
    for start in (b"", b"PK\x03\x04", b"PK\x05\x06"):
        (tmp_path / "f.X.npz").write_bytes(start + content)
        read_or_refuse(tmp_path / "f.npz", "npz")
