"""Annif's API, so that its ``http`` backend can use our projects like Annif's own.

See ``annif/openapi/annif.yaml`` and ``annif/backend/http.py`` in NatLibFi/Annif.
"""

from __future__ import annotations

import asyncio
import secrets
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any

from msgspec import Meta, Struct

from labelgrove._version import __version__
from labelgrove.service._events import (
    MOST_EXAMPLES,
    MOST_LABELS,
    MOST_TEXT,
    Learnt,
    NewLabel,
    Probability,
    Row,
)
from labelgrove.service._http import PROJECT, Call, Routes, Waiting
from labelgrove.service._log import Addition
from labelgrove.service._problems import DamagedLog, Problem
from labelgrove.service._project import Project

routes = Routes()

AnyText = Annotated[str, Meta(max_length=MOST_TEXT)]


class Info(Struct):
    """The name and version of the service."""

    title: str
    version: str


class Backend(Struct):
    """The backend of a project."""

    backend_id: str


class Vocabulary(Struct):
    """The vocabulary of a project."""

    vocab_id: str
    languages: list[str]
    size: int
    loaded: bool


class ProjectInfo(Struct):
    """A project."""

    project_id: str
    name: str
    language: str
    backend: Backend
    vocab: Vocabulary | None
    vocab_language: str
    is_trained: bool
    modification_time: str | None


class Projects(Struct):
    """All projects."""

    projects: list[ProjectInfo]


class Vocabularies(Struct):
    """The vocabularies of all projects."""

    vocabs: list[Vocabulary]


class BatchQuery(Struct):
    """How many labels to suggest."""

    limit: Annotated[int, Meta(ge=0, le=1_000)] = 10
    threshold: Probability = 0.0
    language: str | None = None


class SuggestForm(BatchQuery, kw_only=True):
    """A text, and how many labels to suggest."""

    text: AnyText
    remember: Annotated[int, Meta(ge=0, le=31_536_000)] = 0


class Result(Struct):
    """A suggested label."""

    uri: str
    label: str
    notation: str | None
    score: float


class Results(Struct):
    """Labels for a text, the most probable first."""

    results: list[Result]


class Document(Struct):
    """A text to suggest labels for."""

    text: AnyText
    document_id: str | None = None
    metadata: dict[str, Any] = {}


class Documents(Struct):
    """Texts to suggest labels for."""

    documents: Annotated[list[Document], Meta(max_length=32)]


class DocumentResults(Struct):
    """Suggested labels for one of the texts."""

    results: list[Result]
    document_id: str | None


class Subject(Struct):
    """A label of an example."""

    uri: NewLabel
    label: str | None = None


class IndexedDocument(Struct):
    """An example in Annif's format."""

    text: AnyText = ""
    subjects: Annotated[list[Subject], Meta(max_length=MOST_LABELS)] = []
    metadata: dict[str, Any] = {}


IndexedDocuments = Annotated[list[IndexedDocument], Meta(max_length=MOST_EXAMPLES)]


class LanguageQuestion(Struct):
    """A text, and its candidate languages."""

    text: AnyText
    languages: Annotated[
        list[Annotated[str, Meta(min_length=2, max_length=3)]], Meta(min_length=1, max_length=5)
    ]


class Language(Struct):
    """The probability of a language; null stands for an unknown language."""

    language: str | None
    score: float


class Languages(Struct):
    """The candidate languages of a text."""

    results: list[Language]


# First, since routes are tried in order and most requests are for suggestions.
@routes.add("POST", f"{PROJECT}/suggest", "read", body=SuggestForm, form=True)
async def suggest(call: Call) -> Results:
    """Suggest labels for a text."""
    project, form = await call.project(), call.body
    if form.remember and not form.text:
        raise Problem(422, "text: found none; expected a text to remember")
    if form.remember:  # in the log, which a replica only copies
        call.may_learn()
    [results] = await _suggested(call, project, [form.text], form)
    if form.remember:
        identifier = secrets.token_hex(16)
        kept = project.log.remember(identifier, form.text, form.remember)
        await call.result(kept)
        call.headers["LabelGrove-Suggestion"] = identifier
    return Results(results)


@routes.add("GET", "/v1/", "read")
async def show_info(_: Call) -> Info:
    """Show the service's name and version."""
    return Info("LabelGrove", __version__)


@routes.add("GET", "/v1/projects", "read")
async def list_projects(call: Call) -> Projects:
    """List the projects."""
    return Projects(await _about_all(call))


@routes.add("GET", "/v1/vocabs", "read")
async def list_vocabs(call: Call) -> Vocabularies:
    """List the vocabularies."""
    return Vocabularies([one.vocab for one in await _about_all(call) if one.vocab is not None])


@routes.add("GET", PROJECT, "read")
async def show_project(call: Call) -> ProjectInfo:
    """Show a project."""
    return await asyncio.to_thread(project_info, await call.project())


async def _about_all(call: Call) -> list[ProjectInfo]:
    found = []
    for name in await asyncio.to_thread(call.service.names):
        try:
            found.append(await asyncio.to_thread(_look, call, name))
        except Problem as problem:
            removed = problem.status == HTTPStatus.NOT_FOUND  # since the names were read
            if not removed and name not in call.service.unopened():
                raise
        except DamagedLog:
            continue
    return found


def _look(call: Call, name: str) -> ProjectInfo:
    """Describe a project, or recall the description if there are no events since."""
    seen = call.context.seen.get(name)
    if seen is not None and seen[0] == call.service.head(name):
        return seen[1]
    with call.service.using(name) as project:
        head = project.log.head
        is_applied = project.learner.sequence == head
        info = project_info(project)
        if is_applied:
            call.context.seen[name] = head, info
    return info


def project_info(project: Project) -> ProjectInfo:
    """Describe a project in Annif's format; it waits for the model."""
    settings, vocabulary = project.settings, project.learner.vocabulary
    size = project.learner.label_count() if vocabulary is None else len(vocabulary)
    [last] = project.log.read(project.log.head - 1, 1)
    return ProjectInfo(
        project.name,
        settings.name or project.name,
        settings.language,
        Backend("labelgrove"),
        Vocabulary(project.name, _languages(project), size, loaded=True),
        settings.language,
        project.learner.has_learnt,
        time_of(last) if last.at else None,
    )


def time_of(row: Row) -> str:
    """Write when an event was stored in the format of ISO 8601."""
    return datetime.fromtimestamp(row.at / 1000, UTC).isoformat(timespec="milliseconds")


def _languages(project: Project) -> list[str]:
    """List the languages of the label names, the project's own first."""
    own, vocabulary = project.settings.language, project.learner.vocabulary
    others = () if vocabulary is None else filter(None, vocabulary.named_in)
    return list(dict.fromkeys((own, *others)))


@routes.add("POST", f"{PROJECT}/suggest-batch", "read", body=Documents, query=BatchQuery)
async def suggest_batch(call: Call) -> list[DocumentResults]:
    """Suggest labels for up to 32 texts."""
    project, documents, query = await call.project(), call.body.documents, call.query
    texts = [one.text for one in documents]
    results = await _suggested(call, project, texts, query)
    return [
        DocumentResults(found, one.document_id)
        for found, one in zip(results, documents, strict=True)
    ]


async def _suggested(
    call: Call, project: Project, texts: list[str], asked: BatchQuery
) -> list[list[Result]]:
    _check_language(project, asked.language)
    if not (asked.limit and texts):
        return [[] for _ in texts]
    sequence, found = await call.result(project.suggest(texts, asked.limit))
    call.headers["LabelGrove-Sequence"] = str(sequence)
    return [
        [
            _result(project, label, score, asked.language)
            for label, score in one
            if score >= asked.threshold
        ]
        for one in found
    ]


def _result(project: Project, label: str, score: float, language: str | None) -> Result:
    vocabulary = project.learner.vocabulary
    if vocabulary is None or label not in vocabulary:
        return Result(label, label, None, score)
    name = vocabulary.name(label, language) or label
    return Result(label, name, vocabulary[label].notation, score)


def _check_language(project: Project, language: str | None) -> None:
    if language and language not in (known := _languages(project)):
        expected = " or ".join(map(repr, known))
        raise Problem(
            400, f"language: found {language!r:.40}; expected {expected}, a language of the labels"
        )


@routes.add("POST", f"{PROJECT}/learn", "learn", body=IndexedDocuments, query=Waiting)
async def learn(call: Call) -> None:
    """Learn examples in Annif's format."""
    project = await call.project()
    wanted = [one for one in call.body if one.text and one.subjects]
    additions = [
        Addition("learn", Learnt(one.text, [subject.uri for subject in one.subjects]))
        for one in wanted
    ]
    call.headers["LabelGrove-Skipped"] = str(len(call.body) - len(wanted))
    if additions:
        await call.durable(project.log.append(additions, call.key, call.raw))


@routes.add("POST", "/v1/detect-language", "read", body=LanguageQuestion)
async def detect_language(_: Call) -> Languages:
    """Detect the language of a text (not supported: always unknown)."""
    return Languages([Language(None, 1.0)])
