from __future__ import annotations

from pathlib import Path

import pytest

from cli.conftest import as_json, as_json_lines

pytestmark = [pytest.mark.data, pytest.mark.slow]


@pytest.mark.parametrize(
    ("name", "suffix", "examples", "labels", "least"),
    [
        ("cooking-text", "jsonl.xz", (12_404, 3_000), 735, 0.66),
        ("bibtex", "txt.xz", (4_880, 2_515), 159, 0.61),
    ],
)
def test_a_real_data_set_from_end_to_end(
    data_folder: Path,
    tmp_path: Path,
    name: str,
    suffix: str,
    examples: tuple[int, int],
    labels: int,
    least: float,
) -> None:
    model = tmp_path / "m.lg"
    train_data, test_data = (data_folder / name / f"{part}.{suffix}" for part in ("train", "test"))
    train, test = as_json("train", train_data, "-o", model), as_json("eval", model, test_data)
    assert (train["examples"], test["examples"]) == examples
    assert train["labels"] == labels
    assert test["p@1"] > least
    # Progressive validation is harder than the final test, but it is the same task.
    assert 0.75 * test["p@1"] < train["progressive_p@1"] < test["p@1"]
    rows = as_json_lines("predict", model, test_data, "--threshold", "0.3")
    assert len(rows) == examples[1]
    assert all(min(row["scores"], default=1) >= 0.3 for row in rows)
