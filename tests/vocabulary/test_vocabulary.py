"""Label names: as an object, from files, and in a model's file."""

from __future__ import annotations

import gzip
import logging
import tracemalloc
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fuzz.extremes import examples
from labelgrove import DataError, FileFormatError, ModelFileError, ParameterError
from labelgrove.vocabulary import Concept, Vocabulary, read_vocabulary

HERRING = Concept(
    "p1265",
    {"fi": "silakka", "en": "Baltic herring"},
    {"en": ("strömming", "herring"), "sv": ("strömming",)},
    "597.45",
    ("p17",),
)


def test_names_in_the_languages_wanted() -> None:
    vocabulary = Vocabulary(
        [HERRING, Concept("p17", {"sv": "fiskar"}), Concept("p2")], ["en", "fi", "en"]
    )
    assert vocabulary.languages == ("en", "fi")
    assert [vocabulary.name(label) for label in ("p1265", "p17", "p2", "p3")] == [
        "Baltic herring",
        "fiskar",  # in no language that was wanted, but better than nothing
        None,
        None,
    ]
    assert vocabulary.name("p1265", "fi") == "silakka"
    assert vocabulary.names("p1265") == ("Baltic herring", "silakka", "strömming", "herring")
    assert Vocabulary([HERRING], ["sv", "en"]).names("p1265")[1:] == ("strömming", "herring")
    assert vocabulary.names("p17") == ()
    assert vocabulary.called("p1265") == "Baltic herring (p1265)"
    assert vocabulary.called("p2") == "p2"
    assert Vocabulary([Concept("p2", {"": "p2"})]).called("p2") == "p2"
    assert ("p17" in vocabulary, "p3" in vocabulary, len(vocabulary)) == (True, False, 3)
    assert list(vocabulary) == ["p1265", "p17", "p2"]


def test_labels_are_found_by_parts_of_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names are put into lower case once: a page searches at every key that is pressed."""
    vocabulary = Vocabulary(
        [HERRING, Concept("p17", {"fi": "KALA\nSTRASSE", "sv": "fisk"})], ["fi"]
    )
    assert vocabulary.matching("SILA") == ["p1265"]
    with monkeypatch.context() as once:
        once.setattr(Vocabulary, "names", None)
        assert vocabulary.matching("P1") == vocabulary.matching("") == ["p1265", "p17"]
        assert vocabulary.matching("straße") == ["p17"]
        assert vocabulary.matching("fisk") == []  # not in the languages wanted
    assert vocabulary.matching("a\ns") == ["p17"]
    assert vocabulary.matching("5\nsilakka") == []  # an id and a name


def test_labels_that_are_numbers_are_found_by_their_digits() -> None:
    vocabulary = Vocabulary([Concept("17", {"": "fish"})])
    assert vocabulary.name(17) == vocabulary.name(np.int64(17)) == "fish"


def test_a_label_is_found_by_a_name_that_no_other_has() -> None:
    vocabulary = Vocabulary([HERRING, Concept("p2", {"fi": "silakka", "en": "p1265"})])
    names = ["Baltic herring", "silakka", "p1265", "strömming"]
    assert [vocabulary.id_of(name) for name in names] == ["p1265", *names[1:]]


def test_an_empty_list_of_names_is_none() -> None:
    vocabulary = Vocabulary([Concept("1", {"fi": ""}, {"fi": (), "en": ("herring",)})], ["fi"])
    assert vocabulary.name("1") == vocabulary.name("1", "sv") == "herring"


@pytest.mark.parametrize(
    ("concepts", "message"),
    [
        ([Concept("a"), Concept("a")], "the id 'a' occurs twice"),
        ([Concept("")], "the id '' is empty"),
        (["a"], "found 'a'; expected a Concept"),
        ([Concept(1)], "concept 1 has 1; expected a string"),  # type: ignore[arg-type]
        ([Concept("a", "cat")], "'a' has 'cat'; expected names by"),  # type: ignore[arg-type]
        ([Concept("a", {"en": 1})], "'a' has 1; expected a string"),  # type: ignore[dict-item]
        ([Concept("a", {1: "cat"})], "'a' has 1; expected a string"),  # type: ignore[dict-item]
        ([Concept("a", {}, {None: ()})], "'a' has None; expected"),  # type: ignore[dict-item]
        ([Concept("a", {}, {"en": "cat"})], "'cat'; expected a tuple"),  # type: ignore[dict-item]
        ([Concept("a", broader="17")], "'a' has '17'; expected a tuple"),  # type: ignore[arg-type]
    ],
)
def test_concepts_are_checked(concepts: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Vocabulary(concepts)


def test_a_single_language_is_not_a_list_of_letters() -> None:
    assert Vocabulary([HERRING], "en") == Vocabulary([HERRING], ["en"])
    with pytest.raises(ParameterError, match=r"languages=\[1\]: expected a collection of strings"):
        Vocabulary([HERRING], [1])  # type: ignore[list-item]


words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
concepts = st.builds(
    Concept,
    words,
    st.dictionaries(st.sampled_from(["", "fi", "en"]), words),
    st.dictionaries(st.sampled_from(["", "fi"]), st.lists(words, max_size=2).map(tuple)),
    st.none() | words,
    st.lists(words, max_size=2).map(tuple),
)


@given(st.lists(concepts, unique_by=lambda concept: concept.id, max_size=4))
def test_what_a_file_keeps_comes_back(found: list[Concept]) -> None:
    vocabulary = Vocabulary(found, ["en"])
    again = Vocabulary.from_array(vocabulary.to_array())
    assert again == vocabulary
    assert again.to_array().tobytes() == vocabulary.to_array().tobytes()


def test_half_a_character_is_kept_as_a_question_mark() -> None:
    vocabulary = Vocabulary([Concept("1", {"en": "cat\ud800"})])
    assert Vocabulary.from_array(vocabulary.to_array()).name("1") == "cat?"


def test_an_array_of_anything_but_bytes_is_refused() -> None:
    kept = Vocabulary([HERRING]).to_array()
    for array in (kept.view(np.int8), kept[np.newaxis]):
        with pytest.raises(ModelFileError, match="its vocabulary is damaged"):
            Vocabulary.from_array(array)


@settings(max_examples=examples(200))
@example(b'{"id": "1", "broader": 5}')
@example(b"[" * 100_000)
@given(st.binary(max_size=60) | st.text('[]{}":,idlabe0\n', max_size=40).map(str.encode))
def test_a_damaged_array_is_refused(content: bytes) -> None:
    for head in (b"", b'["en"]\n'):
        try:
            Vocabulary.from_array(np.frombuffer(head + content, np.uint8))
        except (ModelFileError, DataError) as error:
            assert len(str(error)) < 400


@pytest.mark.parametrize(
    "concept",
    [
        b'{"id": 1}',
        b'{"id": "1", "label": {"en": 1}}',
        b'{"id": "1", "alternative": {"en": [1]}}',
        b'{"id": "1", "notation": 1}',
        b'{"id": "1", "broader": [1]}',
    ],
)
def test_what_is_not_a_string_is_refused(concept: bytes) -> None:
    with pytest.raises(ModelFileError, match="has 1; expected a string"):
        Vocabulary.from_array(np.frombuffer(b'["en"]\n' + concept, np.uint8))


# --- files ---------------------------------------------------------------------------------------

FILES = {
    "a.tsv": "1\tcats\n\n<http://a/2>\tdogs\tignored\n",
    "a.csv": "uri,label_fi,label_en,notation,broader\n1,kissat,cats,59,\n<http://a/2>,,dogs,,<1>\n",
    "a.jsonl": '{"id": 1, "label": {"fi": "kissat", "en": "cats"}, "altLabel": ["felines"]}\n'
    '{"uri": "http://a/2", "name": "dogs", "broader": ["1"]}\n',
}


def test_skos_is_read_in_little_memory(tmp_path: Path) -> None:
    pytest.importorskip("rdflib")
    seen = "".join(f" ; skos:exactMatch :m{i}" for i in range(20))
    lines = (f":c{i} skos:prefLabel 'name {i}'{seen} ; skos:note 'note {i}' ." for i in range(300))
    content = "@prefix : <http://a/> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
    path = written(tmp_path, "a.ttl", content + "\n".join(lines))
    read_vocabulary(path)  # imports the parser
    tracemalloc.start()
    assert len(read_vocabulary(path)) == 300
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * path.stat().st_size


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("name", FILES)
def test_files(tmp_path: Path, name: str) -> None:
    for path in (
        written(tmp_path, name, FILES[name]),
        written(tmp_path, name.upper(), FILES[name]),
        written(tmp_path, name + ".gz", gzip.compress(FILES[name].encode())),
    ):
        vocabulary = read_vocabulary(path, "en")
        assert [vocabulary.name(label) for label in ("1", "http://a/2")] == ["cats", "dogs"]
    if name != "a.tsv":
        assert read_vocabulary(path, ["fi", "en"]).name(1) == "kissat"
        assert vocabulary["http://a/2"].broader == ("1",)
    if name == "a.csv":
        assert vocabulary["1"] == Concept("1", {"en": "cats"}, notation="59")
        assert (vocabulary["http://a/2"].notation, vocabulary.languages) == (None, ("en",))
    if name == "a.jsonl":
        assert read_vocabulary(path)["1"].alternative == {"": ("felines",)}


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_columns_of_csv_are_separated_as_in_data(tmp_path: Path, delimiter: str) -> None:
    content = FILES["a.csv"].replace(",", delimiter)
    other = read_vocabulary(written(tmp_path, "b.csv", content))
    assert other == read_vocabulary(written(tmp_path, "c.csv", f"sep={delimiter}\n{content}"))
    assert other == read_vocabulary(written(tmp_path, "a.csv", FILES["a.csv"]))


def test_of_several_columns_of_names_the_first_kind_counts(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "title,id,label,name_fi\ntitled,1,named,nimi\n")
    assert read_vocabulary(path)["1"].preferred == {"": "named", "fi": "nimi"}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tsv", "1\t \n"),
        ("a.csv", "id,label,label_fi,notation\n1, ,,\n"),
        ("a.jsonl", '{"id": 1, "label": {"fi": [], "en": ""}, "altLabel": {"fi": [""]}}\n'),
    ],
)
def test_empty_names_are_none(tmp_path: Path, name: str, content: str) -> None:
    assert read_vocabulary(written(tmp_path, name, content))["1"] == Concept("1")


def test_lines_without_an_id_are_counted_from_zero(tmp_path: Path) -> None:
    lines = (
        '{"uid": "B00X", "title": "Nets"}\n{"uid": "B00Y", "title": "Oil"}\n\n{"title": "Sea"}\n'
    )
    vocabulary = read_vocabulary(written(tmp_path, "lbl.json", lines))
    names = [vocabulary.name(label) for label in (0, "1", 2, 3)]
    assert names == ["Nets", "Oil", None, "Sea"]


SKOS = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix : <http://example.org/> .
:b a skos:Concept ; skos:prefLabel "kala"@fi, "fish"@en ; skos:altLabel "fishes"@en ;
   skos:notation "597" ; skos:broader :a .
:a skos:prefLabel "animals"@en .
:old a skos:Concept ; skos:prefLabel "gone"@en ; owl:deprecated true .
"""


RDF_XML = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE rdf:RDF [<!ENTITY base "http://example.org/">]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xml:base="&base;"
    xmlns:skos="http://www.w3.org/2004/02/skos/core#" xmlns:owl="http://www.w3.org/2002/07/owl#">
<skos:Concept rdf:about="b">
  <skos:prefLabel xml:lang="fi">kala</skos:prefLabel>
  <skos:prefLabel xml:lang="en">fish</skos:prefLabel>
  <skos:altLabel xml:lang="en">fishes</skos:altLabel>
  <skos:notation>597</skos:notation>
  <skos:broader rdf:resource="a"/>
</skos:Concept>
<rdf:Description rdf:about="&base;a"><skos:prefLabel xml:lang="en">animals</skos:prefLabel>
</rdf:Description>
<skos:Concept rdf:about="old"><owl:deprecated>true</owl:deprecated></skos:Concept>
</rdf:RDF>
"""


def test_skos(tmp_path: Path) -> None:
    pytest.importorskip("rdflib")
    vocabulary = read_vocabulary(written(tmp_path, "a.ttl", SKOS), "en")
    base = "http://example.org/"
    assert list(vocabulary) == [base + "a", base + "b"]
    assert vocabulary[base + "b"] == Concept(
        base + "b", {"en": "fish"}, {"en": ("fishes",)}, "597", (base + "a",)
    )
    assert read_vocabulary(tmp_path / "a.ttl", "fi").name(base + "b") == "kala"
    assert read_vocabulary(written(tmp_path, "a.rdf", RDF_XML), "en") == vocabulary
    for value in ("1", '"True"'):
        content = SKOS.replace("deprecated true", f"deprecated {value}")
        assert read_vocabulary(written(tmp_path, "b.ttl", content), "en") == vocabulary


def test_skos_names_of_other_things_are_no_concepts(tmp_path: Path) -> None:
    pytest.importorskip("rdflib")
    group = ':g a skos:Collection ; skos:prefLabel "group"@en .\n'
    scheme = ':s a skos:ConceptScheme ; skos:prefLabel "thesaurus"@en .\n'
    vocabulary = read_vocabulary(written(tmp_path, "a.ttl", SKOS + group + scheme))
    assert vocabulary == read_vocabulary(written(tmp_path, "b.ttl", SKOS))
    prefixes = SKOS[: SKOS.index(":b a")]
    assert list(read_vocabulary(written(tmp_path, "c.ttl", prefixes + group))) == [
        "http://example.org/g"
    ]


def test_skos_values_of_the_wrong_kind_are_ignored(tmp_path: Path) -> None:
    pytest.importorskip("rdflib")
    wrong = (
        ':b skos:prefLabel :label, " "@sv ; skos:altLabel [] ; skos:notation :x ;\n'
        '   skos:broader [ a skos:Concept ], "animals" .\n'
    )
    vocabulary = read_vocabulary(written(tmp_path, "a.ttl", SKOS + wrong))
    assert vocabulary == read_vocabulary(written(tmp_path, "b.ttl", SKOS))


def test_skos_dates_that_are_none_are_not_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("rdflib")
    date = '"1998-00-00"^^<http://www.w3.org/2001/XMLSchema#date>'
    path = written(tmp_path, "a.ttl", SKOS + f":b <http://purl.org/dc/terms/created> {date} .\n")
    vocabulary = read_vocabulary(path)
    assert vocabulary == read_vocabulary(written(tmp_path, "b.ttl", SKOS))
    assert not caplog.records
    logging.getLogger("rdflib.term").warning("for others")
    assert caplog.messages == ["for others"]


def test_damaged_rdf_xml_names_the_line(tmp_path: Path) -> None:
    pytest.importorskip("rdflib")
    for place, content in ((11, RDF_XML.replace("</skos:prefLabel>", "")), (3, "<a>\n\n")):
        path = written(tmp_path, "a.rdf", content)
        with pytest.raises(
            FileFormatError, match=rf"a\.rdf:{place}: expected RDF in the format xml: "
        ):
            read_vocabulary(path)


@pytest.mark.parametrize("line", ["<c> a skos:Concept .", ":b skos:broader <c> ."])
def test_relative_iris_of_skos_need_a_base(tmp_path: Path, line: str) -> None:
    pytest.importorskip("rdflib")
    with pytest.raises(FileFormatError, match=r"a\.ttl: the IRI of 'c' is relative, and the file"):
        read_vocabulary(written(tmp_path, "a.ttl", SKOS + line))
    based = "@base <http://example.org/> ." + SKOS + line
    assert read_vocabulary(written(tmp_path, "b.ttl", based)) is not None


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv", "1\tcats\nno tab\n", ":2: there is no tab; expected id, a tab, and label"),
        ("a.tsv", "<1\tcats\n", ":1: '<1' is not a label"),
        ("a.tsv", "1\ta\n2\tb\n1\tc\n", ":3: '1' already occurs in line 1"),
        ("a.tsv", b"1\t\xff\n", ":1: byte 3 of the line is not UTF-8"),
        ("a.tsv", "\n", "holds no concept"),
        ("a.csv", "name,label\n", ":1: in the line that names the columns there is no 'id' or"),
        ("a.csv", "id;label\n1;a;b\n", ":2: expected 2 fields"),
        ("a.csv", "", ":1: in the line that names the columns there is no 'id' or"),
        ("a.csv", "id,label\n1,a\n1,b\n", ":3: '1' already occurs in line 2"),
        ("a.csv", 'id\tlabel\n1\t"a" b\n', ":2: not TSV (a tab expected after"),
        ("a.csv", "id,label\n1,a,b\n", ":2: expected 2 fields"),
        ("a.csv", "id,label\n1\n", ":2: expected 2 fields"),
        ("a.csv", 'id,label\n"1\n', "not CSV ("),
        ("a.jsonl", '{"text": "a", "labels": ["b"]}\n', ":1: there is neither an id nor a name"),
        ("a.csv", "id,label\n,x\n", ":2: '' is not a label"),
        (
            "a.jsonl",
            "{\n",
            'expected an object such as {"id": "...", "label": "..."} in every line',
        ),
        ("a.tsv", "uri\tnotation\tlabel_fi\n", ":1: found column names; expected id, a tab, and"),
        ("a.jsonl", "[]\n", ":1: found an array; expected one object per line"),
        ("a.jsonl", '{"id": true}\n', ":1: the id is true or false; expected a string or an "),
        (
            "a.jsonl",
            '{"id": ""}\n',
            ":1: the id is an empty string; expected a string or an integer",
        ),
        ("a.jsonl", '{"id": 1.5}\n', ":1: the id is a number; expected a string or an integer"),
        ("a.jsonl", '{"id": "a", "label": 3}\n', "'label' is or holds a number"),
        ("a.jsonl", '{"id": "a", "label": {"fi": [3]}}\n', "'label' is or holds a number"),
        ("a.jsonl", '{"id": "a", "notation": 3}\n', "'notation' is a number"),
        *(
            ("a.jsonl", f'{{"id": 1}}\n{{{concept}}}\n', r":2: '\ud800' is a lone surrogate; exp")
            for concept in (
                r'"id": "\ud800"',
                r'"id": 2, "label": "a\ud800"',
                r'"id": 2, "label": {"\ud800": "a"}',
                r'"id": 2, "alternative": {"fi": ["a", "\ud800"]}',
                r'"id": 2, "alternative": {"\ud800": "a"}',
                r'"id": 2, "notation": "\ud800"',
                r'"id": 2, "broader": "\ud800"',
            )
        ),
    ],
)
def test_malformed(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    path = written(tmp_path, name, content)
    with pytest.raises(FileFormatError) as caught:
        read_vocabulary(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_only_the_first_line_may_be_taken_for_column_names(tmp_path: Path) -> None:
    path = written(tmp_path, "a.tsv", "1\tfish\nid\tlabel\n")
    assert list(read_vocabulary(path)) == ["1", "id"]


def test_empty_rows_of_a_spreadsheet_are_skipped(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", b"\xef\xbb\xbfid;label\r\n1;fish\r\n;\r\n; \r\n2;law\r\n")
    assert list(read_vocabulary(path)) == ["1", "2"]


@pytest.mark.parametrize("name", ["a.ttl", "a.nt", "a.rdf"])
def test_skos_may_begin_with_a_byte_order_mark(tmp_path: Path, name: str) -> None:
    pytest.importorskip("rdflib")
    line = '<http://a/1> <http://www.w3.org/2004/02/skos/core#prefLabel> "fish"@en .\n'
    content = RDF_XML if name == "a.rdf" else line
    marked = read_vocabulary(written(tmp_path, name, "\ufeff" + content))
    assert marked == read_vocabulary(written(tmp_path, name, content))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_that_expand_beyond_measure_are_refused(tmp_path: Path, encoding: str) -> None:
    pytest.importorskip("rdflib")
    names = "abcdefgh"
    nested = "".join(f'<!ENTITY {outer} "{f"&{inner};" * 50}">' for inner, outer in pairwise(names))
    bomb = RDF_XML.replace(" [", f' [<!ENTITY a "a">{nested}').replace("animals", "&h;")
    with pytest.raises(FileFormatError, match=r"a\.rdf: holds entities that refer to others"):
        read_vocabulary(written(tmp_path, "a.rdf", bomb.encode(encoding)))


def test_another_ending(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="expected a vocabulary with a name that ends in .tsv"):
        read_vocabulary(written(tmp_path, "a.xls", ""))


def test_names_without_a_language_are_in_the_one_wanted(tmp_path: Path) -> None:
    plain = read_vocabulary(written(tmp_path, "a.tsv", "1\tkissat\n2\tkoirat\n"), "fi")
    assert [plain.names(label) for label in (1, 2)] == [("kissat",), ("koirat",)]
    columns = "id,label,label_fi,label_sv\n1,cats,kissat,\n2,dogs,,hundar\n3,,,hästar\n"
    mixed = read_vocabulary(written(tmp_path, "a.csv", columns), "fi")
    assert [mixed.names(label) for label in (1, 2, 3)] == [("kissat",), ("dogs",), ()]
    assert mixed.name(3) == "hästar"
    assert mixed["2"].preferred == {"": "dogs"}
    other = '{"id": 1, "label": {"en": "cats"}, "alternative": {"fi": "kissat"}}'
    assert read_vocabulary(written(tmp_path, "a.jsonl", other), "fi").name(1) == "kissat"


def test_a_language_of_no_name_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "id,label_en,label_fi\n1,cats,kissat\n2,,\n")
    assert read_vocabulary(path, ["sv", "fi"]).name(1) == "kissat"
    with pytest.raises(
        ParameterError, match=r"a\.csv has no names in 'FI', 'sv'; expected one of 'en', 'fi'$"
    ):
        read_vocabulary(path, ["FI", "sv"])
    assert len(read_vocabulary(written(tmp_path, "b.csv", "id\n1\n"), "fi")) == 1


@pytest.mark.parametrize("language", [5, ["fi", 5]])
def test_languages_are_strings(tmp_path: Path, language: Any) -> None:
    path = written(tmp_path, "a.tsv", "1\tcats\n")
    with pytest.raises(ParameterError, match=r"language=.*5.*: expected a collection of strings"):
        read_vocabulary(path, language)


@pytest.mark.fuzz
@pytest.mark.parametrize("name", ["a.tsv", "a.csv", "a.jsonl"])
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=80) | st.text('id,uri\t\n<>"{}[]:label0', max_size=60))
def test_arbitrary_content(tmp_path: Path, name: str, content: bytes | str) -> None:
    path = written(tmp_path, name, content)
    try:
        assert len(read_vocabulary(path)) > 0
    except FileFormatError as error:
        assert str(error).startswith(str(path))
