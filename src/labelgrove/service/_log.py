"""The log of a project: acknowledged writes are durable, and applied exactly once.

One thread writes to the database. It commits all waiting requests together (group commit): requests
that arrive during one flush to the disk share the next one.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, closing, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from labelgrove._errors import LabelGroveError
from labelgrove.service._batches import Batches
from labelgrove.service._database import (
    PATIENCE,
    connect,
    events_after,
    is_disk_full,
    refusing_damage,
    verified,
    write_events,
)
from labelgrove.service._events import Forgetting, Learnt, Row, body_of, checked, encoded
from labelgrove.service._problems import DamagedLog, Overtaken, Problem

_logger = logging.getLogger("labelgrove.service")

_KEPT_KEYS_MS = 7 * 24 * 3600 * 1000
_KEYS_AT_ONCE = 10  # more than a request adds, and too few for any to wait
_MOST_SUGGESTIONS = 100_000
_MOST_WAITING = 10_000
_BATCH = 1_000
_MOST_BYTES = 16 * 2**20
_UNCERTAIN = {"SQLITE_IOERR_FSYNC", "SQLITE_IOERR_DIR_FSYNC"}
_IS_EXAMPLE = "SELECT count(*) FROM events WHERE sequence = ? AND kind = 'learn'"


class Receipt(msgspec.Struct, omit_defaults=True):
    """What a request has added to the log.

    Attributes
    ----------
    sequence : int
        Its last event; every answer computed at this event or later takes the request into account.
    first : int
        Its first event; above `sequence` if it has none, since all examples already existed.
    examples : int
        Number of new examples.
    known : int
        Number of examples that already existed under the same names.
    repeated : bool
        Whether the request had already been answered under the same idempotency key.
    """

    sequence: int
    first: int
    examples: int = 0
    known: int = 0
    repeated: bool = False


class Addition(NamedTuple):
    """An event to be written, without its number and time."""

    kind: str
    body: Any
    name: str | None = None


class _Operation(NamedTuple):
    run: Callable[[sqlite3.Connection], Any]
    future: Future[Any]


class Log:
    """The events of one project, in order.

    Parameters
    ----------
    path : Path
        The database; created if missing.
    committed : callable, optional
        Called in the writing thread after each commit.

    Raises
    ------
    DamagedLog
        If an existing log is damaged.

    Attributes
    ----------
    head : int
        Sequence number of the last committed event.
    examples : int
        Number of examples, without forgotten ones.
    controls : list of Row
        All events other than examples. They are few.
    taught : int
        Number of examples, with forgotten ones.
    rebuilt : tuple of int
        At the latest rebuild, or else at the first event: the value of `taught`, and the time in
        milliseconds since 1970.
    """

    def __init__(self, path: Path, committed: Callable[[], None] = lambda: None) -> None:
        self.path = path
        self.head = self.examples = self.taught = 0
        self.controls: list[Row] = []
        self.rebuilt = (0, 0)
        self._committed = committed
        self._erased = False  # whether the write-ahead log is known to have no forgotten example
        self._broken: str | None = None
        self._reading = threading.Lock()
        with refusing_damage(path), ExitStack() as unless_damaged:
            self._writer = unless_damaged.enter_context(closing(connect(path)))
            self._reader = unless_damaged.enter_context(closing(connect(path, reading=True)))
            self._file = _file_at(path)
            for row in verified(self._reader, path):
                self._count(row)
            self._erase_written_ahead(0)  # of a process that was killed, or had other readers
            unless_damaged.pop_all()
        self._queue: Batches[_Operation] = Batches(
            self._commit, f"log of {path.parent.name}", most=_BATCH, waiting=_MOST_WAITING
        )

    # --- reading -------------------------------------------------------------------------------

    def read(self, after: int, limit: int) -> list[Row]:
        """Return at most `limit` events after a sequence number, none beyond `head`.

        Fewer if they are long: a thousand of the longest texts would fill the memory. The database
        may already hold events beyond `head`, whose `controls` are not known yet. Raises DamagedLog
        if one of them is damaged.
        """
        limit = max(0, min(limit, self.head - after))
        with self._reading, refusing_damage(self.path):
            return events_after(self._reader, self.path, after, limit, _MOST_BYTES)

    def find(self, name: str) -> Row:
        """Find an example by its name, or by ``@`` and its sequence number.

        Raises Problem: 404 if there is none.
        """
        with self._reading:
            return _existing(self._reader, name)

    def fingerprints(self, after: int, limit: int) -> dict[int, str]:
        """Return the newest fingerprints recorded after a sequence number, at most `limit`."""
        with self._reading:
            found = self._reader.execute(
                "SELECT sequence, value FROM fingerprints WHERE sequence > ? "
                "ORDER BY sequence DESC LIMIT ?",
                (after, limit),
            )
            return dict(found.fetchall())

    def has_answered(self, key: str) -> bool:
        """Whether a request with this idempotency key was answered before."""
        with self._reading:
            found = self._reader.execute("SELECT 1 FROM requests WHERE key = ?", (key,))
            return found.fetchone() is not None

    def check_there(self) -> None:
        """Raise Problem, 500, if another file or none is there: what is written would be lost."""
        if _file_at(self.path) != self._file:
            raise Problem(
                500,
                f"{self.path}: was removed or replaced while the project is being served; delete "
                "the project, or stop the service, restore the project's folder and start again",
            )

    @property
    def waiting(self) -> int:
        """Number of requests waiting to be committed."""
        return len(self._queue)

    # --- writing -------------------------------------------------------------------------------

    def append(
        self,
        additions: Sequence[Addition],
        key: str | None = None,
        digest: bytes = b"",
        *,
        head: int | None = None,
    ) -> Future[Receipt]:
        """Add events; the future is done once they are durable.

        Parameters
        ----------
        additions : sequence of Addition
            Written atomically.
        key : str, optional
            Idempotency key: a repeated request gets the same answer as the first one.
        digest : bytes
            The request, to detect a different request under the same key.
        head : int, optional
            The last event at which they are known to be possible.

        Returns
        -------
        Future of Receipt
            Fails with a Problem: 409 if another example has the same name, 422 if another request
            had the same key, 507 if the disk is full; with `Overtaken` if there are events after
            ``head``.

        Raises
        ------
        Problem
            422, if an event is invalid.
        """
        ready = [one._replace(body=checked(one.kind, one.body)) for one in additions]

        def add(connection: sqlite3.Connection) -> Receipt:
            if head is not None and head != _head(connection):
                raise Overtaken
            return _append(connection, ready)

        return self._submit(add, key, digest)

    def forget(self, name: str, key: str | None = None) -> Future[Receipt]:
        """Erase the text and labels of an example; its sequence number remains.

        The future fails with a Problem, 404, if there is no such example.
        """

        def erase(connection: sqlite3.Connection) -> Receipt:
            body = Forgetting([_existing(connection, name).sequence])
            return _append(connection, [Addition("forget", encoded(body))])

        return self._submit(erase, key, b"forget " + name.encode())

    def copy(self, rows: Sequence[Row]) -> Future[None]:
        """Add events of another log, with the same sequence numbers.

        The future fails with a DamagedLog if they do not follow on from the last event here.
        """

        def run(connection: sqlite3.Connection) -> None:
            head = _head(connection)
            fresh = [row for row in rows if row.sequence > head]
            if [row.sequence for row in fresh] != list(range(head + 1, head + 1 + len(fresh))):
                raise DamagedLog(f"{self.path}: the events received do not follow event {head}")
            _insert(connection, fresh)

        return self._submit(run)

    def note_fingerprint(self, sequence: int, value: str) -> Future[None]:
        """Record a model's fingerprint for replicas to compare.

        Unless the model contains an example that was forgotten since.
        """

        def run(connection: sqlite3.Connection) -> None:
            later = connection.execute(
                "SELECT CAST(body AS BLOB) FROM events WHERE sequence > ? AND kind = 'forget'",
                (sequence,),
            )
            for (body,) in later:
                if min(msgspec.json.decode(body, type=Forgetting).sequences) <= sequence:
                    return
            connection.execute(
                "INSERT OR REPLACE INTO fingerprints VALUES (?, ?)", (sequence, value)
            )

        return self._submit(run)

    def remember(self, identifier: str, text: str, seconds: int) -> Future[None]:
        """Store the text of a suggestion, for later feedback."""
        moment = now()

        def run(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM suggestions WHERE expires < ?", (moment,))
            (kept,) = connection.execute("SELECT count(*) FROM suggestions").fetchone()
            if kept >= _MOST_SUGGESTIONS:
                raise Problem(
                    429,
                    f"{kept} texts are already waiting for feedback; suggest without remember, or "
                    "try again when the oldest have expired",
                    3600,
                )
            connection.execute(
                "INSERT INTO suggestions VALUES (?, ?, ?)",
                (identifier, text, moment + 1000 * seconds),
            )

        return self._submit(run)

    def answer(
        self,
        identifier: str,
        labels: list[str],
        key: str | None = None,
        digest: bytes = b"",
    ) -> Future[Receipt]:
        """Turn a remembered text into an example.

        The example takes the suggestion's identifier as its name, so repeating this is harmless.
        The future is as from `append`; it also fails with a Problem, 404 if no such text is
        remembered, 409 if it has other labels.
        """

        def learn(connection: sqlite3.Connection) -> Receipt:
            found = connection.execute(
                "SELECT text FROM suggestions WHERE id = ? AND expires >= ?", (identifier, now())
            ).fetchone()
            if found is None:
                known = None if identifier.startswith("@") else _find(connection, identifier)
                if known is not None:
                    if known.body != encoded(Learnt(body_of(known).text, labels)):
                        raise Problem(
                            409,
                            f"suggestion {identifier!r} already has other labels; to correct them, "
                            "delete the example of this id and add it again",
                        )
                    return Receipt(known.sequence, known.sequence, known=1, repeated=True)
                raise Problem(404, f"there is no suggestion {identifier!r}, or it has expired")
            connection.execute("DELETE FROM suggestions WHERE id = ?", (identifier,))
            body = checked("learn", Learnt(found[0], labels))
            return _append(connection, [Addition("learn", body, identifier)])

        return self._submit(learn, key, digest)

    def close_writing(self) -> None:
        """Commit all waiting requests, and refuse new ones."""
        self._queue.close()

    def close(self) -> None:
        """Commit all waiting requests, and close the database."""
        self.close_writing()
        with self._reading:
            self._reader.close()
        self._writer.close()

    def _submit(
        self,
        run: Callable[[sqlite3.Connection], Any],
        key: str | None = None,
        digest: bytes = b"",
    ) -> Future[Any]:
        """Queue an operation, which runs only once if it has an idempotency key."""
        if key is not None:
            run = partial(_once, key, digest, run)
        future: Future[Any] = Future()
        self._queue.put(_Operation(run, future))
        return future

    def _commit(self, batch: list[_Operation]) -> None:
        """Run operations in one transaction, and answer them once it is durable."""
        try:
            if self._broken is not None:
                raise Problem(503, self._broken)
            self.check_there()
            self._writer.execute("BEGIN IMMEDIATE")
            answers = [(one.future, *self._run(one)) for one in batch]
            rows = events_after(self._writer, self.path, self.head, -1)
            forgotten = {i for row in rows if row.kind == "forget" for i in body_of(row).sequences}
            erased = self._committed_examples(forgotten)
            self._writer.execute("COMMIT")
        except Exception as failure:  # noqa: BLE001  waiting callers must get any failure
            self._give_up(failure)
            for operation in batch:
                operation.future.set_exception(self._problem(failure))
            return
        for row in rows:
            self._count(row)
        self.examples -= erased
        self._erased = self._erased and not forgotten
        if not self._erased:
            self._erase_written_ahead(100 if forgotten else 0)
        self._committed()
        for future, answer, problem in answers:
            if problem is None:
                future.set_result(answer)
            else:
                future.set_exception(problem)

    def _committed_examples(self, sequences: Iterable[int]) -> int:
        """Count the examples among events as committed, without the transaction in progress."""
        with self._reading:
            found = [self._reader.execute(_IS_EXAMPLE, (i,)).fetchone() for i in sequences]
        return sum(count for (count,) in found)

    def _erase_written_ahead(self, patience: int) -> None:
        """Erase forgotten examples from the write-ahead log, too.

        While another process reads or the disk is full, this fails after `patience` milliseconds;
        each later commit tries again, without waiting, since a backup may read for minutes.
        """
        self._writer.execute(f"PRAGMA busy_timeout = {patience}")
        try:
            # Unless it waits, our own reader could keep it from erasing, too.
            with nullcontext() if patience else self._reading:
                (busy, *_) = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            self._erased = not busy
        except sqlite3.Error as failure:
            _logger.warning("%s: cannot erase from the write-ahead log (%s)", self.path, failure)
        self._writer.execute(f"PRAGMA busy_timeout = {1000 * PATIENCE}")

    def _run(self, operation: _Operation) -> tuple[Any, BaseException | None]:
        """Run one operation in a savepoint, so that its refusal does not affect the others."""
        self._writer.execute("SAVEPOINT operation")
        try:
            answer, problem = operation.run(self._writer), None
        except LabelGroveError as refused:
            self._writer.execute("ROLLBACK TO operation")
            answer, problem = None, refused
        self._writer.execute("RELEASE operation")
        return answer, problem

    def _give_up(self, failure: BaseException) -> None:
        if self._writer.in_transaction:
            with suppress(sqlite3.Error):  # then the next BEGIN fails, and tells its callers
                self._writer.rollback()
        if getattr(failure, "sqlite_errorname", "") in _UNCERTAIN:
            # After a failed flush the system may have dropped the data, and reports this only once.
            self._broken = (
                f"{self.path}: flushing to the disk failed; restart the service once the disk "
                "works again"
            )

    def _problem(self, failure: BaseException) -> BaseException:
        if isinstance(failure, LabelGroveError):
            return failure
        if is_disk_full(failure):
            return Problem(507, f"{self.path.parent.name}: the disk is full; nothing was learnt")
        told = str(failure) or repr(failure)  # a lack of memory says nothing
        return Problem(503, f"{self.path.parent.name}: the log cannot be written ({told})")

    def _count(self, row: Row) -> None:
        self.examples += row.kind == "learn"
        if row.kind in {"learn", "forgotten"}:
            self.taught += 1
        else:
            self.controls.append(row)
        self.head = row.sequence
        if row.kind in {"settings", "rebuilt"}:
            self.rebuilt = (self.taught, row.at)


def now() -> int:
    """Return the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def _file_at(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from a copy under the same name; None if there is none."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


def _head(connection: sqlite3.Connection) -> int:
    (head,) = connection.execute("SELECT max(sequence) FROM events").fetchone()
    return head or 0


# --- operations ----------------------------------------------------------------------------------


def _once(
    key: str,
    digest: bytes,
    run: Callable[[sqlite3.Connection], Receipt],
    connection: sqlite3.Connection,
) -> Receipt:
    """Run an operation, unless it was already run under the same key."""
    digest = hashlib.sha256(digest).digest()
    found = connection.execute(
        "SELECT digest, answer FROM requests WHERE key = ?", (key,)
    ).fetchone()
    if found is not None:
        if found[0] != digest:
            raise Problem(422, f"Idempotency-Key: {key!r} was already used for another request")
        answer = msgspec.json.decode(found[1], type=Receipt)
        answer.repeated = True
        return answer
    answer = run(connection)
    moment = now()
    connection.execute(
        "DELETE FROM requests WHERE key IN (SELECT key FROM requests WHERE at < ? LIMIT ?)",
        (moment - _KEPT_KEYS_MS, _KEYS_AT_ONCE),
    )
    connection.execute(
        "INSERT INTO requests VALUES (?, ?, ?, ?)", (key, digest, encoded(answer), moment)
    )
    return answer


def _append(connection: sqlite3.Connection, additions: Sequence[Addition]) -> Receipt:
    """Write events whose bodies are encoded, without the examples that are there already."""
    head, at = _head(connection), now()
    rows: list[Row] = []
    named: dict[str, bytes] = {}
    known = 0
    for place, (kind, body, name) in enumerate(additions):
        if name is not None:
            there = named.get(name) or _body(connection, name)
            if there == body:
                known += 1
                continue
            if there is not None:
                raise Problem(
                    409,
                    f"`.examples[{place}]`: another example {name!r} already exists; "
                    "delete it first, or choose another id",
                )
            named[name] = body
        rows.append(Row(head + 1 + len(rows), kind, name, body, at))
    _insert(connection, rows)
    learnt = sum(row.kind == "learn" for row in rows)
    return Receipt(head + len(rows), head + 1, learnt, known)


def _body(connection: sqlite3.Connection, name: str) -> bytes | None:
    found = connection.execute("SELECT body FROM events WHERE name = ?", (name,)).fetchone()
    return None if found is None else found[0]


def _find(connection: sqlite3.Connection, name: str) -> Row | None:
    where, value = "name = ?", name
    if name.startswith("@"):
        if not name[1:].isascii() or not name[1:].isdecimal() or len(name) > 19:
            return None
        where, value = "sequence = ?", name[1:]
    found = connection.execute(
        f"SELECT sequence, kind, name, body, at FROM events WHERE {where} AND kind = 'learn'",  # noqa: S608
        (value,),
    ).fetchone()
    return None if found is None else Row(*found)


def _existing(connection: sqlite3.Connection, name: str) -> Row:
    row = _find(connection, name)
    if row is None:
        raise Problem(404, f"there is no example {name!r}")
    return row


def _insert(connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
    """Write events, and carry out those that erase earlier ones."""
    write_events(connection, rows)
    for row in rows:
        if row.kind == "forget":
            _erase(connection, body_of(row).sequences)


def _erase(connection: sqlite3.Connection, sequences: Sequence[int]) -> None:
    for sequence in sequences:
        blank = Row(sequence, "forgotten", None, b"{}", 0)
        connection.execute(
            "UPDATE events SET kind = ?, name = ?, body = ?, at = ?, checksum = ? "
            "WHERE sequence = ?",
            (*blank[1:], blank.checksum, sequence),
        )
    connection.execute("DELETE FROM fingerprints WHERE sequence >= ?", (min(sequences),))
