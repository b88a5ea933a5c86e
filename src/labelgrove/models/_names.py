"""Names of labels as evidence: before a label's first example its names are learnt as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from labelgrove._errors import DataError, ParameterError
from labelgrove._targets import Targets, parse_targets
from labelgrove.vocabulary import Vocabulary

NamesLearnt = Literal["met", "all"]


class Known(Protocol):
    """Labels that a model knows."""

    def __contains__(self, label: object, /) -> bool: ...

    def __len__(self) -> int: ...


_WEIGHT = 1.0
"""Of a label's names, as of any example: docs/benchmarks.md has others."""


@dataclass(frozen=True, eq=False)
class WithNames:
    """Texts and labels, those made of names among them.

    Attributes
    ----------
    texts : list of str
    labels : list
        As the classifier takes them.
    weights : float array or None
        None if the caller gave none.
    own : bool array
        Which texts are the caller's.
    """

    texts: list[str]
    labels: list[Any]
    weights: npt.NDArray[np.float64] | None
    own: npt.NDArray[np.bool_]


def check_names(names: object, vocabulary: object) -> None:
    """Refuse what these parameters cannot be."""
    if not isinstance(vocabulary, Vocabulary | None):
        raise ParameterError(
            f"vocabulary is a {type(vocabulary).__name__}; expected a Vocabulary, such as "
            "read_vocabulary gives"
        )
    if names not in (None, "met", "all"):
        raise ParameterError(f"names={names!r}: expected None, 'met' or 'all'")
    if names is not None and vocabulary is None:
        raise ParameterError(f"names={names!r}: expected a vocabulary, which has the names")


def with_names(
    texts: Iterable[str],
    y: Any,
    sample_weight: Any,
    vocabulary: Vocabulary,
    names: NamesLearnt,
    known: Known = (),
) -> WithNames:
    """Put the names of labels that are new before the examples that bring them.

    What comes out depends on the rows and on what is known before each alone, so that a stream may
    be cut into calls anywhere.

    Parameters
    ----------
    texts : iterable of str
        One an example.
    y : labels of each, by name
    sample_weight : array-like of shape (n,), optional
    vocabulary : Vocabulary
    names : "met" or "all"
        Whether the labels of the whole vocabulary are new when the first label comes.
    known : sized container of labels
        Those that the model knows.

    Raises
    ------
    DataError
        If y cannot be used, or is a matrix, whose columns have no names.
    """
    given = [texts] if isinstance(texts, str) else list(texts)
    targets = parse_targets(y, len(given))
    if targets.kind == "indicator":
        raise DataError(
            "Y is a 0/1 matrix, and the names of a vocabulary belong to labels; expected labels"
        )
    weights = None if sample_weight is None else np.asarray(sample_weight, np.float64)
    if weights is not None and weights.shape != (len(given),):
        raise DataError(
            f"sample_weight has the shape {weights.shape}; expected one weight for each of "
            f"{len(given)} examples"
        )
    rows: list[int] = []  # -1 for names
    found: list[str] = []
    labels: list[Any] = []
    single = targets.kind == "multiclass"
    met = set[Any]()
    started = len(known) > 0
    for i, text in enumerate(given):
        row = targets.row(i)
        for label in _new(row, targets, vocabulary, names, known, met, started):
            if said := "\n".join(vocabulary.names(label)):
                rows.append(-1)
                found.append(said)
                labels.append(label if single else [label])
        started = started or bool(row)
        rows.append(i)
        found.append(text)
        labels.append(row[0] if single else row)
    own = np.array(rows, np.int64) >= 0
    if weights is not None:
        weights = np.where(own, weights[np.maximum(rows, 0)] if rows else 0.0, _WEIGHT)
    return WithNames(found, labels, weights, own)


def _new(
    row: list[Any],
    targets: Targets,
    vocabulary: Vocabulary,
    names: NamesLearnt,
    known: Known,
    met: set[Any],
    started: bool,
) -> Iterator[Any]:
    """Labels that this row is the first to bring, and with the first label all the others."""
    fresh = list(row)
    if names == "all" and row and not started:
        fresh += _ids(vocabulary, targets)
    for label in fresh:
        if label not in met and label not in known:
            met.add(label)
            yield label


def _ids(vocabulary: Vocabulary, targets: Targets) -> list[Any]:
    """Ids of the vocabulary, of the type that labels have here."""
    if targets.label_type != "int":
        return list(vocabulary)
    return [int(name) for name in vocabulary if name.isascii() and name.isdigit()]
