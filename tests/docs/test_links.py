"""Every link to a file of the project, and to a heading in it, leads somewhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]

LINK = re.compile(r"!?\[(?:[^\]\[]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
# The README is shown by package indices, too, where only whole addresses lead somewhere.
HOME = "https://github.com/labelgrove/labelgrove/blob/main/"
EXTRA = re.compile(r"labelgrove\[([\w,]+)\]")


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def links(page: Path) -> list[str]:
    found = [link.removeprefix(HOME) for link in LINK.findall(CODE.sub("", prose(page)))]
    return [target for target in found if not SCHEME.match(target)]


def anchors(page: Path) -> set[str]:
    """The names by which headings can be linked to, as Sphinx and the forges make them."""
    titles = (title.replace("`", "") for title in HEADING.findall(prose(page)))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_resolve(page: Path) -> None:
    for target in links(page):
        name, _, anchor = target.partition("#")
        aim = (page.parent / name).resolve() if name else page
        assert aim.exists(), f"{target}: there is no such file"
        assert aim.is_relative_to(ROOT), f"{target}: leads out of the project"
        if anchor:
            assert anchor in anchors(aim), f"{target}: there is no such heading"


def test_the_readme_leads_on() -> None:
    assert len(links(ROOT / "README.md")) > 8


def test_links_and_anchors_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# The `C` of Pi_t, and why\n[a](b.md#c) ![d](e.svg) [f](https://g.org) `[h](i)`\n"
        "```text\n[j](k)\n# no heading\n```\n[two\nlines](l.md)\n",
        encoding="utf-8",
    )
    assert links(page) == ["b.md#c", "e.svg", "l.md"]
    assert anchors(page) == {"the-c-of-pi_t-and-why"}


def test_links_of_the_readme_hold_wherever_it_is_shown() -> None:
    found = LINK.findall(CODE.sub("", prose(ROOT / "README.md")))
    assert [target for target in found if not SCHEME.match(target)] == []


def test_every_extra_that_is_named_is_there() -> None:
    """In pages, docstrings and messages alike."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    sources = [*PAGES, *(ROOT / "src").rglob("*.py")]
    named = {
        extra
        for source in sources
        for extras in EXTRA.findall(source.read_text(encoding="utf-8"))
        for extra in extras.split(",")
    }
    assert {"plot", "report"} <= named <= set(project["optional-dependencies"])
    assert HOME.startswith(project["urls"]["Homepage"])
