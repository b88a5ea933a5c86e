"""What a process imports: scikit-learn takes longer than all else, and only models need it."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import typer

import labelgrove
from labelgrove.cli.commands import app

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
        print(f"{name} imports scikit-learn")
seldom = ("feature_extraction", "frozen", "pipeline", "preprocessing")
print(*[one for one in seldom if "sklearn." + one in sys.modules])
"""

COMMANDS = """
import shlex
import sys
from labelgrove.cli import main

for line in sys.argv[1:]:
    sys.argv[1:] = shlex.split(line)
    try:
        main()
    except SystemExit as end:
        assert not end.code, line
    if "sklearn" in sys.modules:
        sys.exit(f"{line} imports scikit-learn")
"""


def python(script: str, *words: str, by: Sequence[str] = (sys.executable,)) -> str:
    """Output of a script in a process of its own, with the messages of its end."""
    command = [*by, "-c", script, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    return done.stdout + done.stderr


def test_only_models_import_scikit_learn_and_only_what_they_all_need_of_it() -> None:
    told = python(IMPORTS, *WITHOUT, "labelgrove.models")
    assert told == "labelgrove.models imports scikit-learn\n\n"


def test_commands_without_a_model_do_not_import_scikit_learn(tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text('{"text": "a text", "labels": ["a label"]}\n')
    convert = shlex.join(["convert", str(data), "-o", str(tmp_path / "mapped")])
    told = python(COMMANDS, "--version", "--help", "convert --help", "serve --help", convert)
    assert told.startswith(f"labelgrove {labelgrove.__version__}\n")
    assert "imports scikit-learn" not in told
    assert told.count("Usage: ") == 3 and "data set" in told.splitlines()[-1]


def test_the_list_of_commands_says_what_each_says_of_itself() -> None:
    application = typer.main.get_command(app)
    context = typer.Context(application)
    for name in application.list_commands(context):
        listed = application.get_command(context, name)
        _, whole, _ = application.resolve_command(context, [name])
        assert listed.help == whole.help.partition("\n\n")[0].replace("\n", " ")
        assert listed is not whole


def test_public_names_are_there_before_they_are_used(warm: Sequence[str]) -> None:
    script = """
import labelgrove
before = dir(labelgrove)
assert {*labelgrove.__all__, "metrics", "models"} <= {*before}, before
from labelgrove import *
from sklearn.exceptions import NotFittedError
assert issubclass(NotLearnedError, NotFittedError) and issubclass(NotLearnedError, LabelGroveError)
assert labelgrove.metrics.precision_at_k and PLTClassifier is labelgrove.models.PLTClassifier
"""
    assert python(script, by=warm) == ""


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'labelgrove' has no attribute 'Classifier'"):
        labelgrove.Classifier  # noqa: B018
