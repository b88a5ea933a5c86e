"""Labelled examples from a file or standard input: one or more passes, shuffled or limited."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelgrove._errors import FileFormatError, ParameterError
from labelgrove._names import integer_in
from labelgrove._paths import is_there
from labelgrove.cli._options import AS_FOUND, Reading
from labelgrove.cli.streams._console import say_warning
from labelgrove.cli.streams._progress import ProgressLine
from labelgrove.cli.streams._units import warn_of_units
from labelgrove.data import ExampleReader, Examples, open_dataset, open_examples
from labelgrove.data._open import begins_as_model
from labelgrove.vocabulary import Vocabulary

AnyLabels = list[tuple[str, ...]] | list[tuple[int, ...]]

#: Rows per chunk for prediction, and for learning from standard input, which may be slow.
CHUNK_ROWS = 1024

#: Rows per chunk for learning from a file; larger, since threads synchronise between chunks.
LEARNING_ROWS = 4096

#: Chunks read ahead while another is being learnt.
_AHEAD = 2

T = TypeVar("T")


class Source:
    """A file of labelled examples, to iterate over once or several times; ``-`` is standard input.

    With a ``shuffle_seed``, everything is read into memory, and each pass shuffled anew.
    ``labels_required`` and ``text_expected`` are those of `open_examples`. A ``vocabulary`` maps
    names to labels in data that may name labels instead of giving their ids. If labels are
    ``numbered``, integers for the model, strings are read as such. Examples ``to_learn`` come in
    larger chunks from a file, and a warning tells if the first have features in far larger units.
    """

    def __init__(
        self,
        path: str,
        *,
        reading: Reading = AS_FOUND,
        limit: int | None = None,
        shuffle_seed: int | None = None,
        labels_required: bool = True,
        text_expected: bool | None = None,
        vocabulary: Vocabulary | None = None,
        numbered: bool = False,
        to_learn: bool = False,
    ) -> None:
        self.path = path
        self.columns = reading.columns
        self._chunk_rows = LEARNING_ROWS if to_learn and path != "-" else CHUNK_ROWS
        self._warns_of_units = to_learn
        self._vocabulary = vocabulary
        self._numbered = numbered
        self._open_again = partial(
            open_examples,
            path,
            reading.format,
            columns=reading.columns,
            chunk_size=min(self._chunk_rows, limit or self._chunk_rows),
            labels_required=labels_required,
            text_expected=text_expected,
        )
        self._limit = limit
        self._random = None if shuffle_seed is None else np.random.default_rng(shuffle_seed)
        self._kept: Examples | None = None
        self._files = ExitStack()
        self._reader = self._open()
        self._next: ExampleReader | None = self._reader
        self.is_text = self._next.is_text
        self.total = self._next.declared_rows
        if self.total is not None and limit is not None:
            self.total = min(self.total, limit)

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self._files.close()

    def share_read(self) -> float | None:
        """Return the share of the file read so far, from 0 to 1; None if unknown."""
        return self._reader.share_read

    def progress(self, title: str) -> ProgressLine:
        """Return a line that shows how much of the file has been read."""
        return ProgressLine(title, self.total, self.share_read)

    def check_passes(self, passes: int) -> None:
        """Refuse several passes over standard input, unless examples are kept in memory."""
        if passes > 1 and self._random is None:
            expected = "give a file, or --shuffle, which keeps all examples in memory"
            self.refuse_pipe(f"--passes {passes}", expected)

    def refuse_pipe(self, option: str, expected: str = "give a file") -> None:
        """Refuse an option for which the examples must be read more than once."""
        if self.path == "-" or Path(self.path).is_fifo():
            what = "standard input" if self.path == "-" else f"{self.path}, a pipe,"
            raise ParameterError(f"{option}: {what} can be read only once; {expected}")

    def chunks(self) -> Iterator[Examples]:
        """Yield all examples once, in chunks."""
        parts = self._file_chunks() if self._random is None else self._shuffled_chunks()
        seen = 0
        for part in parts:
            self._warn_once(part.X)
            seen += part.n_rows
            yield part
        self.total = seen

    def ahead(self, items: Iterator[T], threads: int) -> Iterator[T]:
        """Prepare the items in a separate thread, a few ahead of the consumer.

        Only if there is a thread to spare, and if reading cannot block for ever, as it can on a
        pipe. Closing this generator waits for the item being prepared, then drops the rest.
        """
        if threads < 2 or self.share_read() is None:
            yield from items
            return
        thread = ThreadPoolExecutor(1)
        try:
            coming = deque(thread.submit(next, items, None) for _ in range(_AHEAD))
            while (item := coming.popleft().result()) is not None:
                coming.append(thread.submit(next, items, None))
                yield item
        finally:
            thread.shutdown(cancel_futures=True)

    def whole(self, line: ProgressLine | None = None) -> Examples:
        """Read all examples. A mapped data set stays on disk, unless its labels must be replaced.

        ``line`` shows how many have been read so far.
        """
        is_whole = self._limit is None and self._random is None
        has_labels = not (self._may_name_labels or self._must_number_labels)
        if self._reader.format == "mapped" and is_whole and has_labels:
            dataset = open_dataset(self.path, verify=False)  # already verified by the reader
            self.total = len(dataset)
            self._warn_once(dataset.X)
            return Examples(
                dataset.X,
                dataset.text,
                dataset.labels,
                first_line=1,
                lines=np.arange(1, len(dataset) + 1),
            )
        return joined(list(self.chunks() if line is None else line.over(self.chunks())))

    def _warn_once(self, X: sp.csr_array | None) -> None:
        if self._warns_of_units and X is not None:
            warn_of_units(X[:CHUNK_ROWS])
        self._warns_of_units = False

    @property
    def _may_name_labels(self) -> bool:
        return self._vocabulary is not None and self._reader.labels_may_be_names

    @property
    def _must_number_labels(self) -> bool:
        return self._numbered and not self._reader.labels_are_int

    def _open(self) -> ExampleReader:
        return self._files.enter_context(self._open_again())

    def _file_chunks(self) -> Iterator[Examples]:
        reader, self._next = self._next or self._open(), None
        self._reader = reader
        left = self._limit
        for part in map(self._identified, reader):
            if left is None:
                yield part
                continue
            yield rows(part, slice(0, left))
            left -= part.n_rows
            if left <= 0:
                return
        if reader.has_changed:
            say_warning(
                f"{self.path}: this file changed while it was being read; expected it to stay the "
                "same"
            )

    def _identified(self, part: Examples) -> Examples:
        """Replace names, as in Annif's NAME.key files, by label ids, or digits by integers."""
        if self._must_number_labels:
            lines = zip(part.lines.tolist(), part.labels, strict=True)
            return replace(part, labels=[tuple(self._integers(*line)) for line in lines])
        if not self._may_name_labels:
            return part
        assert self._vocabulary is not None
        find = self._vocabulary.id_of
        labels = [tuple(dict.fromkeys(find(str(label)) for label in row)) for row in part.labels]
        return replace(part, labels=labels)

    def _integers(self, line: int, labels: Iterable[Any]) -> Iterator[int]:
        for label in labels:
            number = integer_in(label)
            if number is None:
                raise FileFormatError(
                    self.path,
                    line,
                    f"found the label {label!r:.80}; expected an integer, as the model's labels "
                    "are",
                )
            yield number

    def _shuffled_chunks(self) -> Iterator[Examples]:
        assert self._random is not None
        if self._kept is None:
            self._kept = joined(list(self._file_chunks()))
            self._files.close()
        order = self._random.permutation(self._kept.n_rows)
        for start in range(0, len(order), self._chunk_rows):
            yield rows(self._kept, order[start : start + self._chunk_rows])


def check_inputs(parameters: Mapping[str, Any]) -> None:
    """Refuse a command line that names the examples first and the model last.

    ``parameters`` are all of the command's, before anything is read.
    """
    model, data = parameters.get("model_file"), parameters.get("data")
    if (
        isinstance(data, str)
        and isinstance(model, str)
        and begins_as_model(data)
        and is_there(model)
        and not begins_as_model(model)
    ):
        raise ParameterError(f"{model} is not a model, but {data} is; expected MODEL before DATA")


def rows(examples: Examples, chosen: slice | NDArray[np.int64]) -> Examples:
    """Select rows, in the given order."""
    numbers = np.arange(examples.n_rows)[chosen]
    lines = examples.lines[numbers]
    return Examples(
        X=None if examples.X is None else examples.X[chosen],
        text=None if examples.text is None else [examples.text[i] for i in numbers],
        labels=cast(AnyLabels, [examples.labels[i] for i in numbers]),
        first_line=int(lines[0]) if len(lines) else examples.first_line,
        lines=lines,
    )


def joined(parts: list[Examples]) -> Examples:
    """Concatenate chunks; the widest one determines the number of features."""
    vectors = [part.X for part in parts if part.X is not None]
    width = max((X.shape[1] for X in vectors), default=0)
    for X in vectors:
        X.resize((X.shape[0], width))
    return Examples(
        X=sp.vstack(vectors, format="csr") if vectors else None,
        text=[text for part in parts for text in part.text or ()] if not vectors else None,
        labels=cast(AnyLabels, [row for part in parts for row in part.labels]),
        first_line=parts[0].first_line,
        lines=np.concatenate([part.lines for part in parts]),
    )
