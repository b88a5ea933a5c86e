from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import labelgrove
from cli.conftest import as_json, run
from labelgrove import OnlinePLTClassifier


def test_what_is_in_a_text_model(text_model: Path) -> None:
    found = as_json("info", text_model)
    model = labelgrove.load(text_model)
    assert found["algorithm"] == "online-plt"
    assert found["parameters"]["learner"] in ("arow", "adagrad", "sgd")
    assert found["parameters"]["n_jobs"] == 1
    assert found["text"]["n_features"] == 2**22
    assert (found["examples"], found["labels"]) == (400, 40)
    assert found["bytes"] == text_model.stat().st_size
    assert found["nodes"] == model.tree_.n_nodes
    assert 0 < found["mean_depth"] <= found["depth"]
    assert found["weights"] == model.size()["weights"] > 0
    counts = list(found["most_frequent_labels"].values())
    assert len(counts) == 5
    assert counts == sorted(model.label_counts_.tolist(), reverse=True)[:5]


def test_for_people(text_model: Path, vector_model: Path) -> None:
    shown = run("info", text_model).stdout
    for part in ("online-plt", "alpha=0.75", "replay=", "n_features=4194304", "400", "40", "depth"):
        assert part in shown
    assert "numbered features" in run("info", vector_model).stdout
    assert "text " not in run("info", vector_model).stdout


@pytest.mark.parametrize("given", [{}, {"max_leaves": 16}, {"preset": "paper", "arity": 200}])
def test_what_is_shown_makes_the_same_model_once_more(
    tmp_path: Path, given: dict[str, Any]
) -> None:
    path, X, y = str(tmp_path / "model.lg"), np.eye(100, 6) + 1, list(range(100))
    model = OnlinePLTClassifier(**given).fit(X, y)
    model.save(path)
    again = OnlinePLTClassifier(**as_json("info", path)["parameters"])
    assert parents_of(again.fit(X, y)) == parents_of(model)


def parents_of(model: OnlinePLTClassifier) -> list[int]:
    return model.tree_.parents.tolist()


def test_a_second_stage_is_told_and_explained(texts: Path, tmp_path: Path) -> None:
    model = tmp_path / "staged.lg"
    run("train", texts, "-o", model, "--set", "second_stage=head")
    seen = as_json("info", model)["second_stage"]
    assert seen["examples"] > 100
    verdict = "re-ranks the best labels" if seen["reranks"] else "keeps the ranking"
    assert verdict in run("info", model).stdout
    assert "calibrated, from" in run("explain", model, "--text", "anything").stdout


def test_calibration_is_told(texts: Path, tmp_path: Path) -> None:
    run("train", texts, "-o", tmp_path / "m.lg")
    seen = as_json("info", tmp_path / "m.lg")["second_stage"]
    assert seen["tail"] is None and seen["examples"] > 0
    shown = " ".join(run("info", tmp_path / "m.lg").stdout.split())
    assert f"calibrated from predictions for {seen['examples']:,} examples" in shown
    run("train", texts, "-o", tmp_path / "m.lg", "--limit", "10")
    assert "not yet, for lack of examples" in run("info", tmp_path / "m.lg").stdout


def test_integer_labels_are_keys_of_json(vector_model: Path) -> None:
    found = as_json("info", vector_model)
    assert found["text"] is None
    assert all(name.isdigit() for name in found["most_frequent_labels"])


def test_a_damaged_file_is_refused(text_model: Path) -> None:
    content = text_model.read_bytes()
    text_model.write_bytes(content[: len(content) // 2])
    result = run("info", text_model, status=1)
    assert str(text_model) in result.stderr
    assert result.stderr.count("\n") == 1
