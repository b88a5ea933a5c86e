"""fastText on raw text, tuned on held-out training texts."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import fasttext  # type: ignore[import-not-found]

from benchmarks.programs.texts import Cpu, K, Part, hits, read

# Words, pairs and subwords, with the rates and passes of its tutorial.
TRIED: tuple[dict[str, Any], ...] = (
    {"lr": 0.5, "epoch": 25},
    {"lr": 0.5, "epoch": 25, "wordNgrams": 2},
    {"lr": 0.5, "epoch": 25, "minn": 3, "maxn": 6},
    {"lr": 0.2, "epoch": 50, "minn": 3, "maxn": 6},
)
SAME: dict[str, Any] = {"dim": 100, "bucket": 200_000, "minCount": 1, "verbose": 0, "thread": 1}


def prepared(text: str) -> str:
    """Lower case, with punctuation as separate words, as in its tutorial."""
    return " ".join(re.sub(r"([^\w\s])", r" \1 ", text.lower()).split()) or "."


def learnt(part: Part, loss: str, options: dict[str, Any]) -> Any:
    """A model, or None if fastText aborts with its NaN error."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "train.txt")
        with path.open("w", encoding="utf-8") as file:
            for text, row in zip(part.texts, part.labels, strict=True):
                names = " ".join(f"__label__{one}" for one in row)
                file.write(f"{names} {prepared(text)}\n")
        try:
            return fasttext.train_supervised(str(path), loss=loss, **SAME, **options)
        except RuntimeError as error:
            if "NaN" not in str(error):
                raise
            return None


def best(model: Any, texts: list[str]) -> list[list[int]]:
    """The best labels of every text."""
    found, _ = model.predict([prepared(text) for text in texts], k=K)
    return [[int(name.removeprefix("__label__")) for name in row] for row in found]


def main(
    train: str,
    kept: str,
    held: str,
    test: str,
    loss: str,
    letters: bool,
    options: dict[str, Any] | None,
) -> dict[str, Any]:
    """Choose options on ``held`` unless they are given, learn from ``train``, predict ``test``."""
    if options is None:
        part, asked = read(kept), read(held)
        choices = [one for one in TRIED if letters or "minn" not in one]
        figures = []
        for tried in choices:
            model = learnt(part, loss, tried)
            figures.append(0.0 if model is None else hits(asked, best(model, asked.texts)))
        options = choices[figures.index(max(figures))]
    part, asked = read(train), read(test)
    with Cpu() as clock:
        model = learnt(part, loss, options)
    if model is None:
        return {"options": options, "predicted": None}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.bin")
        model.save_model(str(path))
        size = path.stat().st_size
    found = best(model, asked.texts)
    return {"options": options, "predicted": found, "learning_cpu": clock.seconds, "bytes": size}


if __name__ == "__main__":
    print(json.dumps(main(**json.loads(sys.argv[1]))))
