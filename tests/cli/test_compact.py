from __future__ import annotations

from pathlib import Path

import pytest

import labelgrove
from cli.conftest import as_json, as_json_lines, run
from labelgrove import ParameterError
from labelgrove._parameters import size_from


def test_a_copy_predicts_the_same(text_model: Path, texts: Path, tmp_path: Path) -> None:
    small = tmp_path / "small.lg"
    result = run("compact", text_model, "-o", small, "--data", texts)
    assert "P@1" in result.stdout and "float32, no weight below 0" in result.stdout
    outputs = (as_json_lines("predict", model, texts) for model in (text_model, small))
    for before, after in zip(*outputs, strict=True):
        assert before["labels"] == after["labels"]
        assert before["scores"] == pytest.approx(after["scores"], rel=1e-5)


def test_a_size_and_a_type(text_model: Path, texts: Path, tmp_path: Path) -> None:
    small = tmp_path / "small.lg"
    words = ("--max-bytes", "20kB", "--dtype", "float16", "--data", texts, "--limit", "50")
    report = as_json("compact", text_model, "-o", small, *words)
    assert report["bytes_after"] == small.stat().st_size <= 20_000 < report["bytes_before"]
    assert len(report["precision_after"]) == 3
    facts = as_json("info", small)
    assert facts["compaction"]["dtype"] == "float16"
    assert "float16, no weight below" in run("info", small).stdout


def test_a_copy_that_is_larger_is_reported(tmp_path: Path, texts: Path) -> None:
    run("train", texts, "-o", tmp_path / "m.lg", "--limit", "4", "--for-prediction")
    warned = run("compact", tmp_path / "m.lg", "-o", tmp_path / "small.lg").stderr
    sizes = [(tmp_path / name).stat().st_size for name in ("m.lg", "small.lg")]
    assert sizes[0] < sizes[1]
    assert "small.lg: the copy is not smaller" in warned
    assert f"{sizes[0]:,} bytes instead of {sizes[1]:,}" in warned


def test_numbered_features_too(vector_model: Path, tmp_path: Path) -> None:
    small = tmp_path / "small.lg"
    run("compact", vector_model, "-o", small, "--threshold", "0.05")
    assert labelgrove.load(small).compaction_.threshold == 0.05


def test_what_cannot_be_done_is_said(text_model: Path, texts: Path, tmp_path: Path) -> None:
    small = tmp_path / "small.lg"
    for words, message in [
        (["--max-bytes", "much"], "10MB"),
        (["--max-bytes", "10MB", "--threshold", "1"], "exclude"),
        (["--data", tmp_path / "none.jsonl"], "none.jsonl"),
    ]:
        assert message in run("compact", text_model, "-o", small, *words, status=1).stderr
        assert not small.exists()
    assert run("compact", text_model, "-o", text_model, status=1).stderr
    failed = run("compact", text_model, "-o", small, "--dtype", "float8", status=2)
    assert "error: --dtype float8: expected one of float32, float16, int8 (see " in failed.stderr


@pytest.mark.parametrize(
    ("text", "size"), [("1.5 KiB", 1536), ("2tb", 2 * 10**12), ("1TiB", 2**40)]
)
def test_good_sizes(text: str, size: int) -> None:
    assert size_from("--max-bytes", text) == size


@pytest.mark.parametrize("text", ["", "MB", "10 MB!", "-1", "1e3", "10XB", "9" * 400])
def test_bad_sizes(text: str) -> None:
    with pytest.raises(ParameterError, match="expected a size"):
        size_from("--max-bytes", text)
