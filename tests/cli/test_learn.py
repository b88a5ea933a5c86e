from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import labelgrove
from cli.conftest import as_json, as_json_lines, run, write_texts
from labelgrove.persistence import read_model, write_model


def test_learning_on_is_as_if_it_had_never_stopped(
    texts: Path, text_model: Path, tmp_path: Path
) -> None:
    more = write_texts(tmp_path / "more.jsonl", 200, seed=1)
    run("learn", text_model, more)
    both = tmp_path / "both.jsonl"
    both.write_bytes(texts.read_bytes() + more.read_bytes())
    run("train", both, "-o", tmp_path / "both.lg")
    assert text_model.read_bytes() == (tmp_path / "both.lg").read_bytes()


def test_new_labels_are_welcome(text_model: Path, tmp_path: Path) -> None:
    more = write_texts(tmp_path / "more.jsonl", 120, labels=["topic-00", "new-a", "new-b"])
    result = run("learn", text_model, more)
    assert "42 (2 new)" in result.stdout
    classes = labelgrove.load(text_model).classes_.tolist()
    assert len(classes) == 42 and {"new-a", "new-b"} <= set(classes)
    assert share_right(text_model, more) > 0.9


def share_right(model: Path, data: Path) -> float:
    """The share of examples whose best label is right."""
    found = as_json_lines("predict", model, data, "-k", "1")
    truth = [json.loads(line)["labels"] for line in data.read_text().splitlines()]
    hits = [row["labels"][0] in true for row, true in zip(found, truth, strict=True)]
    return sum(hits) / len(hits)


def test_known_labels_joined_by_another_separator_are_pointed_out(tmp_path: Path) -> None:
    monday, tuesday, model = (tmp_path / name for name in ("1.csv", "2.csv", "m.lg"))
    monday.write_text("text,labels\n" + "some text,a;b;c\nother text,d\n" * 120)
    tuesday.write_text("text,labels\n" + "some text,a|b\nother text,c|e|f\nthis text,d\n" * 2)
    run("train", monday, "-o", model)
    said = "labels such as 'a|b' (1 of 2 new to the model) are known ones joined by '|'"
    for command, more in (("learn", "learn again from the old model with"), ("tune", "give")):
        words = (command, model, tuesday, "-o", tmp_path / "m2.lg")
        told = run(*words).stderr
        assert said in told and f"{more} --label-separator '|'" in told
        for separator in ("|", ""):
            assert said not in run(*words, "--label-separator", separator).stderr
    assert said in run("eval", model, tuesday).stderr
    tuesday.write_text(
        'text,labels\nsome text,"b, like a"\nother text,"a, c; d"\n' * 9 + "x,x;y;z;a/b\n"
    )
    for command in ("learn", "eval"):
        assert "joined" not in run(command, model, tuesday).stderr


def test_an_output_leaves_the_old_model_alone(text_model: Path, tmp_path: Path) -> None:
    before = text_model.read_bytes()
    more = write_texts(tmp_path / "more.jsonl", 50)
    found = as_json("learn", text_model, more, "-o", tmp_path / "new.lg")
    assert (found["examples"], found["labels"], found["new_labels"]) == (50, 40, 0)
    assert text_model.read_bytes() == before
    assert labelgrove.load(tmp_path / "new.lg").examples_seen_ == 450


def test_numbered_features_go_on_too(vector_model: Path, vectors: Path) -> None:
    run("learn", vector_model, vectors, "--limit", "30")
    assert labelgrove.load(vector_model).examples_seen_ == 330


def test_a_failure_leaves_the_model_as_it_was(
    text_model: Path, texts: Path, tmp_path: Path
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
    request: pytest.FixtureRequest, texts: Path, vectors: Path, model: str
) -> None:
    data = vectors if model == "text_model" else texts
    result = run("learn", request.getfixturevalue(model), data, status=1)
    assert str(data) in result.stderr
    assert "as in the model's training data" in result.stderr


def test_a_model_for_prediction_does_not_take_the_place_of_one_that_learns(
    text_model: Path, texts: Path, tmp_path: Path
) -> None:
    result = run("learn", text_model, texts, "--for-prediction", status=1)
    assert "--for-prediction: expected -o as well" in result.stderr
    run("learn", text_model, texts, "--for-prediction", "-o", tmp_path / "small.lg")


@pytest.mark.parametrize("command", ["learn", "predict", "eval"])
def test_what_is_no_model_is_refused(texts: Path, tmp_path: Path, command: str) -> None:
    for path, message in (
        (tmp_path / "none.lg", "no such file"),
        (tmp_path, "a folder"),
        (texts, str(texts)),
        ("-", "standard input"),
    ):
        result = run(command, path, texts, status=1)
        assert message in result.stderr
        assert result.stderr.count("\n") == 1


@pytest.fixture
def class_model(tmp_path: Path) -> Path:
    """A model saved from Python whose classes exclude one another."""
    path = tmp_path / "classes.lg"
    X = np.eye(3, dtype=np.float32)[[0, 1, 2] * 5]
    labelgrove.OnlinePLTClassifier().fit(X, [0, 1, 2] * 5).save(path)
    return path


def test_a_multi_class_model_learns_one_label_a_row(class_model: Path, tmp_path: Path) -> None:
    data = tmp_path / "d.xmlc"
    data.write_text("".join(f"{i} {i}:1\n" for i in [0, 1, 2, 3] * 5))
    result = as_json("learn", class_model, data)
    assert (result["labels"], result["new_labels"]) == (4, 1)
    assert labelgrove.load(class_model).target_type_ == "multiclass"
    found = as_json("eval", class_model, data)
    assert found["p@1"] == 1


def test_a_multi_class_model_refuses_other_rows_by_line(class_model: Path, tmp_path: Path) -> None:
    data = tmp_path / "d.xmlc"
    data.write_text("0 0:1\n1,2 1:1\n")
    before = class_model.read_bytes()
    result = run("learn", class_model, data, status=1)
    assert f"{data}:2: found 2 labels; expected exactly one" in result.stderr
    assert class_model.read_bytes() == before


def test_labels_of_another_type_are_refused_by_place(vector_model: Path, tmp_path: Path) -> None:
    # Saved from Python with words as labels, but fed a file with numbered labels.
    X = np.eye(3, dtype=np.float32)
    path = tmp_path / "words.lg"
    labelgrove.OnlinePLTClassifier().fit(X, [["a"], ["b"], ["c"]]).save(path)
    data = tmp_path / "d.xmlc"
    data.write_text("0 0:1\n1 1:1\n")
    result = run("learn", path, data, status=1)
    assert f"{data}, lines 1 to 1: " in result.stderr
    assert result.stderr.count("\n") == 1
    result = run("eval", path, data, status=1)
    assert "y: found labels such as 0, but the model has labels such as 'a'" in result.stderr


@pytest.mark.parametrize(
    "front_end", [{}, {"kind": "bert"}, {"kind": "hashed-text", "n_features": -1}]
)
def test_a_front_end_that_is_not_ours_is_refused(
    texts: Path, text_model: Path, front_end: dict[str, Any]
) -> None:
    stored = read_model(text_model)
    write_model(text_model, {**stored.header, "front_end": front_end}, dict(stored.arrays))
    result = run("predict", text_model, texts, status=1)
    assert f"{text_model}: its text front-end is" in result.stderr


@pytest.mark.parametrize("ready", ["true", "false"])
def test_a_batch_model_goes_on_online(texts: Path, tmp_path: Path, ready: str) -> None:
    model = tmp_path / "batch.lg"
    settings = ["--set", "tree=interpolated", "--set", "interpolation=0.8"]
    settings += ["--set", f"online_ready={ready}"]
    run("train", texts, "-o", model, "--algorithm", "plt", *settings)
    assert isinstance(labelgrove.load(model).classifier_, labelgrove.PLTClassifier)
    more = write_texts(tmp_path / "more.jsonl", 120, labels=["topic-00", "new-a"])
    result = run("learn", model, more, "-o", tmp_path / "online.lg")
    assert "41 (1 new)" in result.stdout
    online = labelgrove.load(tmp_path / "online.lg")
    assert isinstance(online.classifier_, labelgrove.OnlinePLTClassifier)
    assert online.examples_seen_ == 520
    for path, least in ((more, 0.9), (texts, 0.5)):
        assert share_right(tmp_path / "online.lg", path) > least


@pytest.mark.parametrize("labels", [[[1], [2]] * 10, np.eye(3)[[1, 2] * 10]])
def test_a_text_model_of_numbered_labels(tmp_path: Path, labels: Any) -> None:
    clf = labelgrove.TextClassifier().fit(["rice dough", "oak tree"] * 10, labels)
    clf.save(tmp_path / "m.lg")
    data = tmp_path / "d.jsonl"
    data.write_text('{"text": "rice", "labels": [1]}\n{"text": "oak", "labels": ["2"]}\n' * 10)
    seen = as_json("eval", tmp_path / "m.lg", data)
    assert seen["p@1"] == 1.0 and seen["unknown_label_share"] == 0.0
    run("tune", tmp_path / "m.lg", data)
    run("learn", tmp_path / "m.lg", data)
    data.write_text('{"text": "rice", "labels": ["01"]}\n')
    refused = run("learn", tmp_path / "m.lg", data, status=1).stderr
    assert f"{data}:1: found the label '01'; expected an integer, as the model's" in refused
