from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import labelgrove
from cli.conftest import as_json, run
from labelgrove import OnlinePLTClassifier, ParameterError
from labelgrove.cli._models import TEXT_SETTINGS
from labelgrove.cli._options import Settings, parse_settings, settable, value_of
from labelgrove.text import TextFeatures
from labelgrove.trees import LabelTree


def parse(*assignments: str) -> Settings:
    return parse_settings(
        assignments, ["alpha", "arity", "n_jobs"], ["n_features", "ngrams"], {"n_jobs": "--jobs"}
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("paper", "paper"),
        ("none", None),
        ("null", None),
        ("0.5", 0.5),
        ("1e-3", 1e-3),
        ("16", 16),
        ("-2", -2),
        ("1e3", 1000),
        ("1_000", 1000),
        ("2.0", 2.0),
        ("1e400", float("inf")),
        ("false", False),
        ("True", True),
        ("1,2", (1, 2)),
        (" 0.25 ", 0.25),
        (r"(?u)\w+", r"(?u)\w+"),
        ("folder/tree.json", "folder/tree.json"),
        ("__import__('os')", "__import__('os')"),
        ("(" * 10_000, "(" * 10_000),
        ("", ""),
    ],
)
def test_a_value_is_a_literal_or_a_word(text: str, value: Any) -> None:
    found = value_of(text)
    assert found == value
    assert type(found) is type(value)


def test_text_parameters_go_to_the_front_end() -> None:
    found = parse("text.n_features=1_000", "text.ngrams=1,2", " alpha = 0.5")
    assert found.text == {"n_features": 1000, "ngrams": (1, 2)}
    assert found.estimator == {"alpha": 0.5}


def test_the_last_of_several_counts() -> None:
    assert parse("alpha=0.1", "alpha=0.2").estimator == {"alpha": 0.2}


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("alpha", r"--set alpha: expected name=value"),
        ("=3", r"--set =3: expected name=value"),
        (
            "alfa=1",
            r"no such parameter; did you mean alpha\? \(expected one of alpha, arity, text\.",
        ),
        ("zzz=1", r"no such parameter \(expected one of "),
        ("text.features=1", r"did you mean text\.n_features\?"),
        ("n_jobs=2", r"--set n_jobs: use the option --jobs instead"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(assignment: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message) as caught:
        parse(assignment)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("algorithm", "setting", "message"),
    [
        ("online-plt", "alpha=much", "alpha='much': expected a number"),
        ("online-plt", "arity=2.5", "arity=2.5: expected an integer"),
        ("online-plt", "normalize=maybe", "normalize='maybe': expected True or False"),
        ("online-plt", "preset=fast", "preset='fast': expected one of"),
        ("online-plt", "tree=oak", "tree='oak': expected a LabelTree"),
        ("plt", "tree=oak", "tree='oak': expected"),
        ("plt", "tree=oak.json", "oak.json: no such file"),
        ("plt", "arity=many", "arity='many': expected an integer"),
        ("ldsm", "shuffle=2", "shuffle=2: expected True or False"),
    ],
)
def test_the_estimator_refuses_a_value_before_any_example_is_read(
    vectors: Path, tmp_path: Path, algorithm: str, setting: str, message: str
) -> None:
    damaged = tmp_path / "damaged.txt"
    damaged.write_text(vectors.read_text() + "this is no example\n")
    words = ("train", damaged, "-o", tmp_path / "m.lg", "--algorithm", algorithm)
    result = run(*words, "--set", setting, status=1)
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("algorithm", ["online-plt", "plt"])
def test_a_tree_comes_from_a_file(vectors: Path, tmp_path: Path, algorithm: str) -> None:
    tree = tmp_path / "tree.json"
    run("tree", "build", vectors, "-o", tree, "--kind", "huffman")
    words = ("train", vectors, "-o", tmp_path / "m.lg", "--algorithm", algorithm)
    run(*words, "--set", f"tree={tree}", "--json")
    model = labelgrove.load(tmp_path / "m.lg")
    built = LabelTree.from_json(tree.read_text())
    assert model.tree_.n_nodes == built.n_nodes
    facts = as_json("info", tmp_path / "m.lg")
    assert facts["nodes"] == built.n_nodes


def test_every_parameter_of_the_real_classes_is_known() -> None:
    assert set(settable(OnlinePLTClassifier)) == set(OnlinePLTClassifier().get_params())
    assert set(TEXT_SETTINGS) == set(TextFeatures().get_params()) - {"n_jobs"}
