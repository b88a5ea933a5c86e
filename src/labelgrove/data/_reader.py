"""Opening of data files of any format, and iteration over them in chunks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from labelgrove._errors import DataError, FileFormatError, ParameterError
from labelgrove._parameters import integer
from labelgrove.data._annif import read_annif, read_folder
from labelgrove.data._arrow import is_dataset, read_arrow, read_dataset, read_parquet
from labelgrove.data._chunks import Contents, rechunk
from labelgrove.data._columns import Columns
from labelgrove.data._csv import DELIMITERS, read_csv
from labelgrove.data._examples import Examples
from labelgrove.data._fasttext import read_fasttext
from labelgrove.data._jsonl import read_jsonl
from labelgrove.data._lines import LineSource
from labelgrove.data._mapped import read_mapped
from labelgrove.data._npz import read_npz
from labelgrove.data._open import STDIN, Meter, open_pieces
from labelgrove.data._pair import read_pair
from labelgrove.data._sniff import (
    UNSTREAMED,
    check_format,
    format_from_content,
    format_from_name,
    is_annif,
)
from labelgrove.data._svmlight import read_svmlight
from labelgrove.data._xmlc import read_xmlc

_DEFAULT_CHUNK_NNZ = 1_000_000
_WITH_COLUMNS = ("jsonl", "csv", "tsv", "parquet", "arrow")
_ALL = 2**62


class ExampleReader:
    r"""A data file, open for reading: a context manager that can be iterated over once.

    `open_examples` creates these.

    Attributes
    ----------
    path : str
        The file name used in errors; ``<stdin>`` for standard input.
    format : str
        One of `labelgrove.data.FORMATS`.
    is_text : bool
        Whether the chunks hold text rather than features.
    labels_are_int : bool
        Whether the labels are integers rather than strings.
    labels_may_be_names : bool
        Whether labels may be given by name instead of by id, as in Annif's NAME.key files; see
        `labelgrove.vocabulary.Vocabulary.id_of`.
    declared_rows, declared_features, declared_labels : int or None
        Numbers declared by the file, if any.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from labelgrove.data import open_examples
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "two.txt")
    ...     _ = path.write_text("2 10 3\n0,2 1:0.5 9:2\n 4:1\n")
    ...     with open_examples(path) as reader:
    ...         print(reader.format, reader.declared_features)
    ...         for chunk in reader:
    ...             print(chunk.labels, chunk.X.nnz, chunk.lines)
    xmlc 10
    [(0, 2), ()] 3 [2 3]
    """

    def __init__(
        self,
        path: str,
        format: str,
        contents: Contents,
        resources: ExitStack,
        meter: Meter,
        chunk_size: int,
        max_chunk_nnz: int,
    ) -> None:
        self.path = path
        self.format = format
        self.is_text = contents.is_text
        self.labels_are_int = contents.labels_are_int
        self.labels_may_be_names = contents.labels_may_be_names
        self.declared_rows = contents.declared_rows
        self.declared_features = contents.declared_features
        self.declared_labels = contents.declared_labels
        self._resources = resources
        self._meter = meter
        self._chunks: Iterator[Examples] | None = rechunk(
            contents.pieces, chunk_size, max_chunk_nnz, contents.declared_features, meter.is_dry
        )

    def __iter__(self) -> Iterator[Examples]:
        """Yield the chunks in file order.

        Raises
        ------
        FileFormatError
            At the first malformed row, after all earlier chunks, or if there are no examples.
        DataError
            If the reader has already been iterated over or closed.
        """
        if self._chunks is None:
            raise DataError(f"{self.path}: has already been read or closed; open it again")
        chunks, self._chunks = self._chunks, None
        return self._checked(chunks)

    def _checked(self, chunks: Iterator[Examples]) -> Iterator[Examples]:
        empty = True
        for chunk in chunks:
            empty = False
            yield chunk
        if empty:
            raise FileFormatError(self.path, None, "holds no examples; expected at least one")

    @property
    def share_read(self) -> float | None:
        """Share of the file's bytes read so far, from 0 to 1; None if unknown.

        For a compressed file, compressed bytes count.
        """
        return self._meter.share

    @property
    def has_changed(self) -> bool:
        """Whether a file of lines has grown or shrunk since it was opened, and is still open."""
        return self._meter.has_changed()

    def close(self) -> None:
        """Close the file; standard input stays open."""
        self._chunks = None
        self._resources.close()

    def __enter__(self) -> ExampleReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_examples(
    path: str | os.PathLike[str] | Any,
    format: str | None = None,
    *,
    columns: Columns | None = None,
    chunk_size: int = 4096,
    max_chunk_nnz: int = _DEFAULT_CHUNK_NNZ,
    labels_required: bool = True,
    text_expected: bool | None = None,
) -> ExampleReader:
    r"""Open a data file, plain or compressed, for reading in chunks.

    Parameters
    ----------
    path : str or os.PathLike, or a data set of the package ``datasets``
        The file, or for the formats ``folder`` and ``mapped`` the folder; ``-`` is standard input.
        Files named .gz, .bz2, .xz or .zst are decompressed, and so are files that begin like these.
        For .npz and ``..._X_Xf.txt`` the name stands for a pair of files.
    format : str, optional
        One of `labelgrove.data.FORMATS`. By default it is determined by the name (.jsonl, .ndjson,
        .json, .csv, .tsv, .ft, .fasttext, .parquet, .arrow, .feather, .xmlc, .svm, .svmlight,
        .libsvm, .npz, ..._X_Xf.txt, a folder) or else from the first lines.
    columns : Columns, optional
        The columns or keys that hold text and labels, in formats that name them: csv, tsv, jsonl,
        parquet, arrow and data sets.
    chunk_size : int
        Number of rows in a chunk; only the last chunk, those cut by `max_chunk_nnz`, and those
        after which a pipe has no more for now, have fewer.
    max_chunk_nnz : int
        Maximum number of features and labels in a chunk (of a text, each block of eight characters
        counts as one feature); a row that exceeds it is a chunk of its own.
    labels_required : bool
        Whether tables and JSON lines must have labels, and pairs of files their label file. The
        other formats allow rows without labels in any case.
    text_expected : bool, optional
        What a first line is that looks like numbers, a comment or a brace, if neither `format` nor
        the name says, and labels are not required: numbers if False. If True, it is a plain text,
        unless all lines are rows of numbers, and the first one has two features or is a header. By
        default it is a text if any other line is one.

    Returns
    -------
    ExampleReader

    Raises
    ------
    OSError
        If the file cannot be opened.
    FileFormatError
        If the file is empty, its header is malformed, its format is unknown, or a column is
        missing.
    ParameterError
        If a parameter is out of its domain, or `path` has the wrong type.
    MissingDependencyError
        If the format is Parquet or Arrow and pyarrow is not installed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pets.csv")
    ...     _ = path.write_text("what,kind\na red cat,cat; red\n")
    ...     with open_examples(path, columns=Columns(("what",), ("kind",))) as reader:
    ...         [(chunk.text, chunk.labels) for chunk in reader]
    [(['a red cat'], [('cat', 'red')])]
    """
    integer("chunk_size", chunk_size, 1, None)
    integer("max_chunk_nnz", max_chunk_nnz, 1, None)
    with ExitStack() as resources:
        request = _Request(columns or Columns(), labels_required, text_expected, resources, Meter())
        if is_dataset(path):
            shown_path, chosen = "data set", "datasets"
            contents = read_dataset(
                shown_path, path, request.columns, labels_required=labels_required
            )
        elif not isinstance(path, str | bytes | os.PathLike):
            raise ParameterError(
                f"path is a {type(path).__name__}; expected the name of a file, or a data set of "
                "the package datasets (one split of a DatasetDict); pass columns to fit directly"
            )
        else:
            shown_path, chosen, contents = _opened(os.fsdecode(path), format, request)
        return ExampleReader(
            shown_path,
            chosen,
            contents,
            resources.pop_all(),
            request.meter,
            chunk_size,
            max_chunk_nnz,
        )


def read_examples(
    path: str | os.PathLike[str] | Any,
    format: str | None = None,
    *,
    columns: Columns | None = None,
) -> Examples:
    r"""Read a whole data file into memory.

    Parameters
    ----------
    path, format, columns
        As in `open_examples`.

    Returns
    -------
    labelgrove.data.Examples
        All rows of the file.

    Raises
    ------
    OSError, ParameterError, MissingDependencyError
        As from `open_examples`.
    FileFormatError
        Likewise, and at the first malformed row.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pets.ft")
    ...     _ = path.write_text("__label__cat __label__red a red cat\n")
    ...     examples = read_examples(path)
    >>> examples.text, examples.labels
    (['a red cat'], [('cat', 'red')])
    """
    with open_examples(
        path, format, columns=columns, chunk_size=_ALL, max_chunk_nnz=_ALL
    ) as reader:
        [examples] = reader
    return examples


@dataclass(frozen=True)
class _Request:
    """Settings for reading a file."""

    columns: Columns
    labels_required: bool
    text_expected: bool | None
    resources: ExitStack
    meter: Meter


def _opened(name: str, format: str | None, request: _Request) -> tuple[str, str, Contents]:
    """Return the name for messages, the format and the contents of a file."""
    if not name:
        raise ParameterError("the name is empty; expected that of a file")
    chosen = check_format(format) if format is not None else format_from_name(name)
    if chosen in UNSTREAMED:
        if name == "-":
            raise ParameterError(f"{chosen} cannot be read from standard input; expected a file")
        _refuse_columns(chosen, request.columns)
        return name, chosen, _unstreamed_contents(name, chosen, request)
    shown_path = STDIN if name == "-" else name
    source = LineSource(shown_path, open_pieces(name, request.resources, request.meter))
    if not source.peek(1):
        raise FileFormatError(shown_path, None, "the file is empty; expected examples")
    chosen = chosen or format_from_content(
        source,
        request.columns,
        labels_required=request.labels_required,
        text_expected=request.text_expected,
    )
    if chosen == "tsv" and format is None and not request.columns.are_given and is_annif(source):
        chosen = "annif"
    _refuse_columns(chosen, request.columns)
    return shown_path, chosen, _streamed_contents(source, chosen, request)


def _refuse_columns(chosen: str, columns: Columns) -> None:
    if columns.are_given and chosen not in _WITH_COLUMNS:
        raise ParameterError(
            f"columns: the format {chosen} has none; expected one of {', '.join(_WITH_COLUMNS)}"
        )


def _unstreamed_contents(path: str, chosen: str, request: _Request) -> Contents:
    columns, resources, required = request.columns, request.resources, request.labels_required
    if chosen == "parquet":
        return read_parquet(path, columns, resources, labels_required=required)
    if chosen == "arrow":
        return read_arrow(path, columns, resources, labels_required=required)
    if chosen == "xmlc-pair":
        return read_pair(path, resources, labels_required=required)
    if chosen == "folder":
        return read_folder(path, labels_required=required)
    if chosen == "mapped":
        return read_mapped(path)
    return read_npz(path, labels_required=required)


def _streamed_contents(source: LineSource, chosen: str, request: _Request) -> Contents:
    columns, required = request.columns, request.labels_required
    if chosen in DELIMITERS:
        return read_csv(source, columns, DELIMITERS[chosen], labels_required=required)
    if chosen == "xmlc":
        return read_xmlc(source)
    if chosen == "svmlight":
        return read_svmlight(source)
    if chosen == "fasttext":
        return read_fasttext(source)
    if chosen == "annif":
        return read_annif(source)
    return read_jsonl(source, columns, labels_required=required)
