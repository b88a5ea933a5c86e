"""Label trees in files: their own, and those inside of models."""

from __future__ import annotations

from pathlib import Path

import labelgrove
from labelgrove._errors import DataError, ParameterError
from labelgrove.trees import LabelTree

_READERS = {
    ".dot": LabelTree.from_dot,
    ".gv": LabelTree.from_dot,
    ".tsv": LabelTree.from_edge_list,
}


def read_tree(path: str) -> LabelTree:
    """Read a tree: JSON, a list of edges (.tsv), Graphviz (.dot), or the tree of a model.

    Parameters
    ----------
    path : str
        The file; what its name does not tell its first byte does.

    Returns
    -------
    LabelTree

    Raises
    ------
    OSError
        When the file cannot be read.
    LabelGroveError
        When it holds no tree.
    """
    file = Path(path)
    reader = _READERS.get(file.suffix.lower())
    with file.open("rb") as stream:
        looks_like_json = stream.read(1) == b"{"
    if reader is None and not looks_like_json:
        model = labelgrove.load(path)
        tree = getattr(model, "tree_", None)
        if not isinstance(tree, LabelTree):
            raise ParameterError(f"{path}: a {type(model).__name__} has no label tree")
        return tree
    try:
        text = file.read_text(encoding="utf-8")
        return (reader or LabelTree.from_json)(text)
    except UnicodeDecodeError:
        raise DataError(f"{path}: expected text in UTF-8") from None
    except (DataError, ParameterError) as failure:
        raise DataError(f"{path}: {failure}") from None


def tree_as_bytes(tree: LabelTree, path: str) -> bytes:
    """Return what is to be in a tree's file.

    Parameters
    ----------
    tree : LabelTree
        Any.
    path : str
        A name that says the format: edges for .tsv, Graphviz for .dot or .gv, JSON for others.

    Returns
    -------
    bytes
        UTF-8, with a line end.
    """
    suffix = Path(path).suffix.lower()
    if suffix in {".dot", ".gv"}:
        text = tree.to_dot()
    else:
        text = tree.to_edge_list() if suffix == ".tsv" else tree.to_json()
    return (text.rstrip("\n") + "\n").encode()
