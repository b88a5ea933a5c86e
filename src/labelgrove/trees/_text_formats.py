"""Label trees as text: JSON and edge lists.

Readers check the form of the text; `LabelTree` checks that the nodes form a tree.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from labelgrove._errors import DataError
from labelgrove._strict_json import strict_json
from labelgrove.trees._structure import Imported, Nodes

FORMAT: Final = "labelgrove-tree"
VERSION: Final = 1
KEYS: Final = ("format", "version", "parents", "labels")

_LABEL_TYPES = {int, str, type(None)}
_NODE = re.compile(r"[0-9]{1,18}")  # numbers of this length always fit into 64 bits


def write_json(parents: Nodes, labels: Mapping[int, Any]) -> str:
    """Return the parent and the label (null for inner nodes) of every node."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        "parents": parents.tolist(),
        "labels": [labels.get(node) for node in range(parents.size)],
    }
    return json.dumps(content, ensure_ascii=False)


def read_json(text: str) -> Imported:
    """Read the output of `write_json`; raise `DataError` for anything else."""
    if not isinstance(text, str):
        raise DataError(f"tree as JSON: expected a str, not {type(text).__name__}")
    try:
        content = strict_json(text)
    except RecursionError:
        raise DataError("tree as JSON: brackets are nested too deeply") from None
    except ValueError as error:
        raise DataError(f"tree as JSON: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DataError(f'tree as JSON: expected an object with "format": "{FORMAT}"')
    if content.get("version") != VERSION or isinstance(content["version"], bool | float):
        raise DataError(
            f"tree as JSON: version is {_shown(content.get('version'))}; expected {VERSION}"
        )
    if unlike := set(content) ^ set(KEYS):
        key = min(unlike)
        raise DataError(f"tree as JSON: {'unknown' if key in content else 'missing'} key {key!r}")
    parents, labels = content["parents"], content["labels"]
    _check(parents, labels)
    return "tree as JSON", parents, {v: name for v, name in enumerate(labels) if name is not None}


def _check(parents: Any, labels: Any) -> None:
    for key, values in (("parents", parents), ("labels", labels)):
        if not isinstance(values, list):
            raise DataError(f"tree as JSON: {key} are {_shown(values)}; expected a list")
    if len(parents) != len(labels):
        raise DataError(
            f"tree as JSON: there are {len(parents)} parents and {len(labels)} labels; expected "
            "one of each for every node"
        )
    for node, (parent, label) in enumerate(zip(parents, labels, strict=True)):
        if type(parent) is not int:
            raise DataError(
                f"tree as JSON: parent of node {node} is {_shown(parent)}; expected an integer"
            )
        if type(label) not in _LABEL_TYPES:
            raise DataError(
                f"tree as JSON: label of node {node} is {_shown(label)}; expected a string, an "
                "integer or null"
            )


def _shown(value: Any) -> str:
    """Return a short form of a value for messages, however large it is."""
    return f"a {type(value).__name__}" if isinstance(value, list | dict) else f"{value!r:.80}"


def write_edge_list(parents: Nodes, labels: Mapping[int, Any]) -> str:
    """Return a line for each node except the root: parent, node and, for a leaf, its label."""
    lines = []
    for node, parent in enumerate(parents.tolist()):
        if node > 0 or parents.size == 1:
            label = f"\t{json.dumps(labels[node], ensure_ascii=False)}" if node in labels else ""
            lines.append(f"{parent}\t{node}{label}\n")
    return "".join(lines)


def read_edge_list(text: str) -> Imported:
    """Read the lines of `write_edge_list` in any order; raise `DataError` for anything else."""
    if not isinstance(text, str):
        raise DataError(f"tree as edges: expected a str, not {type(text).__name__}")
    parent_of: dict[int, int] = {}
    labels: dict[int, Any] = {}
    # JSON escapes line breaks in labels, so only "\n" ends a line.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        parent, node, label = _fields(line, number)
        if node in parent_of:
            raise _error(number, f"node {node} already has a parent, {parent_of[node]}")
        parent_of[node] = parent
        if label is not None:
            labels[node] = _label(label, number)
    parent_of.setdefault(0, -1)
    # Requiring numbers without gaps bounds the memory by the number of lines.
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
    for place, field in enumerate(fields[:2]):
        if not _NODE.fullmatch(field) and (place, field) != (0, "-1"):
            raise _error(number, f"found {field!r:.80}; expected the number of a node")
    return int(fields[0]), int(fields[1]), fields[2] if len(fields) > 2 else None


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
