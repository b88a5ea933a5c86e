"""What a project is set to when it is made: the first event of its log."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from labelgrove.models._names import NamesLearnt
from labelgrove.service._events import Name
from labelgrove.vocabulary import Concept, Vocabulary

Value = bool | int | float | str | list[int] | None

MOST_CONCEPTS = 1_000_000


class Entry(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A concept of the vocabulary, as a line of its file in JSON lines has it.

    Attributes
    ----------
    id : str
        What examples have; where labels are subjects, its URI.
    label : str or dict
        Its name, or its names by language.
    alternative : list of str or dict
        Its other names, by language perhaps.
    notation : str, optional
        A class number.
    broader : list of str
        Ids of the concepts above it.
    name : str
        What `label` was called at first; older logs have it.
    """

    id: Name
    label: str | dict[str, str] = ""
    alternative: list[str] | dict[str, list[str]] = []
    notation: str | None = None
    broader: list[Name] = []
    name: str = ""

    def concept(self) -> Concept:
        """The same for the library."""
        label, others = self.label or self.name, self.alternative
        names = label if isinstance(label, dict) else {"": label} if label else {}
        more = others if isinstance(others, dict) else {"": others}
        alternative = {language: tuple(said) for language, said in more.items() if said}
        return Concept(self.id, names, alternative, self.notation, tuple(self.broader))


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
    vocabulary : list of Entry, optional
        What labels are called. Labels beside these are learnt, and never suggested.
    names : "met" or "all", optional
        Whose names in the vocabulary are learnt as examples; see `TextClassifier`.
    snapshot_every : int
        Examples between two snapshots.
    rebuild_every : int
        Examples after which a better tree is built of all of them; 0 for never.
    rebuild_hours : float
        Hours after which one is built, if there are new examples; 0 for never.
    """

    name: Annotated[str, Meta(max_length=200)] = ""
    language: Annotated[str, Meta(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{1,8})*$(?!\n)")] = "en"
    estimator: dict[Name, Value] = {}
    text: dict[Name, Value] = {}
    vocabulary: Annotated[list[Entry], Meta(max_length=MOST_CONCEPTS)] | None = None
    names: NamesLearnt | None = None
    snapshot_every: Annotated[int, Meta(ge=1, le=1_000_000_000)] = 20_000
    rebuild_every: Annotated[int, Meta(ge=0, le=1_000_000_000)] = 0
    rebuild_hours: Annotated[float, Meta(ge=0, le=10_000)] = 0.0


def vocabulary_of(settings: Settings) -> Vocabulary | None:
    """What a project's labels are called, in its own language before all others.

    Raises
    ------
    DataError
        If an id occurs twice.
    """
    if settings.vocabulary is None:
        return None
    return Vocabulary((one.concept() for one in settings.vocabulary), (settings.language, ""))
