"""The OpenAPI document, derived from the routes and from the types that decode requests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import NoneType
from typing import Any

import msgspec
from starlette.responses import Response

from labelgrove._version import __version__
from labelgrove.service._events import PROJECT_NAME
from labelgrove.service._http import Route

_PROBLEM = {
    "type": "object",
    "description": "A failure in the format of RFC 9457; detail is one sentence.",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
}
_PARAMETERS = {
    "project": {"type": "string", "pattern": f"^{PROJECT_NAME.pattern}$"},
    "example": {"type": "string", "minLength": 1, "pattern": "^[^/]+$"},
}
_FAILURES = {
    "400": "The request cannot be parsed.",
    "401": "A token is missing or unknown.",
    "403": "The request is not allowed.",
    "404": "There is no such resource.",
    "408": "The body did not arrive in time.",
    "409": "The request conflicts with the current state.",
    "413": "The body is too large.",
    "415": "The body has another media type.",
    "422": "The request is well-formed but invalid.",
    "429": "Too many requests are waiting; Retry-After says when to try again.",
    "500": "The service failed, or the project's log is damaged or was removed.",
    "503": "The service is not available; Retry-After says when to try again.",
    "504": "The change is durable but not applied yet.",
    "507": "The disk is full; nothing was learnt.",
}

_SEQUENCE = {
    "LabelGrove-Sequence": {
        "description": "Number of the last event of the log that the answer takes into account.",
        "schema": {"type": "integer", "minimum": 0},
    }
}
_HEADERS = {
    "suggest": {
        **_SEQUENCE,
        "LabelGrove-Suggestion": {
            "description": "With `remember`: id of the text, for feedback.",
            "schema": {"type": "string"},
        },
    },
    "suggest_batch": _SEQUENCE,
    "explain": _SEQUENCE,
    "learn": {
        **_SEQUENCE,
        "LabelGrove-Skipped": {
            "description": "Number of documents without a text or without a subject.",
            "schema": {"type": "integer", "minimum": 0},
        },
    },
}
_RETRY_AFTER = {
    "Retry-After": {
        "description": "Seconds after which to try again.",
        "schema": {"type": "integer", "minimum": 1},
    }
}


def openapi(routes: Sequence[Route]) -> dict[str, Any]:
    """Describe the routes in an OpenAPI 3.1 document."""
    kinds = [kind for one in routes for kind in (one.body, one.answer, one.query)]
    kinds = [kind for kind in kinds if kind not in {None, NoneType, Response}]
    schemas, components = msgspec.json.schema_components(
        kinds, ref_template="#/components/schemas/{name}"
    )
    by_kind = dict(zip(kinds, schemas, strict=True))
    for component in components.values():
        # Only the first line of a docstring concerns users; the rest documents Python attributes.
        if "description" in component:
            component["description"] = component["description"].partition("\n")[0]
    paths: dict[str, Any] = {}
    for route in routes:
        operation = _operation(route, by_kind, components)
        paths.setdefault(route.path, {})[route.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "LabelGrove",
            "version": __version__,
            "summary": "Suggest labels for texts, and learn from corrections.",
        },
        "paths": paths,
        "components": {
            "schemas": {**components, "Problem": _PROBLEM},
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "basic": {"type": "http", "scheme": "basic"},
            },
        },
    }


def _operation(
    route: Route, by_kind: dict[Any, dict[str, Any]], components: dict[str, Any]
) -> dict[str, Any]:
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": _PARAMETERS[name]}
        for name in re.findall(r"{(\w+)}", route.path)
    ]
    if route.query is not None:
        fields = components[by_kind[route.query]["$ref"].rpartition("/")[2]]
        parameters += [
            {"name": name, "in": "query", "required": False, "schema": schema}
            for name, schema in fields["properties"].items()
        ]
    if route.writes:
        parameters.append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": False,
                "description": "A request is carried out only once per key.",
                "schema": {"type": "string", "pattern": "^[!-~]{1,200}$"},
            }
        )
    success: dict[str, Any] = {"description": "Done."}
    headers = _HEADERS.get(route.name, _SEQUENCE if route.writes else None)
    if headers is not None:
        success["headers"] = headers
    if route.answer is Response:
        success["content"] = {"text/plain": {"schema": {"type": "string"}}}
    elif route.answer is not NoneType:
        success["content"] = {"application/json": {"schema": by_kind[route.answer]}}
    responses = {"204" if route.answer is NoneType else "200": success}
    if route.name == "make_project":
        responses["201"] = {**success, "description": "Created."}
    if route.name == "ready":
        responses["503"] = {**success, "description": "Not ready, with the reason."}
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for status, description in _FAILURES.items():
        failure = {"description": description, "content": problem}
        if "Retry-After" in description:
            failure["headers"] = _RETRY_AFTER
        responses.setdefault(status, failure)
    operation: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.summary,
        "tags": [_tag(route.path)],
        "parameters": parameters,
        "responses": responses,
    }
    if route.scope is not None:
        operation["security"] = [{"token": []}, {"basic": []}, {}]
    if route.body is not None:
        kind = "application/x-www-form-urlencoded" if route.form else "application/json"
        content = {kind: {"schema": by_kind[route.body]}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _tag(path: str) -> str:
    parts = path.strip("/").split("/")
    return parts[3] if len(parts) > 3 else parts[0] if parts[0] != "v1" else "projects"
