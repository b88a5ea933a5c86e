"""Models of old releases load and answer as before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import labelgrove
from formats.write import answers
from labelgrove.persistence import read_model

FOLDER = Path(__file__).parent
FILES = sorted(FOLDER.glob("*/*.lg"))
TOLERANCE = 1e-5
"""Scores are products of a few float32 numbers; other processors change the last digits."""
ROUNDED = 5e-3
"""When AROW continues, the floats of format 1 are rounded to fewer bits."""

pytestmark = pytest.mark.parametrize(
    "path", FILES, ids=[f"{path.parent.name}-{path.stem}" for path in FILES]
)


def record(path: Path) -> tuple[Any, dict[str, Any]]:
    """The queries and answers of the model when it was written."""
    document = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    return document["questions"], document["answers"]


def assert_near(found: list[list[Any]], expected: list[list[Any]], tolerance: float) -> None:
    """Both have the same scores for the same labels; missing labels count as 0."""
    one, other = dict(found), dict(expected)
    labels = list(one | other)
    np.testing.assert_allclose(
        [one.get(label, 0) for label in labels],
        [other.get(label, 0) for label in labels],
        atol=tolerance,
        rtol=0,
        err_msg=str(labels),
    )


def test_an_old_model_answers_as_it_did(path: Path) -> None:
    questions, expected = record(path)
    found = answers(labelgrove.load(path), questions)
    header = read_model(path).header
    settings = header["parameters"]
    by_arow = settings.get("online_ready") or (
        settings.get("preset") == "default" and settings["learner"] is None
    )
    learns_on = header["format"] == 1 and not header["for_prediction"]
    tolerance = ROUNDED if by_arow and learns_on else TOLERANCE
    for key in ("classes", "counts", "predicted"):
        assert found[key] == expected[key], key
    for key in ("scores", "online"):
        for row, expected_row in zip(found.get(key, []), expected.get(key, []), strict=True):
            assert_near(row, expected_row, tolerance)
    assert_near(found.get("thresholds", []), expected.get("thresholds", []), tolerance)


def test_nothing_of_an_old_model_is_lost_when_it_is_saved_again(path: Path, tmp_path: Path) -> None:
    """An array that is no longer read could go unnoticed in the answers."""
    old = read_model(path)
    labelgrove.load(path).save(tmp_path / "again.lg")
    again = read_model(tmp_path / "again.lg")
    assert set(old.arrays) <= {name.rstrip("0123456789") for name in again.arrays}
    for name, array in old.arrays.items():
        if name in again.arrays:
            np.testing.assert_array_equal(again.arrays[name], array, err_msg=name)
        elif name.endswith("weights.state"):  # AROW keeps 8 bits of its root
            kept = ((again.arrays[f"{name}8"].astype(float) + 1) / 256) ** 2
            np.testing.assert_allclose(kept, array, atol=2**-8, err_msg=name)
        else:  # the weights that it learns on from, in 16 bits
            kept = (again.arrays[f"{name}16"].astype(np.uint32) << 16).view(np.float32)
            np.testing.assert_allclose(kept, array, rtol=2**-8, err_msg=name)


def test_an_old_model_that_could_learn_goes_on(path: Path) -> None:
    questions, expected = record(path)
    model = labelgrove.load(path)
    if read_model(path).header["for_prediction"] or not hasattr(model, "partial_fit"):
        return
    new: Any = 0 if isinstance(expected["classes"][0], int) else "new"
    if model.target_type_ == "multiclass":
        model.partial_fit(questions, [new] * 6)
    elif read_model(path).header["targets"] == "indicator":
        model.partial_fit(questions, np.ones((6, len(expected["classes"])), int))
    else:
        model.partial_fit(questions, [[new]] * 6)
    assert new in model.classes_.tolist()
    counts = dict(expected["counts"])
    assert dict(zip(model.classes_.tolist(), model.label_counts_.tolist(), strict=True))[new] == (
        counts.get(new, 0) + 6
    )
