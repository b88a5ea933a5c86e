"""Reports in a real browser render without errors, at any width, light and dark."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from labelgrove import OnlinePLTClassifier, TextClassifier
from labelgrove.reporting import write_report
from reporting.browser import Screen, Show
from reporting.kit import examples

pytestmark = pytest.mark.slow  # and no sanitizer can be loaded into a browser

CHARTS = "[...document.querySelectorAll('[data-chart]')]"


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_it_renders(show: Show, report: Path, width: int, dark: bool) -> None:
    screen = show(report, width=width, dark=dark)
    assert screen.errors == []
    assert screen.requests == [report.as_uri()]
    assert screen.run("document.documentElement.scrollWidth") == width
    drawn = f"{CHARTS}.map((c) => Math.min(...['width', 'height'].map((side) => "
    drawn += "c.querySelector('svg, canvas')?.getBoundingClientRect()[side] ?? 0)))"
    sizes = screen.run(drawn)
    assert len(sizes) == 8 and min(sizes) > 100
    assert screen.run(f"{CHARTS}.every((c) => c.scrollWidth <= c.clientWidth)")
    [red, *_] = screen.run("getComputedStyle(document.body).backgroundColor.match(/\\d+/g)")
    assert (int(red) < 60) == dark
    assert screen.run("document.title") == "new on a test · LabelGrove"


def test_long_names_fit_on_a_phone(show: Show, tmp_path: Path) -> None:
    texts = ["salmon cod", "olive oil", "cod herring", "oil lamp"] * 9
    labels = [["http://example.org/" + "fish" * 30], ["b"], ["c" * 90], ["of words " * 20]] * 9
    names = tuple(f"a-model-whose-name-goes-on-without-a-blank-{'on-' * 30}{i}" for i in range(2))
    clf = TextClassifier().fit(texts, labels)
    other = TextClassifier().fit(texts[:5], labels[:5])
    page = tmp_path / "long.html"
    write_report(clf, texts[:8], labels[1:9], page, compare=other, names=names, data_name="d" * 90)
    screen = show(page, width=390)
    assert screen.errors == []
    assert screen.run("document.documentElement.scrollWidth") == 390
    inside = "(e) => !e.closest('.scroll, .outline, nav') && e.getClientRects().length"
    outside = f"[...document.body.querySelectorAll('*')].filter({inside})"
    outside += ".filter((e) => e.getBoundingClientRect().right > 391)"
    chart = "e.closest('[data-chart]')?.dataset.chart"
    outside += f".map((e) => ({chart} ?? e.tagName) + e.textContent.slice(0, 80))"
    assert screen.run(outside) == []
    heights = "[...document.querySelectorAll('nav a')].map((a) => a.offsetHeight)"
    assert max(screen.run(heights)) < 40  # no link is broken within its word


def test_names_from_right_to_left_keep_to_themselves(show: Show, tmp_path: Path) -> None:
    hebrew, turned = ["שלום עולם", "תל אביב", "ספרים"], "\u202ebackwards"
    names = [*hebrew, turned]
    texts = [f"word{i} שלום" for i in range(4)] * 5
    model = TextClassifier(OnlinePLTClassifier(max_leaves=2)).fit(
        texts, [[name] for name in names] * 5
    )
    write_report(model, texts[:4], [[name] for name in names[1:] + names[:1]], tmp_path / "p.html")
    screen = show(tmp_path / "p.html")
    # What follows a name in the text is also drawn after it, to its right or on a later line.
    after = """(name) => {
        const range = document.createRange();
        range.setStart(name.nextSibling, 0);
        range.setEnd(name.nextSibling, Math.min(4, name.nextSibling.length));
        const [end, next] = [name, range].map((part) => [...part.getClientRects()].at(-1));
        return next.left >= end.right - 2 || next.top >= end.bottom - 2;
    }"""
    for part in (".cases p > b", ".cases bdi"):
        found = f"[...document.querySelectorAll('{part}')].map({after})"
        assert set(screen.run(found)) == {True}
    left = """(title) => ["שלום עולם", "תל אביב", "ספרים"]
        .filter((name) => title.textContent.includes(name))
        .map((name) => [title.textContent.indexOf(name), name.length]).sort(([a], [b]) => a - b)
        .map(([begin, length]) => {
            const range = document.createRange();
            range.setStart(title.firstChild, begin);
            range.setEnd(title.firstChild, begin + length);
            return range.getBoundingClientRect().left;
        })"""
    titles = screen.run(f"[...document.querySelectorAll('[data-tree] ul ul b')].map({left})")
    assert max(map(len, titles)) > 1
    assert titles == [sorted(places) for places in titles]
    assert screen.errors == []


def test_confused_names_share_the_room(show: Show, tmp_path: Path) -> None:
    texts, labels = ["salmon cod", "olive oil"] * 9, [["of few words"], ["of many words " * 20]] * 9
    model = TextClassifier().fit(texts, labels)
    write_report(model, ["olive oil"] * 4, labels[:1] * 4, tmp_path / "page.html")
    screen = show(tmp_path / "page.html")
    widths = screen.run(
        "[...document.querySelectorAll('.plain th')].map((cell) => cell.offsetWidth)"
    )
    assert widths[0] == pytest.approx(widths[1], rel=0.05)
    assert widths[2] < 150


def test_rows_of_a_table_hold_all_their_cells(show: Show, models: Any, tmp_path: Path) -> None:
    X, labels = examples(30, 5)
    model = copy.deepcopy(models[0])
    model.set_thresholds([0.3] * model.n_classes_)  # they have a column
    write_report(model, X, labels, tmp_path / "page.html")
    for width in (390, 800, 1280):
        screen = show(tmp_path / "page.html", width=width)
        for part in (".row.head", ".row:not(.head)", ".scroll"):
            found = f"document.querySelector('[data-table=labels] {part}')"
            fits = screen.run(f"{found}.scrollWidth <= {found}.clientWidth")
            assert fits or (part == ".scroll" and width == 800)


def test_the_switch_turns_light_into_dark(show: Show, report: Path) -> None:
    screen = show(report)
    before = screen.run("getComputedStyle(document.body).backgroundColor")
    line = "document.querySelector('[data-chart=ranking] svg path[stroke]').getAttribute('stroke')"
    stroke = screen.run(line)
    screen.run("document.getElementById('theme').click()")
    assert screen.run("getComputedStyle(document.body).backgroundColor") != before
    screen.page.wait_for_function(f"{line} !== '{stroke}'")  # the charts are drawn again
    screen.run("localStorage.clear()")
    assert screen.errors == []


def names(screen: Screen, table: str = "labels") -> list[str]:
    found = f"document.querySelectorAll('[data-table={table}] .row:not(.head) > .text:first-child')"
    result: list[str] = screen.run(f"[...{found}].map((cell) => cell.textContent)")
    return result


def test_the_table_sorts_and_filters(show: Show, report: Path) -> None:
    screen = show(report)
    first = names(screen)
    assert 10 < len(first) < 42  # only what is in sight
    head = "document.querySelectorAll('[data-table=labels] .head > div')"
    by_name = f"{head}[0].querySelector('button')"
    screen.run(f"{by_name}.focus()")
    screen.press("Enter")
    assert names(screen) == sorted(names(screen)) != first
    assert screen.run(f"{head}[0].getAttribute('aria-sort')") == "ascending"
    screen.press("Enter")  # the focus has stayed
    assert names(screen) == sorted(names(screen), reverse=True)
    search = "document.querySelector('[data-table=labels] input')"
    screen.run(f"{search}.value = 'TOPIC 3'; {search}.dispatchEvent(new Event('input'))")
    assert set(names(screen)) == {f"topic {i}" for i in range(30, 38)}
    count = screen.run("document.querySelector('[data-table=labels] .count').textContent")
    assert count.startswith("8 of")
    assert screen.errors == []


def test_a_small_report_has_no_empty_places(show: Show, tmp_path: Path) -> None:
    texts, labels = (
        ["a parcel", "a password", "a refund"] * 5,
        ["shipping", "account", "refund"] * 5,
    )
    model = TextClassifier().fit(texts, labels)
    page = tmp_path / "small.html"
    write_report(model, texts[:3], [[label] for label in labels[:3]], page)
    screen = show(page)
    assert names(screen) == ["account", "refund", "shipping"]
    places = "document.querySelector('[data-table=labels] .scroll')"
    height, needed = screen.run(
        f"[{places}.clientHeight, {places}.querySelector('[role=rowgroup]').offsetHeight + 36]"
    )
    assert needed <= height < needed + 36
    assert "Where labels are lost" not in screen.run("document.body.innerText")
    assert screen.errors == []


def test_the_tree_unfolds_and_is_coloured(show: Show, report: Path) -> None:
    screen = show(report)
    root = "document.querySelector('[data-tree] ul ul')"
    assert screen.run(f"{root}.childElementCount") > 1
    screen.run(f"{root}.querySelector('summary').focus()")
    screen.press("Enter")
    assert screen.run(f"{root}.querySelector('details').open")
    # A list is filled when it is open.
    screen.page.wait_for_function(f"{root}.querySelector('details ul').childElementCount > 1")
    mark = f"{root}.querySelector('i').style.background"
    before = screen.run(mark)
    screen.run("document.querySelector('[data-by=lost]').click()")
    assert screen.run(mark) != before
    screen.run("document.querySelector('[data-lost=nodes] a').click()")
    assert screen.run("document.querySelectorAll('[data-tree] .found').length") == 1
    assert screen.errors == []


def test_every_control_is_reached_by_keys(show: Show, report: Path) -> None:
    screen = show(report)
    reached = set()
    for _ in range(14):
        screen.press("Tab")
        reached.add(screen.run("document.activeElement.id || document.activeElement.textContent"))
    assert {"Skip to the content", "theme", "Labels", "Tree", "label"} <= reached
