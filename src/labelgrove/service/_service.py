"""A directory of projects, of which those in use are in memory; and access tokens."""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import re
import secrets
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO, Annotated

import msgspec

from labelgrove._errors import LabelGroveError
from labelgrove._locks import locked
from labelgrove.service._database import has_events, is_disk_full
from labelgrove.service._events import PROJECT_NAME, Learnt, Row
from labelgrove.service._follow import Follower
from labelgrove.service._log import Addition, Log
from labelgrove.service._model import check_lasting, new_model
from labelgrove.service._problems import DamagedLog, Problem, ShuttingDown
from labelgrove.service._project import Project
from labelgrove.service._settings import Settings
from labelgrove.text import TextFeatures

_log = logging.getLogger("labelgrove.service")

_DELETED = re.compile(rf"\.{PROJECT_NAME.pattern}\.[0-9a-f]{{16}}")
"""Names of the folders of projects that are being deleted."""

_MEASURED_EVERY = 10.0  # seconds, since models grow

SCOPES = ("read", "learn", "admin")
"""Scopes of tokens; each one includes those before it."""


def alone_in(directory: Path) -> IO[str]:
    """Lock other processes out of a directory while the returned file is open.

    Raises
    ------
    LabelGroveError
        If another process uses it.
    """
    return locked(
        directory / "lock",
        f"{directory}: another process is already serving this directory; expected only one",
    )


class Service:
    """The projects of a directory.

    Parameters
    ----------
    directory : Path
        Created if missing. Only one process at a time may use it.
    memory : int, optional
        Memory limit for models, in bytes; the least recently used are closed beyond it. The most
        recently used model always stays, whatever its size.
    leader : str, optional
        Address of the server to replicate; this one is then read-only.

    Raises
    ------
    LabelGroveError
        If another process uses the directory.
    """

    def __init__(
        self, directory: Path, *, memory: int | None = None, leader: str | None = None
    ) -> None:
        self.leader = leader
        self._memory = memory
        self._folder = directory / "projects"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._lock_file = alone_in(directory)
        for path in self._folder.iterdir():
            if _DELETED.fullmatch(path.name):  # when the process was killed
                shutil.rmtree(path, ignore_errors=True)
        self._changed = threading.Condition()
        self._open: dict[str, Project] = {}  # least recently used first
        self._users: dict[str, int] = {}
        self._damaged: dict[str, str] = {}
        self._unopened: dict[str, str] = {}
        self._heads: dict[str, int] = {}  # of projects that are closed
        self._busy: set[str] = set()
        self._going: set[str] = set()  # being deleted
        self.tokens = Tokens(directory / "tokens.json")
        self.follower: Follower | None = None
        self.opening = self.closing = False
        self._ended = threading.Event()
        self._measuring: threading.Thread | None = None

    def begin(self, token: str | None = None) -> None:
        """Open all projects, and follow the leader, if there is one.

        From then on the models are kept within the memory limit while they grow, too.

        A project that cannot be opened does not prevent the others from being served, but raises
        DamagedLog if it is damaged and none is intact.
        """
        if self._memory is not None:
            self._measuring = threading.Thread(
                target=self._keep_room, name="memory of models", daemon=True
            )
            self._measuring.start()
        sound, there = 0, self.names()
        for log in sorted(self._folder.glob("[!.]*/log.sqlite")):
            if log.parent.name not in there:
                _log.warning("%s: the log has no events; ignoring this project", log)
        for name in there:
            try:
                with self.using(name):
                    sound += 1
            except ShuttingDown:
                return
            except LabelGroveError as failure:  # the others are to be served whatever it is
                _log.error("project %s is not served: %s", name, failure)
        if self._damaged and not sound:
            raise DamagedLog(next(iter(self._damaged.values())))
        if self.leader is not None:
            self.follower = Follower(self, self.leader, token)

    # --- projects ------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """Return the names of all projects, sorted."""
        return sorted(path.name for path in self._folder.iterdir() if self.has(path.name))

    def has(self, name: str) -> bool:
        """Whether there is a project of this name."""
        return bool(PROJECT_NAME.fullmatch(name)) and self._is_there(name)

    def _is_there(self, name: str) -> bool:
        log = self._folder / name / "log.sqlite"
        if name in self._heads:  # it has events, and opening every log to ask would take a while
            return log.exists()
        return name in self._open or has_events(log)

    def held(self) -> list[Project]:
        """Return the projects in memory, apart from those that are being deleted."""
        with self._changed:
            return [one for name, one in self._open.items() if name not in self._going]

    def damaged(self) -> dict[str, str]:
        """Map each project with a damaged log to the reason why it is not served."""
        with self._changed:
            return dict(self._damaged)

    def unopened(self) -> dict[str, str]:
        """Map each project that could not be opened, though its log may be sound, to the reason."""
        with self._changed:
            return dict(self._unopened)

    def create(self, name: str, settings: Settings) -> bool:
        """Create a project; return False if it exists with the same settings.

        Raises Problem: 409 if it exists with other settings; ParameterError if they are invalid.
        """
        folder = self._folder / _checked(name)
        # Store the default preset, since a later version may have another: a log is self-contained.
        preset = {"preset": TextFeatures().preset}
        settings = msgspec.structs.replace(settings, text=preset | settings.text)
        check_lasting(settings)
        new_model(settings)
        fresh = False
        if name in self._going or not self._is_there(name):  # nobody waits for one that is in use
            with self._alone(name):
                fresh = not self._is_there(name)
                if fresh:
                    self._clear(name)
                    try:
                        folder.mkdir(exist_ok=True)
                        project = Project(folder, settings, stopping=self._ending(name))
                    except (OSError, sqlite3.Error) as failure:
                        raise _impossible(f"{name}: cannot be created", failure) from failure
                    self._keep(name, project)
        with self.using(name) as project:
            if project.settings != settings:
                raise Problem(
                    409,
                    f"project {name!r} already exists with other settings, which cannot change; "
                    "delete it first, or choose another name",
                )
        self._make_room()
        return fresh

    def create_missing(self, names: Iterable[str]) -> None:
        """Create the projects that do not exist, with the default settings."""
        for name in names:
            if not self.has(name):
                self.create(name, Settings())

    def adopt(self, name: str, rows: Sequence[Row]) -> None:
        """Create a project from the first events of another server's log."""
        folder = self._folder / _checked(name)
        with self._alone(name):
            folder.mkdir(exist_ok=True)
            with closing(Log(folder / "log.sqlite")) as log:
                log.copy(rows).result()

    def teach(self, name: str, texts: Sequence[str], labels: Sequence[Iterable[str]]) -> int:
        """Learn examples, without HTTP; they are durable when this returns.

        Return the sequence number of the last one. Raises Problem: 422 if an example has no text or
        no labels, or exceeds the limits of the service.
        """
        bodies = [Learnt(text, list(own)) for text, own in zip(texts, labels, strict=True)]
        with self.using(name) as project:
            return project.log.append([Addition("learn", one) for one in bodies]).result().sequence

    def delete(self, name: str) -> None:
        """Delete a project and everything that it has learnt."""
        self._existing(name)
        with self._changed:
            if name in self._going:
                raise _missing(name)
            held = self._open.get(name)
            if held is not None:  # requests that wait for its model are using it
                held.stop_building()
                held.stop(f"project {name!r} is being deleted")
            self._going.add(name)
        try:
            with self._alone(name, deleting=True):
                folder = self._existing(name)
                with self._changed:
                    project = self._open.pop(name, None)
                if project is not None:
                    project.close()
                self._clear(name)
                gone = folder.with_name(f".{name}.{secrets.token_hex(8)}")
                with suppress(FileNotFoundError):  # somebody has removed it while it was served
                    folder.rename(gone)
        finally:
            with self._changed:
                self._going.discard(name)
        shutil.rmtree(gone, ignore_errors=True)

    @contextmanager
    def using(self, name: str) -> Iterator[Project]:
        """Use a project, opening it if it is not in memory.

        Raises Problem: 404 if there is no such project, 503 or 507 if it cannot be opened at
        present; and DamagedLog if its log is damaged.
        """
        project = self.enter(name)
        try:
            yield project
        finally:
            self.leave(name)

    def held_now(self, name: str) -> Project | None:
        """Enter a project and return it if it is in memory, without blocking."""
        with self._changed:
            if name in self._busy or name not in self._open:
                return None
            project = self._open[name] = self._open.pop(name)
            self._users[name] = self._users.get(name, 0) + 1
            return project

    def head(self, name: str) -> int | None:
        """Return the number of a project's last event, without opening the project.

        None if the project is being opened or closed, or has not been open yet.
        """
        with self._changed:
            project = self._open.get(name)
            return self._heads.get(name) if project is None else project.log.head

    def enter(self, name: str) -> Project:
        """Return a project, which stays in memory until `leave`."""
        while (project := self.held_now(name)) is None:
            with self._alone(name, unused=False):
                if name not in self._open:
                    self._keep(name, self._opened(name))
        self._make_room()
        return project

    def _opened(self, name: str) -> Project:
        folder = self._existing(name)
        if name in self._damaged:  # checking a log takes a while, so do it only once
            raise DamagedLog(self._damaged[name])
        try:
            following = self.leader is not None
            project = Project(folder, following=following, stopping=self._ending(name))
        except ShuttingDown:
            if name in self._going:
                raise _missing(name) from None
            raise
        except DamagedLog as damage:
            self._damaged[name] = str(damage)
            self._unopened.pop(name, None)
            raise
        except Exception as failure:
            problem = _impossible(f"{name}: cannot be opened", failure)
            if self._unopened.get(name) != str(problem):
                _log.exception("project %s cannot be opened", name)
            self._unopened[name] = str(problem)
            raise problem from failure
        self._unopened.pop(name, None)
        return project

    def _ending(self, name: str) -> Callable[[], bool]:
        """Return what tells whether a project need not learn its log again."""
        return lambda: self.closing or name in self._going

    def leave(self, name: str) -> None:
        """Release a project that was entered."""
        with self._changed:
            self._users[name] -= 1
            if not self._users[name]:
                del self._users[name]
                self._changed.notify_all()

    def close(self) -> None:
        """Close all projects: apply all acknowledged events, and write snapshots."""
        self.closing = True
        self._ended.set()
        if self._measuring is not None:
            self._measuring.join()
        if self.follower is not None:
            self.follower.close()
        for project in list(self._open.values()):
            project.close()
        self._open.clear()
        self._lock_file.close()

    @contextmanager
    def _alone(self, name: str, *, unused: bool = True, deleting: bool = False) -> Iterator[None]:
        """Get exclusive access to open a project, or to create or delete an unused one."""
        with self._changed:
            while True:
                if self.closing:
                    raise ShuttingDown
                # Nobody waits for a deletion: that would take a thread which the last user of the
                # project may need in order to leave it.
                if name in self._going and not deleting:
                    if unused:
                        raise Problem(409, f"project {name!r} is being deleted; try again")
                    raise _missing(name)
                if name not in self._busy:
                    break
                self._changed.wait()
            self._busy.add(name)  # from here on, no request can enter it
        try:
            with self._changed:
                while unused and name in self._users:
                    self._changed.wait()
            yield
        finally:
            with self._changed:
                self._busy.discard(name)
                self._changed.notify_all()

    def _keep(self, name: str, project: Project) -> None:
        with self._changed:
            self._open[name] = project
            self._heads.pop(name, None)

    def _keep_room(self) -> None:
        while not self._ended.wait(_MEASURED_EVERY):
            try:
                self._make_room()
            except Exception:  # noqa: BLE001  it may pass
                _log.exception("cannot close projects")

    def _make_room(self) -> None:
        """Close unused projects until the others fit into the memory limit.

        Those that are being rebuilt stay, and those whose models are behind their logs: catching up
        may take as long as learning did, and the request that needs the room would wait for it.
        """
        if self._memory is None:
            return
        with self._changed:
            candidates = list(self._open)[:-1]
        for name in candidates:
            if sum(project.learner.memory() for project in self.held()) <= self._memory:
                return
            with self._changed:
                if name in self._users or name in self._busy or name not in self._open:
                    continue
                if self._open[name].is_at_work():
                    continue
                self._busy.add(name)
                project = self._open.pop(name)
            try:
                project.close()
                with self._changed:
                    self._heads[name] = project.log.head  # with what waited to be written
            finally:
                with self._changed:
                    self._busy.discard(name)
                    self._changed.notify_all()

    def _existing(self, name: str) -> Path:
        folder = self._folder / _checked(name)
        if not self._is_there(name):
            self._clear(name)
            raise _missing(name)
        return folder

    def _clear(self, name: str) -> None:
        """Drop what is known about a project that is no longer there, or not the same."""
        with self._changed:
            for known in (self._damaged, self._unopened, self._heads):
                known.pop(name, None)


def _impossible(what: str, failure: Exception) -> Problem:
    """Tell what cannot be done at present, and why: 507 if the disk is full, else 503."""
    if is_disk_full(failure):
        return Problem(507, f"{what} (the disk is full)")
    return Problem(503, f"{what} ({str(failure) or repr(failure)})")


def _missing(name: str) -> Problem:
    return Problem(404, f"there is no project {name!r}")


def _checked(name: str) -> str:
    if not PROJECT_NAME.fullmatch(name):
        raise Problem(
            422,
            f"project name {name!r:.80}: expected at most 63 lower-case letters, digits, _ and -, "
            "starting with a letter or digit",
        )
    return name


# --- tokens --------------------------------------------------------------------------------------


class Token(msgspec.Struct):
    """A stored token, of which only the hash is kept."""

    scope: Annotated[str, msgspec.Meta(pattern=f"^({'|'.join(SCOPES)})$")]
    sha256: str
    made: str


class Tokens:
    """Access tokens and their scopes.

    Parameters
    ----------
    path : Path
        File of the hashes; it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._tokens: list[Token] = []
        if path.exists():
            try:
                self._tokens = msgspec.json.decode(path.read_bytes(), type=list[Token])
            except msgspec.MsgspecError as error:
                raise LabelGroveError(f"{path}: expected a list of tokens ({error})") from None

    def __len__(self) -> int:
        return len(self._tokens)

    def add(self, scope: str, show: Callable[[str], object] = str) -> str:
        """Create a token, show it, store its hash, and return it; if showing fails, store none."""
        token = f"lg_{secrets.token_urlsafe(32)}"
        show(token)
        made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._tokens.append(Token(scope, _hash(token), made))
        partial = self._path.with_suffix(".partial")
        partial.unlink(missing_ok=True)
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(msgspec.json.encode(self._tokens))
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self._path)
        return token

    def allow(self, token: str | None, scope: str) -> None:
        """Check that a token has a scope, if any tokens exist.

        Raises Problem: 401 for a missing or unknown token, 403 for insufficient scope.
        """
        if not self._tokens:
            return
        if token is None:
            raise Problem(401, "expected a token, as 'Authorization: Bearer …'")
        given = _hash(token)
        known = [one for one in self._tokens if hmac.compare_digest(one.sha256, given)]
        if not known:
            raise Problem(401, "the token is unknown")
        if SCOPES.index(known[0].scope) < SCOPES.index(scope):
            raise Problem(403, f"the token has the scope {known[0].scope}; expected {scope}")


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
