"""A model is a function of its log, byte for byte, whatever happened on the way."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Sequence
from concurrent.futures import wait
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelgrove.service import _history, _log, _project
from labelgrove.service._batches import Batches
from labelgrove.service._database import recover
from labelgrove.service._events import (
    Deprecation,
    Forgetting,
    Learnt,
    Merging,
    Rebuilt,
    Removal,
    Renaming,
    Row,
    ThresholdValues,
    encoded,
)
from labelgrove.service._history import History
from labelgrove.service._log import Addition
from labelgrove.service._model import Learner, _Now
from labelgrove.service._problems import Problem, ShuttingDown
from labelgrove.service._project import Project
from labelgrove.service._settings import Entry, Settings
from labelgrove.service._snapshots import Snapshot, file_fingerprint, spaced, tidy
from labelgrove.service._stats import Progress
from labelgrove.text import TextFeatures
from service.kit import SMALL, additions, fingerprint_at_the_end, opened, without_snapshots
from waiting import until

CHANGES = [
    Addition("rename", Renaming({"cat": "tom", "dog": "rex"})),
    Addition("remove", Removal(["eel", "unheard of"])),
    Addition("merge", Merging(["fox", "goat"], "farm")),
    Addition("deprecate", Deprecation(["hare"])),
    Addition("thresholds", ThresholdValues(0.3, {"ibex": 0.7})),
    Addition("rebuilt", Rebuilt(60)),
]


def reopened(project: Project) -> Project:
    project.close()
    return opened(project.folder)


def suggested(project: Project, text: str, limit: int = 3) -> list[str]:
    _, [found] = project.suggest([text], limit).result()
    return [label for label, _ in found]


@settings(max_examples=5)
@given(cuts=st.lists(st.integers(1, 40), min_size=1, max_size=4), seed=st.integers(0, 99))
def test_cuts_and_stops_make_no_difference(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], seed: int
) -> None:
    folder = tmp_path_factory.mktemp("projects")
    rows = additions(120, seed)
    for place, change in enumerate(CHANGES):
        rows.insert(70 + 5 * place, change)
    whole, pieces = opened(folder / "whole"), opened(folder / "pieces")
    whole.log.append(rows).result()
    begin = 0
    for cut in cuts:
        pieces.log.append(rows[begin : begin + cut]).result()
        begin += cut
        pieces = reopened(pieces)
    wait([pieces.log.append([row]) for row in rows[begin:]])
    expected = fingerprint_at_the_end(whole)
    assert fingerprint_at_the_end(pieces) == expected
    pieces = without_snapshots(pieces)
    assert fingerprint_at_the_end(pieces) == expected
    assert pieces.learner.deprecated == whole.learner.deprecated == {"hare"}
    whole.close()
    pieces.close()


def test_forgetting_is_as_if_it_had_never_been_sent(tmp_path: Path) -> None:
    with_secret, without = opened(tmp_path / "a"), opened(tmp_path / "b")
    rows = additions(150)
    secret = Addition("learn", Learnt("quagga quagga", ["zebra"]), "secret")
    with_secret.log.append(rows[:90]).result()
    fingerprint_at_the_end(with_secret)
    with_secret.snapshot().result()
    with_secret.log.append([secret, *rows[90:120]]).result()
    fingerprint_at_the_end(with_secret)
    with_secret.snapshot().result()
    place = with_secret.log.find("secret").sequence
    assert "zebra" in with_secret.learner.labels()
    without.log.append(rows[:120]).result()

    receipt = with_secret.log.forget("secret").result()
    with_secret.applied(receipt.sequence).result()
    assert "zebra" not in with_secret.learner.labels()
    assert fingerprint_at_the_end(with_secret)[1] == fingerprint_at_the_end(without)[1]
    assert not any(place <= one.sequence < receipt.sequence for one in with_secret.snapshots())
    for project in (with_secret, without):
        project.log.append(rows[120:]).result()
    expected = fingerprint_at_the_end(without)[1]
    assert fingerprint_at_the_end(with_secret)[1] == expected
    with_secret = without_snapshots(with_secret)
    assert fingerprint_at_the_end(with_secret)[1] == expected
    with_secret.close()
    without.close()


def test_forgetting_is_finished_after_a_crash(tmp_path: Path) -> None:
    project, without = opened(tmp_path / "a"), opened(tmp_path / "b")
    rows = additions(60)
    project.log.append(rows).result()
    without.log.append(rows[:30] + rows[31:]).result()
    project = reopened(project)  # its snapshot knows the example
    project.close()
    log = type(project.log)(project.folder / "log.sqlite")
    log.forget("@32").result()  # the settings were the first event
    log.close()
    project = opened(project.folder)
    assert fingerprint_at_the_end(project)[1] == fingerprint_at_the_end(without)[1]
    project.close()
    without.close()


@pytest.mark.parametrize("kind", ["forget", "merge"])
@pytest.mark.parametrize("ending", ["service", "project"])
def test_nobody_waits_for_a_replay_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, ending: str
) -> None:
    replaying, ended = Event(), Event()
    project = Project(tmp_path, SMALL, stopping=lambda: ending == "service" and ended.is_set())
    project.log.append(additions(50)).result()
    fingerprint_at_the_end(project)
    project.snapshot().result()
    events = History.events

    def wait_for_the_end(*given: Any) -> Any:
        replaying.set()
        assert ended.wait(30)
        return events(*given)

    monkeypatch.setattr(History, "events", wait_for_the_end)
    if kind == "forget":
        project.log.forget("@7").result()
    else:
        project.log.append([Addition("merge", Merging(["fox", "goat"], "farm"))]).result()
    applied = project.applied(project.log.head)
    assert replaying.wait(30)
    if ending == "project":
        project.stop("project 'demo' is being deleted")
    ended.set()
    for waiting in (applied, project.snapshot()):  # whose model may know what is forgotten
        with pytest.raises(Problem, match="shutting down" if ending == "service" else "deleted"):
            waiting.result(30)
    project.close()
    assert project.learner.sequence < project.log.head
    assert len(project.snapshots()) == (kind == "merge")
    monkeypatch.undo()
    again = opened(tmp_path)
    assert fingerprint_at_the_end(again)[0] == project.log.head
    again.close()


def test_statistics_do_not_wait_for_a_replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaying, answered = Event(), Event()
    project = opened(tmp_path)
    project.log.append(additions(50)).result()
    before = fingerprint_at_the_end(project)
    events = History.events

    def wait_for_answer(self: History, after: int, upto: int) -> Any:
        replaying.set()
        until(lambda: self.stopping() or answered.is_set())
        return events(self, after, upto)

    monkeypatch.setattr(History, "events", wait_for_answer)
    project.log.forget("@7").result()
    assert replaying.wait(30)
    snapshot, stats = project.snapshot(), project.stats().result(30)
    assert (stats.sequence, stats.fingerprint) == before  # of the model that answers meanwhile
    assert (stats.head, stats.examples) == (before[0] + 1, 49)
    assert not snapshot.done()  # it would keep what is forgotten
    answered.set()
    snapshot.result(30)
    assert project.snapshots()[0].sequence == stats.head
    project.close()


def test_who_asks_just_before_a_project_is_closed_gets_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, asked = opened(tmp_path), []
    run_jobs = project._run_jobs

    def run() -> None:
        run_jobs()
        if not asked:
            asked.append(project.stats())
            until(lambda: project._closing)

    monkeypatch.setattr(project, "_run_jobs", run)
    project.fingerprint()
    until(lambda: asked)
    project.close()
    assert asked[0].done() and asked[0].result().head == 1


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "all"])
def test_a_damaged_snapshot_falls_back(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    project = opened(tmp_path / "a")
    for seed in range(2):
        project.log.append(additions(50, seed)).result()
        fingerprint_at_the_end(project)
        project.snapshot().result()
    expected = fingerprint_at_the_end(project)
    project.close()
    newest, older = project.snapshots()
    data = bytearray(newest.path.read_bytes())
    data[len(data) // 2] ^= 4
    newest.path.write_bytes({"cut": data[:-9], "flip": data, "empty": b"", "all": b""}[damage])
    if damage == "all":
        older.path.unlink()
    project = opened(project.folder)
    assert fingerprint_at_the_end(project) == expected
    assert "the snapshot is damaged" in caplog.text
    project.snapshot().result()
    assert project.snapshots()[0] == newest
    assert file_fingerprint(newest.path) == newest.fingerprint
    project.close()


def test_labels_change_their_names_and_ways(tmp_path: Path) -> None:
    project = opened(tmp_path / "a")
    project.log.append(additions(300)).result()
    fingerprint_at_the_end(project)

    def change(kind: str, body: object) -> None:
        project.applied(project.log.append([Addition(kind, body)]).result().sequence).result()

    assert suggested(project, "cat cat")[0] == "cat"
    change("rename", Renaming({"cat": "tom"}))
    assert suggested(project, "cat cat")[0] == "tom"
    counts = project.learner.labels()
    change("merge", Merging(["tom", "dog"], "pet"))
    assert max(counts["tom"], counts["dog"]) < project.learner.labels()["pet"]
    assert suggested(project, "cat cat")[0] == "pet" == suggested(project, "dog dog")[0]
    change("learn", Learnt("cat", ["tom"]))  # from a client that does not know of it
    assert "tom" not in project.learner.labels()
    change("deprecate", Deprecation(["pet"]))
    assert "pet" not in suggested(project, "cat cat", 20)
    change("deprecate", Deprecation(["pet"], deprecated=False))
    assert suggested(project, "cat cat")[0] == "pet"
    change("remove", Removal(["pet"]))
    assert "pet" not in project.learner.labels()
    change("thresholds", ThresholdValues(0.2, {"eel": 0.9}))
    cuts = project.learner.cut_offs()
    assert (cuts["eel"], cuts["fox"]) == (0.9, 0.2)
    change("learn", Learnt("cow cow", ["cow"]))
    assert project.learner.cut_offs()["cow"] == 0.2
    change("thresholds", ThresholdValues())
    assert project.learner.cut_offs() == {}
    project.close()


def test_a_change_of_a_few_labels_does_not_list_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = opened(tmp_path / "a")
    project.log.append(additions(60)).result()
    fingerprint_at_the_end(project)
    with monkeypatch.context() as patched:
        patched.delattr(Learner, "labels")
        project.log.append(CHANGES[:2]).result()
        fingerprint_at_the_end(project)
    assert project.failure is None
    labels = project.learner.labels()
    assert {"tom", "rex"} <= labels.keys() and not {"cat", "dog", "eel"} & labels.keys()
    project.close()


def test_a_suggestion_is_right_if_the_label_sent_was_merged_into_it(tmp_path: Path) -> None:
    project = opened(tmp_path / "a")
    sent = [Addition("learn", Learnt(f"a {one}", [one])) for one in ("cat", "dog") * 9]
    project.log.append([*sent, Addition("merge", Merging(["cat"], "pet"))]).result()
    head, _ = fingerprint_at_the_end(project)
    project.log.append([Addition("learn", Learnt("a cat", ["cat"]))]).result()
    fingerprint_at_the_end(project)
    stretch = project.progress.stretches()[-1]
    assert (stretch.sequence, stretch.predictions, stretch.right) == (head + 1, 1, 1)
    project.close()


@pytest.mark.parametrize("anew", [Rebuilt(200), Merging(["owl", "quail"], "bird")])
def test_thresholds_follow_their_labels_when_the_model_begins_anew(
    tmp_path: Path, anew: Any
) -> None:
    project = opened(tmp_path / "a")
    values = {"cat": 0.9, "dog": 0.8, "eel": 0.7, "fox": 0.6, "goat": 0.5, "owl": 0.4}
    project.log.append([*additions(300), Addition("thresholds", ThresholdValues(0.2, values))])
    for kind, body in (
        ("rename", Renaming({"cat": "tom", "dog": "eel", "eel": "dog", "hare": "leveret"})),
        ("remove", Removal(["fox", "goat"])),
        ("learn", Learnt("a fox", ["fox"])),  # a new label
    ):
        project.log.append([Addition(kind, body)]).result()
    fingerprint_at_the_end(project)
    before = project.learner.cut_offs()
    assert [before[one] for one in ("tom", "eel", "dog", "fox")] == [0.9, 0.8, 0.7, 0.2]
    kind = "rebuilt" if isinstance(anew, Rebuilt) else "merge"
    project.log.append([Addition(kind, anew)]).result()
    fingerprint_at_the_end(project)
    after = project.learner.cut_offs()
    assert after == {label: before.get(label, 0.2) for label in after}
    project = without_snapshots(project)
    assert project.learner.cut_offs() == after
    project.close()


def test_an_older_log_may_have_blank_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_log, "checked", lambda _, body: encoded(body))
    project = opened(tmp_path / "a")
    project.log.append([*additions(60), Addition("learn", Learnt("a yak", ["yak", " "]))])
    project.log.append([Addition("rename", Renaming({"cat": " ", "dog": "rex"}))])
    project.log.append([Addition("merge", Merging(["fox", "goat"], "\t"))])
    project.log.append([Addition("rebuilt", Rebuilt(61))]).result()
    assert fingerprint_at_the_end(project)[0] == project.log.head
    assert project.failure is None and project.learner.refused == 0
    labels = {*project.learner.labels()}
    assert {"yak", "rex"} < labels and not {" ", "\t", "fox"} & labels
    project.close()
    reopened = opened(tmp_path / "a")
    assert {*reopened.learner.labels()} == labels
    reopened.close()


def test_names_are_learnt_and_kept_like_examples(tmp_path: Path) -> None:
    words = [Entry("cat", {"en": "feline", "fi": "kissa"}), Entry("yak", "grunting ox")]
    named = msgspec.structs.replace(SMALL, vocabulary=words, names="all")
    whole, pieces = opened(tmp_path / "a", named), opened(tmp_path / "b", named)
    rows = additions(60)
    whole.log.append(rows).result()
    for some in (rows[:25], rows[25:]):
        pieces.log.append(some).result()
        pieces = reopened(pieces)
    expected = fingerprint_at_the_end(whole)
    assert fingerprint_at_the_end(pieces) == expected
    sequence, [found] = pieces.suggest(["a grunting ox"], 3).result()
    assert sequence == 61 and found[0][0] == "yak"
    pieces = without_snapshots(pieces)
    assert fingerprint_at_the_end(pieces) == expected
    assert pieces.learner.model.vocabulary_.name("cat") == "feline"
    whole.close()
    pieces.close()


def test_a_text_is_taken_apart_once_for_all_explanations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a long text it takes longer than the rest."""
    project = opened(tmp_path)
    project.applied(project.log.append(additions(60)).result().sequence).result()
    model, text = project.learner.model, "cat goat, dog cat"
    names = [name for name, _ in project.suggest([text], 4).result()[1][0]]
    expected = [model.explain(text, name, top=50).labels[0].path for name in names]
    taken, sources = list[str](), TextFeatures.sources

    def watched(front: TextFeatures, given: str) -> dict[int, list[str]]:
        taken.append(given)
        return sources(front, given)

    monkeypatch.setattr(TextFeatures, "sources", watched)
    sequence, found = project.learner.explain(text, None, 4)
    assert sequence == 61
    assert [one.label for one in found] == names and [one.path for one in found] == expected
    assert taken == [text]
    project.close()


def test_a_vocabulary_is_held_once(tmp_path: Path) -> None:
    project = opened(tmp_path, msgspec.structs.replace(SMALL, vocabulary=[Entry("cat", "puss")]))
    assert project.learner.vocabulary is project.learner.model.vocabulary
    project.log.append(additions(30)).result()
    project = reopened(project)  # from a snapshot, which has the vocabulary, too
    model = project.learner.model
    assert project.learner.vocabulary is model.vocabulary is model.vocabulary_
    project.close()


def test_answers_tell_the_sequence_number_that_they_were_computed_at(tmp_path: Path) -> None:
    project = opened(tmp_path / "a")
    assert project.suggest(["cat"], 3).result() == (1, [[]])
    receipt = project.log.append(additions(2000)).result()
    seen = [0]
    while seen[-1] < receipt.sequence:
        sequence, _ = project.suggest(["cat"], 3).result()
        assert seen[-1] <= sequence <= receipt.sequence
        seen.append(sequence)
    assert project.progress.stretches()
    project.close()


def test_an_answer_in_the_middle_of_a_batch_has_the_number_of_its_last_example() -> None:
    at = _Now(None, sequence=5, seen=3).at
    assert at(SimpleNamespace(names=None, examples_seen_=7)) == 9
    assert at(SimpleNamespace(names="met", examples_seen_=7)) == 5  # names are no events


def test_who_waits_for_a_model_that_stops_is_told(tmp_path: Path) -> None:
    project = opened(tmp_path / "a")
    assert project.learner.cut_offs() == {}
    waiting = project.applied(project.log.head + 1)
    project.stop("it cannot follow")
    with pytest.raises(Problem, match="it cannot follow"):
        waiting.result(20)
    project.close()


def test_closing_waits_for_the_batch_in_progress() -> None:
    done: list[int] = []
    started, go = Event(), Event()

    def work(batch: list[int]) -> None:
        started.set()
        go.wait(20)
        done.extend(batch)

    batches = Batches(work, "work", most=1, waiting=2)
    batches.put(1)
    batches.put(2)
    assert started.wait(20)
    closing = Thread(target=batches.close)
    closing.start()
    closing.join(0.05)
    assert closing.is_alive()
    go.set()
    closing.join(20)
    assert done == [1, 2]
    with pytest.raises(Problem, match="is being closed"):
        batches.put(3)


def test_every_prediction_counts_in_one_of_at_most_200_stretches() -> None:
    progress, noted = Progress(), 0
    for sequence in range(2, 1000, 7):
        progress.note(sequence, [True, False, True, True, False, False, True])
        noted += 7
        stretches = progress.stretches()
        assert sum(one.predictions for one in stretches) == noted
        assert sum(one.right for one in stretches) == noted // 7 * 4
        assert len(stretches) <= 200 and len({one.predictions for one in stretches[:-1]}) <= 1
    assert stretches[0].sequence == 2


def test_a_snapshot_that_knows_what_was_forgotten_later_is_passed_over(tmp_path: Path) -> None:
    forget = Row(7, "forget", None, encoded(Forgetting([5])), 0)
    history = History(tmp_path, Settings(), [forget], lambda *_: [])
    holds = {n for n in range(4, 8) if history.holds(Snapshot(n, "", tmp_path, n))}
    assert holds == {4, 7}
    assert history.holds(Snapshot(5, "", tmp_path, 7))  # learnt again without the example


SPACED = msgspec.structs.replace(SMALL, snapshot_every=10)


def learnt_further(project: Project, rows: Sequence[Addition]) -> str:
    """Return the fingerprint of the model after it has learnt these rows, too."""
    project.log.append(rows).result()
    _, fingerprint = fingerprint_at_the_end(project)
    return fingerprint


def test_kept_snapshots_are_few_and_the_denser_the_newer() -> None:
    assert spaced(0) == [] and spaced(1) == [1] and spaced(15) == [8, 12, 14, 15]
    for last in range(1, 600):
        kept = spaced(last)
        assert {*spaced(last + 1)} <= {*kept, last + 1}  # what was thinned is not missed later
        assert len(kept) <= 1 + last.bit_length()
        for before, first in pairwise([0, *kept]):  # of an example that only the first one has
            assert last - before <= 3 * max(last - first, 1)


@pytest.mark.parametrize("place", [77, 118, 149])
def test_forgetting_begins_at_the_last_snapshot_before_the_example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    rows, read_from = additions(150), []
    project = opened(tmp_path / "a", SPACED)
    project.log.append(rows).result()
    fingerprint_at_the_end(project)
    there = {one.sequence for one in project.snapshots()}
    assert there == {80, 120, 140, 150}
    events = History.events

    def noted(self: History, after: int, *more: Any) -> Any:
        read_from.append(after)
        return events(self, after, *more)

    monkeypatch.setattr(History, "events", noted)
    receipt = project.log.forget(f"@{place}").result()
    project.applied(receipt.sequence).result(60)
    monkeypatch.undo()
    assert read_from[0] == max([one for one in there if one < place], default=0)
    until(lambda: receipt.sequence in {one.sequence for one in project.snapshots()})
    kept = project.snapshots()
    assert {one.sequence for one in kept} == {80, 120, 140, 150, 152}
    assert [one.known for one in kept if place <= one.sequence] == [152] * sum(
        place <= one.sequence for one in kept
    )
    # Each is, to the byte, what learning from the first event gives.
    without = [row for number, row in enumerate(rows, 2) if number != place]
    other, begin = opened(tmp_path / "b", SPACED), 0
    for one in reversed(kept):
        upto = min(one.sequence - 1 - (one.sequence >= place), len(without))
        learnt = learnt_further(other, without[begin:upto])
        assert one.fingerprint == file_fingerprint(one.path) == learnt
        begin = upto
    other.close()
    project.close()


def test_a_replay_that_ends_early_goes_on_from_its_last_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = additions(150)
    project = opened(tmp_path / "a", SPACED)
    project.log.append(rows).result()
    fingerprint_at_the_end(project)
    project.stop("killed")
    project.log.forget("@25").result()
    project.close()
    for one in project.snapshots():
        assert one.known <= 151  # so they hold the example, except those before it
    with pytest.raises(ShuttingDown):
        Project(project.folder, stopping=lambda: project.snapshots()[:1] > [(120,)])
    left = {one.sequence: one.known for one in project.snapshots()}
    assert left == {80: 152, 120: 152}
    project = opened(project.folder)
    project.log.forget("@100").result()
    removed = [row for number, row in enumerate(rows, 2) if number not in {25, 100}]
    other = opened(tmp_path / "b", SPACED)
    expected = learnt_further(other, removed)
    other.close()
    assert fingerprint_at_the_end(project)[1] == expected
    kept = {one.sequence: one.known for one in project.snapshots()}
    assert kept[80] == 152 and kept[120] == 153
    project.close()
    # A log that lost its end to damage has fewer events than those snapshots know of.
    with closing(sqlite3.connect(project.log.path)) as log:
        log.execute("DELETE FROM events WHERE sequence > 151")
        log.commit()
    project = opened(project.folder)
    assert all(one.known <= 151 for one in project.snapshots())
    assert fingerprint_at_the_end(project)[1] == expected
    project.close()


def test_no_snapshot_from_before_a_new_beginning_lasts(tmp_path: Path) -> None:
    project = opened(tmp_path, SPACED)
    project.log.append([*additions(104), Addition("merge", Merging(["fox", "goat"], "farm"))])
    project.log.append(additions(60, 1)).result()
    expected = fingerprint_at_the_end(project)
    project.snapshot().result()
    assert [one.sequence for one in project.snapshots()] == [166, 160, 150, 140, 120, 106]
    project = without_snapshots(project)
    assert fingerprint_at_the_end(project) == expected
    project.close()


def test_no_forgotten_example_returns_with_a_log_that_lost_its_end(tmp_path: Path) -> None:
    project = opened(tmp_path)
    project.log.append(additions(40)).result()
    project.log.append([Addition("learn", Learnt("quagga quagga", ["zebra"]), "secret")]).result()
    fingerprint_at_the_end(project)
    project.snapshot().result()
    project.stop("killed")
    project.log.forget("secret").result()
    project.close()
    with closing(sqlite3.connect(project.log.path)) as log:
        log.execute("UPDATE events SET checksum = checksum + 1 WHERE kind = 'forget'")
        log.commit()
    assert recover(project.log.path)[0] == 42
    project = opened(tmp_path)
    expected = fingerprint_at_the_end(project)
    assert "zebra" not in project.learner.labels()
    project = without_snapshots(project)
    assert fingerprint_at_the_end(project) == expected
    project.close()


@pytest.mark.parametrize(
    "beginning",
    [Addition("merge", Merging(["fox", "goat"], "farm")), Addition("rebuilt", Rebuilt(60))],
)
def test_what_came_before_a_new_beginning_is_learnt_again_only_for_an_example_from_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beginning: Addition
) -> None:
    read_from: list[int] = []
    project = opened(tmp_path, SPACED)
    project.log.append([*additions(104), beginning, *additions(60, 1)]).result()
    fingerprint_at_the_end(project)
    events = History.events

    def noted(self: History, after: int, *more: Any) -> Any:
        read_from.append(after)
        return events(self, after, *more)

    monkeypatch.setattr(History, "events", noted)
    for place, begun in ((108, 106), (20, 0), (109, 106)):
        read_from.clear()
        project.applied(project.log.forget(f"@{place}").result().sequence).result(60)
        assert read_from[0] == begun
    monkeypatch.undo()
    expected = fingerprint_at_the_end(project)
    project = without_snapshots(project)
    assert fingerprint_at_the_end(project) == expected
    project.close()


def test_half_written_files_are_removed(tmp_path: Path) -> None:
    names = {".0123456789abcdef.partial", "log.partial", "writing.lg", "built-9-10.lg"}
    for name in names:
        (tmp_path / name).touch()
    tidy(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["built-9-10.lg"]


def test_snapshots_of_another_log_are_removed(tmp_path: Path) -> None:
    project = opened(tmp_path / "p")
    wait([project.log.append(additions(60))])
    project.close()
    foreign = project.snapshots()
    assert foreign
    for path in project.folder.glob("log.sqlite*"):
        path.unlink()
    again = opened(project.folder)
    assert again.snapshots() == []
    wait([again.log.append(additions(70, seed=1))])
    found = fingerprint_at_the_end(again)
    again = without_snapshots(again)
    assert fingerprint_at_the_end(again) == found
    again.close()


def test_a_control_that_is_known_before_its_event_is_left_for_later(tmp_path: Path) -> None:
    project = opened(tmp_path / "p")
    project.log.append(additions(9)).result()
    hold = Event()
    held = project._do(hold.wait)
    project.log.forget("@3").result()
    project.log.controls.append(Row(99, "forget", None, encoded(Forgetting([5])), 0))
    hold.set()
    held.result(20)
    assert project.applied(11).result(20) == 11 and project.failure is None
    project.close()


def test_a_model_that_has_nothing_left_to_learn_has_no_thresholds(tmp_path: Path) -> None:
    project = opened(tmp_path / "p")
    project.log.append([Addition("learn", Learnt("a cat", ["cat"]), "c")]).result()
    for kind, body in (
        ("thresholds", ThresholdValues(0.3, {"cat": 0.7})),
        ("merge", Merging(["cat"], "tom")),
    ):
        project.log.append([Addition(kind, body)]).result()
    project.log.forget("c").result()
    assert project.applied(5).result(20) == 5
    project = reopened(project)
    assert project.failure is None and not project.learner.has_learnt
    project.log.append([Addition("learn", Learnt("a dog", ["dog"]))]).result()
    assert project.applied(6).result(20) == 6
    project.close()


def test_a_log_copied_while_it_is_written_makes_the_same_model(tmp_path: Path) -> None:
    project = opened(tmp_path / "served")
    project.log.append(additions(60)).result()
    there = fingerprint_at_the_end(project)
    project.snapshot().result()
    for kept in (False, True):
        folder = tmp_path / f"restored{kept}"
        folder.mkdir()
        if kept:
            [snapshot] = project.snapshots()
            shutil.copy(snapshot.path, folder)
            project.log.append(additions(20, seed=1)).result()
            there = fingerprint_at_the_end(project)
        with (
            closing(sqlite3.connect(project.log.path)) as source,
            closing(sqlite3.connect(folder / "log.sqlite")) as copy,
        ):
            source.backup(copy)
        restored = opened(folder)
        assert fingerprint_at_the_end(restored) == there
        restored.close()
    project.close()


def test_a_long_log_is_learnt_once_and_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for module in (_history, _project):
        monkeypatch.setattr(module, "LONG", 50)
    caplog.set_level("INFO", "labelgrove.service")
    project = opened(tmp_path / "long")
    project.log.append(additions(60)).result()
    expected = fingerprint_at_the_end(project)
    project = without_snapshots(project)
    assert fingerprint_at_the_end(project) == expected
    assert "long: learning 61 events of the log that no snapshot has" in caplog.text
    assert "long: learnt them in" in caplog.text
    assert [one[:2] for one in project.snapshots()] == [expected]
    project.close()


def test_a_log_that_is_learnt_when_the_service_ends_is_left(tmp_path: Path) -> None:
    project = opened(tmp_path)
    project.log.append([*additions(60), Addition("rebuilt", Rebuilt(40))]).result()
    project.close()
    for one in project.snapshots():
        one.path.unlink()
    with pytest.raises(ShuttingDown):
        Project(tmp_path, stopping=lambda: True)
    assert not any("log of" in one.name for one in threading.enumerate())
