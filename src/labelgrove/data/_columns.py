"""Examples with named parts: columns of a table, or keys of a JSON object."""

from __future__ import annotations

import json
import re
from ast import literal_eval
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from labelgrove._errors import ParameterError
from labelgrove.data._rows import RowError, shown

#: Defaults: all of the titles that exist, and the first existing one of the texts and labels.
_TITLES = ("title",)
_TEXTS = ("text", "content")
_LABELS = ("labels", "label", "subjects", "subject_uris", "target_ind")

_URIS = re.compile(r"\s*(?:<[^<>\s]+>\s*)+")
_URI = re.compile(r"<([^<>\s]+)>")
_ADJACENT = re.compile(r"""['"]\s+['"]""")
_QUOTED = re.compile("'[^']*'|\"[^\"]*\"")
_PRINTED = re.compile(
    r"""\[\s*['"].*\]|\[\s*\d+(?:\s+\d+)+\s*\]|\[[^][,]*,[^][]*\]|\{[^{},]*,[^{}]*\}"""
    r"""|[\[({]np\.\w+\(.*[\])}]|\w+\([\[({]['"].*\)""",
    re.DOTALL,
)
"""Collections as programs print them without commas, without quotes or with the names of types:
NumPy's ``['a' 'b']``, ``[1 2]`` and ``[np.str_('a')]``, DuckDB's ``[a, b]``, PostgreSQL's
``{a,b}``, and ``frozenset({'a'})``."""

_UNIT = re.compile(r"\d[^\W\d]")  # as in 10in, about which Python's parser warns
_BRACKETS = {("[", "]"), ("(", ")"), ("{", "}")}
_NAMES = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "true or false",
    int: "a number",
    float: "a number",
    type(None): "null",
}


@dataclass(frozen=True)
class Columns:
    """The columns of a table, or keys of a JSON object, that hold text and labels.

    Parameters
    ----------
    text : tuple of str
        Columns whose texts are joined by line breaks; empty texts are omitted. By default
        ``title`` and ``text``, if they exist; ``content`` is used if there is no ``text``.
    labels : tuple of str
        Columns that each hold one or more labels. By default the first existing one of
        ``labels``, ``label``, ``subjects``, ``subject_uris`` and ``target_ind``.
    separator : str, optional
        Separator of the labels within a string; blanks around labels are dropped. By default
        ``;`` in CSV and TSV, where a cell may also be a list such as ``['a', 'b']``, a tuple or a
        set; other formats have real lists, and a string is one label unless it is such a list. If
        the separator is empty, every string is one label. Strings in lists are not separated.
        Strings of the form ``<uri> <uri>`` always hold several labels.
    of_model : Columns, optional
        The columns that a model has learnt from, as stored by `labelgrove.TextClassifier`. They
        replace the defaults, in formats with named columns.

    Raises
    ------
    ParameterError
        If a name is empty or repeated.

    Examples
    --------
    >>> columns = Columns(text=("title", "abstract"), labels=("subject",), separator="|")
    >>> columns.labels
    ('subject',)
    """

    text: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    separator: str | None = None
    of_model: Columns | None = None

    def __post_init__(self) -> None:
        for what in ("text", "labels"):
            names = getattr(self, what)
            if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
                raise ParameterError(f"columns of {what} are {names!r}; expected a tuple of names")
            if "" in names or len(set(names)) < len(names):
                raise ParameterError(
                    f"columns of {what} are {names!r}; expected non-empty names without repetition"
                )
        if not isinstance(self.separator, str | None):
            raise ParameterError(f"separator is {self.separator!r}; expected a string")
        if not isinstance(self.of_model, Columns | None):
            raise ParameterError(f"of_model is {self.of_model!r}; expected Columns")

    @property
    def are_given(self) -> bool:
        """Whether any setting other than `of_model` differs from the default."""
        return (self.text, self.labels, self.separator) != ((), (), None)

    def split_by(self, default: str | None) -> str | None:
        """Return the separator of labels within a string; None if lists alone hold several."""
        if self.separator is not None:
            return self.separator
        return default if self.of_model is None else self.of_model.split_by(default)

    def of_text(self, there: Collection[str]) -> tuple[str, ...]:
        """Choose the text columns from those that exist; raises RowError if there is none.

        Columns requested by name must all exist.
        """
        if self.text:
            return _all_of(self.text, there)
        if self.of_model is not None and self.of_model.text:
            return _all_of(self.of_model.text, there, "--text-column")
        found = [name for name in _TITLES if name in there]
        found += [name for name in _TEXTS if name in there][:1]
        if not found:
            raise RowError(
                f"there is no 'text' (and no 'title'){_instead(there)}; expected one of them, or "
                "another column given by --text-column (in Python, Columns(text=...)); columns of "
                "numbers are learnt in Python, by fit"
            )
        return tuple(found)

    def of_labels(self, there: Collection[str], required: bool = True) -> tuple[str, ...]:
        """Choose the label columns likewise; there may be none unless `required`."""
        known = self.labels or (() if self.of_model is None else self.of_model.labels)
        if known:
            if not required:
                return tuple(name for name in known if name in there)
            return _all_of(known, there, None if self.labels else "--label-column")
        found = [name for name in _LABELS if name in there][:1]
        if not found and required:
            raise RowError(
                f"there is no 'labels'{_instead(there)}; expected it, or another column given by "
                "--label-column (in Python, Columns(labels=...))"
            )
        return tuple(found)

    def read(self, row: Mapping[str, Any], required: bool = True) -> tuple[tuple[str, ...], str]:
        """Return the labels and the text of one example; raises RowError."""
        text = text_of(row, self.of_text(row))
        return labels_of(row, self.of_labels(row, required), self.split_by(None)), text


def text_of(row: Mapping[str, Any], columns: Sequence[str]) -> str:
    """Return the text of one example from these columns; raises RowError if there is none."""
    values = [row[name] for name in columns]
    for name, value in zip(columns, values, strict=True):
        if not (isinstance(value, str) or value is None):
            raise RowError(f"{name!r} is {kind_of(value)}; expected a string")
    if values.count(None) == len(values):
        raise RowError(f"{columns[0]!r} is null; expected a string, which may be empty")
    return "\n".join(filter(None, values))


def labels_of(
    row: Mapping[str, Any], columns: Iterable[str], separator: str | None
) -> tuple[str, ...]:
    """Return the labels of one example from these columns; raises RowError at an invalid label."""
    found: dict[str, None] = {}
    for name in columns:
        value = row[name]
        if isinstance(value, str):
            found.update(dict.fromkeys(split_labels(value, separator)))
        elif isinstance(value, list | tuple):
            for place, label in enumerate(value, 1):
                if type(label) is str and label and label[0] != "<" and label == label.strip():
                    found[label] = None
                else:
                    found.update(dict.fromkeys(_item(label, place)))
        elif isinstance(value, int) and not isinstance(value, bool):
            found[str(value)] = None
        elif value is not None:
            kind = f"{value}, a decimal" if isinstance(value, float) else kind_of(value)
            raise RowError(
                f"{name!r} is {kind}; expected an array of strings or integers, or one of them"
            )
    return tuple(found)


def split_labels(value: str, separator: str | None) -> list[str]:
    """Split a string into labels: ``<uri> <uri>``, or parts between separators, or the whole.

    Unless the separator is empty, a list in JSON's or Python's notation is also accepted; with one,
    a tuple or set of Python's, too. Raises RowError.

    >>> split_labels("<http://a/1> <http://a/2>", "")
    ['http://a/1', 'http://a/2']
    >>> split_labels("fish; fungi;", ";")
    ['fish', 'fungi']
    >>> split_labels("['fish', 'fungi']", ";"), split_labels("{'fungi', 'fish'}", ";")
    (['fish', 'fungi'], ['fish', 'fungi'])
    """
    if value.lstrip().startswith("<") and _URIS.fullmatch(value):
        return _URI.findall(value)
    whole = value.strip()
    if whole.startswith("[") if separator is None else separator:
        listed = _listed(whole)
        if listed is not None:
            return listed
    parts = value.split(separator) if separator else [value]
    return [name for part in parts if (name := part.strip())]


def _listed(value: str) -> list[str] | None:
    """Return the labels of a collection in a string; None if this is a name, or several."""
    if value == "set()":  # the empty set has no brackets
        return []
    found = _parsed(value) if (value[:1], value[-1:]) in _BRACKETS else None
    if isinstance(found, set):  # its order would change from run to run
        found = sorted(found, key=str)
    if isinstance(found, list | tuple):
        return [name for place, label in enumerate(found, 1) for name in _item(label, place)]
    if (isinstance(found, dict) and found) or _PRINTED.fullmatch(value):
        raise RowError(
            f"{shown(value)} is not a list of labels; expected one such as ['a', 'b'] (an empty "
            "separator keeps each cell whole)"
        )
    return None


def _parsed(value: str) -> Any:
    """Parse a collection in the notation of JSON or Python; return None if it is in neither."""
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        # NumPy prints no commas between strings, and Python would concatenate those. Escapes are
        # accepted in JSON only.
        is_odd = _ADJACENT.search(value) or "\\" in value or _UNIT.search(_QUOTED.sub("", value))
        if not is_odd:
            with suppress(ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
                return literal_eval(value)
    return None


def _item(label: Any, place: int) -> list[str]:
    """Return the labels of an item of an array: a string, an integer, or Annif's URI object."""
    if isinstance(label, Mapping) and isinstance(label.get("uri"), str):
        label = label["uri"]
    if isinstance(label, bool) or not isinstance(label, str | int):
        kind = f"{label}, a decimal" if isinstance(label, float) else kind_of(label)
        raise RowError(f"label {place} is {kind}; expected a string or an integer")
    names = split_labels(str(label), "")
    if not names:
        raise RowError(
            f"label {place} is {'blank' if label else 'an empty string'}; expected a name"
        )
    return names


def kind_of(value: Any) -> str:
    return _NAMES.get(type(value), f"a {type(value).__name__}")


def _all_of(
    names: tuple[str, ...], there: Collection[str], option: str | None = None
) -> tuple[str, ...]:
    """Return the names if all exist; ``option`` is the one that overrides a model's columns."""
    why = "" if option is None else f"; the model has learnt from it, and {option} names another"
    for name in names:
        if name not in there:
            raise RowError(f"there is no {shown(name)}{_instead(there)}{why}")
    return names


def _instead(there: Collection[str]) -> str:
    """Return a phrase that lists the first few existing names."""
    names = [shown(name) for name in there]
    if not names:
        return ""
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    return f" among {', '.join(names[:6])}{more}"
