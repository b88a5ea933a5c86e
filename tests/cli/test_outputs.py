"""No command writes over what it reads, nor over what is no file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize(
    ("words", "victim"),
    [
        (("train", "{data}", "-o", "{data}"), "data"),
        (("learn", "{model}", "{data}", "-o", "{data}"), "data"),
        (("predict", "{model}", "{data}", "-o", "{data}"), "data"),
        (("predict", "{model}", "{data}", "-o", "{model}"), "model"),
        (("eval", "{model}", "{data}", "--metrics-file", "{data}"), "data"),
        (("eval", "{model}", "{data}", "--metrics-file", "{model}"), "model"),
    ],
)
def test_what_is_read_is_not_overwritten(
    run: Any, texts: Path, text_model: Path, words: tuple[str, ...], victim: str
) -> None:
    paths = {"data": texts, "model": text_model}
    before = paths[victim].read_bytes()
    result = run(*(word.format(**paths) for word in words), status=1)
    assert f"{paths[victim]}: this file is read here" in result.stderr
    assert paths[victim].read_bytes() == before


def test_another_name_of_the_data_does_not_help(run: Any, texts: Path, text_model: Path) -> None:
    other = texts.with_name("other.jsonl")
    other.hardlink_to(texts)
    result = run("predict", text_model, texts, "-o", other, status=1)
    assert "this file is read here" in result.stderr


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
@pytest.mark.parametrize("command", ["train", "learn"])
def test_a_model_does_not_take_the_place_of_a_pipe(
    run: Any, texts: Path, text_model: Path, tmp_path: Path, command: str
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    words = (texts,) if command == "train" else (text_model, texts)
    assert "no ordinary file" in run(command, *words, "-o", pipe, status=1).stderr
    assert pipe.is_fifo()
