"""What can be asked of the service: Annif's contract, and resources of our own beside it."""

from __future__ import annotations

import asyncio
import secrets
import time
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.responses import Response

from labelgrove._version import __version__
from labelgrove.service._events import (
    MOST_EXAMPLES,
    MOST_TEXT,
    Deprecation,
    Event,
    ExampleId,
    Learnt,
    Merging,
    Name,
    Names,
    Removal,
    Renaming,
    Row,
    Text,
    ThresholdValues,
    body_of,
)
from labelgrove.service._follow import Events
from labelgrove.service._http import Call, Route
from labelgrove.service._log import Addition, Receipt
from labelgrove.service._model import can_rename
from labelgrove.service._problems import Problem
from labelgrove.service._project import Project, Rebuilding, Stats
from labelgrove.service._settings import Settings

_FINGERPRINTS = 20

Count = Annotated[int, Meta(ge=0, le=2**53)]
Limit = Annotated[int, Meta(ge=0, le=1_000)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Wait = Literal["durable", "applied"]
AnyText = Annotated[str, Meta(max_length=MOST_TEXT)]

# --- Annif's contract: NatLibFi/Annif, annif/openapi/annif.yaml ----------------------------------


class Info(Struct):
    """What this is."""

    title: str
    version: str


class Backend(Struct):
    """What answers for a project."""

    backend_id: str


class Vocabulary(Struct):
    """The labels of a project."""

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


class SuggestForm(Struct):
    """A text, and how many labels are wanted."""

    text: AnyText
    limit: Limit = 10
    threshold: Share = 0.0
    language: str | None = None
    remember: Annotated[int, Meta(ge=0, le=31_536_000)] = 0


class Result(Struct):
    """A label that is suggested."""

    uri: str
    label: str
    notation: str | None
    score: float


class Results(Struct):
    """Labels for a text, the most probable first."""

    results: list[Result]


class BatchQuery(Struct):
    """How many labels are wanted."""

    limit: Limit = 10
    threshold: Share = 0.0
    language: str | None = None


class Document(Struct):
    """A text to suggest labels for."""

    text: AnyText
    document_id: str | None = None
    metadata: dict[str, Any] = {}


class Documents(Struct):
    """Texts to suggest labels for."""

    documents: Annotated[list[Document], Meta(max_length=32)]


class DocumentResults(Struct):
    """Labels for one of the texts."""

    results: list[Result]
    document_id: str | None


class Subject(Struct):
    """A label of an example."""

    uri: Name
    label: str | None = None


class IndexedDocument(Struct):
    """An example."""

    text: AnyText = ""
    subjects: list[Subject] = []
    metadata: dict[str, Any] = {}


IndexedDocuments = Annotated[list[IndexedDocument], Meta(max_length=MOST_EXAMPLES)]


class LanguageQuestion(Struct):
    """A text, and the languages that it may be in."""

    text: AnyText
    languages: Annotated[
        list[Annotated[str, Meta(min_length=2, max_length=3)]], Meta(min_length=1, max_length=5)
    ]


class Language(Struct):
    """How probable a language is; null stands for all others."""

    language: str | None
    score: float


class Languages(Struct):
    """What a text's language may be."""

    results: list[Language]


async def show_info(_: Call) -> Info:
    return Info("LabelGrove", __version__)


async def list_projects(call: Call) -> Projects:
    return Projects([await _about(call, name) for name in call.service.names()])


async def list_vocabs(call: Call) -> Vocabularies:
    about = [await _about(call, name) for name in call.service.names()]
    return Vocabularies([one.vocab for one in about if one.vocab is not None])


async def show_project(call: Call) -> ProjectInfo:
    return _info(await call.project())


async def _about(call: Call, name: str) -> ProjectInfo:
    return await asyncio.to_thread(_look, call, name)


def _look(call: Call, name: str) -> ProjectInfo:
    with call.service.using(name) as project:
        return _info(project)


def _info(project: Project) -> ProjectInfo:
    settings, head = project.settings, project.log.read(project.log.head - 1, 1)
    size = project.learner.label_count()
    if project.vocabulary is not None:
        size = len(project.vocabulary)
    changed = datetime.fromtimestamp(head[0].at / 1000, UTC) if head and head[0].at else None
    return ProjectInfo(
        project.name,
        settings.name or project.name,
        settings.language,
        Backend("labelgrove"),
        Vocabulary(project.name, [settings.language], size, loaded=True),
        settings.language,
        project.learner.has_learnt,
        None if changed is None else changed.isoformat(timespec="milliseconds"),
    )


async def suggest(call: Call) -> Results:
    project, form = await call.project(), call.body
    _check_language(project, form.language)
    [results] = await _suggested(call, project, [form.text], form.limit, form.threshold)
    if form.remember:
        identifier = secrets.token_hex(16)
        kept = project.log.remember(identifier, form.text, form.remember)
        await asyncio.wrap_future(kept)
        call.headers["LabelGrove-Suggestion"] = identifier
    return Results(results)


async def suggest_batch(call: Call) -> list[DocumentResults]:
    project, documents, query = await call.project(), call.body.documents, call.query
    _check_language(project, query.language)
    texts = [one.text for one in documents]
    results = await _suggested(call, project, texts, query.limit, query.threshold)
    return [
        DocumentResults(found, one.document_id)
        for found, one in zip(results, documents, strict=True)
    ]


async def _suggested(
    call: Call, project: Project, texts: list[str], limit: int, threshold: float
) -> list[list[Result]]:
    if not (limit and texts):
        return [[] for _ in texts]
    sequence, found = await asyncio.wrap_future(project.suggest(texts, limit, restricted=True))
    call.headers["LabelGrove-Sequence"] = str(sequence)
    return [
        [_result(project, label, score) for label, score in one if score >= threshold]
        for one in found
    ]


def _result(project: Project, label: str, score: float) -> Result:
    concept = None if project.vocabulary is None else project.vocabulary.get(label)
    if concept is None:
        return Result(label, label, None, score)
    return Result(label, concept.name or label, concept.notation, score)


def _check_language(project: Project, language: str | None) -> None:
    if language not in {None, "", project.settings.language}:
        raise Problem(
            400,
            f"language: found {language!r:.40}; expected {project.settings.language!r}, the "
            "project's",
        )


async def learn(call: Call) -> Response:
    call.may_learn()
    project = await call.project()
    wanted = [one for one in call.body if one.text and one.subjects]
    additions = [
        Addition("learn", Learnt(one.text, [subject.uri for subject in one.subjects]))
        for one in wanted
    ]
    _check_additions(additions)
    call.headers["LabelGrove-Skipped"] = str(len(call.body) - len(wanted))
    if additions:
        await call.durable(project, project.log.append(additions, call.key, call.raw))
    return Response(status_code=204)


def _check_additions(additions: list[Addition]) -> None:
    """Hold examples that came as subjects to the bounds that all others have."""
    for place, addition in enumerate(additions):
        if len(addition.body.labels) > 1000:
            raise Problem(422, f"[{place}].subjects: found more than 1000; expected fewer")


async def detect_language(_: Call) -> Languages:
    # We cannot tell languages apart; in Annif's terms all of the probability is on none of them.
    return Languages([Language(None, 1.0)])


# --- projects ------------------------------------------------------------------------------------


class StatsQuery(Struct):
    """Whether to tell the fingerprint, which takes a moment where the model is large."""

    fingerprint: bool = True


async def make_project(call: Call) -> Response:
    call.may_learn()
    name = call.request.path_params["project"]
    fresh = await asyncio.to_thread(call.service.create, name, call.body)
    project = await call.project()
    return _json(_info(project), 201 if fresh else 200)


async def delete_project(call: Call) -> None:
    call.may_learn()
    await asyncio.to_thread(call.service.delete, call.request.path_params["project"])


async def show_settings(call: Call) -> Settings:
    return (await call.project()).settings


async def show_stats(call: Call) -> Stats:
    project = await call.project()
    return await asyncio.wrap_future(project.stats(fingerprint=call.query.fingerprint))


# --- examples ------------------------------------------------------------------------------------


class NewExample(Struct, forbid_unknown_fields=True):
    """A text and its labels."""

    text: Text
    labels: Names
    id: ExampleId | None = None


class NewExamples(Struct, forbid_unknown_fields=True):
    """Examples to learn, in this order."""

    examples: Annotated[list[NewExample], Meta(min_length=1, max_length=MOST_EXAMPLES)]


class StoredExample(Struct):
    """An example as the log has it."""

    id: str
    sequence: int
    text: str
    labels: list[str]
    at: str


class Waiting(Struct):
    """Answer when it is kept, or when it counts in answers as well."""

    wait: Wait = "durable"


class Feedback(Struct, forbid_unknown_fields=True):
    """The labels that a suggestion should have had."""

    id: Annotated[str, Meta(min_length=1, max_length=200)]
    labels: Names


async def add_examples(call: Call) -> Receipt:
    call.may_learn()
    project = await call.project()
    additions = [
        Addition("learn", Learnt(one.text, one.labels), one.id) for one in call.body.examples
    ]
    return await call.durable(project, project.log.append(additions, call.key, call.raw))


async def show_example(call: Call) -> StoredExample:
    project = await call.project()
    return _stored(project.log.find(call.request.path_params["example"]))


def _stored(row: Row) -> StoredExample:
    example = body_of(row)
    name = row.name or f"@{row.sequence}"
    return StoredExample(name, row.sequence, example.text, example.labels, _time(row.at))


def _time(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")


async def forget_example(call: Call) -> Receipt:
    call.may_learn()
    project = await call.project()
    name = call.request.path_params["example"]
    return await call.durable(project, project.log.forget(name, call.key))


async def give_feedback(call: Call) -> Receipt:
    call.may_learn()
    project, labels = await call.project(), call.body.labels
    answered = project.log.answer(call.body.id, lambda text: Learnt(text, labels))
    return await call.durable(project, answered)


# --- labels --------------------------------------------------------------------------------------


class LabelQuery(Struct):
    """Which labels to list."""

    search: Annotated[str, Meta(max_length=200)] = ""
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 100
    offset: Count = 0


class Label(Struct):
    """A label."""

    id: str
    name: str
    examples: int
    deprecated: bool


class Labels(Struct):
    """Labels, those with most examples first."""

    total: int
    labels: list[Label]


async def list_labels(call: Call) -> Labels:
    project, query = await call.project(), call.query
    return await asyncio.to_thread(_labels, project, query)


def _labels(project: Project, query: LabelQuery) -> Labels:
    deprecated, wanted = project.learner.deprecated, query.search.casefold()
    names = project.vocabulary or {}
    found = [
        Label(one, names[one].name or one if one in names else one, count, one in deprecated)
        for one, count in project.learner.labels().items()
    ]
    found = [one for one in found if wanted in one.name.casefold() or wanted in one.id.casefold()]
    found.sort(key=lambda one: (-one.examples, one.id))
    return Labels(len(found), found[query.offset : query.offset + query.limit])


async def _change(call: Call, kind: str) -> Receipt:
    project = await call.project()
    return await call.durable(
        project, project.log.append([Addition(kind, call.body)], call.key, call.raw)
    )


async def rename_labels(call: Call) -> Receipt:
    call.may_learn()
    project = await call.project()
    known = await asyncio.to_thread(project.learner.labels)
    _check_known(list(call.body.names), known)
    if not can_rename(call.body.names, known):
        raise Problem(409, "names: two labels would share a name; merge them instead")
    return await _change(call, "rename")


async def merge_labels(call: Call) -> Receipt:
    call.may_learn()
    _check_known(call.body.labels, await asyncio.to_thread((await call.project()).learner.labels))
    return await _change(call, "merge")


async def remove_labels(call: Call) -> Receipt:
    call.may_learn()
    _check_known(call.body.labels, await asyncio.to_thread((await call.project()).learner.labels))
    return await _change(call, "remove")


async def deprecate_labels(call: Call) -> Receipt:
    call.may_learn()
    return await _change(call, "deprecate")


def _check_known(labels: list[str], known: dict[str, int]) -> None:
    for label in labels:
        if label not in known:
            raise Problem(404, f"there is no label {label!r:.200}")


class Cuts(Struct):
    """From which probability on labels are predicted, where they have thresholds of their own."""

    sequence: int
    default: float | None
    values: dict[str, float]


async def show_thresholds(call: Call) -> Cuts:
    project = await call.project()
    set_by_hand = project.learner.thresholds
    values = await asyncio.to_thread(project.learner.cut_offs)
    default = None if set_by_hand is None else set_by_hand.default
    return Cuts(project.learner.sequence, default, values)


async def set_thresholds(call: Call) -> Receipt:
    call.may_learn()
    return await _change(call, "thresholds")


# --- why -----------------------------------------------------------------------------------------


class Question(Struct, forbid_unknown_fields=True):
    """A text, and perhaps a label that it may or may not have been given."""

    text: Text
    label: Name | None = None
    limit: Annotated[int, Meta(ge=1, le=20)] = 5


class Reason(Struct):
    """How much a word speaks for a label, or against it."""

    feature: str
    weight: float


class Explained(Struct):
    """Why a label is suggested."""

    label: str
    score: float
    reasons: list[Reason]


class Explanations(Struct):
    """Why labels are suggested."""

    labels: list[Explained]


async def explain(call: Call) -> Explanations:
    project, asked = await call.project(), call.body
    if not project.learner.has_learnt:
        return Explanations([])
    sequence, found = await asyncio.to_thread(
        project.learner.explain, asked.text, asked.label, asked.limit
    )
    call.headers["LabelGrove-Sequence"] = str(sequence)
    return Explanations([_explained(one) for one in found.labels])


def _explained(one: Any) -> Explained:
    """Add up what a word says along the way to a label."""
    weights: dict[str, float] = {}
    for step in one.path:
        for said in step.contributions:
            weights[str(said.feature)] = weights.get(str(said.feature), 0.0) + said.contribution
    ordered = sorted(weights.items(), key=lambda item: -abs(item[1]))
    return Explained(
        str(one.label), one.probability or 0.0, [Reason(*item) for item in ordered[:30]]
    )


# --- the log, snapshots, rebuilding --------------------------------------------------------------


class LogQuery(Struct):
    """Which events to list, and how long to wait for the first of them."""

    after: Count = 0
    limit: Annotated[int, Meta(ge=1, le=1_000)] = 100
    wait: Annotated[float, Meta(ge=0.0, le=5.0)] = 0.0


class SnapshotInfo(Struct):
    """A snapshot."""

    sequence: int
    fingerprint: str
    bytes: int


class Snapshots(Struct):
    """The snapshots of a project, newest first."""

    snapshots: list[SnapshotInfo]


async def list_events(call: Call) -> Events:
    project, query = await call.project(), call.query
    if query.wait and project.log.head <= query.after:
        end = time.monotonic() + query.wait
        while project.log.head <= query.after and time.monotonic() < end:
            await asyncio.sleep(0.02)
    rows = await asyncio.to_thread(project.log.read, query.after, query.limit)
    events = [
        Event(row.sequence, row.kind, row.name, msgspec.Raw(row.body), row.at, row.checksum)
        for row in rows
    ]
    noted = project.log.fingerprints(0, _FINGERPRINTS)  # the newest, for replicas to compare
    return Events(project.log.head, events, noted)


async def list_snapshots(call: Call) -> Snapshots:
    project = await call.project()
    return Snapshots(
        [
            SnapshotInfo(one.sequence, one.fingerprint, one.path.stat().st_size)
            for one in project.snapshots()
        ]
    )


async def take_snapshot(call: Call) -> Snapshots:
    project = await call.project()
    await asyncio.wrap_future(project.snapshot())
    return await list_snapshots(call)


async def rebuild(call: Call) -> Rebuilding:
    call.may_learn()
    project = await call.project()
    return await asyncio.to_thread(project.rebuild)


# --- the service ---------------------------------------------------------------------------------


class Health(Struct):
    """How the service is."""

    status: str
    detail: str | UnsetType = UNSET


async def live(_: Call) -> Health:
    return Health("live")


async def ready(call: Call) -> Response:
    failures = [one.failure for one in call.service.held() if one.failure is not None]
    if call.service.closing:
        failures.append("the service is being stopped")
    if failures:
        return _json(Health("failing", failures[0]), 503)
    return _json(Health("ready"), 200)


async def show_metrics(call: Call) -> Response:
    metrics = call.context.metrics
    for project in call.service.held():
        values = {
            "log_sequence": project.log.head,
            "applied_sequence": project.learner.sequence,
            "waiting_requests": project.log.waiting,
            "model_bytes": project.learner.bytes(),
            "failed": project.failure is not None,
        }
        for name, value in values.items():
            metrics.gauges[name].labels(project.name).set(value)
    return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)


def _json(content: Any, status: int) -> Response:
    return Response(msgspec.json.encode(content), status, media_type="application/json")


_ONE = "/v1/projects/{project}"

ROUTES = [
    Route("GET", "/v1/", show_info, "read", "What this is", answer=Info),
    Route("GET", "/v1/projects", list_projects, "read", "All projects", answer=Projects),
    Route("GET", "/v1/vocabs", list_vocabs, "read", "All vocabularies", answer=Vocabularies),
    Route(
        "POST",
        "/v1/detect-language",
        detect_language,
        "read",
        "The language of a text: not known",
        body=LanguageQuestion,
        answer=Languages,
    ),
    Route("GET", _ONE, show_project, "read", "A project", answer=ProjectInfo),
    Route("PUT", _ONE, make_project, "admin", "Make a project", body=Settings, answer=ProjectInfo),
    Route("DELETE", _ONE, delete_project, "admin", "Remove a project for good", status=204),
    Route(
        "POST",
        f"{_ONE}/suggest",
        suggest,
        "read",
        "Labels for a text",
        body=SuggestForm,
        answer=Results,
        form=True,
    ),
    Route(
        "POST",
        f"{_ONE}/suggest-batch",
        suggest_batch,
        "read",
        "Labels for up to 32 texts",
        body=Documents,
        query=BatchQuery,
        answer=list[DocumentResults],
    ),
    Route(
        "POST",
        f"{_ONE}/learn",
        learn,
        "learn",
        "Learn examples, as Annif has them",
        body=IndexedDocuments,
        query=Waiting,
        status=204,
    ),
    Route("GET", f"{_ONE}/settings", show_settings, "read", "Its settings", answer=Settings),
    Route("GET", f"{_ONE}/stats", show_stats, "read", "How it is", query=StatsQuery, answer=Stats),
    Route(
        "POST",
        f"{_ONE}/examples",
        add_examples,
        "learn",
        "Learn examples",
        body=NewExamples,
        query=Waiting,
        answer=Receipt,
    ),
    Route(
        "GET",
        f"{_ONE}/examples/{{example}}",
        show_example,
        "learn",
        "An example",
        answer=StoredExample,
    ),
    Route(
        "DELETE",
        f"{_ONE}/examples/{{example}}",
        forget_example,
        "learn",
        "Forget an example, as if it had never been sent",
        query=Waiting,
        answer=Receipt,
    ),
    Route(
        "POST",
        f"{_ONE}/feedback",
        give_feedback,
        "learn",
        "Learn from a remembered suggestion",
        body=Feedback,
        query=Waiting,
        answer=Receipt,
    ),
    Route(
        "GET", f"{_ONE}/labels", list_labels, "read", "Its labels", query=LabelQuery, answer=Labels
    ),
    Route(
        "POST",
        f"{_ONE}/labels/rename",
        rename_labels,
        "admin",
        "Give labels other names",
        body=Renaming,
        query=Waiting,
        answer=Receipt,
    ),
    Route(
        "POST",
        f"{_ONE}/labels/merge",
        merge_labels,
        "admin",
        "Make several labels one",
        body=Merging,
        query=Waiting,
        answer=Receipt,
    ),
    Route(
        "POST",
        f"{_ONE}/labels/remove",
        remove_labels,
        "admin",
        "Remove labels",
        body=Removal,
        query=Waiting,
        answer=Receipt,
    ),
    Route(
        "POST",
        f"{_ONE}/labels/deprecate",
        deprecate_labels,
        "admin",
        "Suggest labels no longer, or again",
        body=Deprecation,
        query=Waiting,
        answer=Receipt,
    ),
    Route(
        "GET",
        f"{_ONE}/thresholds",
        show_thresholds,
        "read",
        "From which probability on labels are predicted",
        answer=Cuts,
    ),
    Route(
        "PUT",
        f"{_ONE}/thresholds",
        set_thresholds,
        "admin",
        "Set them",
        body=ThresholdValues,
        query=Waiting,
        answer=Receipt,
    ),
    Route(
        "POST",
        f"{_ONE}/explain",
        explain,
        "read",
        "Why labels are suggested",
        body=Question,
        answer=Explanations,
    ),
    Route("GET", f"{_ONE}/log", list_events, "learn", "Its events", query=LogQuery, answer=Events),
    Route("GET", f"{_ONE}/snapshots", list_snapshots, "read", "Its snapshots", answer=Snapshots),
    Route("POST", f"{_ONE}/snapshots", take_snapshot, "admin", "Write one now", answer=Snapshots),
    Route(
        "POST",
        f"{_ONE}/rebuild",
        rebuild,
        "admin",
        "Build a better tree of all examples",
        answer=Rebuilding,
    ),
    Route("GET", "/health/live", live, "read", "Whether it runs", answer=Health, public=True),
    Route("GET", "/health/ready", ready, "read", "Whether it serves", answer=Health, public=True),
    Route("GET", "/metrics", show_metrics, "read", "Figures for Prometheus"),
]
"""All that can be asked; `create_app` and the OpenAPI document are made from it."""
