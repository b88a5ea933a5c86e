from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

from labelgrove.cli.streams import _progress
from labelgrove.cli.streams._progress import ProgressLine, ShareLine
from labelgrove.data import Examples


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(_progress, "monotonic", lambda: now[0])
    return now


def rendered(line: ProgressLine, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, legacy_windows=False)
    console.print(line)
    return console.file.getvalue()


def busy_line(clock: list[float]) -> ProgressLine:
    line = ProgressLine("learning", 33_482)
    clock[0] = 2.0
    line.update(12_404, ["P@1 48.3%", "1,987 labels"])
    return line


def test_a_wide_line_says_everything(clock: list[float]) -> None:
    shown = rendered(busy_line(clock), 140)
    for part in ("learning", "━", "12,404/33,482", "P@1 48.3%", "1,987 labels", "6.20k/s", "left"):
        assert part in shown


@pytest.mark.parametrize("width", [1, 5, 10, 20, 40, 60, 79, 80, 120, 200])
def test_the_line_is_never_wider_than_the_terminal(clock: list[float], width: int) -> None:
    lines = rendered(busy_line(clock), width).rstrip("\n").split("\n")
    assert len(lines) == 1
    assert len(lines[0].rstrip()) <= width


def test_a_narrow_line_keeps_what_matters_most(clock: list[float]) -> None:
    shown = rendered(busy_line(clock), 40)
    assert "12,404/33,482" in shown
    assert "P@1 48.3%" in shown
    assert "labels" not in shown


def test_before_anything_is_done_there_is_only_a_title(clock: list[float]) -> None:
    assert rendered(ProgressLine("writing m.lg"), 80).strip() == "writing m.lg"


def test_without_a_total_there_is_no_bar(clock: list[float]) -> None:
    line = ProgressLine("learning")
    clock[0] = 1.0
    line.update(500)
    shown = rendered(line, 80)
    assert "━" not in shown
    assert "500/s" in shown
    assert "left" not in shown


def test_examples_count_once_they_have_been_used() -> None:
    chunk = Examples(None, ["a", "b"], [(), ()], 1, np.array([1, 2]))
    line = ProgressLine("predicting")
    assert [line.done for _ in line.over([chunk, chunk])] == [0, 2]
    assert line.done == 4


def test_the_speed_is_that_of_the_last_seconds(clock: list[float]) -> None:
    line = ProgressLine("learning")
    for second in range(1, 60):
        clock[0] = float(second)
        line.update(100 * second if second < 30 else 3000 + 10 * (second - 30))
    assert line.rate == pytest.approx(10, rel=0.01)


def test_a_share_is_asked_for_whenever_the_line_is_drawn(clock: list[float]) -> None:
    share = [0.0]
    line = ShareLine("learning from 9 examples", lambda: share[0])
    assert rendered(line, 80).strip() == "learning from 9 examples"
    clock[0], share[0] = 2.0, 0.25
    shown = rendered(line, 80)
    assert "25.0%" in shown and "6.0 s left" in shown and "━" in shown
    share[0] = 1.0
    assert "left" not in rendered(line, 80)


def test_without_a_total_the_share_that_is_read_tells_what_is_left(clock: list[float]) -> None:
    line = ProgressLine("learning", share=lambda: 0.25)
    clock[0] = 2.0
    line.update(1000)
    shown = rendered(line, 140)
    for part in ("1,000", "25.0%", "━", "500/s", "6.0 s left"):
        assert part in shown
    assert "left" not in rendered(ProgressLine("learning", share=lambda: None), 140)
