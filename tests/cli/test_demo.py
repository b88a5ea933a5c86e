from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

import labelgrove
from cli.conftest import run
from labelgrove.cli._demo import LearningTable, _excerpt
from labelgrove.cli._learning import Learning
from labelgrove.cli._models import create_model
from labelgrove.cli.commands import demo
from labelgrove.datasets import PythonDoc


@pytest.fixture
def some_docs(monkeypatch: pytest.MonkeyPatch) -> list[PythonDoc]:
    """Docstrings of ten classes with telling words, in place of the installed ones."""
    docs = [
        PythonDoc(
            name=f"pack.module{i % 10}.Class.method{i}",
            text=f"word{i % 10} other{i % 10} more{i % 10} number {i}",
            labels=("pack", f"pack.module{i % 10}", f"pack.module{i % 10}.Class"),
            held_out=i % 10 == i // 10 % 10,
        )
        for i in range(600)
    ]

    def iterate() -> Iterator[PythonDoc]:
        yield from docs

    monkeypatch.setattr(demo, "iter_python_docs", iterate)
    return docs


@pytest.mark.usefixtures("some_docs")
def test_the_demo_learns_tests_and_says_what_to_type(tmp_path: Path) -> None:
    model = tmp_path / "my model.lg"
    shown = run("demo", "-o", model).stdout
    assert "docstrings  labels     P@1  recent" in shown
    assert "540 docstrings, 21 labels, one pass" in shown
    assert "60 docstrings:  P@1 100.0%   P@3 100.0%   P@5 60.0%" in shown
    assert shown.count("labels      pack   pack.module") == 4
    assert "✓ pack 1.00" in shown
    assert "✓ pack.module" in shown
    assert "· pack.module" in shown
    assert f"labelgrove info '{model}'" in shown
    assert labelgrove.load(model).examples_seen_ == 540


@pytest.mark.usefixtures("some_docs")
@pytest.mark.parametrize(
    ("started", "typed"),
    [
        (".venv/bin/labelgrove", ".venv/bin/labelgrove"),  # make demo
        ("/usr/bin/labelgrove", "labelgrove"),  # found on the path
        ("/usr/lib/labelgrove/__main__.py", "labelgrove"),
    ],
)
def test_what_to_type_is_what_was_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: str, typed: str
) -> None:
    monkeypatch.setattr("sys.argv", [started])
    assert f"\n  {typed} info " in run("demo", "-o", tmp_path / "m.lg").stdout


@pytest.mark.usefixtures("some_docs")
def test_the_model_of_the_demo_predicts_what_it_says_to_type(tmp_path: Path) -> None:
    run("demo", "-o", tmp_path / "m.lg")
    text = '{"text": "Return the eigenvalues of a symmetric matrix"}\n'
    assert '"labels": ["pack"' in run("predict", tmp_path / "m.lg", "-", input=text).stdout


def test_numbers_of_the_table(some_docs: list[PythonDoc], tmp_path: Path) -> None:
    shown = run("demo", "-o", tmp_path / "m.lg").stdout
    lines = [line.split() for line in shown.splitlines()[5:]]
    table = [line for line in lines if len(line) == 7 and line[-1].startswith("pack.")]
    learnt = [int(line[0].replace(",", "")) for line in table]
    assert learnt == sorted(set(learnt))
    assert learnt[-1] == 540
    for n, line in zip(learnt, table, strict=True):
        seen = [doc for doc in some_docs if not doc.held_out][:n]
        assert int(line[1]) == len({label for doc in seen for label in doc.labels})
        assert line[-1] == seen[-1].name


def test_real_docstrings(tmp_path: Path) -> None:
    shown = run("demo", "--limit", "200", "-o", tmp_path / "m.lg").stdout
    assert "Docstrings it has never seen" in shown
    assert labelgrove.load(tmp_path / "m.lg").examples_seen_ > 150


def test_so_few_that_none_is_held_out(tmp_path: Path) -> None:
    shown = run("demo", "--limit", "1", "-o", tmp_path / "m.lg").stdout
    assert "never seen" not in shown
    assert "1 docstring, 1 label, one pass" in shown


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    result = run("demo", "-o", tmp_path / "no" / "m.lg", status=1)
    assert "no such folder" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("text", ["", "one", "a  b\n\n  c\n=====\nd", "x " * 500, "y" * 1000])
def test_an_excerpt_has_whole_words_and_an_end(text: str) -> None:
    words = _excerpt(text)
    assert len(" ".join(words)) <= 245
    if len(text) > 240:
        assert words[-1] == "…"


def test_the_table_tells_where_the_record_stands() -> None:
    table = LearningTable(Console(file=io.StringIO()))
    model = create_model("online-plt", (), texts=True, passes=1, jobs=1, seed=0)
    state = Learning(model)
    for told in ["wrong"] * 40 + ["right"] * 40:
        state.record.add([["right"]] * 25, [[told]] * 25)
        table.add(state, "a.b")
    assert table.n_examples == 2000
    assert (table._last.point.accuracy, table._last.point.recent_accuracy) == (0.5, 1.0)
