"""The service answers requests made from its OpenAPI document as the document says."""

from __future__ import annotations

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance
from starlette.testclient import TestClient

from service.kit import DEMO, examples

#: Constraints that the document cannot express, such as the parameters of an estimator (422).
SEMANTIC = [positive_data_acceptance]

QUICK = settings(
    max_examples=6,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def test_own_headers_of_answers_are_described(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    asked = {"text": "a lost parcel", "remember": 60}
    taught = [{"text": "a lost parcel", "subjects": [{"uri": "shipping"}]}]
    for operation, sent, expected in (
        ("learn", {"json": taught}, {"Sequence", "Skipped"}),
        ("suggest", {"data": asked}, {"Sequence", "Suggestion"}),
        ("explain", {"json": {"text": "a lost parcel"}}, {"Sequence"}),
        ("labels/deprecate", {"json": {"labels": ["shipping"]}}, {"Sequence"}),
    ):
        answer = client.post(f"{DEMO}/{operation}", **sent)
        described = document["paths"][f"/v1/projects/{{project}}/{operation}"]["post"]["responses"]
        names = {f"LabelGrove-{one}" for one in expected}
        assert set(described[str(answer.status_code)]["headers"]) == names
        assert names == {one for one in names if one in answer.headers}
        assert "Retry-After" in described["503"]["headers"]


@pytest.mark.slow
def test_requests_made_from_the_document_are_answered_as_it_says(address: str) -> None:
    sent = [{"text": text, "labels": labels} for text, labels in examples(30)]
    httpx.post(f"{address}/v1/projects/demo/examples", json={"examples": sent}).raise_for_status()
    schema = schemathesis.openapi.from_url(f"{address}/openapi.json")
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) > 30
    for operation in operations:
        if operation.path.endswith("/rebuild"):  # takes seconds, and is tested elsewhere
            continue

        @QUICK
        @given(case=operation.as_strategy())
        def check(case: schemathesis.Case) -> None:
            if "project" in case.path_parameters and case.method != "DELETE":
                case.path_parameters["project"] = "demo"
            if case.operation.path.endswith("/log"):
                case.query.pop("wait", None)
            response = case.call()
            case.validate_response(response, excluded_checks=SEMANTIC)

        check()
    health = httpx.get(f"{address}/health/ready")
    assert health.json() == {"status": "ready"}
