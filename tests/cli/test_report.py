from __future__ import annotations

from pathlib import Path

import pytest

from cli.conftest import run, text_examples, write_jsonl, write_texts


@pytest.mark.slow
def test_a_page_is_written(text_model: Path, tmp_path: Path) -> None:
    data, page = write_texts(tmp_path / "test.jsonl", 60, seed=1), tmp_path / "page.html"
    shown = run("report", text_model, data, "-o", page, "--limit", 50).stdout
    assert "50" in shown and "page.html (" in shown
    html = page.read_text()
    assert "text on test.jsonl" in html and 'data-chart="rings"' in html
    assert "Compared with" not in html


@pytest.mark.slow
def test_a_page_can_do_without_the_texts(text_model: Path, tmp_path: Path) -> None:
    data, page = tmp_path / "test.jsonl", tmp_path / "page.html"
    examples = text_examples(60, seed=1)
    write_jsonl(data, [{**example, "labels": ["nowhere"]} for example in examples])
    for words, shown in (([], True), (["--no-examples"], False)):
        run("report", text_model, data, "-o", page, *words)
        html = page.read_text()
        assert any(example["text"] in html for example in examples) == shown
        assert 'data-chart="rings"' in html


@pytest.mark.slow
def test_two_models_are_compared(vector_model: Path, vectors: Path, tmp_path: Path) -> None:
    other, page = tmp_path / "other.lg", tmp_path / "page.html"
    run("train", vectors, "-o", other, "--limit", 60)
    run("report", vector_model, vectors, "--compare", other, "-o", page)
    html = page.read_text()
    assert "Compared with other on the same examples" in html


def test_what_is_wrong_is_said(text_model: Path, vectors: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    for words, part in (
        ([text_model, vectors, "-o", page], "expected text, as in"),
        ([text_model, vectors, "-o", tmp_path], "folder"),
        ([text_model, vectors, "-o", vectors], "would overwrite"),
        ([text_model, tmp_path / "none.jsonl", "-o", page], "none.jsonl"),
    ):
        result = run("report", *words, status=1)
        assert part in result.stderr
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    assert "example" in run("report", text_model, empty, "-o", page, status=1).stderr
    assert not page.exists()
