"""The SQLite database of a project's log, and the detection of damaged events.

In write-ahead mode with ``synchronous=FULL``, a commit returns once its pages are flushed to the
disk.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from labelgrove._errors import DataError
from labelgrove._unfinished import DISK_FULL, sync_folder
from labelgrove.service._events import BODIES, Row
from labelgrove.service._problems import DamagedLog

FORMAT = 1
# A flipped bit may turn a body into text, so always read it as bytes.
_EVENTS = (
    "SELECT sequence, kind, name, CAST(body AS BLOB), at, checksum FROM events "
    "WHERE sequence > ? ORDER BY sequence LIMIT ?"
)
_SYNCHRONOUS = "FULL"
PATIENCE = 10
"""Seconds to wait for another connection."""
# Python cannot decode SQLite's message about a damaged name that is not valid UTF-8.
_FAULTS = (sqlite3.DatabaseError, UnicodeDecodeError)
_FULL = {"SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_SHMSIZE"}
_DAMAGE = {"SQLITE_CORRUPT", "SQLITE_ERROR", "SQLITE_IOERR_SHORT_READ"}

_SCHEMA = f"""
CREATE TABLE events (
    sequence INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT, body BLOB NOT NULL,
    at INTEGER NOT NULL, checksum INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX event_names ON events (name) WHERE name IS NOT NULL;
CREATE TABLE requests (
    key TEXT PRIMARY KEY, digest BLOB NOT NULL, answer BLOB NOT NULL, at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE suggestions (id TEXT PRIMARY KEY, text TEXT NOT NULL, expires INTEGER NOT NULL)
    STRICT, WITHOUT ROWID;
CREATE TABLE fingerprints (sequence INTEGER PRIMARY KEY, value TEXT NOT NULL) STRICT;
PRAGMA user_version = {FORMAT};
"""
# Without them, finding what has expired would read all texts and keys. Older logs get them when
# they are opened.
_INDEXES = (
    "CREATE INDEX IF NOT EXISTS suggestion_ends ON suggestions (expires)",
    "CREATE INDEX IF NOT EXISTS request_times ON requests (at)",
)


def is_disk_full(failure: BaseException) -> bool:
    """Whether an error of the system or of SQLite means that the disk is full."""
    if isinstance(failure, OSError):
        return failure.errno in DISK_FULL
    return getattr(failure, "sqlite_errorname", "") in _FULL


@contextmanager
def reading(path: Path) -> Iterator[Callable[[int, int], list[Row]]]:
    """Open a log that another process writes; yields a function as `Log.read`, -1 for no limit."""
    with refusing_damage(path), closing(connect(path, reading=True)) as connection:
        yield partial(events_after, connection, path)


def has_events(path: Path) -> bool:
    """Whether there is a log with at least one event, damaged or not."""
    if not path.exists():
        return False
    try:
        with closing(connect(path, reading=True)) as connection:
            if _is_empty(connection):
                return False
            [found] = connection.execute("SELECT EXISTS (SELECT 1 FROM events)").fetchone()
    except (DamagedLog, *_FAULTS):
        return True
    return bool(found)


def recover(path: Path) -> tuple[int, Path]:
    """Replace a damaged log by one with the events before the first damaged event.

    If no event is intact, the log is only moved away. Idempotency keys and remembered suggestions
    are not recovered. Snapshots are removed, since they may have an example whose text is erased
    but whose forgetting was among the lost events.

    Returns
    -------
    kept : int
        Number of events recovered.
    moved : Path
        New path of the damaged database.

    Raises
    ------
    DataError
        If the log is not damaged.
    """
    if _is_sound(path):
        raise DataError(f"{path}: this log is not damaged; nothing was changed")
    partial = path.with_name("log.recovered")
    for old in (partial, Path(f"{partial}-wal"), Path(f"{partial}-shm")):
        old.unlink(missing_ok=True)
    with refusing_damage(partial), closing(connect(partial)) as target:
        target.execute("BEGIN IMMEDIATE")
        write_events(target, _whole(path))
        [kept] = target.execute("SELECT count(*) FROM events").fetchone()
        target.execute("COMMIT")
        target.execute("PRAGMA journal_mode=DELETE")
    for model in path.parent.glob("*.lg"):
        model.unlink()
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    moved = path.with_name(f"log.damaged-{stamp}.sqlite")
    for end in ("-wal", "-shm"):
        if Path(f"{path}{end}").exists():
            Path(f"{path}{end}").replace(f"{moved}{end}")
    path.replace(moved)
    if kept:
        partial.replace(path)
    else:
        partial.unlink()
    return kept, moved


def _is_sound(path: Path) -> bool:
    try:
        with closing(connect(path, reading=True)) as connection:
            _prepare(connection, path)
            for _ in verified(connection, path):
                pass
    except (DamagedLog, *_FAULTS):
        return False
    return True


def _whole(path: Path) -> Iterator[Row]:
    """Yield the events before the first damaged one."""
    try:
        with closing(connect(path, reading=True, damaged=True)) as source:
            yield from _events(source, path)
    except (DamagedLog, *_FAULTS):
        return


def connect(path: Path, *, reading: bool = False, damaged: bool = False) -> sqlite3.Connection:
    if not reading and not path.exists():
        _create(path)
    connection = sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, timeout=PATIENCE
    )
    try:
        if damaged:  # without this, SQLite reads nothing of a file that has lost its end
            connection.execute("PRAGMA writable_schema=ON")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={_SYNCHRONOUS}")
        connection.execute("PRAGMA secure_delete=ON")
        connection.execute("PRAGMA cell_size_check=ON")
        if reading:
            connection.execute("PRAGMA query_only=ON")
        else:
            _prepare(connection, path)
            for index in _INDEXES:
                connection.execute(index)
    except BaseException:
        connection.close()
        raise
    return connection


def _create(path: Path) -> None:
    """Create a log under another name, so that nobody who looks for logs meets half of one."""
    partial = path.with_name(f".{path.name}.partial")
    for end in ("", "-wal", "-shm"):
        Path(f"{partial}{end}").unlink(missing_ok=True)
    with closing(sqlite3.connect(partial, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={_SYNCHRONOUS}")
        _prepare(connection, path)
    partial.replace(path)
    sync_folder(path.parent)


def _is_empty(connection: sqlite3.Connection) -> bool:
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    return not tables


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == 0 and _is_empty(connection):
        connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
    elif version != FORMAT:
        raise DamagedLog(f"{path}: found a log of format {version}; expected {FORMAT}")


def events_after(
    connection: sqlite3.Connection,
    path: Path,
    after: int,
    limit: int,
    most_bytes: int | None = None,
) -> list[Row]:
    """Return at most `limit` events after a sequence number (-1 for all), verified.

    With ``most_bytes`` it stops after the event that exceeds so many bytes.
    """
    rows: list[Row] = []
    size = 0
    for row in _events(connection, path, after, limit):
        rows.append(row)
        size += len(row.body)
        if most_bytes is not None and size > most_bytes:
            break
    return rows


def verified(connection: sqlite3.Connection, path: Path) -> Iterator[Row]:
    """Yield every event, after checking the structure of the database."""
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        whole = sum(1 for _ in _whole(path))
        raise _lost(path, whole + 1, " ".join(verdict.split())[:200])
    yield from _events(connection, path)


def _events(
    connection: sqlite3.Connection, path: Path, after: int = 0, limit: int = -1
) -> Iterator[Row]:
    expected = after
    for *columns, checksum in connection.execute(_EVENTS, (after, limit)):
        row, expected = Row(*columns), expected + 1
        if row.sequence != expected:
            raise _lost(path, expected, f"event {expected} is missing")
        if row.checksum != checksum or (row.kind != "settings" and row.kind not in BODIES):
            raise _lost(path, expected, f"event {expected} differs from what was written")
        yield row


def _lost(path: Path, first: int, what: str) -> DamagedLog:
    command = f"labelgrove serve {path.parent.parent.parent} --recover {path.parent.name}"
    kept = f"keeps the intact events 1 to {first - 1}" if first > 1 else "keeps no events"
    return DamagedLog(
        f"{path}: the log is damaged: {what}; '{command}' {kept}, and moves the damaged file away"
    )


@contextmanager
def refusing_damage(path: Path) -> Iterator[None]:
    """Turn SQLite's errors about a damaged file into a `DamagedLog`."""
    try:
        yield
    except _FAULTS as error:
        name = getattr(error, "sqlite_errorname", "SQLITE_CORRUPT")  # absent for invalid UTF-8
        if isinstance(error, sqlite3.OperationalError) and name not in _DAMAGE:
            raise
        whole = sum(1 for _ in _whole(path)) if name == "SQLITE_CORRUPT" else 0
        raise _lost(path, whole + 1, str(error)) from error


def write_events(connection: sqlite3.Connection, rows: Iterable[Row]) -> None:
    """Write events, each with its checksum."""
    connection.executemany(
        "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", ((*row, row.checksum) for row in rows)
    )
