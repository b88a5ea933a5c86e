"""The service answers requests made from its OpenAPI document as the document says."""

from __future__ import annotations

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from service.kit import examples

pytestmark = pytest.mark.slow

#: Constraints that the document cannot express, such as the parameters of an estimator (422).
SEMANTIC = [positive_data_acceptance]

QUICK = settings(
    max_examples=6,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


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
