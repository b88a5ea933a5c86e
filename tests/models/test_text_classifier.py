"""TextClassifier: one object from text to labels."""

from __future__ import annotations

import pickle
import signal
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import labelgrove
from labelgrove import (
    DataError,
    LearningInterrupted,
    LOMTreeClassifier,
    ModelFileError,
    ModelStateError,
    NotLearnedError,
    OnlinePLTClassifier,
    ParameterError,
    PLTClassifier,
    TextClassifier,
    ThresholdedClassifier,
)
from labelgrove.data import Columns
from labelgrove.models import _online
from labelgrove.persistence import read_model, write_model
from labelgrove.text import FrontEnd, HashedText, TextFeatures
from labelgrove.vocabulary import Concept, Vocabulary

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
    with pytest.raises(AttributeError) as refused:
        batch.partial_fit(TEXTS, LABELS)
    assert "'PLTClassifier' object has no attribute" in str(refused.value.__cause__)
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
    with pytest.raises(ModelFileError, match=r"m.lg: it finds words with .*trust_pattern=True"):
        labelgrove.load(path)
    model = labelgrove.load(path, trust_pattern=True)
    assert model.text_.token_pattern == r"(\w)*"


@pytest.mark.parametrize(
    "use",
    [
        lambda model: model.partial_fit(TEXTS, LABELS, again=True),
        lambda model: model.tune_thresholds(TEXTS, LABELS),
        lambda model: model.compact(X=TEXTS, y=LABELS),
        lambda model: model.predict(TEXTS),
    ],
)
def test_texts_are_not_weighted_while_the_front_end_changes(
    use: Callable[[TextClassifier], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = TextClassifier().partial_fit(TEXTS, LABELS)
    for name in ("rows", "transform", "state"):
        monkeypatch.setattr(TextFeatures, name, None)
    with model.classifier_._guard.changing(), pytest.raises(ModelStateError, match="learning"):
        use(model)


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
    stems = TextClassifier().partial_fit(
        ["mending nets", "pressing olives"] * 9, [["a"], ["b"]] * 9
    )
    [found] = stems.explain("Mended NETS, mends", "a").labels
    step = found.path[-1]
    assert {one.feature for one in step.contributions} == {"Mended", "NETS", "mends"}
    added = sum(one.contribution for one in step.contributions)
    assert step.margin == pytest.approx(step.bias + added + step.others)
    text = "\ud800 \U0001f41f Mended NETS, mends"
    explained = stems.explain(text, "a")
    [found] = explained.labels
    marked = {text[mark.begin : mark.end]: mark.contribution for mark in found.highlights}
    assert marked == {one.feature: one.contribution for one in found.contributions}
    assert explained.text == text
    [found] = model.explain("Lime, FIG", "fig").labels  # HashedText
    assert [mark.begin for mark in found.highlights] == [0, 6]
    with pytest.raises(DataError, match="2 texts; expected the one"):
        model.explain(TEXTS[:2])
    for none, name in (
        (None, "NoneType"),
        ({"text": "fig"}, "dict"),
        (np.array([["fig"]]), "ndarr"),
    ):
        with pytest.raises(DataError, match=f"texts is a {name}"):
            model.explain(none)


def test_names_may_be_given_at_any_time() -> None:
    model = TextClassifier(OnlinePLTClassifier(random_state=0)).fit(TEXTS, LABELS)
    names = Vocabulary([Concept(model.classes_[0], {"": "its name"})])
    model.vocabulary_ = names
    assert model.vocabulary_ is names


def test_an_interruption_of_fit_counts_texts_not_names(monkeypatch: pytest.MonkeyPatch) -> None:
    names = Vocabulary([Concept(label, {"": label}) for label in "abcde"])
    model = TextClassifier(OnlinePLTClassifier(), vocabulary=names, names="all")

    def interrupted(*_: Any) -> None:
        raise LearningInterrupted("stopped", 7)

    monkeypatch.setattr(OnlinePLTClassifier, "_fit", interrupted)
    with pytest.raises(LearningInterrupted) as caught:
        model.fit(["one", "two"], [["a"], ["b"]])
    assert caught.value.examples_learned == 2


@pytest.mark.parametrize("method", ["predict_topk", "predict_proba", "predict", "compact"])
def test_methods_show_the_options_of_the_classifier(method: str) -> None:
    """Threshold tuning looks these up by name, or computes all probabilities."""
    own, theirs = (
        signature(getattr(kind, method)).parameters
        for kind in (TextClassifier, OnlinePLTClassifier)
    )
    assert list(own) == list(theirs)


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
    ("model", "name", "message"),
    [
        (TextClassifier(), "classifier__arity", r"TextClassifier\(classifier=OnlinePLTClassifier"),
        (TextClassifier(), "text__words", r"TextClassifier\(text=TextFeatures"),
        (TextClassifier(text="words"), "text__words", "text='words' has no parameters"),
    ],
)
def test_a_part_that_is_not_given_has_no_parameters(
    model: TextClassifier, name: str, message: str
) -> None:
    with pytest.raises(ParameterError, match=f"{name}: .*{message}"):
        GridSearchCV(model, {name: [1]}).fit(np.array(TEXTS, object), np.array(CLASSES))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"classifier": "plt"}, "classifier is of type str; expected an estimator of LabelGrove"),
        ({"classifier": dict}, "classifier is of type type; expected an estimator of LabelGrove"),
        ({"classifier": PLTClassifier}, r"is the class PLTClassifier; expected PLTClassifier\(\)"),
        ({"classifier": ThresholdedClassifier(PLTClassifier())}, "expected it outside"),
        ({"text": PLTClassifier()}, "text is a PLTClassifier; expected a front end"),
        ({"columns": "abstract"}, "columns is a str; expected labelgrove.data.Columns"),
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
        with pytest.raises(DataError, match="expected the same number"):
            learn(["one", "two"], [["a"]])
    assert answers(model) == before


FRONT_ENDS: list[FrontEnd] = [
    TextFeatures("words", n_features=2**12),
    TextFeatures("words+subwords", n_features=2**12, fold_accents=True),
    HashedText(n_features=2**12),
]


@pytest.mark.parametrize("text", FRONT_ENDS, ids=str)
def test_cuts_threads_and_files_change_nothing(
    text: FrontEnd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Documents are counted as they are learnt: identical for any division into calls."""
    texts, labels = TEXTS * 200, LABELS * 200  # more than all are taken of
    monkeypatch.setattr(_online, "_RUN_ROWS", 1500)
    files = []
    for n_jobs, sizes, shared in (
        (1, [5000], False),
        (2, [7, 400, 4593], False),
        (3, [5000], True),
    ):
        model = TextClassifier(
            OnlinePLTClassifier(max_leaves=3, random_state=0, n_jobs=n_jobs), text
        )
        begin = 0
        for size in sizes:
            learner: Any = model.shared() if shared else model
            learner.partial_fit(texts[begin : begin + size], labels[begin : begin + size])
            begin += size
            model.predict_topk(["nobody", "kiwi"])
            path = tmp_path / f"{len(files)}.lg"
            model.save(path)
            model = labelgrove.load(path, n_jobs=n_jobs)
        files.append(path.read_bytes())
    assert files[0] == files[1] == files[2]


def test_front_end_and_classifier_keep_step_when_learning_stops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts, labels = TEXTS * 4, LABELS * 4
    model = TextClassifier(OnlinePLTClassifier(random_state=0), FRONT_ENDS[0])
    learn, calls = TextFeatures.learn, []

    def learn_and_be_interrupted(self: Any, *rows: Any) -> Any:
        calls.append(rows)
        signal.raise_signal(signal.SIGINT)
        return learn(self, *rows)

    with monkeypatch.context() as patched:
        patched.setattr(TextFeatures, "learn", learn_and_be_interrupted)
        patched.setattr(_online, "_RUN_ROWS", 7)
        with pytest.raises(LearningInterrupted) as caught:
            model.partial_fit(texts, labels)
    done = caught.value.examples_learned
    assert 0 < done < len(texts)
    assert model.text_.n_documents_ == model.examples_seen_ == done
    expected = TextClassifier(OnlinePLTClassifier(random_state=0), FRONT_ENDS[0])
    expected.partial_fit(texts[:done], labels[:done])
    assert answers(model) == answers(expected)
    before = model.text_.n_documents_
    with pytest.raises(DataError):
        model.partial_fit(["a", "b"], [["x"]])
    model.partial_fit(texts[:5], labels[:5], again=True)
    assert model.text_.n_documents_ == before


def test_fit_weights_by_the_frequencies_in_all_texts() -> None:
    text = TextFeatures("words")
    model = TextClassifier(PLTClassifier(max_leaf_size=2), text).fit(TEXTS, LABELS)
    X = clone(text).fit_transform(TEXTS)
    expected = PLTClassifier(max_leaf_size=2).fit(X, LABELS)
    assert model.text_.n_documents_ == len(TEXTS)
    assert answers(model) == answers(expected, model.text_.transform(TEXTS))


def test_a_preset_may_be_named() -> None:
    model = TextClassifier(text="words+subwords").fit(TEXTS, LABELS)
    assert model.text_.preset == "words+subwords"
    with pytest.raises(ParameterError, match="preset='best': expected one of"):
        TextClassifier(text="best").fit(TEXTS, LABELS)


def test_a_file_tells_which_columns_were_learnt_from(tmp_path: Path) -> None:
    path, columns = tmp_path / "m.lg", Columns(("what",), separator="")
    TextClassifier(columns=columns).fit(TEXTS, LABELS).save(path)
    assert labelgrove.load(path).compact().columns == columns
    stored = read_model(path)
    sound = stored.header["table"]
    for table in (["what"], {"text": ["what"]}, sound | {"labels": [1]}, sound | {"text": "what"}):
        write_model(path, stored.header | {"table": table}, stored.arrays)
        with pytest.raises(ModelFileError, match="the header's 'table'"):
            labelgrove.load(path)


@pytest.mark.parametrize("array", ["text.documents", "text.counters"])
def test_damaged_counts_are_refused(array: str, tmp_path: Path) -> None:
    path = tmp_path / "m.lg"
    TextClassifier().fit(TEXTS, LABELS).save(path)
    stored = read_model(path)
    arrays = {name: np.array(values) for name, values in stored.arrays.items()}
    arrays[array] = arrays[array][:-1]
    write_model(path, stored.header, arrays)
    with pytest.raises(ModelFileError, match="m.lg: .*array '(documents|counters)'"):
        labelgrove.load(path)
