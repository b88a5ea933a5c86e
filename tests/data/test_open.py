"""Compression, standard input, overlong lines, and the attributes of an opened reader."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import os
import sys
import threading
import zlib
from pathlib import Path
from typing import IO, Any

import pytest

from labelgrove import DataError, FileFormatError, OnlinePLTClassifier, ParameterError, load
from labelgrove._paths import named
from labelgrove.data import _open, open_dataset, open_examples, read_examples
from labelgrove.data._lines import LineSource
from labelgrove.data._zstd import zstd
from labelgrove.vocabulary import read_vocabulary


def zst_compress(content: bytes) -> bytes:
    """Compress as the program zstd does, with a checksum."""
    return zstd.compress(content, options={zstd.CompressionParameter.checksum_flag: 1})


ROWS = b"".join(b"%d %d:0.%d\n" % (i % 7, i % 1000, i) for i in range(20_000))
COMPRESS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zst_compress}


@pytest.mark.parametrize("kind", COMPRESS)
@pytest.mark.parametrize("name", ["f.txt.{}", "f.txt"])
def test_compressed_by_name_or_by_content(read, kind: str, name: str) -> None:
    examples = read(COMPRESS[kind](ROWS), name=name.format(kind))
    assert examples.n_rows == 20_000
    assert (examples.X != read(ROWS).X).nnz == 0


@pytest.mark.parametrize("kind", COMPRESS)
def test_members_one_after_another_with_padding(read, kind: str) -> None:
    compress = COMPRESS[kind]
    content = compress(ROWS) + b"\0" * 8 + compress(b"") + compress(b"5 5:5\n") + b"\0" * 4
    assert read(content, "xmlc", f"f.{kind}").n_rows == 20_001


@pytest.mark.parametrize("kind", COMPRESS)
@pytest.mark.parametrize("kept", [1, 5, 11, 30, 10_000, -1])
def test_cut_short(read, kind: str, kept: int) -> None:
    with pytest.raises(FileFormatError, match=r":\d+: .*(truncated|damaged)") as caught:
        read(COMPRESS[kind](ROWS)[:kept], "xmlc", f"f.{kind}")
    if kept == -1:
        assert caught.value.line > 10_000


@pytest.mark.parametrize("kind", COMPRESS)
def test_whole_lines_before_the_cut_are_delivered(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"f.{kind}"
    path.write_bytes(COMPRESS[kind](ROWS)[:-1])
    rows = 0
    with open_examples(path, "xmlc", chunk_size=7) as reader, pytest.raises(FileFormatError):
        for chunk in reader:
            rows += chunk.n_rows
    assert rows > 19_000


@pytest.mark.parametrize("kind", COMPRESS)
def test_damaged_and_followed_by_rubbish(read, kind: str) -> None:
    content = bytearray(COMPRESS[kind](ROWS))
    content[len(content) // 2] ^= 0xFF
    for damaged in (bytes(content), COMPRESS[kind](ROWS) + b"rubbish", b"1 2:3\n"):
        with pytest.raises(FileFormatError, match="damaged|truncated"):
            read(damaged, "xmlc", f"f.{kind}")


@pytest.mark.parametrize("kind", COMPRESS)
def test_empty_and_compressed_emptiness(read, kind: str) -> None:
    for content in (b"", COMPRESS[kind](b"")):
        with pytest.raises(FileFormatError, match="the file is empty"):
            read(content, "xmlc", f"f.{kind}")


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"PK\x03\x04" + bytes(9), "a zip archive, such as an Excel workbook"),
        ('{"text": "a", "labels": ["b"]}'.encode("utf-16"), "UTF-16"),
        ('{"text": "a", "labels": ["b"]}'.encode("utf-16-le"), "UTF-16"),
        ('{"text": "a", "labels": ["b"]}'.encode("utf-16-be"), "UTF-16"),
        ('{"text": "a", "labels": ["b"]}'.encode("utf-32"), "UTF-32"),
        (b"\0\0\xfe\xff" + '{"text": "a", "labels": ["b"]}'.encode("utf-32-be"), "UTF-32"),
    ],
)
def test_content_that_is_recognised_but_not_read(read, content: bytes, found: str) -> None:
    for name in ("f", "f.jsonl"):
        with pytest.raises(FileFormatError, match=rf":1: the content is {found}; expected UTF-8"):
            read(content, None, name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no named pipes")
@pytest.mark.parametrize("name", ["f.parquet", "f.arrow", "f.X.npz"])
def test_pipes_are_refused_in_formats_that_are_read_from_their_end(
    tmp_path: Path, name: str
) -> None:
    if not name.endswith(".npz"):
        pytest.importorskip("pyarrow")
    os.mkfifo(tmp_path / name)
    with pytest.raises(FileFormatError, match=rf"{name}: is a pipe; expected a file"):
        open_examples(tmp_path / name)


def test_a_model_is_not_examples(read, tmp_path: Path) -> None:
    OnlinePLTClassifier().fit([[1.0], [2.0]], [["a"], ["b"]]).save(tmp_path / "m.lg")
    for name in ("f", "f.jsonl"):
        with pytest.raises(FileFormatError, match=":1: the content is a model; expected examples"):
            read((tmp_path / "m.lg").read_bytes(), None, name)


def test_xz_may_not_ask_for_any_amount_of_memory(read) -> None:
    # A file of 76 bytes that requests the format's largest dictionary, 4 GiB.
    content = bytearray(lzma.compress(b"1 2:3\n"))
    assert content[16] <= 40
    header_size = (content[12] + 1) * 4
    content[16] = 40
    header = content[12 : 12 + header_size - 4]
    content[12 + header_size - 4 : 12 + header_size] = zlib.crc32(header).to_bytes(4, "little")
    with pytest.raises(FileFormatError, match="Memory usage limit"):
        read(bytes(content), "xmlc", "f.xz")


def test_zstd_may_not_ask_for_any_amount_of_memory(read) -> None:
    # The window that `zstd --long=31` asks for, 2 GiB.
    asked = {zstd.CompressionParameter.window_log: 31}
    encoder = zstd.ZstdCompressor(options=asked)
    content = encoder.compress(b"1 2:3\n") + encoder.flush()
    with pytest.raises(FileFormatError, match="too much memory"):
        read(content, "xmlc", "f.zst")


@pytest.mark.parametrize("kind", COMPRESS)
def test_line_that_never_ends_is_stopped_before_it_fills_the_memory(
    read, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labelgrove.data._lines.MAX_LINE_BYTES", 1 << 21)
    with pytest.raises(FileFormatError, match=r":2: the line is longer than 2097152 bytes"):
        read(COMPRESS[kind](b"1 2:3\n" + b"7" * 3_000_000), "xmlc", f"f.{kind}")


@pytest.mark.parametrize("sizes", [1, 2, 3, 7, 1000])
def test_lines_do_not_depend_on_the_pieces(sizes: int) -> None:
    content = b"\xef\xbb\xbfone\r\n\ntwo\nthree\r\n\r\nfour"
    pieces = (content[i : i + sizes] for i in range(0, len(content), sizes))
    source = LineSource("f", pieces)
    assert source.peek(5) == b"one\r\n"
    lines = {}
    for first, data in source.blocks():
        lines.update(enumerate(data.split(b"\n"), first))
    assert lines == dict(enumerate([b"one", b"", b"two", b"three", b"", b"four"], 1))


def test_length_limit_counts_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = [b"aaaa\nbb", b"bb\n", b"cc", b"ccc", b"\n"]
    monkeypatch.setattr("labelgrove.data._lines.MAX_LINE_BYTES", 5)
    assert len(list(LineSource("f", iter(pieces)).blocks())) == 3
    monkeypatch.setattr("labelgrove.data._lines.MAX_LINE_BYTES", 4)
    with pytest.raises(FileFormatError, match=r"f:3: the line is longer than 4 bytes"):
        list(LineSource("f", iter(pieces)).blocks())


@pytest.mark.parametrize("compress", [bytes, gzip.compress, lzma.compress, zst_compress])
def test_standard_input(monkeypatch: pytest.MonkeyPatch, compress) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(compress(b"2 5 5\n1 2:3\n4 x\n")))
    monkeypatch.setattr(sys, "stdin", stdin)
    with open_examples("-", chunk_size=1) as reader, pytest.raises(FileFormatError) as caught:
        assert reader.format == "xmlc"
        assert reader.path == "<stdin>"
        for chunk in reader:
            assert chunk.labels == [(1,)]
    assert str(caught.value).startswith("<stdin>:3: ")
    assert not stdin.closed


def test_pipe_is_read_as_it_comes() -> None:
    read_end, write_end = os.pipe()
    with os.fdopen(read_end, "rb") as reader, os.fdopen(write_end, "wb", buffering=0) as writer:
        pieces = _open._raw_pieces(reader, "a pipe")
        threading.Thread(target=writer.write, args=(b"1 2:3\n",)).start()
        assert next(pieces) == b"1 2:3\n"


def test_reader_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("1 2:3\n")
    with open_examples(path) as reader:
        assert len(list(reader)) == 1
        with pytest.raises(DataError, match="open it again"):
            iter(reader)
    with pytest.raises(DataError, match="open it again"):
        iter(reader)


def test_parameters_out_of_their_domain(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("1 2:3\n")
    for value in (0, -1, 2.5, True, None):
        with pytest.raises(ParameterError, match="chunk_size="):
            open_examples(path, chunk_size=value)
    with pytest.raises(ParameterError, match="max_chunk_nnz=0: expected an integer of at least 1"):
        open_examples(path, max_chunk_nnz=0)
    with pytest.raises(ParameterError, match="format is 'xls'; expected one of jsonl"):
        open_examples(path, "xls")
    with pytest.raises(ParameterError, match="standard input"):
        open_examples("-", "npz")


def test_missing_file_is_the_systems_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_examples(tmp_path / "absent.txt")
    with pytest.raises(OSError, match="directory|denied"):
        read_examples(tmp_path, "xmlc")


class Unreadable(io.FileIO):
    """A file on a disk that fails, or on a server that has lost it."""

    def read(self, size: int | None = -1, /) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    readall = readinto = read


@pytest.mark.parametrize(
    ("name", "content", "read"),
    [
        ("rows.jsonl", '{"text": "a", "labels": []}', read_examples),
        ("texts/a.key", "label", lambda path: read_examples(path.parent)),
        ("mapped/dataset.json", "{}", lambda path: open_dataset(path.parent)),
        ("vocabulary.tsv", "<http://a>\ta", read_vocabulary),
        ("vocabulary.ttl", "", read_vocabulary),
        ("model.lg", "a model of sorts", load),
    ],
)
def test_a_read_that_fails_names_the_file_or_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: str, read
) -> None:
    if name.endswith(".ttl"):
        pytest.importorskip("rdflib")
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    path.with_suffix(".txt").touch()  # with the labels
    opened = Path.open

    def broken(path: Path, *words: object, **more: object) -> IO[Any]:
        own = path.is_relative_to(tmp_path)  # packages are imported meanwhile
        return Unreadable(path) if own else opened(path, *words, **more)

    monkeypatch.setattr(Path, "open", broken)
    with pytest.raises(OSError, match="Input/output error") as failed:
        read(path)
    assert failed.value.filename in {str(path), str(path.parent)}


def test_an_error_that_is_not_the_systems_keeps_its_message() -> None:
    with pytest.raises(OSError, match=r"^not readable$"), named("file"):
        raise io.UnsupportedOperation("not readable")


@pytest.mark.parametrize("kind", [None, "gz", "xz"])  # bzip2 reads far ahead, by whole blocks
def test_the_share_that_is_read_grows_with_the_bytes_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str | None
) -> None:
    monkeypatch.setattr(_open, "BLOCK_BYTES", 1 << 14)
    monkeypatch.setattr(_open, "COMPRESSED_BYTES", 1 << 10)
    path = tmp_path / "f"
    path.write_bytes(COMPRESS[kind](ROWS) if kind else ROWS)
    with open_examples(path, "xmlc", chunk_size=100) as reader:
        shares = [reader.share_read for chunk in reader]
    assert shares[0] is not None
    assert shares[0] < 0.2
    assert shares == sorted(shares)
    assert len(set(shares)) > 10
    assert shares[-1] > 0.8


def test_a_pipe_has_no_share(tmp_path: Path) -> None:
    end, other = os.pipe()
    with os.fdopen(other, "wb") as stream:
        stream.write(b"1 2:3\n")
    with open_examples(f"/dev/fd/{end}", "xmlc") as reader:
        list(reader)
        assert reader.share_read is None
    os.close(end)
