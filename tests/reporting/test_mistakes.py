"""Confused labels, wrong examples with the reason, and visible errors."""

from __future__ import annotations

import importlib.util
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelgrove import OnlinePLTClassifier, TextClassifier
from labelgrove.reporting import _sections, write_report
from labelgrove.reporting._measured import CALIBRATED, LEAST, measure
from labelgrove.reporting._mistakes import confusions, wrong_examples
from labelgrove.vocabulary import Concept, Vocabulary
from reporting.kit import HOSTILE, examples


def test_confusions_are_counted_by_their_definition(models: Any) -> None:
    X, labels = examples(200, 5)
    labels[3] = [*labels[3], "never learnt"]
    measured = measure(models[1], X, labels)
    names = measured.labels
    expected: Counter[tuple[Any, Any]] = Counter()
    for row, true in enumerate(labels):
        best = [names[i] for i in measured.ranking[row][: len(true)] if i >= 0]
        expected.update(
            (one, other) for one in set(true) - set(best) for other in set(best) - set(true)
        )
    found = confusions(measured, str)
    assert len(found) == 20
    for pair in found:
        assert expected[pair["label"], pair["instead"]] == pair["examples"]
        assert pair["of"] == sum(pair["label"] in true for true in labels)
    counts = [pair["examples"] for pair in found]
    assert counts == sorted(expected.values(), reverse=True)[:20]


def test_wrong_examples_come_with_their_text_and_the_words_that_decided() -> None:
    texts = ["salmon cod", "olive oil", "cod herring", "oil lamp"] * 8
    labels = [["fish"], ["food", "oil"], ["fish"], ["oil"]] * 8
    model = TextClassifier(OnlinePLTClassifier()).fit(texts, labels)
    tested = ["cod and cod \n with herring", "olive oil", "nothing known"]
    truth = [["oil"], ["oil"], ["moon", "fish"]]
    measured = measure(model, tested, truth)
    found = wrong_examples(model, tested, measured, str)
    wrong = found[0]
    assert (wrong["row"], wrong["text"]) == (1, "cod and cod with herring")
    assert wrong["predicted"]["label"] == "fish"
    assert wrong["predicted"]["probability"] > 0.5
    assert set(wrong["predicted"]["words_for"]) >= {"cod"}
    [true] = wrong["true"]
    assert (true["label"], true["seen"], true["known"]) == ("oil", 16, True)
    assert "cod" in true["words_against"]
    for case in found[1:]:
        unknown = next(one for one in case["true"] if one["label"] == "moon")
        assert not unknown["known"] and unknown["probability"] == 0
    forms = [tuple(tested), np.array(tested)]
    if importlib.util.find_spec("pandas") is not None:
        import pandas as pd

        forms.append(pd.Series(tested, index=[7, 7, 1]))
    for form in forms:
        assert wrong_examples(model, form, measured, str) == found
    assert wrong_examples(model.classifier_, model.text_.transform(tested), measured, str)


def test_the_surest_mistakes_come_first(models: Any) -> None:
    X, labels = examples(300, 8)
    labels = labels[1:] + labels[:1]  # of other rows, so that most are wrong
    labels[7] = []
    best, scores = models[1].predict_topk(X, 1)
    wrong = [row for row, true in enumerate(labels) if true and best[row, 0] not in true]
    assert len(wrong) > 100
    wrong.sort(key=lambda row: -scores[row, 0])
    found = wrong_examples(models[1], X, measure(models[1], X, labels), str)
    assert [case["row"] - 1 for case in found] == wrong[:12]


def test_the_calibration_error_is_the_distance_of_the_curve_from_its_line(models: Any) -> None:
    X, labels = examples(150, 6)
    measured = measure(models[0], X, labels)
    rows = _sections.reliability(measured, "model")
    total = sum(row["count"] for row in rows)
    distance = sum(row["count"] * abs(row["observed"] - row["predicted"]) for row in rows) / total
    assert float(measured.figures["ece"]) == pytest.approx(distance, abs=1e-4)
    # By definition: of each row's best labels those that are probable enough to be drawn.
    best, scores = models[0].predict_topk(X, CALIBRATED)
    assert total == int((scores >= LEAST).sum())
    assert best.shape == (150, CALIBRATED)
    assert np.diff(measured.best.indptr).max() <= CALIBRATED


def test_the_page_shows_both_with_names_and_escaped(tmp_path: Path) -> None:
    texts = ["salmon cod", "olive oil", "cod herring", "oil lamp"] * 8
    labels = [["1"], ["2"], ["1"], [HOSTILE]] * 8
    vocabulary = Vocabulary([Concept("1", {"": "fishes & co"}), Concept("2", {"": "oil"})])
    model = TextClassifier(OnlinePLTClassifier(), vocabulary=vocabulary).fit(texts, labels)
    page = tmp_path / "r.html"
    write_report(model, ["cod <b>", "olive oil"], [["2"], [HOSTILE]], page)
    content = page.read_text(encoding="utf-8")
    assert "fishes &amp; co (1)" in content
    assert "<blockquote>cod &lt;b&gt;</blockquote>" in content
    assert "because of “<bdi>cod</bdi>”" in content
    assert HOSTILE not in content
