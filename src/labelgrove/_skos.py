"""Reading of SKOS files into graphs, with rdflib."""

from __future__ import annotations

import codecs
import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from labelgrove._errors import FileFormatError, ParameterError
from labelgrove._optional import optional
from labelgrove._paths import named

_FORMATS = {".nt": "nt", ".ttl": "turtle", ".rdf": "xml"}

#: Extensions of the files that can be read.
ENDINGS = tuple(_FORMATS)

#: Base for relative IRIs, by which they are detected.
_BASE = "http://relative.invalid/"

_NESTED_ENTITY = re.compile(rb"<!ENTITY\s[^>]*&[^#]")
_XML_PLACE = re.compile(r"\S+:(\d+):\d+: ")
_BAD_SYNTAX = re.compile(r"Bad syntax \((.*?)\) at \^", re.DOTALL)


class Statements:
    """The statements of a graph that matter here, in much less memory than rdflib's three indices.

    Its properties come from rdflib's module of namespaces.
    """

    def __init__(self, namespaces: Any) -> None:
        skos = namespaces.SKOS
        names = ("prefLabel", "altLabel", "notation", "broader", "narrower")
        kept = [namespaces.RDF.type, namespaces.OWL.deprecated, *(skos[name] for name in names)]
        self._objects: dict[Any, dict[Any, dict[Any, None]]] = {name: {} for name in kept}

    def add(self, subject: Any, predicate: Any, value: Any) -> None:
        """Keep a statement, once, if it matters."""
        of_subjects = self._objects.get(predicate)
        if of_subjects is not None:
            of_subjects.setdefault(subject, {})[value] = None

    def objects(self, subject: Any, predicate: Any) -> Iterator[Any]:
        """Yield the values of a property of a subject."""
        yield from self._objects[predicate].get(subject, ())

    def subjects(self, predicate: Any, value: Any) -> Iterator[Any]:
        """Yield the subjects for which a property has a value, or any value if it is None."""
        for subject, values in self._objects[predicate].items():
            if value is None or value in values:
                yield subject

    def subject_objects(self, predicate: Any) -> Iterator[tuple[Any, Any]]:
        """Yield the subjects and the values of a property."""
        for subject, values in self._objects[predicate].items():
            for value in values:
                yield subject, value


def read_graph(path: str | PathLike[str], purpose: str) -> tuple[Statements, Any]:
    """Return the statements of a file, and the module of namespaces, which include SKOS.

    The file is in N-Triples (``.nt``), Turtle (``.ttl``) or RDF/XML (``.rdf``). Raises
    ParameterError if it has another extension, FileFormatError if it is malformed, and
    MissingDependencyError, with `purpose` as what needs rdflib, if that is not installed.
    """
    rdflib = optional("rdflib", purpose, "skos")
    ending = Path(path).suffix.lower()
    if ending not in _FORMATS:
        endings = ", ".join(ENDINGS)
        raise ParameterError(
            f"path={fspath(path)!r}: expected a name that ends in one of {endings}"
        )
    with named(path):
        content = Path(path).read_bytes().removeprefix(codecs.BOM_UTF8)
    if ending == ".rdf" and _NESTED_ENTITY.search(content.replace(b"\0", b"")):  # also in UTF-16
        raise FileFormatError(  # a kilobyte of them may stand for a gigabyte
            path, None, "holds entities that refer to others; expected them to hold text alone"
        )
    statements, graph = Statements(rdflib.namespace), rdflib.Graph()
    graph.add = lambda triple: statements.add(*triple)  # instead of into rdflib's indices
    try:
        # Pass bytes, never a name: rdflib would fetch a name that looks like a URL.
        with _quiet():
            graph.parse(data=content, format=_FORMATS[ending], publicID=_BASE)
    except MemoryError:
        raise
    except Exception as error:  # rdflib's parsers may raise anything
        # Use the offset, known for Turtle: rdflib itself counts some lines twice.
        offset = getattr(error, "_i", None)
        known = isinstance(error, SyntaxError) and isinstance(offset, int)
        line = content.decode().count("\n", 0, offset) + 1 if known else None
        why, place = _BAD_SYNTAX.search(str(error)), _XML_PLACE.match(str(error))
        message = " ".join((why[1] if why else str(error)).split())
        if place:
            line, message = int(place[1]), message[place.end() :]
        raise FileFormatError(
            path, line, f"expected RDF in the format {_FORMATS[ending]}: {message:.200}"
        ) from error
    return statements, rdflib.namespace


@contextmanager
def _quiet() -> Iterator[None]:
    """Drop rdflib's warnings of values and IRIs, which concern programs that compute or write them.

    It prints a traceback for every date that is none, even in statements that do not matter here.
    """
    log = logging.getLogger("rdflib.term")
    log.addFilter(drop := lambda _: False)
    try:
        yield
    finally:
        log.removeFilter(drop)


def require_absolute(path: str | PathLike[str], iris: Iterable[str]) -> None:
    """Raise a `FileFormatError` for a file with relative IRIs and no base for them."""
    for iri in iris:
        if iri.startswith(_BASE):
            raise FileFormatError(
                path,
                None,
                f"the IRI of {iri[len(_BASE) :]!r:.80} is relative, and the file names no base; "
                "expected absolute ones",
            )
