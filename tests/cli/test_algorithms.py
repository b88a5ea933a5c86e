"""Every algorithm goes through every command, on texts of one label each."""

from __future__ import annotations

from pathlib import Path

import pytest

import labelgrove
from cli.conftest import as_json, run, write_jsonl
from labelgrove.cli._models import ALGORITHMS
from labelgrove.models._label_tree import LabelTreeClassifier


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_from_training_to_report(algorithm: str, tmp_path: Path) -> None:
    data, model = tmp_path / "data.jsonl", tmp_path / "model.lg"
    subjects = ("cat", "dog", "fish", "bird")
    examples = [
        {"text": f"the {subject} sees {other}", "labels": [subject]}
        for subject in subjects
        for other in ("a river", "the house", "some garden", "one street")
    ]
    write_jsonl(data, examples * 3)
    trained = as_json("train", "--algorithm", algorithm, data, "-o", model)
    assert (trained["examples"], trained["labels"]) == (48, 4)
    known = as_json("info", model)
    assert (known["algorithm"], known["examples"], known["labels"]) == (algorithm, 48, 4)
    assert known["weights"] > 0 and known["model_bytes"] > 0
    assert algorithm in run("info", model).stdout
    assert len(run("predict", model, data, "-k", "2").stdout.splitlines()) == 48
    found = as_json("eval", model, data)
    assert 0.25 < found["p@1"] <= 1
    assert "examples" in run("eval", model, data).stdout
    if issubclass(ALGORITHMS[algorithm], LabelTreeClassifier):
        assert "cat" in run("explain", model, "--text", "the cat sees a river").stdout
        assert "depth" in run("tree", "stats", model).stdout
    if hasattr(ALGORITHMS[algorithm], "partial_fit"):
        more = as_json("learn", model, data)
        assert (more["examples"], more["new_labels"]) == (48, 0)


def test_how_many_trees_are_averaged(tmp_path: Path) -> None:
    data, model = tmp_path / "data.txt", tmp_path / "model.lg"
    data.write_text("0 0:1\n1 1:1\n" * 5)
    for algorithm in ("online-plt", "plt"):
        run("train", "--algorithm", algorithm, "--trees", "3", data, "-o", model)
        assert labelgrove.load(model).n_trees == 3
    forest = ("train", "--algorithm", "ldsm", "--trees", "3", data, "-o", model)
    run(*forest)
    assert labelgrove.load(model).n_estimators == 3
    refused = run(*forest, "--set", "n_estimators=4", status=1)
    assert "--trees 3: also given as --set n_estimators" in refused.stderr
    refused = run("train", "--algorithm", "lomtree", "--trees", "3", data, "-o", model, status=1)
    assert "an algorithm that averages trees: online-plt, plt, ldsm, fastxml" in refused.stderr
    refused = run("train", "--set", "n_trees=3", data, "-o", model, status=1)
    assert "use the option --trees instead" in refused.stderr


def test_vectors_to_begin_with_come_from_a_file(tmp_path: Path) -> None:
    data, model, words = tmp_path / "data.jsonl", tmp_path / "model.lg", tmp_path / "words.vec"
    data.write_text(
        '{"text": "cat", "labels": ["feline"]}\n{"text": "dog", "labels": ["canine"]}\n' * 9
    )
    words.write_text("cat 1 0\nkitten 0.9 0.1\ndog -1 0\npuppy -0.9 0.2\n")
    settings = ("dimension=2", f"vectors={words}", "text.idf=false")
    given = [word for setting in settings for word in ("--set", setting)]
    run("train", "--algorithm", "embedding", *given, data, "-o", model)
    found = labelgrove.load(model).predict(["kitten", "puppy"])
    assert found.toarray().tolist() == [[0, 1], [1, 0]]
    given = ("--algorithm", "embedding", "--set", f"vectors={data}")
    refused = run("train", *given, data, "-o", model, status=1)
    assert f"{data}:1: expected a word in UTF-8" in refused.stderr
