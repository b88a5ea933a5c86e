"""The settings of a project, fixed at its creation: the first event of its log."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from labelgrove.models._names import NamesLearnt
from labelgrove.service._events import Language, Name
from labelgrove.vocabulary import Concept, Vocabulary

Value = bool | int | float | str | list[int] | None

MOST_CONCEPTS = 1_000_000


class Entry(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A concept of the vocabulary, in the format of a JSON lines vocabulary.

    Attributes
    ----------
    id : str
        The label of examples, such as the URI of a subject.
    label : str or dict
        Its name, or its names by language.
    alternative : list of str or dict
        Its alternative names, or these by language.
    notation : str, optional
        A class number.
    broader : list of str
        Ids of its broader concepts.
    name : str
        Former name of `label`, found in older logs.
    """

    id: Name
    label: str | dict[str, str] = ""
    alternative: list[str] | dict[str, list[str]] = []
    notation: str | None = None
    broader: list[Name] = []
    name: str = ""

    def concept(self) -> Concept:
        """Convert to the library's `Concept`."""
        label, others = self.label or self.name, self.alternative
        names = label if isinstance(label, dict) else {"": label} if label else {}
        more = others if isinstance(others, dict) else {"": others}
        alternative = {language: tuple(said) for language, said in more.items() if said}
        return Concept(self.id, names, alternative, self.notation, tuple(self.broader))


class Settings(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The settings of a project, fixed at its creation.

    Attributes
    ----------
    name : str
        Display name of the project; by default its id.
    language : str
        Language of the texts and of the label names.
    estimator : dict
        Parameters of `OnlinePLTClassifier`.
    text : dict
        Parameters of `TextFeatures`, the text front end.
    vocabulary : list of Entry, optional
        Label names. Other labels are learnt but never suggested.
    names : "met" or "all", optional
        Which label names to learn as examples; see `TextClassifier`.
    snapshot_every : int
        Number of events between two snapshots.
    rebuild_every : int
        Number of new examples after which the tree is rebuilt from all examples; 0 for never.
    rebuild_hours : float
        Hours after which the tree is rebuilt if there are new examples; 0 for never.
    """

    name: Annotated[str, Meta(max_length=200)] = ""
    language: Language = "en"
    estimator: dict[Name, Value] = {}
    text: dict[Name, Value] = {}
    vocabulary: Annotated[list[Entry], Meta(max_length=MOST_CONCEPTS)] | None = None
    names: NamesLearnt | None = None
    snapshot_every: Annotated[int, Meta(ge=1, le=1_000_000_000)] = 20_000
    rebuild_every: Annotated[int, Meta(ge=0, le=1_000_000_000)] = 0
    rebuild_hours: Annotated[float, Meta(ge=0, le=10_000)] = 0.0


def vocabulary_of(settings: Settings) -> Vocabulary | None:
    """Return the label names of a project, preferring its own language.

    Raises DataError if an id occurs twice.
    """
    if settings.vocabulary is None:
        return None
    return Vocabulary((one.concept() for one in settings.vocabulary), (settings.language, ""))
