"""The service over HTTP: Annif's contract, our own resources, and refusals."""

from __future__ import annotations

import asyncio
import errno
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.testclient import TestClient

from labelgrove import ParameterError
from labelgrove.service import Service, Settings, _resources, create_app, recover
from labelgrove.service import _app as app
from labelgrove.service import _http as http
from labelgrove.service._database import connect, write_events
from labelgrove.service._events import Learnt, Row
from labelgrove.service._log import Addition, Log
from labelgrove.service._model import Learner
from labelgrove.service._problems import DamagedLog, Problem
from labelgrove.service._project import Project
from labelgrove.service._snapshots import Snapshot
from service.kit import SMALL, additions, examples

DEMO = "/v1/projects/demo"


def teach(client: TestClient, count: int = 100, seed: int = 0) -> dict[str, Any]:
    sent = [{"text": text, "labels": labels} for text, labels in examples(count, seed)]
    answer = client.post(f"{DEMO}/examples?wait=applied", json={"examples": sent})
    assert answer.status_code == 200, answer.text
    return answer.json()


def suggestions(client: TestClient, text: str, **options: Any) -> list[str]:
    answer = client.post(f"{DEMO}/suggest", data={"text": text, **options})
    assert answer.status_code == 200, answer.text
    return [one["uri"] for one in answer.json()["results"]]


def refused(answer: Any, status: int, *words: str) -> None:
    """A problem with this status, described in one sentence."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == status and problem["title"]
    for word in words:
        assert word in problem["detail"]
    assert "\n" not in problem["detail"]


# --- Annif's contract ----------------------------------------------------------------------------


def test_a_project_as_annif_sees_it(client: TestClient) -> None:
    assert set(client.get("/v1/").json()) == set(client.get("/v1").json()) == {"title", "version"}
    [listed] = client.get("/v1/projects").json()["projects"]
    assert listed == client.get(DEMO).json()
    assert listed["modification_time"].endswith("+00:00")
    del listed["modification_time"]
    assert listed == {
        "project_id": "demo",
        "name": "demo",
        "language": "en",
        "backend": {"backend_id": "labelgrove"},
        "vocab": {"vocab_id": "demo", "languages": ["en"], "size": 0, "loaded": True},
        "vocab_language": "en",
        "is_trained": False,
    }
    assert client.get("/v1/vocabs").json() == {"vocabs": [listed["vocab"]]}
    teach(client)
    assert client.get(DEMO).json()["is_trained"]


def test_suggestions_as_annif_asks_for_them(client: TestClient) -> None:
    teach(client, 300)
    form = {"text": "cat cat cat", "limit": "3", "project": "x", "metadata_title": "y"}
    [first, *others] = client.post(f"{DEMO}/suggest", data=form).json()["results"]
    kind = {"content-type": "application/x-www-form-urlencoded"}
    answer = client.post(f"{DEMO}/suggest", content="text=käse".encode(), headers=kind)
    assert answer.status_code == 200  # as curl -d sends it
    assert first["uri"] == first["label"] == "cat" and first["notation"] is None
    assert 0 < first["score"] <= 1 and len(others) == 2
    assert suggestions(client, "cat cat cat", threshold=0.99, limit=9) in ([], ["cat"])
    assert suggestions(client, "cat", limit=0) == []
    documents = [{"text": "cat cat", "document_id": "7"}, {"text": "dog dog", "metadata": {}}]
    [one, two] = client.post(f"{DEMO}/suggest-batch?limit=1", json={"documents": documents}).json()
    assert (one["document_id"], two["document_id"]) == ("7", None)
    assert [one["results"][0]["uri"], two["results"][0]["uri"]] == ["cat", "dog"]
    refused(client.post(f"{DEMO}/suggest", data={"text": "x", "language": "fi"}), 400, "'en'")
    refused(client.post(f"{DEMO}/suggest", data={"limit": 3}), 400, "form: ", "`text`")
    refused(client.post(f"{DEMO}/suggest", data={"text": "a", "limit": "many"}), 400, "limit")
    many = {"documents": [{"text": "a"}] * 33}
    refused(client.post(f"{DEMO}/suggest-batch", json=many), 422, "32")


def test_learning_as_annif_has_it_says_what_was_skipped(client: TestClient) -> None:
    sent = [
        {"text": "a raven", "subjects": [{"uri": "u:raven", "label": "Raven"}]},
        {"text": "no subjects"},
        {"subjects": [{"uri": "u:no-text"}]},
    ]
    answer = client.post(f"{DEMO}/learn?wait=applied", json=sent)
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["LabelGrove-Skipped"] == "2"
    assert suggestions(client, "raven") == ["u:raven"]


def test_languages_are_not_guessed(client: TestClient) -> None:
    asked = {"text": "Was ist das?", "languages": ["de", "en"]}
    answer = client.post("/v1/detect-language", json=asked)
    assert answer.json() == {"results": [{"language": None, "score": 1.0}]}


def test_suggestions_keep_to_the_vocabulary(client: TestClient) -> None:
    words = [
        {"id": "cat", "label": {"fi": "kissa", "en": "Cat"}, "notation": "59.9"},
        {"id": "owl", "name": "pöllö"},  # as it was called at first
        {"id": "tapir", "label": "tapiiri", "alternative": ["Tapirus"], "broader": ["animal"]},
    ]
    made = client.put("/v1/projects/named", json={"vocabulary": words, "language": "fi"})
    assert made.status_code == 201
    assert made.json()["vocab"]["size"] == 3
    assert made.json()["vocab"]["languages"] == ["fi", "en"]
    sent = [{"text": text, "labels": labels} for text, labels in examples(100)]
    client.post("/v1/projects/named/examples?wait=applied", json={"examples": sent})

    def suggested(**form: str) -> set[tuple[str, str, str | None]]:
        sent = {"text": "cat dog owl", **form}
        answer = client.post("/v1/projects/named/suggest", data=sent).json()
        return {(one["uri"], one["label"], one["notation"]) for one in answer["results"]}

    both = {("cat", "kissa", "59.9"), ("owl", "pöllö", None)}
    assert suggested() == suggested(language="fi") == both
    assert ("cat", "Cat", "59.9") in suggested(language="en")
    wrong = client.post("/v1/projects/named/suggest", data={"text": "a", "language": "sv"})
    refused(wrong, 400, "'fi' or 'en'")
    change = {"names": {"cat": "puss"}}
    client.post("/v1/projects/named/labels/rename?wait=applied", json=change)
    assert suggested() == both - {("cat", "kissa", "59.9")}
    found = client.get("/v1/projects/named/labels?search=tapirus").json()
    assert found["labels"] == [
        {"id": "tapir", "name": "tapiiri", "examples": 0, "deprecated": False}
    ]
    twice = {"vocabulary": [words[0], words[0]]}
    refused(client.put("/v1/projects/twice", json=twice), 422, "'cat' occurs twice")
    refused(client.put("/v1/projects/none", json={"names": "met"}), 422, "expected a vocabulary")


# --- our own resources ---------------------------------------------------------------------------


def test_projects_are_made_once_and_removed(client: TestClient) -> None:
    settings = {"name": "Second", "estimator": {"arity": 4}}
    assert client.put("/v1/projects/second", json=settings).status_code == 201
    assert client.put("/v1/projects/second", json=settings).status_code == 200
    refused(client.put("/v1/projects/second", json={}), 409, "other settings")
    told = client.get("/v1/projects/second/settings").json()
    assert told == {**settings, "text": {"preset": "words+stems"}}
    assert client.delete("/v1/projects/second").status_code == 204
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


def test_examples_have_names_and_are_forgotten(client: TestClient, service: Service) -> None:
    other = {"examples": [{"text": "quagga", "labels": ["zebra"], "id": "q1"}]}
    teach(client, 50)
    before = client.get(f"{DEMO}/stats").json()
    assert client.post(f"{DEMO}/examples", json=other).json()["examples"] == 1
    assert client.post(f"{DEMO}/examples", json=other).json()["known"] == 1
    stored = client.get(f"{DEMO}/examples/q1").json()
    assert (stored["text"], stored["labels"], stored["sequence"]) == ("quagga", ["zebra"], 52)
    assert client.get(f"{DEMO}/examples/@52").json() == stored
    other["examples"][0]["text"] = "changed"
    refused(client.post(f"{DEMO}/examples", json=other), 409, "examples[0]", "'q1'")
    assert client.delete(f"{DEMO}/examples/q1?wait=applied").json()["sequence"] == 53
    refused(client.get(f"{DEMO}/examples/q1"), 404)
    refused(client.delete(f"{DEMO}/examples/q1"), 404)
    after = client.get(f"{DEMO}/stats").json()
    assert (after["fingerprint"], after["examples"]) == (before["fingerprint"], 50)
    assert (after["sequence"], after["head"], after["examples_seen"]) == (53, 53, 50)


def test_a_key_makes_requests_safe_to_repeat(client: TestClient) -> None:
    sent = {"examples": [{"text": "a", "labels": ["b"]}]}
    first = client.post(f"{DEMO}/examples", json=sent, headers={"Idempotency-Key": "k"}).json()
    again = client.post(f"{DEMO}/examples", json=sent, headers={"Idempotency-Key": "k"}).json()
    assert again == {**first, "repeated": True}
    sent["examples"][0]["text"] = "c"
    answer = client.post(f"{DEMO}/examples", json=sent, headers={"Idempotency-Key": "k"})
    refused(answer, 422, "'k'")
    assert client.get(f"{DEMO}/stats").json()["head"] == 2
    assert 'labelgrove_examples_total{project="demo"} 1.0' in client.get("/metrics").text


def test_labels_are_listed_renamed_merged_removed_and_deprecated(client: TestClient) -> None:
    teach(client, 300)
    listed = client.get(f"{DEMO}/labels?limit=3&search=O").json()
    assert listed["total"] == 5 and len(listed["labels"]) == 3  # dog fox goat mole owl
    change = client.post(f"{DEMO}/labels/rename?wait=applied", json={"names": {"cat": "tom"}})
    assert suggestions(client, "cat cat")[0] == "tom"
    assert change.json()["sequence"] == 302
    taken = client.post(f"{DEMO}/labels/rename", json={"names": {"tom": "dog"}})
    refused(taken, 409, "merge them instead")
    unknown = client.post(f"{DEMO}/labels/remove", json={"labels": ["unicorn"]})
    refused(unknown, 404, "'unicorn'")
    client.post(f"{DEMO}/labels/merge?wait=applied", json={"labels": ["tom", "dog"], "into": "pet"})
    assert suggestions(client, "cat cat")[0] == "pet"
    client.post(f"{DEMO}/labels/deprecate?wait=applied", json={"labels": ["pet"]})
    assert "pet" not in suggestions(client, "cat cat", limit=20)
    [pet] = client.get(f"{DEMO}/labels?search=pet").json()["labels"]
    assert pet["deprecated"]
    client.put(f"{DEMO}/thresholds?wait=applied", json={"default": 0.25, "values": {"owl": 0.5}})
    refused(client.put(f"{DEMO}/thresholds", json={"default": 0.9}), 422, "expected `values`")
    cuts = client.get(f"{DEMO}/thresholds").json()
    assert (cuts["default"], cuts["values"]["owl"], cuts["values"]["fox"]) == (0.25, 0.5, 0.25)


def test_everything_can_be_asked_while_it_learns(client: TestClient, service: Service) -> None:
    teach(client, 10)
    head = service.teach("demo", *zip(*examples(4000, 1), strict=True))
    applied = 0
    while applied < head:
        for path in (DEMO, "/metrics", f"{DEMO}/labels", f"{DEMO}/thresholds", "/health/ready"):
            answer = client.get(path)
            assert answer.status_code == 200, (path, answer.text)
        answer = client.post(f"{DEMO}/suggest", data={"text": "cat"})
        sequence = int(answer.headers["LabelGrove-Sequence"])
        assert applied <= sequence
        applied = sequence


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


def test_who_comes_while_a_project_is_removed_finds_none(service: Service) -> None:
    with ThreadPoolExecutor(3) as threads:
        with service.using("demo"):
            removed = threads.submit(service.delete, "demo")
            while "demo" not in service._busy:
                time.sleep(0.001)
            for late in (service.enter, service.delete):  # they must not wait for the last user
                with pytest.raises(Problem, match="no project 'demo'"):
                    threads.submit(late, "demo").result(20)
            with pytest.raises(Problem, match="is being deleted"):
                threads.submit(service.create, "demo", SMALL).result(20)
        removed.result()
    assert service.create("demo", SMALL)


def test_the_label_that_is_called_just_so_is_listed_first(client: TestClient) -> None:
    sent = [{"text": "a", "labels": ["Cat", *(f"cat food {i}" for i in range(9))]}]
    sent += [{"text": "b", "labels": [f"cat food {i}" for i in range(9)]}]
    client.post(f"{DEMO}/examples?wait=applied", json={"examples": sent})
    found = client.get(f"{DEMO}/labels?search=cat&limit=2").json()
    assert found["total"] == 10
    assert [one["id"] for one in found["labels"]] == ["Cat", "cat food 0"]


def test_two_labels_cannot_get_one_name_at_the_same_time(client: TestClient) -> None:
    teach(client)
    url, names = f"{DEMO}/labels/rename?wait=applied", ["cat", "dog"]
    with ThreadPoolExecutor(2) as threads:
        for turn in range(10):
            changes = [{"names": {old: f"new{turn}"}} for old in names]
            answers = [threads.submit(client.post, url, json=change) for change in changes]
            statuses = [one.result().status_code for one in answers]
            assert sorted(statuses) == [200, 409]
            names = [f"new{turn}", names[statuses.index(409)]]


def test_lists_leave_out_what_is_removed_meanwhile(
    client: TestClient, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "names", lambda: ["demo", "gone"])
    assert [one["project_id"] for one in client.get("/v1/projects").json()["projects"]] == ["demo"]
    assert [one["vocab_id"] for one in client.get("/v1/vocabs").json()["vocabs"]] == ["demo"]


def test_a_snapshot_on_a_full_disk_is_refused(
    client: TestClient, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def save(_: object, path: Path) -> None:
        path.write_bytes(b"a half")
        raise OSError(errno.ENOSPC, "No space left on device")

    teach(client)
    monkeypatch.setattr(Learner, "save", save)
    refused(client.post(f"{DEMO}/snapshots"), 507, "the disk is full")
    monkeypatch.undo()
    assert client.get(f"{DEMO}/snapshots").json() == {"snapshots": []}
    taken = client.post(f"{DEMO}/snapshots").json()
    assert len(taken["snapshots"]) == 1
    listed, gone = Project.snapshots, Snapshot(1, "0" * 64, Path("removed meanwhile"))
    monkeypatch.setattr(Project, "snapshots", lambda project: [*listed(project), gone])
    assert client.get(f"{DEMO}/snapshots").json() == taken


def test_a_project_in_use_is_confirmed_at_once(service: Service) -> None:
    with ThreadPoolExecutor(1) as threads, service.using("demo"):
        assert threads.submit(service.create, "demo", SMALL).result(20) is False
        with pytest.raises(Problem, match="other settings"):
            threads.submit(service.create, "demo", Settings(name="another")).result(20)


def test_a_name_that_is_taken_meanwhile(
    client: TestClient, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    teach(client, 20)
    known_labels = _resources._known_labels

    async def overtaken(call: Any, asked: Any) -> Any:
        known = await known_labels(call, asked)
        with service.using("demo") as project:
            if project.log.head < 22:
                project.log.append([Addition("learn", Learnt("whale", ["orca"]))]).result()
        return known

    monkeypatch.setattr(_resources, "_known_labels", overtaken)
    body = {"names": {"cat": "orca"}}
    refused(client.post(f"{DEMO}/labels/rename?wait=applied", json=body), 409, "same name")
    labels = [one["id"] for one in client.get(f"{DEMO}/labels").json()["labels"]]
    assert {"cat", "orca"} <= {*labels}


def test_why(client: TestClient) -> None:
    assert client.post(f"{DEMO}/explain", json={"text": "cat"}).json() == {"labels": []}
    teach(client, 200)
    asked = {"text": "cat cat owl", "label": "cat"}
    [cat] = client.post(f"{DEMO}/explain", json=asked).json()["labels"]
    assert cat["label"] == "cat" and cat["reasons"][0]["feature"] == "cat"
    assert cat["reasons"][0]["weight"] > 0
    refused(client.post(f"{DEMO}/explain", json={"text": "a", "label": "no"}), 422, "no")

    def explained() -> list[str]:
        answer = client.post(f"{DEMO}/explain", json={"text": "cat cat owl", "limit": 2})
        return [one["label"] for one in answer.json()["labels"]]

    assert explained()[0] == "cat"
    client.post(f"{DEMO}/labels/deprecate?wait=applied", json={"labels": ["cat"]})
    assert len(explained()) == 2 and "cat" not in explained()


def test_feedback_days_later(client: TestClient) -> None:
    teach(client, 20)
    asked = client.post(f"{DEMO}/suggest", data={"text": "a gnu", "remember": 600})
    given = {"id": asked.headers["LabelGrove-Suggestion"], "labels": ["gnu"]}
    assert client.post(f"{DEMO}/feedback?wait=applied", json=given).json()["examples"] == 1
    assert client.post(f"{DEMO}/feedback", json=given).json()["known"] == 1
    assert suggestions(client, "gnu")[0] == "gnu"
    for unknown in ("x", "@3"):
        other = {"id": unknown, "labels": ["a"]}
        refused(client.post(f"{DEMO}/feedback", json=other), 404, f"'{unknown}'")
    given["labels"] = ["cow"]
    refused(client.post(f"{DEMO}/feedback", json=given), 409, "already has other labels")
    key = {"Idempotency-Key": "f"}
    asked = client.post(f"{DEMO}/suggest", data={"text": "a yak", "remember": 600})
    given = {"id": asked.headers["LabelGrove-Suggestion"], "labels": ["yak"]}
    first, again = (
        client.post(f"{DEMO}/feedback", json=given, headers=key).json() for _ in range(2)
    )
    assert first["examples"] == 1 and again == {**first, "repeated": True}
    given["labels"] = ["gnu"]
    refused(client.post(f"{DEMO}/feedback", json=given, headers=key), 422, "another request")
    refused(client.post(f"{DEMO}/suggest", data={"text": "", "remember": 9}), 422, "to remember")


def test_labels_are_changed_as_all_durable_examples_have_them(
    client: TestClient, service: Service
) -> None:
    teach(client, 20)
    hold = threading.Event()
    with service.using("demo") as project, ThreadPoolExecutor(1) as other:
        held = project._do(hold.wait)
        sent = {"examples": [{"text": "a raven", "labels": ["raven"]}]}
        assert client.post(f"{DEMO}/examples", json=sent).status_code == 200
        key = {"Idempotency-Key": "k"}
        renamed = {"names": {"raven": "crow"}}
        asked = other.submit(client.post, f"{DEMO}/labels/rename", json=renamed, headers=key)
        hold.set()
        held.result(20)
        assert asked.result(20).status_code == 200
    assert suggestions(client, "raven")[0] == "crow"
    again = client.post(f"{DEMO}/labels/rename", json=renamed, headers=key)
    assert again.json()["repeated"]
    removed = {"labels": ["crow"]}
    key = {"Idempotency-Key": "l"}
    assert client.post(f"{DEMO}/labels/deprecate", json=removed, headers=key).status_code == 200
    refused(client.post(f"{DEMO}/labels/remove", json=removed, headers=key), 422, "another request")


def test_the_metrics_of_a_deleted_project_disappear(client: TestClient, service: Service) -> None:
    service.create("other", SMALL)
    assert 'project="other"' in client.get("/metrics").text
    service.delete("other")
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


@pytest.mark.parametrize("given", [{"random_state": None}, {"warm_start_size": 0.5}])
def test_a_model_must_follow_from_its_log(client: TestClient, given: dict[str, Any]) -> None:
    answer = client.put("/v1/projects/other", json={"estimator": given})
    refused(answer, 422, next(iter(given)))


def test_the_log_snapshots_and_health(client: TestClient) -> None:
    teach(client, 5)
    events = client.get(f"{DEMO}/log?after=1&limit=2").json()
    assert events["head"] == 6 and [one["sequence"] for one in events["events"]] == [2, 3]
    [taken] = client.post(f"{DEMO}/snapshots").json()["snapshots"]
    stats = client.get(f"{DEMO}/stats").json()
    assert (taken["sequence"], taken["fingerprint"]) == (6, stats["fingerprint"])
    assert client.get(f"{DEMO}/log?after=5").json()["fingerprints"]["6"] == taken["fingerprint"]
    refused(client.post(f"{DEMO}/rebuild"), 409, "expected at least 20")
    assert client.get("/health/live").json() == {"status": "live"}
    assert client.get("/health/ready").json() == {"status": "ready"}
    metrics = client.get("/metrics").text
    assert 'labelgrove_applied_sequence{project="demo"} 6.0' in metrics
    assert 'labelgrove_examples_total{project="demo"} 5.0' in metrics
    assert "labelgrove_request_seconds_bucket" in metrics


# --- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"{", 400, "not valid JSON"),
        (b"[]", 422, "object"),
        (b'{"examples": []}', 422, "examples"),
        (b'{"examples": [{"text": "a", "labels": []}]}', 422, "examples[0].labels"),
        (b'{"examples": [{"text": "", "labels": ["a"]}]}', 422, "examples[0].text"),
        (b'{"examples": [{"text": "a", "labels": [7]}]}', 422, "examples[0].labels[0]"),
        (b'{"examples": [{"text": "a", "labels": ["b"], "id": "@7"}]}', 422, "examples[0].id"),
        (b'{"examples": [{"text": "a", "labels": ["b"], "id": "a/b"}]}', 422, "without slashes"),
        (b'{"examples": [{"text": "\xff", "labels": ["b"]}]}', 400, "utf-8"),
        (b'{"examples": [{"text": "a", "labels": ["b"], "x": 1}]}', 422, "`x`"),
    ],
)
def test_what_is_wrong_is_named(client: TestClient, body: bytes, status: int, words: str) -> None:
    sent = client.post(
        f"{DEMO}/examples", content=body, headers={"content-type": "application/json"}
    )
    refused(sent, status, words)
    assert client.get(f"{DEMO}/stats").json()["head"] == 1


def test_bounds(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = b'[{"text": "a", "subjects": [], "metadata": {"x": %s}}]' % (b"[" * 9_999 + b"]" * 9_999)
    kind = {"content-type": "application/json"}
    refused(client.post(f"{DEMO}/learn", content=deep, headers=kind), 400, "too deeply")
    many = {"text": "a", **{f"field{i}": "" for i in range(1000)}}
    refused(client.post(f"{DEMO}/suggest", data=many), 400, "form", "fields")
    refused(client.post(f"{DEMO}/explain", json={"text": "a" * 100_001}), 422, "100000")
    monkeypatch.setattr(http, "MOST_BYTES", 1000)
    refused(client.post(f"{DEMO}/suggest", data={"text": "a" * 1000}), 413, "1000")
    pieces = client.post(f"{DEMO}/learn", content=iter([b"a" * 600] * 2), headers=kind)
    refused(pieces, 413, "1000")
    refused(client.post(f"{DEMO}/examples", content=b"{}"), 415, "application/json")
    refused(client.post(f"{DEMO}/suggest", json={}), 415, "form")
    refused(client.get("/nowhere"), 404, "/openapi.json")
    refused(client.get(f"{DEMO}/suggest"), 405)
    allowed = client.post(DEMO, json={}).headers["Allow"].split(", ")
    assert {"GET", "HEAD", "PUT", "DELETE"} <= set(allowed)

    def full(*_: Any) -> None:
        raise Problem(429, "too much waits")

    monkeypatch.setattr(Log, "append", full)
    sent = {"examples": [{"text": "a", "labels": ["b"]}]}
    answer = client.post(f"{DEMO}/examples", json=sent)
    refused(answer, 429)
    assert answer.headers["Retry-After"] == "1"


def test_who_dawdles_or_never_ends_is_not_waited_for(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, _, port = address.removeprefix("http://").partition(":")
    whole = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for begun in (b"", b"GET / HT", whole + b"GET"):
        monkeypatch.setattr(app, "_HEAD_SECONDS", 0.05)
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(begun)
            while connection.recv(9999):
                pass
    monkeypatch.undo()
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        with suppress(ConnectionError):
            connection.sendall(b"GET / HTTP/1.1\r\n")
            for name in range(10_000):
                connection.sendall(b"x%d: %s\r\n" % (name, b"y" * 1000))
        assert name < 9_999


def test_who_sends_no_more_is_answered_all_the_same(address: str) -> None:
    host, _, port = address.removeprefix("http://").partition(":")
    body = b'{"examples": [{"text": "red", "labels": ["colour"]}]}'
    head = (
        b"POST /v1/projects/demo/examples HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    )
    for sent, answered in ((head + body, True), (head + body[:9], False), (head[:9], False)):
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            found = b""
            while some := connection.recv(9999):  # until the service closes the connection, too
                found += some
        assert (b"connection: close" in found and b'"examples":1' in found) == answered


@pytest.mark.parametrize("offer", ["h2c", "websocket"])
@pytest.mark.parametrize("framing", [b"Content-Length: 8", b"Transfer-Encoding: chunked"])
def test_a_request_that_offers_another_protocol_is_answered_in_http(
    address: str, offer: str, framing: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    host, _, port = address.removeprefix("http://").partition(":")
    body = b"text=red" if b"Length" in framing else b"3\r\ntex\r\n5\r\nt=red\r\n0\r\n\r\n"
    fields = [
        b"Host: localhost",
        b"Connection: Upgrade, HTTP2-Settings",
        b"Upgrade: " + offer.encode(),
        b"Content-Type: application/x-www-form-urlencoded",
        framing,
    ]
    ask = b"POST /v1/projects/demo/suggest HTTP/1.1\r\n" + b"\r\n".join(fields) + b"\r\n\r\n" + body
    look = b"GET /health/live HTTP/1.1\r\n" + b"\r\n".join(fields[:3]) + b"\r\n\r\n"
    sent = ask + look + ask + look
    for cut in (len(sent), 20, len(ask) - len(body), len(ask) - 2):
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(sent[:cut])
            time.sleep(0.05)
            connection.sendall(sent[cut:])
            found = b""
            while found.count(b"HTTP/1.1 200") + found.count(b"HTTP/1.1 4") < 4 and (
                some := connection.recv(9999)
            ):
                found += some
        assert found.count(b"HTTP/1.1 200") == 4 and found.count(b'{"results":') == 2
    assert not caplog.records


def test_what_follows_a_request_that_ends_the_connection_is_ignored(address: str) -> None:
    host, _, port = address.removeprefix("http://").partition(":")
    ask = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(ask + ask)
        found = b""
        while some := connection.recv(9999):
            found += some
    assert found.startswith(b"HTTP/1.1 200") and found.count(b"HTTP/1.1") == 1


def test_who_is_not_answered_when_the_service_ends_is_told(
    client: TestClient, service: Service
) -> None:
    begun = asyncio.Event()

    async def wait_for_ever(_: http.Call) -> None:
        begun.set()
        await asyncio.sleep(1_000)

    async def end() -> Response:
        context = http.Context(service, http.Metrics(), http.Awaited())
        route = http.Route("GET", "/", wait_for_ever, "read", "Wait")
        scope = {"type": "http", "headers": [(b"host", b"localhost")], "method": "GET"}
        task = asyncio.create_task(http.answer(context, route, Request(scope)))
        await begun.wait()
        task.cancel()
        return await task

    with ThreadPoolExecutor(1) as thread:  # this thread may have a loop: a browser's
        answer = thread.submit(asyncio.run, end()).result()
    assert answer.status_code == 503 and b"shutting down" in bytes(answer.body)


def test_who_waits_no_longer_for_what_is_applied_harms_nobody(
    client: TestClient, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "WAIT_SECONDS", 0.05)
    hold = threading.Event()
    with service.using("demo") as project:
        held = project._do(hold.wait)
        sent = {"examples": [{"text": "a raven", "labels": ["raven"]}]}
        refused(client.post(f"{DEMO}/examples?wait=applied", json=sent), 504, "durable")
        hold.set()
        held.result(20)
    monkeypatch.undo()
    assert client.post(f"{DEMO}/examples?wait=applied", json=sent).status_code == 200
    assert suggestions(client, "raven") == ["raven"]


def test_pages_of_other_sites_are_kept_out(client: TestClient) -> None:
    sent = {"text": "a"}
    evil = {"Origin": "https://evil.example"}
    refused(client.post(f"{DEMO}/suggest", data=sent, headers=evil), 403, "another site")
    own = {"Origin": "http://127.0.0.1:8787"}
    assert client.post(f"{DEMO}/suggest", data=sent, headers=own).status_code == 200
    refused(client.get("/v1/projects", headers={"Host": "evil.example"}), 403, "localhost")
    refused(client.get("/v1/projects", headers={"Host": "127.0.0.1.evil.example"}), 403)
    for host in ("localhost:8787", "127.0.0.2:8787", "[::1]:8787"):  # all may be listened on
        assert client.get("/v1/projects", headers={"Host": host}).status_code == 200
    refused(client.get("/v1/projects", headers={"Host": "[::"}), 400)


def test_tokens(tmp_path: Path) -> None:
    service = Service(tmp_path)
    service.create("demo", SMALL)
    read, learn, admin = (service.tokens.add(scope) for scope in ("read", "learn", "admin"))
    assert not any(token.encode() in (tmp_path / "tokens.json").read_bytes() for token in (read,))
    assert (tmp_path / "tokens.json").stat().st_mode & 0o077 == 0
    service.close()
    service = Service(tmp_path)
    with TestClient(create_app(service), base_url="http://example.org") as client:

        def asked(token: str, method: str, path: str, **more: Any) -> int:
            head = {"Authorization": f"Bearer {token}"}
            return int(client.request(method, path, headers=head, **more).status_code)

        missing = client.get("/v1/projects")
        refused(missing, 401, "Bearer")
        assert missing.headers["WWW-Authenticate"] == "Bearer"
        assert client.get("/health/ready").status_code == 200
        assert asked("lg_wrong", "GET", "/v1/projects") == 401
        assert asked(read, "GET", "/v1/projects") == 200
        sent = {"examples": [{"text": "a", "labels": ["b"]}]}
        assert asked(read, "POST", f"{DEMO}/examples", json=sent) == 403
        assert asked(learn, "POST", f"{DEMO}/examples", json=sent) == 200
        assert asked(learn, "DELETE", DEMO) == 403
        assert client.get("/v1/projects", auth=("annif", read)).status_code == 200
        assert asked(admin, "DELETE", DEMO) == 204
    service.close()


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
    service.begin(["demo"])
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
    with service.using("a"), service.using("b"):
        monkeypatch.setattr(Project, "close", close_late)
    for head in (32, 33):
        with service.using("b"):  # puts the other away
            assert service.head("a") == head
        assert service.names() == ["a", "b"]
        with service.using("a") as project:
            assert project.log.head == service.head("a") == head
    monkeypatch.undo()
    service.close()


def test_examples_are_taught_without_http_too(service: Service) -> None:
    texts, labels = zip(*examples(5), strict=True)
    assert service.teach("demo", texts, labels) == 6
    with pytest.raises(Problem, match="length >= 1 at `.labels`"):
        service.teach("demo", ["a"], [[]])


def test_one_process_serves_a_directory(service: Service, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="another process is already serving this directory"):
        Service(tmp_path / "served")
    assert service.names() == ["demo"]
    with service.using("demo") as project:
        assert project.settings.estimator == SMALL.estimator != Settings().estimator
