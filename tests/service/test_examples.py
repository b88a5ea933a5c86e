"""Examples over HTTP: taught, forgotten, explained, and what came of them."""

from __future__ import annotations

import errno
import re
import threading
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from labelgrove import TextClassifier
from labelgrove.cli.commands.serve import _teach_demo
from labelgrove.datasets import PythonDoc
from labelgrove.service import Service
from labelgrove.service import _http as http
from labelgrove.service._events import body_of
from labelgrove.service._problems import Problem
from labelgrove.service._project import Project
from labelgrove.service._snapshots import Snapshot
from service.kit import DEMO, examples, refused, suggestions, teach


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
    corrected = {"text": "a gnu", "labels": ["cow"], "id": given["id"]}
    assert client.delete(f"{DEMO}/examples/{given['id']}").status_code == 200
    added = client.post(f"{DEMO}/examples?wait=applied", json={"examples": [corrected]})
    assert added.json()["examples"] == 1 and suggestions(client, "gnu")[0] == "cow"
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


def test_examples_are_taught_without_http_too(service: Service) -> None:
    texts, labels = zip(*examples(5), strict=True)
    assert service.teach("demo", texts, labels) == 6
    with pytest.raises(Problem, match="length >= 1 at `.labels`"):
        service.teach("demo", ["a"], [[]])


def test_why(client: TestClient) -> None:
    answer = client.post(f"{DEMO}/explain", json={"text": "cat"})
    assert answer.json() == {"labels": []} and answer.headers["LabelGrove-Sequence"] == "1"
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
    assert re.search(r'labelgrove_request_seconds_count\{[^}]*status="200"\} [1-9]', metrics)


def test_a_snapshot_on_a_full_disk_is_refused(
    client: TestClient, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def save(_: object, path: Path) -> None:
        path.write_bytes(b"a half")
        raise OSError(errno.ENOSPC, "No space left on device")

    teach(client)
    monkeypatch.setattr(TextClassifier, "save", save)
    refused(client.post(f"{DEMO}/snapshots"), 507, "the disk is full")
    monkeypatch.undo()
    assert client.get(f"{DEMO}/snapshots").json() == {"snapshots": []}
    taken = client.post(f"{DEMO}/snapshots").json()
    assert len(taken["snapshots"]) == 1
    listed, gone = Project.snapshots, Snapshot(1, "0" * 64, Path("removed meanwhile"), 1)
    monkeypatch.setattr(Project, "snapshots", lambda project: [*listed(project), gone])
    assert client.get(f"{DEMO}/snapshots").json() == taken


def test_a_demo_that_was_stopped_is_completed(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = [PythonDoc(str(i), text, (text,), held_out=False) for i, text in enumerate("abcde")]
    monkeypatch.setattr("labelgrove.datasets.iter_python_docs", lambda: iter(docs))
    service.teach("demo", ["a", "b"], [["a"], ["b"]])
    for _ in range(2):
        _teach_demo(service)
        with service.using("demo") as project:
            taught = [body_of(row).text for row in project.log.read(1, 99)]
        assert taught == list("abcde")


def test_a_demo_that_was_used_is_left_alone(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = [PythonDoc(str(i), text, (text,), held_out=False) for i, text in enumerate("abcde")]
    monkeypatch.setattr("labelgrove.datasets.iter_python_docs", lambda: iter(docs))
    service.teach("demo", ["a", "mine"], [["a"], ["mine"]])
    _teach_demo(service)
    with service.using("demo") as project:
        assert project.log.head == 3
