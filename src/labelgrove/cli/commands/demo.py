"""``labelgrove demo``: watch a model learn from real text that every machine has."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Annotated

import numpy as np
import typer

import labelgrove
from labelgrove._errors import DataError
from labelgrove._unfinished import Unfinished
from labelgrove.cli._demo import LearningTable, show_conclusion, show_heading, show_samples
from labelgrove.cli._learning import Learning, learn_batch
from labelgrove.cli._models import Model, check_can_write, create_model
from labelgrove.cli._options import LimitOption
from labelgrove.cli.streams._console import output_console
from labelgrove.data import Examples
from labelgrove.datasets import PythonDoc, iter_python_docs

_SOURCE = "the documentation of Python"
_LARGEST_BATCH = 32
_N_SAMPLES = 4


def demo(
    limit: LimitOption = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="MODEL", help="Where to write the model.")
    ] = "python-docs.lg",
) -> None:
    """Watch a model learn from the documentation of Python, without any download.

    Reads every docstring in the installed Python sources (standard library, NumPy, SciPy,
    scikit-learn) once, in file order, with the object's own name and path masked. The labels are
    the packages, modules and classes that it belongs to. One docstring in ten is held out for the
    test at the end.
    """
    check_can_write(output)
    console = output_console()
    show_heading(console)
    model = create_model("online-plt", (), texts=True, passes=1, jobs=1, seed=0)
    state, held_out = Learning(model), list[PythonDoc]()
    table = LearningTable(console)
    begin = perf_counter()
    with Unfinished(Path(output)):  # no other process may write it meanwhile
        with table.shown():
            for batch in _batches(limit, held_out):
                examples = _as_examples(batch)
                learn_batch(state, examples, examples.text, _SOURCE, predict=True)
                table.add(state, batch[-1].name)
        seconds = perf_counter() - begin
        if table.n_examples == 0:
            raise DataError("found no docstrings to learn from; no model was written")
        model.save(output)
    show_samples(console, model, _spread(held_out, _N_SAMPLES))
    show_conclusion(
        console,
        path=output,
        n_learnt=table.n_examples,
        n_labels=state.n_labels,
        seconds=seconds,
        n_held_out=len(held_out),
        scores=_test(model, held_out),
    )


def _batches(limit: int | None, held_out: list[PythonDoc]) -> Iterator[list[PythonDoc]]:
    """Yield docstrings in batches of 1, 2, 4, …, and put the held-out ones aside."""
    size, batch = 1, list[PythonDoc]()
    for doc in islice(iter_python_docs(), limit):
        if doc.held_out:
            held_out.append(doc)
            continue
        batch.append(doc)
        if len(batch) == size:
            yield batch
            size, batch = min(2 * size, _LARGEST_BATCH), []
    if batch:
        yield batch


def _as_examples(docs: list[PythonDoc]) -> Examples:
    lines = np.arange(1, len(docs) + 1, dtype=np.int64)
    return Examples(None, [doc.text for doc in docs], [doc.labels for doc in docs], 1, lines)


def _spread(docs: list[PythonDoc], number: int) -> list[PythonDoc]:
    """Choose evenly spaced docstrings: neither the best nor the worst."""
    places = np.linspace(0, len(docs), number, endpoint=False) + len(docs) / (2 * number)
    return [docs[int(place)] for place in places] if len(docs) >= number else docs


def _test(model: Model, docs: list[PythonDoc]) -> dict[str, float]:
    if not docs:
        return {}
    scores = labelgrove.evaluate(model, [doc.text for doc in docs], [doc.labels for doc in docs])
    return {name: scores[name] for name in ("p@1", "p@3", "p@5")}
