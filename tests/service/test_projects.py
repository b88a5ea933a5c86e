"""Projects: made, listed, opened, put away and removed."""

from __future__ import annotations

import errno
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from queue import Queue
from typing import Any

import httpx
import msgspec
import pytest
from starlette.testclient import TestClient

from cluster.kit import limited_files
from labelgrove import LabelGroveError, ParameterError
from labelgrove.service import Service, Settings, create_app, recover, serve
from labelgrove.service import _app as app
from labelgrove.service._database import connect, write_events
from labelgrove.service._events import Row
from labelgrove.service._history import History
from labelgrove.service._http import Context
from labelgrove.service._model import Learner
from labelgrove.service._problems import DamagedLog, Problem, ShuttingDown
from labelgrove.service._project import Project
from service.kit import DEMO, SMALL, additions, examples, refused, teach
from waiting import until


def test_projects_are_made_once_and_removed(client: TestClient) -> None:
    settings = {"name": "Second", "estimator": {"arity": 4}}
    assert client.put("/v1/projects/second", json=settings).status_code == 201
    assert client.put("/v1/projects/second", json=settings).status_code == 200
    refused(client.put("/v1/projects/second", json={}), 409, "other settings")
    told = client.get("/v1/projects/second/settings").json()
    assert told == {**settings, "text": {"preset": "words+stems"}}
    removed = client.delete("/v1/projects/second")
    assert (removed.status_code, removed.content) == (204, b"")
    refused(client.get("/v1/projects/second"), 404, "no project 'second'")
    for bad in ("UP", "-a", "a" * 64, "a.b", "..", "%2e%2e"):
        assert client.put(f"/v1/projects/{bad}", json={}).status_code in {404, 405, 422}, bad
    refused(client.put("/v1/projects/a", json={"estimator": {"arity": 1}}), 422, "arity")
    refused(
        client.put("/v1/projects/a", json={"estimator": {"arty": 1}}),
        422,
        "'arty' is not a parameter of OnlinePLTClassifier",
    )
    for name, value in (("n_jobs", "x"), ("threshold", "high"), ("epochs", -1)):
        refused(client.put("/v1/projects/a", json={"estimator": {name: value}}), 422, name)
    refused(client.put("/v1/projects/a", json={"text": {"token_pattern": "(a+)+"}}), 422)
    refused(client.put("/v1/projects/a", json={"txt": {}}), 422, "`txt`")


@pytest.mark.parametrize("restored", [False, True])
def test_a_project_whose_folder_was_removed_can_only_be_deleted(
    client: TestClient, service: Service, tmp_path: Path, restored: bool
) -> None:
    teach(client)
    assert client.post(f"{DEMO}/snapshots").status_code == 200
    [folder] = tmp_path.glob("served/projects/demo")
    copy = shutil.copytree(folder, tmp_path / "copy")
    shutil.rmtree(folder)
    if restored:  # the log that is open is still the removed one
        shutil.copytree(copy, folder)
    example = {"examples": [{"text": "cat", "labels": ["cat"]}]}
    for request in (
        client.post(f"{DEMO}/examples", json=example),
        client.post(f"{DEMO}/suggest", data={"text": "cat", "remember": 60}),
        client.post(f"{DEMO}/snapshots"),
        client.post(f"{DEMO}/rebuild"),
    ):
        refused(request, 500, "log.sqlite: was removed", "delete the project, or stop")
    assert client.get(f"{DEMO}/stats").json()["sequence"] == 101
    assert client.delete(DEMO).status_code == 204
    refused(client.get(DEMO), 404, "no project 'demo'")
    assert client.put(DEMO, json={}).status_code == 201


@pytest.mark.parametrize("given", [{"random_state": None}, {"warm_start_size": 0.5}])
def test_a_model_must_follow_from_its_log(client: TestClient, given: dict[str, Any]) -> None:
    answer = client.put("/v1/projects/other", json={"estimator": given})
    refused(answer, 422, next(iter(given)))


def test_a_project_is_removed_without_learning_what_waits(
    client: TestClient, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    advance, learnt = History.advance, list[int]()

    def advance_slowly(history: History, learner: Learner, rows: Sequence[Row]) -> None:
        if learnt:
            until(history.stopping)
        advance(history, learner, rows)
        learnt.append(len(rows))

    monkeypatch.setattr(History, "advance", advance_slowly)
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(teach, client, 200)  # and wait until they are applied
        until(lambda: learnt)
        assert client.delete(DEMO).status_code == 204
        with pytest.raises(AssertionError, match="is being deleted"):
            asked.result(20)
    assert sum(learnt) < 100 and service.names() == []


def test_a_service_is_ready_while_a_project_is_removed(
    client: TestClient, service: Service
) -> None:
    with ThreadPoolExecutor(1) as threads:
        with service.using("demo") as project:
            removed = threads.submit(client.delete, DEMO)
            until(lambda: project.failure)
            assert client.get("/health/ready").json() == {"status": "ready"}
        assert removed.result(20).status_code == 204


def test_a_project_in_use_is_confirmed_at_once(service: Service) -> None:
    with ThreadPoolExecutor(1) as threads, service.using("demo"):
        assert threads.submit(service.create, "demo", SMALL).result(20) is False
        with pytest.raises(Problem, match="other settings"):
            threads.submit(service.create, "demo", Settings(name="another")).result(20)


def test_a_project_is_removed_whatever_was_asked_of_it(
    client: TestClient, service: Service
) -> None:
    teach(client)
    change = {"names": {"cat": "tom"}}
    assert client.post(f"{DEMO}/labels/rename?wait=applied", json=change).status_code == 200
    stop = threading.Event()

    def keep_asking() -> None:
        while not stop.is_set() and client.get(f"{DEMO}/stats").status_code == 200:
            pass

    asking = [threading.Thread(target=keep_asking) for _ in range(3)]
    asking += [threading.Thread(target=client.post, args=(f"{DEMO}/rebuild",))]
    for one in asking:
        one.start()
    removed = threading.Thread(target=client.delete, args=(DEMO,))
    removed.start()
    removed.join(30)
    stop.set()
    for one in asking:
        one.join(30)
    assert not removed.is_alive() and service.names() == []


def test_requests_that_wait_for_a_project_do_not_hold_up_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("slow", "other"):
        with closing(Service(tmp_path)) as service:
            service.create(name, SMALL)
    service, ready = Service(tmp_path), threading.Event()
    really = service._opened

    def opened(name: str) -> Project:
        assert name == "other" or ready.wait(30)
        return really(name)

    monkeypatch.setattr(service, "_opened", opened)
    with (
        closing(service),
        TestClient(create_app(service), base_url="http://127.0.0.1:8787") as client,
        ThreadPoolExecutor(50) as threads,
    ):
        waiting = [threads.submit(client.get, "/v1/projects/slow/stats") for _ in range(49)]
        time.sleep(0.2)  # so that most of them have come
        other = threads.submit(client.get, "/v1/projects/other/stats")
        try:
            assert other.result(20).status_code == 200
        finally:
            ready.set()
        assert all(one.result().status_code == 200 for one in waiting)


def test_a_project_is_removed_while_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(Service(tmp_path)) as service:
        service.create("demo", SMALL)
        taught = examples(50)
        service.teach("demo", [text for text, _ in taught], [labels for _, labels in taught])
    for snapshot in tmp_path.rglob("*.lg"):
        snapshot.unlink()
    opening, events = threading.Event(), History.events

    def wait(self: History, after: int, upto: int) -> Any:
        opening.set()
        until(self.stopping)
        return events(self, after, upto)

    monkeypatch.setattr(History, "events", wait)
    with closing(Service(tmp_path)) as service, ThreadPoolExecutor(1) as threads:
        entered = threads.submit(service.enter, "demo")
        assert opening.wait(30)
        service.delete("demo")  # without waiting for the log to be learnt again
        with pytest.raises(Problem, match="no project 'demo'"):
            entered.result(20)
        assert service.names() == []


def test_who_comes_while_a_project_is_removed_finds_none(service: Service) -> None:
    with ThreadPoolExecutor(3) as threads:
        with service.using("demo"):
            removed = threads.submit(service.delete, "demo")
            until(lambda: "demo" in service._busy)
            for late in (service.enter, service.delete):  # they must not wait for the last user
                with pytest.raises(Problem, match="no project 'demo'"):
                    threads.submit(late, "demo").result(20)
            with pytest.raises(Problem, match="is being deleted"):
                threads.submit(service.create, "demo", SMALL).result(20)
        removed.result(20)
    assert service.create("demo", SMALL)


def test_lists_leave_out_what_is_removed_meanwhile(
    client: TestClient, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "names", lambda: ["demo", "gone"])
    assert [one["project_id"] for one in client.get("/v1/projects").json()["projects"]] == ["demo"]
    assert [one["vocab_id"] for one in client.get("/v1/vocabs").json()["vocabs"]] == ["demo"]


def test_the_metrics_of_a_deleted_project_disappear(client: TestClient, service: Service) -> None:
    service.create("other", SMALL)
    sent = {"examples": [{"text": "a cat", "labels": ["cat"]}]}
    assert client.post("/v1/projects/other/examples", json=sent).status_code == 200
    assert 'labelgrove_examples_total{project="other"} 1.0' in client.get("/metrics").text
    assert client.delete("/v1/projects/other").status_code == 204
    assert 'project="other"' not in client.get("/metrics").text


def test_a_project_that_cannot_be_opened_is_not_served_and_harms_no_other(tmp_path: Path) -> None:
    service = Service(tmp_path)
    for name in ("broken", "demo"):
        service.create(name, SMALL)
    service.close()
    path = tmp_path / "projects" / "broken" / "log.sqlite"
    with closing(connect(path)) as log:
        write_events(log, [Row(2, "learn", None, b'{"text": "", "labels": []}', 0)])
    deleted = tmp_path / "projects" / ".demo.0123456789abcdef"  # killed while deleting
    (deleted / "x").mkdir(parents=True)
    again = Service(tmp_path)
    again.begin()
    assert [one.name for one in again.held()] == ["demo"]
    assert not deleted.exists()
    assert not any("log of broken" in one.name for one in threading.enumerate())
    again.close()


def test_a_damaged_log_does_not_keep_the_others_from_being_served(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = Service(tmp_path)
    made.create("demo", SMALL)
    made.create("other", SMALL)
    made.close()
    log = tmp_path / "projects" / "demo" / "log.sqlite"
    log.write_bytes(b"not a database" * 100)
    service = Service(tmp_path)
    service.begin()
    assert "project demo is not served" in caplog.text
    with TestClient(create_app(service), base_url="http://127.0.0.1:8787") as client:
        assert [one["project_id"] for one in client.get("/v1/projects").json()["projects"]] == [
            "other"
        ]
        refused(client.get(DEMO), 500, "--recover demo")
        refused(client.put(DEMO, json={}), 500, "--recover demo")
        described = client.get("/openapi.json").json()["paths"]["/v1/projects/{project}"]
        assert all(
            "damaged" in one["responses"]["500"]["description"] for one in described.values()
        )
        ready = client.get("/health/ready")
        assert ready.status_code == 200 and "--recover demo" in ready.json()["detail"]
        assert 'labelgrove_failed{project="demo"} 1.0' in client.get("/metrics").text
        shutil.move(log.parent, tmp_path / "damaged")
        refused(client.get(DEMO), 404)
        assert client.get("/health/ready").json() == {"status": "ready"}
        shutil.move(tmp_path / "damaged", log.parent)
        assert client.delete("/v1/projects/other").status_code == 204
    service.close()
    service = Service(tmp_path)
    with pytest.raises(DamagedLog, match="--recover demo"):  # nothing left to serve
        service.begin()
    service.close()
    recover(log)
    log.touch()  # a project whose creation was interrupted has a log without events
    service = Service(tmp_path)
    service.begin()
    assert service.names() == [] and "the log has no events" in caplog.text
    with pytest.raises(Problem, match="there is no project 'demo'"):
        service.enter("demo")
    service.create_missing(["demo", "demo"])
    assert service.names() == ["demo"]
    service.close()


@pytest.mark.parametrize("most", [0, 4_096])
def test_a_project_is_not_created_on_a_full_disk(tmp_path: Path, most: int) -> None:
    service = Service(tmp_path)
    with limited_files(most), pytest.raises(Problem) as full:
        service.create_missing(["demo"])
    assert (full.value.status, str(full.value)) == (
        507,
        "demo: cannot be created (the disk is full)",
    )
    assert service.names() == []
    service.create_missing(["demo"])
    assert service.names() == ["demo"]
    service.close()


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (OSError(errno.EACCES, "Permission denied"), 503, "Permission denied"),
        (OSError(errno.ENOSPC, "No space left on device"), 507, "the disk is full"),
        (ParameterError("arity: no longer known"), 503, "arity: no longer known"),
    ],
)
def test_a_project_that_cannot_be_opened_is_told_of_until_it_can(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    status: int,
    reason: str,
) -> None:
    made = Service(tmp_path)
    made.create("demo", SMALL)
    made.create("other", SMALL)
    made.close()

    def refusing(path: Path, *, reading: bool = False) -> object:
        if path.parent.name == "demo" and not reading:
            raise error
        return connect(path, reading=reading)

    monkeypatch.setattr("labelgrove.service._log.connect", refusing)
    service = Service(tmp_path)
    service.begin()
    with TestClient(create_app(service), base_url="http://127.0.0.1:8787") as client:
        listed = client.get("/v1/projects").json()["projects"]
        assert [one["project_id"] for one in listed] == ["other"]
        refused(client.get(DEMO), status, "demo: cannot be opened", reason)
        ready = client.get("/health/ready")
        assert ready.status_code == 503 and reason in ready.json()["detail"]
        assert 'labelgrove_failed{project="demo"} 1.0' in client.get("/metrics").text
        assert caplog.text.count("project demo cannot be opened") == 1
        (tmp_path / "projects" / "demo").rename(tmp_path / "demo")
        assert client.get("/health/ready").json() == {"status": "ready"}
        (tmp_path / "demo").rename(tmp_path / "projects" / "demo")
        refused(client.get(DEMO), status)
        monkeypatch.undo()
        assert client.get("/health/ready").json() == {"status": "ready"}
        assert 'labelgrove_failed{project="demo"} 0.0' in client.get("/metrics").text
    service.close()


def test_projects_are_put_away_and_come_back(tmp_path: Path) -> None:
    service = Service(tmp_path, memory=1)
    sent = {"examples": [{"text": text, "labels": labels} for text, labels in examples(30)]}
    fingerprints = []
    with TestClient(create_app(service), base_url="http://localhost") as client:
        for name in ("a", "b", "c"):
            client.put(f"/v1/projects/{name}", json=msgspec.to_builtins(SMALL))
            client.post(f"/v1/projects/{name}/examples?wait=applied", json=sent)
            fingerprints.append(client.get(f"/v1/projects/{name}/stats").json()["fingerprint"])
        assert len(service.held()) < 3
        for name in ("c", "a", "b"):
            stats = client.get(f"/v1/projects/{name}/stats").json()
            assert stats["fingerprint"] == fingerprints[0]
            assert len(service.held()) == 1
    service.close()


def test_projects_that_grow_are_put_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("labelgrove.service._service._MEASURED_EVERY", 0.01)
    service = Service(tmp_path, memory=1)
    for name in ("a", "b"):
        service.create(name, SMALL)
    service.begin()
    assert len(service.held()) == 2  # neither has learnt anything
    sent = {"examples": [{"text": text, "labels": labels} for text, labels in examples(30)]}
    with TestClient(create_app(service), base_url="http://localhost") as client:
        client.post("/v1/projects/a/examples?wait=applied", json=sent)
        client.get("/v1/projects/b/stats")
        until(lambda: [project.name for project in service.held()] == ["b"])
        assert client.get("/v1/projects/a/stats").json()["examples_seen"] == 30
    service.close()
    assert not any(one.name == "memory of models" for one in threading.enumerate())


def test_projects_that_are_rebuilt_in_time_are_not_put_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rebuilding, go = threading.Event(), threading.Event()

    def rebuild(_: Project) -> None:
        rebuilding.set()
        go.wait(20)

    monkeypatch.setattr(Project, "rebuild", rebuild)
    service = Service(tmp_path, memory=1)
    service.create("a", msgspec.structs.replace(SMALL, rebuild_every=2))
    service.create("b", SMALL)
    service.teach("a", ["cat", "dog"], [["pets"], ["pets"]])
    with service.using("a") as project:
        project.applied(project.log.head).result(20)
    assert rebuilding.wait(20)
    for name in ("b", "a", "b"):
        with service.using(name):
            assert "a" in {one.name for one in service.held()}
    go.set()
    until(lambda: not project.is_at_work())
    with service.using("b"):
        assert [one.name for one in service.held()] == ["b"]
    service.close()


def test_projects_can_be_listed_while_one_is_put_away(tmp_path: Path) -> None:
    popping, listing, popped = threading.Event(), threading.Event(), threading.Event()

    class Open(dict[str, Project]):
        def pop(self, *name: Any) -> Any:
            popping.set()
            listing.wait(0.2)
            project = super().pop(*name)
            popped.set()
            return project

    class Going(set[str]):
        def __contains__(self, name: object) -> bool:
            if popping.is_set():
                listing.set()
                popped.wait(0.2)
            return super().__contains__(name)

    service = Service(tmp_path)
    for name in ("a", "b", "c"):
        service.create(name, SMALL)
    service.teach("b", ["cat"], [["pets"]])
    with service.using("b") as project:
        project.applied(project.log.head).result()
    service._open, service._going, service._memory = Open(service._open), Going(), 1
    putting_away = threading.Thread(target=service._make_room)
    putting_away.start()
    assert popping.wait(5)
    service.held()
    putting_away.join()
    assert [project.name for project in service.held()] == ["b"]
    service.close()


def test_the_memory_limit_includes_the_counts_of_words(tmp_path: Path) -> None:
    settings = msgspec.structs.replace(SMALL, text={"n_features": 2**20})  # 4 MiB each
    service = Service(tmp_path, memory=10_000_000)
    for name in ("a", "b", "c"):
        service.create(name, settings)
        service.teach(name, *zip(*examples(30), strict=True))
        with service.using(name) as project:
            project.applied(31).result()
            assert project.learner.bytes() < 1_000_000
    with service.using("c"):
        assert [project.name for project in service.held()] == ["b", "c"]
    service.close()


def test_projects_without_new_events_are_listed_and_followed_without_reading_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = Service(tmp_path, memory=1)
    opened: list[Path] = []

    def open_project(*given: Any, **options: Any) -> Project:
        opened.append(given[0])
        return Project(*given, **options)

    sent = {"examples": [{"text": text, "labels": labels} for text, labels in examples(30)]}
    with TestClient(create_app(service), base_url="http://localhost") as client:

        def learn(name: str) -> None:
            client.post(f"/v1/projects/{name}/examples?wait=applied", json=sent)

        for name in ("a", "b", "c"):
            client.put(f"/v1/projects/{name}", json=msgspec.to_builtins(SMALL))
            learn(name)
        before = client.get("/v1/projects").json()
        monkeypatch.setattr("labelgrove.service._service.Project", open_project)
        monkeypatch.setattr("labelgrove.service._service.has_events", opened.append)
        monkeypatch.setattr("labelgrove.service._log.events_after", None)
        assert client.get("/v1/projects").json() == before
        for name in ("a", "c"):
            assert client.get(f"/v1/projects/{name}/log?after=31").json() == {
                "head": 31,
                "events": [],
                "fingerprints": {},
            }
        assert not opened
        monkeypatch.undo()
        learn("a")
        learn("b")
        after = client.get("/v1/projects").json()["projects"]
        changed = [
            name["modification_time"] > was["modification_time"]
            for name, was in zip(after, before["projects"], strict=True)
        ]
        assert changed == [True, True, False]
        assert len(client.get("/v1/projects/a/log?after=31").json()["events"]) == 30
        client.delete("/v1/projects/a")
        client.put("/v1/projects/a", json=msgspec.to_builtins(SMALL) | {"name": "another"})
        for name in ("a", "a", "b"):  # to the same number of events, and away
            learn(name)
        assert client.get("/v1/projects").json()["projects"][0]["name"] == "another"
    service.close()


def test_what_waits_to_be_written_counts_when_a_project_is_put_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, close = Service(tmp_path, memory=1), Project.close

    def close_late(project: Project) -> None:
        project.log.append(additions(1))  # of a client that no longer waits for the answer
        assert service.head(project.name) is None  # nobody can know yet
        close(project)

    for name in ("a", "b"):
        service.create(name, SMALL)
        service.teach(name, *zip(*examples(30), strict=True))
    with service.using("a") as a, service.using("b") as b:
        for project in (a, b):
            project.applied(31).result(30)
        monkeypatch.setattr(Project, "close", close_late)
    for head in (32, 33):
        with service.using("b"):  # puts the other away
            assert service.head("a") == head
        assert service.names() == ["a", "b"]
        with service.using("a") as project:
            assert project.log.head == service.head("a") == head
    monkeypatch.undo()
    service.close()


def test_nobody_waits_for_a_project_that_is_behind_to_be_put_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, advance, go = Service(tmp_path, memory=1), History.advance, threading.Event()
    for name in ("a", "b"):
        service.create(name, SMALL)
        service.teach(name, *zip(*examples(30), strict=True))
        with service.using(name) as project:
            project.applied(31).result(30)

    def wait(*given: Any) -> None:
        assert go.wait(30)
        advance(*given)

    monkeypatch.setattr(History, "advance", wait)
    service.teach("a", ["a cat"], [["cat"]])
    with ThreadPoolExecutor(1) as threads:
        try:
            threads.submit(service.teach, "b", ["a cat"], [["cat"]]).result(10)
        finally:
            go.set()
    with service.using("a") as a, service.using("b") as b:
        for project in (a, b):
            project.applied(32).result(30)
    with service.using("a"):
        assert [one.name for one in service.held()] == ["a"]
    service.close()


def test_one_process_serves_a_directory(service: Service, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="another process is already serving this directory"):
        Service(tmp_path / "served")
    assert service.names() == ["demo"]
    with service.using("demo") as project:
        assert project.settings.estimator == SMALL.estimator != Settings().estimator


@pytest.fixture
def served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., tuple[Any, app._Server, str]]]:
    """Serve in a thread, to which no signal comes."""
    made, address = Queue[app._Server](), Queue[str]()

    class Server(app._Server):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            made.put(self)

    monkeypatch.setattr(app, "_Server", Server)
    monkeypatch.setattr(app, "_SIGNALS", ())
    with ThreadPoolExecutor(1) as threads:
        yield lambda service, begin: (
            threads.submit(serve, service, "127.0.0.1", 0, address.put, begin),
            made.get(timeout=30),
            address.get(timeout=30),
        )


def test_who_opens_projects_is_alive_but_not_ready(served: Any, tmp_path: Path) -> None:
    go = threading.Event()
    running, server, at = served(Service(tmp_path), lambda: go.wait(30))
    try:
        assert httpx.get(f"{at}/health/live").status_code == 200
        refused = httpx.get(f"{at}/health/ready")
        assert refused.status_code == 503 and "still being opened" in refused.json()["detail"]
    finally:
        go.set()
    until(lambda: httpx.get(f"{at}/health/ready").is_success)
    server.should_exit = True
    running.result(30)


def test_nothing_is_served_if_no_project_can_be(served: Any, tmp_path: Path) -> None:
    def fail() -> None:
        raise DamagedLog("all logs are damaged")

    running, _, _ = served(Service(tmp_path), fail)
    with pytest.raises(DamagedLog, match="all logs are damaged"):
        running.result(30)


def test_no_project_is_opened_or_made_if_nothing_can_be_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It would take a while, for nothing."""
    monkeypatch.setattr(app, "_SIGNALS", ())  # none comes to a thread
    begun: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as taken, ThreadPoolExecutor(1) as thread:
        for at, why in (
            (taken.getsockname(), r":\d+; is it already in use\?"),
            (("192.0.2.1", 0), r"192\.0\.2\.1:0 \(.*bind.*\)"),  # of no machine
        ):
            running = thread.submit(
                serve, Service(tmp_path), *at, begun.append, lambda: begun.append("begin")
            )
            with pytest.raises(LabelGroveError, match=f"cannot listen on .*{why}$"):
                running.result(30)
    assert begun == []
    assert not [one for one in caplog.records if one.name.startswith("uvicorn")]


def test_nobody_waits_for_projects_when_the_service_ends(
    served: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long their logs take to learn."""
    service, opening, waiting = Service(tmp_path), threading.Event(), threading.Event()
    for name in ("demo", "other"):
        service.create(name, SMALL)
    service.close()

    def replay(self: History, upto: int) -> None:
        opening.set()
        until(self.stopping)
        raise ShuttingDown

    async def entered(context: Context, name: str) -> Project:
        waiting.set()
        return await enter(context, name)

    enter = Context.entered
    monkeypatch.setattr(Context, "entered", entered)
    monkeypatch.setattr(History, "model_at", replay)
    service = Service(tmp_path)
    running, server, at = served(service, service.begin)
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(httpx.get, f"{at}{DEMO}/stats", timeout=30)
        assert opening.wait(30) and waiting.wait(30)
        server.should_exit = True
        refused(asked.result(), 503, "shutting down")
    running.result(30)
    assert service.held() == [] and service.unopened() == {}


@pytest.mark.parametrize("is_new", [True, False])
def test_nobody_waits_for_a_replay_when_the_service_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_new: bool
) -> None:
    service = Service(tmp_path)
    service.create("demo", SMALL)
    if not is_new:
        service.close()
        service = Service(tmp_path)
    events, asked = History.events, list[Callable[[], bool]]()

    def note(self: History, after: int, upto: int) -> Any:
        asked.append(self.stopping)
        return events(self, after, upto)

    with service.using("demo") as project:
        service.teach("demo", *zip(*examples(30), strict=True))
        monkeypatch.setattr(History, "events", note)
        project.applied(project.log.forget("@7").result().sequence).result(30)
    assert len(asked) == 1 and not asked[0]()
    service.close()
    assert asked[0]()


def test_nobody_waits_for_rebuilds_when_the_service_ends(
    served: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, begun, stopped = Service(tmp_path), threading.Event(), threading.Event()
    service.create("demo", SMALL)

    def rebuild(_: Project) -> None:
        begun.set()
        assert stopped.wait(30)
        raise Problem(503, "rebuild: stopped")

    monkeypatch.setattr(Project, "rebuild", rebuild)
    monkeypatch.setattr(Project, "stop_building", lambda _: stopped.set())
    running, server, at = served(service, lambda: None)
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(httpx.post, f"{at}{DEMO}/rebuild", timeout=60)
        assert begun.wait(30)
        server.should_exit = True
        refused(asked.result(), 503, "stopped")
    running.result(30)


def test_nobody_waits_for_a_body_when_the_service_ends(
    served: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "_LAST_BODY_SECONDS", 0.01)
    service = Service(tmp_path)
    service.create("demo", SMALL)
    running, server, at = served(service, lambda: None)
    host, _, port = at.removeprefix("http://").partition(":")
    head = f"POST {DEMO}/learn HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n["
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(head.encode())
        time.sleep(0.2)  # so that it has come
        server.should_exit = True
        running.result(10)
