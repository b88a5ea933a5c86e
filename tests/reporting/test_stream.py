"""The course of a stream, against plain counting; its page, in a browser."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelgrove import DataError
from labelgrove.evaluation import StreamRecord
from labelgrove.reporting import write_stream_report
from labelgrove.vocabulary import Concept, Vocabulary
from reporting.browser import Show

ROWS = st.lists(
    st.tuples(st.sets(st.integers(0, 5), max_size=3), st.permutations(range(6))), max_size=6
)


def recorded(batches: list[list[tuple[set[int], list[int]]]], places: int = 2) -> StreamRecord:
    record = StreamRecord([5], places=places)
    for number, batch in enumerate(batches, start=1):
        true, predicted = [row[0] for row in batch], [row[1][:3] for row in batch]
        record.add(true, predicted, nodes=2 * number, seconds=0.5)
    return record


def naive_patience(batches: list[list[tuple[set[int], list[int]]]], places: int) -> list[float]:
    """Kaplan and Meier: the product over n of 1 - (labels told at n) / (asked at n or later)."""
    fates = []
    for label in range(5):
        learnt, asked, told = 0, None, None
        for batch in batches:
            for true, predicted in batch:
                if label in true and told is None:
                    asked = learnt
                    told = learnt if label in predicted[:places] else None
            learnt += sum(label in true for true, _ in batch)
        if asked is not None:
            fates.append((asked, told is not None))
    shares, left = [], 1.0
    for n in range(max((asked for asked, _ in fates), default=-1) + 1):
        at_risk = sum(asked >= n for asked, _ in fates)
        left *= 1 - sum(told and asked == n for asked, told in fates) / at_risk
        shares.append(1 - left)
    return shares


@given(st.lists(ROWS.filter(bool), max_size=6))
def test_everything_is_counted(batches: list[list[tuple[set[int], list[int]]]]) -> None:
    record = recorded(batches)
    rows = [row for batch in batches for row in batch]
    hits = [predicted[0] in true for true, predicted in rows]
    assert record.examples == len(rows)
    if rows:
        last = record.points()[-1]
        assert last.accuracy == pytest.approx(sum(hits) / len(rows))
        assert (last.examples, last.nodes) == (len(rows), 2 * len(batches))
        assert last.n_labels == len({5}.union(*(true for true, _ in rows)))
        assert last.recent_precision == last.precision  # so few are all recent
    else:
        assert math.isnan(record.point().accuracy)
    assert record.new_labels == len({label for true, _ in rows for label in true} - {5})
    assert record.patience() == pytest.approx(naive_patience(batches, 2))
    found = dict(record.overlooked(5))
    for label in range(5):
        before, told = 0, False
        for batch in batches:
            rows = [row for row in batch if label in row[0]]
            if rows and not told:
                told = any(label in row[1][:2] for row in rows)
                last = before
            before += len(rows)
        assert found.get(label, 0) == (last if before and not told else 0)


def test_the_first_rows_of_a_batch_stand_for_the_others() -> None:
    record = StreamRecord(places=2)
    record.add([["a"]] * 8, [["a", "b"], ["b", "a"], ["b", "c"], ["b"]])
    assert record.examples == 8
    assert record.point().precision == (0.25, 0.25)
    record.add([["a"]] * 2, [])  # nothing predicted is nothing right
    assert record.point().precision == (0.2, 0.2)


def test_recent_is_the_last_thousand_and_points_stay_few() -> None:
    record = StreamRecord()
    for number in range(3000):
        told = ["a"] if number >= 2000 else ["b"]
        record.add([["a"]], [told], seconds=0.001)
    points = record.points()
    assert points[-1].recent_accuracy == 1.0 and points[-1].accuracy == pytest.approx(1 / 3)
    assert len(points) < 400
    assert [point.examples for point in points] == sorted({point.examples for point in points})


@pytest.mark.slow
def test_the_page_renders(show: Show, tmp_path: Path) -> None:
    page = tmp_path / "stream.html"
    record = StreamRecord()
    for number in range(300):
        true = [[f"label {number * i // 7}"] for i in range(1, 5)]
        record.add(true, [["label 1", "label 7"]] * 4, nodes=number, seconds=0.01)
    vocabulary = Vocabulary([Concept("label 2", preferred={"": "heron <b>"})])
    write_stream_report(
        record, page, name="a model", data_name="</title>", called=vocabulary.called
    )
    screen = show(page, width=390)
    assert screen.errors == [] and screen.requests == [page.as_uri()]
    assert screen.run("document.title") == "a model, learning </title> · LabelGrove"
    assert screen.run("document.documentElement.scrollWidth") == 390
    assert screen.run("document.querySelectorAll('[data-chart] svg').length") == 4
    [estimated] = screen.run(
        "[...document.querySelectorAll('figure')].map((e) => e.innerText)"
        ".filter((text) => text.includes('Kaplan–Meier'))"
    )
    assert estimated.startswith("Recognition of new labels")
    overlooked = screen.run("document.querySelector('table.plain').innerText")
    assert "heron <b> (label 2)\t" in overlooked and "label 7" not in overlooked


@pytest.mark.slow
def test_nothing_new_and_no_tree(show: Show, tmp_path: Path) -> None:
    page, record = tmp_path / "stream.html", StreamRecord(["a"])
    record.add([["a"]], [["a"]], seconds=0.1)
    write_stream_report(record, page)
    screen = show(page)
    assert screen.errors == []
    assert screen.run("document.querySelectorAll('[data-chart] svg').length") == 2


def test_what_cannot_be_reported_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="found no examples"):
        write_stream_report(StreamRecord(), tmp_path / "page.html")
    with pytest.raises(DataError, match="2 rows: expected at most 1"):
        StreamRecord().add([["a"]], [["a"], ["b"]])
