"""A service instead of a model file: ``labelgrove learn http://…#project``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from labelgrove._errors import DataError, LabelGroveError
from labelgrove._numbers import counted
from labelgrove.cli._options import Reading
from labelgrove.cli.streams._console import encode_prediction, say, write_json
from labelgrove.cli.streams._output import Output
from labelgrove.cli.streams._progress import shown
from labelgrove.cli.streams._source import Source
from labelgrove.data import Examples

if TYPE_CHECKING:
    from labelgrove.client import Client


def is_address(model: str) -> bool:
    """Return whether MODEL is the address of a service rather than a file."""
    return model.lower().startswith(("http://", "https://"))


def learn_there(
    address: str, data: str, reading: Reading, limit: int | None, *, as_json: bool
) -> None:
    """Send examples to a service to learn; the address's fragment names the project."""
    client = _client(address)
    sequence = before = done = 0

    def stored(rows: int) -> None:
        nonlocal done
        done = before + rows

    with client:
        try:
            with _chunks(data, reading, limit, labels_required=True) as chunks:
                for chunk in chunks:
                    texts, labels = _labelled_texts(chunk, data)
                    before = done
                    with _refused_line(chunk, data):
                        sequence = client.learn(texts, labels, stored=stored)
        except (LabelGroveError, KeyboardInterrupt):
            if done:
                say(f"{client.url} has stored the first {counted(done, 'example')} of {data}")
            raise
    if as_json:
        write_json({"examples": done, "sequence": sequence})
    else:
        all_examples = counted(done, "example")
        say(f"{client.url} has stored {all_examples} of {data}, up to event {sequence:,}")


def predict_there(
    address: str,
    data: str | list[str],
    k: int,
    output: str,
    reading: Reading,
    limit: int | None,
) -> None:
    """Ask a service for labels, and write them in the format of ``labelgrove predict``.

    ``data`` is a file, or the texts themselves.
    """
    with Output(output) as out, _client(address) as client:

        def write(texts: list[str]) -> None:
            lines = (
                encode_prediction(
                    [one["uri"] for one in row],
                    [one["score"] for one in row],
                    [None if one["label"] == one["uri"] else one["label"] for one in row],
                )
                for row in client.results(texts, k)
            )
            out.write(b"".join(lines))

        if isinstance(data, list):
            write(data)
            return

        beside_output = output == "-"
        with _chunks(
            data, reading, limit, labels_required=False, beside_output=beside_output
        ) as chunks:
            for chunk in chunks:
                with _refused_line(chunk, data):
                    write(_texts(chunk, data))


@contextmanager
def _chunks(
    data: str,
    reading: Reading,
    limit: int | None,
    *,
    labels_required: bool,
    beside_output: bool = False,
) -> Iterator[Iterator[Examples]]:
    """Open the examples, to learn from if labels are required, and show the progress."""
    with Source(
        data, reading=reading, limit=limit, labels_required=labels_required, text_expected=True
    ) as source:
        title = "learning" if labels_required else "predicting"
        line = source.progress(title)
        with shown(line, beside_output=beside_output):
            yield line.over(source.chunks())


@contextmanager
def _refused_line(chunk: Examples, data: str) -> Iterator[None]:
    """Name the line of the example that the service refuses."""
    from labelgrove.client import ServiceError

    try:
        yield
    except ServiceError as error:
        if error.row is None:
            raise
        place = f"{data}:{chunk.lines[error.row]}"
        raise ServiceError(error.status, f"{place}: {error}", error.row) from None


def _texts(chunk: Examples, data: str) -> list[str]:
    if chunk.text is None:
        raise DataError(f"{data} holds numbered features; expected text, as a service learns from")
    return list(chunk.text)


def _labelled_texts(chunk: Examples, data: str) -> tuple[list[str], list[list[str]]]:
    texts, labels = _texts(chunk, data), [[str(one) for one in row] for row in chunk.labels]
    for line, text, own in zip(chunk.lines.tolist(), texts, labels, strict=True):
        if not text or not own:
            missing = "labels" if text else "text"
            raise DataError(
                f"{data}:{line}: found no {missing}; a service learns only examples with a text "
                "and labels"
            )
    return texts, labels


def _client(address: str) -> Client:
    from labelgrove.client import Client

    return Client(address)
