from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cli.conftest import as_json, run, write_xmlc
from labelgrove.data import _mapped


@pytest.mark.parametrize("algorithm", ["plt", "online-plt"])
def test_a_model_is_the_same_whether_data_is_read_or_mapped(algorithm: str, tmp_path: Path) -> None:
    data, folder = write_xmlc(tmp_path / "train.xmlc"), tmp_path / "train"
    told = as_json("convert", data, "-o", folder)
    assert (told["examples"], told["features"]) == (300, 61)
    models = [tmp_path / "read.lg", tmp_path / "mapped.lg"]
    for model, source in zip(models, (data, folder), strict=True):
        run("train", source, "-o", model, "--algorithm", algorithm)
    assert models[0].read_bytes() == models[1].read_bytes()
    predicted = [run("predict", models[0], source).stdout for source in (data, folder)]
    assert predicted[0] == predicted[1]


def test_texts_are_converted(texts: Path, tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    assert ", text\n" in run("convert", texts, "-o", folder).stdout
    assert "P@1" in run("train", folder, "-o", tmp_path / "model.lg").stdout
    models = [tmp_path / "whole.lg", tmp_path / "pieces.lg"]
    run("train", texts, "-o", models[0], "--algorithm", "plt")
    run("train", folder, "-o", models[1], "--algorithm", "plt", "--memory", "512MB")
    assert models[0].read_bytes() == models[1].read_bytes()


def test_jobs_are_processes() -> None:
    told = run("convert", "--help").stdout
    assert "Number of processes" in told and "threads" not in told


def test_a_folder_that_is_no_data_set_is_kept(texts: Path, tmp_path: Path) -> None:
    result = run("convert", texts, "-o", tmp_path, status=1)
    assert "exists and is not a data set" in result.stderr


def test_data_learnt_in_pieces_give_the_same_model(tmp_path: Path) -> None:
    data, folder = write_xmlc(tmp_path / "train.xmlc"), tmp_path / "train"
    run("convert", data, "-o", folder)
    models = [tmp_path / "whole.lg", tmp_path / "pieces.lg"]
    train = ("--algorithm", "plt", "--set", "arity=4")
    run("train", folder, "-o", models[0], *train)
    told = as_json("train", folder, "-o", models[1], *train, "--memory", "0.5GiB")
    assert told["examples"] == 300
    assert models[0].read_bytes() == models[1].read_bytes()
    for arguments, message in (
        ((data, *train, "--memory", "1GB"), "expected a folder written by labelgrove convert"),
        ((folder, *train, "--memory", "1MB"), "--memory 1MB: expected a size of 500,000,000 bytes"),
        ((folder, *train, "--memory", "lots"), "--memory lots: expected a size"),
        ((folder, "--memory", "1GB"), "expected --algorithm plt"),
        ((folder, *train, "--memory", "1GB", "--limit", "9"), "expected none of --shuffle"),
        (
            (folder, *train, "--memory", "1GB", "--checkpoint", "1"),
            "--learn-names and --checkpoint",
        ),
        ((folder, *train, "--memory", "1GB", "--learn-names", "all"), "expected none of --shuffle"),
    ):
        result = run("train", *arguments, "-o", tmp_path / "no.lg", status=1)
        assert message in result.stderr


def test_data_learnt_in_pieces_are_verified_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, verified, mapped = tmp_path / "train", [], _mapped._mapped
    run("convert", write_xmlc(tmp_path / "train.xmlc"), "-o", folder)

    def spied(path: str, name: str, length: int, checksum: int, verify: bool) -> Any:
        verified.extend([name] * verify)
        return mapped(path, name, length, checksum, verify)

    monkeypatch.setattr(_mapped, "_mapped", spied)
    train = ("train", folder, "-o", tmp_path / "m.lg", "--algorithm", "plt")
    run(*train, "--memory", "500MB")
    assert sorted(verified) == sorted(path.name for path in folder.glob("[XY].*"))


def test_data_without_labels_teach_nothing_in_pieces_either(tmp_path: Path) -> None:
    (tmp_path / "none.svm").write_text(" 0:1\n 1:1\n")
    run("convert", tmp_path / "none.svm", "-o", tmp_path / "none", "--format", "svmlight")
    words = ("train", tmp_path / "none", "-o", tmp_path / "m.lg", "--algorithm", "plt")
    failed = run(*words, "--memory", "500MB", status=1)
    assert "no example has a label" in failed.stderr and not (tmp_path / "m.lg").exists()


def test_standard_output_is_no_folder(
    texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("convert", texts, "-o", "-", status=1)
    assert "found - as the output; expected the name of a folder" in result.stderr
    assert not Path("-").exists()
