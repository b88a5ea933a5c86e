"""The Python client, and the command line with a service instead of a model."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import numpy as np
import pytest
from starlette.testclient import TestClient

from labelgrove import DataError, ParameterError
from labelgrove.cli.commands import app
from labelgrove.client import Client, ServiceError, projects
from labelgrove.service import Service, create_app
from labelgrove.vocabulary import Concept, Vocabulary
from service.kit import examples

STATS = {"sequence": 1, "fingerprint": "0"}


class Unreliable(httpx.BaseTransport):
    """Loses every second request, or its answer."""

    def __init__(self, inner: httpx.BaseTransport) -> None:
        self.inner, self.count = inner, 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.count += 1
        if self.count % 4 == 1:
            raise httpx.ConnectError("lost on the way")
        answer = self.inner.handle_request(request)
        if self.count % 4 == 3:
            answer.close()
            raise httpx.ReadError("the answer was lost")
        return answer

    def close(self) -> None:
        self.inner.close()


def test_what_gets_lost_is_sent_again_and_learnt_once(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labelgrove.client._AT_ONCE", 20)
    transport = Unreliable(httpx.HTTPTransport())
    with Client(f"{address}#demo", transport=transport) as client:
        texts, labels = zip(*examples(100), strict=True)
        assert client.learn(texts, labels, applied=True) == 101
        assert client.learn(["quagga"], [["zebra"]], ["q"], applied=True) == 102
        stats = client.stats()
        assert (stats["examples"], stats["labels"]) == (101, 18)
        [(best, score), *_] = client.suggest("cat cat")
        assert best == "cat" and 0 < score <= 1
        assert client.predict_topk(["cat cat"] * 40, 1) == [[(best, score)]] * 40
        assert client.explain("cat cat", "cat")[0]["reasons"][0]["feature"] == "cat"
        client.forget("q", applied=True)
        assert client.change_labels("rename", {"names": {"cat": "tom"}}, applied=True) == 104
        assert client.suggest("cat cat")[0][0] == "tom"
        assert transport.count > 12
        with pytest.raises(ServiceError, match="there is no example 'q'") as info:
            client.forget("q")
        assert info.value.status == 404
        with pytest.raises(DataError, match="texts for 1 examples, labels for 2; expected"):
            client.learn(["a"], [["b"], ["c"]])
        with pytest.raises(DataError, match="labels for 1 and 2 ids; expected"):
            client.learn(["a"], [["b"]], ["1", "2"])


def test_what_is_remembered_gets_its_labels_once(address: str) -> None:
    with Client(f"{address}#demo") as client:
        client.learn(*zip(*examples(100), strict=True), applied=True)
        identifier, found = client.remember("cat quagga", 60, k=2)
        assert found == client.suggest("cat quagga", 2)
        with pytest.raises(DataError, match="labels: found 'zebra'; expected a collection"):
            client.feedback(identifier, "zebra")
        learnt = client.feedback(identifier, ["zebra"], applied=True)
        assert client.feedback(identifier, ["zebra"]) == learnt == client.stats()["sequence"]
        with pytest.raises(ServiceError, match="already has other labels") as refused:
            client.feedback(identifier, ["cat"])
        assert refused.value.status == 409
        with pytest.raises(ServiceError, match="there is no suggestion 'other'"):
            client.feedback("other", ["cat"])
        with pytest.raises(ParameterError, match="seconds=0: expected an integer from 1"):
            client.remember("cat", 0)


def test_a_forked_process_connects_anew(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    connect, connected = socket.create_connection, []
    monkeypatch.setattr(
        socket,
        "create_connection",
        lambda *given, **more: connected.append(1) or connect(*given, **more),
    )
    with Client(f"{address}#demo") as client:
        client.stats()
        client.stats()
        assert len(connected) == 1
        parents = client._http
        monkeypatch.setattr(os, "getpid", lambda: -1)
        client.stats()
        client.stats()
        assert len(connected) == 2
    parents.close()


def test_who_waits_for_events_gets_the_next(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting, sleep = Event(), asyncio.sleep

    async def told(seconds: float) -> None:
        if seconds < 0.1:  # the server itself sleeps longer
            waiting.set()
        await sleep(seconds)

    monkeypatch.setattr(asyncio, "sleep", told)
    with Client(f"{address}#demo") as client, ThreadPoolExecutor(1) as other:
        assert client.events(1, wait=0.05)["events"] == []
        waiting.clear()
        asked = other.submit(client.events, 1, wait=5.0)
        assert waiting.wait(20)
        client.learn(["a text"], [["owl"]])
        assert [one["kind"] for one in asked.result()["events"]] == ["learn"]


def test_requests_have_the_timeout_and_token_given(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[float, str]] = []

    def answer(_: Any, request: httpx.Request) -> httpx.Response:
        asked.append((request.extensions["timeout"]["read"], request.headers["authorization"]))
        return httpx.Response(200, json=STATS | {"projects": []})

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", answer)
    with Client("http://127.0.0.1:9", "demo", token="x", timeout=3) as client:
        client.stats()
    assert projects("http://127.0.0.1:9", token="y", timeout=4) == []
    assert asked == [(3, "Bearer x"), (4, "Bearer y")]


@pytest.mark.parametrize("name", ["", ".", "..", "a/b"])
def test_what_cannot_name_an_example_is_not_sent(name: str) -> None:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, json={"sequence": 1})

    transport = httpx.MockTransport(answer)
    with (
        Client("http://127.0.0.1:9", "demo", transport=transport) as client,
        pytest.raises(DataError, match="expected the id of an example"),
    ):
        client.forget(name)  # ".." would have deleted the project
    assert not asked


def test_nobody_answers() -> None:
    with pytest.raises(DataError, match="expected the project's name as well"):
        Client("http://127.0.0.1:9")
    with pytest.raises(DataError, match="expected an address such as http://localhost:8787#name"):
        Client("http://[::1", "demo")
    with (
        Client("http://127.0.0.1:9", "demo") as client,
        pytest.raises(ServiceError, match=r"http://127.0.0.1:9: cannot be reached"),
    ):
        client.stats()


def test_a_service_that_restarts_is_waited_for() -> None:
    calls = iter([True, *[False] * 12, True])

    def answer(_: httpx.Request) -> httpx.Response:
        if next(calls):
            return httpx.Response(200, json=STATS)
        raise httpx.ConnectError("refused")

    transport = httpx.MockTransport(answer)
    with Client("http://127.0.0.1:9", "demo", transport=transport) as client:
        client.stats()
        client.stats()


def test_no_message_shows_a_secret(service: Service) -> None:
    with (
        Client("http://me:lg_secret@127.0.0.1:9/at", "demo") as client,
        pytest.raises(ServiceError, match=r"^http://127.0.0.1:9/at: cannot") as refused,
    ):
        client.stats()
    service.leader = "http://me:lg_secret@127.0.0.1:9"
    with TestClient(create_app(service), base_url="http://127.0.0.1:8787") as replica:
        body = {"examples": [{"text": "a", "labels": ["b"]}]}
        told = replica.post("/v1/projects/demo/examples", json=body).json()["detail"]
        again = replica.post("/v1/projects/demo/suggest", data={"text": "a", "remember": "60"})
        assert again.status_code == 403 and again.json()["detail"] == told
        assert replica.post("/v1/projects/demo/suggest", data={"text": "a"}).status_code == 200
    assert told.endswith("send writes to http://127.0.0.1:9")
    assert "lg_secret" not in str(refused.value)


@pytest.mark.parametrize("wait", ["0", "0" * 5_000, "Wed, 21 Oct 2015 07:28:00 GMT", "soon", "-1"])
def test_a_service_that_is_busy_may_say_until_when(wait: str) -> None:
    busy = httpx.Response(503, headers={"Retry-After": wait})
    answers = iter([busy, httpx.Response(200, json=STATS)])
    transport = httpx.MockTransport(lambda _: next(answers))
    with Client("http://127.0.0.1:9", "demo", transport=transport) as client:
        assert client.stats() == STATS


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        app(list(words))
    return int(ended.value.code or 0)


def test_the_command_line_takes_a_service_for_a_model(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "examples.jsonl"
    lines = [json.dumps({"text": text, "labels": labels}) for text, labels in examples(60)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert run("learn", f"{address}#demo", str(path), "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"examples": 60, "sequence": 61}
    httpx.post(f"{address}/v1/projects/demo/snapshots").raise_for_status()
    assert run("predict", f"{address}#demo", str(path), "-k", "2") == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(answers) == 60 and all(len(one["labels"]) == 2 for one in answers)
    assert answers[0]["names"] == [None, None]
    assert run("learn", f"{address}#demo", str(path), "--limit", "1") == 0
    assert "has stored 1 example of" in " ".join(capsys.readouterr().err.split())
    assert run("learn", f"{address}#demo", str(path), "-o", "x.lg") == 1
    assert "a service stores its own model" in capsys.readouterr().err
    names = tmp_path / "names.tsv"
    names.write_text("<a>\tname\n", encoding="utf-8")
    for command in ("learn", "predict"):
        assert run(command, f"{address}#demo", str(path), "--vocabulary", str(names)) == 1
        assert "--vocabulary" in capsys.readouterr().err
    assert run("predict", f"{address}#demo", "--text", "cat cat", "-k", "1") == 0
    assert '"labels": ["' in capsys.readouterr().out
    assert run("predict", f"{address}#none", str(path)) == 1
    assert "there is no project 'none'" in capsys.readouterr().err


def test_a_project_is_made_once(address: str) -> None:
    with Client(f"{address}#fresh") as client:
        client.make({"language": "fi"})
        client.make({"language": "fi"})
        assert "fresh" in client.neighbours()
        with pytest.raises(ServiceError, match="already exists with other settings"):
            client.make({"language": "sv"})


@pytest.mark.parametrize("name", [".", "..", "é\n", "a/b", "@1", ""])
def test_an_example_cannot_be_called_what_no_path_can_say(address: str, name: str) -> None:
    with Client(f"{address}#demo") as client:
        with pytest.raises(ServiceError) as info:
            client.learn(["a text"], [["cat"]], [name])
        assert info.value.status == 422
        assert "demo" in client.neighbours()


def test_a_path_with_a_slash_too_many_is_no_other_one(address: str) -> None:
    for path in ("/v1/projects/demo/", "/v1/projects/demo/examples/../"):
        request = httpx.Request("DELETE", f"{address}{path}")
        with httpx.Client() as client:
            assert client.send(request).status_code == 404


def test_a_string_is_no_collection(address: str) -> None:
    with Client(f"{address}#demo") as client:
        with pytest.raises(
            DataError, match="labels, row 1: found 'refund'; expected a collection of labels"
        ):
            client.learn(["money back", "broken"], [["refund"], "refund"])
        with pytest.raises(DataError, match="texts: found one string"):
            client.learn("hello", [["x"]] * 5)
        with pytest.raises(DataError, match="labels: found one string"):
            client.learn(["a", "b"], "xy")
        assert client.learn(["money back"], [{"refund"}]) > 0


def test_rows_of_a_part_of_a_frame_and_sets_have_an_order(address: str) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"text": ["a b", "c d"], "labels": [["a"], set("hgfedcba")]})
    with Client(f"{address}#demo") as client:
        chosen = frame[frame["text"] == "c d"]
        client.learn(chosen["text"], chosen["labels"])
        assert client.events(0)["events"][-1]["body"]["labels"] == list("abcdefgh")


def test_texts_are_checked_before_they_are_sent(address: str) -> None:
    with Client(address, "demo") as client:
        for send in (client.predict_topk, lambda texts: client.learn(texts, [["a"]])):
            with pytest.raises(DataError, match="texts: found one string"):
                send("parcel")
            with pytest.raises(DataError, match="texts, row 0: found a int; expected a string"):
                send([3])
        for ask in (client.suggest, client.explain):
            with pytest.raises(DataError, match="text: found a NoneType"):
                ask(None)
        client.learn(["bad \ud800 day"], [["a"]], applied=True)  # as a model learns it
        assert client.predict_topk(["bad \udcff day"], 1)[0][0][0] == "a"
        assert client.events(0)["events"][-1]["body"]["text"] == "bad ? day"


@pytest.mark.parametrize("words", ["eval URL d.svm", "tune URL d.svm", "info URL"])
def test_commands_that_need_a_file_say_so(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*words.replace("URL", "HTTP://127.0.0.1:9/#demo").split()) == 1
    refusal = "expected a model file; only learn and predict can use a service"
    assert f"error: HTTP://127.0.0.1:9/#demo: {refusal}" in capsys.readouterr().err


def test_the_command_line_says_which_line_a_service_cannot_learn(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "examples.jsonl"
    lines = [json.dumps({"text": text, "labels": labels}) for text, labels in examples(1_100)]
    lines[1_080] = '{"text": "no labels", "labels": []}'
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert run("learn", f"{address}#demo", str(path)) == 1
    said = capsys.readouterr().err
    assert f"{path}:1081: found no labels; a service learns only examples" in " ".join(said.split())
    assert "has stored the first 1,024 examples" in " ".join(said.split())
    lines[1_080] = json.dumps({"text": "too long", "labels": ["x" * 1_001]})
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert run("learn", f"{address}#demo", str(path)) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert f"{path}:1081: {address}: Expected `str` of length <= 1000" in said
    assert "has stored the first 1,024 examples" in said


def test_the_command_line_says_which_line_a_service_cannot_answer(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("short\n" * 40 + "x" * 1_000_001 + "\n", encoding="utf-8")
    assert run("predict", f"{address}#demo", str(path)) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert (
        f"{path}:41: {address}: Expected `str` of length <= 1000000 at `.documents[40].text`"
        in said
    )


def test_the_command_line_shows_the_names_of_a_service(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Client(address, "named") as client:
        client.make(vocabulary=Vocabulary([Concept("a", {"en": "apples"}), Concept("b", {})]))
        client.learn(["red", "brown"], [["a"], ["b"]], applied=True)
    assert run("predict", f"{address}#named", "--text", "red") == 0
    answer = json.loads(capsys.readouterr().out)
    assert dict(zip(answer["labels"], answer["names"], strict=True)) == {"a": "apples", "b": None}


@pytest.mark.parametrize("bad", ["bad \udcff", 3, np.int64(3), None])
def test_names_are_checked_before_they_are_sent(bad: object) -> None:
    says = "holds a lone surrogate" if isinstance(bad, str) else "expected a string"
    with Client("http://127.0.0.1:9", "demo") as client:
        with pytest.raises(DataError, match=f"labels, row 1: .*{says}"):
            client.learn(["a", "b"], [["a"], ["b", bad]])
        if bad is not None:
            with pytest.raises(DataError, match=f"ids, row 0: .*{says}"):
                client.learn(["a"], [["a"]], [bad])
        with pytest.raises(DataError, match=f"name: .*{says}"):
            client.forget(bad)
        if bad != 3 and bad is not None:
            with pytest.raises(DataError, match="http://127.0.0.1:9: cannot write the request"):
                client.change_labels("rename", {"names": {"a": bad}})


def test_a_refusal_counts_rows_over_all_requests(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labelgrove.client._AT_ONCE", 2)
    with Client(address, "demo") as client:
        with pytest.raises(ServiceError, match=r"`\.examples\[4\]\.text`") as refused:
            client.learn(["a", "b", "c", "d", ""], [["x"]] * 5)
        assert refused.value.row == 4 and pickle.loads(pickle.dumps(refused.value)).row == 4
        with pytest.raises(ServiceError, match=r"`\.examples\[4\]\.labels\[0\]`"):
            client.learn(["a", "b", "c", "d", "e"], [["x"]] * 4 + [[" "]])
        with pytest.raises(
            ServiceError, match=r"`\.examples\[4\]`: another example 'a'"
        ) as refused:
            client.learn(["a", "b", "c", "d", "e"], [["x"]] * 5, ["a", "b", "c", "d", "a"])
        assert refused.value.row == 4


def test_requests_are_cut_where_texts_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("labelgrove.client._MOST_CHARACTERS", 10)
    sizes = []

    def answer(request: httpx.Request) -> httpx.Response:
        sizes.append([len(one["text"]) for one in json.loads(request.content)["examples"]])
        return httpx.Response(200, json={"sequence": len(sizes)})

    with Client("http://localhost#demo", transport=httpx.MockTransport(answer)) as client:
        lengths = [4, 4, 4, 20, 1, 9, 1]
        assert client.learn(["x" * n for n in lengths], [["a"]] * 7) == 5
    assert sizes == [[4, 4], [4], [20], [1, 9], [1]]


@pytest.mark.parametrize(
    "ask",
    [
        Client.neighbours,
        lambda client: client.suggest("a"),
        lambda client: client.predict_topk(["a"]),
        lambda client: client.explain("a"),
        lambda client: client.learn(["a"], [["b"]]),
        lambda client: client.forget("a"),
        Client.make,
        Client.stats,
        lambda client: client.events(0),
    ],
)
def test_an_answer_of_another_kind_of_server(ask: Callable[[Client], Any]) -> None:
    for body in (b"<h1>Maintenance</h1>", b"", b"{}", b"[]", b"1", b"[" * 10**5):
        answer = httpx.Response(200, content=body)
        transport = httpx.MockTransport(lambda _, answer=answer: answer)
        with (
            Client("http://localhost#demo", transport=transport) as client,
            pytest.raises(ServiceError, match="found an answer of another kind of server"),
        ):
            ask(client)


def test_a_failure_of_another_kind_of_server() -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(400, content=b"[" * 10**5))
    with (
        Client("http://localhost#demo", transport=transport) as client,
        pytest.raises(ServiceError, match="400 Bad Request"),
    ):
        client.stats()


def test_an_answer_that_is_not_compressed_as_it_says() -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        content = httpx.ByteStream(b"plain")
        return httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=content)

    with (
        Client("http://localhost#demo", transport=httpx.MockTransport(answer)) as client,
        pytest.raises(ServiceError, match="cannot be reached"),
    ):
        client.stats()
