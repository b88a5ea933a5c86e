"""The commands with a model that is not a label tree and learns one class per example."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.conftest import as_json, as_json_lines, run


@pytest.fixture
def classes(tmp_path: Path) -> Path:
    """Six classes in turn, in the format of the XMLRepository."""
    rows = [f"{i % 6} {i % 6}:1 {6 + i % 3}:0.5" for i in range(120)]
    path = tmp_path / "classes.txt"
    path.write_text("\n".join(["120 9 6", *rows]) + "\n")
    return path


def test_train_learn_eval_info(classes: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.lg"
    options = ["--algorithm", "lomtree", "--passes", "2", "--set", "max_nodes=11", "-o", model]
    run("train", classes, *options)
    run("learn", model, classes)
    found = as_json("eval", model, classes)
    assert found["p@1"] == 1.0 and found["error"] == found["error_margin"] == 0.0
    assert found["entropy_reduction"] == pytest.approx(2.585, abs=1e-3)  # log2 of 6
    told_of = run("eval", model, classes).stdout
    assert "error" in told_of and "±" not in told_of
    told = as_json("info", model)
    assert (told["algorithm"], told["examples"], told["labels"]) == ("lomtree", 360, 6)
    assert told["nodes"] <= 23 and told["depth"] >= 3
    assert told["entropy"] < told["root_entropy"] == pytest.approx(1.792, abs=1e-3)
    assert "nats left" in run("info", model).stdout
    best = as_json_lines("predict", model, classes)
    assert [row["labels"][0] for row in best[:6]] == [0, 1, 2, 3, 4, 5]


def test_a_model_for_prediction_tells_less(classes: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.lg"
    run("train", classes, "--algorithm", "lomtree", "--for-prediction", "-o", model)
    assert "entropy" not in as_json("info", model)


COMPETING = "--algorithm", "plt", "--set", "link=softmax"


@pytest.mark.parametrize("options", [("--algorithm", "lomtree"), COMPETING])
@pytest.mark.parametrize("form", ["features", "texts"])
def test_sets_of_labels_are_refused(tmp_path: Path, options: tuple[str, ...], form: str) -> None:
    if form == "texts":
        path = tmp_path / "sets.tsv"
        path.write_text("a\t<0>\nb\t<0>\nc\t<0> <1>\n")
    else:
        path = tmp_path / "sets.txt"
        path.write_text("2 2 2\n0 0:1\n0,1 1:1\n")
    result = run("train", path, *options, "-o", tmp_path / "no.lg", status=1)
    assert f"{path.name}:3: found 2 labels; expected exactly one" in result.stderr


def test_classes_may_compete(classes: Path, tmp_path: Path) -> None:
    run("train", classes, *COMPETING, "-o", tmp_path / "model.lg")
    found = as_json("eval", tmp_path / "model.lg", classes)
    assert found["error"] == 0
    data = tmp_path / "texts.tsv"
    data.write_text("a fox\t<red>\na whale\t<blue>\n" * 9)
    run("train", data, *COMPETING, "-o", tmp_path / "texts.lg")
    found = as_json("eval", tmp_path / "texts.lg", data)
    assert found["error"] == 0
