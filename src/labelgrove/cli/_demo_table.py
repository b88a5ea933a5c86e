"""The demo's table: a line each time the number of examples doubles; the last one is updated."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic

from rich.bar import Bar
from rich.console import Console, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from labelgrove.cli._learning import Learning
from labelgrove.cli.streams import _numbers
from labelgrove.cli.streams._console import is_terminal

_FIRST_MARK = 100
_BAR = 12
_ROOM_FOR_BARS = 80
_LEAST_PLACE = 16
_GAP = 2

#: Name and width of the columns; the last one takes what is left.
_COLUMNS = (
    ("docstrings", 10),
    ("labels", 6),
    ("P@1", 6),
    ("recent", 6),
    ("time", 10),
    ("now in", 0),
)


@dataclass(frozen=True)
class _Line:
    """Where learning stood at some time."""

    examples: int
    labels: int
    so_far: float
    recent: float
    seconds: float
    place: str

    def cells(self) -> tuple[str, ...]:
        return (
            _numbers.count(self.examples),
            _numbers.count(self.labels),
            _numbers.percent(self.so_far),
            _numbers.percent(self.recent),
            _numbers.duration(self.seconds),
            self.place,
        )


class LearningTable:
    """What the demo shows while it learns.

    Parameters
    ----------
    console : Console
        On standard output.
    """

    def __init__(self, console: Console) -> None:
        self.n_examples = 0
        self._console = console
        self._alive = is_terminal(sys.stdout)
        self._lines: list[_Line] = []
        self._last: _Line | None = None
        self._next_mark = _FIRST_MARK
        self._begin = monotonic()

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the table while the body runs: updated on a terminal, else line after line."""
        if self._alive:
            with Live(
                console=self._console,
                get_renderable=self._render,
                refresh_per_second=10,
                redirect_stdout=False,
                redirect_stderr=False,
            ):
                yield
            return
        self._print([name for name, _ in _COLUMNS])
        yield
        if self._last is not None and self._last not in self._lines:
            self._print(self._last.cells())

    def add(self, state: Learning, name: str) -> None:
        """Add a batch.

        Parameters
        ----------
        state : Learning
            Where learning stands after it.
        name : str
            What the last docstring of the batch documents.
        """
        point = state.record.point()
        self.n_examples = point.examples
        self._last = _Line(
            examples=point.examples,
            labels=point.n_labels,
            so_far=point.accuracy,
            recent=point.recent_accuracy,
            seconds=monotonic() - self._begin,
            place=name,
        )
        if self.n_examples >= self._next_mark:
            self._next_mark *= 2
            self._lines.append(self._last)
            if not self._alive:
                self._print(self._last.cells())

    def _print(self, cells: list[str] | tuple[str, ...]) -> None:
        padded = [cell.rjust(width) for cell, (_, width) in zip(cells, _COLUMNS, strict=True)]
        self._console.print(Text("  ".join(padded)))
        self._console.file.flush()

    def _render(self) -> RenderableType:
        lines = list(self._lines)
        if self._last is not None and self._last not in lines:
            lines.append(self._last)
        width = self._console.width
        bars = width >= _ROOM_FOR_BARS
        taken = sum(w + _GAP for _, w in _COLUMNS[:-1]) + 2 * (_BAR + _GAP) * bars
        room = width - taken if width - taken >= _LEAST_PLACE else 0
        table = Table.grid(padding=(0, _GAP, 0, 0))
        heads = []
        for name, least in _COLUMNS[:-1]:
            table.add_column(justify="right", no_wrap=True, min_width=least)
            heads.append(name)
            if bars and name in ("labels", "P@1"):
                table.add_column(min_width=_BAR)
                heads.append("")
        if room:
            table.add_column(no_wrap=True)
            heads.append(_COLUMNS[-1][0])
        table.add_row(*heads, style="dim")
        for line in lines:
            cells = _drawn(line, lines[-1].labels, bars=bars, room=room)
            table.add_row(*cells, style="bold" if line is lines[-1] else "")
        return table


def _drawn(line: _Line, most_labels: int, *, bars: bool, room: int) -> list[RenderableType]:
    """Draw the cells of a line, with bars for labels and P@1 where there is room."""
    examples, labels, so_far, recent, seconds, name = line.cells()
    cells: list[RenderableType] = [examples, Text(labels, style="cyan")]
    if bars:
        cells.append(Bar(most_labels, 0, line.labels, width=_BAR, color="cyan"))
    cells.append(Text(so_far, style="green"))
    if bars:
        cells.append(Bar(1.0, 0, line.so_far, width=_BAR, color="green"))
    cells += [recent, seconds]
    if room:
        place = Text(name, style="dim")
        place.truncate(room, overflow="ellipsis")
        cells.append(place)
    return cells
