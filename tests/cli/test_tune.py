"""Thresholds on the command line: `tune` finds them, `predict`, `eval` and `info` use them."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import labelgrove
from cli.conftest import as_json, as_json_lines, run
from labelgrove import LabelGroveError
from labelgrove._unfinished import Unfinished
from labelgrove.data import read_examples
from labelgrove.metrics import f_measure


@pytest.fixture
def tuned(vectors: Path, vector_model: Path, tmp_path: Path) -> Path:
    path = tmp_path / "tuned.lg"
    run("tune", vector_model, vectors, "--method", "sto", "-o", path)
    return path


def test_it_is_what_the_library_does(vectors: Path, vector_model: Path, tmp_path: Path) -> None:
    examples = read_examples(vectors)
    for method in ("auto", "ofo", "fta", "sto"):
        before = vector_model.read_bytes()
        out = tmp_path / "tuned.lg"
        words = ("tune", vector_model, vectors, "--method", method, "-o", out)
        found = as_json(*words)
        assert vector_model.read_bytes() == before
        clf = labelgrove.load(vector_model).tune_thresholds(examples.X, examples.labels, method)
        assert labelgrove.load(out).thresholds_.tolist() == clf.thresholds_.tolist()
        assert found["examples"] == 300
        assert found["thresholds"]["median"] == np.median(clf.thresholds_)
        assert 0 < found["f1"] <= 1
        assert found["classifiers_per_example"] > 1


def test_a_text_model_is_tuned_in_its_place(texts: Path, text_model: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.lg"
    path.write_bytes(text_model.read_bytes())
    shown = run("tune", path, texts).stdout
    assert shown.splitlines()[0].startswith("examples     400")
    assert "macro F1" in shown
    examples = read_examples(texts)
    clf = labelgrove.load(path)
    found = clf.predict(examples.text)
    rows = as_json_lines("predict", path, texts, "--thresholds")
    for row, told in zip(found.toarray(), rows, strict=True):
        assert sorted(told["labels"]) == sorted(clf.classes_[row > 0].tolist())


def test_it_tells_what_thresholds_do(vectors: Path, vector_model: Path, tmp_path: Path) -> None:
    out = tmp_path / "tuned.lg"
    words = ("tune", vector_model, vectors, "-o", out)
    shown = run(*words, "--method", "sto")
    assert "overfit" in run("tune", "--help").stdout
    for line in ("before", "after"):
        assert f"\n{line:13}" in f"\n{shown.stdout}"
    found = as_json(*words)
    model, examples = labelgrove.load(vector_model), read_examples(vectors)
    truth = csr_array(
        [[int(name in row) for name in model.classes_.tolist()] for row in examples.labels]
    )
    plain = model.predict(examples.X)
    assert found["before"]["labels"] == plain.nnz / 300
    for average in ("macro", "micro", "instance"):
        expected = f_measure(truth, plain, average=average)
        assert found["before"][average] == pytest.approx(expected)
    assert found["after"]["macro"] >= found["single"]["macro"]
    assert found["after"]["micro"] >= found["single"]["micro"]
    again = as_json("tune", out, vectors, "--method", "ofo")
    tuned = model.tune_thresholds(examples.X, examples.labels).predict(examples.X)
    assert again["before"]["micro"] == pytest.approx(f_measure(truth, tuned, average="micro"))


def test_what_is_measured_is_said(vectors: Path, tmp_path: Path) -> None:
    model = tmp_path / "batch.lg"
    run("train", vectors, "-o", model, "--algorithm", "plt")
    words = ("tune", model, vectors, "-o", tmp_path / "tuned.lg")
    found = as_json(*words)
    assert found["after"] == found["single"]  # of labels that are as easy as these
    assert "(the best single: no others did better on rows not tuned on)" in run(*words).stdout
    assert "(cross-fitted: on rows not tuned on)" in run(*words, "--method", "sto").stdout


def test_every_method_is_compared_with_the_best_single_threshold(
    vectors: Path, vector_model: Path, tmp_path: Path
) -> None:
    words = ("tune", vector_model, "-o", tmp_path / "tuned.lg")
    auto, sto = (as_json(*words, vectors, "--method", name) for name in ("auto", "sto"))
    for figure in ("single", "single_threshold"):
        assert sto[figure] == auto[figure]
    harm = "less than the"
    assert harm not in run(*words, vectors, "--method", "sto").stderr
    header, *lines = vectors.read_text().splitlines()
    rows = [line.split(" ", 1) for line in lines]
    chance = tmp_path / "chance.txt"  # each row has the labels of another
    labels = [row[0] for row in rows]
    moved = zip(labels[7:] + labels[:7], (row[1] for row in rows), strict=True)
    chance.write_text("\n".join([header, *(" ".join(row) for row in moved)]) + "\n")
    assert harm in run(*words, chance, "--method", "sto").stderr
    assert harm not in run(*words, chance).stderr


def test_what_was_asked_for(vectors: Path, vector_model: Path, tmp_path: Path) -> None:
    words = ("tune", vector_model, vectors, "-o", tmp_path / "tuned.lg")
    found = as_json(*words, "--labels", "2")["after"]["labels"]
    assert found == pytest.approx(2, rel=0.05)
    assert " 1 label per example, with" in run(*words, "--labels", "1").stdout
    refused = run(*words, "--labels", "9", status=1).stderr
    assert "--labels 9: there are only" in refused and "even at the smallest" in refused
    assert as_json(*words, "--recall", "0.4")["after"]["recall"] >= 0.4


def test_every_example_gets_a_label_if_asked(
    vectors: Path, vector_model: Path, tmp_path: Path
) -> None:
    path = tmp_path / "tuned.lg"
    words = ("tune", vector_model, vectors, "-o", path, "--least-labels", "1")
    found = as_json(*words)
    assert found["least_labels"] == 1
    assert "; at least 1 label per example" in run(*words).stdout
    assert "; at least 1 label per example; by auto" in run("info", path).stdout
    assert as_json("info", path)["thresholds"]["least_labels"] == 1
    labelgrove.load(path)
    rows = as_json_lines("predict", path, vectors, "--thresholds")
    assert min(len(row["labels"]) for row in rows) == 1
    for number in range(1, 6):
        explained = as_json("explain", path, vectors, "--row", str(number), "--thresholds")
        told = [one["label"] for one in explained["labels"]]
        assert told == rows[number - 1]["labels"]
    labels = sum(len(row["labels"]) for row in rows) / len(rows)
    assert as_json("eval", path, vectors, "--thresholds")["labels_per_example"] == labels
    again = as_json("tune", path, vectors, "-o", tmp_path / "again.lg")
    assert again["least_labels"] == 0
    assert again["before"]["labels"] == labels


def test_few_examples_are_warned_of(vectors: Path, vector_model: Path, tmp_path: Path) -> None:
    words = ("tune", vector_model, vectors, "-o", tmp_path / "tuned.lg")
    assert "warning" not in run(*words).stderr
    few = run(*words, "--limit", "20").stderr
    assert "20 examples with" in few
    assert "true labels in total are too few" in few
    assert "--method sto overfits them" in run(*words, "--limit", "20", "--method", "sto").stderr


@pytest.mark.parametrize("command", ["tune", "learn"])
def test_nothing_else_writes_the_model_from_its_loading_on(
    vectors: Path, vector_model: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    link = vector_model.with_name("link.lg")
    if os.name != "nt":  # there, links need privileges
        link.symlink_to(vector_model)
    for name in (vector_model, link) if link.exists() else (vector_model,):
        with Unfinished(vector_model):
            refused = run(command, name, vectors, status=1)
        assert f"{name}: another process is writing it" in refused.stderr
    module = import_module(f"labelgrove.cli.commands.{command}")
    load = module.load_model

    def loading(*given: Any, **options: Any) -> Any:
        with pytest.raises(LabelGroveError, match="another process is writing it"):
            Unfinished(vector_model).__enter__()
        return load(*given, **options)

    monkeypatch.setattr(module, "load_model", loading)
    run(command, vector_model, vectors)
    assert list(vector_model.parent.glob(".*")) == []


def test_predict_goes_by_them(vectors: Path, tuned: Path) -> None:
    every = as_json_lines("predict", tuned, vectors, "--thresholds")
    few = as_json_lines("predict", tuned, vectors, "--thresholds", "-k", "1")
    assert [row["labels"] for row in few] == [row["labels"][:1] for row in every]
    kept = dict(
        zip(
            labelgrove.load(tuned).classes_.tolist(),
            labelgrove.load(tuned).thresholds_,
            strict=True,
        )
    )
    for row in every:
        for label, score in zip(row["labels"], row["scores"], strict=True):
            assert score >= kept[label] - 1e-6
    assert len({len(row["labels"]) for row in every}) > 1


def test_eval_measures_the_sets(vectors: Path, tuned: Path) -> None:
    examples = read_examples(vectors)
    clf = labelgrove.load(tuned)
    by_words = {
        ("--thresholds",): clf.predict(examples.X),
        ("--threshold", "0.5"): clf.predict_proba(examples.X, threshold=0.5) > 0,
    }
    known = clf.classes_.tolist()
    truth = csr_array([[int(name in row) for name in known] for row in examples.labels])
    for words, predicted in by_words.items():
        found = as_json("eval", tuned, vectors, *words)
        for average in ("macro", "micro", "instance"):
            expected = f_measure(truth, csr_array(predicted), average=average)
            assert found[f"{average}_f1"] == pytest.approx(expected)
        assert found["labels_per_example"] == predicted.nnz / 300
        assert "p@1" in found
    shown = run("eval", tuned, vectors, "--thresholds").stdout
    assert "F1 of label sets" in shown
    plain = as_json("eval", tuned, vectors)
    told = as_json("eval", tuned, vectors, "--thresholds")
    assert plain["macro_f1"] == told["macro_f1"]  # the thresholds its predict uses


def test_info_shows_how_they_lie(vectors: Path, tuned: Path, vector_model: Path) -> None:
    found = as_json("info", tuned)["thresholds"]
    assert found["method"] == "sto"
    assert found["average"] == "macro"
    assert 0 < found["least"] <= found["median"] <= found["greatest"] <= 0.5
    assert "by sto, for macro F1" in run("info", tuned).stdout
    assert as_json("info", vector_model)["thresholds"] is None


def test_tuned_while_it_learns(vectors: Path, tmp_path: Path) -> None:
    path, small = tmp_path / "online.lg", tmp_path / "small.lg"
    train = ("train", vectors, "--set", "thresholds=ofo", "--set", "ofo_a=2")
    run(*train, "-o", path)
    found = as_json("info", path)["thresholds"]
    assert found["method"] == "ofo while learning"
    run(*train, "-o", small, "--for-prediction")
    words = (vectors, "--thresholds")
    assert run("predict", path, *words).stdout == run("predict", small, *words).stdout
    assert as_json("info", small)["thresholds"]["method"] == "ofo"
    run("tune", small, vectors, "--method", "fta")
    assert as_json("info", small)["thresholds"]["method"] == "fta"


def test_what_cannot_be_is_said(vectors: Path, vector_model: Path, tmp_path: Path) -> None:
    none = "this model has no thresholds; set them with `labelgrove tune`"
    for words, message in (
        (("predict", "--thresholds"), none),
        (("eval", "--thresholds"), none),
        (("predict", "--thresholds", "--threshold", "0.5"), "--thresholds, not both"),
        (("tune", "--method", "ofo", "--average", "micro"), "expected --method auto, fta or sto"),
        (("tune", "--method", "fta", "--labels", "2"), "--labels: expected --method auto; found"),
        (("tune", "--method", "sto", "--recall", "1"), "--recall: expected --method auto; found"),
        (("tune", "--method", "sto", "--least-labels", "1"), "--least-labels: expected --method"),
        (("tune", "--labels", "2", "--recall", "1"), "--labels and --recall exclude each other"),
        (("tune", "--average", "macro", "--labels", "2"), "--average and --labels exclude"),
        (("tune", "--average", "micro", "--recall", "1"), "--average and --recall exclude"),
    ):
        assert message in run(*words, vector_model, vectors, status=1).stderr
    for option, value, choices in (
        ("--method", "best", "auto, ofo, fta, sto"),
        ("--average", "best", "macro, micro, instance"),
        ("--average", "", "macro, micro, instance"),
    ):
        message = f"error: {option} {value}: expected one of {choices} (see "
        assert message in run("tune", vector_model, vectors, option, value, status=2).stderr
    empty, model = tmp_path / "empty.jsonl", tmp_path / "no.lg"
    empty.write_text("")
    failed = run("tune", vector_model, empty, "-o", model, status=1)
    assert "the file is empty" in failed.stderr and not model.exists()
