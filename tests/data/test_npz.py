"""Pairs of CSR matrices in .npz files."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array, csr_matrix, save_npz

from labelgrove import FileFormatError
from labelgrove.data import open_examples, read_examples
from labelgrove.data._npz import pair_of

X = csr_matrix(np.array([[0, 0.5, 2], [0, 0, 0], [1, 0, 0]]))
Y = csr_matrix(np.array([[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]))


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        ("X.trn.npz", ("X.trn.npz", "Y.trn.npz")),
        ("d/Y.trn.npz", ("d/X.trn.npz", "d/Y.trn.npz")),
        ("tst_X.npz", ("tst_X.npz", "tst_Y.npz")),
        ("a/news.X.npz", ("a/news.X.npz", "a/news.Y.npz")),
        ("news.npz", ("news.X.npz", "news.Y.npz")),
        ("news", ("news.X.npz", "news.Y.npz")),
        ("X/Xmas.npz", ("X/Xmas.X.npz", "X/Xmas.Y.npz")),
    ],
)
def test_names_of_a_pair(name: str, pair: tuple[str, str]) -> None:
    assert pair_of(str(Path(name))) == tuple(str(Path(part)) for part in pair)


@pytest.mark.parametrize(
    ("kind", "dtype", "compressed"),
    [
        (csr_matrix, np.float64, True),
        (csr_array, np.int8, False),
        (csr_matrix, np.uint64, False),
        (csr_array, np.bool_, True),
    ],
)
def test_what_scipy_saves(tmp_path: Path, kind, dtype, compressed: bool) -> None:
    save_npz(tmp_path / "X.trn.npz", kind(X.astype(dtype)), compressed=compressed)
    save_npz(tmp_path / "Y.trn.npz", kind(Y.astype(dtype)), compressed=compressed)
    with open_examples(tmp_path / "X.trn.npz", chunk_size=2) as reader:
        assert (reader.format, reader.labels_are_int, reader.is_text) == ("npz", True, False)
        declared = reader.declared_rows, reader.declared_features, reader.declared_labels
        assert declared == (3, 3, 4)
        chunks = list(reader)
    assert [chunk.labels for chunk in chunks] == [[(0, 2), (1,)], [()]]
    assert [chunk.lines.tolist() for chunk in chunks] == [[1, 2], [3]]
    for chunk, rows in zip(chunks, (slice(0, 2), slice(2, 3)), strict=True):
        assert chunk.X.dtype == np.float32
        assert chunk.X.shape[1] == 3
        np.testing.assert_array_equal(
            chunk.X.toarray(), X.astype(dtype).toarray()[rows].astype(np.float32)
        )


def test_unsorted_ids_explicit_zeros_and_absent_labels(tmp_path: Path) -> None:
    unsorted = csr_array((np.array([5.0, 7.0]), np.array([2, 0]), np.array([0, 2])), shape=(1, 3))
    zeros = csr_array((np.array([0, 1]), np.array([3, 1]), np.array([0, 2])), shape=(1, 4))
    save_npz(tmp_path / "a.X.npz", unsorted)
    with pytest.raises(FileNotFoundError, match=r"a\.Y\.npz"):
        read_examples(tmp_path / "a.npz")
    with open_examples(tmp_path / "a.npz", labels_required=False) as reader:
        assert [chunk.labels for chunk in reader] == [[()]]
    save_npz(tmp_path / "a.Y.npz", zeros)
    examples = read_examples(tmp_path / "a", "npz")
    assert examples.X.indices.tolist() == [0, 2]
    assert examples.X.data.tolist() == [7, 5]
    assert examples.labels == [(1,)]


def csr_with(ids: list[int], values: list[float]) -> csr_array:
    """One good row, then one of these entries, which SciPy does not check."""
    matrix = csr_array((2, 3))
    matrix.indptr = np.array([0, 1, 1 + len(ids)])
    matrix.indices = np.array([0, *ids])
    matrix.data = np.array([1.0, *values])
    return matrix


@pytest.mark.parametrize(
    ("X", "Y", "where", "message"),
    [
        (csr_with([1], [np.nan]), Y[:2], "X", "row 2: feature 1 has the value nan"),
        (csr_with([1], [-np.inf]), Y[:2], "X", "has the value -inf; expected one that is finite"),
        (csr_with([1], [1e300]), Y[:2], "X", "has the value 1e+300"),
        (csr_with([3], [1]), Y[:2], "X", "row 2: feature 3 is out of range; expected 0 to 2"),
        (csr_with([-1], [1]), Y[:2], "X", "feature -1 is out of range"),
        (csr_with([2, 1, 2], [1, 1, 1]), Y[:2], "X", "row 2: feature 2 occurs twice"),
        (X[:2], csr_with([3], [1]), "Y", "row 2: label 3 is out of range"),
        (X[:2], csr_with([1], [-1]), "Y", "row 2: label 1 has the value -1.0"),
        (X[:2], csr_with([1], [np.nan]), "Y", "row 2: label 1 has the value nan"),
        (X[:2], csr_with([1, 1], [1, 1]), "Y", "row 2: label 1 occurs twice"),
    ],
)
def test_malformed_row(tmp_path: Path, X, Y, where: str, message: str) -> None:
    save_npz(tmp_path / "a.X.npz", X)
    save_npz(tmp_path / "a.Y.npz", Y)
    delivered = []
    with (
        open_examples(tmp_path / "a.npz", chunk_size=1) as reader,
        pytest.raises(FileFormatError) as caught,
    ):
        delivered += [chunk.lines.tolist() for chunk in reader]
    assert delivered == []
    assert caught.value.line == 2
    assert caught.value.path.endswith(f"a.{where}.npz")
    assert message in str(caught.value)


def archive(**arrays: object) -> bytes:
    """A .npz file of these arrays, or of these bytes in place of arrays."""
    base = {
        "format": np.array(b"csr"),
        "shape": np.array([3, 3]),
        "indptr": X.indptr,
        "indices": X.indices,
        "data": X.data,
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as members:
        for name, content in (base | arrays).items():
            if content is None:
                continue
            part = io.BytesIO()
            if isinstance(content, bytes):
                part.write(content)
            else:
                np.lib.format.write_array(part, np.asanyarray(content))
            members.writestr(f"{name}.npy", part.getvalue())
    return file.getvalue()


def test_byte_orders_half_floats_and_old_scipy(tmp_path: Path) -> None:
    for data in (X.data.astype(">f4"), X.data.astype(np.float16)):
        content = archive(data=data, format=np.array("csr"), indices=X.indices.astype(">u2"))
        for side in "XY":
            (tmp_path / f"a.{side}.npz").write_bytes(content)
        examples = read_examples(tmp_path / "a.npz")
        np.testing.assert_array_equal(examples.X.toarray(), X.toarray())
        assert examples.labels == [(1, 2), (), (0,)]


def npy(header: str) -> bytes:
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()


HUGE = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000000,)}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a .npz file"),
        (b"PK\x03\x04 and so on", "not a .npz file"),
        (archive()[:-30], "not a .npz file"),
        (archive(data=None), "holds no array 'data'"),
        (archive(format=np.array(b"csc")), "holds a 'csc' matrix; expected 'csr'"),
        (archive(format=np.array(["csr"])), "array 'format' is of type <U3 and shape (1,)"),
        (archive(data=npy(HUGE)), "claims 8000000000000000000 bytes; expected the 0 in the file"),
        (archive(data=npy(HUGE.replace("<f8", "|O"))), "the type '|O'; expected plain numbers"),
        (archive(data=npy("{" * 9000)), "a header that cannot be read"),
        (archive(data=npy("(" * 9000 + ")" * 900)), "a header that cannot be read"),
        (archive(data=npy("-" * 9000 + "1")), "a header that cannot be read"),
        (archive(data=npy("[]")), "a header that cannot be read"),
        (archive(data=npy(HUGE.replace("(1000000000000000000,)", "(-1,)"))), "has the shape"),
        (archive(data=npy(HUGE.replace("(1000000000000000000,)", "3"))), "has the shape"),
        (archive(data=b"\x93NUMPY\x03\x00"), "version 1 or 2"),
        (archive(data=b"\x93NUMPY\x02\x00\xff\xff\xff\xff"), "a header of 4294967295 bytes"),
        (archive(data=np.array([1j, 1, 1])), "the type '<c16'; expected plain numbers"),
        (archive(data=np.ones((3, 1))), "shape (3, 1); expected 1 dimensions"),
        (archive(data=np.ones(2)), "3 ids, 2 values and row pointers up to 3"),
        (archive(indices=np.ones(2, int), data=np.ones(2)), "row pointers up to 3"),
        (archive(indices=np.ones(3)), "array 'indices' is of type float64"),
        (archive(indptr=np.array([0, 3])), "has the shape (3, 3) and 2 row pointers"),
        (archive(indptr=np.array([0, 3, 2, 3])), "row pointers decrease"),
        (archive(indptr=np.array([1, 2, 2, 3])), "do not start at 0"),
        (archive(indptr=np.array([0, 2**63, 2**63, 3], np.uint64)), "row pointers decrease"),
        (archive(indptr=np.array([0, 2**63 - 1, -(2**63), -1])), "row pointers decrease"),
        (archive(shape=np.array([3])), "has the shape (3,)"),
        (archive(shape=np.array([10**18, 3])), "has the shape (1000000000000000000, 3)"),
        (archive(shape=np.array([3, -1])), "has the shape (3, -1)"),
        (archive(shape=np.array([3, 2**31])), "has 2147483648 features; expected at most"),
    ],
)
def test_damaged_and_hostile_archives(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.X.npz").write_bytes(content)
    save_npz(tmp_path / "a.Y.npz", Y)
    with pytest.raises(FileFormatError) as caught:
        read_examples(tmp_path / "a.npz")
    assert message in str(caught.value)
    assert caught.value.path.endswith("a.X.npz")


def test_claimed_sizes_beyond_what_deflate_can_hold(tmp_path: Path) -> None:
    file = io.BytesIO()
    save_npz(file, X)
    content = bytearray(file.getvalue())
    entry = content.rindex(b"data.npy") - 46  # of the central directory
    assert content[entry : entry + 4] == b"PK\x01\x02"
    content[entry + 24 : entry + 28] = (2**31).to_bytes(4, "little")
    (tmp_path / "a.X.npz").write_bytes(content)
    with pytest.raises(FileFormatError, match="claims 2147483648 bytes, more than its"):
        read_examples(tmp_path / "a.npz")


def test_rows_must_agree_and_there_must_be_some(tmp_path: Path) -> None:
    save_npz(tmp_path / "a.X.npz", X)
    save_npz(tmp_path / "a.Y.npz", Y[:2])
    with pytest.raises(FileFormatError, match=r"a\.Y\.npz: has 2 rows; expected the 3 of"):
        read_examples(tmp_path / "a.npz")
    save_npz(tmp_path / "a.X.npz", csr_array((0, 3)))
    save_npz(tmp_path / "a.Y.npz", csr_array((0, 3)))
    with pytest.raises(FileFormatError, match="holds no examples"):
        read_examples(tmp_path / "a.npz")
    save_npz(tmp_path / "a.X.npz", csc_array(X))
    with pytest.raises(FileFormatError, match=r"convert it with \.tocsr\(\)"):
        read_examples(tmp_path / "a.npz")
