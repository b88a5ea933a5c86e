"""river's interface: its own checks, and agreement with the estimators."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("river")

from river import checks, compose, datasets, evaluate, metrics, preprocessing, stream
from sklearn.datasets import load_digits

from labelgrove import (
    DataError,
    EmbeddingClassifier,
    LearningInterrupted,
    LOMTreeClassifier,
    MemoryTreeClassifier,
    OnlinePLTClassifier,
    ParameterError,
    PLTClassifier,
    TextClassifier,
)
from labelgrove.river import Classifier, MultiLabelClassifier

MODELS = {
    "online plt": Classifier(),
    "lomtree": Classifier(LOMTreeClassifier()),
    "sets": MultiLabelClassifier(),
}


class Music:
    """Replaces river's data set of that name, which would be downloaded."""

    def take(self, n: int) -> Iterator[tuple[dict[str, float], dict[str, bool]]]:
        rng = np.random.default_rng(0)
        for _ in range(n):
            x = rng.normal(size=8).round(3).tolist()
            yield (
                {f"f{j}": value for j, value in enumerate(x)},
                {f"mood {j}": x[j] + x[j + 4] > 0.5 for j in range(4)},
            )


datasets.Music = Music


def every_check() -> list[Any]:
    return [
        pytest.param(model, check, id=f"{name}-{check.__name__}-{number}")
        for name, model in MODELS.items()
        for number, check in enumerate(checks.yield_checks(model))
        # Thousands of rows each; what grows is the model within, and a LOMtree's nodes are limited.
        if name == "online plt" or check.__name__ != "check_bounded_memory_growth"
    ]


@pytest.mark.parametrize(("model", "check"), every_check())
def test_checks_of_river(model: Any, check: Any) -> None:
    assert not model._unit_test_skips()
    check(model.clone())


def digits() -> list[tuple[dict[str, float], int]]:
    X, y = load_digits(return_X_y=True)
    return [
        ({f"pixel {j}": v for j, v in enumerate(row)}, int(c))
        for row, c in zip((X[:500] / 16).tolist(), y[:500], strict=True)
    ]


def test_it_is_what_the_estimator_says_row_by_row() -> None:
    plain = OnlinePLTClassifier(second_stage=None)
    model = Classifier(plain)
    arrived: list[int] = []
    for x, y in digits()[:200]:
        model.learn_one(x, f"digit {y}")
        arrived += [y] * (y not in arrived)
        plain.partial_fit([dict(sorted(x.items()))], [arrived.index(y)])
    for x, _ in digits()[200:240]:
        [label], [scores] = plain.predict_topk([x], len(arrived))
        assert model.predict_one(x) == f"digit {arrived[label[0]]}"
        found = model.predict_proba_one(x)
        assert list(found) == [f"digit {y}" for y in arrived]
        of = dict(zip(label.tolist(), scores.tolist(), strict=True))
        odds = np.array([(of[i] / (1 - of[i])) ** 1.25 for i in range(len(arrived))])  # of ten
        np.testing.assert_allclose(list(found.values()), odds / odds.sum(), rtol=1e-6)


def test_a_stream_of_many_classes() -> None:
    model = Classifier()
    metric = evaluate.progressive_val_score(digits(), model, metrics.Accuracy())
    assert metric.get() > 0.6  # ten classes, 500 examples
    model = preprocessing.StandardScaler() | Classifier()
    segments = datasets.ImageSegments().take(500)
    assert evaluate.progressive_val_score(segments, model, metrics.Accuracy()).get() > 0.5


def test_a_stream_of_label_sets() -> None:
    model = preprocessing.StandardScaler() | MultiLabelClassifier()
    metric = metrics.multioutput.MicroAverage(metrics.F1())
    found = evaluate.progressive_val_score(Music().take(300), model, metric)
    assert found.get() > 0.4


def test_labels_of_any_type_come_back_as_they_were() -> None:
    labels = [True, "oak", 7, (1, 2), None, frozenset({"a"})]
    model = Classifier()
    for _ in range(20):
        for i, label in enumerate(labels):
            model.learn_one({f"f{i}": 1.0, "all": 0.1}, label)
    for i, label in enumerate(labels):
        found = model.predict_one({f"f{i}": 1.0, "all": 0.1})
        assert found == label and type(found) is type(label)
    twin = pickle.loads(pickle.dumps(model))
    assert twin.predict_proba_one({"f1": 1.0}) == model.predict_proba_one({"f1": 1.0})


def test_features_may_be_numbers_and_categories() -> None:
    model = Classifier()
    for x, y in stream.iter_array(np.eye(3), ["a", "b", "c"]):
        for _ in range(10):
            model.learn_one({**x, "colour": "red"}, y)
    assert model.predict_one({0: 1.0}) == "a" and model.predict_one({2: 1.0}) == "c"


def test_rows_of_a_data_frame_are_learnt_as_dicts_are() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"fur": [1.0, 0.0], "scales": [0.0, 1.0]})
    of_rows, of_dicts = Classifier(), Classifier()
    for (_, row), animal in zip(frame.iterrows(), ["cat", "fish"], strict=True):
        of_rows.learn_one(row, animal)
        of_dicts.learn_one(row.to_dict(), animal)
    one = frame.loc[1]
    assert of_rows.predict_proba_one(one) == of_dicts.predict_proba_one(one.to_dict())


def test_arguments_of_another_kind_are_refused() -> None:
    features = {"fur": 1}
    with pytest.raises(DataError, match="x is a str: expected a dict of feature"):
        Classifier().learn_one("fur", "cat")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="y is a list: expected one label; for sets"):
        Classifier().learn_one(features, ["cat", "pet"])
    with pytest.raises(DataError, match="y is a set: expected a dict of label to bool"):
        MultiLabelClassifier().learn_one(features, {"cat", "pet"})  # type: ignore[arg-type]


@pytest.mark.parametrize("nothing", [float("nan"), np.float32("nan"), np.datetime64("NaT", "s")])
def test_a_missing_label_is_refused(nothing: Any) -> None:
    model, sets = Classifier(), MultiLabelClassifier()
    with pytest.raises(DataError, match="a missing value: expected one label"):
        model.learn_one({"fur": 1}, nothing)
    for y in ({"cat": True, nothing: True}, {"cat": True, "pet": nothing}):
        with pytest.raises(DataError, match="expected a dict of label to bool, without missing"):
            sets.learn_one({"fur": 1}, y)
    assert model.predict_proba_one({"fur": 1}) == sets.predict_proba_one({"fur": 1}) == {}


def test_what_is_refused_leaves_no_label_behind() -> None:
    model, sets = Classifier(), MultiLabelClassifier()
    model.learn_one({"f": 1.0}, "a")
    sets.learn_one({"f": 1.0}, {"a": True, "b": False})
    for bad in ({"f": float("nan")}, {"f": None}):
        with pytest.raises(DataError):
            model.learn_one(bad, "z")
        with pytest.raises(DataError):
            sets.learn_one(bad, {"z": True})
    assert list(model.predict_proba_one({"f": 1.0})) == ["a"]
    assert list(sets.predict_proba_one({"f": 1.0})) == ["a", "b"]
    assert sets.predict_one({"f": 1.0})["b"] is False
    assert sets.predict_proba_one({"f": 1.0})["b"] == {False: 1.0, True: 0.0}


@pytest.mark.parametrize("learnt", [0, 1])
def test_an_interruption_keeps_names_in_step(learnt: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Classifier()
    model.learn_one({"f": 1.0}, "cat")
    partial_fit = OnlinePLTClassifier.partial_fit

    def interrupted(self: Any, *example: Any, **options: Any) -> None:
        if learnt:
            partial_fit(self, *example, **options)
        raise LearningInterrupted("stopped", learnt)

    with monkeypatch.context() as patched, pytest.raises(LearningInterrupted):
        patched.setattr(OnlinePLTClassifier, "partial_fit", interrupted)
        model.learn_one({"g": 1.0}, "dog")
    model.learn_one({"h": 1.0}, "cow")
    assert model.predict_one({"h": 1.0}) == "cow"
    assert model.predict_one({"g": 1.0}) == "dog" or not learnt


@pytest.mark.parametrize("kind", [Classifier, MultiLabelClassifier])
@pytest.mark.parametrize("estimator", [PLTClassifier(), TextClassifier(), "plt"])
def test_an_estimator_that_cannot_learn_online_is_refused(kind: Any, estimator: Any) -> None:
    with pytest.raises(ParameterError, match=f"estimator is a {type(estimator).__name__}: expect"):
        kind(estimator)


def test_a_class_instead_of_an_estimator_is_refused() -> None:
    with pytest.raises(
        ParameterError, match=r"class OnlinePLT\w+: expected OnlinePLTClassifier\(\)"
    ):
        Classifier(OnlinePLTClassifier)


def test_an_estimator_of_classes_cannot_learn_sets() -> None:
    with pytest.raises(ParameterError, match="is a LOMTreeClassifier, which learns one class per"):
        MultiLabelClassifier(LOMTreeClassifier())
    for estimator in (MemoryTreeClassifier(), EmbeddingClassifier(dimension=4)):
        model = MultiLabelClassifier(estimator)
        model.learn_one({"a": 1}, {"x": True})
        assert model.predict_proba_one({"a": 1}).keys() == {"x"}


def test_features_that_differ_in_type_only_are_refused() -> None:
    model = Classifier()
    with pytest.raises(DataError, match="x: two features are called '1' as text; expected dist"):
        model.learn_one({1: 2, "1": 3}, "a")
    assert model.learn_one({1: 2, "2": 3}, "a") is None


def test_before_the_first_example() -> None:
    weightless = Classifier()
    weightless.learn_one({"f": 1.0}, "a", w=0.0)
    assert weightless.predict_one({"f": 1.0}) is None
    assert Classifier().predict_one({"f": 1.0}) is None
    assert Classifier().predict_proba_one({"f": 1.0}) == {}
    assert MultiLabelClassifier().predict_one({}) == {}
    none = MultiLabelClassifier()
    none.learn_one({"f": 1.0}, {"a": False})
    assert none.predict_one({"f": 1.0}) == {"a": False}


def test_in_a_pipeline_of_river() -> None:
    model = compose.Discard("noise") | Classifier()
    for _ in range(10):
        model.learn_one({"f0": 1.0, "noise": 3.0}, "zero")
        model.learn_one({"f1": 1.0, "noise": 3.0}, "one")
    assert model.predict_one({"f0": 1.0}) == "zero"
    assert model["Classifier"].fitted.n_features_in_ == 2
