"""The same data and parameters give the same file, byte for byte, for any number of threads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import labelgrove
from cli.conftest import text_examples, write_jsonl
from contract.kit import noise
from labelgrove import OnlinePLTClassifier, PLTClassifier
from labelgrove.cli.commands import app

THREADS = (1, 2, 3)

X, Y = noise(n=400, d=60)

Fit = Callable[[int], Any]

# What the contract does not try: it fits every estimator with several numbers of threads.
FITS: dict[str, Fit] = {
    "online-grove": lambda jobs: OnlinePLTClassifier(
        n_trees=3, warm_start_size=0.5, n_jobs=jobs
    ).fit(X, Y),
    "online-warm": lambda jobs: OnlinePLTClassifier(warm_start_size=0.5, n_jobs=jobs).fit(X, Y),
    "online-ready": lambda jobs: PLTClassifier(online_ready=True, n_jobs=jobs).fit(X, Y),
    "compact": lambda jobs: (
        PLTClassifier(n_trees=2, n_jobs=jobs).fit(X, Y).compact(dtype="int8", X=X, y=Y)
    ),
    "compact-to-fit": lambda jobs: (
        OnlinePLTClassifier(n_jobs=jobs).fit(X, Y).compact(dtype="float16", max_bytes=30_000)
    ),
    "held-out-tuned": lambda jobs: PLTClassifier(n_jobs=jobs).fit(X, Y).tune_thresholds(X, Y),
}


@pytest.mark.parametrize("name", FITS)
def test_from_python(name: str, tmp_path: Path) -> None:
    files = []
    for jobs in THREADS:
        model, path = FITS[name](jobs), tmp_path / "model.lg"
        for for_prediction in (False, True):
            model.save(path, for_prediction=for_prediction)
            files.append(path.read_bytes())
    assert files == files[:2] * len(THREADS)


COMMANDS: dict[str, list[list[str]]] = {
    "online": [["train", "DATA", "-o", "MODEL"], ["learn", "MODEL", "DATA"]],
    "batch": [["train", "DATA", "-o", "MODEL", "--algorithm", "plt", "--trees", "3"]],
    "ldsm": [["train", "DATA", "-o", "MODEL", "--algorithm", "ldsm", "--set", "n_estimators=5"]],
    "tuned": [["train", "DATA", "-o", "MODEL", "--algorithm", "plt"], ["tune", "MODEL", "DATA"]],
    "compact": [
        ["train", "DATA", "-o", "MODEL"],
        ["compact", "MODEL", "-o", "SMALL", "--dtype", "int8", "--threshold", "0.01"],
    ],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_from_the_command_line(name: str, tmp_path: Path) -> None:
    data = write_jsonl(tmp_path / "texts.jsonl", text_examples(300))
    files = []
    for jobs in (1, 3):
        folder = tmp_path / str(jobs)
        folder.mkdir()
        names = {"DATA": data, "MODEL": folder / "model.lg", "SMALL": folder / "small.lg"}
        for words in COMMANDS[name]:
            command = [str(names.get(word, word)) for word in words]
            result = CliRunner().invoke(app, [*command, "--jobs", str(jobs)])
            assert result.exit_code == 0, result.output
        files.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert files[0] == files[1]


def test_threads_are_the_loaders_choice(tmp_path: Path) -> None:
    OnlinePLTClassifier(n_jobs=3, arity=2).fit(X, Y).save(tmp_path / "model.lg")
    assert labelgrove.load(tmp_path / "model.lg").n_jobs == 1
    loaded = labelgrove.load(tmp_path / "model.lg", n_jobs=2)
    assert (loaded.n_jobs, loaded.arity) == (2, 2)
    with pytest.raises(labelgrove.ParameterError, match="n_jobs=0"):
        labelgrove.load(tmp_path / "model.lg", n_jobs=0)
