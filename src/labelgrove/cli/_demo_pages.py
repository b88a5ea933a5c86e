"""What the demo prints before and after learning: predictions, figures, what to type next."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from labelgrove.cli._models import Model
from labelgrove.cli._search import Search
from labelgrove.cli.streams import _numbers
from labelgrove.cli.streams._console import show
from labelgrove.datasets import PythonDoc

_EXCERPT = 240  # characters of a text that are shown
_NAME = 12  # width of the names before texts and labels
_TO_TRY = "Return the eigenvalues of a symmetric matrix"


def show_heading(console: Console) -> None:
    """Explain what is about to happen.

    Parameters
    ----------
    console : Console
        On standard output.
    """
    console.print(
        Text.assemble(
            (
                "LabelGrove reads the documentation of your Python, docstring after docstring.\n",
                "bold",
            ),
            "From each text, its own name and path masked, it predicts the packages, modules and "
            "classes that the text belongs to, then learns them; new ones keep coming. "
            "P@1 is how often the first one was right, so far and over the last 1,000.\n",
        )
    )


def show_samples(console: Console, model: Model, docs: Sequence[PythonDoc]) -> None:
    """Show some held-out texts with their labels and what the model says.

    Parameters
    ----------
    console : Console
        On standard output.
    model : Model
        Has learnt.
    docs : sequence of PythonDoc
        Never learnt.
    """
    if not docs:
        return
    assert model.front_end is not None
    console.print(Text("\nDocstrings that it has never seen", style="bold"))
    found = Search(model).find(model.front_end.transform([doc.text for doc in docs]))
    for doc, (labels, scores) in zip(docs, found, strict=True):
        true = [Text(label) for label in doc.labels]
        console.print()
        _print_part(console, "text", [Text(word, "italic") for word in _excerpt(doc.text)], 1)
        _print_part(console, "belongs to", true, 3)
        _print_part(console, "predicted", _predictions(labels, scores, doc.labels), 3)


def _print_part(console: Console, name: str, pieces: Sequence[Text], gap: int) -> None:
    """Print a name and, beside it, pieces that are not broken across lines."""
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
    """Give the first words of a text, rulers and line breaks left out."""
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
    """Show the figures of the held-out part, where the model lies and what to type next.

    Parameters
    ----------
    console : Console
        On standard output.
    path : str
        The model's file.
    n_learnt, n_labels : int
        What was learnt.
    seconds : float
        How long that took, parsing the sources included.
    n_held_out : int
        Examples of the test.
    scores : dict
        Name of a metric to its value.
    """
    name = shlex.quote(path)
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    learnt = f"{_numbers.counted(n_learnt, 'docstring')}, {_numbers.counted(n_labels, 'label')}"
    table.add_row("learnt", f"{learnt}, one pass, {_numbers.duration(seconds)} with reading them")
    if scores:
        figures = "   ".join(f"{key.upper()} {_numbers.percent(v)}" for key, v in scores.items())
        table.add_row("held out", f"{_numbers.counted(n_held_out, 'docstring')}:  {figures}")
    table.add_row("model", Text(f"{path} ({_numbers.size(Path(path).stat().st_size)})"))
    console.print()
    show(table)
    console.print(Text("\nNow type", style="bold"))
    for line in (
        f"labelgrove info {name}",
        f"""echo '{{"text": "{_TO_TRY}"}}' | labelgrove predict {name} -""",
        "labelgrove train --help",
    ):
        console.print(Text(f"  {line}", style="cyan"), soft_wrap=True)
