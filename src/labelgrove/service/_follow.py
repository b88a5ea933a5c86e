"""A replica: copies the leader's log, and checks that its models equal the leader's."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

import msgspec

from labelgrove.client import Client, ServiceError, without_secret
from labelgrove.service._events import Event, Row
from labelgrove.service._problems import DamagedLog, Problem

if TYPE_CHECKING:
    from labelgrove.service._project import Project
    from labelgrove.service._service import Service

_log = logging.getLogger("labelgrove.service")

_PAUSE = 0.1
_PAUSE_AFTER_FAILURE = 2.0
_PATIENCE = 5.0
_AT_ONCE = 1_000


class Events(msgspec.Struct):
    """The number of the last event, new events, and with these recent fingerprints of the model."""

    head: int
    events: list[Event]
    fingerprints: dict[int, str]


class Follower:
    """Copies a leader's logs in a separate thread, and compares fingerprints.

    Parameters
    ----------
    service : Service
        The replica.
    leader : str
        The leader's address.
    token : str, optional
        A token with the scope learn, which reading the log requires.

    Attributes
    ----------
    has_followed : bool
        Whether all of the leader's logs could be read once.
    failure : str
        Why they cannot be read at present; empty if they can.
    """

    def __init__(self, service: Service, leader: str, token: str | None) -> None:
        self._service, self._leader, self._token = service, leader, token
        self._clients: dict[str, Client] = {}
        self._compared: dict[str, int] = {}
        self.has_followed, self.failure = False, ""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="follower", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop copying, without waiting for a leader that does not answer."""
        self._stopping.set()
        self._thread.join(_PATIENCE)
        for client in list(self._clients.values()):  # the thread may still be removing some
            client.close()

    def _run(self) -> None:
        while not self._stopping.is_set():
            pause, told_before = 0.0, self.failure
            copied, self.failure = self._follow_all()
            self.has_followed = self.has_followed or not self.failure
            if not copied:
                pause = _PAUSE_AFTER_FAILURE if self.failure else _PAUSE
            if self.failure and self.failure != told_before and not self._stopping.is_set():
                _log.warning("following %s: %s", without_secret(self._leader), self.failure)
            self._stopping.wait(pause)

    def _follow_all(self) -> tuple[int, str]:
        """Copy new events; return their number, and the first failure, whatever it is.

        A project that fails does not keep the others from being followed, unless the leader does
        not answer.
        """
        copied, failures = 0, []
        try:
            names = self._client(".").neighbours()
            self._part_with_others({".", *names})
            for name in names:
                if self._stopping.is_set():
                    break
                try:
                    copied += self._follow(name)
                except Exception as failure:
                    if isinstance(failure, ServiceError) and failure.status == 0:
                        raise
                    failures.append(str(failure) or repr(failure))
        except Exception as failure:  # noqa: BLE001  it may pass
            failures.append(str(failure) or repr(failure))
        return copied, next(iter(failures), "")

    def _part_with_others(self, names: set[str]) -> None:
        """Close the connections for projects that the leader has removed."""
        for name in self._clients.keys() - names:
            self._clients.pop(name).close()
            self._compared.pop(name, None)

    def _client(self, name: str) -> Client:
        if name not in self._clients:
            self._clients[name] = Client(self._leader, name, token=self._token)
        return self._clients[name]

    def _follow(self, name: str) -> int:
        """Copy the new events of a project; return their number."""
        if name in self._service.damaged():
            return 0
        client, head = self._client(name), self._service.head(name)
        if head is not None and self._is_idle(client, name, head):
            return 0
        if not self._service.has(name):
            self._service.adopt(name, _rows(_fetch(client, 0).events))
        with self._service.using(name) as project:
            if project.failure is not None:
                return 0
            try:
                return self._copy(client, project)
            except DamagedLog as failure:
                project.stop(str(failure))
                raise

    def _copy(self, client: Client, project: Project) -> int:
        head = project.log.head
        found = _fetch(client, head - 1)
        [own] = project.log.read(head - 1, 1)
        rows = _rows(found.events)
        fresh = rows[1:]
        if not rows or (rows[0] != own and rows[0].kind != "forgotten"):
            raise DamagedLog(
                f"{project.name}: event {head} differs from the leader's, so the replica has "
                "diverged; remove its folder and restart to copy it again"
            )
        if fresh:
            project.log.copy(fresh).result()
        self._compare(project, found.fingerprints)
        if not fresh:
            stats = client.stats()
            if stats["head"] == head == stats["sequence"]:
                project.applied(head).result()
                sequence, own_fingerprint = project.fingerprint().result()
                _check(project, sequence, own_fingerprint, stats["fingerprint"])
                self._compared[project.name] = head
        return len(fresh)

    def _is_idle(self, client: Client, name: str, head: int) -> bool:
        """Whether the logs have been compared up to `head`, and the leader has no new event."""
        if self._compared.get(name) != head:
            return False
        news = _fetch(client, head, 1)  # without the last event, which may be large
        return news.head == head and not news.events

    def _compare(self, project: Project, theirs: dict[int, str]) -> None:
        if theirs:
            ours = project.log.fingerprints(min(theirs) - 1, len(theirs) + 1)
            for sequence in ours.keys() & theirs.keys():
                _check(project, sequence, ours[sequence], theirs[sequence])


def _check(project: Project, sequence: int, ours: str, theirs: str) -> None:
    if ours != theirs:
        raise DamagedLog(
            f"{project.name}: at event {sequence} the model differs from the leader's ({ours[:8]}… "
            f"and {theirs[:8]}…), so it no longer answers; remove its snapshots and restart"
        )


def _fetch(client: Client, after: int, most: int = _AT_ONCE) -> Events:
    content = client.content("GET", "/log", params={"after": max(0, after), "limit": most})
    try:
        return msgspec.json.decode(content, type=Events)
    except msgspec.MsgspecError as error:
        raise Problem(502, f"{client.url}: expected a log as the answer ({error})") from None


def _rows(events: list[Event]) -> list[Row]:
    rows = [Row(one.sequence, one.kind, one.name, bytes(one.body), one.at) for one in events]
    for row, event in zip(rows, events, strict=True):
        if row.checksum != event.checksum:
            raise Problem(502, f"event {row.sequence} was damaged in transit")
    return rows
