"""A project: a log, the model that follows it, and queries to the model."""

from __future__ import annotations

import itertools
import logging
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from labelgrove._errors import LabelGroveError
from labelgrove.service._batches import Batches
from labelgrove.service._events import NEW_BEGINNINGS, Rebuilt, Row, body_of
from labelgrove.service._history import LONG, History
from labelgrove.service._log import Addition, Log, now
from labelgrove.service._model import EMPTY, Learner, Suggested
from labelgrove.service._problems import Problem, ShuttingDown
from labelgrove.service._rebuild import compare_beside
from labelgrove.service._settings import Settings
from labelgrove.service._snapshots import Snapshot, snapshots, tidy, write_snapshot
from labelgrove.service._stats import Progress, Stats

_log = logging.getLogger("labelgrove.service")

T = TypeVar("T")

_AT_ONCE = 1_000
_SECONDS = 0.02  # target duration of a batch, between whose steps queries are answered
_PATIENCE = 30.0  # seconds between checks whether a rebuild is due
_ASKED_AT_ONCE = 64
_MOST_ASKING = 4_000
_JUDGED = 8  # examples judged per batch: all of a slow stream, a sample of a fast one


class Asked(NamedTuple):
    """Texts to suggest labels for."""

    texts: Sequence[str]
    limit: int
    future: Future[Suggested]


class _Job(NamedTuple):
    run: Callable[[], Any]
    future: Future[Any]
    in_replays: bool = False


class Rebuilding(msgspec.Struct):
    """The comparison of a tree rebuilt from all examples with the tree that has grown online.

    Attributes
    ----------
    examples : int
        Number of examples at the end of the stream on which both were compared.
    before, after : float
        How often the first suggestion was right, just before its example was learnt.
    taken : bool
        Whether the rebuilt tree replaces the current one.
    sequence : int or None
        Sequence number of the replacing event.
    """

    examples: int
    before: float
    after: float
    taken: bool
    sequence: int | None = None


class Project:
    """One log and its model.

    Parameters
    ----------
    folder : Path
        The project's own folder.
    settings : Settings, optional
        Settings of a new project.
    following : bool
        Whether all events come from another server.
    stopping : callable
        Whether to give up learning the log again, at the start or without a forgotten example,
        which may take as long as learning it did.

    Raises
    ------
    DamagedLog
        If the log is damaged.
    ShuttingDown
        If opening the project was given up.

    Attributes
    ----------
    name : str
    settings : Settings
    log : Log
    failure : str or None
        Why the model no longer follows the log, if so.
    """

    def __init__(
        self,
        folder: Path,
        settings: Settings | None = None,
        *,
        following: bool = False,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self.folder, self.name, self.following = folder, folder.name, following
        self.failure: str | None = None
        self._stopping = stopping
        self._changed = threading.Condition()
        self._closing = False
        self._rebuilding = threading.Lock()
        self._processes: set[subprocess.Popen[str]] = set()
        self._jobs: list[_Job] = []
        self._waiting: list[tuple[int, Future[int]]] = []
        tidy(folder)
        self.progress = Progress()
        self._fingerprint: tuple[int, str] = (0, EMPTY)
        self.log = Log(folder / "log.sqlite", self._wake)
        try:
            if self.log.head == 0 and settings is not None:
                self.log.append([Addition("settings", settings)]).result()
            first = self.log.controls[0]
            self.settings = msgspec.json.decode(first.body, type=Settings)
            self._history = History(
                folder,
                self.settings,
                self.log.controls,
                self.log.read,
                stopping=self._gives_up,
                keep=self._keep,
            )
            self._remove_outdated()
            self.learner = self._history.model_at(self.log.head)
            covered = max((one.sequence for one in self.snapshots()), default=0)
            if self.log.head - covered >= LONG:  # or the next start takes as long
                self._jobs.append(_Job(self._snapshot_if_new, Future()))
        except BaseException:
            self.log.close()
            raise
        self._tried = (0, 0)  # the last attempt to rebuild: examples taught, and time
        self._in_time = threading.Thread()  # the last rebuild that was due
        self._asking: Batches[Asked] = Batches(
            self._answer, f"answers of {self.name}", most=_ASKED_AT_ONCE, waiting=_MOST_ASKING
        )
        self._thread = threading.Thread(
            target=self._follow, name=f"model of {self.name}", daemon=True
        )
        self._thread.start()

    # --- asking --------------------------------------------------------------------------------

    def suggest(self, texts: Sequence[str], limit: int) -> Future[Suggested]:
        """Return the most probable labels of every text, of the vocabulary if there is one."""
        if self.failure is not None:
            raise Problem(503, self.failure)
        future: Future[Suggested] = Future()
        self._asking.put(Asked(texts, limit, future))
        return future

    def _answer(self, batch: list[Asked]) -> None:
        """Answer requests of the same limit with one call of the model."""
        learner = self.learner
        by_limit: dict[int, list[Asked]] = {}
        for one in batch:
            by_limit.setdefault(one.limit, []).append(one)
        for limit, asked in by_limit.items():
            texts = [text for one in asked for text in one.texts]
            try:
                sequence, found = learner.suggest(texts, limit, restricted=True)
            except Exception as failure:  # noqa: BLE001  waiting callers must get any failure
                for one in asked:
                    one.future.set_exception(failure)
                continue
            answers = iter(found)
            for one in asked:
                one.future.set_result((sequence, list(itertools.islice(answers, len(one.texts)))))

    def applied(self, sequence: int) -> Future[int]:
        """Return a future that is done once the model has applied an event.

        Its result is the model's sequence number at that moment.
        """
        future: Future[int] = Future()
        with self._changed:
            if self.failure is not None:
                future.set_exception(Problem(503, self.failure))
            elif self.learner.sequence >= sequence:
                future.set_result(self.learner.sequence)
            else:
                self._waiting.append((sequence, future))
        return future

    def fingerprint(self) -> Future[tuple[int, str]]:
        """Compute the model's sequence number, and the SHA-256 of its file."""
        return self._do(self._fingerprint_now)

    def stats(self, *, fingerprint: bool = True) -> Future[Stats]:
        """Collect statistics, consistent at one sequence number."""
        return self._do(lambda: self._stats_now(fingerprint=fingerprint), in_replays=True)

    def snapshot(self) -> Future[None]:
        """Write a snapshot of the current model, unless there is one or nothing has been learnt."""
        self.log.check_there()
        return self._do(self._take_snapshot)

    def snapshots(self) -> list[Snapshot]:
        """List the snapshots, newest first."""
        return snapshots(self.folder)

    def rebuild(self) -> Rebuilding:
        """Build a tree from all examples in another process; use it if it is no worse.

        If labels were changed or examples forgotten meanwhile, the model's thread builds it again
        when it applies the event, as it does without the file that the process wrote.

        Raises Problem: 409 if a rebuild is already running, or if there are too few examples.
        """
        self.log.check_there()
        if not self._rebuilding.acquire(blocking=False):
            raise Problem(409, "a rebuild is already running")
        head, replaced = self.log.head, False
        try:
            compared = compare_beside(self.folder, head, self._processes)
            taken = compared.after >= compared.before
            answer = Rebuilding(compared.examples, compared.before, compared.after, taken)
            if taken:
                addition = Addition("rebuilt", Rebuilt(compared.upto))
                answer.sequence = self.log.append([addition]).result().sequence
                replaced = not self._history.changes(head, answer.sequence)
            return answer
        finally:
            # The file of the latest rebuild that was taken remains, and saves its repetition.
            for path in self.folder.glob("built-*.lg"):
                if replaced != path.stem.endswith(f"-{head}"):
                    path.unlink(missing_ok=True)
            self._rebuilding.release()

    def _rebuild_is_due(self) -> bool:
        """Whether there are enough new examples, or any at all after enough hours."""
        every, hours = self.settings.rebuild_every, self.settings.rebuild_hours
        taught, at = max(self._tried, self.log.rebuilt)
        fresh = self.log.taught - taught
        if self.following or fresh <= 0:
            return False
        # If the clock was set back, what seems to be far in the future is long ago.
        in_time = hours > 0 and abs(now() - at) >= 3_600_000 * hours
        return in_time or 0 < every <= fresh

    def _rebuild_in_time(self) -> None:
        try:
            _log.info("%s: rebuilt: %s", self.name, self.rebuild())
        except (OSError, LabelGroveError) as problem:  # perhaps too little memory for a process
            _log.warning("%s: not rebuilt (%s)", self.name, problem)

    def stop_building(self) -> None:
        """Stop running rebuilds; their callers get an error."""
        for process in list(self._processes):
            self._processes.discard(process)
            process.terminate()

    def close(self) -> None:
        """Commit and apply everything that waits, then write a snapshot."""
        self.stop_building()
        self.log.close_writing()
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()
        self._asking.close()
        self.log.close()

    # --- the model follows the log -------------------------------------------------------------

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify()

    def _do(self, job: Callable[[], T], *, in_replays: bool = False) -> Future[T]:
        """Run a job in the thread that changes the model, between two batches.

        The job sees the model at one sequence number. It does not block queries, which wait only
        for changes to the model. A replay, which may take minutes, delays it unless ``in_replays``;
        it then sees the model that answers meanwhile.
        """
        future: Future[T] = Future()
        with self._changed:
            if self._closing:
                raise Problem(503, "the project is being closed; try again in a moment")
            self._jobs.append(_Job(job, future, in_replays))
            self._changed.notify()
        return future

    def _run_jobs(self, *, in_replay: bool = False) -> None:
        with self._changed:
            jobs = [one for one in self._jobs if one.in_replays or not in_replay]
            self._jobs = [one for one in self._jobs if in_replay and not one.in_replays]
        for job in jobs:
            try:
                job.future.set_result(job.run())
            except Exception as failure:  # noqa: BLE001  waiting callers must get any failure
                job.future.set_exception(failure)

    def _gives_up(self) -> bool:
        """Run the jobs that a replay need not delay; tell whether it is to end."""
        self._run_jobs(in_replay=True)
        return self._stopping() or self.failure is not None

    def _follow(self) -> None:
        size = 1
        while True:
            if self._rebuild_is_due():
                self._tried = (self.log.taught, now())
                self._in_time = threading.Thread(target=self._rebuild_in_time, daemon=True)
                self._in_time.start()
            with self._changed:
                if not (self._jobs or self._closing or self.is_behind()):
                    self._changed.wait(_PATIENCE)
            self._run_jobs()
            if self.is_behind():
                size = self._step(size)
            elif self._closing and not self._jobs:  # one may have come after the others were run
                break
        if self.failure is None:
            self._snapshot_if_new()

    def is_behind(self) -> bool:
        """Whether the log has events that the model is still to apply."""
        return self.failure is None and self.log.head > self.learner.sequence

    def is_at_work(self) -> bool:
        """Whether closing the project would take long, or end a rebuild that nobody waits for."""
        return self._in_time.is_alive() or self.is_behind()

    def _step(self, size: int) -> int:
        """Apply some events; return how many to apply next time."""
        started = time.perf_counter()
        try:
            # Take snapshots at the same events on all replicas, whatever the batch sizes: at
            # multiples, and where the model begins anew, since what came before takes long.
            every = self.settings.snapshot_every
            size = min(size, every - self.learner.sequence % every)
            rows = self.log.read(self.learner.sequence, size)
            begun = next((i for i, row in enumerate(rows, 1) if row.kind in NEW_BEGINNINGS), 0)
            rows = rows[: begun or None]
            self._judge(rows)
            self._apply(rows)
        except ShuttingDown as stopped:  # the next start learns the log again
            if self.failure is None:
                self.stop(str(stopped))
            return 1
        except Exception as failure:  # noqa: BLE001  the model may be in any state now
            self.stop(
                f"{self.name}: the model cannot follow its log ({failure}); restart the service"
            )
            _log.exception("%s: stopped after event %d", self.name, self.learner.sequence)
            return 1
        self._tell()
        if begun or self.learner.sequence % every == 0:
            self._snapshot_if_new()
        seconds = time.perf_counter() - started
        faster = 2 * size if seconds < _SECONDS and len(rows) == size else size
        return max(1, min(faster if seconds < 2 * _SECONDS else size // 2, _AT_ONCE))

    def stop(self, reason: str) -> None:
        """Stop following the log; later queries get the reason."""
        with self._changed:
            self.failure = reason
            waiting, self._waiting = self._waiting, []
        for _, future in waiting:
            future.set_exception(Problem(503, reason))

    def _tell(self) -> None:
        """Complete the futures of events that are now applied."""
        with self._changed:
            reached = self.learner.sequence
            ready = [future for sequence, future in self._waiting if sequence <= reached]
            self._waiting = [one for one in self._waiting if one[0] > reached]
        for future in ready:
            future.set_result(reached)

    def _judge(self, rows: Sequence[Row]) -> None:
        """Suggest labels for examples before they are learnt, and count the hits."""
        some = rows[:: -(-len(rows) // _JUDGED)]
        examples = [body_of(row) for row in some if row.kind == "learn"]
        if not examples:
            return
        _, found = self.learner.suggest([one.text for one in examples], 1)
        hits = [
            bool(best) and best[0][0] in self.learner.as_learnt(one.labels)
            for one, best in zip(examples, found, strict=True)
        ]
        self.progress.note(rows[0].sequence, hits)

    def _apply(self, rows: Sequence[Row]) -> None:
        """Apply events; if an example was forgotten, replay the log without it."""
        for place, row in enumerate(rows):
            if row.kind == "forget":
                self._history.advance(self.learner, rows[:place])
                # One replay covers all examples forgotten so far.
                head = self.log.head  # `controls` may already hold the next event
                last = max(
                    one.sequence
                    for one in self.log.controls
                    if one.kind == "forget" and one.sequence <= head
                )
                self._remove_outdated()
                self.learner = self._history.model_at(last)
                self._snapshot_if_new()
                return
        self._history.advance(self.learner, rows)

    # --- snapshots -----------------------------------------------------------------------------

    def _remove_outdated(self) -> None:
        """Remove snapshots that contain a since forgotten example, or that outlived their log.

        A log that was recovered or created anew may be shorter than the one they were taken from.
        """
        head = self.log.head
        for one in self.snapshots():
            if one.known > head or not self._history.holds(one):
                one.path.unlink(missing_ok=True)
        for path in self.folder.glob("built-*.lg"):
            built = int(path.stem.rpartition("-")[2])
            if built > head or "forget" in self._history.changes(built, head + 1):
                path.unlink(missing_ok=True)

    def _take_snapshot(self) -> None:
        if self.failure is not None:  # the model may hold an example that is forgotten by now
            raise Problem(503, self.failure)
        sequence = self.learner.sequence
        newest = next((one.sequence for one in self.snapshots()), None)
        if newest == sequence or not self.learner.has_learnt:
            return
        lasting = self._history.lasting(sequence)
        fingerprint = write_snapshot(self.folder, self.learner, sequence, lasting)
        self._fingerprint = (sequence, fingerprint)
        with suppress(Problem):  # at shutdown, the log may already be closed
            self.log.note_fingerprint(sequence, fingerprint).result()  # for replicas to compare

    def _keep(self, learner: Learner, upto: int) -> None:
        """Write a snapshot of a model on its way to an event; replicas need not compare it."""
        if learner.has_learnt:
            with self._tolerating():
                write_snapshot(self.folder, learner, upto, self._history.lasting(upto))

    def _snapshot_if_new(self) -> None:
        """Write a snapshot; if that fails, the earlier ones remain."""
        with self._tolerating():
            self._take_snapshot()

    @contextmanager
    def _tolerating(self) -> Iterator[None]:
        try:
            yield
        except (OSError, LabelGroveError) as failure:
            _log.warning("%s: cannot write a snapshot (%s)", self.name, failure)

    def _fingerprint_now(self) -> tuple[int, str]:
        sequence = self.learner.sequence
        if self._fingerprint[0] != sequence:
            self._fingerprint = (sequence, self.learner.fingerprint())
        return self._fingerprint

    def _stats_now(self, *, fingerprint: bool) -> Stats:
        return Stats(
            project_id=self.name,
            examples_seen=self.learner.examples_seen,
            examples=self.log.examples,
            labels=self.learner.label_count(),
            sequence=self.learner.sequence,
            fingerprint=self._fingerprint_now()[1] if fingerprint else None,
            head=self.log.head,
            refused=self.learner.refused,
            model_bytes=self.learner.bytes(),
            waiting=self.log.waiting,
            failure=self.failure,
            progress=self.progress.stretches(),
        )
