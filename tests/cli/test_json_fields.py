"""The page on the command line lists every field of ``--json``, and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import as_json, run, text_examples, write_jsonl

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"

COMMANDS = {
    "train": ["train {texts} -o {new}"],
    "learn": ["learn {model} {texts} -o {new}"],
    "tune": ["tune {model} {texts} -o {new}"],
    "compact": ["compact {model} -o {new} --data {texts}"],
    "convert": ["convert {texts} -o {new}"],
    "explain": [
        "explain {model} --text topic03w0 --label topic-07",
        "explain {lom} --text topic03w0 --label topic-07",
    ],
    "info MODEL": ["info {tuned}", "info {small}", "info {lom}"],
    "tree build": ["tree build {texts} -o {new}"],
    "tree stats": ["tree stats {model} --data {texts}"],
}

# Their keys are names of parameters, labels and so on.
OPEN = ("parameters", "text", "columns", "most_frequent_labels", "arities")


def documented() -> dict[tuple[str, ...], set[str]]:
    [section] = re.findall(
        r"^## JSON results\n(.*?)^## ", PAGE.read_text(), re.MULTILINE | re.DOTALL
    )
    return {
        tuple(re.findall(r"`([^`]+)`", names)): set(re.findall(r"(?<!\})`([a-z_0-9@]+)`", body))
        for names, body in re.findall(
            r"^(`[^\n]*`)\n: (.*?)\n\n", section, re.MULTILINE | re.DOTALL
        )
    }


def fields(found: Any) -> Iterator[str]:
    for one in found if isinstance(found, list) else [found]:
        if isinstance(one, dict):
            for name, value in one.items():
                yield name
                if name not in OPEN:
                    yield from fields(value)


@pytest.fixture
def files(texts: Path, tmp_path: Path) -> dict[str, Path]:
    names = ("model", "tuned", "small", "lom")
    paths = {name: tmp_path / f"{name}.lg" for name in names} | {"texts": texts}
    (tmp_path / "names.tsv").write_text("topic-01\tone\n")
    run("train", texts, "-o", paths["model"], "--vocabulary", tmp_path / "names.tsv")
    run("tune", paths["model"], texts, "-o", paths["tuned"])
    run("compact", paths["model"], "-o", paths["small"])
    one = [row | {"labels": row["labels"][:1]} for row in text_examples(400)]
    classes = write_jsonl(tmp_path / "classes.jsonl", one)
    run("train", classes, "-o", paths["lom"], "--algorithm", "lomtree")
    return paths


def test_every_field_is_documented(files: dict[str, Path], tmp_path: Path) -> None:
    told = documented()
    assert [name for names in told for name in names] == [*COMMANDS]
    for names, expected in told.items():
        found: set[str] = set()
        for i, line in enumerate(line for name in names for line in COMMANDS[name]):
            new = tmp_path / f"new {names[0]} {i}"
            words = [word.format(**files, new=new) for word in line.split()]
            found |= set(fields(as_json(*words)))
        others = {name for name in expected if name in COMMANDS}  # whose fields it has too
        of_others = set().union(*(told[(name,)] for name in others))
        assert expected - others <= found <= expected | of_others, names
