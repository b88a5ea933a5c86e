"""What `train` and `learn` keep for `--progressive`: the course of the stream, and its page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from labelgrove.cli._learning import Learning
from labelgrove.cli._models import check_can_write
from labelgrove.cli._output import refuse_inputs
from labelgrove.reporting import StreamRecord, write_stream_report


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

    Returns
    -------
    StreamRecord or None

    Raises
    ------
    OSError, ParameterError
        When the page could not be written at the end.
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
    if page is None or learning.record is None or not learning.record.examples:
        return
    source = "standard input" if data == "-" else Path(data).name
    write_stream_report(learning.record, page, name=Path(model).stem, data_name=source)
