"""Real text with thousands of labels, without a download: docstrings of installed packages.

An example is the docstring of a module, class or function, with every part of its dotted path
masked. Its labels are the packages, modules and classes that contain it. Sources are parsed,
never imported.
"""

from __future__ import annotations

import ast
import importlib.util
import logging
import re
import sysconfig
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import numpy as np

from labelgrove._errors import DataError, ParameterError
from labelgrove._parameters import choice, integer, seed_from, words

_log = logging.getLogger(__name__)

PACKAGES = ("stdlib", "numpy", "scipy", "sklearn")

_MASK = "_"
_WORD = re.compile(r"\w+")
_LONG_WORD = re.compile(r"\w\w+")
_LEFT_OUT = {"__pycache__", "idle_test", "test", "tests"}
_HELD_OUT_ONE_IN = 10
_UNREADABLE = (OSError, SyntaxError, ValueError, RecursionError, MemoryError)
_BLOCKS = (ast.stmt, ast.excepthandler, ast.match_case)
_Scope = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class PythonDoc:
    """One docstring.

    Attributes
    ----------
    name : str
        Dotted name of the documented object, such as "json.decoder.JSONDecoder.decode".
    text : str
        The docstring, with every occurrence of a part of `name` replaced by "_".
    labels : tuple of str
        The enclosing packages, modules and classes, and the object itself unless it is a
        function; outermost first: "json", "json.decoder", "json.decoder.JSONDecoder".
    held_out : bool
        Whether the example belongs to the test set: one name in ten, chosen by its hash.
    """

    name: str
    text: str
    labels: tuple[str, ...]
    held_out: bool


@dataclass(frozen=True)
class Documents:
    """Texts and their labels, in stream order.

    Attributes
    ----------
    names : list of str
        Dotted name of the object that each text documents.
    texts : list of str
    labels : list of tuple of str
    """

    names: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    labels: list[tuple[str, ...]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.names)


class PythonDocs(NamedTuple):
    """Training and held-out docstrings."""

    train: Documents
    test: Documents


def load_python_docs(
    packages: Sequence[str] = PACKAGES,
    *,
    order: str = "files",
    random_state: int = 0,
    min_words: int = 5,
) -> PythonDocs:
    """Read the docstrings of installed Python packages.

    Parameters
    ----------
    packages : sequence of str, default=("stdlib", "numpy", "scipy", "sklearn")
        Packages to read, in this order: "stdlib" for Python's whole standard library, or the name
        of an importable top-level package or module. Packages that are not installed are skipped.
    order : {"files", "shuffled"}, default="files"
        "files": files sorted by name, each from top to bottom, so new labels keep appearing
        throughout the stream. "shuffled": random order.
    random_state : int, default=0
        Seed of the random order.
    min_words : int, default=5
        Skip docstrings that have fewer words of at least two characters after masking.

    Returns
    -------
    PythonDocs
        ``train`` and ``test``, each with ``names``, ``texts`` and ``labels``. About one name in
        ten is held out, whatever the order and the machine. Of identical texts only the first is
        kept, so no text is in both sets.

    Raises
    ------
    DataError
        When no source file of `packages` is found.
    ParameterError
        When a parameter lies outside its domain.

    Examples
    --------
    >>> train, test = load_python_docs(["json"])
    >>> train.labels[train.names.index("json.dumps")]
    ('json',)
    >>> "json.decoder.JSONDecoder" in {label for labels in train.labels for label in labels}
    True
    """
    docs = PythonDocs(Documents(), Documents())
    for doc in iter_python_docs(
        packages, order=order, random_state=random_state, min_words=min_words
    ):
        part = docs.test if doc.held_out else docs.train
        part.names.append(doc.name)
        part.texts.append(doc.text)
        part.labels.append(doc.labels)
    return docs


def iter_python_docs(
    packages: Sequence[str] = PACKAGES,
    *,
    order: str = "files",
    random_state: int = 0,
    min_words: int = 5,
) -> Iterator[PythonDoc]:
    """Stream the docstrings of installed Python packages.

    Parameters
    ----------
    packages, order, random_state, min_words
        As for `load_python_docs`. With ``order="files"``, files are read lazily.

    Yields
    ------
    PythonDoc
        Training and held-out examples in one stream; ``held_out`` tells them apart.

    Raises
    ------
    DataError, ParameterError
        As for `load_python_docs`, when the first example is requested.

    Examples
    --------
    >>> doc = next(iter_python_docs(["json"]))
    >>> doc.name, doc.labels, doc.text[:10]
    ('json', ('json',), '_ (JavaScr')
    """
    packages = words("packages", packages)
    choice("order", order, ("files", "shuffled"))
    seed = seed_from(random_state)
    integer("min_words", min_words, 1)
    docs = _without_repeats(_docs(packages, min_words))
    if order == "files":
        yield from docs
    else:
        in_order = list(docs)
        for place in np.random.default_rng(seed).permutation(len(in_order)):
            yield in_order[place]


def _without_repeats(docs: Iterator[PythonDoc]) -> Iterator[PythonDoc]:
    seen: set[bytes] = set()
    for doc in docs:
        digest = _digest(doc.text)
        if digest not in seen:
            seen.add(digest)
            yield doc


def _digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()


def _docs(packages: Sequence[str], min_words: int) -> Iterator[PythonDoc]:
    n_files = 0
    for package in packages:
        for module, path in _sources(package):
            n_files += 1
            yield from _docs_of_file(module, path, min_words)
    if n_files == 0:
        raise DataError(
            f"packages: no Python source file found for {', '.join(packages)}; expected at "
            "least one that is installed with its sources"
        )


def _sources(package: str) -> Iterator[tuple[tuple[str, ...], Path]]:
    """Yield a package's modules (the parts of their dotted names) and files, sorted by name."""
    if package == "stdlib":
        yield from _modules(Path(sysconfig.get_path("stdlib")), ())
        return
    if not package.isidentifier():
        raise ParameterError(f"packages: {package!r} found where a top-level name was expected")
    try:
        spec = importlib.util.find_spec(package)  # looks a top-level name up without importing it
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        _log.info("package %s is not installed: skipped", package)
    elif spec.submodule_search_locations is not None:
        for folder in spec.submodule_search_locations:
            yield from _modules(Path(folder), (package,))
    elif spec.origin is not None and spec.origin.endswith(".py"):
        yield (package,), Path(spec.origin)


def _modules(folder: Path, package: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Path]]:
    try:
        entries = sorted(folder.iterdir(), key=lambda entry: (entry.stem, entry.suffix))
    except OSError as error:
        _log.info("folder %s cannot be read: %s", folder, error)
        return
    if package and (folder / "__init__.py").is_file():
        yield package, folder / "__init__.py"
    for entry in entries:
        name = entry.stem
        # Folders whose name is not an identifier, such as site-packages, hold no modules.
        if not name.isidentifier() or name in _LEFT_OUT or name == "__init__":
            continue
        if entry.suffix == ".py" and not name.startswith("test_") and name != "conftest":
            yield (*package, name), entry
        elif not entry.suffix and entry.is_dir() and not entry.is_symlink():
            yield from _modules(entry, (*package, name))


def _docs_of_file(module: tuple[str, ...], path: Path, min_words: int) -> Iterator[PythonDoc]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about invalid escapes and the like in the sources
            tree = ast.parse(path.read_bytes())
    except _UNREADABLE as error:
        _log.info("file %s cannot be parsed: %s", path, error)
        return
    for scope, inner, classes in _scopes(tree):
        docstring = ast.get_docstring(scope)
        if docstring is None:
            continue
        text = _masked(docstring, module + inner)
        if len(_LONG_WORD.findall(text)) >= min_words:
            name = ".".join(module + inner)
            yield PythonDoc(name, text, _labels(module, classes), _is_held_out(name))


def _is_held_out(name: str) -> bool:
    return int.from_bytes(_digest(name)) % _HELD_OUT_ONE_IN == 0


def _scopes(
    tree: ast.Module,
) -> Iterator[tuple[_Scope, tuple[str, ...], tuple[str, ...]]]:
    """Yield everything that may have a docstring, from top to bottom of the file.

    Each scope comes with its path below the module, and with the classes on that path. An explicit
    stack replaces recursion, because long chains of `elif` nest deeply.
    """
    stack: list[tuple[ast.AST, tuple[str, ...], tuple[str, ...]]] = [(tree, (), ())]
    while stack:
        node, inner, classes = stack.pop()
        if isinstance(node, ast.ClassDef):
            inner, classes = (*inner, node.name), (*classes, node.name)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = (*inner, node.name)
        if isinstance(node, _Scope):
            yield node, inner, classes
        stack += [
            (child, inner, classes)
            for child in reversed(list(ast.iter_child_nodes(node)))
            if isinstance(child, _BLOCKS)
        ]


def _labels(module: tuple[str, ...], classes: tuple[str, ...]) -> tuple[str, ...]:
    path = module + classes
    return tuple(".".join(path[: i + 1]) for i in range(len(path)))


def _masked(docstring: str, path: tuple[str, ...]) -> str:
    """Mask every word that is a part of the path, ignoring case and outer underscores."""
    hidden = {part.strip("_").lower() for part in path} - {""}
    text = _WORD.sub(
        lambda word: _MASK if word[0].strip("_").lower() in hidden else word[0], docstring
    )
    # An escape may produce a lone surrogate, which UTF-8 cannot encode.
    return text.encode("utf-8", "replace").decode("utf-8")
