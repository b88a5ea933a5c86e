"""CSV and TSV tables: a line of column names, then one example per row.

Fields that contain separators, quotes or line breaks are in double quotes. The columns of a .csv
file may also be separated by semicolons or tabs, as written by spreadsheets in many countries: the
first separator that yields the expected columns is used, or the one that a first line such as
``sep=;`` tells Excel. Empty lines are skipped.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, Generic, NamedTuple, TypeVar

from labelgrove._errors import FileFormatError
from labelgrove.data._chunks import Contents, Piece
from labelgrove.data._columns import Columns, labels_of, text_of
from labelgrove.data._limits import MAX_LINE_BYTES
from labelgrove.data._lines import LineSource
from labelgrove.data._rows import RowError
from labelgrove.data._text_rows import Collected

#: Separators of columns by format, in order of preference.
DELIMITERS = {"csv": ",;\t", "tsv": "\t"}

_FOR_EXCEL = re.compile(r"sep=([,;|\t])\n")

_SEPARATING = re.compile(r"[^\w\s]")

_QUOTES = "expected quotes around a field to begin right after the separator"

T = TypeVar("T")


def read_csv(
    source: LineSource, columns: Columns, delimiters: str, *, labels_required: bool = True
) -> Contents:
    """Open a table; without `labels_required`, it may lack label columns."""
    # Python limits fields to 128 KiB, for the whole process; texts may be longer.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE_BYTES))
    lines = decoded_lines(source.path, source.lines())

    def choose(names: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return columns.of_text(names), columns.of_labels(names, labels_required)

    header = split_header(source.path, lines, delimiters, choose)
    text, labels = header.choice
    # Annif separates the URIs of this column by blanks.
    separator = columns.split_by(" " if labels == ("subject_uris",) else ";")
    pieces = _pieces(source, lines, header, text, labels, separator)
    return Contents(pieces, is_text=True, labels_are_int=False)


class Header(NamedTuple, Generic[T]):
    """The line that names the columns, its number, and what was chosen among the names."""

    delimiter: str
    names: list[str]
    choice: T
    line: int


def split_header(
    path: str, lines: Iterator[str], delimiters: str, choose: Callable[[list[str]], T]
) -> Header[T]:
    """Return the header, split by the first separator whose columns can be used.

    `choose` selects columns by name, and raises RowError if it misses one.
    """
    line, header = 1, next(lines, "")
    while header == "\n":
        line, header = line + 1, next(lines, "")
    if told := _FOR_EXCEL.fullmatch(header):
        line, header, delimiters = line + 1, next(lines, ""), told[1]
    problem = None
    for delimiter in delimiters:
        names = []
        try:
            names = _names(header, delimiter)
            return Header(delimiter, names, choose(names), line)
        except RowError as error:
            if problem is None or len(names) > 1:  # of this separator, if it separates something
                problem = error
    if _SEPARATING.search(header) and not any(one in header for one in delimiters):
        allowed = " or ".join("tabs" if one == "\t" else f"'{one}'" for one in delimiters)
        problem = RowError(f"{problem}; columns are separated by {allowed}")
    raise FileFormatError(path, line, f"in the line that names the columns {problem}")


def delimiter_of(line: str, columns: Columns) -> str | None:
    """Return the separator of columns, if the line surely names some or is Excel's; else None.

    There are several names then, with those of text and of labels among them; with that of text
    only if it has been given, as by a model.
    """
    if told := _FOR_EXCEL.fullmatch(f"{line}\n"):
        return told[1]
    is_given = bool(columns.text or (columns.of_model is not None and columns.of_model.text))
    for delimiter in DELIMITERS["csv"]:
        with suppress(RowError):
            names = _names(line, delimiter)
            columns.of_text(names)
            columns.of_labels(names, required=not is_given)
            if len(names) > 1:
                return delimiter
    return None


def _names(header: str, delimiter: str) -> list[str]:
    if "\r" in header:
        raise RowError("is a carriage return; expected lines to end with a line feed")
    try:
        [names] = csv.reader([header], delimiter=delimiter, strict=True)
    except (csv.Error, ValueError):
        raise RowError("quotes do not match; expected names of columns") from None
    names = [name.strip() for name in names]
    for name, times in Counter(names).items():
        if name and times > 1:
            raise RowError(f"{name!r} occurs twice; expected every name once")
    return names


def problem_of(error: csv.Error, delimiter: str) -> str:
    """Return the message for an error of Python's, which shows a tab as it is."""
    kind, reason = "TSV" if delimiter == "\t" else "CSV", str(error).replace("'\t'", "a tab")
    return f"not {kind} ({reason})"


def decoded_lines(path: str, lines: Iterable[tuple[int, bytes]]) -> Iterator[str]:
    """Yield the numbered lines of a file as text, each with its line break."""
    for number, line in lines:
        try:
            yield line.decode("utf-8") + "\n"
        except UnicodeDecodeError as error:
            raise FileFormatError(
                path,
                number,
                f"byte {error.start + 1} of the line is not UTF-8; expected UTF-8 text (a "
                "spreadsheet saves it as 'CSV UTF-8', and iconv converts)",
            ) from None


def _pieces(
    source: LineSource,
    lines: Iterator[str],
    header: Header[Any],
    text: tuple[str, ...],
    labels: tuple[str, ...],
    separator: str | None,
) -> Iterator[Piece]:
    """Yield rows in pieces, including all rows before a malformed one.

    A piece also ends with the lines read so far, as those of a pipe may be all for now.
    """
    delimiter, names = header.delimiter, header.names
    taken: list[str] = []
    reader = csv.reader(_noted(lines, taken), delimiter=delimiter, strict=True)
    rows = Collected()
    while True:
        line = header.line + reader.line_num + 1
        taken.clear()
        try:
            fields = next(reader, None)
            if fields is None:
                break
            if not fields:
                continue
            if len(fields) != len(names):
                raise RowError(
                    f"the row has {len(fields)} fields; expected {len(names)}, one for each column"
                    + _about_quotes(fields, len(names), delimiter, taken)
                )
            if len(taken) > 1 and delimiter == "\t" and _are_rows(taken, len(names)):
                raise RowError(
                    f"a field in double quotes ends in line {line + len(taken) - 1}, and each line "
                    "up to there could be a row; expected a text that begins with a double quote "
                    "to be in double quotes, with those inside doubled"
                )
            row = dict(zip(names, fields, strict=True))
            if any(_is_quoted_late(row[name], taken) for name in labels):
                raise RowError(f"labels begin with a blank and a double quote; {_QUOTES}")
            rows.add(labels_of(row, labels, separator), text_of(row, text), line)
        except (RowError, csv.Error, FileFormatError) as error:
            yield rows.take()
            if isinstance(error, FileFormatError):
                raise
            reason = problem_of(error, delimiter) if isinstance(error, csv.Error) else str(error)
            raise FileFormatError(source.path, line, reason) from None
        if rows.is_full or header.line + reader.line_num == source.last_line:
            yield rows.take()
    yield rows.take()


def _about_quotes(fields: list[str], expected: int, delimiter: str, lines: list[str]) -> str:
    """Return what may be wrong with the quotes of a row that has too many or too few fields."""
    if any(_is_quoted_late(field, lines) for field in fields):
        return f" ({_QUOTES})"
    if len(fields) < expected:
        return ""
    within = "a tab" if delimiter == "\t" else f"'{delimiter}'"
    return f" (a field that contains {within} must be in double quotes)"


def _is_quoted_late(field: str, lines: list[str]) -> bool:
    """Return whether blanks made an opening quote, after a separator, part of the field."""
    if field[:1] != " " or field.lstrip(" ")[:1] != '"':
        return False
    quoted = field.replace('"', '""')
    return f'"{quoted}"' not in "".join(lines)


def _noted(lines: Iterator[str], taken: list[str]) -> Iterator[str]:
    """Yield the lines, recording each in `taken`."""
    for line in lines:
        taken.append(line)
        yield line


def _are_rows(lines: list[str], n_columns: int) -> bool:
    """Return whether tab-separated lines look like separate rows, of several columns."""
    return n_columns > 1 and all(line.count("\t") == n_columns - 1 for line in lines)
