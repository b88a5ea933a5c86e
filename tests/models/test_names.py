"""Label names as training texts: what is learnt, when, and independence from calls."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelgrove import (
    DataError,
    EmbeddingClassifier,
    LearningInterrupted,
    LOMTreeClassifier,
    OnlinePLTClassifier,
    ParameterError,
    PLTClassifier,
    TextClassifier,
    load,
)
from labelgrove.models._names import with_names
from labelgrove.models._online import predict_and_learn
from labelgrove.models.engine._examples import take
from labelgrove.trees import LabelTree
from labelgrove.vocabulary import Concept, Vocabulary
from waiting import until

VOCABULARY = Vocabulary(
    [
        Concept("f", {"": "fish and fisheries"}),
        Concept("o", {"": "olive oil"}),
        Concept("n", {"": "fishing nets"}),
        Concept("x"),
    ]
)
TEXTS = ["salmon in the Baltic", "who mends", "nothing", "cod again", "quotas"] * 3
LABELS = [["f"], ["n", "x"], [], ["f", "new"], ["f", "q"]] * 3


def learner(vocabulary: Vocabulary = VOCABULARY) -> OnlinePLTClassifier:
    model = OnlinePLTClassifier()
    model.vocabulary_ = vocabulary
    return model


def test_names_of_labels_met_come_before_the_example_that_brings_them() -> None:
    more = with_names(learner(), "met", TEXTS[:4], LABELS[:4])
    assert more.texts == [
        *("fish and fisheries", "salmon in the Baltic"),
        *("fishing nets", "who mends", "nothing", "cod again"),
    ]
    assert more.labels == [["f"], ["f"], ["n"], ["n", "x"], [], ["f", "new"]]
    assert more.own.tolist() == [False, True, False, True, True, True]
    assert more.weights is None


def test_names_of_all_come_before_the_first_example_with_a_label() -> None:
    more = with_names(learner(), "all", ["a", "b", "c"], [[], ["n"], ["f"]], [1.0, 2.0, 3.0])
    assert more.labels == [[], ["n"], ["f"], ["o"], ["n"], ["f"]]
    assert more.weights is not None
    assert more.weights.tolist() == [1.0, 1.0, 1.0, 1.0, 2.0, 3.0]
    later = learner().fit(np.eye(3), [["n"], ["f"], ["o"]])
    later.vocabulary_ = VOCABULARY
    again = with_names(later, "all", ["d"], [["o"]])
    assert again.texts == ["d"]


def test_classes_and_numbers() -> None:
    numbered = Vocabulary([Concept("7", {"": "seven"}), Concept("x", {"": "no number"})])
    more = with_names(learner(numbered), "all", ["a"], np.array([3]))
    assert (more.texts, more.labels) == (["seven", "a"], [7, 3])


@pytest.mark.parametrize("names", ["met", "all"])
def test_any_cut_into_calls_with_saving_between_them_is_the_same(
    tmp_path: Path, names: Any
) -> None:
    whole = TextClassifier(vocabulary=VOCABULARY, names=names).partial_fit(TEXTS, LABELS)
    whole.save(tmp_path / "whole.lg")
    cut = TextClassifier(vocabulary=VOCABULARY, names=names)
    for start in range(0, len(TEXTS), 2):
        cut.partial_fit(TEXTS[start : start + 2], LABELS[start : start + 2])
        cut.save(tmp_path / "cut.lg")
        cut = load(tmp_path / "cut.lg", n_jobs=2)
    assert (tmp_path / "whole.lg").read_bytes() == (tmp_path / "cut.lg").read_bytes()
    assert (cut.names, cut.vocabulary_) == (names, VOCABULARY)


def test_a_label_that_no_example_had_is_predicted_by_its_name() -> None:
    for classifier in (OnlinePLTClassifier(), PLTClassifier()):
        learnt = TextClassifier(classifier, vocabulary=VOCABULARY, names="all").fit(TEXTS, LABELS)
        assert learnt.predict_topk(["a bottle of olive oil"], k=1)[0].tolist() == [["o"]]
    met = TextClassifier(vocabulary=VOCABULARY, names="met").fit(TEXTS, LABELS)
    assert "o" not in met.classes_


def test_a_vocabulary_alone_changes_nothing_that_is_learnt(tmp_path: Path) -> None:
    plain = TextClassifier().fit(TEXTS, LABELS)
    named = TextClassifier(vocabulary=VOCABULARY).fit(TEXTS, LABELS)
    for ours, theirs in zip(named.predict_topk(TEXTS), plain.predict_topk(TEXTS), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert (plain.vocabulary_, named.vocabulary_) == (None, VOCABULARY)


@pytest.mark.parametrize("for_prediction", [False, True])
def test_any_model_keeps_its_vocabulary(tmp_path: Path, for_prediction: bool) -> None:
    model = OnlinePLTClassifier().fit([[1.0, 0.0], [0.0, 1.0]], ["f", "o"])
    model.vocabulary_ = VOCABULARY
    model.save(tmp_path / "m.lg", for_prediction=for_prediction)
    assert load(tmp_path / "m.lg").vocabulary_ == VOCABULARY
    assert model.compact().vocabulary_ == VOCABULARY
    assert model.explain([[1.0, 0.0]], "f").labels[0].called == "fish and fisheries (f)"
    batch = PLTClassifier().fit([[1.0, 0.0], [0.0, 1.0]], ["f", "o"])
    batch.vocabulary_ = VOCABULARY
    assert OnlinePLTClassifier.from_batch(batch).vocabulary_ == VOCABULARY


def test_after_ctrl_c_the_callers_examples_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    model = TextClassifier(vocabulary=VOCABULARY, names="met").partial_fit(["a"], [["x"]])

    def stopped(*arguments: object, **options: object) -> None:
        raise LearningInterrupted("stopped", 4)

    monkeypatch.setattr(model.classifier_, "_partial_fit", stopped)
    with pytest.raises(LearningInterrupted) as caught:
        model.partial_fit(TEXTS, LABELS)
    # Of those four the names of f and n were two.
    assert caught.value.examples_learned == 2


def test_threads_learn_the_same_names_once() -> None:
    model = TextClassifier(vocabulary=VOCABULARY, names="all").shared()
    guard = model.model._guard
    with ThreadPoolExecutor(2) as pool:
        with guard.changing(60.0):  # both find that no label has been learnt
            calls = [pool.submit(model.partial_fit, [text], [["f"]]) for text in ("cod", "eel")]
            until(lambda: len(guard._changers) == 2)
        for call in calls:
            call.result(60.0)
    assert model.model.label_counts_.tolist() == [3, 1, 1]  # "f" by its name and two texts
    assert model.model.examples_seen_ == 5


def test_parameters_are_checked() -> None:
    with pytest.raises(ParameterError, match="names='some': expected None, 'met' or 'all'"):
        TextClassifier(vocabulary=VOCABULARY, names="some").fit(TEXTS, LABELS)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="names='met': expected a vocabulary"):
        TextClassifier(names="met").fit(TEXTS, LABELS)
    with pytest.raises(ParameterError, match="vocabulary is a dict; expected a Vocabulary"):
        TextClassifier(vocabulary={}).fit(TEXTS, LABELS)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="vocabulary_ is a dict"):
        OnlinePLTClassifier().vocabulary_ = {}  # type: ignore[assignment]
    with pytest.raises(DataError, match="Y is a 0/1 matrix, and the names"):
        TextClassifier(vocabulary=VOCABULARY, names="met").fit(["a", "b"], np.eye(2))


def test_weights_that_are_all_zero_are_refused_with_names_as_without() -> None:
    nothing = [0.0] * len(TEXTS)
    for more in ({}, {"vocabulary": VOCABULARY, "names": "met"}):
        with pytest.raises(DataError, match="sample_weight: every weight is zero"):
            TextClassifier(**more).fit(TEXTS, LABELS, nothing)
        TextClassifier(**more).partial_fit(TEXTS, LABELS, sample_weight=nothing)


@pytest.mark.parametrize("names", [None, "met", "all"])
def test_the_fingerprint_is_that_of_the_file(names: Any, tmp_path: Path) -> None:
    model = TextClassifier(vocabulary=VOCABULARY, names=names).fit(TEXTS, LABELS)
    for clf in (model, model.classifier_):
        clf.save(tmp_path / "model.lg")
        written = (tmp_path / "model.lg").read_bytes()
        assert clf.fingerprint() == hashlib.sha256(written).hexdigest()


def test_labels_of_the_vocabulary_need_no_announcement() -> None:
    concepts = [Concept(name, {"en": said}) for name, said in (("a", "alpha"), ("z", "zed"))]
    model = TextClassifier(vocabulary=Vocabulary(concepts), names="all")
    for _ in range(2):
        model.partial_fit(["one"], [["a"]], classes=["a", "b"])
    assert model.classes_.tolist() == ["a", "b", "z"]
    with pytest.raises(DataError, match="label 'c' is not among the classes"):
        model.partial_fit(["one"], [["c"]], classes=["a", "b"])
    with pytest.raises(DataError, match="label 'b' has no examples yet"):
        model.explain("one", "b")


@pytest.mark.parametrize("way", ["announced", "given tree"])
def test_a_label_known_without_an_example_is_still_new(way: str) -> None:
    tree = LabelTree.flat(["f", "n"]) if way == "given tree" else None
    classes = ["f", "n"] if way == "announced" else None

    def new() -> TextClassifier:
        return TextClassifier(OnlinePLTClassifier(tree=tree), vocabulary=VOCABULARY, names="met")

    at_once = new().partial_fit(["one", "two", "three"], [["f"], ["n"], ["n"]], classes)
    in_calls = new().partial_fit(["one"], [["f"]], classes)
    in_calls.partial_fit(["two"], [["n"]]).partial_fit(["three"], [["n"]])
    assert at_once.label_counts_.tolist() == [2, 3]
    assert in_calls.fingerprint() == at_once.fingerprint()
    again = in_calls.partial_fit(["two"], [["n"]], again=True)
    assert again.examples_seen_ == at_once.examples_seen_ + 1
    repeated = new().partial_fit(["one"], [["f"]], ["f", "n"])
    repeated.partial_fit(["two"], [["n"]], again=True)  # also its name has been learnt
    assert repeated.examples_seen_ == 3


@pytest.mark.parametrize("names", ["met", "all"])
def test_texts_are_predicted_before_they_are_learnt_wherever_names_come_between(names: str) -> None:
    at_once, in_calls = (TextClassifier(vocabulary=VOCABULARY, names=names) for _ in range(2))
    asked = np.arange(1, len(TEXTS), 2, dtype=np.uint64)
    found = predict_and_learn(at_once, TEXTS, LABELS, asked, 2)
    first = np.zeros(1, np.uint64)
    each = [
        predict_and_learn(in_calls, [text], [labels], first, 2)[0]
        for text, labels in zip(TEXTS, LABELS, strict=True)
    ]
    assert found == each[1::2] and len({*map(str, found)}) > 2
    assert in_calls.fingerprint() == at_once.fingerprint()


def test_labels_announced_before_any_example_do_not_keep_all_names_from_being_learnt() -> None:
    at_once, in_calls = (TextClassifier(vocabulary=VOCABULARY, names="all") for _ in range(2))
    at_once.partial_fit(["one", "two"], [[], ["f"]], ["f"])
    in_calls.partial_fit(["one"], [[]], ["f"]).partial_fit(["two"], [["f"]])
    assert min(in_calls.label_counts_) == 1 and len(in_calls.classes_) > 1
    assert in_calls.fingerprint() == at_once.fingerprint()


@pytest.mark.parametrize("names", ["met", "all"])
@pytest.mark.parametrize(
    ("classifier", "texts", "labels", "weights"),
    [
        (OnlinePLTClassifier(), {"a": 1, "b": 2, "c": 3}, [["f"], ["n"], ["o"]], None),
        (OnlinePLTClassifier(), "one", [["f"]], None),
        (OnlinePLTClassifier(), None, [["f"]], None),
        (OnlinePLTClassifier(), 5, [["f"]], None),
        (OnlinePLTClassifier(), np.array([["a"], ["b"]]), [["f"], ["n"]], None),
        (OnlinePLTClassifier(), ["a", "b", 3], [["f"], ["n"], ["o"]], None),
        (OnlinePLTClassifier(), ["a", "b", "c"], [["f"], ["n"], ["\ud800"]], None),
        (LOMTreeClassifier(), ["a", "b", "c"], [["f"], ["n"], ["f", "n"]], None),
        (LOMTreeClassifier(), ["a", "b", "c"], [["f"], ["n"], []], None),
        (OnlinePLTClassifier(), ["a", "b", "c"], [["f"], ["n"], ["o"]], [1, 0, 1e9]),
        (PLTClassifier(online_ready=True), ["a", "b", "c"], [["f"], ["n"], ["o"]], [1, 0, 1e9]),
        (EmbeddingClassifier(), ["a", "b", "c"], [["f"], ["n"], ["o"]], [1, 0, 1e9]),
    ],
    ids=range(12),
)
def test_what_is_refused_is_found_in_the_callers_rows(
    classifier: Any, texts: Any, labels: Any, weights: Any, names: Any
) -> None:
    with pytest.raises(DataError) as expected:
        TextClassifier(classifier).fit(texts, labels, weights)
    new = TextClassifier(classifier, vocabulary=VOCABULARY, names=names)
    learns = [new.fit, new.partial_fit] if hasattr(new, "partial_fit") else [new.fit]
    for learn in learns:
        with pytest.raises(DataError) as found:
            learn(texts, labels, sample_weight=weights)
        assert str(found.value) == str(expected.value)
    if isinstance(texts, list):
        assert "row 2" in str(expected.value)


def test_examples_left_out_take_along_whose_they_are() -> None:
    model, own = PLTClassifier(), np.array([True, True, False])
    start = model._started(named=False)
    given = take(model, start, np.eye(3), ["a", "b", "c"], [1.0, 0.0, 1.0], own=own)
    assert given.without_ignored().own.tolist() == [True, False]


def test_a_column_of_arrow_is_texts_with_names_too() -> None:
    pa = pytest.importorskip("pyarrow")
    found, expected = (
        TextClassifier(vocabulary=VOCABULARY, names="met").fit(texts, LABELS).fingerprint()
        for texts in (pa.array(TEXTS), TEXTS)
    )
    assert found == expected
