from __future__ import annotations

from pathlib import Path

import pytest

from cli.conftest import as_json, run, write_jsonl


def test_a_text_is_explained_by_its_words(text_model: Path) -> None:
    shown = run("explain", text_model, "--text", "topic03w1 topic03w2 common4", "-k", "1").stdout
    assert "✓ topic-03" in shown
    for part in ("P(node|parent)", "topic03w1 +", "bias"):
        assert part in shown


def test_the_words_are_highlighted_in_the_text_on_a_terminal(
    text_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("explain", text_model, "-k", "1", "--text")
    assert "so, topic03w1!" not in run(*asked, "so, topic03w1!").stdout
    monkeypatch.setattr("labelgrove.cli.commands.explain.is_terminal", lambda _: True)
    assert "so, topic03w1!" in run(*asked, "so, topic03w1!").stdout
    long = run(*asked, "topic03w1" + " un known" * 200 + " topic03w2.").stdout
    shown = " ".join(long.split())
    assert "topic03w1 un known" in shown and "un known topic03w2." in shown
    assert " … " in shown and shown.count("un known") < 20


def test_a_label_that_is_not_predicted(text_model: Path) -> None:
    words = ["--text", "topic03w1 topic03w2", "--label", "topic-20"]
    shown = run("explain", text_model, *words).stdout
    assert "· topic-20" in shown and "falls out at node" in shown
    found = as_json("explain", text_model, *words, "--threshold", "0.4")
    [one] = found["labels"]
    assert (one["label"], one["predicted"]) == ("topic-20", False)
    assert one["fallen_out"]["product"] < one["fallen_out"]["needed"]
    result = run("explain", text_model, *words, "--thresholds", status=1)
    assert "this model has no thresholds" in result.stderr


def test_a_row_of_a_file(vector_model: Path, text_model: Path, tmp_path: Path) -> None:
    data = tmp_path / "three.txt"
    data.write_text("3 61 20\n1 3:1\n2 6:1\n3 9:1\n")
    found = as_json("explain", vector_model, data, "--row", 2, "-k", 1)
    features = found["labels"][0]["path"][-1]["contributions"]
    assert [feature["feature"] for feature in features] == [6]
    one = as_json("explain", vector_model, data, "--row", 3, "--label", 7)
    assert one["labels"][0]["label"] == 7
    texts = tmp_path / "texts.jsonl"
    texts.write_text('{"text": "topic01w1"}\n{"text": "topic05w2 common1"}\n')
    assert "topic05w2" in run("explain", text_model, texts, "--row", 2).stdout


def test_what_is_wrong_is_said(vector_model: Path, text_model: Path, tmp_path: Path) -> None:
    data = tmp_path / "one.xmlc"
    data.write_text("1 61 20\n1 3:1\n")
    for words, part in (
        ([text_model], "--text TEXT or DATA with --row N"),
        ([text_model, data], "--text TEXT or DATA with --row N"),
        ([vector_model, "--text", "words"], "numbered features"),
        ([vector_model, data, "--row", 2], "contains only 1 example"),
        ([vector_model, data, "--row", 1, "--label", "x"], "expected an integer"),
        ([vector_model, data, "--row", 1, "--label", 99], "99 is not known"),
        ([text_model, data, "--row", 1], "expected text, as in"),
    ):
        result = run("explain", *words, status=1)
        assert part in result.stderr


@pytest.fixture
def classes(tmp_path: Path) -> Path:
    rows = [{"text": f"word{i} of all", "labels": [f"class {i}"]} for i in range(5)]
    return write_jsonl(tmp_path / "classes.jsonl", rows * 20)


def test_the_route_through_a_decision_tree(classes: Path, tmp_path: Path) -> None:
    data, model = classes, tmp_path / "lom.lg"
    run("train", data, "--algorithm", "lomtree", "-o", model)
    shown = run("explain", model, "--text", "word3", "-k", 1).stdout
    for part in ("P(node|parent)", "leaf", "word3", "✓ class 3", "margin"):
        assert part in shown


def test_the_leaves_of_a_forest(classes: Path, tmp_path: Path) -> None:
    model = tmp_path / "ldsm.lg"
    run("train", classes, "--algorithm", "ldsm", "-o", model, "--trees", "5")
    shown = run("explain", model, "--text", "word3", "-k", 1).stdout
    for part in ("✓ class 3", " leaves, with a mean share", "margin", "word3 +"):
        assert part in shown
    [one] = as_json("explain", model, "--text", "word3", "--label", "class 3")["labels"]
    assert len(one["leaves"]) > 0
    result = run("predict", model, classes, "--beam", 2, status=1)
    assert "LdSMClassifier does not search its trees" in result.stderr
