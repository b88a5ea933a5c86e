"""Which format a file has, from its name or, where that says nothing, from how it begins."""

from __future__ import annotations

import re
from pathlib import Path

from labelgrove._errors import FileFormatError, ParameterError
from labelgrove.data._lines import LineSource
from labelgrove.data._mapped import is_mapped
from labelgrove.data._npz import pair_of
from labelgrove.data._open import split_compression
from labelgrove.data._pair import is_pair, sides_of

#: Names of the formats, as the argument `format` takes them.
FORMATS = (
    *("jsonl", "csv", "tsv", "fasttext", "annif", "folder", "parquet", "arrow"),
    *("xmlc", "xmlc-pair", "svmlight", "npz", "mapped"),
)

#: Formats that are read from files alone, which are not compressed once more.
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
_ANNIF_ROW = re.compile(rb"[^\t]*\t[ \t]*<[^<>\s]+>(?:\s|$)")
_XMLC_ROW = re.compile(rb"(?:\d+(?:,\d+)*)?(?:[ \t]+\d+(?::\S*)?)*[ \t]*")


def check_format(name: str) -> str:
    """`name`, if it is one of FORMATS.

    Raises
    ------
    ParameterError
        If it is not.
    """
    if name not in FORMATS:
        raise ParameterError(f"format is {name!r}; expected one of {', '.join(FORMATS)}")
    return name


def format_from_name(path: str) -> str | None:
    """Return the format that the name's suffix means, a .gz or .xz behind it left aside.

    A folder's format is mapped or folder.

    Raises
    ------
    ParameterError
        For .npz.gz and the like: such files are compressed inside.
    """
    if path != "-" and Path(path).is_dir():
        return "mapped" if is_mapped(path) else "folder"
    if is_pair(path):
        return "xmlc-pair"
    stem, compression = split_compression(path)
    suffix = Path(stem).suffix.lower()
    found = _SUFFIXES.get(suffix)
    if found in UNSTREAMED and compression:
        raise ParameterError(f"{path}: expected a {suffix} file as it is, not compressed once more")
    return found


def files_of(path: str) -> list[Path]:
    """Return the files that a name stands for, resolved: one, a pair, or what is in a folder."""
    chosen, files = format_from_name(path), [path]
    if chosen in ("folder", "mapped"):
        return sorted(Path(path).resolve().iterdir())
    if chosen == "npz":
        files = list(pair_of(path))
    elif chosen == "xmlc-pair":
        files = list(sides_of(path))
    return [Path(file).resolve() for file in files]


def format_from_content(source: LineSource, *, labels_required: bool = True) -> str:
    """Return the format that the beginning of the file looks like.

    Rows of numbers that both xmlc and svmlight may hold are taken for xmlc. Where no labels are
    required, lines that look like nothing else are texts: fastText's, without labels.

    Raises
    ------
    FileFormatError
        If it looks like none.
    """
    head = source.peek(_HEAD_BYTES)
    found = _looks_like(head)
    if found is None and not labels_required:
        found = "fasttext"
    if found is None:
        raise FileFormatError(
            source.path,
            1,
            "neither the name nor the content tells the format; expected format to be one of "
            f"{', '.join(FORMATS)}",
        )
    return found


def is_annif(source: LineSource) -> bool:
    """Tell whether a file of tabs begins as Annif's do, with text and URIs, and not with names."""
    first = source.peek(_HEAD_BYTES).lstrip().partition(b"\n")[0]
    return _ANNIF_ROW.match(first) is not None


def _looks_like(head: bytes) -> str | None:
    whole_lines = head.rpartition(b"\n")[0] or head
    lines = [line.rstrip(b"\r") for line in whole_lines.split(b"\n")]
    first = next((line for line in lines if line.strip()), b" ")
    if first.lstrip().startswith((b"{", b"[")):
        return "jsonl"
    if any(line.lstrip().startswith(_LABEL) for line in lines):
        return "fasttext"
    if _ANNIF_ROW.match(first):
        return "annif"
    if _SVMLIGHT_ROW.match(first):
        return "svmlight"
    return "xmlc" if _XMLC_ROW.fullmatch(first) else None
