"""Every estimator of the package, in several configurations, keeps what all of them promise."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from contract import (
    arguments,
    concurrency,
    failures,
    inputs,
    labels,
    learning,
    predictions,
    saving,
    targets,
    toolbox,
)
from contract.kit import CONFIGURATIONS, Check, Make, estimators

TOPICS = [
    arguments,
    concurrency,
    failures,
    inputs,
    labels,
    learning,
    predictions,
    saving,
    targets,
    toolbox,
]


def checks() -> Iterator[Check]:
    """Give every function of the topics that is named check_…."""
    for topic in TOPICS:
        found = [value for name, value in vars(topic).items() if name.startswith("check_")]
        yield from (check for check in found if check.__module__ == topic.__name__)


def cases() -> Iterator[Any]:
    for name, estimator in estimators():
        for configuration, parameters in CONFIGURATIONS[name].items():
            for check in checks():
                topic = check.__module__.rpartition(".")[2]
                case = f"{name}-{configuration}-{topic}-{check.__name__.removeprefix('check_')}"
                yield pytest.param(partial(_make, estimator, parameters), check, id=case)


def _make(estimator: type, parameters: dict[str, Any], **changes: Any) -> Any:
    return estimator(**{**parameters, **changes})


@pytest.mark.parametrize(("make", "check"), list(cases()))
def test_contract(make: Make, check: Check) -> None:
    check(make)


def test_every_estimator_is_configured_and_checked() -> None:
    assert {name for name, _ in estimators()} == CONFIGURATIONS.keys()
    assert len(list(checks())) > 50
