"""A directory of projects, those in use held in memory; and the tokens that open it."""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import secrets
import shutil
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from labelgrove._errors import DataError, LabelGroveError
from labelgrove._locks import locked
from labelgrove.service._database import has_events
from labelgrove.service._events import PROJECT_NAME, Learnt, Row
from labelgrove.service._follow import Follower
from labelgrove.service._log import Addition, Log
from labelgrove.service._model import new_model
from labelgrove.service._problems import DamagedLog, Problem
from labelgrove.service._project import Project
from labelgrove.service._settings import Settings
from labelgrove.text import TextFeatures

_log = logging.getLogger("labelgrove.service")

SCOPES = ("read", "learn", "admin")
"""What a token allows, each with all before it."""


class Service:
    """The projects of a directory.

    Parameters
    ----------
    directory : Path
        Made if it is not there. One process uses it at a time.
    memory : int, optional
        Bytes of models that are held at most; those not asked for longest are put away first. The
        one that was asked for last is held, whatever it takes.
    leader : str, optional
        The address of the server whose logs this one follows; then nothing else is learnt.

    Raises
    ------
    LabelGroveError
        If another process uses the directory.
    """

    def __init__(
        self, directory: Path, *, memory: int | None = None, leader: str | None = None
    ) -> None:
        self.directory, self.leader = directory, leader
        self._memory = memory
        self._folder = directory / "projects"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._lock_file = locked(
            directory / "lock",
            f"{directory}: another process serves this directory; expected only one",
        )
        self._changed = threading.Condition()
        self._open: dict[str, Project] = {}  # the one asked for last comes last
        self._users: dict[str, int] = {}
        self._damaged: dict[str, str] = {}
        self._busy: set[str] = set()
        self.tokens = Tokens(directory / "tokens.json")
        self._follower: Follower | None = None
        self.closing = False

    def begin(self, projects: Sequence[str] = (), token: str | None = None) -> None:
        """Make projects that are missing, and open those that there are, as far as they fit.

        One whose log cannot be trusted does not keep the others from being served.

        Raises
        ------
        DamagedLog
            If there are no others.
        """
        for name in projects:
            if name not in self.names() and self.leader is None:
                self.create(name, Settings())
        sound, there = 0, self.names()
        for log in sorted(self._folder.glob("[!.]*/log.sqlite")):
            if log.parent.name not in there:
                _log.warning("%s: the log has no events; the project is not there", log)
        for name in there:
            try:
                with self.using(name):
                    sound += 1
            except DamagedLog as damage:
                _log.error("project %s is not served: %s", name, damage)
        if self._damaged and not sound:
            raise DamagedLog(next(iter(self._damaged.values())))
        if self.leader is not None:
            self._follower = Follower(self, self.leader, token)

    # --- projects ------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """The projects that there are, sorted."""
        return sorted(
            path.name
            for path in self._folder.iterdir()
            if PROJECT_NAME.fullmatch(path.name) and self._is_there(path.name)
        )

    def _is_there(self, name: str) -> bool:
        return name in self._open or has_events(self._folder / name / "log.sqlite")

    def held(self) -> list[Project]:
        """The projects in memory."""
        with self._changed:
            return list(self._open.values())

    def damaged(self) -> dict[str, str]:
        """Why projects are not served whose logs cannot be trusted."""
        with self._changed:
            return dict(self._damaged)

    def create(self, name: str, settings: Settings) -> bool:
        """Make a project; False if it is there with the same settings.

        Raises
        ------
        Problem
            409, if it is there with others.
        ParameterError
            If the settings cannot be used.
        """
        folder = self._folder / _checked(name)
        # Written down, since a later version may prefer another: the log says all that there is.
        preset = {"preset": TextFeatures().preset}
        settings = msgspec.structs.replace(settings, text=preset | settings.text)
        new_model(settings)
        with self._alone(name):
            fresh = not self._is_there(name)
            if fresh:
                folder.mkdir(exist_ok=True)
                self._keep(name, Project(folder, settings))
        with self.using(name) as project:
            if project.settings != settings:
                raise Problem(
                    409,
                    f"project {name!r} is there with other settings, which stay as they are; "
                    "delete it first, or choose another name",
                )
        self._make_room()
        return fresh

    def adopt(self, name: str, rows: Sequence[Row]) -> None:
        """Begin a project with the first events of another server's log."""
        folder = self._folder / _checked(name)
        with self._alone(name):
            folder.mkdir(exist_ok=True)
            log = Log(folder / "log.sqlite")
            try:
                log.copy(rows).result()
            finally:
                log.close()

    def teach(self, name: str, texts: Sequence[str], labels: Sequence[Iterable[str]]) -> int:
        """Learn examples, without HTTP; when this returns they are kept.

        Parameters
        ----------
        name : str
            Of the project.
        texts : sequence of str
        labels : sequence of collections of str

        Returns
        -------
        int
            The sequence number of the last one.

        Raises
        ------
        DataError
            If a text or the labels of one are empty.
        """
        bodies = [Learnt(text, list(own)) for text, own in zip(texts, labels, strict=True)]
        if not all(one.text and one.labels for one in bodies):
            raise DataError("an example has no text, or no labels; expected both")
        with self.using(name) as project:
            return project.log.append([Addition("learn", one) for one in bodies]).result().sequence

    def delete(self, name: str) -> None:
        """Remove a project with all that it has learnt."""
        self._existing(name)
        held = self._open.get(name)
        if held is not None:
            held.stop_building()  # who waits for that uses the project
        with self._alone(name):
            folder = self._existing(name)  # while we waited, another may have removed it
            project = self._open.pop(name, None)
            if project is not None:
                project.close()
            self._damaged.pop(name, None)
            gone = folder.with_name(f".{name}.{secrets.token_hex(8)}")
            folder.rename(gone)
            shutil.rmtree(gone, ignore_errors=True)

    @contextmanager
    def using(self, name: str) -> Iterator[Project]:
        """Use a project, which is opened if it is not in memory.

        Raises
        ------
        Problem
            404, if there is no such project.
        DamagedLog
            If its log cannot be trusted.
        """
        project = self.enter(name)
        try:
            yield project
        finally:
            self.leave(name)

    def held_now(self, name: str) -> Project | None:
        """The project, entered, if it is in memory: without waiting for anything."""
        with self._changed:
            if name in self._busy or name not in self._open:
                return None
            project = self._open[name] = self._open.pop(name)
            self._users[name] = self._users.get(name, 0) + 1
            return project

    def enter(self, name: str) -> Project:
        """The project, which stays in memory until it is left."""
        while (project := self.held_now(name)) is None:
            with self._alone(name, unused=False):
                if name not in self._open:
                    self._keep(name, self._opened(name))
        self._make_room()
        return project

    def _opened(self, name: str) -> Project:
        folder = self._existing(name)
        if name in self._damaged:  # looked through once: that takes a while
            raise DamagedLog(self._damaged[name])
        try:
            return Project(folder, following=self.leader is not None)
        except DamagedLog as damage:
            self._damaged[name] = str(damage)
            raise

    def leave(self, name: str) -> None:
        """Let go of a project that was entered."""
        with self._changed:
            self._users[name] -= 1
            if not self._users[name]:
                del self._users[name]
                self._changed.notify_all()

    def close(self) -> None:
        """Close all projects: what was acknowledged is learnt, and snapshots are written."""
        if self._follower is not None:
            self._follower.close()
        self.closing = True
        for project in self.held():
            project.close()
        self._open.clear()
        self._lock_file.close()

    @contextmanager
    def _alone(self, name: str, *, unused: bool = True) -> Iterator[None]:
        """Open a project, or close or remove one that is unused, while nobody else does."""
        with self._changed:
            if self.closing:
                raise Problem(503, "the service is being stopped; try again in a moment")
            while name in self._busy:
                self._changed.wait()
            self._busy.add(name)  # from here on nobody enters
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

    def _make_room(self) -> None:
        """Put away projects that nobody uses, until the others fit."""
        if self._memory is None:
            return
        for name in list(self._open)[:-1]:
            if sum(project.learner.bytes() for project in self.held()) <= self._memory:
                return
            with self._changed:
                if name in self._users or name in self._busy or name not in self._open:
                    continue
                self._busy.add(name)
            try:
                self._open.pop(name).close()
            finally:
                with self._changed:
                    self._busy.discard(name)
                    self._changed.notify_all()

    def _existing(self, name: str) -> Path:
        folder = self._folder / _checked(name)
        if not self._is_there(name):
            raise Problem(404, f"there is no project {name!r}")
        return folder


def _checked(name: str) -> str:
    if not PROJECT_NAME.fullmatch(name):
        raise Problem(
            422,
            f"{name!r:.80} cannot be a project's name: expected up to 63 small letters, digits, "
            "_ and -, the first a letter or digit",
        )
    return name


# --- tokens --------------------------------------------------------------------------------------


class Token(msgspec.Struct):
    """A token as it is stored: only its hash."""

    scope: str
    sha256: str
    made: str


class Tokens:
    """Who may do what.

    Parameters
    ----------
    path : Path
        Of the file with the hashes, which need not be there.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._tokens: list[Token] = []
        if path.exists():
            try:
                self._tokens = msgspec.json.decode(path.read_bytes(), type=list[Token])
            except msgspec.MsgspecError as error:
                raise LabelGroveError(f"{path}: no list of tokens ({error})") from None

    def __len__(self) -> int:
        return len(self._tokens)

    def add(self, scope: str) -> str:
        """Make a token; it is told once and kept nowhere."""
        token = f"lg_{secrets.token_urlsafe(32)}"
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
        """Do nothing if a token allows something, or none is needed.

        Raises
        ------
        Problem
            401 for a token that is missing or unknown, 403 for one that allows less.
        """
        if not self._tokens:
            return
        if token is None:
            raise Problem(401, "expected a token, as 'Authorization: Bearer …'")
        given = _hash(token)
        known = [one for one in self._tokens if hmac.compare_digest(one.sha256, given)]
        if not known:
            raise Problem(401, "the token is not known here")
        if SCOPES.index(known[0].scope) < SCOPES.index(scope):
            raise Problem(403, f"the token allows to {known[0].scope}; expected one for {scope}")


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
