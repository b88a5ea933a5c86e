"""Numbered blocks of whole lines from a stream of bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import NamedTuple

from labelgrove._errors import FileFormatError
from labelgrove.data._limits import MAX_LINE_BYTES
from labelgrove.data._open import DamagedStreamError, open_pieces, raising

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Block(NamedTuple):
    r"""Whole lines joined by ``\n``, without the last line break."""

    first_line: int
    data: bytes

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Return the lines with their numbers."""
        return enumerate(self.data.split(b"\n"), self.first_line)


class LineSource:
    r"""Cut a stream, given in non-empty pieces, into blocks of whole lines; can be read once.

    Windows line ends become ``\n``, and a UTF-8 byte order mark is dropped. ``path`` is for
    messages; ``last_line`` is the number of the last line read so far.
    """

    def __init__(self, path: str, pieces: Iterator[bytes]) -> None:
        self.path = path
        self._pieces = pieces
        self._head = b""
        self.last_line = 0

    def peek(self, size: int, enough: Callable[[bytes], bool] | None = None) -> bytes:
        """Return the first `size` bytes (fewer at the end of the file) without consuming them.

        A slow pipe is not read on once the beginning is `enough`.
        """
        try:
            while not self._has(size, enough):
                self._head += next(self._pieces)
        except StopIteration:
            pass
        except DamagedStreamError as error:
            if not self._head:
                raise FileFormatError(self.path, 1, str(error)) from None
            self._pieces = raising(error)  # whole lines before the damage are still delivered
        return self._head.removeprefix(_BYTE_ORDER_MARK)[:size]

    def _has(self, size: int, enough: Callable[[bytes], bool] | None) -> bool:
        if _BYTE_ORDER_MARK.startswith(self._head):  # it may go on
            return False
        head = self._head.removeprefix(_BYTE_ORDER_MARK)
        return len(head) >= size or (enough is not None and enough(head))

    def blocks(self) -> Iterator[Block]:
        """Yield all lines, block by block.

        Raises FileFormatError if a line is too long or the stream is damaged, after all whole lines
        before that.
        """
        self.peek(0)
        line = 1
        unfinished: list[bytes] = []
        size = 0
        content = self._content()
        while (piece := self._next(content, line)) is not None:
            cut = piece.rfind(b"\n")
            if size + (piece.find(b"\n") if cut >= 0 else len(piece)) > MAX_LINE_BYTES:
                raise FileFormatError(
                    self.path,
                    line,
                    f"the line is longer than {MAX_LINE_BYTES} bytes; "
                    "is this a text file with one example per line?",
                )
            if cut < 0:
                unfinished.append(piece)
                size += len(piece)
                continue
            data = b"".join([*unfinished, piece[:cut]])
            self.last_line = line + data.count(b"\n")
            yield Block(line, _with_plain_line_ends(data))
            line = self.last_line + 1
            unfinished = [piece[cut + 1 :]]
            size = len(unfinished[0])
        if size:
            self.last_line = line
            yield Block(line, _with_plain_line_ends(b"".join(unfinished)))

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield all lines with their numbers; raises as `blocks`."""
        for block in self.blocks():
            yield from block.lines()

    def _content(self) -> Iterator[bytes]:
        yield self._head.removeprefix(_BYTE_ORDER_MARK)
        yield from self._pieces

    def _next(self, content: Iterator[bytes], line: int) -> bytes | None:
        try:
            return next(content, None)
        except DamagedStreamError as error:
            raise FileFormatError(self.path, line, str(error)) from None


def lines_in(path: str) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file, plain or compressed, with their numbers; raises as `blocks`."""
    with ExitStack() as resources:
        yield from LineSource(path, open_pieces(path, resources)).lines()


def has_line(head: bytes) -> bool:
    """Return whether a line that is not empty is complete."""
    return b"\n" in head.lstrip()


def _with_plain_line_ends(data: bytes) -> bytes:
    r"""Replace ``\r\n`` by ``\n``; the last line of `data` has no ``\n`` any more."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").removesuffix(b"\r")
    return data
