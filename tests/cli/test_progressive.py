from __future__ import annotations

import errno
import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest

import labelgrove
from cli.conftest import as_json, run, write_texts


@pytest.mark.slow
def test_training_leaves_a_page_and_the_same_model(texts: Path, tmp_path: Path) -> None:
    page, plain, told = tmp_path / "page.html", tmp_path / "plain.lg", tmp_path / "told.lg"
    before = as_json("train", texts, "-o", plain)
    after = as_json("train", texts, "-o", told, "--progressive", page)
    assert after["progressive_p@1"] == pytest.approx(before["progressive_p@1"], abs=0.05)
    assert told.read_bytes() == plain.read_bytes()
    html = page.read_text()
    assert "told, learning texts.jsonl" in html and "New labels recognised" in html


def test_figures_do_not_depend_on_the_batches(tmp_path: Path) -> None:
    path, model = tmp_path / "chance.ft", tmp_path / "model.lg"
    chance, told = random.Random(0), []
    path.write_text("".join(f"__label__{chance.choice('ab')} word\n" for _ in range(2500)))
    for data, content in ((path, None), ("-", path.read_bytes())):  # larger chunks, and smaller
        result = run("train", data, "-o", model, "--shuffle", "--json", input=content)
        told.append((json.loads(result.stdout)["progressive_p@1"], model.read_bytes()))
    assert told[0][0] == pytest.approx(told[1][0])
    assert told[0][1] == told[1][1]


@pytest.mark.slow
def test_going_on_learning_knows_what_is_new(text_model: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    labels = ["topic-01", "fresh-1", "fresh-2"]
    more = write_texts(tmp_path / "more.jsonl", 60, labels=labels, seed=2)
    run("learn", text_model, more, "--progressive", page)
    assert "<dt>new labels</dt><dd>2</dd>" in page.read_text()


def test_a_page_that_cannot_be_written_is_refused_before_learning(
    texts: Path, tmp_path: Path
) -> None:
    model = tmp_path / "model.lg"
    for page, part in (
        (tmp_path, "folder"),
        (texts, "would overwrite"),
        (tmp_path / "no" / "x", "no such"),
    ):
        result = run("train", texts, "-o", model, "--progressive", page, status=1)
        assert part in result.stderr
    assert not model.exists()


@pytest.mark.parametrize("module", ["jinja2", "vl_convert"])
def test_packages_that_a_page_needs_are_missed_before_learning(
    texts: Path, text_model: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    before = text_model.read_bytes()
    monkeypatch.setitem(sys.modules, module, None)
    page = text_model.with_name("page.html")
    result = run("learn", text_model, texts, "--progressive", page, status=1)
    assert f"a report needs the package {module}" in result.stderr
    assert text_model.read_bytes() == before
    result = run("report", text_model, text_model.with_name("none.jsonl"), "-o", page, status=1)
    assert f"a report needs the package {module}" in result.stderr


def test_a_page_that_finds_the_disk_full_says_where_the_model_is(
    texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(page))

    page, model = tmp_path / "page.html", tmp_path / "model.lg"
    monkeypatch.setattr("labelgrove.cli._learning.write_stream_report", full)
    expected = f"error: {page}: no space left on device; the model is saved in {model}\n"
    for words in (("train", texts, "-o", model), ("learn", model, texts)):
        assert run(*words, "--progressive", page, status=1).stderr == expected
    assert labelgrove.load(model).examples_seen_ == 800
