"""What a project is set to when it is made: the first event of its log."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from labelgrove.service._events import Name, Names

Value = bool | int | float | str | list[int] | None

MOST_CONCEPTS = 1_000_000


class Concept(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A label that the project's vocabulary knows.

    Attributes
    ----------
    id : str
        What examples have; where labels are subjects, its URI.
    name : str
        What people call it; by default the id.
    notation : str, optional
        A class number.
    """

    id: Name
    name: str = ""
    notation: str | None = None


class Settings(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What decides how a project learns and answers; it stays as it is.

    Attributes
    ----------
    name : str
        What people call the project; by default its id.
    language : str
        Of the texts and of the labels' names.
    estimator : dict
        Parameters of `OnlinePLTClassifier`.
    text : dict
        Parameters of `TextFeatures`, which turns texts into features.
    vocabulary : list of Concept, optional
        Labels beside these are learnt, and never suggested.
    snapshot_every : int
        Examples between two snapshots.
    rebuild_every : int
        Examples after which a better tree is built of all of them; 0 for never.
    """

    name: Annotated[str, Meta(max_length=200)] = ""
    language: Annotated[str, Meta(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{1,8})*$")] = "en"
    estimator: dict[Name, Value] = {}
    text: dict[Name, Value] = {}
    vocabulary: Annotated[list[Concept], Meta(max_length=MOST_CONCEPTS)] | None = None
    snapshot_every: Annotated[int, Meta(ge=1, le=1_000_000_000)] = 20_000
    rebuild_every: Annotated[int, Meta(ge=0, le=1_000_000_000)] = 0


class Suggestion(Struct):
    """A label, and the probability that it is right."""

    label: str
    score: float


__all__ = ["Concept", "Names", "Settings", "Suggestion", "Value"]
