"""The end of `train` and `learn`: write the model, its page, and a summary."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from labelgrove._errors import DataError
from labelgrove.cli._application import INTERRUPTED
from labelgrove.cli._learning import Learning
from labelgrove.cli._models import check_can_write, save_model
from labelgrove.cli.streams import _numbers
from labelgrove.cli.streams._console import say_error, show_pairs, write_json
from labelgrove.cli.streams._output import refuse_inputs
from labelgrove.cli.streams._progress import ProgressLine, shown
from labelgrove.evaluation import StreamRecord
from labelgrove.reporting import write_stream_report


def new_record(
    page: str | None, model: str, data: str, *, known: Sequence[Any] = ()
) -> StreamRecord | None:
    """Begin a record, where a page of it is wanted and can be written.

    Parameters
    ----------
    page : str or None
        Where the page goes.
    model, data : str
        The files that it must not take the place of.
    known : sequence of labels
        What the model knows already.
    """
    if page is None:
        return None
    check_can_write(page)
    refuse_inputs(page, model, data)
    return StreamRecord(known)


def write_record(page: str | None, learning: Learning, model: str, data: str) -> None:
    """Write the page of what was recorded, if anything was.

    Parameters
    ----------
    page : str or None
        Where the page goes.
    learning : Learning
        A run of learning, perhaps stopped by Ctrl-C.
    model, data : str
        The files, for the page's title.
    """
    if page is None or not learning.record.examples:
        return
    source = "standard input" if data == "-" else Path(data).name
    write_stream_report(learning.record, page, name=Path(model).stem, data_name=source)


def finish_learning(
    learning: Learning,
    path: str,
    *,
    known_before: int = 0,
    for_prediction: bool = False,
    as_json: bool = False,
) -> None:
    """Write the model and report; after Ctrl-C say so and end with its status.

    Parameters
    ----------
    learning : Learning
        What the run has come to.
    path : str
        Where the model goes.
    known_before : int
        Labels that the model knew before this run.
    for_prediction : bool
        Leave out of the file what only learning needs.
    as_json : bool
        Report as JSON.
    """
    if learning.examples == 0:
        if learning.stopped:
            say_error("stopped by Ctrl-C before anything was learnt; no model was written")
            raise typer.Exit(INTERRUPTED)
        raise DataError("there is not a single example to learn from; no model was written")
    with shown(ProgressLine(f"writing {path}")):
        save_model(learning.model, path, for_prediction=for_prediction)
    if as_json:
        write_json(_for_programs(learning, path, known_before))
    elif not learning.stopped:
        show_pairs(_for_people(learning, path, known_before))
    if learning.stopped:
        say_error(
            f"stopped by Ctrl-C after {_numbers.counted(learning.examples, 'example')}; "
            f"what has been learnt from them is saved in {path}"
        )
        raise typer.Exit(INTERRUPTED)


def _for_programs(learning: Learning, path: str, known_before: int) -> dict[str, object]:
    return {
        "model": path,
        "bytes": Path(path).stat().st_size,
        "examples": learning.examples,
        "passes": learning.passes,
        "labels": learning.n_labels,
        "new_labels": learning.n_labels - known_before,
        "progressive_p@1": learning.record.point().accuracy,
        "seconds": round(learning.seconds, 3),
        "examples_per_second": round(learning.examples / max(learning.seconds, 1e-9), 1),
        "interrupted": learning.stopped,
    }


def _for_people(learning: Learning, path: str, known_before: int) -> list[tuple[str, str]]:
    speed = _numbers.count(round(learning.examples / max(learning.seconds, 1e-9)))
    time = _numbers.duration(learning.seconds)
    examples = f"{_numbers.count(learning.examples)} in {time} ({speed} a second)"
    new = learning.n_labels - known_before
    labels = _numbers.count(learning.n_labels)
    if known_before:
        labels += f" ({_numbers.count(new)} of them new)"
    progress = _numbers.percent(learning.record.point().accuracy)
    return [
        ("examples", examples),
        ("labels", labels),
        *([("P@1 while learning", progress)] if learning.record.examples else []),
        ("model", f"{path} ({_numbers.size(Path(path).stat().st_size)})"),
    ]
