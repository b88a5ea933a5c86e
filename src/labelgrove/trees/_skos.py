"""Trees from a thesaurus in SKOS."""

from __future__ import annotations

import re
from collections.abc import Collection
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal

from labelgrove._errors import DataError, FileFormatError, ParameterError
from labelgrove._optional import optional
from labelgrove.trees._hierarchy import SeveralParents, hierarchy_tree
from labelgrove.trees._label_tree import LabelTree

_FORMATS = {".nt": "nt", ".ttl": "turtle"}
_NAMES = {"iri", "notation", "prefLabel"}

_BASE = "http://relative.invalid/"
"""Relative IRIs are read as if they stood here, so that they are found out."""

_BAD_SYNTAX = re.compile(r"Bad syntax \((.*?)\) at \^", re.DOTALL)


def skos_tree(
    path: str | PathLike[str],
    labels: Literal["all", "leaves"] | Collection[str] = "all",
    *,
    names: Literal["iri", "notation", "prefLabel"] = "iri",
    language: str | None = None,
    several_parents: SeveralParents = "error",
) -> LabelTree:
    """Build the tree of a thesaurus in SKOS: of ``skos:broader`` and ``skos:narrower``.

    Needs rdflib. Concepts are taken in the order of their IRIs, since RDF has no order of its own;
    a `skos:Concept` without either relation is a root. See `hierarchy_tree` for what becomes of
    labels at inner nodes and of several roots.

    Parameters
    ----------
    path : str or os.PathLike
        A file in N-Triples (``.nt``) or Turtle (``.ttl``).
    labels : "all", "leaves" or collection of names
        Which concepts are labels: all, those without narrower ones, or these.
    names : "iri", "notation" or "prefLabel"
        What concepts are called in the tree.
    language : str, optional
        The language of ``skos:prefLabel``, such as "en"; needed where there are several.
    several_parents : "error" or "first"
        What to do with a concept of two broader ones: refuse it, or keep the one whose IRI comes
        first.

    Returns
    -------
    LabelTree

    Raises
    ------
    MissingDependencyError
        rdflib is not installed.
    FileFormatError
        The file is not of its format.
    DataError
        A cycle or a concept of two broader ones (the message names them), a concept without an
        IRI or without a name of its own.
    ParameterError
        Another ending of the file's name, or another value of a parameter.
    OSError
        The file cannot be opened.

    Examples
    --------
    ::

        skos_tree("eurovoc.ttl", names="prefLabel", language="en", several_parents="first")
    """
    if names not in _NAMES:
        raise ParameterError(f"names={names!r}: expected 'iri', 'notation' or 'prefLabel'")
    graph, skos = _read(path)
    pairs = _pairs(graph, skos)
    if names != "iri":
        called = _called(graph, skos[names], {iri for pair in pairs for iri in pair}, language)
        pairs = [(called.get(broader), called[narrower]) for broader, narrower in pairs]
    return hierarchy_tree(
        [(None if parent is None else str(parent), str(child)) for parent, child in pairs],
        labels,
        several_parents=several_parents,
    )


def _read(path: str | PathLike[str]) -> tuple[Any, Any]:
    """Return the graph of a file, and the namespace of SKOS."""
    rdflib = optional("rdflib", "skos_tree", "skos")
    ending = Path(path).suffix.lower()
    if ending not in _FORMATS:
        raise ParameterError(f"path={fspath(path)!r}: expected a name that ends in .nt or .ttl")
    content = Path(path).read_bytes()
    graph = rdflib.Graph()
    try:
        # As bytes, never by name: rdflib would fetch a name that looks like an address.
        graph.parse(data=content, format=_FORMATS[ending], publicID=_BASE)
    except MemoryError:
        raise
    except Exception as error:  # rdflib's parsers may raise anything
        # The offset, known for Turtle; rdflib's own count of lines counts some of them twice.
        offset = getattr(error, "_i", None)
        known = isinstance(error, SyntaxError) and isinstance(offset, int)
        line = content.decode().count("\n", 0, offset) + 1 if known else None
        why = _BAD_SYNTAX.search(str(error))
        message = " ".join((why[1] if why else str(error)).split())
        raise FileFormatError(
            path, line, f"expected RDF in the format {_FORMATS[ending]}: {message:.200}"
        ) from error
    return graph, rdflib.namespace.SKOS


def _pairs(graph: Any, skos: Any) -> list[tuple[Any, Any]]:
    """Return (broader, narrower), and (None, concept) where there is neither, in order of IRIs."""
    rdflib = optional("rdflib", "skos_tree", "skos")
    pairs = {(broader, narrower) for narrower, broader in graph.subject_objects(skos.broader)}
    pairs.update(graph.subject_objects(skos.narrower))
    related = {concept for pair in pairs for concept in pair}
    concepts = set(graph.subjects(rdflib.namespace.RDF.type, skos.Concept))
    for concept in related | concepts:
        if not isinstance(concept, rdflib.URIRef):
            raise DataError(f"thesaurus: concept {str(concept)!r:.80} has no IRI; expected one")
        if concept.startswith(_BASE):
            raise DataError(
                f"thesaurus: the IRI of {concept[len(_BASE) :]!r:.80} is relative, and the file "
                "names no base; expected absolute ones"
            )
    alone = [(None, concept) for concept in sorted(concepts - related)]
    return [*sorted(pairs), *alone]


def _called(graph: Any, property_: Any, concepts: set[Any], language: str | None) -> dict[Any, str]:
    """Return the name of every concept, which no other may have."""
    called: dict[Any, str] = {}
    owner: dict[str, Any] = {}
    for concept in sorted(concepts - {None}):
        found = {
            str(name)
            for name in graph.objects(concept, property_)
            if language is None or getattr(name, "language", None) == language
        }
        what = property_.rpartition("#")[2] + ("" if language is None else f" in {language!r}")
        if len(found) != 1:
            raise DataError(
                f"thesaurus: {str(concept)!r} has {len(found)} names of kind {what}; expected one"
            )
        name = called[concept] = found.pop()
        if owner.setdefault(name, concept) != concept:
            raise DataError(
                f"thesaurus: {str(owner[name])!r} and {str(concept)!r} are both called {name!r}"
            )
    return called
