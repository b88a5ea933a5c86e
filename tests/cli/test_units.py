from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import (
    dump_svmlight_file,
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
)
from sklearn.preprocessing import scale

from cli.conftest import run

#: Wine's last column, proline, is about 750; most others are about 2.
ABOUT_WINE = "warning: features such as 12 (1 of 13) have values over 50 times as large"


@pytest.fixture
def wine(tmp_path: Path) -> Path:
    dump_svmlight_file(*load_wine(return_X_y=True), str(tmp_path / "wine.svm"))
    return tmp_path / "wine.svm"


def test_features_that_outweigh_all_others_are_warned_of(wine: Path, tmp_path: Path) -> None:
    warned = run("train", wine, "-o", tmp_path / "m.lg").stderr
    assert warned.startswith(ABOUT_WINE) and warned.count("\n") == 1
    X = load_wine().data
    share = np.mean([row[12] ** 2 / sum(value**2 for value in row) for row in X])
    assert f"make up {100 * share:.0f} % of the squared length of a row" in warned


def test_once_however_often_they_are_read(wine: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.lg"
    for words in (["--passes", "3"], ["--shuffle", "--passes", "2"], ["--algorithm", "auto"]):
        assert run("train", wine, "-o", model, *words).stderr.count(ABOUT_WINE) == 1
    run("train", wine, "-o", model)
    assert run("learn", model, wine).stderr.startswith(ABOUT_WINE)
    assert "warning" not in run("eval", model, wine).stderr


@pytest.mark.parametrize("words", [[], ["--memory", "1GB"]])
def test_in_a_converted_data_set(wine: Path, tmp_path: Path, words: list[str]) -> None:
    run("convert", wine, "-o", tmp_path / "wine")
    command = ("train", tmp_path / "wine", "-o", tmp_path / "m.lg", "--algorithm", "plt", *words)
    assert run(*command).stderr.count(ABOUT_WINE) == 1


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (scale(load_wine().data), load_wine().target),
        (scale(load_breast_cancer().data), load_breast_cancer().target),
        load_digits(return_X_y=True),
        load_iris(return_X_y=True),
        (np.eye(40) * 3.0, np.arange(40) % 2),
        (np.zeros((4, 3)), np.arange(4) % 2),
    ],
    ids=["wine", "breast cancer", "digits", "iris", "one of many", "nothing"],
)
def test_other_rows_are_not(X: Any, y: Any, tmp_path: Path) -> None:
    dump_svmlight_file(X, y, str(tmp_path / "rows.svm"))
    assert run("train", tmp_path / "rows.svm", "-o", tmp_path / "m.lg").stderr == ""


def test_memory_does_not_grow_with_the_numbers_of_features(tmp_path: Path) -> None:
    (tmp_path / "rows.svm").write_text("0 1:1\n1 2147483600:1\n")
    assert run("train", tmp_path / "rows.svm", "-o", tmp_path / "m.lg").stderr == ""
