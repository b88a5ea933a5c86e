"""The log keeps acknowledged examples exactly once, and a damaged log is refused."""

from __future__ import annotations

import errno
import os
import random
import re
import shutil
import sqlite3
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from cluster.kit import limited_files
from labelgrove import DataError
from labelgrove.data import read_examples
from labelgrove.service import _database, _log
from labelgrove.service._batches import Batches
from labelgrove.service._database import recover
from labelgrove.service._events import Forgetting, Learnt, Merging, Row, body_of, encoded
from labelgrove.service._log import Addition, Log, Receipt, now
from labelgrove.service._problems import DamagedLog, Problem
from service.kit import additions

PETS = Addition("learn", Learnt("cat and dog", ["pets"]), "first")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "projects" / "demo"
    folder.mkdir(parents=True)
    return folder / "log.sqlite"


def written(path: Path, count: int) -> None:
    log = Log(path)
    log.append(additions(count)).result()
    log.close()


def test_the_name_of_a_new_log_is_flushed_to_the_disk(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[Path] = []
    monkeypatch.setattr(_database, "sync_folder", flushed.append)
    written(path, 1)
    assert flushed == [path.parent]
    written(path, 1)  # the file was there
    assert flushed == [path.parent]


def test_a_log_is_made_where_folders_cannot_be_flushed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(_: int) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr("os.fsync", refusing)
    written(path, 1)
    with closing(Log(path)) as log:
        assert log.examples == 1


def test_events_are_read_only_once_they_are_counted(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between a commit and the new `head`, a reader must not meet events without their controls."""
    log = Log(path)
    log.append(additions(2)).result()
    read: list[int] = []
    count = log._count

    def slow(row: Row) -> None:
        read.append(len(log.read(0, 9)))
        count(row)

    monkeypatch.setattr(log, "_count", slow)
    log.append(additions(4)[2:]).result()
    assert read == [2, 3]
    assert len(log.read(0, 9)) == 4
    log.close()


def test_long_events_are_read_few_at_a_time(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand of the longest texts would take gigabytes, wherever they are read."""
    with closing(Log(path)) as log:
        log.append(additions(4)).result()
        first, second, *_ = (len(row.body) for row in log.read(0, 9))
        for most, expected in ((0, 1), (first - 1, 1), (first, 2), (first + second, 3)):
            monkeypatch.setattr("labelgrove.service._log._MOST_BYTES", most)
            assert len(log.read(0, 9)) == expected  # it always gets on


def test_what_cannot_be_read_again_is_never_written(path: Path) -> None:
    log = Log(path)
    for wrong in (Learnt("", ["a"]), Learnt("a", []), Learnt("a" * 1_000_001, ["a"])):
        with pytest.raises(Problem, match="length") as refused:
            log.append([Addition("learn", wrong)])
        assert refused.value.status == 422
    assert log.head == 0
    log.close()


def test_a_fingerprint_of_what_was_forgotten_since_is_not_recorded(path: Path) -> None:
    log = Log(path)
    log.append(additions(6)).result()
    log.forget("@3").result()
    for sequence in (2, 3, 6, 7):
        log.note_fingerprint(sequence, f"of {sequence}").result()
    assert log.fingerprints(0, 9).keys() == {2, 7}
    log.close()


def test_forgotten_text_leaves_the_write_ahead_log_once_nobody_reads_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Log(path)
    log.append([Addition("learn", Learnt("a secret", ["x"]), "s")]).result()
    ahead = Path(f"{path}-wal")
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM events").fetchone() == (1,)
    log.forget("s").result(5)
    assert b"secret" in ahead.read_bytes()
    erase, waits = Log._erase_written_ahead, list[int]()

    def noted(self: Log, patience: int) -> None:
        waits.append(patience)
        erase(self, patience)

    monkeypatch.setattr(Log, "_erase_written_ahead", noted)
    log.append(additions(1)).result()
    log.append(additions(1)).result()
    assert waits == [0, 0]  # none waits for the reader again
    assert b"secret" in ahead.read_bytes()
    reader.close()
    log.append(additions(1)).result()
    assert b"secret" not in ahead.read_bytes() and b"secret" not in path.read_bytes()
    log.close()


def test_forgotten_text_that_a_stop_left_in_the_write_ahead_log_leaves_it_later(
    path: Path, tmp_path: Path
) -> None:
    log = Log(path)
    log.append([Addition("learn", Learnt("a secret", ["x"]), "s")]).result()
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM events").fetchone()
        log.forget("s").result(5)
        killed = tmp_path / "killed.sqlite"
        for end in ("", "-wal"):
            shutil.copy(f"{path}{end}", f"{killed}{end}")
        log.close()
        log = Log(path)
        assert b"secret" in Path(f"{path}-wal").read_bytes()
    log.append(additions(1)).result()
    assert b"secret" not in Path(f"{path}-wal").read_bytes() + path.read_bytes()
    log.close()
    log = Log(killed)
    assert b"secret" not in Path(f"{killed}-wal").read_bytes() + killed.read_bytes()
    assert log.head == 2
    log.close()


def test_who_looks_while_a_log_is_created_finds_none(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there: list[bool] = []
    prepare = _database._prepare

    def looked_at(connection: sqlite3.Connection, log: Path) -> None:
        there.append(log.exists())
        assert not _database.has_events(log)
        prepare(connection, log)

    monkeypatch.setattr(_database, "_prepare", looked_at)
    written(path, 1)
    assert there == [False, True]  # never half of one
    assert _database.has_events(path)


def test_what_waits_is_committed_together_and_in_order(path: Path) -> None:
    commits: list[int] = []
    log = Log(path, lambda: commits.append(log.head))
    futures = [log.append([one]) for one in additions(200)]
    wait(futures)
    log.close()
    assert [future.result().sequence for future in futures] == list(range(1, 201))
    assert len(commits) < 200
    again = Log(path)
    assert (again.head, again.examples) == (200, 200)
    assert [body_of(row).text for row in again.read(198, 9)] == [
        one.body.text for one in additions(200)[198:]
    ]
    again.close()


def test_a_key_lets_a_request_count_once(path: Path) -> None:
    log = Log(path)
    first = log.append(additions(3), "key", b"abc").result()
    log.append(additions(1)).result()
    again = log.append(additions(3), "key", b"abc").result()
    assert (
        (again.sequence, again.first, again.examples)
        == (3, 1, 3)
        == (
            first.sequence,
            first.first,
            first.examples,
        )
    )
    assert again.repeated and not first.repeated
    with pytest.raises(Problem, match="'key' was already used for another request"):
        log.append(additions(2), "key", b"abd").result()
    assert log.head == 4
    log.close()


def test_a_name_belongs_to_one_example(path: Path) -> None:
    log = Log(path)
    log.append([PETS]).result()
    assert log.append([PETS]).result().known == 1
    other = PETS._replace(body=Learnt("cat", ["pets"]))
    fresh = Addition("learn", Learnt("dog", ["pets"]), "second")
    with pytest.raises(
        Problem, match=r"`\.examples\[1\]`: another example 'first' already exists"
    ) as info:
        log.append([fresh, other]).result()
    assert info.value.status == 409
    assert log.head == 1  # a request is stored whole or not at all
    assert log.find("first") == log.find("@1")
    log.close()


def test_what_is_forgotten_leaves_the_disk(path: Path) -> None:
    log = Log(path)
    secret = Addition("learn", Learnt("zyzzyva", ["quagga"]), "okapi")
    log.append([PETS, secret]).result()
    assert b"zyzzyva" in path.read_bytes() + Path(f"{path}-wal").read_bytes()
    log.forget("okapi").result()
    stored = path.read_bytes() + Path(f"{path}-wal").read_bytes()
    assert not any(word in stored for word in (b"zyzzyva", b"quagga", b"okapi"))
    assert log.examples == 1
    for name in ("okapi", "@2", "@99", "@", "@²"):
        with pytest.raises(Problem, match="there is no example"):
            log.forget(name).result()
    log.append([secret]).result()
    assert log.find("okapi").sequence == 4
    log.close()


def test_the_examples_of_a_log_can_be_read_as_the_documentation_says(
    path: Path, tmp_path: Path
) -> None:
    page = Path(__file__).parents[2] / "docs" / "how-to" / "service.md"
    [query] = re.findall(r'"(select body [^"]+)"', page.read_text("utf-8"))
    log = Log(path)
    quoted = Addition("learn", Learnt('two\nlines "é"', ["a b", "c"]))
    log.append([PETS, quoted, Addition("merge", Merging(["c"], "d")), PETS._replace(name=None)])
    log.forget("first").result()
    with closing(sqlite3.connect(path)) as connection:
        lines = [body for (body,) in connection.execute(query)]
    log.close()
    written = tmp_path / "examples.jsonl"
    written.write_bytes(b"".join(line + b"\n" for line in lines))
    found = read_examples(written)
    assert found.text == ['two\nlines "é"', "cat and dog"]
    assert [[*own] for own in found.labels] == [["a b", "c"], ["pets"]]


def test_feedback_learns_from_what_was_remembered_once(path: Path) -> None:
    log = Log(path)
    log.remember("s1", "a text", 60).result()
    log.remember("s2", "too old", -1).result()
    first = log.answer("s1", ["b"]).result()
    again = log.answer("s1", ["b"]).result()
    assert (first.sequence, again.sequence, again.known) == (1, 1, 1)
    assert body_of(log.find("s1")).text == "a text"
    with pytest.raises(Problem, match="no suggestion 's2', or it has expired"):
        log.answer("s2", ["b"]).result()
    log.close()


def steps(log: Log, act: Callable[[], Future[Any]]) -> int:
    """Return the number of steps that the database takes for an operation."""
    taken = count()
    for connection in (log._writer, log._reader):
        connection.set_progress_handler(lambda: next(taken) < 0, 1)
    act().result()
    for connection in (log._writer, log._reader):
        connection.set_progress_handler(None, 1)
    return next(taken)


def test_no_write_reads_the_whole_log(path: Path) -> None:
    """A log without the indexes, as older ones are, gets them when it is opened."""
    written(path, 1)
    with closing(sqlite3.connect(path)) as old:
        for index in ("suggestion_ends", "request_times"):
            old.execute(f"DROP INDEX IF EXISTS {index}")
    log = Log(path)
    receipt = Receipt(1000, 1000)

    def writes(name: str, example: str) -> list[int]:
        return [
            steps(log, lambda: log.remember(name, "text", 60)),
            steps(log, lambda: log.forget(example)),
            steps(log, lambda: log._submit(lambda _: receipt, name)),
        ]

    few = writes("a", "@1")
    log.append(additions(3000)).result()
    texts = [(str(i), "text", now() + 60_000) for i in range(3000)]
    keys = [(str(i), b"", b"", now()) for i in range(3000)]
    log._writer.execute("BEGIN")
    log._writer.executemany("INSERT INTO suggestions VALUES (?, ?, ?)", texts)
    log._writer.executemany("INSERT INTO requests VALUES (?, ?, ?, ?)", keys)
    log._writer.execute("COMMIT")
    many = writes("b", "@9")
    assert all(later < first + 100 for first, later in zip(few, many, strict=True)), (few, many)
    log.close()


def test_examples_are_counted_without_those_that_are_forgotten(path: Path) -> None:
    log = Log(path)
    log.append(additions(5)).result()
    both = Forgetting([2, 4])
    for body in (both, both, Forgetting([4, 5])):  # a copy of a log may name them again
        log.append([Addition("forget", body)]).result()
    assert log.examples == 2
    log.append([*additions(2), Addition("forget", Forgetting([9, 1]))]).result()  # 9 is new
    assert log.examples == 2
    log.close()
    log = Log(path)
    assert log.examples == 2
    log.close()


@pytest.mark.parametrize("seed", range(12))
def test_flipped_bits_are_found_or_do_no_harm(path: Path, seed: int) -> None:
    written(path, 120)
    data = bytearray(path.read_bytes())
    draw = random.Random(seed)
    place = draw.randrange(len(data))
    data[place] ^= 1 << draw.randrange(8)
    path.write_bytes(data)
    try:
        log = Log(path)
    except DamagedLog as refused:
        assert "the log is damaged" in str(refused) and "--recover demo" in str(refused)
        kept, moved = recover(path)
        assert moved.exists()
        log = Log(path)
        assert log.head == kept
    texts = [body_of(row).text for row in log.read(0, 200)]
    assert texts == [one.body.text for one in additions(120)][: len(texts)]
    log.close()


def test_a_changed_event_is_named(path: Path) -> None:
    written(path, 9)
    database = sqlite3.connect(path)
    body = encoded(Learnt("x", ["y"]))
    database.execute("UPDATE events SET body = ? WHERE sequence = 7", (body,))
    database.commit()
    database.close()
    with pytest.raises(
        DamagedLog, match="event 7 differs from what was written; .* keeps the intact events 1 to 6"
    ):
        Log(path)
    assert recover(path)[0] == 6


def test_a_log_that_is_refused_is_closed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(path, 9)
    with closing(sqlite3.connect(path)) as database:
        database.execute("DELETE FROM events WHERE sequence = 4")
        database.commit()
    connections = []

    def connect(path: Path, *, reading: bool = False) -> sqlite3.Connection:
        connections.append(_database.connect(path, reading=reading))
        return connections[-1]

    monkeypatch.setattr(_log, "connect", connect)
    with pytest.raises(DamagedLog):
        Log(path)
    assert len(connections) == 2
    for connection in connections:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")


def test_a_lost_event_and_a_file_of_another_kind_are_refused(path: Path) -> None:
    written(path, 9)
    database = sqlite3.connect(path)
    database.execute("DELETE FROM events WHERE sequence = 4")
    database.commit()
    database.close()
    with pytest.raises(DamagedLog, match="event 4 is missing; .* keeps the intact events 1 to 3"):
        Log(path)
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(DamagedLog, match="file is not a database; .* keeps no events"):
        Log(path)
    assert recover(path)[0] == 0
    Log(path).close()


@pytest.mark.parametrize("lost", [1, 6_000, 20_000])
def test_a_log_that_lost_its_end_keeps_what_comes_before(path: Path, lost: int) -> None:
    written(path, 400)
    os.truncate(path, path.stat().st_size - lost)
    with pytest.raises(DamagedLog, match="keeps the intact events 1 to") as refused:
        Log(path)
    kept, _ = recover(path)
    assert f"1 to {kept}," in str(refused.value) and 100 < kept < 400
    with closing(Log(path)) as log:
        texts = [body_of(row).text for row in log.read(0, kept)]
    assert texts == [one.body.text for one in additions(400)[:kept]]


def test_only_a_damaged_log_is_recovered(path: Path) -> None:
    written(path, 9)
    before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    with pytest.raises(DataError, match="this log is not damaged; nothing was changed"):
        recover(path)
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == before


@pytest.mark.skipif(sys.platform == "win32", reason="there is no RLIMIT_FSIZE")
def test_a_full_disk_takes_nothing_and_resumes_when_there_is_room(path: Path) -> None:
    one, kept = [Addition("learn", Learnt("word " * 2000, ["a"]))], 0
    with closing(Log(path)) as log:
        with limited_files(200_000), pytest.raises(Problem) as full:
            while kept < 100:
                log.append(one).result()
                kept += 1
        assert kept > 0 and full.value.status == 507
        assert str(full.value) == "demo: the disk is full; nothing was learnt"
        assert len(log.read(0, 1000)) == kept
        assert log.append(one).result().sequence == kept + 1


def test_a_key_is_forgotten_after_a_week(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(path)
    log.append([PETS], "key").result()
    later = now() + 7 * 24 * 3600 * 1000 + 1
    monkeypatch.setattr(_log, "now", lambda: later)
    log.append([PETS], "another").result()  # adds no event
    assert log.append([PETS], "key").result().repeated is False
    assert log._writer.execute("SELECT count(*) FROM requests").fetchone() == (2,)
    log.close()


def test_no_request_waits_until_all_old_keys_are_removed(path: Path) -> None:
    log = Log(path)
    log._writer.executemany(
        "INSERT INTO requests VALUES (?, ?, ?, ?)", ((f"old {i}", b"", b"", i) for i in range(50))
    )
    left = []
    for number in range(8):
        log.append(additions(1), f"new {number}").result()
        found = log._reader.execute("SELECT count(*) FROM requests WHERE key LIKE 'old%'")
        left += found.fetchone()
    assert left == [40, 30, 20, 10, 0, 0, 0, 0]
    log.close()


def test_the_log_stays_shut_where_the_disk_could_not_flush(path: Path) -> None:
    log = Log(path)
    failure = sqlite3.OperationalError("disk I/O error")
    failure.sqlite_errorname = "SQLITE_IOERR_FSYNC"
    log._give_up(failure)
    with pytest.raises(Problem, match="flushing to the disk failed"):
        log.append([PETS]).result()
    log.close()


def test_a_failure_without_words_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise MemoryError

    with closing(Log(path)) as log:
        monkeypatch.setattr(_log, "write_events", fails)
        with pytest.raises(Problem, match=r"the log cannot be written \(MemoryError\(\)\)$"):
            log.append([PETS]).result()
        monkeypatch.undo()
        assert log.append([PETS]).result().sequence == 1


def test_so_many_may_wait_and_no_more() -> None:
    begun, go = threading.Event(), threading.Event()

    def work(_: list[str]) -> None:
        begun.set()
        go.wait(60)

    batches = Batches(work, "test", most=9, waiting=2)
    batches.put("under way")
    assert begun.wait(60)
    batches.put("waits")
    batches.put("waits, too")
    with pytest.raises(Problem, match="2 requests are already waiting"):
        batches.put("one too many")
    go.set()
    batches.close()
