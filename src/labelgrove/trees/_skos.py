"""Trees from a SKOS thesaurus."""

from __future__ import annotations

from collections.abc import Collection
from os import PathLike
from typing import Any, Literal

from labelgrove._errors import DataError
from labelgrove._optional import optional
from labelgrove._parameters import choice
from labelgrove._skos import read_graph, require_absolute
from labelgrove.trees._hierarchy import SeveralParents, hierarchy_tree
from labelgrove.trees._label_tree import LabelTree


def skos_tree(
    path: str | PathLike[str],
    labels: Literal["all", "leaves"] | Collection[str] = "all",
    *,
    names: Literal["iri", "notation", "prefLabel"] = "iri",
    language: str | None = None,
    several_parents: SeveralParents = "error",
) -> LabelTree:
    """Build a tree from the ``skos:broader`` and ``skos:narrower`` relations of a thesaurus.

    Needs rdflib. Concepts are sorted by IRI, since RDF is unordered. A `skos:Concept` without
    either relation is a root. See `hierarchy_tree` for the treatment of labels at inner nodes and
    of several roots.

    Parameters
    ----------
    path : str or os.PathLike
        A file in N-Triples (``.nt``), Turtle (``.ttl``) or RDF/XML (``.rdf``).
    labels : "all", "leaves" or collection of names
        Concepts that are labels: all, those without narrower ones, or the given ones.
    names : "iri", "notation" or "prefLabel"
        The property that names concepts in the tree.
    language : str, optional
        The language of ``skos:prefLabel``, such as "en"; required if there are several.
    several_parents : "error" or "first"
        How to treat a concept with two broader ones: raise an error, or keep the broader concept
        whose IRI comes first.

    Returns
    -------
    LabelTree

    Raises
    ------
    MissingDependencyError
        rdflib is not installed.
    FileFormatError
        The file is malformed, or names no base for a relative IRI.
    DataError
        There is a cycle or a concept with two broader ones (the message names them), or a concept
        has no IRI or no unique name.
    ParameterError
        The file has another extension, or a parameter has an unknown value.
    OSError
        The file cannot be opened.

    Examples
    --------
    ::

        skos_tree("eurovoc.ttl", names="prefLabel", language="en", several_parents="first")
    """
    choice("names", names, ("iri", "notation", "prefLabel"))
    graph, names_of = read_graph(path, "skos_tree")
    skos = names_of.SKOS
    pairs = _pairs(graph, skos)
    require_absolute(path, sorted({iri for pair in pairs for iri in pair} - {None}))
    if names != "iri":
        called = _called(graph, skos[names], {iri for pair in pairs for iri in pair}, language)
        pairs = [(called.get(broader), called[narrower]) for broader, narrower in pairs]
    return hierarchy_tree(
        [(None if parent is None else str(parent), str(child)) for parent, child in pairs],
        labels,
        several_parents=several_parents,
    )


def _pairs(graph: Any, skos: Any) -> list[tuple[Any, Any]]:
    """Return (broader, narrower) and, for unrelated concepts, (None, concept), sorted by IRI."""
    rdflib = optional("rdflib", "skos_tree", "skos")
    pairs = {(broader, narrower) for narrower, broader in graph.subject_objects(skos.broader)}
    pairs.update(graph.subject_objects(skos.narrower))
    related = {concept for pair in pairs for concept in pair}
    concepts = set(graph.subjects(rdflib.namespace.RDF.type, skos.Concept))
    for concept in related | concepts:
        if not isinstance(concept, rdflib.URIRef):
            raise DataError(f"thesaurus: concept {str(concept)!r:.80} has no IRI; expected one")
    alone = [(None, concept) for concept in sorted(concepts - related)]
    return [*sorted(pairs), *alone]


def _called(graph: Any, property_: Any, concepts: set[Any], language: str | None) -> dict[Any, str]:
    """Return the name of every concept; names must be unique."""
    called: dict[Any, str] = {}
    owner: dict[str, Any] = {}
    for concept in sorted(concepts - {None}):
        found = {
            str(name)
            for name in graph.objects(concept, property_)
            if language is None or _tag(name) == language.lower()
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


def _tag(name: Any) -> str | None:
    """Return the language of a literal in lower case, as RDF ignores the case."""
    tag = getattr(name, "language", None)
    return None if tag is None else str(tag).lower()
