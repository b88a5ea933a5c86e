"""Reading of vocabularies from TSV, CSV, JSON lines and SKOS."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from labelgrove._errors import FileFormatError, ParameterError
from labelgrove._parameters import words
from labelgrove._skos import ENDINGS, read_graph, require_absolute
from labelgrove.data._annif import uri_in
from labelgrove.data._columns import kind_of
from labelgrove.data._csv import DELIMITERS, decoded_lines, problem_of, split_header
from labelgrove.data._jsonl import json_object, refuse_half_characters
from labelgrove.data._lines import lines_in
from labelgrove.data._open import split_compression
from labelgrove.data._rows import RowError, shown
from labelgrove.vocabulary._vocabulary import Concept, Vocabulary

_IDS = ("id", "uri")
_LABELS = ("label", "prefLabel", "name", "title")
_ALTERNATIVES = ("alternative", "altLabel")

Row = tuple[int, Concept]


def read_vocabulary(
    path: str | os.PathLike[str], language: str | Iterable[str] | None = None
) -> Vocabulary:
    r"""Read the names of labels from a file.

    The extension of the file, before an optional .gz, .bz2, .xz or .zst, determines the format:

    - ``.tsv``, ``.txt``: lines of ``id<TAB>label``, or Annif's ``<uri><TAB>label``, without names
      of columns. Anything after a second tab is ignored, and so are empty lines.
    - ``.csv``: a line of column names: ``id`` or ``uri``, ``label``, ``label_fi`` and so on for
      each language, ``notation``, ``broader``. Other columns are ignored, and so are rows of empty
      cells. Columns may also be separated by semicolons or tabs.
    - ``.jsonl``, ``.json``, ``.ndjson``: objects with ``id`` (or ``uri``), ``label`` and
      ``alternative``, each a string or an object of language to string, ``notation`` and
      ``broader``. Without an id, the id of the label is its line number from 0, as in lbl.json of
      the Extreme Classification Repository, where ``title`` is the name.
    - ``.ttl``, ``.nt``, ``.rdf`` (not compressed): SKOS, which needs rdflib. Concepts are sorted
      by IRI; those that are ``owl:deprecated`` are omitted. What has a name but another type than
      ``skos:Concept``, such as a collection or a scheme, is none unless the file has no concepts.

    Parameters
    ----------
    path : str or os.PathLike
    language : str or iterable of str, optional
        Languages in which to show labels, in order of preference, such as "fi". Names in other
        languages are dropped, unless a label has none in these. If the file states no language for
        a name, as in TSV, it counts as one of these where a label has no other. By default all
        names are kept.

    Returns
    -------
    Vocabulary

    Raises
    ------
    OSError
        If the file cannot be opened.
    FileFormatError
        If a line is malformed, an id occurs twice, there are no concepts, or an IRI is relative
        and the file names no base.
    ParameterError
        If the extension of the file is unknown, a language is not a string, or no label has a name
        in any of the languages.
    MissingDependencyError
        If the format is SKOS and rdflib is not installed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "subjects.tsv")
    ...     _ = path.write_text("<http://www.yso.fi/onto/yso/p1265>\tBaltic herring\n")
    ...     vocabulary = read_vocabulary(path)
    >>> vocabulary.name("http://www.yso.fi/onto/yso/p1265")
    'Baltic herring'
    """
    name = os.fsdecode(path)
    given = () if language is None else (language,) if isinstance(language, str) else language
    languages = words("language", given)
    ending = Path(split_compression(name)[0]).suffix.lower()
    if ending in ENDINGS:
        rows: Iterator[Row] = _skos(name)
    elif ending in _READERS:
        rows = _READERS[ending](name)
    else:
        known = ", ".join([*_READERS, *ENDINGS])
        raise ParameterError(f"{name}: expected a vocabulary with a name that ends in {known}")
    lines: dict[str, int] = {}
    concepts = []
    for line, concept in rows:
        if concept.id in lines:
            raise FileFormatError(
                name, line, f"{shown(concept.id)} already occurs in line {lines[concept.id]}"
            )
        lines[concept.id] = line
        concepts.append(_in(languages, concept) if languages else concept)
    if not concepts:
        raise FileFormatError(name, None, "holds no concepts; expected at least one")
    return in_languages(concepts, languages, name)


def in_languages(concepts: Iterable[Concept], languages: tuple[str, ...], path: str) -> Vocabulary:
    """Return the vocabulary of a file that shows names in these languages, by default in all.

    Raises ParameterError if no label has a name in any of them.
    """
    whole = Vocabulary(concepts)
    there = whole.named_in
    wanted = (*languages, "") if languages and "" in there else languages
    if wanted and there and not set(wanted) & set(there):
        asked, found = (", ".join(map(shown, names)) for names in (languages, sorted(there)))
        raise ParameterError(f"language: {path} has no names in {asked}; expected one of {found}")
    return Vocabulary(map(whole.__getitem__, whole), wanted) if wanted else whole


def _in(languages: tuple[str, ...], concept: Concept) -> Concept:
    """Keep only the names in these languages, or in no stated one, or all if there are neither."""
    for kept in (languages, ("",)):
        preferred = {name: concept.preferred[name] for name in kept if name in concept.preferred}
        others = {name: concept.alternative[name] for name in kept if name in concept.alternative}
        if preferred or others:
            return Concept(concept.id, preferred, others, concept.notation, concept.broader)
    return concept


def _parsed(path: str, parse: Callable[[str, int], Concept]) -> Iterator[Row]:
    """Yield the concepts of the non-empty lines."""
    for number, line in enumerate(decoded_lines(path, lines_in(path)), 1):
        try:
            if line.strip():
                yield number, parse(line.rstrip("\n"), number)
        except RowError as error:
            raise FileFormatError(path, number, str(error)) from None


def _tsv_concept(line: str, number: int) -> Concept:
    parts = line.split("\t")
    if len(parts) < 2:
        raise RowError("there is no tab; expected id, a tab, and label")
    if number == 1 and parts[0] in _IDS and parts[1].partition("_")[0] in (*_LABELS, "notation"):
        raise RowError(
            "found column names; expected id, a tab, and label, or a .csv file, whose columns tabs "
            "may separate, too"
        )
    identifier, name = uri_in(parts[0].strip()), parts[1].strip()
    return Concept(identifier, {"": name} if name else {})


def _json_concept(line: str, number: int) -> Concept:
    row = json_object(line, '{"id": "...", "label": "..."}')
    identifier = next((row[key] for key in _IDS if row.get(key) is not None), number - 1)
    if isinstance(identifier, bool) or not isinstance(identifier, str | int) or identifier == "":
        found = "an empty string" if identifier == "" else kind_of(identifier)
        raise RowError(f"the id is {found}; expected a string or an integer")
    preferred = {language: names[0] for language, names in _by_language(row, _LABELS).items()}
    if not preferred and all(row.get(key) is None for key in _IDS):
        raise RowError("there is neither an id nor a name; expected keys such as 'id' and 'label'")
    notation = row.get("notation")
    if not isinstance(notation, str | None):
        raise RowError(f"'notation' is {kind_of(notation)}; expected a string")
    others = _by_language(row, _ALTERNATIVES)
    alternative = {language: tuple(names) for language, names in others.items()}
    broader = tuple(_strings("broader", row.get("broader")))
    for names in (preferred.values(), *alternative.values(), broader):
        refuse_half_characters(*names)
    refuse_half_characters(str(identifier), *preferred, *alternative, notation or "")
    return Concept(str(identifier), preferred, alternative, notation, broader)


def _by_language(row: Mapping[str, Any], keys: Iterable[str]) -> dict[str, list[str]]:
    key = next((key for key in keys if row.get(key) is not None), None)
    if key is None:
        return {}
    found = row[key] if isinstance(row[key], dict) else {"": row[key]}
    named = {language: _strings(key, names) for language, names in found.items()}
    return {language: names for language, names in named.items() if names}


def _strings(key: str, found: Any) -> list[str]:
    values = found if isinstance(found, list) else [] if found is None else [found]
    for value in values:
        if not isinstance(value, str):
            raise RowError(f"{key!r} is or holds {kind_of(value)}; expected strings")
    return [value for value in values if value]


def _csv(path: str) -> Iterator[Row]:
    lines = decoded_lines(path, lines_in(path))
    header = split_header(path, lines, DELIMITERS["csv"], _id_column)
    names, delimiter = header.names, header.delimiter
    table = csv.DictReader(lines, names, delimiter=delimiter, strict=True)
    try:
        for row in table:
            if None in row or None in row.values():
                raise RowError(f"expected {len(names)} fields, one for each column")
            if any(map(str.strip, row.values())):  # spreadsheets write rows of empty cells
                yield header.line + table.line_num, _csv_concept(row, header.choice)
    except (csv.Error, RowError) as error:
        reason = problem_of(error, delimiter) if isinstance(error, csv.Error) else str(error)
        raise FileFormatError(path, header.line + table.reader.line_num, reason) from None


def _id_column(names: Iterable[str]) -> str:
    key = next((name for name in _IDS if name in names), None)
    if key is None:
        raise RowError("there is no 'id' or 'uri'; expected one of them")
    return key


def _csv_concept(row: Mapping[str, str], key: str) -> Concept:
    preferred: dict[str, str] = {}
    for label in _LABELS:  # of several columns of a language the first one counts
        for column, name in row.items():
            base, _, language = column.partition("_")
            if base == label and name.strip():
                preferred.setdefault(language, name.strip())
    return Concept(
        uri_in(row[key].strip()),
        preferred,
        notation=row.get("notation") or None,
        broader=tuple(uri_in(part) for part in row.get("broader", "").split()),
    )


_TSV, _JSON = partial(_parsed, parse=_tsv_concept), partial(_parsed, parse=_json_concept)

_READERS: dict[str, Callable[[str], Iterator[Row]]] = {
    ".tsv": _TSV,
    ".txt": _TSV,
    ".csv": _csv,
    ".jsonl": _JSON,
    ".ndjson": _JSON,
    ".json": _JSON,
}


def _skos(path: str) -> Iterator[Row]:
    """Yield the concepts of a SKOS file; their line numbers are running numbers."""
    graph, names = read_graph(path, "read_vocabulary")
    skos, iri = names.SKOS, type(names.RDF.type)
    deprecated = {
        concept
        for concept, value in graph.subject_objects(names.OWL.deprecated)
        if str(value).lower() in {"true", "1"}
    }
    declared = set(graph.subjects(names.RDF.type, skos.Concept))
    named = set(graph.subjects(skos.prefLabel, None))
    typed = {one for one, _ in graph.subject_objects(names.RDF.type)}
    # Schemes and collections have names, too.
    concepts = (declared | (named - typed) or named) - deprecated
    concepts = {concept for concept in concepts if isinstance(concept, iri)}
    require_absolute(
        path, sorted(concepts | {broader for _, broader in graph.subject_objects(skos.broader)})
    )
    for number, concept in enumerate(sorted(concepts), 1):
        preferred: dict[str, str] = {}
        for language, name in _literals(graph.objects(concept, skos.prefLabel)):
            preferred.setdefault(language, name)
        others: dict[str, list[str]] = {}
        for language, name in _literals(graph.objects(concept, skos.altLabel)):
            others.setdefault(language, []).append(name)
        alternative = {language: tuple(names) for language, names in others.items()}
        notation = next(
            (code for _, code in _literals(graph.objects(concept, skos.notation))), None
        )
        above = (str(one) for one in graph.objects(concept, skos.broader) if isinstance(one, iri))
        yield number, Concept(str(concept), preferred, alternative, notation, tuple(sorted(above)))


def _literals(values: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Yield language and text of the values that are texts and not empty, sorted."""
    for value in sorted(value for value in values if hasattr(value, "language")):
        if text := str(value).strip():
            yield value.language or "", text
