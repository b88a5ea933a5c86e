from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import labelgrove


def test_learning_on_is_as_if_it_had_never_stopped(
    run: Any, texts: Path, text_model: Path, make_texts: Any, tmp_path: Path
) -> None:
    more = make_texts("more.jsonl", 200, seed=1)
    run("learn", text_model, more)
    both = tmp_path / "both.jsonl"
    both.write_bytes(texts.read_bytes() + more.read_bytes())
    run("train", both, "-o", tmp_path / "both.lg")
    assert text_model.read_bytes() == (tmp_path / "both.lg").read_bytes()


def test_new_labels_are_welcome(run: Any, text_model: Path, make_texts: Any) -> None:
    more = make_texts("more.jsonl", 120, labels=["topic-00", "new-a", "new-b"])
    result = run("learn", text_model, more)
    assert "42 (2 of them new)" in result.stdout
    classes = labelgrove.load(text_model).classes_.tolist()
    assert set(classes[-2:]) == {"new-a", "new-b"}
    found = [
        json.loads(line) for line in run("predict", text_model, more, "-k", "1").stdout.splitlines()
    ]
    truth = [json.loads(line)["labels"] for line in more.read_text().splitlines()]
    hits = [row["labels"][0] in true for row, true in zip(found, truth, strict=True)]
    assert sum(hits) > 0.9 * len(hits)


def test_an_output_leaves_the_old_model_alone(
    run: Any, text_model: Path, make_texts: Any, tmp_path: Path
) -> None:
    before = text_model.read_bytes()
    more = make_texts("more.jsonl", 50)
    result = run("learn", text_model, more, "-o", tmp_path / "new.lg", "--json")
    found = json.loads(result.stdout)
    assert (found["examples"], found["labels"], found["new_labels"]) == (50, 40, 0)
    assert text_model.read_bytes() == before
    assert labelgrove.load(tmp_path / "new.lg").examples_seen_ == 450


def test_numbered_features_go_on_too(run: Any, vector_model: Path, vectors: Path) -> None:
    run("learn", vector_model, vectors, "--limit", "30")
    assert labelgrove.load(vector_model).examples_seen_ == 330


def test_a_failure_leaves_the_model_as_it_was(
    run: Any, text_model: Path, texts: Path, tmp_path: Path
) -> None:
    before = text_model.read_bytes()
    bad = tmp_path / "bad.jsonl"
    bad.write_text(texts.read_text() + "{}\n")
    result = run("learn", text_model, bad, status=1)
    assert f"{bad}:401: " in result.stderr
    assert text_model.read_bytes() == before
    assert list(tmp_path.glob("*.tmp*")) == []


@pytest.mark.parametrize("model", ["text_model", "vector_model"])
def test_data_of_the_other_kind_is_refused(
    run: Any, request: pytest.FixtureRequest, texts: Path, vectors: Path, model: str
) -> None:
    data = vectors if model == "text_model" else texts
    result = run("learn", request.getfixturevalue(model), data, status=1)
    assert str(data) in result.stderr
    assert "but the model has learnt from" in result.stderr


def test_a_model_for_prediction_does_not_take_the_place_of_one_that_learns(
    run: Any, text_model: Path, texts: Path, tmp_path: Path
) -> None:
    result = run("learn", text_model, texts, "--for-prediction", status=1)
    assert "--for-prediction needs -o" in result.stderr
    run("learn", text_model, texts, "--for-prediction", "-o", tmp_path / "small.lg")


@pytest.mark.parametrize("command", ["learn", "predict", "eval"])
def test_what_is_no_model_is_refused(run: Any, texts: Path, tmp_path: Path, command: str) -> None:
    for path, message in (
        (tmp_path / "none.lg", "no such file"),
        (tmp_path, "a directory"),
        (texts, str(texts)),
        ("-", "standard input"),
    ):
        result = run(command, path, texts, status=1)
        assert message in result.stderr
        assert result.stderr.count("\n") == 1
