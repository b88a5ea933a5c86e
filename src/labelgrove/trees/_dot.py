"""Label trees in the language of Graphviz."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from labelgrove._errors import DataError
from labelgrove.trees._named import number_nodes
from labelgrove.trees._networkx import labels_of_leaves

if TYPE_CHECKING:
    from labelgrove.trees._label_tree import LabelTree

_WHAT: Final = "tree in the dot language"
_INT: Final = re.compile(r"-?[0-9]{1,19}")

# Backslashes and entities are read by Graphviz when it draws a label; other control characters
# cannot stand in its files.
_ESCAPES: Final = {"\\": r"\\", '"': r"\"", "&": "&amp;", "\n": r"\n", "\r": r"\r"} | {
    chr(code): f"&#{code};" for code in [*range(32), 127] if chr(code) not in "\n\r"
}
_ESCAPE: Final = str.maketrans(_ESCAPES)
_ESCAPED: Final = re.compile(r"\\(.)|&(?:#([0-9]{1,7})|[A-Za-z]{1,31});", re.DOTALL)

_QUOTE: Final = re.compile(r"\\(.)", re.DOTALL)

_TOKEN: Final = re.compile(
    r"""(?P<space>(?:\s+|//[^\n]*|/\*.*?\*/|^\#[^\n]*)+)
      | (?P<arrow>->)
      | (?P<mark>[{}\[\];,=])
      | "(?P<quoted>(?:[^"\\]|\\.)*)"
      | (?P<word>-?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)|[^\W\d]\w*)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


class _Token(NamedTuple):
    kind: str
    text: str
    start: int


def write_dot(tree: LabelTree) -> str:
    """Return a digraph with edges to children; leaves have the attribute `label`."""
    kind = "int" if tree.n_labels and tree.leaf_labels.dtype != object else "str"
    labels = {v: str(name).translate(_ESCAPE) for v, name in tree.labels.items()}
    lines = ["digraph tree {", f"  graph [labels={kind}];", "  node [shape=box];"]
    for node, parent in enumerate(tree.parents.tolist()):
        attributes = f'label="{labels[node]}"' if node in labels else "shape=point"
        lines.append(f"  {node} [{attributes}];")
        if parent >= 0:
            lines.append(f"  {parent} -> {node};")
    return "\n".join([*lines, "}", ""])


def read_dot(text: str) -> tuple[str, list[int], dict[int, Any]]:
    """Return what a message calls the text, the parent of every node, and the leaves' labels.

    Raises
    ------
    DataError
        Text that is no digraph without subgraphs, or one that is no tree.
    """
    if not isinstance(text, str):
        raise DataError(f"{_WHAT}: expected a str, not {type(text).__name__}")
    graph = _Reader(text)
    graph.read()
    plain = _with_integers(graph.nodes)
    edges = [(plain[parent], plain[child]) for parent, child in graph.edges]
    order, parents = number_nodes(_WHAT, plain.values(), edges)
    given = {plain[node]: name for node, name in graph.nodes.items() if name is not None}
    labels = labels_of_leaves(_WHAT, order, parents, given)
    if graph.labels_are_int:
        return _WHAT, parents, {v: _integer(str(name)) for v, name in labels.items()}
    return _WHAT, parents, {v: str(name) for v, name in labels.items()}


def _with_integers(nodes: dict[str, str | None]) -> dict[str, Any]:
    """Return nodes as integers if they are 0, 1, 2..., otherwise as they are."""
    if set(nodes) == {str(v) for v in range(len(nodes))}:
        return {node: int(node) for node in nodes}
    return {node: node for node in nodes}


def _integer(name: str) -> int:
    if not _INT.fullmatch(name):
        raise DataError(f"{_WHAT}: label {name!r:.80} is no integer, but the graph has labels=int")
    return int(name)


class _Reader:
    """Reads one digraph; of the attributes only those that we write are heeded."""

    def __init__(self, text: str) -> None:
        self.nodes: dict[str, str | None] = {}  # with their labels
        self.edges: list[tuple[str, str]] = []
        self.labels_are_int = False
        self._text = text
        self._tokens = self._split()
        self._token = next(self._tokens)

    def read(self) -> None:
        """Take in the whole text."""
        if self._at("word", "strict"):
            self._advance()
        if not self._at("word", "digraph"):
            raise self._unexpected("digraph")
        self._advance()
        if self._is_name():
            self._advance()
        self._take("{")
        while not self._at("mark", "}"):
            self._statement()
        self._advance()
        if self._token.kind != "end":
            raise self._unexpected("nothing after the graph")

    def _statement(self) -> None:
        if self._at("mark", ";"):
            self._advance()
            return
        keyword = self._token.text.lower() if self._token.kind == "word" else ""
        if keyword == "subgraph" or not self._is_name():
            raise self._unexpected("a node, an edge or an attribute")
        name = self._name()
        if self._at("mark", "="):
            self._advance()
            self._heed_graph({name: self._name()})
        elif keyword in {"graph", "node", "edge"}:
            attributes = self._attributes()
            if keyword == "graph":
                self._heed_graph(attributes)
        else:
            self._nodes_and_edges(name)

    def _nodes_and_edges(self, name: str) -> None:
        path = [name]
        while self._token.kind == "arrow":
            self._advance()
            if not self._is_name():
                raise self._unexpected("a node")
            path.append(self._name())
        for node in path:
            self.nodes.setdefault(node, None)
        self.edges += pairwise(path)
        attributes = self._attributes()
        if len(path) == 1 and "label" in attributes:
            self.nodes[name] = _unescaped(attributes["label"])

    def _attributes(self) -> dict[str, str]:
        found: dict[str, str] = {}
        while self._at("mark", "["):
            self._advance()
            while not self._at("mark", "]"):
                key = self._name()
                self._take("=")
                found[key] = self._name()
                if self._at("mark", ",") or self._at("mark", ";"):
                    self._advance()
            self._advance()
        return found

    def _heed_graph(self, attributes: dict[str, str]) -> None:
        if "labels" in attributes:
            self.labels_are_int = attributes["labels"] == "int"

    def _name(self) -> str:
        if not self._is_name():
            raise self._unexpected("a name")
        text = self._token.text
        self._advance()
        return text

    def _is_name(self) -> bool:
        return self._token.kind in {"word", "quoted"}

    def _at(self, kind: str, text: str) -> bool:
        token = self._token
        same = token.text.lower() == text if kind == "word" else token.text == text
        return token.kind == kind and same

    def _take(self, mark: str) -> None:
        if not self._at("mark", mark):
            raise self._unexpected(mark)
        self._advance()

    def _advance(self) -> None:
        self._token = next(self._tokens)

    def _split(self) -> Iterator[_Token]:
        position, end = 0, len(self._text)
        while position < end:
            found = _TOKEN.match(self._text, position)
            if found is None:
                token = _Token("other", self._text[position : position + 20], position)
                self._token = token
                raise self._unexpected("a name or a mark of the language")
            kind = str(found.lastgroup)
            if kind != "space":
                text = _QUOTE.sub(_plain_quote, found[kind]) if kind == "quoted" else found[kind]
                yield _Token(kind, text, position)
            position = found.end()
        while True:
            yield _Token("end", "", position)

    def _unexpected(self, expected: str) -> DataError:
        token = self._token
        line = self._text.count("\n", 0, token.start) + 1
        found = "the end" if token.kind == "end" else f"{token.text!r:.80}"
        return DataError(f"{_WHAT}, line {line}: found {found}; expected {expected}")


def _plain_quote(found: re.Match[str]) -> str:
    """Take the backslash from a quotation mark; all others are for the reader of a label."""
    return '"' if found[1] == '"' else str(found[0])


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(_meant, text)


def _meant(found: re.Match[str]) -> str:
    escaped, code = found[1], found[2]
    if escaped is not None:
        return {"n": "\n", "r": "\r", "l": "\n"}.get(str(escaped), str(escaped))
    if code is not None and int(code) < 128:
        return chr(int(code))  # control characters too, which `unescape` drops
    return unescape(found[0])
