"""What the page on the command line shows is what its commands print, apart from times."""

from __future__ import annotations

import json
import lzma
import os
import re
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
BLOCK = re.compile(
    r"^(?P<skip><!-- not run: .+? -->\n)?```console\n(?P<typed>.*?)^```$", re.MULTILINE | re.DOTALL
)
VARIES = re.compile(r"…|^\.\.\.$|[\d.]+ m?s\b|[\d,]+ (?=(?:examples )?per second)", re.MULTILINE)


def steps(page: str) -> list[tuple[str, str]]:
    """The commands of all blocks that can be run, each with what it is shown to print."""
    blocks = [found["typed"] for found in BLOCK.finditer(page) if found["skip"] is None]
    typed = [step for block in blocks for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    return [(command, shown) for command, _, shown in (step.partition("\n") for step in typed)]


def matches(printed: str, shown: str) -> bool:
    """Whether they are equal but for wrapping, times, and what the page leaves out."""
    parts = [r"\s+".join(map(re.escape, part.split())) for part in VARIES.split(shown)]
    return re.fullmatch(r"\s*" + r"\s*.*?\s*".join(parts) + r"\s*", printed, re.DOTALL) is not None


@pytest.fixture
def desk(data_folder: Path, tmp_path: Path, warm: Sequence[str]) -> Path:
    """A folder with the files that the page names, and the command."""
    lines = {}
    for part in ("train", "test"):
        with lzma.open(
            data_folder / f"cooking-text/{part}.jsonl.xz", "rt", encoding="utf-8"
        ) as file:
            rows = [json.loads(line) for line in file]
        lines[part] = [
            " ".join([*(f"__label__{label}" for label in row["labels"]), row["text"]]) + "\n"
            for row in rows
        ]
    files = {
        "cooking.train": lines["train"],
        "cooking.valid": lines["test"],
        "monday.ft": lines["train"][:8000],
        "tuesday.ft": lines["train"][8000:],
        "broken.jsonl": ['{"text": "a", "labels": []}\n'] * 250 + ['{"text": 1, "labels": []}\n'],
        "bibtex.xmlc": ["1 2 1\n", "0 0:1 1:1\n"],
        "labelgrove": [f'#!/bin/sh\nexec {shlex.join(warm)} -m labelgrove "$@"\n'],
    }
    for name, content in files.items():
        (tmp_path / name).write_text("".join(content), encoding="utf-8")
    (tmp_path / "labelgrove").chmod(0o755)
    return tmp_path


@pytest.mark.data
@pytest.mark.slow
def test_commands_print_what_the_page_shows(desk: Path) -> None:
    environment = os.environ | {"PATH": f"{desk}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "200"}
    typed = steps(PAGE.read_text(encoding="utf-8"))
    assert len(typed) > 15
    stale = []
    for command, shown in typed:
        both = f"{{ {command}; }} 2>&1"
        done = subprocess.run(
            ["sh", "-c", both], cwd=desk, env=environment, check=False, stdout=subprocess.PIPE
        )
        printed = done.stdout.decode("utf-8")
        if not matches(printed, shown):
            stale.append(f"$ {command}\n{printed}")
    assert not stale, "the page shows something else for:\n" + "\n".join(stale)


def test_times_and_wrapping_do_not_count_but_figures_do() -> None:
    shown = "examples  12 in 297 ms (41,819 per second)\nlabels    735\n...\nmodel     a.lg\n"
    printed = "examples  12 in 1.3 s (9 per second)\nlabels  735\nP@1  3%\nmodel\n  a.lg\n"
    assert matches(printed, shown)
    assert not matches(printed.replace("735", "736"), shown)
    assert not matches(printed.replace("12 in", "13 in"), shown)
    assert not matches(printed + "more\n", shown)


def test_blocks_are_read_unless_they_are_marked() -> None:
    page = "```console\n$ a\nb\n$ c\n```\n<!-- not run: long -->\n```console\n$ d\n```\n"
    assert steps(page) == [("a", "b\n"), ("c", "")]
