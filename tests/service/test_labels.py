"""Labels over HTTP: listed, renamed, merged, removed and deprecated."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.testclient import TestClient

from labelgrove.service import Service, _resources
from labelgrove.service._events import Learnt
from labelgrove.service._log import Addition
from service.kit import DEMO, refused, suggestions, teach


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


def test_the_label_that_is_called_just_so_is_listed_first(client: TestClient) -> None:
    sent = [{"text": "a", "labels": ["Cat", *(f"cat food {i}" for i in range(9))]}]
    sent += [{"text": "b", "labels": [f"cat food {i}" for i in range(9)]}]
    client.post(f"{DEMO}/examples?wait=applied", json={"examples": sent})
    found = client.get(f"{DEMO}/labels?search=cat&limit=2").json()
    assert found["total"] == 10
    assert [one["id"] for one in found["labels"]] == ["Cat", "cat food 0"]
    found = client.get(f"{DEMO}/labels?limit=2&offset=8").json()
    assert [(one["id"], one["examples"]) for one in found["labels"]] == [
        ("cat food 8", 2),
        ("Cat", 1),
    ]


def test_a_blank_is_no_label(client: TestClient) -> None:
    teach(client, 20)
    sent = [{"text": "a cat", "labels": ["cat"]}, {"text": "a cat", "labels": ["cat", "\t "]}]
    answer = client.post(f"{DEMO}/examples", json={"examples": sent})
    refused(answer, 422, "that is not blank at `.examples[1].labels[1]`")
    annif = [{"text": "a cat", "subjects": [{"uri": one} for one in ("cat", " ")]}]
    refused(client.post(f"{DEMO}/learn", json=annif), 422, "not blank", "[0].subjects[1].uri")
    refused(client.post(f"{DEMO}/labels/rename", json={"names": {"cat": "\t"}}), 422, "is blank")
    into = {"labels": ["cat", "dog"], "into": " "}
    refused(client.post(f"{DEMO}/labels/merge", json=into), 422, "is blank")
    vocabulary = {"vocabulary": [{"id": "a"}, {"id": " "}]}
    refused(client.put("/v1/projects/new", json=vocabulary), 422, "' ' is blank")
    assert client.get(f"{DEMO}/stats").json()["head"] == 21


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
        project.applied(project.log.head).result(20)
    assert suggestions(client, "raven")[0] == "crow"
    again = client.post(f"{DEMO}/labels/rename", json=renamed, headers=key)
    assert again.json()["repeated"]
    removed = {"labels": ["crow"]}
    key = {"Idempotency-Key": "l"}
    assert client.post(f"{DEMO}/labels/deprecate", json=removed, headers=key).status_code == 200
    refused(client.post(f"{DEMO}/labels/remove", json=removed, headers=key), 422, "another request")
