from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import get_ident
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cli.conftest import write_texts
from labelgrove import FileFormatError, ParameterError
from labelgrove.cli._choice import chosen_algorithm
from labelgrove.cli._options import Reading
from labelgrove.cli.streams._source import CHUNK_ROWS, Source


@pytest.fixture
def widening(tmp_path: Path) -> Path:
    """2,500 rows without a header; row i has only feature i, so that chunks grow wider."""
    path = tmp_path / "rows.txt"
    path.write_text("".join(f"{i % 7} {i}:{i + 1}\n" for i in range(2500)))
    return path


def features(source: Source) -> Iterator[int]:
    for chunk in source.chunks():
        yield from chunk.X.indices.tolist()


def test_chunks_in_the_order_of_the_file(widening: Path) -> None:
    with Source(str(widening), reading=Reading("xmlc")) as source:
        sizes = [chunk.n_rows for chunk in source.chunks()]
        assert sizes == [CHUNK_ROWS, CHUNK_ROWS, 2500 - 2 * CHUNK_ROWS]
        assert source.total == 2500 and source.share_read() == 1.0
        assert list(features(source)) == list(range(2500))  # once more, from the beginning
    with Source(str(widening), reading=Reading("xmlc"), to_learn=True) as source:
        assert [chunk.n_rows for chunk in source.chunks()] == [2500]


@pytest.mark.parametrize("limit", [1, CHUNK_ROWS - 1, CHUNK_ROWS, CHUNK_ROWS + 1, 2500, 9999])
def test_a_limit_ends_the_stream(widening: Path, limit: int) -> None:
    with Source(str(widening), reading=Reading("xmlc"), limit=limit) as source:
        chunks = list(source.chunks())
    assert sum(chunk.n_rows for chunk in chunks) == min(limit, 2500)
    assert all(chunk.n_rows for chunk in chunks)


def test_shuffled_rows_keep_what_belongs_to_them(widening: Path) -> None:
    with Source(str(widening), reading=Reading("xmlc"), shuffle_seed=3) as source:
        chunks = list(source.chunks())
        again = list(features(source))
    first = [i for chunk in chunks for i in chunk.X.indices.tolist()]
    assert first != sorted(first)
    assert sorted(first) == sorted(again) == list(range(2500))
    assert first != again  # every pass has its own order
    for chunk in chunks:
        assert chunk.X.shape[1] == 2500
        np.testing.assert_array_equal(chunk.X.indices + 1, chunk.lines)
        np.testing.assert_array_equal(chunk.X.indices + 1, chunk.X.data)
        assert [label for (label,) in chunk.labels] == (chunk.X.indices % 7).tolist()


def test_the_total_is_known_from_a_header(tmp_path: Path) -> None:
    path = tmp_path / "rows.txt"
    path.write_text("3 5 2\n0 1:1\n1 2:1\n0 3:1\n")
    with Source(str(path)) as source:
        assert source.total == 3
    with Source(str(path), limit=2) as source:
        assert source.total == 2


def test_texts_are_shuffled_with_their_labels(tmp_path: Path) -> None:
    path = write_texts(tmp_path / "t.jsonl", 50)
    with Source(str(path)) as source:
        [plain] = source.chunks()
    with Source(str(path), shuffle_seed=1) as source:
        [shuffled] = source.chunks()
    assert shuffled.text != plain.text
    pairs = zip(shuffled.text, shuffled.labels, strict=True)
    assert sorted(pairs) == sorted(zip(plain.text, plain.labels, strict=True))


def test_files_are_read_ahead_where_there_is_a_thread_for_it(
    widening: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(items: Iterator[Any]) -> Iterator[tuple[int, Any]]:
        for item in items:
            yield get_ident(), item

    with Source(str(widening), reading=Reading("xmlc")) as source:
        for threads, elsewhere in ((1, False), (2, True)):
            found = list(source.ahead(told(source.chunks()), threads))
            assert [chunk.n_rows for _, chunk in found] == [CHUNK_ROWS, CHUNK_ROWS, 452]
            assert {thread != get_ident() for thread, _ in found} == {elsewhere}
        monkeypatch.setattr(source, "share_read", lambda: None)  # as of a pipe, which may be silent
        [*found] = source.ahead(told(source.chunks()), 2)
        assert {thread for thread, _ in found} == {get_ident()}


def test_what_is_read_ahead_of_a_mistake_comes_before_it(tmp_path: Path) -> None:
    path = tmp_path / "rows.txt"
    path.write_text("0 1:1\n" * (3 * CHUNK_ROWS) + "0 x\n")
    with Source(str(path), reading=Reading("xmlc")) as source:
        chunks = source.ahead(source.chunks(), 2)
        for _ in range(3):
            assert next(chunks).n_rows == CHUNK_ROWS
        with pytest.raises(FileFormatError, match=":3073: "):
            next(chunks)


def test_nothing_is_read_on_after_the_one_who_takes_has_stopped(widening: Path) -> None:
    before = {*threading.enumerate()}
    with Source(str(widening), reading=Reading("xmlc")) as source:
        items = source.ahead(iter(range(1, 10**9)), 2)
        assert next(items) == 1
        assert not before.issuperset(threading.enumerate())
        items.close()
        assert before.issuperset(threading.enumerate())


@pytest.mark.parametrize(
    ("line", "format", "is_text"),
    [
        ("a\n", None, True),
        ("1\n", None, True),
        ("1 2:3\n", None, False),
        ("1 2:3\n", "xmlc", False),
    ],
)
@pytest.mark.parametrize(("number", "limit"), [(1, 1), (2, 2), (CHUNK_ROWS, None)])
def test_standard_input_is_read_no_further_than_the_chunk_needs(
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    format: str | None,
    is_text: bool,
    number: int,
    limit: int | None,
) -> None:
    lines = iter([line.encode()] * number)

    def read(_size: int) -> bytes:
        return next(lines, b"") or pytest.fail("waits for more")

    stdin = SimpleNamespace(buffer=SimpleNamespace(read=read, read1=read))
    monkeypatch.setattr(sys, "stdin", stdin)
    options: Any = {"limit": limit, "labels_required": False, "text_expected": is_text}
    with Source("-", reading=Reading(format), **options) as source:
        assert next(source.chunks()).n_rows == number


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name here")
def test_a_pipe_is_read_only_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("0 0:1\n1 1:1\n",))
    writer.start()
    with Source(str(pipe), reading=Reading("xmlc")) as source:
        with pytest.raises(ParameterError, match=f"--passes 2: {pipe}, a pipe, can be read only"):
            source.check_passes(2)
        with pytest.raises(ParameterError, match=f"--algorithm auto: {pipe}, a pipe, can be"):
            chosen_algorithm(source, lambda *_: None, [], 10, 0)
        assert sum(chunk.n_rows for chunk in source.chunks()) == 2
    writer.join()


@pytest.mark.skipif(os.name == "nt", reason="Windows does not tell whether a pipe is empty")
@pytest.mark.parametrize(
    ("format", "first", "line"),
    [
        (None, b"", b'{"text": "red", "labels": ["a"]}\n'),
        ("csv", b"text,labels\n", b'"red\nand blue",a\n'),
        ("xmlc", b"", b"1,2 3:1\n"),
    ],
)
def test_a_pipe_that_has_no_more_for_now_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, format: str | None, first: bytes, line: bytes
) -> None:
    taken, given = os.pipe()
    with os.fdopen(taken, "rb") as pipe, ThreadPoolExecutor(1) as thread:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=pipe))
        try:
            os.write(given, first + line)
            opening = thread.submit(Source, "-", reading=Reading(format))
            with opening.result(20) as source:
                chunks = source.chunks()
                for number in (1, 2, 3):
                    chunk = thread.submit(next, chunks).result(20)
                    assert len(chunk.lines) == number
                    os.write(given, line * (number + 1))
        finally:
            os.close(given)


def test_a_file_that_changes_while_it_is_read_is_pointed_out(
    widening: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = f"warning: {widening}: this file changed while it was being read"
    for more, limit in (("1 1:1\n", None), ("", None), ("1 1:1\n", 1500)):
        with Source(str(widening), reading=Reading("xmlc"), limit=limit) as source:
            chunks = source.chunks()
            next(chunks)
            with widening.open("a") as file:
                file.write(more)
            list(chunks)
        assert capsys.readouterr().err.startswith(said) == (more != "" and limit is None)
    with Source(str(widening), reading=Reading("xmlc")) as source:
        chunks = source.chunks()
        next(chunks)
        os.truncate(widening, 0)
        list(chunks)
    assert capsys.readouterr().err.startswith(said)
