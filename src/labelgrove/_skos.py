"""Reading of SKOS files into graphs, with rdflib."""

from __future__ import annotations

import re
from collections.abc import Iterable
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from labelgrove._errors import FileFormatError, ParameterError
from labelgrove._optional import optional

_FORMATS = {".nt": "nt", ".ttl": "turtle"}

#: Extensions of the files that can be read.
ENDINGS = tuple(_FORMATS)

#: Base for relative IRIs, by which they are detected.
_BASE = "http://relative.invalid/"

_BAD_SYNTAX = re.compile(r"Bad syntax \((.*?)\) at \^", re.DOTALL)


def read_graph(path: str | PathLike[str], purpose: str) -> tuple[Any, Any]:
    """Return the graph of a file, and the module of namespaces, which include SKOS.

    Parameters
    ----------
    path : str or os.PathLike
        A file in N-Triples (``.nt``) or Turtle (``.ttl``).
    purpose : str
        What needs rdflib, for the message if it is not installed.

    Raises
    ------
    MissingDependencyError
        rdflib is not installed.
    FileFormatError
        The file is malformed.
    ParameterError
        The file has another extension.
    OSError
        The file cannot be opened.
    """
    rdflib = optional("rdflib", purpose, "skos")
    ending = Path(path).suffix.lower()
    if ending not in _FORMATS:
        raise ParameterError(f"path={fspath(path)!r}: expected a name that ends in .nt or .ttl")
    content = Path(path).read_bytes()
    graph = rdflib.Graph()
    try:
        # Pass bytes, never a name: rdflib would fetch a name that looks like a URL.
        graph.parse(data=content, format=_FORMATS[ending], publicID=_BASE)
    except MemoryError:
        raise
    except Exception as error:  # rdflib's parsers may raise anything
        # Use the offset, known for Turtle: rdflib itself counts some lines twice.
        offset = getattr(error, "_i", None)
        known = isinstance(error, SyntaxError) and isinstance(offset, int)
        line = content.decode().count("\n", 0, offset) + 1 if known else None
        why = _BAD_SYNTAX.search(str(error))
        message = " ".join((why[1] if why else str(error)).split())
        raise FileFormatError(
            path, line, f"expected RDF in the format {_FORMATS[ending]}: {message:.200}"
        ) from error
    return graph, rdflib.namespace


def require_absolute(path: str | PathLike[str], iris: Iterable[str]) -> None:
    """Refuse a file with relative IRIs and no base for them.

    Raises
    ------
    FileFormatError
    """
    for iri in iris:
        if iri.startswith(_BASE):
            raise FileFormatError(
                path,
                None,
                f"the IRI of {iri[len(_BASE) :]!r:.80} is relative, and the file names no base; "
                "expected absolute ones",
            )
