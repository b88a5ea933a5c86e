"""Output of the demo: a table that grows while the model learns, then samples and figures."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from rich.bar import Bar
from rich.console import Console, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from labelgrove import _numbers
from labelgrove.cli._learning import Learning
from labelgrove.cli._models import Model
from labelgrove.cli._search import Search
from labelgrove.cli.streams._console import is_terminal, show_pairs
from labelgrove.datasets import PythonDoc
from labelgrove.evaluation import ProgressPoint

_EXCERPT = 240  # characters shown of a text
_NAME = 12  # width of the column with the names
_TO_TRY = "Return the eigenvalues of a symmetric matrix"

_FIRST_MARK = 100
_BAR = 12
_ROOM_FOR_BARS = 80
_LEAST_PLACE = 16
_GAP = 2

#: Names and widths of the columns; the last one takes the remaining width.
_COLUMNS = (
    ("docstrings", 10),
    ("labels", 6),
    ("P@1", 6),
    ("recent", 6),
    ("time", 10),
    ("reading", 0),
)


@dataclass(frozen=True)
class _Line:
    """The state of learning at one moment."""

    point: ProgressPoint
    seconds: float
    place: str

    def cells(self) -> tuple[str, ...]:
        return (
            f"{self.point.examples:,}",
            f"{self.point.n_labels:,}",
            _numbers.percent(self.point.accuracy),
            _numbers.percent(self.point.recent_accuracy),
            _numbers.duration(self.seconds),
            self.place,
        )


class LearningTable:
    """The table that the demo shows while it learns."""

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
        """Show the table while the body runs: updated in place on terminals, else line by line."""
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
        """Add a batch, whose last docstring documents ``name``."""
        point = state.record.point()
        self.n_examples = point.examples
        self._last = _Line(point, monotonic() - self._begin, name)
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
            cells = _drawn(line, lines[-1].point.n_labels, bars=bars, room=room)
            table.add_row(*cells, style="bold" if line is lines[-1] else "")
        return table


def _drawn(line: _Line, most_labels: int, *, bars: bool, room: int) -> list[RenderableType]:
    """Draw the cells of a line, with bars for labels and P@1 if there is room."""
    examples, labels, so_far, recent, seconds, name = line.cells()
    cells: list[RenderableType] = [examples, Text(labels, style="cyan")]
    if bars:
        cells.append(Bar(most_labels, 0, line.point.n_labels, width=_BAR, color="cyan"))
    cells.append(Text(so_far, style="green"))
    if bars:
        cells.append(Bar(1.0, 0, line.point.accuracy, width=_BAR, color="green"))
    cells += [recent, seconds]
    if room:
        place = Text(name, style="dim")
        place.truncate(room, overflow="ellipsis")
        cells.append(place)
    return cells


def show_heading(console: Console) -> None:
    """Explain what the demo does."""
    console.print(
        Text.assemble(
            (
                "LabelGrove reads the documentation of your Python, one docstring at a time.\n",
                "bold",
            ),
            "It predicts the packages, modules and classes that each docstring belongs to, then "
            "learns them; new labels keep arriving. The name and path of the documented object are "
            "masked. P@1 is the share of docstrings whose best label was right, so far and over "
            "the last 1,000.\n",
        )
    )


def show_samples(console: Console, model: Model, docs: Sequence[PythonDoc]) -> None:
    """Show some held-out texts with their true and predicted labels."""
    if not docs:
        return
    console.print(Text("\nDocstrings it has never seen", style="bold"))
    found = Search(model).find([doc.text for doc in docs])
    for doc, (labels, scores) in zip(docs, found, strict=True):
        true = [Text(label) for label in doc.labels]
        console.print()
        _print_part(console, "text", [Text(word, "italic") for word in _excerpt(doc.text)], 1)
        _print_part(console, "labels", true, 3)
        _print_part(console, "predicted", _predictions(labels, scores, doc.labels), 3)


def _print_part(console: Console, name: str, pieces: Sequence[Text], gap: int) -> None:
    """Print a name and, next to it, pieces that are never broken across lines."""
    room = max(20, console.width - _NAME - 1)
    line = Text().append(name.ljust(_NAME), "dim")
    used = 0
    for piece in pieces:
        if used and used + gap + piece.cell_len > room:
            console.print(line)
            line, used = Text(" " * _NAME), 0
        line.append(" " * gap if used else "").append_text(piece)
        used += piece.cell_len + gap * bool(used)
    console.print(line)


def _predictions(labels: Sequence[str], scores: Sequence[float], true: Sequence[str]) -> list[Text]:
    return [
        Text(f"✓ {label} {score:.2f}", "green")
        if label in true
        else Text(f"· {label} {score:.2f}", "dim")
        for label, score in zip(labels, scores, strict=True)
    ]


def _excerpt(text: str) -> list[str]:
    """Return the first words of a text, without rulers and line breaks."""
    words = re.sub(r"[-=~*]{4,}", "", text).split()
    length = 0
    for number, word in enumerate(words):
        length += len(word) + 1
        if length > _EXCERPT:
            return [*words[:number], "…"]
    return words


def show_conclusion(
    console: Console,
    *,
    path: str,
    n_learnt: int,
    n_labels: int,
    seconds: float,
    n_held_out: int,
    scores: dict[str, float],
) -> None:
    """Show the held-out figures, where the model was written and which commands to try next.

    ``seconds`` includes parsing the sources.
    """
    name = shlex.quote(path)
    learnt = f"{_numbers.counted(n_learnt, 'docstring')}, {_numbers.counted(n_labels, 'label')}"
    pairs = [("learnt", f"{learnt}, one pass, {_numbers.duration(seconds)} including reading")]
    if scores:
        figures = "   ".join(f"{key.upper()} {_numbers.percent(v)}" for key, v in scores.items())
        pairs.append(("held out", f"{_numbers.counted(n_held_out, 'docstring')}:  {figures}"))
    pairs.append(("model", _numbers.sized(path)))
    console.print()
    show_pairs(pairs)
    console.print(Text("\nTry next", style="bold"))
    program = _program()
    for line in (
        f"{program} info {name}",
        f"""echo '{{"text": "{_TO_TRY}"}}' | {program} predict {name} -""",
        f"{program} train --help",
    ):
        console.print(Text(f"  {line}", style="cyan"), soft_wrap=True)


def _program() -> str:
    """Return what to type for ``labelgrove``: its path if it was started by one, as by make."""
    started = Path(sys.argv[0])
    by_path = started.stem == "labelgrove" and not started.is_absolute() and len(started.parts) > 1
    return shlex.quote(sys.argv[0]) if by_path else "labelgrove"
