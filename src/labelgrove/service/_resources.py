"""LabelGrove's own resources: examples, labels, explanations, the log, snapshots, health."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from heapq import nsmallest
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.responses import Response

from labelgrove._errors import LabelGroveError
from labelgrove.service._annif import ProjectInfo, project_info, time_of
from labelgrove.service._events import (
    MOST_EXAMPLES,
    Deprecation,
    Event,
    ExampleId,
    Learnt,
    Merging,
    Name,
    NewLabels,
    Removal,
    Renaming,
    Text,
    ThresholdValues,
    body_of,
)
from labelgrove.service._follow import Events
from labelgrove.service._http import PROJECT, WAIT_SECONDS, Call, Routes, Waiting
from labelgrove.service._log import Addition, Receipt
from labelgrove.service._model import can_rename
from labelgrove.service._problems import Overtaken, Problem
from labelgrove.service._project import Project, Rebuilding
from labelgrove.service._settings import Settings
from labelgrove.service._stats import Stats
from labelgrove.vocabulary import Vocabulary

routes = Routes()

_FINGERPRINTS = 20
_TRIES = 20  # to add a change before any other event

MOST_EXPLAINED = 100_000
"""Characters of the longest text to explain; explaining takes ten times as long as suggesting."""

Count = Annotated[int, Meta(ge=0, le=2**53)]


# --- projects ------------------------------------------------------------------------------------


class StatsQuery(Struct):
    """Whether to include the fingerprint, which takes a moment for large models."""

    fingerprint: bool = True


@routes.add("PUT", PROJECT, "admin", body=Settings)
async def make_project(call: Call) -> ProjectInfo:
    """Create a project."""
    call.may_learn()
    fresh = await asyncio.to_thread(call.service.create, call.name, call.body)
    call.status = 201 if fresh else 200
    return await asyncio.to_thread(project_info, await call.project())


@routes.add("DELETE", PROJECT, "admin")
async def delete_project(call: Call) -> None:
    """Delete a project permanently."""
    call.may_learn()
    await asyncio.to_thread(call.service.delete, call.name)
    call.context.seen.pop(call.name, None)
    with suppress(KeyError):  # some versions mind that nothing was counted
        call.context.metrics.learnt.remove(call.name)


@routes.add("GET", f"{PROJECT}/settings", "read")
async def show_settings(call: Call) -> Settings:
    """Show a project's settings."""
    return (await call.project()).settings


@routes.add("GET", f"{PROJECT}/stats", "read", query=StatsQuery)
async def show_stats(call: Call) -> Stats:
    """Show a project's statistics."""
    project = await call.project()
    return await call.result(project.stats(fingerprint=call.query.fingerprint))


# --- examples ------------------------------------------------------------------------------------


class NewExample(Struct, forbid_unknown_fields=True):
    """A text and its labels."""

    text: Text
    labels: NewLabels
    id: ExampleId | None = None


class NewExamples(Struct, forbid_unknown_fields=True):
    """Examples to learn, in order."""

    examples: Annotated[list[NewExample], Meta(min_length=1, max_length=MOST_EXAMPLES)]


class StoredExample(Struct):
    """An example as stored in the log."""

    id: str
    sequence: int
    text: str
    labels: list[str]
    at: str


class Feedback(Struct, forbid_unknown_fields=True):
    """The right labels for the text of a remembered suggestion."""

    id: Annotated[str, Meta(min_length=1, max_length=200)]
    labels: NewLabels


@routes.add("POST", f"{PROJECT}/examples", "learn", body=NewExamples, query=Waiting)
async def add_examples(call: Call) -> Receipt:
    """Learn examples."""
    project = await call.project()
    additions = [
        Addition("learn", Learnt(one.text, one.labels), one.id) for one in call.body.examples
    ]
    return await call.durable(project.log.append(additions, call.key, call.raw))


@routes.add("GET", f"{PROJECT}/examples/{{example}}", "learn")
async def show_example(call: Call) -> StoredExample:
    """Show an example."""
    project = await call.project()
    row = project.log.find(call.request.path_params["example"])
    example = body_of(row)
    name = row.name or f"@{row.sequence}"
    return StoredExample(name, row.sequence, example.text, example.labels, time_of(row))


@routes.add("DELETE", f"{PROJECT}/examples/{{example}}", "learn", query=Waiting)
async def forget_example(call: Call) -> Receipt:
    """Forget an example, as if it had never been sent."""
    project = await call.project()
    name = call.request.path_params["example"]
    return await call.durable(project.log.forget(name, call.key))


@routes.add("POST", f"{PROJECT}/feedback", "learn", body=Feedback, query=Waiting)
async def give_feedback(call: Call) -> Receipt:
    """Learn the right labels of a remembered suggestion."""
    project, right = await call.project(), call.body
    answered = project.log.answer(right.id, right.labels, call.key, call.raw)
    return await call.durable(answered)


# --- labels --------------------------------------------------------------------------------------


class LabelQuery(Struct):
    """Which labels to list."""

    search: Annotated[str, Meta(max_length=200)] = ""
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 100
    offset: Count = 0


class Label(Struct):
    """A label, its name and the number of its examples."""

    id: str
    name: str
    examples: int
    deprecated: bool


class Labels(Struct):
    """Labels learnt or in the vocabulary: those called as searched for, then the most frequent."""

    total: int
    labels: list[Label]


@routes.add("GET", f"{PROJECT}/labels", "read", query=LabelQuery)
async def list_labels(call: Call) -> Labels:
    """List a project's labels."""
    project, query = await call.project(), call.query
    return await asyncio.to_thread(_labels, project, query)


def _labels(project: Project, query: LabelQuery) -> Labels:
    learner, wanted = project.learner, query.search.casefold()
    vocabulary = learner.vocabulary or Vocabulary(())
    counts = learner.labels()
    found = vocabulary.matching(wanted)
    found += [one for one in counts if one not in vocabulary and wanted in one.casefold()]

    def place(label: str) -> tuple[bool, int, str]:
        # First the label that is called just so: the other matches may be many.
        called = (label.casefold(), (vocabulary.name(label) or "").casefold()) if wanted else ()
        return wanted not in called, -counts.get(label, 0), label

    first = nsmallest(query.offset + query.limit, found, place)  # faster than sorting all
    shown = [
        Label(one, vocabulary.name(one) or one, counts.get(one, 0), one in learner.deprecated)
        for one in first[query.offset :]
    ]
    return Labels(len(found), shown)


async def _change(call: Call, kind: str, *, head: int | None = None) -> Receipt:
    project = await call.project()
    added, digest = [Addition(kind, call.body)], kind.encode() + b" " + call.raw
    return await call.durable(project.log.append(added, call.key, digest, head=head))


async def _known_labels(call: Call, asked: Iterable[str]) -> dict[str, int] | None:
    """Count the examples of every label, those that are durable included.

    Returns None for a repeated request, which was checked when it came first. Raises Problem: 404
    if one of the labels ``asked`` is not known, 503 if the model is too far behind.
    """
    project = await call.project()
    if call.key is not None and await asyncio.to_thread(project.log.has_answered, call.key):
        return None
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            await call.result(project.applied(project.log.head))
    except TimeoutError:
        raise Problem(503, "the model is still learning earlier examples; try again") from None
    known = await asyncio.to_thread(project.learner.labels)
    for label in asked:
        if label not in known:
            raise Problem(404, f"there is no label {label!r:.200}")
    return known


def _alone(call: Call) -> asyncio.Lock:
    """Return the lock under which labels are checked and then changed."""
    return call.context.renaming.setdefault(call.name, asyncio.Lock())


@routes.add("POST", f"{PROJECT}/labels/rename", "admin", body=Renaming, query=Waiting)
async def rename_labels(call: Call) -> Receipt:
    """Rename labels."""
    project = await call.project()
    async with _alone(call):
        for _ in range(_TRIES):
            head = project.log.head
            known = await _known_labels(call, call.body.names)
            if known is None:
                return await _change(call, "rename")
            if not can_rename(call.body.names, known):
                raise Problem(409, "names: two labels would get the same name; merge them instead")
            with suppress(Overtaken):  # perhaps by an example of a label with one of these names
                return await _change(call, "rename", head=head)
    raise Overtaken


@routes.add("POST", f"{PROJECT}/labels/merge", "admin", body=Merging, query=Waiting)
async def merge_labels(call: Call) -> Receipt:
    """Merge labels into one."""
    async with _alone(call):
        await _known_labels(call, call.body.labels)
        return await _change(call, "merge")


@routes.add("POST", f"{PROJECT}/labels/remove", "admin", body=Removal, query=Waiting)
async def remove_labels(call: Call) -> Receipt:
    """Remove labels."""
    async with _alone(call):
        await _known_labels(call, call.body.labels)
        return await _change(call, "remove")


@routes.add("POST", f"{PROJECT}/labels/deprecate", "admin", body=Deprecation, query=Waiting)
async def deprecate_labels(call: Call) -> Receipt:
    """Stop suggesting labels, or resume."""
    return await _change(call, "deprecate")


class Cuts(Struct):
    """The thresholds of labels that have their own; a label is predicted if it reaches its own."""

    sequence: int
    default: float | None
    values: dict[str, float]


@routes.add("GET", f"{PROJECT}/thresholds", "read")
async def show_thresholds(call: Call) -> Cuts:
    """Show the thresholds of a project's labels."""
    project = await call.project()
    set_by_hand = project.learner.thresholds
    values = await asyncio.to_thread(project.learner.cut_offs)
    default = None if set_by_hand is None else set_by_hand.default
    return Cuts(project.learner.sequence, default, values)


@routes.add("PUT", f"{PROJECT}/thresholds", "admin", body=ThresholdValues, query=Waiting)
async def set_thresholds(call: Call) -> Receipt:
    """Set the thresholds of a project's labels."""
    if call.body.values is None and b'"default"' in call.raw:
        raise Problem(422, "default: expected `values` as well, if only an empty object")
    return await _change(call, "thresholds")


# --- why -----------------------------------------------------------------------------------------


class Question(Struct, forbid_unknown_fields=True):
    """A text, and optionally a label to explain, suggested or not."""

    text: Annotated[str, Meta(min_length=1, max_length=MOST_EXPLAINED)]
    label: Name | None = None
    limit: Annotated[int, Meta(ge=1, le=20)] = 5


class Reason(Struct):
    """A word's contribution for a label, or against it if negative."""

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


@routes.add("POST", f"{PROJECT}/explain", "read", body=Question)
async def explain(call: Call) -> Explanations:
    """Explain why labels are suggested."""
    project, asked = await call.project(), call.body
    sequence, found = await asyncio.to_thread(
        project.learner.explain, asked.text, asked.label, asked.limit
    )
    call.headers["LabelGrove-Sequence"] = str(sequence)
    return Explanations([_explained(one) for one in found])


def _explained(one: Any) -> Explained:
    """Sum each word's contributions along the path to a label."""
    weights: dict[str, float] = {}
    for step in one.path:
        for said in step.contributions:
            weights[str(said.feature)] = weights.get(str(said.feature), 0.0) + said.contribution
    ordered = sorted(weights.items(), key=lambda item: -abs(item[1]))
    return Explained(str(one.label), one.probability, [Reason(*item) for item in ordered[:30]])


# --- the log, snapshots, rebuilding --------------------------------------------------------------


class LogQuery(Struct):
    """Which events to list, and how long to wait for the first one."""

    after: Count = 0
    limit: Annotated[int, Meta(ge=1, le=1_000)] = 100
    wait: Annotated[float, Meta(ge=0.0, le=5.0)] = 0.0


class SnapshotInfo(Struct):
    """A snapshot of the model."""

    sequence: int
    fingerprint: str
    bytes: int


class Snapshots(Struct):
    """The snapshots of a project, newest first."""

    snapshots: list[SnapshotInfo]


@routes.add("GET", f"{PROJECT}/log", "learn", query=LogQuery)
async def list_events(call: Call) -> Events:
    """List a project's events."""
    query = call.query
    head = call.service.head(call.name)
    if head is not None and head == query.after and not query.wait:
        return Events(head, [], {})  # replicas ask often; a project need not be opened for them
    project = await call.project()
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


@routes.add("GET", f"{PROJECT}/snapshots", "read")
async def list_snapshots(call: Call) -> Snapshots:
    """List a project's snapshots."""
    found = []
    for one in (await call.project()).snapshots():
        with suppress(FileNotFoundError):  # a newer snapshot may just have replaced it
            size = one.path.stat().st_size
            found.append(SnapshotInfo(one.sequence, one.fingerprint, size))
    return Snapshots(found)


@routes.add("POST", f"{PROJECT}/snapshots", "admin")
async def take_snapshot(call: Call) -> Snapshots:
    """Write a snapshot now."""
    project = await call.project()
    await call.result(project.snapshot())
    return await list_snapshots(call)


@routes.add("POST", f"{PROJECT}/rebuild", "admin")
async def rebuild(call: Call) -> Rebuilding:
    """Build a new tree from all examples; use it if it is no worse."""
    call.may_learn()
    project = await call.project()
    # Rebuilding takes minutes, so it gets its own thread rather than one of to_thread's few.
    alone = ThreadPoolExecutor(1, "rebuild")
    built = alone.submit(project.rebuild)
    alone.shutdown(wait=False)
    return await call.result(built)


# --- the service ---------------------------------------------------------------------------------


class Health(Struct):
    """The health of the service."""

    status: str
    detail: str | UnsetType = UNSET


@routes.add("GET", "/health/live", None)
async def live(_: Call) -> Health:
    """Check that the service runs."""
    return Health("live")


@routes.add("GET", "/health/ready", None)
async def ready(call: Call) -> Health:
    """Check that the service is ready."""
    failures = [one.failure for one in call.service.held() if one.failure is not None]
    for name in call.service.unopened():  # nobody may ask for it before this service is ready
        try:
            await call.context.entered(name)
            call.service.leave(name)
        except LabelGroveError as failure:
            if name in call.service.unopened():  # unless somebody has removed it
                failures.append(str(failure))
    follower = call.service.follower
    if follower is not None and not follower.has_followed:
        failures.append(
            f"nothing was copied from the leader yet ({follower.failure or 'starting'})"
        )
    if call.service.opening:
        failures.append("the projects are still being opened")
    if call.service.closing:
        failures.append("the service is shutting down")
    if failures:
        call.status = 503
        return Health("failing", failures[0])
    told = [*call.service.damaged().values()]
    if follower is not None and follower.failure:
        told.append(f"the leader cannot be followed at present: {follower.failure}")
    return Health("ready", " | ".join(told) or UNSET)


@routes.add("GET", "/metrics", "read")
async def show_metrics(call: Call) -> Response:
    """Show metrics for Prometheus."""
    metrics = call.context.metrics
    measured = await asyncio.to_thread(_measured, call.service.held())  # waits for the models
    for gauge in metrics.gauges.values():
        gauge.clear()  # of projects that were deleted
    for project, values in measured.items():
        for name, value in values.items():
            metrics.gauges[name].labels(project).set(value)
    for name in call.service.damaged() | call.service.unopened():
        metrics.gauges["failed"].labels(name).set(True)
    return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)


def _measured(projects: Iterable[Project]) -> dict[str, dict[str, float]]:
    """Return the values of the gauges of each project."""
    return {
        project.name: {
            "log_sequence": project.log.head,
            "applied_sequence": project.learner.sequence,
            "waiting_requests": project.log.waiting,
            "model_bytes": project.learner.bytes(),
            "failed": project.failure is not None,
        }
        for project in projects
    }
