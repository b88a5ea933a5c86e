"""Learning names of labels: a label's names become an example before its first example."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from labelgrove._errors import DataError, ParameterError, brief
from labelgrove._labels import LabelRegistry
from labelgrove._targets import Targets, parse_targets
from labelgrove._validation import check_weights
from labelgrove.models._base import LabelClassifier
from labelgrove.models.engine._learned import AnyLearned, of_kinds
from labelgrove.text._checked import checked_texts
from labelgrove.vocabulary import Vocabulary

NamesLearnt = Literal["met", "all"]


_WEIGHT = 1.0
"""Weight of an example made from names; docs/benchmarks.md compares others."""


@dataclass(frozen=True, eq=False)
class WithNames:
    """Texts and labels, including the examples made from names."""

    texts: list[str]
    labels: list[Any]  # in the form that the classifier accepts
    weights: npt.NDArray[np.floating[Any]] | None  # None if the caller gave none
    own: npt.NDArray[np.bool_]  # True for the caller's texts, False for names

    def announced(self, classes: Iterable[Any], known: Iterable[Any]) -> list[Any]:
        """Add to the announced classes the known labels, and those that names introduce."""
        rows = (row for row, own in zip(self.labels, self.own, strict=True) if not own)
        named = (label for row in rows for label in (row if isinstance(row, list) else [row]))
        return list(dict.fromkeys([*classes, *known, *named]))


def check_names(names: object, vocabulary: object) -> None:
    """Refuse invalid values of the parameters ``names`` and ``vocabulary``."""
    if not isinstance(vocabulary, Vocabulary | None):
        raise ParameterError(
            f"vocabulary is a {type(vocabulary).__name__}; expected a Vocabulary, such as "
            "read_vocabulary returns"
        )
    if names not in (None, "met", "all"):
        raise ParameterError(f"names={brief(names)}: expected None, 'met' or 'all'")
    if names is not None and vocabulary is None:
        raise ParameterError(f"names={brief(names)}: expected a vocabulary with the names")


def with_names(
    classifier: LabelClassifier,
    names: NamesLearnt,
    texts: Iterable[str],
    y: Any,
    sample_weight: Any = None,
    *,
    again: bool = False,
    some: bool = False,
) -> WithNames:
    """Insert the names of new labels before the examples that introduce them.

    A label is new until an example of it has been learnt, even if it was announced or belongs to
    a given tree. So the result depends only on the rows and on those learnt before, and a stream
    may be divided into calls anywhere. If the rows have been learnt before, ``again``, no label
    that is known is new. With "all" the first label learnt introduces the whole vocabulary of the
    classifier. At least one weight must be positive if ``some``.

    Raises DataError if an argument cannot be used, or y is a matrix, whose columns have no names.
    Whatever the classifier would refuse in a row is refused here, before names change the rows'
    numbers.
    """
    vocabulary, learned = classifier.vocabulary_, classifier._learned
    assert vocabulary is not None
    known = LabelRegistry() if learned is None else learned.labels
    given = checked_texts(texts)
    targets = of_kinds(classifier._kinds, parse_targets(y, len(given)))
    if targets.kind == "indicator":
        raise DataError(
            "Y is a 0/1 matrix, and the names of a vocabulary refer to labels; expected labels"
        )
    most = classifier._most_weight
    weights = check_weights(sample_weight, len(given), most=most, some=some)
    known.foresee(targets)
    rows: list[int] = []  # -1 for names
    found: list[str] = []
    labels: list[Any] = []
    single = targets.kind == "multiclass"
    met = _learnt(targets, learned, again=again)
    started = learned is not None and (again or bool(learned.counts.any()))
    for i, text in enumerate(given):
        row = targets.row(i)
        introduced = list(row)
        if names == "all" and row and not started:
            introduced += _ids(vocabulary, targets)
        for label in introduced:
            if label not in met and (said := "\n".join(vocabulary.names(label))):
                rows.append(-1)
                found.append(said)
                labels.append(label if single else [label])
            met.add(label)
        started = started or bool(row)
        rows.append(i)
        found.append(text)
        labels.append(row[0] if single else row)
    own = np.array(rows, np.int64) >= 0
    if weights is not None:
        weights = np.where(own, weights[np.maximum(rows, 0)] if rows else 0.0, _WEIGHT)
    return WithNames(found, labels, weights, own)


def _learnt(targets: Targets, learned: AnyLearned | None, *, again: bool) -> set[Any]:
    """Return the labels of the targets that have had an example."""
    if learned is None:
        return set()
    ids = learned.labels.ids_of(targets.names)
    has_had = ids >= 0
    if not again:
        has_had[has_had] = learned.counts[ids[has_had]] > 0
    return set(targets.names[has_had].tolist())


def _ids(vocabulary: Vocabulary, targets: Targets) -> list[Any]:
    """Return the ids of the vocabulary, in the type of the labels."""
    if targets.label_type != "int":
        return list(vocabulary)
    return [int(name) for name in vocabulary if name.isascii() and name.isdigit()]
