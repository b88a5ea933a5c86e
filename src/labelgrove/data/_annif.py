r"""Annif's corpora: lines of ``text<TAB><uri> <uri>``, or a folder with a .txt file for each text.

In a folder, the labels of NAME.txt are in NAME.tsv, as lines of ``<uri><TAB>name``, or else in
NAME.key, one per line. The suffixes may be upper case. Texts are read in the order of their file
names.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from labelgrove._errors import FileFormatError
from labelgrove._paths import named
from labelgrove.data._chunks import Contents, Piece
from labelgrove.data._limits import MAX_LINE_BYTES
from labelgrove.data._lines import LineSource
from labelgrove.data._rows import RowError, shown
from labelgrove.data._text_rows import Collected, decoded, text_pieces

_TEXTS = (".txt", ".TXT")
_LABELS = (".tsv", ".key")


def read_annif(source: LineSource) -> Contents:
    """Open a file of ``text<TAB><uri> <uri>`` lines."""
    return Contents(text_pieces(source, decoded(_parse_line)), is_text=True, labels_are_int=False)


def _parse_line(line: str) -> tuple[tuple[str, ...], str]:
    text, tab, uris = line.partition("\t")
    if not tab:
        raise RowError("there is no tab; expected text, a tab, and labels such as <uri> <uri>")
    tokens = uris.split()
    bare = [token for token in tokens if not token.startswith("<")]
    if bare and len(bare) < len(tokens):
        raise RowError(f"{shown(bare[0])} is mixed with URIs in angle brackets; expected <uri>")
    return tuple(dict.fromkeys(map(uri_in, tokens))), text


def uri_in(token: str) -> str:
    """Remove the angle brackets around a URI, if any; raises RowError.

    >>> uri_in("<http://www.yso.fi/onto/yso/p1265>")
    'http://www.yso.fi/onto/yso/p1265'
    """
    uri = token[1:-1] if token.startswith("<") and token.endswith(">") else token
    if not uri or "<" in uri or ">" in uri:
        raise RowError(f"{shown(token)} is not a label; expected <uri>")
    return uri


def read_folder(path: str, *, labels_required: bool = True) -> Contents:
    """Open a folder of texts; without `labels_required`, label files may be missing."""
    texts = _texts_in(path)
    if not texts:
        raise FileFormatError(path, None, "the folder holds no texts; expected files NAME.txt")
    return Contents(
        _folder_pieces(texts, labels_required),
        is_text=True,
        labels_are_int=False,
        labels_may_be_names=True,
        declared_rows=len(texts),
    )


def files_in(path: str) -> list[Path]:
    """Return the files of a folder that `read_folder` reads: texts, each with its labels."""
    files = ((text, _label_file(text)) for text in _texts_in(path))
    return [file for pair in files for file in pair if file is not None]


def _texts_in(path: str) -> list[Path]:
    return sorted(file for file in Path(path).iterdir() if file.suffix in _TEXTS)


def _label_file(text: Path) -> Path | None:
    files = (text.with_suffix(suffix) for suffix in (*_LABELS, *map(str.upper, _LABELS)))
    return next((file for file in files if file.is_file()), None)


def _folder_pieces(texts: list[Path], labels_required: bool) -> Iterator[Piece]:
    rows = Collected()
    for number, file in enumerate(texts, 1):
        try:
            rows.add(_labels_beside(file, labels_required), _content(file), number)
        except FileFormatError:
            yield rows.take()
            raise
        if rows.is_full:
            yield rows.take()
    yield rows.take()


def _labels_beside(text: Path, required: bool) -> tuple[str, ...]:
    file = _label_file(text)
    if file is None:
        if required:
            names = (shown(text.with_suffix(suffix).name) for suffix in _LABELS)
            raise FileFormatError(
                text, None, f"has no labels; expected {' or '.join(names)} beside it"
            )
        return ()
    lines = _content(file).split("\n")
    if file.suffix.lower() == ".key":
        return tuple(dict.fromkeys(filter(None, map(str.strip, lines))))
    found: dict[str, None] = {}
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                found[uri_in(line.partition("\t")[0].strip())] = None
            except RowError as error:
                raise FileFormatError(file, number, str(error)) from None
    return tuple(found)


def _content(file: Path) -> str:
    with named(file), file.open("rb") as stream:
        content = stream.read(MAX_LINE_BYTES + 1)
    if len(content) > MAX_LINE_BYTES:
        raise FileFormatError(file, None, f"is longer than {MAX_LINE_BYTES} bytes; is it a text?")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FileFormatError(file, line, "is not UTF-8 here; expected UTF-8 text") from None
