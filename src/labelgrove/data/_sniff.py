"""Detection of a file's format from its name or, failing that, from its first lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from labelgrove._errors import FileFormatError, ParameterError
from labelgrove._paths import followed
from labelgrove.data._annif import files_in
from labelgrove.data._columns import Columns
from labelgrove.data._csv import delimiter_of
from labelgrove.data._lines import LineSource, has_line
from labelgrove.data._mapped import parts_of
from labelgrove.data._npz import pair_of
from labelgrove.data._open import split_compression
from labelgrove.data._pair import is_pair, sides_of

#: Names of the formats: the values of the argument `format`.
FORMATS = (
    *("jsonl", "csv", "tsv", "fasttext", "annif", "folder", "parquet", "arrow"),
    *("xmlc", "xmlc-pair", "svmlight", "npz", "mapped"),
)

#: Formats that cannot be read from a stream, and whose files must not be compressed again.
UNSTREAMED = ("npz", "parquet", "arrow", "folder", "xmlc-pair", "mapped")

_SUFFIXES = {
    ".xmlc": "xmlc",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".ft": "fasttext",
    ".fasttext": "fasttext",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".npz": "npz",
}
_HEAD_BYTES = 1 << 16
_LABEL = b"__label__"
_FEATURE = rb"\d+:[-+.\d]\S*"
_SVMLIGHT_ROW = re.compile(rb"#|" + _FEATURE + rb"(?:[ \t]|$)|[-+]\d+[ \t]+" + _FEATURE)
_PAIR = re.compile(rb"(?:^|[ \t])" + _FEATURE)
_OBJECT = re.compile(rb'\s*\{\s*(?:"(?:[^"\\]|\\.)*"\s*:|\}\s*$)')  # of JSON, not of a text
_BRACKET = re.compile(rb"\s*\[\s*[^\[{\]\"\s]")  # of a text, not of an array of examples
_ANNIF_ROW = re.compile(rb"[^\t]*\t[ \t]*<[^<>\s]+>(?:\s|$)")
_HEADER = re.compile(rb"\s*\d+[ \t]+\d+[ \t]+\d+\s*")  # of xmlc; or a text of three numbers
_XMLC_ROW = re.compile(rb"(?:\d+(?:,\d+)*)?(?:[ \t]+\d+(?::\S*)?)*[ \t]*")


def check_format(name: str) -> str:
    """Return `name` if it is one of FORMATS, or raise a ParameterError."""
    if name not in FORMATS:
        raise ParameterError(f"format is {name!r}; expected one of {', '.join(FORMATS)}")
    return name


def format_from_name(path: str) -> str | None:
    """Return the format denoted by the name's suffix, ignoring a final .gz, .bz2, .xz or .zst.

    The format of a folder is mapped or folder. Names such as NAME.npz.gz are refused, since the
    format is compressed internally.
    """
    if path != "-" and Path(path).is_dir():
        return "mapped" if parts_of(path) else "folder"  # even if it lacks its header
    if is_pair(path):
        return "xmlc-pair"
    stem, compression = split_compression(path)
    suffix = Path(stem).suffix.lower()
    found = _SUFFIXES.get(suffix)
    if found in UNSTREAMED and compression:
        raise ParameterError(
            f"{path}: a {suffix} file must not be compressed again; expected a name that ends in "
            f"{suffix}"
        )
    return found


def files_of(path: str, format: str | None = None) -> list[Path]:
    """Return the resolved paths of the files that a name stands for: one, a pair or a folder's.

    Of a folder these are only the files that are read; if there is none, an OSError is raised.
    """
    chosen = format_from_name(path) if format is None else check_format(format)
    files: Sequence[str | Path] = [path]
    if chosen == "folder":
        files = files_in(path)
    elif chosen == "mapped":
        files = parts_of(path)
    elif chosen == "npz":
        files = pair_of(path)
    elif chosen == "xmlc-pair":
        files = sides_of(path)
    return [followed(file) for file in files]


def format_from_content(
    source: LineSource,
    columns: Columns,
    *,
    labels_required: bool = True,
    text_expected: bool | None = None,
) -> str:
    """Guess the format from the beginning of the file, or raise a FileFormatError.

    Tables are recognised by the names of these columns in the first line.

    Rows of numbers that are valid in both xmlc and svmlight are taken as xmlc. If no labels are
    required, lines of no other format are taken as fastText texts without labels. If text is not
    expected, the first line then tells whether they are numbers; else all lines must be, and if it
    is, the first must have two features, or be a header before a row with one.
    """
    if found := _table(source.peek(_HEAD_BYTES, has_line), columns):
        return found
    if not labels_required:
        return _unlabelled_format(source, text_expected)
    found = _looks_like(source.peek(_HEAD_BYTES, _is_settled))
    if found is None:
        raise FileFormatError(
            source.path,
            1,
            "the format cannot be determined from the name or the content; expected --format (in "
            f"Python, format=...) to be one of {', '.join(FORMATS)}",
        )
    return found


def is_annif(source: LineSource) -> bool:
    """Return whether a TSV file begins like Annif's, with text and URIs, not with column names."""
    first = source.peek(_HEAD_BYTES, has_line).lstrip().partition(b"\n")[0]
    return _ANNIF_ROW.match(first) is not None


def _table(head: bytes, columns: Columns) -> str | None:
    """Return the format of a table whose first line names columns, or None."""
    delimiter = delimiter_of(_lines_of(head)[1].decode("utf-8", "replace"), columns)
    return delimiter and ("tsv" if delimiter == "\t" else "csv")


def _looks_like(head: bytes) -> str | None:
    """Return the format of the first line, unless fastText's labels are in another one."""
    lines, first = _lines_of(head)
    if first.lstrip().startswith((b"{", b"[")):
        return "jsonl"
    return _labelled(lines, first) or _numbers_in([first])


def _is_settled(head: bytes) -> bool:
    """Return whether no later line can change the format, since a pipe may be slow."""
    return has_line(head) and _looks_like(head) in {"jsonl", "fasttext"}


def _unlabelled_format(source: LineSource, text_expected: bool | None) -> str:
    """Return the format as soon as no later line can change it, since a pipe may be slow."""
    changeable = {"annif"} if text_expected is False else {"annif", "xmlc", "svmlight"}

    def is_settled(head: bytes) -> bool:
        if not has_line(head) or (text_expected and _HEADER.fullmatch(head.rpartition(b"\n")[0])):
            return False  # a row tells
        return _unlabelled_looks_like(head, text_expected) not in changeable

    return _unlabelled_looks_like(source.peek(_HEAD_BYTES, is_settled), text_expected)


def _unlabelled_looks_like(head: bytes, text_expected: bool | None) -> str:
    """Return the format of lines that may be plain texts, which is read as fastText is."""
    lines, first = _lines_of(head)
    if first.lstrip().startswith(b"{"):
        if not text_expected or _OBJECT.match(first):
            return "jsonl"
    elif first.lstrip().startswith(b"[") and not _BRACKET.match(first):
        return "jsonl"
    if text_expected is False and (numbers := _numbers_in([first])):
        return numbers
    if found := _labelled(lines, first):
        return found
    rows = [line for line in lines if line.strip()]
    if text_expected and not _begin_as_features_do(rows):
        return "fasttext"
    return _numbers_in(rows) or "fasttext"


def _begin_as_features_do(rows: list[bytes]) -> bool:
    """Return whether the first row has two features, or follows a header and has one."""
    if len(rows) > 1 and _HEADER.fullmatch(rows[0]):
        return _PAIR.search(rows[1]) is not None
    return bool(rows) and len(_PAIR.findall(rows[0])) > 1


def _lines_of(head: bytes) -> tuple[list[bytes], bytes]:
    """Return the whole lines, or else the beginning of one, and the first that is not empty."""
    whole_lines = head.rpartition(b"\n")[0] or head
    lines = [line.rstrip(b"\r") for line in whole_lines.split(b"\n")]
    return lines, next((line for line in lines if line.strip()), b" ")


def _labelled(lines: list[bytes], first: bytes) -> str | None:
    if any(line.lstrip().startswith(_LABEL) for line in lines):
        return "fasttext"
    return "annif" if _ANNIF_ROW.match(first) else None


def _numbers_in(rows: list[bytes]) -> str | None:
    """Return the format of rows of numbers; of no rows, as in an empty file, svmlight."""
    if all(map(_SVMLIGHT_ROW.match, rows)):
        return "svmlight"
    return "xmlc" if all(map(_XMLC_ROW.fullmatch, rows)) else None
