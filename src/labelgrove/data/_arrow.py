"""Tables in Parquet and Arrow files and from the package datasets, read in batches of rows."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from labelgrove._errors import FileFormatError
from labelgrove._optional import optional
from labelgrove.data._chunks import Contents
from labelgrove.data._columns import Columns
from labelgrove.data._open import refuse_pipe
from labelgrove.data._rows import RowError
from labelgrove.data._text_rows import record_pieces

_BATCH = 1024
_SHOWN = 200

_NO_CLASS = -1
"""The number of a missing class in the package datasets."""

Rows = list[dict[str, Any]]


def read_parquet(
    path: str, columns: Columns, resources: ExitStack, *, labels_required: bool = True
) -> Contents:
    """Open a Parquet file.

    A missing or repeated column is an error at once; a row without text or with a value of the
    wrong type, when it is read.
    """
    parquet = optional("pyarrow.parquet", "reading Parquet", "arrow")
    stream = _stream(path, resources)
    with _named(path, "Parquet"):
        file = parquet.ParquetFile(stream)
        schema, rows = file.schema_arrow, file.metadata.num_rows

    def batches(wanted: Sequence[str]) -> Iterator[Any]:
        yield from file.iter_batches(batch_size=_BATCH, columns=list(wanted), use_threads=False)

    return _contents(path, "Parquet", schema, batches, columns, labels_required, rows)


def read_arrow(
    path: str, columns: Columns, resources: ExitStack, *, labels_required: bool = True
) -> Contents:
    """Open an Arrow (Feather) file, or a stream file of datasets; errors as for `read_parquet`."""
    arrow = optional("pyarrow", "reading Arrow", "arrow")
    stream = _stream(path, resources)
    with _named(path, "Arrow"):
        try:
            file = arrow.ipc.open_file(stream)
        except arrow.ArrowInvalid:
            stream.seek(0)
            file = arrow.ipc.open_stream(stream)
        schema = file.schema

    def batches(wanted: Sequence[str]) -> Iterator[Any]:
        whole = (
            (file.get_batch(i) for i in range(file.num_record_batches))
            if hasattr(file, "get_batch")
            else file
        )
        for batch in whole:
            batch.validate(full=True)
            chosen = batch.select(list(wanted))
            for start in range(0, chosen.num_rows, _BATCH):
                yield chosen.slice(start, _BATCH)

    return _contents(path, "Arrow", schema, batches, columns, labels_required, None)


def _stream(path: str, resources: ExitStack) -> Any:
    """Open a file in Arrow, whose threads may outlive Python and must not free its objects."""
    arrow = optional("pyarrow", "reading Arrow", "arrow")
    refuse_pipe(path)
    with Path(path).open("rb"):  # raises the system's errors in Python's words
        pass
    return resources.enter_context(arrow.OSFile(os.fsencode(path)))


def is_dataset(source: object) -> bool:
    """Return whether this is a data set of the package datasets."""
    return hasattr(source, "column_names") and hasattr(source, "iter")


def read_dataset(name: str, dataset: Any, columns: Columns, *, labels_required: bool) -> Contents:
    """Read a data set of the package datasets; class numbers are replaced by class names.

    Its format for other libraries, such as NumPy, and its selection of columns have no effect.
    """
    dataset = dataset.with_format(None)
    features = dataset.features or {}
    there = dataset.column_names or list(features) or list(next(iter(dataset), {}))
    text, labels = _chosen(name, there, columns, labels_required)

    def batches() -> Iterator[Rows]:
        wanted = (*text, *labels)
        for batch in dataset.iter(batch_size=_BATCH):
            values = [batch[column] for column in wanted]
            yield [dict(zip(wanted, row, strict=True)) for row in zip(*values, strict=True)]

    called = _with_class_names(batches(), features, labels)
    pieces = record_pieces(name, called, columns, text, labels)
    rows = len(dataset) if hasattr(dataset, "__len__") else None
    return Contents(pieces, is_text=True, labels_are_int=False, declared_rows=rows)


def _class_names(feature: Any) -> list[str] | None:
    """Return the names of a ClassLabel, or of a list of them."""
    if isinstance(feature, list) and len(feature) == 1:  # as older versions wrote a list
        [feature] = feature
    for one in (feature, getattr(feature, "feature", None)):
        names = getattr(one, "names", None)
        if isinstance(names, list | tuple) and all(isinstance(name, str) for name in names):
            return list(names) or None
    return None


def _stored_features(schema: Any) -> dict[str, Any]:
    """Return the features that the package datasets has noted in the schema of a file, if any."""
    with suppress(ValueError, TypeError, AttributeError, RecursionError):
        noted = (schema.metadata or {}).get(b"huggingface", b"null")
        found = json.loads(noted, object_hook=lambda pairs: SimpleNamespace(**pairs))
        return dict(vars(found.info.features))
    return {}


def _with_class_names(
    batches: Iterator[Rows], features: Mapping[str, Any], labels: Sequence[str]
) -> Iterator[Rows]:
    """Replace the numbers of classes in the columns of labels, where their features name them."""
    names_in = {one: names for one in labels if (names := _class_names(features.get(one)))}
    for rows in batches:
        for row in rows:
            for column, names in names_in.items():
                row[column] = _called(row[column], names)
        yield rows


def _called(value: Any, names: list[str]) -> Any:
    if isinstance(value, list):
        return [_called(one, names) for one in value if one != _NO_CLASS]
    if value == _NO_CLASS:
        return None
    return names[value] if isinstance(value, int) and 0 <= value < len(names) else value


def _contents(
    path: str,
    what: str,
    schema: Any,
    batches: Callable[[Sequence[str]], Iterator[Any]],
    columns: Columns,
    labels_required: bool,
    rows: int | None,
) -> Contents:
    text, labels = _chosen(path, schema.names, columns, labels_required)

    def lists() -> Iterator[Rows]:
        with _named(path, what):
            for batch in batches(list(dict.fromkeys([*text, *labels]))):
                yield batch.to_pylist()

    called = _with_class_names(lists(), _stored_features(schema), labels)
    pieces = record_pieces(path, called, columns, text, labels)
    return Contents(pieces, is_text=True, labels_are_int=False, declared_rows=rows)


def _chosen(
    path: str, names: list[str], columns: Columns, labels_required: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    try:
        text, labels = columns.of_text(names), columns.of_labels(names, labels_required)
    except RowError as error:
        raise FileFormatError(path, None, f"in the table {error}") from None
    for name in (*text, *labels):
        if names.count(name) > 1:
            problem = f"in the table {name!r} occurs twice; expected every name once"
            raise FileFormatError(path, None, problem)
    return text, labels


@contextmanager
def _named(path: str, what: str) -> Iterator[None]:
    """Re-raise pyarrow's errors as errors of this file."""
    arrow = optional("pyarrow", f"reading {what}", "arrow")
    try:
        yield
    except (arrow.ArrowException, OSError, UnicodeDecodeError, MemoryError) as error:
        said = str(error).splitlines() or [type(error).__name__]
        raise FileFormatError(
            path, None, f"not a readable {what} file ({said[0]:.{_SHOWN}})"
        ) from None
