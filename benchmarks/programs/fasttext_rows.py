"""fastText on rows of features: each feature's number is a word; values are ignored."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import fasttext  # type: ignore[import-not-found]

from benchmarks.programs.texts import Cpu, K, read

SAME: dict[str, Any] = {"minCount": 1, "verbose": 0, "thread": 1}


def main(train: str, test: str, options: dict[str, Any]) -> dict[str, Any]:
    """Learn from ``train``, predict ``test``."""
    part, asked = read(train), read(test)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "train.txt")
        with path.open("w", encoding="ascii") as file:
            for text, row in zip(part.texts, part.labels, strict=True):
                if row:
                    names = " ".join(f"__label__{one}" for one in row)
                    file.write(f"{names} {text}\n")
        with Cpu() as learning:
            try:
                model = fasttext.train_supervised(str(path), **{**SAME, **options})
            except RuntimeError as error:
                if "NaN" not in str(error):
                    raise
                return {"predicted": None}
    with Cpu() as predicting:
        found, _ = model.predict(asked.texts, k=K)
    return {
        "learning_cpu": learning.seconds,
        "predicting_cpu": predicting.seconds,
        "predicted": [[int(name.removeprefix("__label__")) for name in row] for row in found],
    }


if __name__ == "__main__":
    print(json.dumps(main(**json.loads(sys.argv[1]))))
