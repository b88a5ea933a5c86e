"""The Python in README.md and docs/ runs as it stands."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
# A fence is a line of its own; an HTML comment right above may say why a block is not run.
BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<why>.+?) -->\n)?```python\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)


def runnable_code(page: Path) -> str:
    """The page's blocks in one piece, every line at the line number that it has in the page."""
    text = page.read_text(encoding="utf-8")
    lines = [""] * text.count("\n")
    for block in BLOCK.finditer(text):
        if block["why"] is None:
            first = text.count("\n", 0, block.start("code"))
            code = block["code"].splitlines()
            lines[first : first + len(code)] = code
    return "\n".join(lines)


WITH_CODE = [page for page in PAGES if runnable_code(page).strip()]


@pytest.mark.parametrize(
    "page", WITH_CODE, ids=[page.relative_to(ROOT).as_posix() for page in WITH_CODE]
)
def test_python_blocks_of_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(runnable_code(page), str(page), "exec"), {"__name__": "__main__"})


def test_blocks_keep_their_line_numbers(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# Title\n\n```python\na = 1\n```\n<!-- not run: needs a network -->\n"
        "```python\nfetch()\n```\ntext\n```python\nb = 2\n```\n",
        encoding="utf-8",
    )
    lines = runnable_code(page).split("\n")
    assert (lines[3], lines[11]) == ("a = 1", "b = 2")
    assert "fetch" not in "".join(lines)
