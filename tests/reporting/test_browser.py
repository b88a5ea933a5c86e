"""Reports in a real browser: they render without an error, at any width, light and dark."""

from __future__ import annotations

from pathlib import Path

import pytest

from reporting.browser import Browser

pytestmark = pytest.mark.slow  # and no sanitizer can be loaded into a browser

CHARTS = "[...document.querySelectorAll('[data-chart]')]"


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_it_renders(browser: Browser, report: Path, width: int, dark: bool) -> None:
    browser.open(report, width=width, dark=dark)
    assert browser.errors == []
    assert browser.requests == [report.as_uri()]
    assert browser.run("document.documentElement.scrollWidth") == width
    drawn = f"{CHARTS}.map((c) => Math.min(...['width', 'height'].map((side) => "
    drawn += "c.querySelector('svg, canvas')?.getBoundingClientRect()[side] ?? 0)))"
    sizes = browser.run(drawn)
    assert len(sizes) == 8 and min(sizes) > 100
    assert browser.run(f"{CHARTS}.every((c) => c.scrollWidth <= c.clientWidth)")
    [red, *_] = browser.run("getComputedStyle(document.body).backgroundColor.match(/\\d+/g)")
    assert (int(red) < 60) == dark
    assert browser.run("document.title") == "new on a test · LabelGrove"


def test_the_switch_turns_light_into_dark(browser: Browser, report: Path) -> None:
    browser.open(report)
    before = browser.run("getComputedStyle(document.body).backgroundColor")
    line = "document.querySelector('[data-chart=ranking] svg path[stroke]').getAttribute('stroke')"
    stroke = browser.run(line)
    browser.run("document.getElementById('theme').click()")
    assert browser.run("getComputedStyle(document.body).backgroundColor") != before
    browser.run("new Promise((done) => setTimeout(done, 300))")
    assert browser.run(line) != stroke
    browser.run("localStorage.clear()")
    assert browser.errors == []


def names(browser: Browser, table: str = "labels") -> list[str]:
    found = f"document.querySelectorAll('[data-table={table}] .row:not(.head) > .text:first-child')"
    result: list[str] = browser.run(f"[...{found}].map((cell) => cell.textContent)")
    return result


def test_the_table_sorts_and_filters(browser: Browser, report: Path) -> None:
    browser.open(report)
    first = names(browser)
    assert 10 < len(first) < 42  # only what is in sight
    head = "document.querySelectorAll('[data-table=labels] .head > div')"
    by_name = f"{head}[0].querySelector('button')"
    browser.run(f"{by_name}.focus()")
    browser.press("Enter")
    assert names(browser) == sorted(names(browser)) != first
    assert browser.run(f"{head}[0].getAttribute('aria-sort')") == "ascending"
    browser.press("Enter")  # the focus has stayed
    assert names(browser) == sorted(names(browser), reverse=True)
    search = "document.querySelector('[data-table=labels] input')"
    browser.run(f"{search}.value = 'TOPIC 3'; {search}.dispatchEvent(new Event('input'))")
    assert set(names(browser)) == {f"topic {i}" for i in range(30, 38)}
    count = browser.run("document.querySelector('[data-table=labels] .count').textContent")
    assert count.startswith("8 of")
    assert browser.errors == []


def test_the_tree_unfolds_and_is_coloured(browser: Browser, report: Path) -> None:
    browser.open(report)
    root = "document.querySelector('[data-tree] ul ul')"
    assert browser.run(f"{root}.childElementCount") > 1
    browser.run(f"{root}.querySelector('summary').focus()")
    browser.press("Enter")
    browser.run("new Promise((done) => setTimeout(done, 50))")  # a list is filled when it is open
    assert browser.run(f"{root}.querySelector('details').open")
    assert browser.run(f"{root}.querySelector('details ul').childElementCount") > 1
    mark = f"{root}.querySelector('i').style.background"
    before = browser.run(mark)
    browser.run("document.querySelector('[data-by=lost]').click()")
    assert browser.run(mark) != before
    browser.run("document.querySelector('[data-lost=nodes] a').click()")
    assert browser.run("document.querySelectorAll('[data-tree] .found').length") == 1
    assert browser.errors == []


def test_every_control_is_reached_by_keys(browser: Browser, report: Path) -> None:
    browser.open(report)
    reached = set()
    for _ in range(14):
        browser.press("Tab")
        reached.add(browser.run("document.activeElement.id || document.activeElement.textContent"))
    assert {"Skip to the content", "theme", "Labels", "Tree", "label"} <= reached
