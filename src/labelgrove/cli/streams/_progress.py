"""A progress line, shown only on terminals and cut to their width."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from labelgrove import _numbers
from labelgrove.cli.streams._console import is_terminal, message_console
from labelgrove.data import Examples

_WINDOW = 5.0  # seconds over which the speed is measured
_BAR = (8, 40)  # minimum and maximum width of the bar


class ProgressLine:
    """Progress, speed and quality on one line, least important facts dropped if it is too long.

    If the ``total`` number of examples is unknown, ``share`` may return the share of work done,
    from 0 to 1, or None.
    """

    def __init__(
        self,
        title: str,
        total: int | None = None,
        share: Callable[[], float | None] | None = None,
    ) -> None:
        self.title = title
        self.total = total
        self.done = 0
        self._share_done = share
        self._facts: tuple[str, ...] = ()
        self._marks = deque([(monotonic(), 0)])

    def restart(self, title: str, total: int | None) -> None:
        """Begin another pass."""
        self.title, self.total, self.done = title, total, 0
        self._marks = deque([(monotonic(), 0)])

    def update(self, done: int, facts: Sequence[str] = ()) -> None:
        """Set the number of examples done in this pass, and facts, the most important first."""
        self.done = done
        self._facts = tuple(facts)
        now = monotonic()
        self._marks.append((now, done))
        while len(self._marks) > 2 and now - self._marks[0][0] > _WINDOW:
            self._marks.popleft()

    def over(self, chunks: Iterable[Examples]) -> Iterator[Examples]:
        """Pass chunks of examples on, and count those of each once it has been used."""
        done = 0
        for chunk in chunks:
            yield chunk
            done += chunk.n_rows
            self.update(done)

    @property
    def rate(self) -> float:
        """Examples per second over the last seconds; 0 before anything is done."""
        (start, before), (end, after) = self._marks[0], self._marks[-1]
        return (after - before) / (end - start) if end > start else 0.0

    def _estimated_total(self) -> float | None:
        """Number of examples: known, or estimated from the share of work done."""
        if self.total or self._share_done is None or not self.done:
            return self.total
        share = self._share_done()
        return self.done / share if share else None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        cells = _fitting([Text(cell) for cell in self._cells()], width)
        row = Table.grid(padding=(0, 2), pad_edge=False)
        room = width - sum(cell.cell_len + 2 for cell in cells)
        if (total := self._estimated_total()) and room >= _BAR[0]:
            bar = ProgressBar(total=total, completed=self.done, width=min(room, _BAR[1]))
            row.add_row(cells[0], bar, *cells[1:])
        else:
            row.add_row(*cells)
        yield row

    def _cells(self) -> list[str]:
        """All facts, the most important first."""
        cells = [self.title]
        if self.total:
            cells.append(f"{self.done:,}/{self.total:,}")
        elif self.done:
            cells.append(f"{self.done:,}")
        total = self._estimated_total()
        if total and not self.total:
            cells.append(_numbers.percent(self.done / total))
        cells += self._facts
        if self.rate:
            cells.append(f"{_numbers.short_count(self.rate)}/s")
            cells += self._time_left(total)
        return cells

    def _time_left(self, total: float | None) -> list[str]:
        """Estimate how long the rest of the examples will take, if anything is known."""
        if not total or not self.rate or self.done >= total:
            return []
        return [f"{_numbers.duration(max(1.0, (total - self.done) / self.rate))} left"]


class ShareLine(ProgressLine):
    """Progress in per cent, from 0 (also while it is unknown) to 1.

    Either ``share()`` returns it, each time the line is drawn, or `set_share` is told.
    """

    def __init__(self, title: str, share: Callable[[], float] | None = None) -> None:
        super().__init__(title)
        self._told = 0.0
        self._share: Callable[[], float] = share or (lambda: self._told)

    def set_share(self, share: float) -> None:
        """Take a new share."""
        self._told = share

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        permille = round(1000 * self._share())
        if permille:
            self.total = 1000
            self.update(permille)
        yield from super().__rich_console__(console, options)

    def _cells(self) -> list[str]:
        if not self.total:
            return [self.title]
        share = _numbers.percent(self.done / self.total)
        return [self.title, share, *self._time_left(self.total)]


def _fitting(cells: list[Text], width: int) -> list[Text]:
    """Drop cells from the end until the line fits; truncate the last one left."""
    while len(cells) > 1 and sum(cell.cell_len + 2 for cell in cells) > width:
        cells = cells[:-1]
    cells[0].truncate(width, overflow="ellipsis")
    return cells


@contextmanager
def shown(line: ProgressLine, *, beside_output: bool = False) -> Iterator[None]:
    """Show the line on terminals while the body runs, then erase it.

    With ``beside_output``, the line stays hidden if the body writes results to a terminal.
    """
    hidden = not is_terminal(sys.stderr) or (beside_output and is_terminal(sys.stdout))
    if hidden:
        yield
        return
    with Live(
        line,
        console=message_console(),
        transient=True,
        refresh_per_second=8,
        redirect_stdout=False,
        redirect_stderr=False,
    ):
        yield
