"""The contract that every estimator keeps, in several configurations."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from sklearn.model_selection import KFold, cross_val_score

from contract.kit import KINDS, Check, Make, checkerboard, estimators


def checks() -> Iterator[Check]:
    """Return every function of this folder's modules that is named check_…."""
    for path in sorted(Path(__file__).parent.glob("[a-z]*.py")):
        if not path.stem.startswith(("test_", "conftest")):
            topic = import_module(f"contract.{path.stem}")
            found = [value for name, value in vars(topic).items() if name.startswith("check_")]
            yield from (check for check in found if check.__module__ == topic.__name__)


#: Topics about forms of data and an interface that the core never sees. No parameter matters to
#: them, so one configuration of each estimator will do.
IN_FRONT = {"inputs", "targets", "toolbox"}


def cases() -> Iterator[Any]:
    for name, estimator in estimators():
        kind = KINDS[name]
        for configuration, parameters in kind.configurations.items():
            for check in checks():
                if not getattr(check, "needs", frozenset()) <= kind.traits:
                    continue
                topic = check.__module__.rpartition(".")[2]
                first = parameters is next(iter(kind.configurations.values()))
                if topic in IN_FRONT and not first:
                    continue
                case = f"{name}-{configuration}-{topic}-{check.__name__.removeprefix('check_')}"
                marks = () if first else pytest.mark.slow  # the sanitizers see one configuration
                yield pytest.param(Make(estimator, parameters, kind), check, id=case, marks=marks)


@pytest.mark.parametrize(("make", "check"), list(cases()))
def test_contract(make: Make, check: Check) -> None:
    check(make)


def test_processes_of_joblib_learn_the_same() -> None:
    """One test, since processes must import everything."""
    X, y = checkerboard()
    for name, estimator in estimators():
        for parameters in KINDS[name].configurations.values():
            make = Make(estimator, parameters, KINDS[name])
            alone = cross_val_score(make(passes=3), X, y, cv=KFold(2))
            beside = cross_val_score(make(passes=3), X, y, cv=KFold(2), n_jobs=2)
            assert beside.tolist() == alone.tolist(), (name, parameters)


def test_every_estimator_is_described_and_checked() -> None:
    assert {name for name, _ in estimators()} == KINDS.keys()
    assert len(list(checks())) > 50
