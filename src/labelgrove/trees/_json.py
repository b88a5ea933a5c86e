"""Label trees as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NoReturn

from labelgrove._errors import DataError

if TYPE_CHECKING:
    from labelgrove.trees._label_tree import LabelTree

FORMAT: Final = "labelgrove-tree"
VERSION: Final = 1
KEYS: Final = ("format", "version", "parents", "labels")


def write_json(tree: LabelTree) -> str:
    """Return the parent and the label (null for inner nodes) of every node."""
    labels: list[Any] = [None] * tree.n_nodes
    for node, name in tree.labels.items():
        labels[node] = name
    content = {
        "format": FORMAT,
        "version": VERSION,
        "parents": tree.parents.tolist(),
        "labels": labels,
    }
    return json.dumps(content, ensure_ascii=False)


def read_json(text: str) -> tuple[str, list[int], dict[int, Any]]:
    """Return what a message calls the text, the parent of every node, and the label of every leaf.

    Raises
    ------
    DataError
        Not JSON, or not of the form that `write_json` gives. Whether it is a tree is for
        `LabelTree` to say.
    """
    if not isinstance(text, str):
        raise DataError(f"tree as JSON: expected a str, not {type(text).__name__}")
    try:
        content = json.loads(text, object_pairs_hook=_no_key_twice, parse_constant=_no_constant)
    except RecursionError:
        raise DataError("tree as JSON: brackets are nested too deeply") from None
    except DataError:
        raise
    except ValueError as error:  # bad syntax, or an integer of thousands of digits
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
    if set(map(type, parents)) - {int}:
        node = next(v for v, parent in enumerate(parents) if type(parent) is not int)
        raise DataError(
            f"tree as JSON: parent of node {node} is {_shown(parents[node])}; expected an integer"
        )
    if len(parents) != len(labels):
        raise DataError(
            f"tree as JSON: there are {len(parents)} parents and {len(labels)} labels; expected "
            "one of each for every node"
        )
    if set(map(type, labels)) - {int, str, type(None)}:
        known = (int, str, type(None))
        node = next(v for v, name in enumerate(labels) if type(name) not in known)
        raise DataError(
            f"tree as JSON: label of node {node} is {_shown(labels[node])}; expected a string, an "
            "integer or null"
        )


def _shown(value: Any) -> str:
    """Return a value as a message can hold it, however large it is."""
    return f"a {type(value).__name__}" if isinstance(value, list | dict) else f"{value!r:.80}"


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for i, key in enumerate(keys) if key in keys[:i])
        raise DataError(f"tree as JSON: key {twice!r:.80} stands there twice")
    return content


def _no_constant(name: str) -> NoReturn:
    raise DataError(f"tree as JSON: {name} is no JSON")
