"""Warnings of labels that were probably misread: several in one, or values that are no names."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any
from unicodedata import normalize

from labelgrove._numbers import counted
from labelgrove.cli._models import Model
from labelgrove.cli.streams._console import say_warning
from labelgrove.data import Columns

_SEPARATORS = (",", "|", ";")

_MISSING = ("nan", "NaN", "NULL", "\\N", "<NA>", "#N/A")
"""How pandas, databases and spreadsheets write a missing value."""

_DECIMAL = re.compile(r"\d+\.0")

_ENOUGH = 4
"""Of labels joined by mistake, at least one in so many has parts that are labels themselves; of
real labels, hardly any has."""


def warn_of_misread_labels(
    model: Model, examples: int, columns: Columns, known: Collection[Any]
) -> None:
    """Warn if most labels learnt look like several labels in one, or are only 0 and 1.

    ``known`` are the labels before learning, a set.
    """
    labels: list[Any] = model.classes_.tolist()
    others = [label for label in labels if label not in known]
    if others and isinstance(others[0], str):
        _warn_of_odd_names(others, labels)
    if known:
        warn_of_joined_labels(others, known, columns, "learn again from the old model with")
        return
    if not labels or isinstance(labels[0], int):
        return
    if len(columns.labels) > 1 and {"0", "1"}.issuperset(labels):
        say_warning(
            f"the labels learnt are the values {' and '.join(labels)} of "
            f"{', '.join(columns.labels)!s:.80}; if these columns are the labels, give one column "
            "that holds their names instead"
        )
    if _are_whole(columns):
        return
    few_repeat = 2 * len(labels) > examples
    alone = set(labels)
    for separator in _SEPARATORS:
        joined = [label for label in labels if separator in label]
        if 2 * len(joined) > len(labels) and (few_repeat or _are_combined(labels, separator)):
            say_warning(
                f"most labels hold {separator!r}, such as {joined[0]!r:.80}; if these are several "
                f"labels, give --label-separator {separator!r}"
            )
            return
        if joined := _joined(labels, alone, separator):
            say_warning(
                f"labels such as {joined[0]!r:.80} ({len(joined):,} of {len(labels):,}) are others "
                f"joined by {separator!r}; if these are several labels, give --label-separator "
                f"{separator!r}"
            )
            return


def _warn_of_odd_names(fresh: list[str], labels: list[str]) -> None:
    """Warn of new labels that another program has written for something else."""
    for label in fresh:
        if label in _MISSING:
            say_warning(
                f"the label {label!r} is how a missing value is written; if it is one, leave its "
                "cell empty"
            )
    if all(map(_DECIMAL.fullmatch, labels)):
        say_warning(
            f"labels such as {labels[0]!r} are whole numbers with a decimal, as pandas writes them "
            "if some are missing; other files may have them without"
        )
    first: dict[str, str] = {}
    twins = [
        label
        for label in labels
        if not label.isascii() and first.setdefault(normalize("NFC", label), label) != label
    ]
    if twins:
        one = first[normalize("NFC", twins[0])]
        say_warning(
            f"labels such as {one!a:.80} and {twins[0]!a:.80} ({counted(len(twins), 'pair')}) look "
            "the same, as they differ only in their Unicode form; normalise them to NFC"
        )


def warn_of_joined_labels(
    labels: Collection[Any], known: Collection[Any], columns: Columns, advice: str = "give"
) -> None:
    """Warn if many labels that a model does not know consist of labels that it knows.

    ``advice`` precedes the option that reads the labels as several.
    """
    if _are_whole(columns):
        return
    for separator in _SEPARATORS:
        if joined := _joined(labels, known, separator):
            say_warning(
                f"labels such as {joined[0]!r:.80} ({len(joined):,} of {len(labels):,} new to the "
                f"model) are known ones joined by {separator!r}; if these are several labels, "
                f"{advice} --label-separator {separator!r}"
            )
            return


def _joined(labels: Collection[Any], known: Collection[Any], separator: str) -> list[str]:
    """Return the labels that consist of known ones, or none if these are few."""
    joined = [
        label
        for label in labels
        if isinstance(label, str)
        and sum(part.strip() in known for part in label.split(separator)) > 1
    ]
    return joined if _ENOUGH * len(joined) >= len(labels) else []


def _are_whole(columns: Columns) -> bool:
    """Whether the user has said that every cell is one label."""
    return columns.split_by(",") == ""


def _are_combined(labels: list[str], separator: str) -> bool:
    """Whether most later parts of labels also begin one, unlike the parts of a name or a path."""
    parts = [[part.strip() for part in label.split(separator)] for label in labels]
    first = {names[0] for names in parts}
    later = {name for names in parts for name in names[1:]}
    return 2 * len(first & later) > len(later)
