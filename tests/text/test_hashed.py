"""Hashed text: values, refusals, and use with scikit-learn and JSON."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from labelgrove import DataError, ParameterError
from labelgrove.text import HashedText, TextFeatures


def values(X: csr_array, row: int) -> list[float]:
    return sorted(X.data[X.indptr[row] : X.indptr[row + 1]].tolist())


@given(st.lists(st.lists(st.sampled_from(["ash", "oak", "elm", "a", "-"])), max_size=4))
def test_values_are_sublinear_counts_of_unit_length(texts: list[list[str]]) -> None:
    X = HashedText().fit_transform(" ".join(words) for words in texts)
    assert X.shape == (len(texts), 2**20)
    assert X.dtype == np.float32
    for row, words in enumerate(texts):
        counts = Counter(word for word in words if len(word) > 1)
        raw = [1 + math.log(count) for count in counts.values()]
        length = math.hypot(*raw)
        assert values(X, row) == pytest.approx(sorted(value / length for value in raw), rel=1e-6)


def test_values_agree_with_scikit_learns_own_vectoriser() -> None:
    texts = ["The cat sat on the mat", "a CAT, a dog: a cat and a dog", "x y z", ""]
    ours = HashedText(ngram_range=(1, 2)).transform(texts)
    theirs = TfidfVectorizer(ngram_range=(1, 2), use_idf=False, sublinear_tf=True)
    expected = csr_array(theirs.fit_transform(texts))
    for row in range(len(texts)):
        assert values(ours, row) == pytest.approx(values(expected, row), rel=1e-6)


def test_rows_are_canonical_and_do_not_depend_on_their_neighbours() -> None:
    texts = ["one two three two", "four five", "one"]
    X = HashedText(n_features=4).transform(texts)  # words must share columns
    assert isinstance(X, csr_array)
    assert X.has_canonical_format
    for row, text in enumerate(texts):
        alone = HashedText(n_features=4).transform([text])
        np.testing.assert_array_equal(X[[row]].toarray(), alone.toarray())
    np.testing.assert_allclose(np.sqrt((X**2).sum(axis=1)), 1.0, rtol=1e-6)


def test_parameters_change_what_a_word_is() -> None:
    def words(text: str, **parameters: Any) -> int:
        return int(HashedText(**parameters).transform([text]).nnz)

    assert words("Oak oak") == 1
    assert words("Oak oak", lowercase=False) == 2
    assert words("a b oak") == 1
    assert words("a b oak", token_pattern=r"\w") == 4
    assert words("oak-elm ash", token_pattern=r"(\w+)-") == 1
    assert words("oak elm ash", ngram_range=(2, 3)) == 3


def test_any_iterable_of_strings_will_do() -> None:
    expected = HashedText().transform(["oak", "elm"]).toarray()
    for texts in (("oak", "elm"), iter(["oak", "elm"]), np.array(["oak", "elm"])):
        np.testing.assert_array_equal(HashedText().transform(texts).toarray(), expected)
    assert HashedText(n_features=9).transform([]).shape == (0, 9)
    assert HashedText(n_features=9).transform(["", "  "]).nnz == 0
    assert HashedText().transform(["lone \ud800 surrogate", "nul \0 byte"]).shape[0] == 2


@pytest.mark.parametrize("kind", [HashedText, TextFeatures])
@pytest.mark.parametrize("wrong", [None, b"bytes", 7, 1.5, ["nested"], float("nan")])
def test_a_row_that_is_no_string_is_named(kind: type[TextFeatures], wrong: Any) -> None:
    for row in (0, 2):
        texts: list[Any] = ["oak", "elm", "ash"]
        texts[row] = wrong
        with pytest.raises(DataError, match=rf"texts, row {row}: .* expected \('' for a missing"):
            kind().fit_transform(texts)


@pytest.mark.parametrize("kind", [HashedText, TextFeatures])
@pytest.mark.parametrize(
    "wrong", ["a single string", b"bytes", None, 3, {"text": "oak"}, np.array([["oak"], ["elm"]])]
)
def test_something_else_than_a_list_of_texts_is_named(kind: type[TextFeatures], wrong: Any) -> None:
    with pytest.raises(DataError, match=f"texts is a {type(wrong).__name__}.*: expected a list"):
        kind().fit_transform(wrong)


def test_a_column_of_a_table_may_hold_texts() -> None:
    table = pytest.importorskip("pandas").DataFrame({"text": ["oak", "elm"]})
    with pytest.raises(
        DataError, match=r"DataFrame of 2 dimensions: .* per row, such as one of its columns$"
    ):
        TextFeatures().fit(table)
    assert TextFeatures().fit(table["text"]).n_documents_ == 2


BAD = [
    ("n_features", 0),
    ("n_features", 2**31),
    ("n_features", 10.0),
    ("n_features", True),
    ("ngram_range", (2, 1)),
    ("ngram_range", (0, 1)),
    ("ngram_range", (1, 10**9)),
    ("ngram_range", (1,)),
    ("ngram_range", "12"),
    ("lowercase", 1),
    ("token_pattern", "("),
    ("token_pattern", "(a)(b)"),
    ("token_pattern", None),
    ("token_pattern", b"bytes"),
    ("token_pattern", re.compile("a")),
    ("token_pattern", "(?:" * 10_000 + "a" + ")" * 10_000),
    ("token_pattern", "a{99999999999999999999}"),
]


@pytest.mark.parametrize(("name", "value"), BAD)
def test_parameters_outside_their_domain_are_named(name: str, value: Any) -> None:
    text = HashedText(**{name: value})
    for call in (lambda: text.fit([]), lambda: text.transform([]), text.to_dict):
        with pytest.raises(ParameterError, match=f"^{name}="):
            call()
    with pytest.raises(ParameterError, match=f"^{name}="):
        HashedText.from_dict({name: value})


def test_json_and_back() -> None:
    text = HashedText(99, ngram_range=(1, 3), lowercase=False, token_pattern=r"\S+")
    saved = json.loads(json.dumps(text.to_dict()))
    again = HashedText.from_dict(saved, trust_pattern=True)
    with pytest.raises(ParameterError, match=r"^token_pattern='.*not trusted"):
        HashedText.from_dict(saved)
    assert again.get_params() == text.get_params()
    assert HashedText.from_dict({}).get_params() == HashedText().get_params()
    with pytest.raises(ParameterError, match="'analyzer' is not a parameter of HashedText"):
        HashedText.from_dict({"analyzer": "char"})
    numpy_number = HashedText(np.int64(64))
    assert json.dumps(numpy_number.to_dict()).startswith('{"n_features": 64,')


def test_life_in_a_pipeline() -> None:
    pipeline = make_pipeline(HashedText(2**12), SGDClassifier(random_state=0))
    texts = ["round and red", "long and yellow", "red and round", "yellow, rather long"]
    pipeline.fit(texts, ["apple", "banana", "apple", "banana"])
    assert pipeline.predict(["a red one", "a long one"]).tolist() == ["apple", "banana"]
    copy = clone(HashedText(7, ngram_range=(1, 2)))
    assert copy.get_params()["ngram_range"] == (1, 2)
    assert copy.partial_fit(["x"]) is copy


def test_the_words_of_a_column_are_listed_once() -> None:
    assert [*HashedText().sources("tea, oil, tea").values()] == [["tea"], ["oil"]]
    assert HashedText().sources("") == {}


def test_columns_have_names_in_a_pipeline() -> None:
    hashed = HashedText(n_features=4)
    names = [f"hashedtext{j}" for j in range(4)]
    assert hashed.get_feature_names_out().tolist() == names
    rows = ["a heap of words", "words"]
    both = make_pipeline(hashed, MaxAbsScaler()).fit(rows)
    assert both.transform(rows).shape == (2, 4)
    assert both[:1].get_feature_names_out().tolist() == names
    union = FeatureUnion([("one", hashed), ("two", HashedText(n_features=2))]).fit(rows)
    assert union.get_feature_names_out()[-1] == "two__hashedtext1"
    with pytest.raises(ParameterError):
        HashedText(n_features=0).get_feature_names_out()


@pytest.mark.parametrize(
    ("text", "parameters", "expected"),
    [
        ("İstanbul ferry", {}, [("stanbul", "stanbul"), ("ferry", "ferry")]),
        ("İİ ΟΔΟΣ Oak", {}, [("οδος", "ΟΔΟΣ"), ("oak", "Oak")]),
        ("İİ Oak", {"lowercase": False}, [("İİ", "İİ"), ("Oak", "Oak")]),
        ("İ-Oak elm", {"token_pattern": r"-(\w+)|elm"}, [("oak", "Oak")]),
        ("an elm", {"token_pattern": r"[a-e]*"}, [("a", "a"), ("e", "e")]),
    ],
)
def test_words_are_located_where_they_stand_in_the_text(
    text: str, parameters: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    hashed = HashedText(**parameters)
    spans = hashed.spans(text)
    named = {word for words in hashed.sources(text).values() for word in words}
    assert {span.name for span in spans} == named - {""}
    assert [(span.name, text[span.begin : span.end]) for span in spans] == expected
