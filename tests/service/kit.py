"""Projects and their examples, for tests."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from labelgrove.service._events import Learnt
from labelgrove.service._log import Addition
from labelgrove.service._project import Project
from labelgrove.service._settings import Settings

SMALL = Settings(estimator={"arity": 4, "max_leaves": 4}, text={"n_features": 2**12})

WORDS = "bear cat dog eel fox goat hare ibex jay kite lynx mole newt owl pig quail rat".split()  # noqa: SIM905


def examples(count: int, seed: int = 0) -> list[tuple[str, list[str]]]:
    """Texts of words, whose labels are some of the words."""
    draw = random.Random(seed)
    made = []
    for _ in range(count):
        words = draw.choices(WORDS, k=draw.randint(3, 8))
        made.append((" ".join(words), sorted(set(words[:2]))))
    return made


def additions(count: int, seed: int = 0) -> list[Addition]:
    """The same, for a log."""
    return [Addition("learn", Learnt(text, labels)) for text, labels in examples(count, seed)]


def opened(folder: Path, settings: Settings = SMALL) -> Project:
    """A project in a folder that may exist already."""
    folder.mkdir(parents=True, exist_ok=True)
    return Project(folder, settings)


def without_snapshots(project: Project) -> Project:
    """The same project, opened with nothing but its log."""
    project.close()
    for one in project.snapshots():
        one.path.unlink()
    return opened(project.folder)


def fingerprint_at_the_end(project: Project) -> tuple[int, str]:
    """Wait until the model has learnt the whole log, and return its state."""
    project.applied(project.log.head).result(60)
    result: tuple[int, str] = project.fingerprint().result(60)
    return result


# --- over HTTP -----------------------------------------------------------------------------------

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
