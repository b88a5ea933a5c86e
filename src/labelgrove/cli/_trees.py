"""Label trees on the command line: named builders, tree files, figures and outlines."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import labelgrove
from labelgrove._errors import DataError, FileFormatError, ParameterError
from labelgrove._names import integer_in, on_one_line
from labelgrove._numbers import counted
from labelgrove.cli._application import trusting
from labelgrove.cli._options import AS_FOUND, Naming, Reading, settable, text_features
from labelgrove.cli.streams._console import say_warning
from labelgrove.cli.streams._source import Source, joined
from labelgrove.data import Examples
from labelgrove.data._csv import decoded_lines
from labelgrove.data._lines import lines_in
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
    search_cost,
    skos_tree,
)
from labelgrove.trees._structure import sums_below
from labelgrove.vocabulary import Vocabulary

_MOST_ARITIES = 8
_LONGEST = 60  # characters shown of a label

Parameters = dict[str, Any]


@dataclass
class Given:
    """A file from which a tree is built or searched, and how to interpret it.

    It holds examples, a hierarchy or a thesaurus. ``embeddings`` and ``fano_frequencies`` are the
    options of these names; ``text`` holds parameters of the text front end.
    """

    path: str
    embeddings: str = "pifa"
    fano_frequencies: str = "marginal"
    reading: Reading = AS_FOUND
    limit: int | None = None
    text: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def examples(self) -> Examples:
        """All examples of the file."""
        with Source(self.path, reading=self.reading, limit=self.limit) as source:
            parts = list(source.chunks())
        if not any(labels for part in parts for labels in part.labels):
            raise DataError(f"{self.path}: this file contains no labels")
        return joined(parts)

    @cached_property
    def indicator(self) -> tuple[Any, Any]:
        """The indicator matrix of examples and labels, and the labels."""
        return label_indicator(list(self.examples.labels))

    @property
    def names(self) -> Any:
        """The labels in the order of their first example."""
        return self.indicator[1]

    @property
    def frequencies(self) -> Any:
        """The number of examples of each label."""
        return label_frequencies(self.indicator[0])

    def label_vectors(self) -> Any:
        """Embed the labels."""
        X, texts = self.examples.X, self.examples.text
        front_end = text_features(self.text, texts=texts is not None)
        if texts is not None and self.embeddings == "pifa":
            X = front_end.fit_transform(texts)
        return label_embeddings(X, self.indicator[0], kind=self.embeddings)

    def pairs(self) -> list[tuple[Any, Any]]:
        """Read a hierarchy, one pair per line; labels become integers if all are written so."""
        pairs = []
        for number, line in enumerate(decoded_lines(self.path, lines_in(self.path)), start=1):
            if not line.strip():
                continue
            names = line.split("\t")
            if len(names) != 2:
                found = f"found {counted(len(names), 'field')}"
                raise FileFormatError(self.path, number, f"{found}; expected parent, tab, child")
            parent, child = names[0].strip() or None, names[1].strip()
            if not child:
                raise FileFormatError(self.path, number, "found no child; expected its name")
            pairs.append((parent, child))
        numbers = {name: integer_in(name) for pair in pairs for name in pair if name is not None}
        if None in numbers.values():
            return pairs
        return [
            (None if parent is None else numbers[parent], numbers[child]) for parent, child in pairs
        ]


@dataclass(frozen=True)
class Builder:
    """How a tree is built: ``build`` calls ``function`` with what it needs of a file.

    ``reads`` says what the file must hold.
    """

    function: Callable[..., LabelTree]
    build: Callable[[Given, Parameters], LabelTree]
    reads: str = "examples"

    @property
    def settable(self) -> list[str]:
        """Parameters that do not come from the file."""
        found = ("labels", "fano_frequencies") if self.reads == "examples" else ()
        return [name for name in settable(self.function) if name not in found]


def _interpolated(given: Given, parameters: Parameters) -> LabelTree:
    Y, names = given.indicator
    method = given.fano_frequencies
    fano = None if method == "all" else fano_frequencies(Y, method=method)
    return interpolated_tree(
        given.label_vectors(), given.frequencies, fano_frequencies=fano, labels=names, **parameters
    )


#: Kinds of trees that cluster the embeddings of labels.
CLUSTERED = ("kmeans", "interpolated", "cost")

#: The builders that ``labelgrove tree build --kind`` knows.
BUILDERS: dict[str, Builder] = {
    "kmeans": Builder(
        kmeans_tree, lambda given, p: kmeans_tree(given.label_vectors(), labels=given.names, **p)
    ),
    "interpolated": Builder(interpolated_tree, _interpolated),
    "cost": Builder(
        cost_tree,
        lambda given, p: cost_tree(
            given.label_vectors(), given.indicator[0], labels=given.names, **p
        ),
    ),
    "huffman": Builder(
        huffman_tree, lambda given, p: huffman_tree(given.frequencies, given.names, **p)
    ),
    "fano": Builder(fano_tree, lambda given, p: fano_tree(given.frequencies, given.names, **p)),
    "complete": Builder(complete_tree, lambda given, p: complete_tree(given.names, **p)),
    "flat": Builder(LabelTree.flat, lambda given, _: LabelTree.flat(given.names.tolist())),
    "hierarchy": Builder(
        hierarchy_tree, lambda given, p: hierarchy_tree(given.pairs(), **p), "a hierarchy"
    ),
    "skos": Builder(skos_tree, lambda given, p: skos_tree(given.path, **p), "a thesaurus"),
}


def read_tree(path: str, naming: Naming | None = None) -> LabelTree:
    """Read a tree: JSON, an edge list (.tsv), or the tree of a model.

    With ``naming``, labels are prefixed with their names.
    """
    tree, stored = _tree_and_vocabulary(path)
    vocabulary = None if naming is None else naming.over(stored, path)
    return tree if vocabulary is None else with_names(tree, vocabulary)


def _tree_and_vocabulary(path: str) -> tuple[LabelTree, Vocabulary | None]:
    file = Path(path)
    edges = file.suffix.lower() == ".tsv"
    with file.open("rb") as stream:
        head = stream.read(9)
    if not edges and head[:1] != b"{":
        if head[8:] != b"{":  # where a model's header begins
            raise DataError(f"{path}: expected a tree in JSON, edges in a .tsv file, or a model")
        model = labelgrove.load(path, trust_pattern=trusting.get())
        tree = getattr(model, "tree_", None)
        if not isinstance(tree, LabelTree):
            algorithm = getattr(model, "classifier_", model).algorithm
            raise ParameterError(f"{path}: a model of {algorithm} has no label tree")
        return tree, model.vocabulary_
    try:
        text = file.read_text(encoding="utf-8")
        return LabelTree.from_edge_list(text) if edges else LabelTree.from_json(text), None
    except UnicodeDecodeError:
        raise DataError(f"{path}: expected text in UTF-8") from None
    except (DataError, ParameterError) as failure:
        raise DataError(f"{path}: {failure}") from None


def tree_as_bytes(tree: LabelTree, path: str) -> bytes:
    """Encode a tree: an edge list for .tsv, Graphviz for .dot or .gv, JSON for other names."""
    suffix = Path(path).suffix.lower()
    if suffix in {".dot", ".gv"}:
        text = tree.to_dot()
    else:
        text = tree.to_edge_list() if suffix == ".tsv" else tree.to_json()
    return (text.rstrip("\n") + "\n").encode()


def figures(tree: LabelTree, searches: Given | None = None) -> dict[str, Any]:
    """Compute the figures of a tree and, given examples, of searches for their labels."""
    if searches is None:
        facts = dataclasses.asdict(tree.statistics())
        del facts["expected_depth"]
        return facts
    Y, names = searches.indicator
    if names.dtype.kind not in "iu":
        tree = with_string_labels(tree)
    leaves = set(tree.leaf_labels.tolist())
    known = np.fromiter((name in leaves for name in names.tolist()), bool, len(names))
    if not known.any():
        raise DataError(f"{searches.path}: the tree has none of the labels in this file")
    if not known.all():
        unknown = names[~known].tolist()
        say_warning(
            f"{searches.path}: ignoring {counted(len(unknown), 'label')} that the tree lacks, "
            f"first {unknown[0]!r:.80}"
        )
        Y, names = Y.tocsc()[:, known].tocsr(), names[known]
    cost = search_cost(tree, Y, labels=names)
    return {
        **dataclasses.asdict(tree.statistics(label_frequencies(Y), names)),
        "expected_blocks": cost.blocks,
        "expected_classifiers": cost.classifiers,
        "expected_cost": cost.cost,
    }


def as_pairs(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Format figures for people."""
    pairs = [
        ("labels", f"{facts['n_labels']:,}"),
        ("nodes", f"{facts['n_nodes']:,}"),
        ("depth", f"{facts['depth']}, mean {facts['mean_depth']:.2f}"),
        ("balance", f"{facts['balance']:.3f}"),
        ("children", _children(facts["arities"])),
    ]
    if "expected_depth" in facts:
        blocks, classifiers = facts["expected_blocks"], facts["expected_classifiers"]
        search = f"opens at least {blocks:.2f} blocks with {classifiers:.1f} classifiers"
        depth = f"{facts['expected_depth']:.2f}, weighted by label frequency"
        pairs += [("expected depth", depth), ("search", search)]
    return pairs


def _children(arities: Mapping[int, int]) -> str:
    if not arities:
        return "none"
    shown = [f"{nodes:,} × {arity}" for arity, nodes in list(arities.items())[:_MOST_ARITIES]]
    return ", ".join(shown) + (", …" if len(arities) > _MOST_ARITIES else "")


def outline(tree: LabelTree, *, levels: int, width: int, samples: int) -> Iterator[str]:
    r"""Describe a tree line by line, from the root downwards.

    Show ``levels`` below the root and the first ``width`` children of each node. A node whose
    children are not shown lists ``samples`` of its labels.

    >>> tree = LabelTree([-1, 0, 0, 1, 1], ["fish", "cat", "dog"])
    >>> print(*outline(tree, levels=2, width=9, samples=9), sep="\n")
    3 labels, 2 children
    ├─ 2 labels: cat, dog
    └─ fish
    """
    return _Outline(tree, levels, width, samples).lines(0, "", 0)


def with_names(tree: LabelTree, vocabulary: Vocabulary) -> LabelTree:
    """Prefix every label with its name."""
    labels = {node: vocabulary.called(label) for node, label in tree.labels.items()}
    return LabelTree(tree.parents, labels)


def with_string_labels(tree: LabelTree) -> LabelTree:
    """Return a tree whose labels are strings, as those of texts are: a code may be a number."""
    return LabelTree(tree.parents, {node: str(label) for node, label in tree.labels.items()})


class _Outline:
    def __init__(self, tree: LabelTree, levels: int, width: int, samples: int) -> None:
        self._tree, self._levels, self._width, self._samples = tree, levels, width, samples
        self._labels = tree.labels
        is_leaf = np.zeros(tree.n_nodes, np.int64)
        is_leaf[tree.leaves] = 1
        self._below = sums_below(tree.parents, is_leaf)

    def lines(self, node: int, indent: str, depth: int) -> Iterator[str]:
        children = self._tree.children(node)
        opened = depth < self._levels and any(map(self._tree.children, children))
        yield self._title(node, children, opened)
        if not opened:
            return
        shown = children[: self._width]
        for child in shown:
            last = child == children[-1]
            first, *rest = self.lines(child, indent + ("   " if last else "│  "), depth + 1)
            yield f"{indent}{'└─ ' if last else '├─ '}{first}"
            yield from rest
        if len(children) > len(shown):
            hidden = children[len(shown) :]
            labels = counted(int(self._below[hidden].sum()), "label")
            yield f"{indent}└─ … {len(hidden):,} more with {labels}"

    def _title(self, node: int, children: list[int], opened: bool) -> str:
        if not children:
            return on_one_line(self._labels[node], _LONGEST) if node in self._labels else "no label"
        title = counted(int(self._below[node]), "label")
        if opened:
            return f"{title}, {len(children)} {'child' if len(children) == 1 else 'children'}"
        return f"{title}: {', '.join(self._first_labels(node))}"

    def _first_labels(self, node: int) -> list[str]:
        found: list[str] = []
        to_do = [node]
        while to_do and len(found) <= self._samples:
            at = to_do.pop()
            children = self._tree.children(at)
            to_do += reversed(children)
            if not children:
                found.append(on_one_line(self._labels[at], _LONGEST))
        return [*found[: self._samples], "…"] if len(found) > self._samples else found
