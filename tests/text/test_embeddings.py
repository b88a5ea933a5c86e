"""TextFeatures with embeddings: columns for the meaning of a text next to those of its words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import labelgrove
from labelgrove import (
    DataError,
    ModelStateError,
    OnlinePLTClassifier,
    ParameterError,
    PLTClassifier,
)
from labelgrove import TextClassifier as Classifier
from labelgrove.models._text_classifier import counter_of
from labelgrove.text import TextFeatures
from labelgrove.text._counted import CountedTexts
from labelgrove.text._embeddings import unit_rows

TEXTS = ["one text", "another text", "", "one more text of one", "\ud800 half", "last text"]
LABELS = [["a"], ["b"], ["a"], ["a", "c"], ["b"], ["c"]]


def letters(texts: list[str]) -> np.ndarray[Any, Any]:
    """So often the letters a, e and t."""
    return np.array([[text.count(one) for one in "aet"] for text in texts], np.float64)


def test_words_keep_their_columns_and_embeddings_have_their_length() -> None:
    plain = TextFeatures(n_features=64).fit_transform(TEXTS)
    both = TextFeatures(n_features=64, embeddings=letters, embedding_weight=0.25)
    X = both.fit_transform(TEXTS)
    assert X.shape == (6, 67)
    assert (X[:, :64] != plain).nnz == 0
    lengths = np.linalg.norm(X[:, 64:].toarray(), axis=1)
    assert np.allclose(lengths, [0.25, 0.25, 0, 0.25, 0.25, 0.25])
    assert np.allclose(both.transform(["tea"])[:, 64:].toarray(), 0.25 / np.sqrt(3))
    assert len(both.get_feature_names_out()) == 67


@pytest.mark.parametrize("embeddings", [None, letters])
def test_texts_counted_beforehand_are_texts(embeddings: Any) -> None:
    def new(classifier: Any) -> Any:
        return Classifier(classifier, TextFeatures(n_features=64, embeddings=embeddings))

    count = counter_of(new(PLTClassifier()), 2)
    parts = [count(TEXTS[:1]), count(TEXTS[1:4]), count(TEXTS[4:])]
    counted = CountedTexts.of(part for part in parts if isinstance(part, CountedTexts))
    assert len(counted) == 6
    for classifier in (PLTClassifier(), OnlinePLTClassifier()):
        expected = new(classifier).fit(TEXTS, LABELS)
        assert new(classifier).fit(counted, LABELS).fingerprint() == expected.fingerprint()
        scores = expected.predict_topk(TEXTS[1:5], 2)[1]
        assert np.array_equal(expected.predict_topk(counted[1:5], 2)[1], scores)
    online = new(OnlinePLTClassifier())
    for part, a, b in zip(parts, (0, 1, 4), (1, 4, 6), strict=True):
        online.partial_fit(part, LABELS[a:b])
    expected = new(OnlinePLTClassifier()).partial_fit(TEXTS, LABELS)
    assert online.fingerprint() == expected.fingerprint()
    whole = new(OnlinePLTClassifier()).partial_fit(counted, LABELS)
    assert whole.fingerprint() == expected.fingerprint()


@pytest.mark.parametrize("cut", [1, 4])
def test_cuts_saving_and_going_on_give_the_same_bytes(tmp_path: Path, cut: int) -> None:
    def new() -> Any:
        text = TextFeatures(n_features=64, embeddings=letters)
        return Classifier(OnlinePLTClassifier(random_state=0), text)

    at_once = new().partial_fit(TEXTS, LABELS)
    first = new().partial_fit(TEXTS[:cut], LABELS[:cut])
    first.save(tmp_path / "first.lg")
    second = labelgrove.load(tmp_path / "first.lg", embeddings=letters)
    second.partial_fit(TEXTS[cut:], LABELS[cut:])
    assert second.fingerprint() == at_once.fingerprint()
    found, expected = second.predict_topk(TEXTS, 2), at_once.predict_topk(TEXTS, 2)
    assert found[0].tolist() == expected[0].tolist()
    explained = at_once.explain("one text", "a").labels[0].path[-1].contributions
    assert {"one", "text", "(its meaning)"} <= {one.feature for one in explained}


def test_a_file_holds_no_function_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "model.lg"
    Classifier(text=TextFeatures(embeddings=letters)).fit(TEXTS, LABELS).save(path)
    model = labelgrove.load(path)
    assert model.n_classes_ == 3
    with pytest.raises(ModelStateError, match=r"labelgrove\.load\(path, embeddings=function\)"):
        model.predict(TEXTS)
    wider = labelgrove.load(path, embeddings=lambda texts: np.ones((len(texts), 4)))
    with pytest.raises(DataError, match=r"shape \(1, 4\) for 1 texts; expected \(1, 3\)"):
        wider.predict(["a"])
    Classifier().fit(TEXTS, LABELS).save(path)
    with pytest.raises(ParameterError, match="does not embed texts by a function"):
        labelgrove.load(path, embeddings=letters)


def huge() -> np.longdouble:
    """More than 64 bits can hold, or infinity where no type has more."""
    with np.errstate(over="ignore"):
        return np.ldexp(np.longdouble(1), 2000)


@pytest.mark.parametrize(
    ("embeddings", "message"),
    [
        ("glove", "embeddings='glove': expected None, 'wordllama', or a function"),
        ({"w": [1.0] * 999}, r"embeddings={'w': \[1.0, .{60,70}: expected None, 'wordllama', or a"),
        (3, "embeddings=3"),
        (lambda texts: np.ones(len(texts)), r"shape \(1,\)"),
        (
            lambda texts: np.ones((len(texts), 0)),
            r"shape \(1, 0\) for 1 texts; expected \(1, at le",
        ),
        (lambda texts: [["x"]] * len(texts), "not a finite number"),
        (lambda texts: np.full((len(texts), 2), np.nan), "not a finite number"),
        (lambda texts: np.full((len(texts), 2), huge()), "not a finite number"),
        (lambda texts: np.ones((len(texts), 2), bool), "not a finite number"),
        (lambda texts: np.ones((len(texts) + 1, 2)), r"shape \(2, 2\) for 1 texts"),
        (lambda texts: [[[1.0], [1.0, 2.0]] for _ in texts], "rows of different lengths"),
    ],
    ids=range(11),
)
def test_what_is_no_embedding_is_refused(embeddings: Any, message: str) -> None:
    with pytest.raises((ParameterError, DataError), match=message):
        TextFeatures(embeddings=embeddings).fit(TEXTS)


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1.0, 1e160, 1e308])
def test_numbers_of_any_size_become_rows_of_unit_length(size: float) -> None:
    given = np.array([[0.3, -0.4], [0.0, 0.0], [1.0, 0.0]])
    rows = unit_rows(lambda _: size * given, ["a", "b", "c"])
    assert np.allclose(rows, [[0.6, -0.8], [0.0, 0.0], [1.0, 0.0]])


def test_the_function_gets_texts_that_can_be_encoded_if_there_are_any() -> None:
    def lengths(texts: list[str]) -> Any:
        assert texts
        return [[len(text.encode()), 0] for text in texts]

    assert unit_rows(lengths, ["a\ud800"]).tolist() == [[1.0, 0.0]]
    assert unit_rows(lengths, [], 2).shape == (0, 2)


def test_columns_have_numbers_of_31_bits() -> None:
    most = 2**31 - 5
    text = TextFeatures("words", idf=False, n_features=most, embeddings=letters)
    X = text.transform(["tea"])
    assert (X.shape, X.indices[-1]) == ((1, most + 3), most + 2)
    text.set_params(n_features=most + 1)
    with pytest.raises(ParameterError, match="n_features=2147483644 and 3 columns of embeddings"):
        text.fit(["tea"])
    header, arrays = text.state()
    del header["kind"]
    with pytest.raises(ParameterError, match="n_features=2147483643 and 4 columns of embeddings"):
        TextFeatures.from_state(header | {"embedding_size": 4}, arrays)


def test_a_copy_shares_the_function() -> None:
    class Heavy:
        def __deepcopy__(self, memo: object) -> Any:
            raise AssertionError

        def __call__(self, texts: list[str]) -> Any:
            return letters(texts)

    given = Heavy()
    assert clone(TextFeatures(embeddings=given)).embeddings is given


def test_wordllama_comes_with_its_weights(tmp_path: Path) -> None:
    pytest.importorskip("wordllama")
    text = TextFeatures("words", embeddings="wordllama")
    X = text.fit_transform(["A heap of sand", "A pile of gravel", "Quarterly tax return"])
    meaning = X[:, text.n_features :].toarray()
    assert meaning.shape == (3, 256)
    assert meaning[0] @ meaning[1] > meaning[0] @ meaning[2]
    path = tmp_path / "model.lg"
    model = Classifier(text=text).fit(["sand", "tax"], [["a"], ["b"]])
    model.save(path)
    again = labelgrove.load(path).predict_proba(["gravel"]).toarray()
    assert np.array_equal(again, model.predict_proba(["gravel"]).toarray())
