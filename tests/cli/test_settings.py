from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import pytest

from labelgrove import OnlinePLTClassifier, ParameterError
from labelgrove.cli._settings import Settings, parse_settings, settable_types
from labelgrove.text import HashedText

if TYPE_CHECKING:
    from labelgrove.trees import LabelTree


class Learner:
    """A constructor with every kind of annotation that the estimators use."""

    def __init__(
        self,
        *,
        preset: Literal["default", "paper"] = "default",
        learner: str | None = None,
        alpha: float = 0.75,
        arity: int | None = None,
        rate: float | None = None,
        normalize: bool = True,
        seed: int | None = 0,
        tree: LabelTree | None = None,
        either: int | Literal["all"] = 1,
        n_jobs: int = 1,
    ) -> None:
        pass


class Text:
    """A text front-end."""

    def __init__(
        self, *, n_features: int = 100, ngrams: tuple[int, int] = (1, 1), sizes: Sequence[int] = ()
    ) -> None:
        pass


def parse(*assignments: str) -> Settings:
    return parse_settings(assignments, Learner, Text, {"n_jobs": "--jobs"})


@pytest.mark.parametrize(
    ("assignment", "value"),
    [
        ("preset=paper", "paper"),
        ("learner=arow", "arow"),
        ("learner=none", None),
        ("alpha=0.5", 0.5),
        ("alpha=1e-3", 1e-3),
        ("alpha=1", 1.0),
        ("arity=16", 16),
        ("arity=1e3", 1000),
        ("arity=None", None),
        ("rate=2", 2.0),
        ("normalize=no", False),
        ("normalize=True", True),
        ("seed=null", None),
        ("either=all", "all"),
        ("either=3", 3),
        (" alpha = 0.25", 0.25),
    ],
)
def test_a_value_takes_its_parameters_own_type(assignment: str, value: Any) -> None:
    found = parse(assignment).estimator
    assert list(found.values()) == [value]
    assert type(next(iter(found.values()))) is type(value)


def test_text_parameters_go_to_the_front_end() -> None:
    found = parse("text.n_features=1_000", "text.ngrams=1,2", "alpha=0.5")
    assert found.text == {"n_features": 1000, "ngrams": (1, 2)}
    assert found.estimator == {"alpha": 0.5}


def test_the_last_of_several_counts() -> None:
    assert parse("alpha=0.1", "alpha=0.2").estimator == {"alpha": 0.2}


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("alpha", r"--set alpha: expected name=value"),
        ("=3", r"--set =3: expected name=value"),
        ("alpha=much", r"--set alpha=much: expected a number"),
        ("arity=2.5", r"--set arity=2\.5: expected a whole number or none"),
        ("normalize=maybe", r"--set normalize=maybe: expected true or false"),
        ("preset=fast", r"--set preset=fast: expected default, paper"),
        ("text.ngrams=1,2,3", r"--set text\.ngrams=1,2,3: expected numbers separated by commas"),
        ("alfa=1", r"no such parameter; did you mean alpha\? \(there are alpha, arity, "),
        ("zzz=1", r"no such parameter \(there are "),
        ("text.features=1", r"did you mean text\.n_features\? \(there are text\.n_features, "),
        ("tree=oak", r"--set tree: this parameter can only be set from Python"),
        ("n_jobs=2", r"--set n_jobs: give it by the option --jobs"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(assignment: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message) as caught:
        parse(assignment)
    assert "\n" not in str(caught.value)


def test_the_list_of_known_names_leaves_out_what_cannot_be_set() -> None:
    with pytest.raises(ParameterError) as caught:
        parse("nothing=1")
    assert "tree" not in str(caught.value)
    assert "n_jobs" not in str(caught.value)


def test_every_parameter_of_the_real_classes_is_known() -> None:
    assert {"preset", "learner", "alpha", "arity", "max_leaves", "replay"} <= set(
        settable_types(OnlinePLTClassifier)
    )
    assert "tree" not in settable_types(OnlinePLTClassifier)
    assert "n_features" in settable_types(HashedText)
