"""What a process imports: scikit-learn takes longer than all else, and only models need it."""

from __future__ import annotations

import subprocess
import sys

import pytest

import labelgrove

#: Modules that do without it.
WITHOUT = (
    *("labelgrove", "labelgrove.client", "labelgrove.data", "labelgrove.datasets"),
    *("labelgrove.metrics", "labelgrove.persistence", "labelgrove.tuning", "labelgrove.vocabulary"),
)

IMPORTS = """
import sys
from importlib import import_module

for name in sys.argv[1:]:
    import_module(name)
    if "sklearn" in sys.modules:
        sys.exit(f"{name} imports scikit-learn")
"""


def python(script: str, *words: str) -> str:
    """Output of a script in a process of its own, with the messages of its end."""
    command = [sys.executable, "-c", script, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    return done.stdout + done.stderr


def test_what_needs_no_model_does_not_import_scikit_learn() -> None:
    assert python(IMPORTS, *WITHOUT) == ""
    assert python(IMPORTS, "labelgrove.models") == "labelgrove.models imports scikit-learn\n"


def test_public_names_are_there_before_they_are_used() -> None:
    script = """
import labelgrove
before = dir(labelgrove)
assert {*labelgrove.__all__, "metrics", "models"} <= {*before}, before
from labelgrove import *
from sklearn.exceptions import NotFittedError
assert issubclass(NotLearnedError, NotFittedError) and issubclass(NotLearnedError, LabelGroveError)
assert labelgrove.metrics.precision_at_k and PLTClassifier is labelgrove.models.PLTClassifier
"""
    assert python(script) == ""


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'labelgrove' has no attribute 'Classifier'"):
        labelgrove.Classifier  # noqa: B018
