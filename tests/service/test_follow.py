"""Replicas: the leader's log, the leader's bytes, and divergence."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from labelgrove.client import Client
from labelgrove.service import Service, Settings, create_app
from labelgrove.service import _follow as follow
from labelgrove.service._problems import DamagedLog, Problem
from labelgrove.service._project import Project
from service.kit import SMALL, examples
from waiting import until


def has_caught_up(replica: Service, head: int) -> Callable[[], bool]:
    def holds() -> bool:
        if "demo" not in replica.names():
            return False
        try:
            with replica.using("demo") as project:
                return project.learner.sequence >= head
        except Problem:
            return False

    return holds


def fingerprint(service: Service) -> tuple[int, str]:
    with service.using("demo") as project:
        return project.fingerprint().result()


def test_a_replica_is_the_leader_to_the_byte_and_takes_its_place(
    address: str, service: Service, tmp_path: Path
) -> None:
    replica = Service(tmp_path / "replica", leader=address)
    with Client(address, "demo") as client:
        texts, labels = zip(*examples(120), strict=True)
        client.learn(texts[:60], labels[:60])
        replica.begin()
        until(has_caught_up(replica, 61))
        client.learn(texts[60:], labels[60:], [f"n{i}" for i in range(60, 120)])
        client.forget("n77")
        client.change_labels("merge", {"labels": ["cat", "dog"], "into": "pet"}, applied=True)
        until(has_caught_up(replica, 123))
        assert fingerprint(replica) == fingerprint(service)
        with replica.using("demo") as project:
            assert b"n77" not in project.log.path.read_bytes()
            assert project.log.examples == 119
    replica.close()
    promoted = Service(tmp_path / "replica")
    assert fingerprint(promoted) == fingerprint(service)
    promoted.close()


def test_a_replica_that_differs_stops_and_says_so(
    address: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Client(address, "demo") as client:
        texts, labels = zip(*examples(30), strict=True)
        client.learn(texts, labels, applied=True)
    replica = Service(tmp_path / "replica", leader=address)
    replica.begin()
    until(has_caught_up(replica, 31))
    with replica.using("demo") as project:
        until(lambda: project.log.head == 31)
        project.learner.model.rename_labels({"cat": "tom"})  # as a fault of its memory might
        project._fingerprint = (0, "")
        with Client(address, "demo") as client:
            client.learn(["one more"], [["owl"]], applied=True)
        until(lambda: project.failure)
        assert "the model differs from the leader's" in str(project.failure)
        with pytest.raises(Problem, match="differs"):
            project.suggest(["cat"], 1)
    replica.close()


def test_a_replica_of_another_log_stops(address: str, tmp_path: Path) -> None:
    replica = Service(tmp_path / "replica")
    replica.create("demo", Settings(name="another"))
    replica.close()
    replica = Service(tmp_path / "replica", leader=address)
    replica.begin()
    with replica.using("demo") as project:
        until(lambda: project.failure)
        assert "event 1 differs from the leader's" in str(project.failure)
    replica.close()


def test_a_replica_that_differs_is_found_out_again(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[str] = []

    def check(project: Project, *_: object) -> None:
        found.append(project.name)
        raise DamagedLog("it differs")

    monkeypatch.setattr("labelgrove.service._follow._check", check)
    replica = Service(tmp_path / "replica", leader=address)
    replica.begin()
    until(lambda: found)
    until(lambda: replica.held()[0].failure)
    with replica._alone("demo"):  # put away for lack of memory
        replica._open.pop("demo").close()
    until(lambda: len(found) > 1)
    until(lambda: replica.held()[0].failure)
    replica.close()


def test_an_idle_leader_is_not_asked_for_events_that_are_known(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[int] = []
    fetch = follow._fetch

    def record(*asked: Any) -> Any:
        found = fetch(*asked)
        fetched.append(len(found.events))
        return found

    monkeypatch.setattr(follow, "_fetch", record)
    replica = Service(tmp_path / "replica", leader=address)
    replica.begin()
    until(lambda: fetched[-3:] == [0, 0, 0])
    with Client(address, "demo") as client:
        client.learn(["one more"], [["owl"]], applied=True)
    until(has_caught_up(replica, 2))
    until(lambda: fetched[-3:] == [0, 0, 0])
    replica.close()


def test_a_project_that_cannot_be_followed_does_not_keep_the_others_from_it(
    address: str, service: Service, tmp_path: Path
) -> None:
    service.create("another", SMALL)
    (tmp_path / "projects" / "another" / "log.sqlite").mkdir(parents=True)
    replica = Service(tmp_path, leader=address)
    replica.begin()
    follower = replica.follower
    assert follower is not None
    until(has_caught_up(replica, 1))
    until(lambda: "another: cannot be opened" in follower.failure)
    assert not follower.has_followed
    replica.close()


def test_no_connection_is_kept_for_a_project_that_the_leader_removed(
    address: str, service: Service, tmp_path: Path
) -> None:
    service.create("another", SMALL)
    replica = Service(tmp_path / "replica", leader=address)
    replica.begin()
    follower = replica.follower
    assert follower is not None
    until(lambda: {"demo", "another"} <= follower._compared.keys())
    client = follower._clients["another"]
    service.delete("another")
    until(lambda: "another" not in follower._compared)  # the last trace of it
    assert client._http.is_closed and "another" not in follower._clients
    until(lambda: follower.failure == "")
    replica.close()


def test_a_log_that_cannot_be_read_does_not_keep_the_others_from_being_followed(
    address: str, service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(client: Client, *request: Any, **options: Any) -> bytes:
        return (
            b"<h1>Hello</h1>"
            if client.project == "another"
            else content(client, *request, **options)
        )

    content = Client.content
    monkeypatch.setattr(Client, "content", answer)
    service.create("another", SMALL)
    replica = Service(tmp_path / "replica", leader=address)
    replica.begin()
    follower = replica.follower
    assert follower is not None
    until(has_caught_up(replica, 1))
    until(lambda: "expected a log as the answer" in follower.failure)
    replica.close()


def test_a_leader_that_never_answers_delays_no_shutdown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("labelgrove.service._follow._PATIENCE", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        replica = Service(tmp_path, leader=f"http://127.0.0.1:{silent.getsockname()[1]}")
        replica.begin()
        follower = replica.follower
        assert follower is not None
        with silent.accept()[0]:
            before = time.monotonic()
            replica.close()
            assert time.monotonic() - before < 30
        follower._thread.join(30)  # its connection has been closed
    assert not follower._thread.is_alive() and "following" not in caplog.text


def test_readiness_tells_of_the_leader(address: str, tmp_path: Path) -> None:
    def health(replica: Service) -> tuple[int, str]:
        with TestClient(create_app(replica), base_url="http://127.0.0.1:8787") as client:
            answer = client.get("/health/ready")
        return answer.status_code, answer.json().get("detail", "")

    lost = Service(tmp_path / "lost", leader="http://me:lg_secret@127.0.0.1:9")
    lost.begin()
    status, detail = health(lost)
    assert status == 503 and "nothing was copied from the leader yet" in detail
    lost.close()
    replica = Service(tmp_path / "replica", leader=address)
    replica.begin()
    follower = replica.follower
    assert follower is not None
    until(lambda: follower.has_followed)
    assert health(replica) == (200, "")
    follower.close()  # it would find that there is no failure
    follower.failure = "no answer"
    assert health(replica) == (200, "the leader cannot be followed at present: no answer")
    replica.close()
