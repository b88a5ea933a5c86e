"""Opening a data file of any format and iterating over it in chunks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from types import TracebackType

from labelgrove._errors import DataError, FileFormatError, ParameterError
from labelgrove.data._chunks import Contents, rechunk
from labelgrove.data._examples import Examples
from labelgrove.data._fasttext import read_fasttext
from labelgrove.data._jsonl import read_jsonl
from labelgrove.data._lines import LineSource
from labelgrove.data._npz import read_npz
from labelgrove.data._open import STDIN, open_pieces
from labelgrove.data._sniff import check_format, format_from_content, format_from_name
from labelgrove.data._svmlight import read_svmlight
from labelgrove.data._xmlc import read_xmlc

_DEFAULT_CHUNK_NNZ = 8_000_000
_ALL = 2**62


class ExampleReader:
    r"""A data file, open for reading: a context manager to iterate over once.

    `open_examples` makes these.

    Attributes
    ----------
    path : str
        The file as errors name it; ``<stdin>`` for standard input.
    format : str
        One of `labelgrove.data.FORMATS`.
    is_text : bool
        Whether the chunks hold text rather than features.
    labels_are_int : bool
        Whether the labels are integers rather than strings.
    declared_rows, declared_features, declared_labels : int or None
        What the file says of itself, where it does.

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
        chunk_size: int,
        max_chunk_nnz: int,
    ) -> None:
        self.path = path
        self.format = format
        self.is_text = contents.is_text
        self.labels_are_int = contents.labels_are_int
        self.declared_rows = contents.declared_rows
        self.declared_features = contents.declared_features
        self.declared_labels = contents.declared_labels
        self._resources = resources
        self._chunks: Iterator[Examples] | None = rechunk(
            contents.pieces, chunk_size, max_chunk_nnz, contents.declared_features
        )

    def __iter__(self) -> Iterator[Examples]:
        """Hand out the chunks in the file's order.

        Raises
        ------
        FileFormatError
            At the first malformed row, after all chunks before that row's, or if there is no
            example at all.
        DataError
            If the reader has been iterated over or closed before.
        """
        if self._chunks is None:
            raise DataError(f"{self.path}: has been read or closed already; open it once more")
        chunks, self._chunks = self._chunks, None
        return self._checked(chunks)

    def _checked(self, chunks: Iterator[Examples]) -> Iterator[Examples]:
        empty = True
        for chunk in chunks:
            empty = False
            yield chunk
        if empty:
            raise FileFormatError(self.path, None, "holds no examples; expected at least one")

    def close(self) -> None:
        """Close the file; standard input stays open."""
        self._chunks = None
        self._resources.close()

    def __enter__(self) -> ExampleReader:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def open_examples(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    chunk_size: int = 4096,
    max_chunk_nnz: int = _DEFAULT_CHUNK_NNZ,
    labels_required: bool = True,
) -> ExampleReader:
    r"""Open a data file, plain or compressed, for reading in chunks.

    Parameters
    ----------
    path : str or os.PathLike
        The file; ``-`` is standard input. Names ending in .gz or .xz are decompressed, and so is
        what begins like such a file. For .npz see `labelgrove.data` in the reference: the name
        stands for a pair of files.
    format : str, optional
        One of `labelgrove.data.FORMATS`. By default it is recognised by the name (.xmlc, .svm,
        .svmlight, .libsvm, .ft, .fasttext, .jsonl, .ndjson, .npz) or else from the first lines.
    chunk_size : int
        Rows in a chunk; only the last one, and those cut by `max_chunk_nnz`, have fewer.
    max_chunk_nnz : int
        Features and labels (in a text: blocks of eight characters) that a chunk may hold; a row
        with more of them is a chunk of its own.
    labels_required : bool
        Whether JSON lines must have the key ``labels`` and a .npz file its Y. The other formats
        hold rows without labels anyway.

    Returns
    -------
    ExampleReader

    Raises
    ------
    OSError
        If the file cannot be opened.
    FileFormatError
        If the file is empty, its header malformed or its format unknown.
    ParameterError
        If a parameter is out of its domain.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pets.jsonl")
    ...     _ = path.write_text('{"text": "a red cat", "labels": ["cat", 7]}\n')
    ...     with open_examples(path) as reader:
    ...         [(chunk.text, chunk.labels) for chunk in reader]
    [(['a red cat'], [('cat', '7')])]
    """
    for name, value in (("chunk_size", chunk_size), ("max_chunk_nnz", max_chunk_nnz)):
        if not _is_integer(value) or value < 1:
            raise ParameterError(f"{name} is {value!r}; expected a positive integer")
    name = os.fsdecode(path)
    chosen = check_format(format) if format is not None else format_from_name(name)
    with ExitStack() as resources:
        if chosen == "npz":
            if name == "-":
                raise ParameterError("npz cannot be read from standard input; expected a file")
            shown_path, contents = name, read_npz(name, labels_required=labels_required)
        else:
            shown_path = STDIN if name == "-" else name
            source = _line_source(name, shown_path, resources)
            chosen = chosen or format_from_content(source)
            contents = _text_contents(source, chosen, labels_required)
        return ExampleReader(
            shown_path, chosen, contents, resources.pop_all(), chunk_size, max_chunk_nnz
        )


def read_examples(path: str | os.PathLike[str], format: str | None = None) -> Examples:
    r"""Read a whole data file into memory.

    Parameters
    ----------
    path : str or os.PathLike
        As in `open_examples`.
    format : str, optional
        As in `open_examples`.

    Returns
    -------
    labelgrove.data.Examples
        All rows of the file.

    Raises
    ------
    OSError
        If the file cannot be opened.
    FileFormatError
        At the first malformed row, or if there is no example.
    ParameterError
        If `format` is unknown.

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
    with open_examples(path, format, chunk_size=_ALL, max_chunk_nnz=_ALL) as reader:
        [examples] = reader
    return examples


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _line_source(name: str, shown_path: str, resources: ExitStack) -> LineSource:
    source = LineSource(shown_path, open_pieces(name, resources))
    if not source.peek(1):
        raise FileFormatError(shown_path, None, "the file is empty; expected examples")
    return source


def _text_contents(source: LineSource, chosen: str, labels_required: bool) -> Contents:
    if chosen == "xmlc":
        return read_xmlc(source)
    if chosen == "svmlight":
        return read_svmlight(source)
    if chosen == "fasttext":
        return read_fasttext(source)
    return read_jsonl(source, labels_required=labels_required)
