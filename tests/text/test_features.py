"""TextFeatures: the core equals the plain twin and scikit-learn, for any text."""

from __future__ import annotations

import sys
import unicodedata
from copy import deepcopy
from itertools import count, islice
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from labelgrove import DataError, NotLearnedError, ParameterError, _core
from labelgrove.text import TextFeatures
from labelgrove.text._words import Span, names_by_column
from naive.text import NaiveTextFeatures, hashed, mix

OPTIONS: dict[str, Any] = {
    "shortest_run": 1,
    "longest_run": 1,
    "shortest_piece": 3,
    "longest_piece": 5,
    "beginnings": False,
    "short_words": 0,
    "piece_weight": 0.5,
    "most_features": 2**32 - 1,
    "columns": 2**20,
    "least_documents": 2,
    "first_documents": 0,
    "rare_count_more": True,
    "fold_accents": False,
    "symbols": False,
}
VARIANTS: list[dict[str, Any]] = [
    {},
    {"beginnings": True, "first_documents": 3},
    {"beginnings": True, "short_words": 2, "first_documents": 3},
    {"beginnings": True, "short_words": 2, "least_documents": 1},
    {"short_words": 1, "shortest_piece": 0, "longest_piece": 0, "columns": 101},
    {"short_words": 3, "shortest_run": 0, "longest_run": 0, "most_features": 4},
    {"longest_run": 3, "shortest_piece": 0, "longest_piece": 0, "columns": 97},
    {"shortest_run": 0, "longest_run": 0, "shortest_piece": 1, "longest_piece": 2},
    {"shortest_run": 2, "longest_run": 2, "least_documents": 1, "rare_count_more": False},
    {"fold_accents": True, "least_documents": 3, "columns": 64},
    {"most_features": 5, "first_documents": 3},
    {"symbols": True, "longest_run": 2},
    {"symbols": True, "fold_accents": True, "beginnings": True, "short_words": 2},
]

old = unicodedata.ucd_3_2_0  # its characters mean the same in every Python
ODD = (
    "aAb\u00e9 \u00df\u0301\u0323\u0345\u1fb3\u017f\u0130\u0131\u03a3\u03c2-_.'1\u00bd\u00b2"
    "\ufb01\u338fn\u00ad\u200d\u200b\ud55c\u1112\u1161\u11ab\u30ac\uff76\uff9e\u8a9e\u5929\u6c17\u0e01\u0e33"
)
characters = st.one_of(
    st.sampled_from(ODD),
    st.characters(exclude_categories=["Cs"]).filter(lambda one: old.category(one) != "Cn"),
)
texts = st.lists(st.text(characters, max_size=30), max_size=6)
SOME = [
    "Stra\u00dfe STRASSE",
    "\ufb01ne \uff26\uff49\uff4e\uff45",
    "\ud55c\uad6d\uc5b4 \ud55c\uad6d",
    "\u1100\u1161\u11a8 \u1112\u1175\u11c2",  # the first and the last parts of syllables
    "\u1113\u1161 \u1100\u1176 \u1100\u1161\u11a7 \u1100\u1161\u11c3",  # neighbours of these
    "\u5929\u6c17\u304c\u3044\u3044",
    "a" * 200,
    "a" * 64 + "\u0345",  # a mark that becomes a letter, for which there is no place
    "",
    "e\u0301 \u00e9",
    "1 \u00bd x\u00b2",
    "a->b \u2260 =\u0338!\u0301\u3000\u3002\U0001f600\U0001f600!!\U0001f1e9\U0001f1ea\ufffd",
    "\u2024 . \u2026",  # symbols that are written alike stay apart
]


def lengths(texts: list[str]) -> np.ndarray[Any, Any]:
    return np.array([[len(text), 1.0] for text in texts])


def as_dicts(rows: Any) -> list[dict[int, float]]:
    indptr, ids, values = rows
    return [
        dict(zip(ids[a:b].tolist(), values[a:b].tolist(), strict=True))
        for a, b in zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True)
    ]


def assert_same(found: Any, expected: list[dict[int, float]]) -> None:
    rows = as_dicts(found)
    assert [row.keys() for row in rows] == [dict(sorted(row.items())).keys() for row in expected]
    for row, other in zip(rows, expected, strict=True):
        np.testing.assert_allclose(
            list(row.values()), [other[column] for column in row], rtol=2e-6, atol=0
        )


def weighted(engine: Any, documents: list[str]) -> Any:
    parts = [engine.count(some, 2) for some in (documents[:1], documents[1:])]
    for part in parts:
        engine.add(*part)
    return engine.weighted(parts, False, 2)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@settings(max_examples=30)
@given(documents=texts, asked=texts)
@example(documents=SOME * 2, asked=SOME)
def test_the_core_is_the_twin(variant: dict[str, Any], documents: Any, asked: Any) -> None:
    options = OPTIONS | variant
    engine, twin = _core.TextFeatures(options), NaiveTextFeatures(options)
    counts = engine.count(documents, 1)
    assert_same(counts, [dict(twin.count(text)) for text in documents])
    assert_same(engine.learn(*counts, 1), [twin.learn(text) for text in documents])
    assert engine.documents == len(documents)
    assert_same(engine.transform(asked, 1), [twin.transform(text) for text in asked])
    at_once = _core.TextFeatures(options)
    assert_same(
        weighted(at_once, documents),
        [twin.weigh(twin.count(text), twin.n_documents, twin.documents) for text in documents],
    )


@settings(max_examples=30)
@given(documents=texts, cut=st.integers(0, 6), threads=st.integers(1, 4))
@example(documents=SOME * 20, cut=70, threads=3)
def test_cuts_threads_and_saving_change_nothing(documents: Any, cut: int, threads: int) -> None:
    once, often = _core.TextFeatures(OPTIONS), _core.TextFeatures(OPTIONS)
    expected = once.learn(*once.count(documents, 1), 1)
    parts = []
    for part in (documents[:cut], documents[cut:]):
        parts += as_dicts(often.learn(*often.count(part, threads), threads))
        assert as_dicts(often.transform(documents, threads)) == as_dicts(
            often.transform(documents, 1)
        )
        often = _core.TextFeatures.load(OPTIONS, often.save())
    assert parts == as_dicts(expected)
    assert bytes(often.save()["documents"]) == bytes(once.save()["documents"])


def test_every_character_is_read_as_the_twin_reads_it() -> None:
    everything = map(chr, range(sys.maxunicode + 1))
    assigned = [one for one in everything if old.category(one) not in ("Cn", "Co", "Cs")]
    many = ("CJK UNIFIED", "HANGUL SYLLABLE")
    ours = [one for one in assigned if not unicodedata.name(one, "").startswith(many)]
    documents = [f"{one} a{one}b" for one in ours]
    options = OPTIONS | {"shortest_piece": 0, "longest_piece": 0}
    twin = NaiveTextFeatures(options)
    found = as_dicts(_core.TextFeatures(options).count(documents, 1))
    expected = [dict(twin.count(text)) for text in documents]
    assert [one for one, a, b in zip(ours, found, expected, strict=True) if a != b] == []


def test_words_chosen_to_collide_change_nothing() -> None:
    """More words than a probe reaches have the same place in the table of a text's words."""
    letters = str.maketrans("0123456789", "ghijklmnop")
    words = (f"{i:x}".translate(letters) for i in count(1 << 20))
    colliding = (word for word in words if mix(hashed(map(ord, word))) % 1024 == 0)
    text = " ".join(list(islice(colliding, 250)) * 2)
    twin = NaiveTextFeatures(OPTIONS)
    assert_same(_core.TextFeatures(OPTIONS).count([text], 1), [dict(twin.count(text))])


@given(text=st.text(characters, max_size=40))
@example("Ångström ﬁ ①")
@example("İSTANBUL'DA EĞİTİM i\u0323\u0307")
def test_the_way_a_text_is_encoded_makes_no_difference(text: str) -> None:
    assume("\u0345" not in text)  # alone it is a mark, but a letter in lower case
    engine = _core.TextFeatures(OPTIONS)
    forms = [unicodedata.normalize(form, text) for form in ("NFC", "NFD", "NFKC", "NFKD")]
    first, *others = as_dicts(engine.count([text, *forms, text.casefold()], 1))
    assert all(other == first for other in others)


words = st.lists(st.text("abcde", min_size=1, max_size=7), min_size=1, max_size=9).map(" ".join)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"words": (1, 2)}, {"token_pattern": r"\S+", "ngram_range": (1, 2)}),
        ({"words": (2, 3)}, {"token_pattern": r"\S+", "ngram_range": (2, 3)}),
        (
            {"words": (0, 0), "subwords": (3, 5), "idf": False},
            {"analyzer": "char_wb", "ngram_range": (3, 5), "use_idf": False},
        ),
        (
            {"words": (0, 0), "subwords": (1, 4), "idf": False},
            {"analyzer": "char_wb", "ngram_range": (1, 4), "use_idf": False},
        ),
    ],
    ids=str,
)
@settings(max_examples=30)
@given(documents=st.lists(words, min_size=1, max_size=8))
def test_the_products_of_rows_are_those_of_scikit_learn(
    ours: dict[str, Any], theirs: dict[str, Any], documents: list[str]
) -> None:
    """Columns are numbered differently, but a linear model learns the same."""
    n_features = 2**20 if ours.get("idf", True) else 2**30  # so that no two share a column
    X = TextFeatures("words", n_features=n_features, min_documents=1, **ours).fit_transform(
        documents
    )
    if not X.nnz:  # their vocabulary may not be empty
        return
    columns, X.indices = np.unique(X.indices, return_inverse=True)
    X.resize((len(documents), len(columns)))
    Y = TfidfVectorizer(sublinear_tf=True, **theirs).fit_transform(documents)
    np.testing.assert_allclose((X @ X.T).toarray(), (Y @ Y.T).toarray(), atol=1e-5)


@pytest.mark.parametrize(
    "text",
    [
        "lone \ud800 surrogate",
        "nul \0 byte",
        "a" + "\u0301" * 10_000,
        "👩‍👩‍👧‍👦 🏳️‍🌈 1️⃣",
        "שלום עולם مرحبا بالعالم",
        "\u0301 \u200d \ufe0f",
        "x" * 300_000,
        "天" * 300_000,
    ],
    ids=lambda text: f"{text[:9]!a} {len(text)}",
)
def test_hostile_texts_become_finite_rows_of_unit_parts(text: str) -> None:
    for preset in ("words", "words+stems", "words+subwords"):
        features = TextFeatures(preset)
        X = features.fit_transform([text, "fine words here", text])
        assert np.isfinite(X.data).all()
        assert X.indptr[2] > X.indptr[1]
        Z = features.transform([text, text])
        assert (Z[[0]] != Z[[1]]).nnz == 0


def test_half_characters_part_words() -> None:
    features = TextFeatures("words").fit(["two words"])
    X = features.transform(["two\ud800words", "two words"])
    assert (X[[0]] != X[[1]]).nnz == 0


def test_predicting_changes_nothing_and_is_what_learning_next_would_give() -> None:
    features = TextFeatures(n_features=2**12).fit(["one text", "another text", "text of one"])
    before = features.state()
    X = features.transform(["one text is another"])
    after = features.state()
    assert before[0] == after[0]
    assert all(np.array_equal(before[1][name], after[1][name]) for name in before[1])
    learnt = features.learn(features.counted(["one text is another"], 1).rows, 0, 1, 1)
    known = np.isin(learnt.ids, X.indices)
    ratio = learnt.values[known] / X.data  # but for words that nobody has seen before
    assert np.allclose(ratio[:3], ratio[0])
    assert np.allclose(ratio[3:], ratio[3])


def test_what_occurs_once_costs_nothing_after_the_first_4096() -> None:
    pairs = TextFeatures("words+pairs")
    X = pairs.fit_transform([f"common rare{i}" for i in range(4097)])
    assert 4097 <= X.nnz < 4150  # some share a column
    assert pairs.fit_transform([f"common rare{i}" for i in range(9)]).nnz == 27
    pairs.set_params(min_documents=1)
    assert pairs.fit_transform([f"common rare{i}" for i in range(4097)]).nnz == 3 * 4097


def test_presets_are_parameters_by_a_name() -> None:
    named, spelt = TextFeatures("words+subwords"), TextFeatures("words", subwords=(3, 5))
    texts = ["one two", "two three"]
    assert (named.fit_transform(texts) != spelt.fit_transform(texts)).nnz == 0
    assert TextFeatures("words+pairs").fit_transform(["a b c"]).nnz == 5
    assert TextFeatures("subwords").fit_transform(["abc"]).nnz == 6
    assert TextFeatures().fit_transform(["abcdef ab a"]).nnz == 4


def test_a_long_text_keeps_what_weighs_most() -> None:
    long = " ".join(f"{i}th" for i in range(400))
    bounded, all_of_them = (
        TextFeatures("subwords", most_features=most).fit([long, "0th 1th"]).transform([long])
        for most in (None, 0)
    )
    assert bounded.nnz == 200 < all_of_them.nnz
    dropped = set(all_of_them.indices.tolist()) - set(bounded.indices.tolist())
    weights = dict(zip(all_of_them.indices.tolist(), all_of_them.data.tolist(), strict=True))
    assert max(weights[column] for column in dropped) <= min(
        weights[column] for column in bounded.indices.tolist()
    )
    assert np.linalg.norm(bounded.data) == pytest.approx(1)


@pytest.mark.parametrize(
    ("preset", "name", "value"),
    [("words+subwords", "most_features", 200), ("words+stems", "short_texts", 2)],
)
def test_files_that_do_not_know_a_setting_of_a_preset_have_none(
    preset: str, name: str, value: int
) -> None:
    header, arrays = TextFeatures(preset).fit(["a b"]).state()
    assert header[name] == value
    old = {known: value for known, value in header.items() if known not in ("kind", name)}
    assert TextFeatures.from_state(old, arrays).to_dict()[name] == 0


def test_a_short_text_has_a_part_of_its_letters() -> None:
    features = TextFeatures(short_texts=1)
    boundary, letters, pairs, triples = 1, 2, 3, 2  # of " ab "
    assert features.fit_transform(["ab"]).nnz == 1 + boundary + letters + pairs + triples
    row = features.fit_transform(["lieder"])
    parts = np.searchsorted([2**21, 2**21 + 2**20], row.indices, side="right")
    for part in range(3):
        assert np.linalg.norm(row.data[parts == part]) == pytest.approx(1)
    assert features.fit_transform(["ab cd"]).nnz == 2
    assert TextFeatures.from_dict(features.to_dict()).short_texts == 1
    assert TextFeatures(short_texts=0).fit_transform(["ab"]).nnz == 1
    # In a script without spaces every four letters count as one word, for the length of the text.
    assert features.fit_transform(["天気予報"]).nnz > 3
    assert features.fit_transform(["天気予報図"]).nnz == 4
    assert TextFeatures().fit_transform(["天気予報図"]).nnz > 4


def test_sources_are_words_as_they_stand_in_the_text() -> None:
    features = TextFeatures("words+pairs", subwords=(4, 4), subwords_at="start", symbols=False)
    found = features.sources("Herrings, ÄRGER herring")
    assert sorted(found.values()) == sorted(
        [
            ["Herrings"],
            ["ÄRGER"],
            ["herring"],
            ["Herrings", "herring"],
            ["ÄRGER"],
            ["Herrings, ÄRGER"],
            ["ÄRGER herring"],
        ]
    )
    assert features.sources("") == {}
    assert ["Half ? character"] in features.sources("Half \ud800 character").values()


@pytest.mark.parametrize("preset", ["words+stems", "words+pairs", "words+subwords", "subwords"])
def test_sources_are_the_columns_of_the_text_in_every_script(preset: str) -> None:
    features = TextFeatures(preset, idf=False, min_documents=1, most_features=0)
    for text in (
        "日本語のファイル、ファイル。",
        "ภาษาไทยน้ำใจ abc",
        "ガ㍿x ｶﾞガ",
        "天",
        "明日は雨、雪",
        "\uff41天気b",
        "ก\u0345ข",
    ):
        assert set(features.sources(text)) == set(features.transform([text]).indices.tolist())


def test_sources_in_scripts_without_spaces_are_neighbouring_letters() -> None:
    features = TextFeatures(short_texts=0, symbols=False)
    found = list(features.sources("明日は雨、明日x 雪").values())
    assert found == [["明日"], ["日は"], ["は雨"], ["x"], ["雪"]]
    assert list(features.sources("ｶﾞガカ\u3099").values()) == [["ｶﾞガ", "ガカ\u3099"]]
    assert list(features.sources("㍿だ").values()) == [*[["㍿", "㍿だ"]] * 3, ["㍿だ"]]
    pairs = TextFeatures("words+pairs").sources("明日は雨").values()
    assert ["明日は"] in pairs and ["日は雨"] in pairs and ["明日は雨"] not in pairs
    assert ["明日は雨"] in TextFeatures("subwords").sources("明日は雨").values()


def test_words_that_share_a_column_are_not_compared_with_each_other() -> None:
    compared = 0

    class Name(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

    spans = [Span(0, 1, Name(f"w{i % 500}"), is_run=False) for i in range(1000)]
    found = names_by_column(_core.TextFeatures(OPTIONS | {"columns": 2}), spans)
    assert max(map(len, found.values())) == 500
    assert 0 < compared < 10_000


def test_nothing_is_transformed_before_it_is_counted_unless_counts_do_not_matter() -> None:
    with pytest.raises(NotLearnedError, match="call fit first"):
        TextFeatures().transform(["a"])
    with pytest.raises(NotLearnedError, match="call fit first"):
        TextFeatures(idf=False, min_documents=2).transform(["a"])
    assert TextFeatures(idf=False, min_documents=1).transform(["a word or"]).nnz == 4
    assert not hasattr(TextFeatures(), "n_documents_")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"preset": "best"}, "preset='best': expected one of 'words', "),
        ({"n_features": 1}, "n_features=1: expected an integer from 2"),
        ({"words": (2, 1)}, r"words=\(2, 1\): expected two increasing"),
        ({"words": (0, 1)}, "words="),
        ({"words": 3}, "words=3"),
        ({"words": np.array([1, 2])}, r"words=array\(\[1, 2\]\): expected two increasing"),
        ({"subwords": np.array([0, 0])}, r"subwords=array\(\[0, 0\]\): expected two increasing"),
        ({"embeddings": np.array([1, 2])}, r"embeddings=array\(\[1, 2\]\): expected None"),
        ({"words": (1, 9)}, "from 1 to 8"),
        ({"subwords": (3, 16)}, "from 1 to 15"),
        ({"n_features": 2**26 + 1}, f"expected an integer from 2 to {2**26}"),
        ({"n_features": 2**26 + 1, "idf": False, "min_documents": 2}, f"from 2 to {2**26}"),
        ({"embedding_weight": 9e-4}, "embedding_weight=0.0009"),
        ({"subword_weight": 1001}, "subword_weight=1001"),
        ({"preset": "words", "words": (0, 0)}, r"both \(0, 0\)"),
        ({"subwords": ("3", 5)}, "subwords="),
        ({"subwords_at": "end"}, "subwords_at='end'"),
        ({"subword_weight": 0}, "subword_weight=0"),
        ({"most_features": -1}, "most_features=-1"),
        ({"short_texts": 9}, "short_texts=9: expected an integer from 0 to 8"),
        ({"symbols": None}, "symbols=None"),
        ({"idf": "yes"}, "idf='yes'"),
        ({"min_documents": 0}, "min_documents=0"),
        ({"fold_accents": None}, "fold_accents=None"),
    ],
)
def test_parameters_outside_their_domain(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        TextFeatures(**parameters).fit(["a"])
    with pytest.raises(ParameterError, match=message):
        TextFeatures.from_dict(parameters)


@pytest.mark.parametrize("wrong", ["one text", b"bytes", 3, ["fine", 7]])
def test_what_is_no_list_of_strings_is_refused(wrong: Any) -> None:
    for use in (
        TextFeatures().fit,
        TextFeatures().fit(["a"]).transform,
        TextFeatures().partial_fit,
    ):
        with pytest.raises(DataError, match="texts"):
            use(wrong)


def test_a_column_of_arrow_is_texts() -> None:
    pa = pytest.importorskip("pyarrow")
    texts = ["my parcel", "my refund"]
    for column in (pa.array(texts), pa.chunked_array([texts[:1], texts[1:]])):
        found, expected = (TextFeatures().fit_transform(X) for X in (column, texts))
        assert (found != expected).nnz == 0
    with pytest.raises(DataError, match="row 1: None found"):
        TextFeatures().fit(pa.array(["a", None]))


def test_words_that_overlap_are_a_run() -> None:
    def runs(text: str, preset: str, **parameters: bool) -> list[str]:
        return [one.name for one in TextFeatures(preset, **parameters).spans(text) if one.is_run]

    assert runs("東京都", "words") == runs("東京都", "words+pairs") == ["東京都"]
    assert runs("東京 tea", "words") == runs("a->b", "words") == []


def test_symbols_are_words_unless_they_are_not_wanted() -> None:
    text = "a->b \U0001f600\U0001f600"
    assert len(TextFeatures("words", symbols=False).sources(text)) == 2
    features = TextFeatures("words", words=(1, 2)).fit([text])
    names = [name for names in features.sources(text).values() for name in names]
    assert sorted(names) == sorted(
        ["a", "->", "b", "\U0001f600", "a->", "->b", "b \U0001f600", "\U0001f600\U0001f600"]
    )
    header, arrays = features.state()
    assert header.pop("kind") == TextFeatures.kind
    again = TextFeatures.from_state(header, arrays)
    assert (again.transform([text]) != features.transform([text])).nnz == 0
    del header["symbols"]  # as in old files
    assert not TextFeatures.from_state(header, arrays).symbols
    # A text is as short with them as without.
    letters = TextFeatures("words", short_texts=1)
    assert letters.fit_transform(["«ab»!"]).nnz == letters.fit_transform(["ab"]).nnz + 2
    start = TextFeatures("words", subwords_at="start").sources("tea")
    assert start == TextFeatures("words").sources("tea")


def test_it_is_an_estimator_and_its_state_can_be_kept() -> None:
    features = TextFeatures("words+subwords", fold_accents=True).fit(["äb cd", "ab ef"])
    header, arrays = features.state()
    parameters = {name: value for name, value in header.items() if name != "kind"}
    again = TextFeatures.from_state(parameters, arrays)
    asked = ["ab cd ef"]
    assert (again.transform(asked) != features.transform(asked)).nnz == 0
    assert again.n_documents_ == features.n_documents_ == 2
    assert not hasattr(clone(features), "n_documents_")
    assert features.fit(["x"]).n_documents_ == 1
    assert features.get_feature_names_out()[1] == "textfeatures1"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"n_features": 9000}, {"n_features": 100}),
        ({"n_features": 1000}, {"n_features": 9000}),
        ({"preset": "words"}, {"preset": "words+stems"}),
        ({"words": (1, 1)}, {"words": (1, 3), "min_documents": 3}),
        ({}, {"n_features": "many", "embeddings": 3}),
        ({"embeddings": lengths}, {"embeddings": None, "embedding_weight": 0.1}),
        ({"embeddings": lengths}, {"embeddings": lambda texts: np.ones((len(texts), 4))}),
        ({}, {"embeddings": lengths}),
    ],
    ids=range(8),
)
def test_parameters_take_effect_at_the_next_fit(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    def answers(features: TextFeatures) -> Any:
        counted = features.uncounted().counted(asked, 1)
        return (
            features.transform(asked).toarray().tolist(),
            features.learn(counted.rows, 0, 2, 1).values.tolist(),
            features.weighted(counted, 1, as_next=True).n_features,
            features.sources(asked[0]),
            features.spans(asked[0]),
            features.partial_fit(asked).transform(asked).toarray().tolist(),
            len(features.get_feature_names_out()),
            features.state()[0],
        )

    texts, asked = ["a heap of words", "b"], ["words of a heap", "one word"]
    before = {"n_features": 4096, **before}
    kept = TextFeatures(**before).fit(texts)
    changed = TextFeatures(**before).fit(texts).set_params(**after)
    copied = deepcopy(changed)
    expected = answers(kept)
    assert answers(changed) == answers(copied) == expected
    if after.get("embeddings") != 3:
        new = TextFeatures(**before | after).fit(texts)
        assert answers(changed.fit(texts)) == answers(new) != expected


@pytest.mark.parametrize(
    "arrays",
    [
        {},
        {"documents": np.zeros(0, np.uint8)},
        {"counters": np.zeros(2, np.uint64), "documents": np.zeros(0, np.uint8)},
        {"counters": np.array([9], np.uint64), "documents": np.array([3], np.uint8)},
        {"counters": np.array([9], np.uint64), "documents": np.array([3, 10], np.uint8)},
        {"counters": np.array([9], np.uint64), "documents": np.array([3, 0], np.uint8)},
        {"counters": np.array([9], np.uint64), "documents": np.array([3, 1, 0, 1], np.uint8)},
        {"counters": np.array([9], np.uint64), "documents": np.array([255] * 9, np.uint8)},
        {"counters": np.array([2**63], np.uint64), "documents": np.zeros(0, np.uint8)},
    ],
    ids=range(9),
)
def test_damaged_counts_are_refused(arrays: Any) -> None:
    with pytest.raises(ValueError, match="array"):
        TextFeatures.from_state({"n_features": 64}, arrays)


def test_it_can_be_used_unfitted_and_changed_if_nothing_is_counted() -> None:
    features = TextFeatures("words", idf=False, n_features=1000)
    expected = features.transform(["a word"]).toarray()
    features.set_params(n_features=64)
    assert np.array_equal(features.transform(["a word"]).toarray(), expected)
    assert features.fit([]).transform(["a word"]).shape == (1, 64)


def test_the_rows_suit_solvers_that_take_indices_of_32_bits_only() -> None:
    pipeline = make_pipeline(TextFeatures(), LogisticRegression(solver="liblinear"))
    texts = ["a dog barks", "a cat purrs"] * 3
    assert pipeline.fit(texts, [0, 1] * 3).predict(texts).tolist() == [0, 1] * 3
