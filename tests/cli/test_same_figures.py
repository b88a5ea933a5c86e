"""Every command and function reports the same figures for one model and one set of examples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator

import labelgrove
from cli.conftest import as_json, as_json_lines
from labelgrove import OnlinePLTClassifier, PLTClassifier, ThresholdedClassifier, evaluate
from labelgrove._cuts import least_scores, reaches
from labelgrove.data import read_examples, write_examples
from labelgrove.metrics import f_measure
from labelgrove.reporting import _sections
from labelgrove.reporting._measured import measure

TIMES = {"seconds", "examples_per_second"}


def made(n: int, seed: int) -> tuple[csr_array, list[list[int]]]:
    """Noisy rows: later labels are rarer; some rows have none."""
    chance = np.random.default_rng(seed)
    X, rows = np.zeros((n, 30), np.float32), []
    for i in range(n):
        labels = np.unique((15 * chance.random(chance.integers(0, 4)) ** 2).astype(int)).tolist()
        X[i, [2 * label for label in labels]] = 1
        X[i, chance.integers(0, 30, 3)] += 1
        rows.append(labels)
    return csr_array(X), rows


@pytest.fixture(scope="module", params=["online-plt", "three passes", "tuned", "batch"])
def model(request: pytest.FixtureRequest) -> Any:
    X, Y = made(300, 0)
    if request.param == "batch":
        return PLTClassifier(arity=4).fit(X, Y)
    epochs = 3 if request.param == "three passes" else 1
    clf = OnlinePLTClassifier(arity=4, max_leaves=4, epochs=epochs).fit(X, Y)
    return clf.tune_thresholds(*made(300, 1)) if request.param == "tuned" else clf


def asked_by_command(model: Any, data: Path, *words: str) -> Any:
    path = data.with_suffix(".lg")
    model.save(path)
    return as_json("eval", path, data, *words)


def test_report_command_and_python_agree(model: Any, tmp_path: Path) -> None:
    X, Y = made(200, 2)
    Y[0] = [*Y[0], 99]  # never learnt
    data = tmp_path / "test.svm"
    write_examples(data, X, Y)
    stored = read_examples(data)
    asked = evaluate(model, stored.X, stored.labels)
    reported = measure(model, stored.X, stored.labels).figures
    by_command = asked_by_command(model, data)
    names = asked.keys() - TIMES
    assert {"macro_f1", "micro_f1", "instance_f1", "psp@3", "unknown_labels"} <= names
    assert by_command.keys() == asked.keys() | {"total_seconds"}
    assert {name: by_command[name] for name in names} == {name: asked[name] for name in names}
    assert {name: reported[name] for name in names} == {name: asked[name] for name in names}
    table = _sections.label_columns(measure(model, stored.X, stored.labels), None)
    told = [value for value in table["f1"] if value is not None]
    assert len(told) == asked["labels_in_test"]
    assert np.mean(told) == pytest.approx(asked["macro_f1"], abs=1e-4)


def test_the_definitions_of_f1(model: Any) -> None:
    X, Y = made(200, 2)
    Y = [[label for label in row if label != 3] for row in Y]  # known, but never true
    truth = np.zeros((len(Y), model.n_classes_))
    column = {label: i for i, label in enumerate(model.classes_.tolist())}
    for i, row in enumerate(Y):
        truth[i, [column[label] for label in row]] = 1
    truth, predicted = csr_array(truth), model.predict(X)
    assert predicted[:, [column[3]]].nnz, "a label that is nowhere true must be predicted"
    found = evaluate(model, X, Y)
    in_test = np.unique(truth.indices)
    assert found["macro_f1"] == f_measure(truth, predicted, average="macro", labels=in_test)
    assert found["micro_f1"] == f_measure(truth, predicted, average="micro")
    assert found["instance_f1"] == f_measure(truth, predicted, average="instance")
    assert found["labels_per_example"] == predicted.nnz / len(Y)


def test_classes_that_exclude_one_another(tmp_path: Path) -> None:
    X, Y = made(400, 3)
    kept = [i for i, row in enumerate(Y) if len(row) == 1]
    X, y = X[kept], [Y[i][0] for i in kept]
    model = OnlinePLTClassifier(max_leaves=2).fit(X, y)
    data = tmp_path / "test.svm"
    write_examples(data, X, [[label] for label in y])
    asked, by_command = evaluate(model, X, y), asked_by_command(model, data)
    reported = measure(model, X, y).figures
    for name in asked.keys() - TIMES:
        assert by_command[name] == reported[name] == asked[name], name
    assert (
        asked["accuracy"] == asked["p@1"] == asked["micro_f1"] == pytest.approx(model.score(X, y))
    )
    assert asked["error"] == 1 - asked["accuracy"]


class Certain(BaseEstimator):
    """Predicts its only label with score 0.7, in single precision."""

    classes_ = np.array(["oak"])

    def fit(self, X: Any, y: Any) -> Certain:
        return self

    def predict_proba(self, X: Any) -> Any:
        return np.full((len(X), 1), 0.7, np.float32)


def test_seven_tenths_in_single_precision_do_not_reach_seven_tenths() -> None:
    assert float(np.float32(0.7)) < 0.7  # as numbers; NumPy itself would round the second
    wrapped = ThresholdedClassifier(Certain(), validation=([[0]] * 4, [["oak"]] * 4))
    wrapped.fit([[0]] * 4, [["oak"]] * 4)
    for threshold in (0.7, float(np.float32(0.7))):
        wrapped.thresholds_ = np.array([threshold])
        assert wrapped.predict([[0]]).nnz == int(threshold < 0.7)


@pytest.mark.parametrize("above", [False, True])
def test_a_threshold_is_not_rounded_anywhere(tmp_path: Path, above: bool) -> None:
    """A score just below a threshold, to which it is equal in 32 bits, does not reach it."""
    X, Y = made(100, 4)
    model = OnlinePLTClassifier(arity=4, max_leaves=4).fit(X, Y)
    scores = model.predict_proba(X[[0]]).toarray()[0]
    chosen = int(np.argsort(scores)[-2])
    threshold = float(scores[chosen])
    if above:
        threshold = float(np.nextafter(threshold, 1))
    assert np.float32(threshold) == scores[chosen]
    expected = int((scores.astype(np.float64) >= threshold).sum())
    assert expected == (1 if above else 2)

    row, true = X[[0]], [Y[0]]
    label = model.classes_[chosen]
    assert model.predict_proba(row, threshold=threshold).nnz == expected
    assert model.set_params(threshold=threshold).predict(row).nnz == expected
    assert evaluate(model, row, true, threshold=threshold)["labels_per_example"] == expected
    assert measure(model, row, true).figures["labels_per_example"] == expected
    assert model.explain(row, label, threshold=threshold).labels[0].predicted != above
    model.set_thresholds(np.full(model.n_classes_, threshold))
    assert model.predict(row).nnz == expected
    assert measure(model, row, true).answer.nnz == expected
    wrapped = ThresholdedClassifier(model, validation=0.5).fit(X, Y)
    wrapped.estimator_, wrapped.thresholds_ = model, model.thresholds_
    assert wrapped.predict(row).nnz == expected

    data, file = tmp_path / "row.svm", tmp_path / "m.lg"
    write_examples(data, row, true)
    model.save(file)
    for words in (["--threshold", repr(threshold)], ["--thresholds"]):
        found = as_json("eval", file, data, *words)
        assert found["labels_per_example"] == expected
        [told] = as_json_lines("predict", file, data, *words)
        assert len(told["labels"]) == expected
    words = ("-k", "5", "--threshold", repr(threshold))
    [told] = as_json_lines("predict", file, data, *words)
    assert len(told["labels"]) == expected


def test_the_least_score_that_reaches_a_threshold() -> None:
    thresholds = np.concatenate([np.linspace(0, 1, 1001), [np.inf, -np.inf, 1e300]])
    least = least_scores(thresholds)
    assert least.dtype == np.float32
    assert reaches(least, thresholds).all()
    finite = np.isfinite(least)
    below = np.nextafter(least[finite], np.float32(-np.inf))
    assert not reaches(below, thresholds[finite]).any()


def test_evaluate_is_the_same_from_the_package() -> None:
    assert labelgrove.evaluate is evaluate
