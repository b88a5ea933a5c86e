from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.data, pytest.mark.slow]


def trained_and_measured(run: Any, folder: Path, suffix: str, model: Path) -> tuple[Any, Any]:
    train = json.loads(run("train", folder / f"train.{suffix}", "-o", model, "--json").stdout)
    test = json.loads(run("eval", model, folder / f"test.{suffix}", "--json").stdout)
    return train, test


@pytest.mark.parametrize(
    ("name", "suffix", "examples", "labels", "least"),
    [
        ("cooking-text", "jsonl.xz", (12_404, 3_000), 735, 0.66),
        ("bibtex", "txt.xz", (4_880, 2_515), 159, 0.61),
    ],
)
def test_a_real_data_set_from_end_to_end(
    run: Any,
    data_folder: Path,
    tmp_path: Path,
    name: str,
    suffix: str,
    examples: tuple[int, int],
    labels: int,
    least: float,
) -> None:
    model = tmp_path / "m.lg"
    train, test = trained_and_measured(run, data_folder / name, suffix, model)
    assert (train["examples"], test["examples"]) == examples
    assert train["labels"] == labels
    assert test["p@1"] > least
    # Progressive validation is harder than the final test, but it is the same task.
    assert 0.75 * test["p@1"] < train["progressive_p@1"] < test["p@1"]
    words = ("predict", model, data_folder / name / f"test.{suffix}", "--threshold", "0.3")
    lines = run(*words).stdout.splitlines()
    assert len(lines) == examples[1]
    assert all(min(json.loads(line)["scores"], default=1) >= 0.3 for line in lines)
