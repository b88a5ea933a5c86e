"""Annif's contract, and what suggestions keep to."""

from __future__ import annotations

from starlette.testclient import TestClient

from service.kit import DEMO, examples, refused, suggestions, teach


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
    form = {
        "text": "cat cat cat",
        "limit": "3",
        "project": "x",
        "metadata": "",
        "metadata_title": "y",
    }
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
    for limit in ("many", "-1"):
        refused(client.post(f"{DEMO}/suggest", data={"text": "a", "limit": limit}), 400, "limit")
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
