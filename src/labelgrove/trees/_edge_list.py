"""Label trees as lists of edges."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from labelgrove._errors import DataError

if TYPE_CHECKING:
    from labelgrove.trees._label_tree import LabelTree

_DIGITS = 18  # what surely fits into 64 bits


def write_edge_list(tree: LabelTree) -> str:
    """Return a line for each node but the root: parent, node and, for a leaf, its label."""
    labels = {v: json.dumps(name, ensure_ascii=False) for v, name in tree.labels.items()}
    parents = tree.parents.tolist()
    first = 1 if len(parents) > 1 else 0
    lines = []
    for node in range(first, len(parents)):
        edge = f"{parents[node]}\t{node}"
        lines.append(f"{edge}\t{labels[node]}\n" if node in labels else f"{edge}\n")
    return "".join(lines)


def read_edge_list(text: str) -> tuple[str, list[int], dict[int, Any]]:
    """Return what a message calls the text, the parent of every node, and the label of every leaf.

    Raises
    ------
    DataError
        A line of another form, or a node that stands there twice or is missing. Whether it is a
        tree is for `LabelTree` to say.
    """
    if not isinstance(text, str):
        raise DataError(f"tree as edges: expected a str, not {type(text).__name__}")
    parent_of: dict[int, int] = {}
    labels: dict[int, Any] = {}
    # JSON escapes what ends a line, so that only "\n" does.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        parent, node, label = _fields(line, number)
        if node in parent_of:
            raise _error(number, f"node {node} has a parent already, {parent_of[node]}")
        parent_of[node] = parent
        if label is not None:
            labels[node] = _label(label, number)
    parent_of.setdefault(0, -1)
    # Numbers without gaps: no line can ask for more memory than all of them take.
    for node in range(len(parent_of)):
        if node not in parent_of:
            raise DataError(
                f"tree as edges: there are {len(parent_of)} nodes, but no line for node {node}"
            )
    return "tree as edges", [parent_of[v] for v in range(len(parent_of))], labels


def _fields(line: str, number: int) -> tuple[int, int, str | None]:
    fields = line.rstrip("\r").split("\t", 2)
    if len(fields) < 2:
        raise _error(number, f"found {line!r:.80}; expected a parent, a tab and a node")
    parent, node = (
        _node(field, number, least) for field, least in zip(fields, (-1, 0), strict=False)
    )
    return parent, node, fields[2] if len(fields) > 2 else None


def _node(field: str, number: int, least: int) -> int:
    digits = field.removeprefix("-")
    if not (
        digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS and int(field) >= least
    ):
        raise _error(number, f"found {field!r:.80}; expected the number of a node")
    return int(field)


def _label(field: str, number: int) -> str | int:
    try:
        label = json.loads(field)
    except (ValueError, RecursionError):
        label = None
    if not isinstance(label, str | int) or isinstance(label, bool):
        raise _error(
            number,
            f"found {field!r:.80}; expected a label, a string in double quotes or an integer",
        )
    return label


def _error(number: int, message: str) -> DataError:
    return DataError(f"tree as edges, line {number}: {message}")
