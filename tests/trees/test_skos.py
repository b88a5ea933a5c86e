"""Thesauri in SKOS."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from labelgrove import DataError, FileFormatError, MissingDependencyError, ParameterError
from labelgrove.trees import skos_tree
from trees.definitions import nested

TURTLE = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix : <http://example.org/> .
:c skos:broader :a ; skos:prefLabel "Law"@en, "Recht"@de ; skos:notation "1.1" .
:b skos:broader :a ; skos:prefLabel "Tax"@en, "Steuer"@de ; skos:notation "1.2" .
:a skos:narrower :b ; a skos:Concept ; skos:prefLabel "State"@en ; skos:notation "1" .
:lone a skos:Concept ; skos:prefLabel "Sea"@en ; skos:notation "2" .
:scheme a skos:ConceptScheme ; skos:hasTopConcept :a .
"""
TRIPLES = """# two ways to say it
<http://e.org/b> <http://www.w3.org/2004/02/skos/core#broader> <http://e.org/a> .
<http://e.org/a> <http://www.w3.org/2004/02/skos/core#narrower> <http://e.org/c> .
"""


@pytest.fixture
def thesaurus(tmp_path: Path) -> Any:
    pytest.importorskip("rdflib")

    def write(content: str | bytes, name: str = "t.ttl") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_broader_and_narrower_are_read(thesaurus: Any) -> None:
    base = "http://example.org/"
    state = tuple(base + name for name in "abc")
    assert nested(skos_tree(thesaurus(TURTLE))) == (state, base + "lone")
    assert nested(skos_tree(str(thesaurus(TURTLE)), "leaves")) == (state[1:], base + "lone")
    assert nested(skos_tree(thesaurus(TRIPLES, "t.NT"))) == tuple(
        f"http://e.org/{x}" for x in "abc"
    )


def test_concepts_may_go_by_other_names(thesaurus: Any) -> None:
    path = thesaurus(TURTLE)
    found = skos_tree(path, names="prefLabel", language="en")
    assert nested(found) == (("State", "Tax", "Law"), "Sea")
    british = thesaurus(TURTLE.replace("@en", "@en-GB").replace("@en-GB", "@EN-gb", 1), "gb.ttl")
    assert skos_tree(british, names="prefLabel", language="en-gb") == found
    assert nested(skos_tree(path, ["1.1"], names="notation")) == ("1.1",)
    with pytest.raises(DataError, match="'http://example.org/b' has 2 names of kind prefLabel;"):
        skos_tree(path, names="prefLabel")
    with pytest.raises(DataError, match="example.org/a' has 0 names of kind prefLabel in 'de'"):
        skos_tree(path, names="prefLabel", language="de")
    twice = thesaurus(TURTLE.replace('"1.2"', '"1.1"'))
    with pytest.raises(DataError, match="'.*/b' and '.*/c' are both called '1.1'"):
        skos_tree(twice, names="notation")


def test_two_broader_concepts(thesaurus: Any) -> None:
    path = thesaurus(TURTLE + ":c skos:broader :b .")
    with pytest.raises(DataError, match="'.*org/c' has two parents, '.*org/a' and '.*org/b'"):
        skos_tree(path)
    found = skos_tree(path, names="notation", several_parents="first")
    assert nested(found) == (("1", "1.2", "1.1"), "2")


def test_a_cycle_is_named(thesaurus: Any) -> None:
    path = thesaurus(TURTLE + ":a skos:broader :c .")
    with pytest.raises(DataError, match="'.*/a' > '.*/c' > '.*/a' is a cycle"):
        skos_tree(path)


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        ("@prefix x: <http://e/> .\nx:a x:b\n", "t.ttl", "t.ttl:2: expected RDF .*turtle: "),
        ('<http://a> <http://b> "\\u12" .', "t.ttl", "expected RDF in the format turtle"),
        ("<http://a> <http://b> " + "(" * 5000, "t.ttl", "expected RDF in the format turtle"),
        (b"\xff\xfe\x00", "t.ttl", "expected RDF in the format turtle: 'utf-8'"),
        ("<http://a> <http://b>", "t.nt", "expected RDF in the format nt: Invalid line"),
        (TURTLE, "t.nt", "expected RDF in the format nt: Invalid line"),
    ],
)
def test_broken_files_are_named(thesaurus: Any, content: Any, name: str, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        skos_tree(thesaurus(content, name))


def test_concepts_need_absolute_iris(thesaurus: Any) -> None:
    with pytest.raises(DataError, match="concept '.*' has no IRI"):
        skos_tree(thesaurus(TURTLE + "[] skos:broader :a ."))
    with pytest.raises(DataError, match="the IRI of 'x' is relative, and the file names no base"):
        skos_tree(thesaurus(TURTLE + "<x> skos:broader :a ."))


def test_wrong_parameters_are_named(thesaurus: Any) -> None:
    path = thesaurus(TURTLE)
    with pytest.raises(ParameterError, match="t.owl': expected a name that ends in one of"):
        skos_tree(path.with_suffix(".owl"))
    with pytest.raises(ParameterError, match="names='uri': expected one of 'iri', 'notation', "):
        skos_tree(path, names="uri")  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        skos_tree(path.with_name("absent.ttl"))


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdflib", None)
    with pytest.raises(MissingDependencyError, match="skos_tree needs the package rdflib"):
        skos_tree("t.ttl")
