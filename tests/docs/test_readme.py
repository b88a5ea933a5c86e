"""The pages are correct: their commands run, and their Python prints the output shown."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from labelgrove.cli.commands import app
from labelgrove.models._plt_options import PRESETS

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]

# A Python block and its output, which may vary between machines.
SHOWN = re.compile(
    r"^(?P<skip><!-- not run: .+? -->\n)?```python\n(?P<code>.*?)^```$"
    r"(?:\n+(?P<varies><!-- varies -->\n)?```text\n(?P<shown>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
COMMAND = re.compile(r"^    (labelgrove .+?)(?: {2,}.*)?$", re.MULTILINE)


class Step(NamedTuple):
    code: str
    shown: str | None
    varies: bool


def steps(page: Path) -> list[Step]:
    text = page.read_text(encoding="utf-8")
    return [
        Step(found["code"], found["shown"], found["varies"] is not None)
        for found in SHOWN.finditer(text)
        if found["skip"] is None
    ]


def run(all_steps: list[Step], name: str) -> list[str]:
    """Run a page's blocks in one namespace and give what each has printed."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed = []
    for number, step in enumerate(all_steps, start=1):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(step.code, f"{name}, block {number}", "exec"), namespace)
        printed.append(out.getvalue())
    return printed


WITH_CODE = [page for page in PAGES if steps(page)]


@pytest.mark.parametrize(
    "page", WITH_CODE, ids=[page.relative_to(ROOT).as_posix() for page in WITH_CODE]
)
def test_blocks_print_what_the_page_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    all_steps = steps(page)
    shows = any(step.shown is not None for step in all_steps)
    for step, printed in zip(all_steps, run(all_steps, page.name), strict=True):
        if step.shown is None:
            assert not (printed and shows), f"printed but not shown, after:\n{step.code}"
        elif step.varies:
            assert printed.count("\n") == step.shown.count("\n"), printed
        else:
            assert printed == step.shown


def test_readme_and_tutorial_show_output() -> None:
    for page in ("README.md", "docs/tutorial.md"):
        assert any(step.shown is not None for step in steps(ROOT / page)), page


# --- the command line ----------------------------------------------------------------------------

TICKETS = [
    ("my parcel has not arrived yet", ["shipping"]),
    ("the parcel came broken, I want my money back", ["shipping", "refund"]),
    ("I cannot log in, the password is wrong", ["account"]),
    ("please refund the order that I cancelled", ["refund"]),
    ("the app crashes when I pay", ["app", "payment"]),
]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the pages mention."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    lines = [json.dumps({"text": text, "labels": labels}) + "\n" for text, labels in TICKETS]
    for name in ("tickets", "monday", "new", "test", "held-out"):
        (tmp_path / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    Path("allowed.txt").write_text("refund\nshipping\n", encoding="utf-8")
    return tmp_path


def commands(page: Path) -> list[str]:
    return COMMAND.findall(page.read_text(encoding="utf-8"))


def type_in(command: str) -> None:
    with pytest.raises(SystemExit) as end:
        app(shlex.split(command)[1:])
    assert end.value.code == 0, command


@pytest.mark.usefixtures("desk")
def test_commands_of_the_readme_run(capsys: pytest.CaptureFixture[str]) -> None:
    typed = commands(ROOT / "README.md")
    verbs = [command.split()[1] for command in typed]
    assert verbs == [
        "train",
        "learn",
        "predict",
        "eval",
        "tune",
        "explain",
        "report",
        "train",
        "train",
    ]
    for command in typed:
        type_in(command)
        out = capsys.readouterr().out
        if " predict " in command:
            rows = [json.loads(line) for line in out.splitlines()]
            assert [len(row["labels"]) for row in rows] == [3] * len(TICKETS)
    assert Path("tickets.lg").is_file()


def test_commands_of_the_page_on_files_run(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = desk / "tickets.jsonl"
    (desk / "tickets.jsonl.gz").write_bytes(gzip.compress(lines.read_bytes()))
    lines.unlink()  # the page writes only the compressed file
    typed = commands(ROOT / "docs" / "how-to" / "files.md")
    assert len(typed) == 6
    for command in typed:
        type_in(command)
        capsys.readouterr()


@pytest.mark.parametrize("name", ["formats", "libraries", "titles"])
def test_commands_run_on_the_files_that_the_page_writes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / "how-to" / f"{name}.md"
    run(steps(page), page.name)
    typed = commands(page)
    assert len(typed) >= 4
    assert len(typed) == page.read_text(encoding="utf-8").count("\n    labelgrove ")
    for command in typed:
        type_in(command)
    assert "error" not in capsys.readouterr().err


# --- tables that repeat facts from the code ------------------------------------------------------


def test_presets_are_as_the_page_has_them() -> None:
    text = (ROOT / "docs" / "how-to" / "parameters.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (\S+) \| (\S+) \|$", text, re.MULTILINE)
    told = {
        "default": {name: default.strip("`") for name, default, _ in rows},
        "paper": {name: paper.strip("`") for name, _, paper in rows},
    }
    assert told == {
        preset: {name: str(value) for name, value in values.items()}
        for preset, values in PRESETS.items()
    }
