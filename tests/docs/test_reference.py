"""The reference names everything public, and gives every estimator a page with all its methods."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import labelgrove
from labelgrove import models
from labelgrove.models import ESTIMATORS

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
PAGES = {page: page.read_text(encoding="utf-8") for page in REFERENCE.rglob("*.md")}
ENTRY = re.compile(r"^\.\. auto(?:class|exception|function):: (\w+)$", re.MULTILINE)
DEFAULT = re.compile(r"^(\w+(?:, \w+)*) : .*\bdefault=(.+)$", re.MULTILINE)
PACKAGE = re.compile(r"^\.\. automodule:: labelgrove\.(\w+)$", re.MULTILINE)


def test_every_public_name_has_an_entry() -> None:
    entries = {name for text in PAGES.values() for name in ENTRY.findall(text)}
    for text in PAGES.values():
        for package in PACKAGE.findall(text):
            entries |= set(dir(import_module(f"labelgrove.{package}")))
    public = {*labelgrove.__all__, *models.__all__} - {"ESTIMATORS", "__version__"}
    assert sorted(public - entries) == []


def test_defaults_are_what_the_docstrings_say() -> None:
    packages = ("data", "evaluation", "metrics", "models", "text", "trees", "tuning")
    modules = [labelgrove, *(import_module(f"labelgrove.{package}") for package in packages)]
    things = [getattr(module, name) for module in modules for name in module.__all__]
    callables = [thing for thing in things if callable(thing)]
    for thing in filter(inspect.isclass, list(callables)):
        own = inspect.getmembers(thing, inspect.isfunction)
        callables += [method for name, method in own if not name.startswith(("_", "set_"))]
    found = 0
    for thing in callables:
        for names, said in DEFAULT.findall(inspect.getdoc(thing) or ""):
            parameters = inspect.signature(thing).parameters
            for name, default in zip(names.split(", "), said.split(" and "), strict=True):
                assert parameters[name].default == eval(default), (thing, name)
                found += 1
    assert found > 50


def test_nothing_has_two_entries() -> None:
    entries = [
        (module, name)
        for text in PAGES.values()
        for part in text.split(".. currentmodule:: ")[1:]
        for module in [part.split("\n", 1)[0]]
        for name in ENTRY.findall(part)
    ]
    assert sorted(entry for entry in set(entries) if entries.count(entry) > 1) == []


@pytest.mark.parametrize("name", [*(one.__name__ for one in ESTIMATORS), "ThresholdedClassifier"])
def test_an_estimator_has_a_page_with_what_it_inherits(name: str) -> None:
    [page] = [page for page, text in PAGES.items() if f"autoclass:: {name}\n" in text]
    assert PAGES[page].startswith(f"# {name}\n")
    assert re.search(rf"autoclass:: {name}\n   :members:\n   :inherited-members: ", PAGES[page])
