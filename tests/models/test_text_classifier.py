"""One class from text to labels: what its classifier does with the rows of its front end."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import labelgrove
from labelgrove import (
    DataError,
    LOMTreeClassifier,
    ModelFileError,
    NotLearnedError,
    OnlinePLTClassifier,
    ParameterError,
    PLTClassifier,
    TextClassifier,
)
from labelgrove.text import HashedText

FRUITS = ["apple", "fig", "kiwi", "lime", "pear"]
TEXTS = [f"some {one} and {other}" for one in FRUITS for other in FRUITS]
LABELS = [[one, other] if one != other else [one] for one in FRUITS for other in FRUITS]
CLASSES = [one for one in FRUITS for _ in FRUITS]


def online(**parameters: Any) -> TextClassifier:
    return TextClassifier(OnlinePLTClassifier(max_leaves=3, arity=2, **parameters), HashedText())


def answers(model: Any, X: Any = TEXTS) -> list[Any]:
    labels, scores = model.predict_topk(X, k=3)
    return [labels.tolist(), scores.tolist()]


@pytest.mark.parametrize("text", [HashedText(), HashedText(n_features=64, ngram_range=(1, 2))])
def test_it_is_its_classifier_on_the_rows_of_its_front_end(text: HashedText) -> None:
    X = text.transform(TEXTS)
    for classifier in (OnlinePLTClassifier(max_leaves=3), PLTClassifier(max_leaf_size=2)):
        ours = TextClassifier(classifier, text).fit(TEXTS, LABELS)
        theirs = clone(classifier).fit(X, LABELS)
        assert answers(ours) == answers(theirs, X)
        assert (ours.predict(TEXTS) != theirs.predict(X)).nnz == 0
        assert (
            ours.predict_proba(TEXTS, threshold=0.1) != theirs.predict_proba(X, threshold=0.1)
        ).nnz == 0
        assert ours.score(TEXTS, LABELS) == theirs.score(X, LABELS)
        assert ours.label_paths(TEXTS, LABELS).nodes.tolist() == (
            theirs.label_paths(X, LABELS).nodes.tolist()
        )
        assert not hasattr(classifier, "classes_")  # it was copied
        for name in ("classes_", "n_classes_", "label_counts_", "examples_seen_", "target_type_"):
            assert np.array_equal(getattr(ours, name), getattr(theirs, name))
        ours.tune_thresholds(TEXTS, LABELS, "sto")
        theirs.tune_thresholds(X, LABELS, "sto")
        assert ours.thresholds_.tolist() == theirs.thresholds_.tolist()


def test_a_call_is_as_good_as_many() -> None:
    once, often = online().partial_fit(TEXTS, LABELS), online()
    for begin, end in ((0, 1), (1, 4), (4, 25)):
        often.partial_fit(TEXTS[begin:end], LABELS[begin:end])
    assert pickle.dumps(once.classifier_) == pickle.dumps(often.classifier_)


def test_what_the_classifier_lacks_is_not_offered() -> None:
    batch, lom = TextClassifier(PLTClassifier()), TextClassifier(LOMTreeClassifier())
    assert not hasattr(batch, "partial_fit")
    assert not hasattr(batch, "shared")
    assert not hasattr(lom, "compact")
    assert not hasattr(lom.fit(TEXTS, CLASSES), "tree_")
    assert batch.fit_progress == 0
    assert batch.fit(TEXTS, LABELS).tree_.n_nodes > 1
    for name in ("classes_", "thresholds_", "compaction_"):
        assert not hasattr(online(), name)


@pytest.mark.parametrize("use", ["predict", "predict_topk", "predict_proba", "explain"])
def test_nothing_is_predicted_before_something_is_learnt(use: str) -> None:
    with pytest.raises(NotLearnedError):
        getattr(online(), use)(["a"])


def test_a_file_holds_both(tmp_path: Path) -> None:
    model = online().partial_fit(TEXTS, LABELS)
    path = tmp_path / "m.lg"
    for for_prediction in (True, False):
        model.save(path, for_prediction=for_prediction)
        again = labelgrove.load(path)
        assert isinstance(again, TextClassifier)
        assert answers(again) == answers(model)
    again.partial_fit(["a new label"], [["new"]]).save(path)
    model.partial_fit(["a new label"], [["new"]]).save(tmp_path / "same.lg")
    assert path.read_bytes() == (tmp_path / "same.lg").read_bytes()
    assert answers(pickle.loads(pickle.dumps(model))) == answers(again)
    small = model.compact(dtype="int8", X=TEXTS, y=LABELS, max_bytes=path.stat().st_size)
    small.save(path)
    assert path.stat().st_size == small.compaction_.bytes_after
    assert answers(labelgrove.load(path)) == answers(small)


def test_a_pattern_of_words_is_taken_only_from_those_one_trusts(tmp_path: Path) -> None:
    path = tmp_path / "m.lg"
    TextClassifier(text=HashedText(token_pattern=r"(\w)*")).fit(TEXTS, LABELS).save(path)
    with pytest.raises(ModelFileError, match=r"m.lg: it finds words by .*trust_pattern=True"):
        labelgrove.load(path)
    model = labelgrove.load(path, trust_pattern=True)
    assert model.text_.token_pattern == r"(\w)*"


def test_threads_share_it() -> None:
    shared = online().shared()
    shared.partial_fit(TEXTS, LABELS).rename_labels({"fig": "date"}).remove_labels(["kiwi"])
    expected = online().partial_fit(TEXTS, LABELS)
    expected.rename_labels({"fig": "date"}).remove_labels(["kiwi"])
    assert answers(shared) == answers(expected)
    assert shared.read(lambda model: model.n_classes_) == 4


def test_an_explanation_names_words() -> None:
    model = online().partial_fit(TEXTS, LABELS)
    [found] = model.explain("fig and lime", "fig").labels
    named = {one.feature for step in found.path for one in step.contributions}
    assert named <= {"fig", "and", "lime"}
    with pytest.raises(DataError, match="2 texts; expected the one"):
        model.explain(TEXTS[:2])


def test_scikit_learn_can_search_its_parameters() -> None:
    search = GridSearchCV(
        TextClassifier(OnlinePLTClassifier(), HashedText()),
        {"text__ngram_range": [(1, 1), (1, 2)], "classifier__alpha": [0.5]},
        cv=2,
    )
    search.fit(np.array(TEXTS, object), np.array(CLASSES))
    assert search.best_estimator_.classifier_.alpha == 0.5
    copy = clone(search.best_estimator_)
    assert not hasattr(copy, "classifier_")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"classifier": "plt"}, "classifier is a str; expected an estimator of LabelGrove"),
        ({"text": "words"}, "text is a str; expected a front end"),
    ],
)
def test_other_parts_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        TextClassifier(**parameters).fit(TEXTS, LABELS)


def test_what_fails_changes_nothing() -> None:
    model = online().partial_fit(TEXTS, LABELS)
    before = answers(model)
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(DataError, match="row 1"):
            learn(["one", 2], [["a"], ["b"]])
        with pytest.raises(DataError, match="expected as many"):
            learn(["one", "two"], [["a"]])
    assert answers(model) == before
