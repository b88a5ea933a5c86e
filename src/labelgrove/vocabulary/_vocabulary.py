"""A vocabulary: concepts by id."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove._errors import DataError, ModelFileError
from labelgrove._parameters import words


@dataclass(frozen=True)
class Concept:
    """The entry of a label in a vocabulary.

    Parameters
    ----------
    id : str
        The label itself, as in data and models: a number, a code or a URI.
    preferred : mapping of str to str
        Its name by language; the language is empty if the vocabulary does not state it.
    alternative : mapping of str to tuple of str
        Its other names by language.
    notation : str, optional
        A short code for human readers, such as a class mark.
    broader : tuple of str
        Ids of the broader concepts.

    Examples
    --------
    >>> Concept("p1265", {"fi": "silakka", "en": "Baltic herring"}).preferred["en"]
    'Baltic herring'
    """

    id: str
    preferred: Mapping[str, str] = field(default_factory=dict)
    alternative: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notation: str | None = None
    broader: tuple[str, ...] = ()


class Vocabulary:
    """The names of labels, by id; models keep using the ids as labels.

    Parameters
    ----------
    concepts : iterable of Concept
        Concepts with distinct ids.
    languages : str or iterable of str
        Languages in which to show labels, in order of preference. A label without a name in any of
        them is shown in another language. By default all languages, in order of appearance.

    Raises
    ------
    DataError
        If an id is empty or occurs twice, an item is not a Concept, or a part of one is of another
        type than stated there.
    ParameterError
        If a language is not a string.

    Examples
    --------
    >>> vocabulary = Vocabulary(
    ...     [Concept("1", {"fi": "silakka", "en": "Baltic herring"}, {"en": ("strömming",)})],
    ...     languages=["en"],
    ... )
    >>> vocabulary.name("1"), vocabulary.name(1), vocabulary.name("2")
    ('Baltic herring', 'Baltic herring', None)
    >>> vocabulary.names("1")
    ('Baltic herring', 'strömming')
    """

    def __init__(self, concepts: Iterable[Concept], languages: str | Iterable[str] = ()) -> None:
        self._concepts: dict[str, Concept] = {}
        self._ids: dict[str, str] | None = None  # by name, computed on first use
        self._said: dict[str, str] | None = None  # ids and names in lower case, on first use
        there: dict[str, None] = {}
        for concept in concepts:
            if not isinstance(concept, Concept):
                raise DataError(f"vocabulary: found {concept!r:.80}; expected a Concept")
            for found, expected in _faults(concept):
                raise DataError(
                    f"vocabulary: concept {concept.id!r:.80} has {found!r:.80}; expected {expected}"
                )
            if not concept.id or concept.id in self._concepts:
                what = "occurs twice" if concept.id else "is empty"
                raise DataError(f"vocabulary: the id {concept.id!r:.80} {what}; expected it once")
            self._concepts[concept.id] = concept
            there.update(dict.fromkeys((*concept.preferred, *concept.alternative)))
        given = (languages,) if isinstance(languages, str) else words("languages", languages)
        wanted = tuple(dict.fromkeys(given))
        self._there = tuple(there)
        self._languages = wanted or tuple(there)
        self._order = tuple(dict.fromkeys((*wanted, *there)))

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages in which labels are shown, in order of preference."""
        return self._languages

    @property
    def named_in(self) -> tuple[str, ...]:
        """All languages that have names, in order of appearance."""
        return self._there

    def __len__(self) -> int:
        return len(self._concepts)

    def __iter__(self) -> Iterator[str]:
        return iter(self._concepts)

    def __contains__(self, label: object) -> bool:
        return str(label) in self._concepts

    def __getitem__(self, label: Any) -> Concept:
        return self._concepts[str(label)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and (
            (self._concepts, self._languages) == (other._concepts, other._languages)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Vocabulary of {len(self)} concepts>"

    def name(self, label: Any, language: str | None = None) -> str | None:
        """Return the name to show for a label, or None if it has none.

        Parameters
        ----------
        label : str or int
            Its id; a number stands for its digits.
        language : str, optional
            Takes precedence over `languages`.

        Returns
        -------
        str or None
        """
        concept = self._concepts.get(str(label))
        if concept is None:
            return None
        for names in (concept.preferred, concept.alternative):
            for wanted in (language, *self._order) if language else self._order:
                if found := names.get(wanted):
                    return found if isinstance(found, str) else found[0]
        return None

    def called(self, label: Any) -> str:
        """Return the `name` of a label followed by the label itself, for display."""
        name = self.name(label)
        return str(label) if name is None or name == str(label) else f"{name} ({label})"

    def id_of(self, name: str) -> str:
        """Return the label that has this preferred name in any language.

        Parameters
        ----------
        name : str
            A name, or an id.

        Returns
        -------
        str
            `name` itself if it is an id, or if no label or several labels have this name.

        Examples
        --------
        >>> fish = Concept("p17", {"fi": "kalat", "en": "fishes"})
        >>> vocabulary = Vocabulary([fish])
        >>> vocabulary.id_of("fishes"), vocabulary.id_of("birds")
        ('p17', 'birds')
        """
        if name in self._concepts:
            return name
        if self._ids is None:
            found: dict[str, set[str]] = {}
            for label, concept in self._concepts.items():
                for called in concept.preferred.values():
                    found.setdefault(called, set()).add(label)
            self._ids = {called: one for called, [one, *more] in found.items() if not more}
        return self._ids.get(name, name)

    def names(self, label: Any) -> tuple[str, ...]:
        """Return all names of a label in the vocabulary's `languages`, the preferred ones first.

        Parameters
        ----------
        label : str or int

        Returns
        -------
        tuple of str
            Each once; empty if there are none.
        """
        concept = self._concepts.get(str(label))
        if concept is None:
            return ()
        found = [concept.preferred[name] for name in self._languages if name in concept.preferred]
        for language in self._languages:
            found += concept.alternative.get(language, ())
        return tuple(dict.fromkeys(found))

    def matching(self, part: str) -> list[str]:
        """Return the labels whose id, or one of whose `names`, contains a text in any case.

        Parameters
        ----------
        part : str

        Returns
        -------
        list of str
            In the order of the vocabulary.

        Examples
        --------
        >>> vocabulary = Vocabulary([Concept("p17", {"en": "fishes"}), Concept("p18")])
        >>> vocabulary.matching("Fish"), vocabulary.matching("P1")
        (['p17'], ['p17', 'p18'])
        """
        wanted = part.casefold()
        if self._said is None:
            self._said = {
                label: "\n".join((label, *self.names(label))).casefold() for label in self._concepts
            }
        found = [label for label, said in self._said.items() if wanted in said]
        if "\n" not in wanted:
            return found
        # It may have matched the end of one name and the beginning of the next.
        return [
            label
            for label in found
            if any(wanted in said.casefold() for said in (label, *self.names(label)))
        ]

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return concepts as JSON objects, which `read_vocabulary` reads as lines of a file.

        Returns
        -------
        list of dict
            Each with its ``id`` and, if present, ``label`` and ``alternative`` by language,
            ``notation`` and ``broader``.

        Examples
        --------
        >>> Vocabulary([Concept("1", {"en": "herring"}, notation="h")]).to_dicts()
        [{'id': '1', 'label': {'en': 'herring'}, 'notation': 'h'}]
        """
        return [_as_object(concept) for concept in self._concepts.values()]

    # --- in model files ------------------------------------------------------------------------

    def to_array(self) -> npt.NDArray[np.uint8]:
        """Return the vocabulary as an array of bytes for a model file; see `from_array`.

        Returns
        -------
        ndarray of uint8
            Lines of JSON in UTF-8: an array of languages, then an object for each concept.
        """
        lines: list[Any] = [list(self._languages)]
        lines += self.to_dicts()
        text = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
        return np.frombuffer(text.encode("utf-8", "replace"), np.uint8)

    @classmethod
    def from_array(cls, array: npt.NDArray[Any]) -> Vocabulary:
        """Build a vocabulary from the output of `to_array`, possibly from an untrusted file.

        Parameters
        ----------
        array : ndarray of uint8

        Returns
        -------
        Vocabulary

        Raises
        ------
        ModelFileError
            If the array is damaged.
        """
        try:
            if array.dtype != np.uint8 or array.ndim != 1:
                raise ValueError("bytes")
            languages, *concepts = (
                json.loads(line) for line in array.tobytes().decode().split("\n")
            )
            return cls(map(_from_object, concepts), words("languages", languages))
        except (ValueError, TypeError, LookupError, RecursionError, AttributeError) as error:
            raise ModelFileError(f"its vocabulary is damaged ({error!s:.200})") from None


def _as_object(concept: Concept) -> dict[str, Any]:
    found = {
        "id": concept.id,
        "label": dict(concept.preferred),
        "alternative": {name: list(them) for name, them in concept.alternative.items()},
        "notation": concept.notation,
        "broader": list(concept.broader),
    }
    return {key: value for key, value in found.items() if value not in (None, {}, [])}


def _from_object(found: dict[str, Any]) -> Concept:
    alternative = found.get("alternative", {})
    return Concept(
        found["id"],
        found.get("label", {}),
        {language: tuple(names) for language, names in alternative.items()},
        found.get("notation"),
        tuple(found.get("broader", ())),
    )


def _faults(concept: Concept) -> Iterator[tuple[object, str]]:
    """Yield the parts of a concept that are of a wrong type, and what was expected instead."""
    for by_language in (concept.preferred, concept.alternative):
        if not isinstance(by_language, Mapping):
            yield by_language, "names by language"
            return
    several = (*concept.alternative.values(), concept.broader)
    for some in several:
        if not isinstance(some, tuple | list):
            yield some, "a tuple of strings"
            return
    notation = () if concept.notation is None else (concept.notation,)
    languages = (*concept.preferred, *concept.alternative)
    names = (*concept.preferred.values(), *chain(*several))
    for one in (concept.id, *notation, *languages, *names):
        if not isinstance(one, str):
            yield one, "a string"
