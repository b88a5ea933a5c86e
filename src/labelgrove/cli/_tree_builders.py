"""Builders of label trees by name, and what each is given of a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from labelgrove._errors import DataError, FileFormatError
from labelgrove.cli._settings import settable
from labelgrove.cli.streams._numbers import counted
from labelgrove.cli.streams._source import Source, joined
from labelgrove.data import Examples
from labelgrove.text import HashedText
from labelgrove.trees import (
    LabelTree,
    complete_tree,
    cost_tree,
    fano_frequencies,
    fano_tree,
    hierarchy_tree,
    huffman_tree,
    interpolated_tree,
    kmeans_tree,
    label_embeddings,
    label_frequencies,
    label_indicator,
    skos_tree,
)

Parameters = dict[str, Any]


@dataclass
class Given:
    """A file, and how it is to be looked at.

    Parameters
    ----------
    path : str
        Examples, a hierarchy or a thesaurus.
    embeddings, fano_frequencies : str
        The kind of the one, the method of the other.
    format : str, optional
        Of examples; by default recognised by the name.
    limit : int, optional
        Look at the first so many examples only.
    text : dict
        Parameters of the text front-end.
    """

    path: str
    embeddings: str = "pifa"
    fano_frequencies: str = "marginal"
    format: str | None = None
    limit: int | None = None
    text: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def examples(self) -> Examples:
        """All examples of the file."""
        with Source(self.path, format=self.format, limit=self.limit) as source:
            parts = list(source.chunks())
        if not any(labels for part in parts for labels in part.labels):
            raise DataError(f"{self.path}: there is not a single label in this file")
        return joined(parts)

    @cached_property
    def indicator(self) -> tuple[Any, Any]:
        """Which examples carry which labels, and the labels' names."""
        return label_indicator(list(self.examples.labels))

    @property
    def names(self) -> Any:
        """The labels in the order of their first example."""
        return self.indicator[1]

    @property
    def frequencies(self) -> Any:
        """How often each label occurs."""
        return label_frequencies(self.indicator[0])

    def looks(self) -> Any:
        """What the labels look like."""
        X = self.examples.X
        if self.examples.text is not None and self.embeddings == "pifa":
            X = HashedText(**self.text).transform(self.examples.text)
        return label_embeddings(X, self.indicator[0], kind=self.embeddings)

    def pairs(self) -> list[tuple[Any, Any]]:
        """Read a hierarchy, a line for each pair; names are integers if all of them can be."""
        pairs = []
        try:
            lines = Path(self.path).read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError:
            raise DataError(f"{self.path}: expected text in UTF-8") from None
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            names = line.split("\t")
            if len(names) != 2:
                found = f"found {counted(len(names), 'field')}"
                raise FileFormatError(self.path, number, f"{found}; expected parent, tab, child")
            pairs.append((names[0].strip(), names[1].strip()))
        try:
            return [(int(parent), int(child)) for parent, child in pairs]
        except ValueError:
            return pairs


@dataclass(frozen=True)
class Builder:
    """How a tree is built from a file.

    Parameters
    ----------
    function : callable
        The builder, whose keyword parameters ``--set`` can set.
    build : callable
        Calls it with what it needs of the file.
    reads : str
        What the file holds.
    """

    function: Callable[..., LabelTree]
    build: Callable[[Given, Parameters], LabelTree]
    reads: str = "examples"

    @property
    def settable(self) -> list[str]:
        """Parameters that are not found in the file."""
        found = ("labels", "fano_frequencies") if self.reads == "examples" else ()
        return [name for name in settable(self.function) if name not in found]


def _interpolated(given: Given, parameters: Parameters) -> LabelTree:
    Y, names = given.indicator
    method = given.fano_frequencies
    fano = None if method == "all" else fano_frequencies(Y, method=method)
    return interpolated_tree(
        given.looks(), given.frequencies, fano_frequencies=fano, labels=names, **parameters
    )


def _flat(labels: Any) -> LabelTree:
    return LabelTree.flat(labels)


#: The builders that ``labelgrove tree build --kind`` knows.
BUILDERS: dict[str, Builder] = {
    "kmeans": Builder(
        kmeans_tree, lambda given, p: kmeans_tree(given.looks(), labels=given.names, **p)
    ),
    "interpolated": Builder(interpolated_tree, _interpolated),
    "cost": Builder(
        cost_tree,
        lambda given, p: cost_tree(given.looks(), given.indicator[0], labels=given.names, **p),
    ),
    "huffman": Builder(
        huffman_tree, lambda given, p: huffman_tree(given.frequencies, given.names, **p)
    ),
    "fano": Builder(fano_tree, lambda given, p: fano_tree(given.frequencies, given.names, **p)),
    "complete": Builder(complete_tree, lambda given, p: complete_tree(given.names, **p)),
    "flat": Builder(_flat, lambda given, p: _flat(given.names.tolist(), **p)),
    "hierarchy": Builder(
        hierarchy_tree, lambda given, p: hierarchy_tree(given.pairs(), **p), "a hierarchy"
    ),
    "skos": Builder(skos_tree, lambda given, p: skos_tree(given.path, **p), "a thesaurus"),
}
