"""The rules of ARCHITECTURE.md: allowed imports, no cycles, and the limits of the core."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from labelgrove.models import ESTIMATORS

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src"

pytestmark = pytest.mark.skipif(not SOURCES.is_dir(), reason="only a checkout has the sources")

#: The packages that each may import; modules beside them, which begin with an underscore, are
#: below all of them and not listed. The empty name is the package as users see it.
MAY_IMPORT = {
    "data": set(),
    "metrics": set(),
    "persistence": set(),
    "text": set(),
    "vocabulary": {"data"},
    "datasets": set(),
    "trees": set(),
    "tuning": set(),
    "evaluation": {"metrics"},
    "models": {"data", "metrics", "persistence", "vocabulary", "text", "trees", "tuning"},
    "reporting": {"data", "evaluation", "metrics"},
    "distributed": {"data", "evaluation", "metrics", "models", "persistence", "text", "trees"},
    "river": {"models"},
    "client": {"vocabulary"},
    "service": {"", "client", "models", "text", "tuning", "vocabulary"},
    "cli": {
        *("", "client", "data", "datasets", "distributed", "evaluation", "metrics", "models"),
        *("reporting", "service", "text", "trees", "vocabulary"),
    },
}

#: Packages that may import the compiled core.
RUN_THE_CORE = {
    "data",
    "distributed",
    "models",
    "text",
    "trees",
    "tuning",
    "_elementary",
    "_validation",
    "_versions",
}

#: Headers that the core may not include: Python, files, streams, printing.
FORBIDDEN = re.compile(
    r"(Python|nanobind/.*|pybind11/.*|stdio|unistd)\.h|iostream|fstream|sstream|ostream|istream|"
    r"filesystem|cstdio|print|syncstream|nanobind.*"
)


@cache
def modules() -> dict[str, Path]:
    """Every module of the package by its name."""
    found = {"labelgrove._core": SOURCES / "labelgrove/_core.pyi"}
    for path in sorted(SOURCES.glob("labelgrove/**/*.py")):
        parts = path.relative_to(SOURCES).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imports() -> dict[str, set[str]]:
    """The modules of the package that each one imports, also within functions."""
    return {name: set(imported_by(name, path)) - {name} for name, path in modules().items()}


def imported_by(name: str, path: Path) -> Iterator[str]:
    for node in running_code(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: imports are absolute"
            for alias in node.names:
                yield from ours(f"{node.module}.{alias.name}")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield from ours(alias.name)


def running_code(node: ast.AST) -> Iterator[ast.AST]:
    """Everything except code for type checkers only."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        yield child
        yield from running_code(child)


def ours(name: str) -> Iterator[str]:
    """The module that a dotted name lies in, if it is one of ours."""
    while name and name not in modules():
        name = name.rpartition(".")[0]
    if name:
        yield name


def part_of(name: str) -> str:
    """The package, or the module beside the packages, that a module belongs to."""
    part = name.split(".")[1] if "." in name else ""
    return "cli" if part == "__main__" else part


def circles(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """Sets of nodes that reach one another (Tarjan's strongly connected components)."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    found = []

    def visit(node: str) -> None:
        number[node] = lowest[node] = len(number)
        path.append(node)
        for other in sorted(edges[node]):
            if other not in number:
                visit(other)
            if other in path:
                lowest[node] = min(lowest[node], lowest[other])
        if lowest[node] == number[node]:
            start = path.index(node)
            component = path[start:]
            del path[start:]
            if len(component) > 1:
                found.append(sorted(component))

    for node in sorted(edges):
        if node not in number:
            visit(node)
    return found


def test_circles_are_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}) == [["a", "b", "c"]]


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert circles(imports()) == []


def test_every_package_imports_only_those_below_it() -> None:
    wrong = []
    for name, others in imports().items():
        part = part_of(name)
        if part == "":  # the package itself re-exports from the others
            continue
        allowed = MAY_IMPORT.get(part, set()) | {part}
        for other in sorted(others):
            beside = part_of(other).startswith("_")
            if part_of(other) == "_core":
                beside = part in RUN_THE_CORE
            if not beside and part_of(other) not in allowed:
                wrong.append(f"{name} imports {other}")
    assert wrong == []


def test_every_package_has_its_place() -> None:
    packages = {part_of(name) for name in modules()} - {""}
    assert {one for one in packages if not one.startswith("_")} == set(MAY_IMPORT)


def test_nothing_imports_the_command_line() -> None:
    users = {name for name, others in imports().items() if any(map(is_cli, others))}
    assert [name for name in users if not is_cli(name)] == []


def is_cli(name: str) -> bool:
    return part_of(name) == "cli"


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: one.__name__)
def test_few_classes_stand_above_an_estimator(estimator: type) -> None:
    above = [one for one in estimator.__mro__[1:] if one.__module__.startswith("labelgrove")]
    assert len(above) <= 3, [one.__name__ for one in above]


def headers() -> dict[str, set[str]]:
    """Every file of the core, and what it includes."""
    files = [*ROOT.glob("core/include/**/*.hpp"), *ROOT.glob("core/src/*")]
    return {
        (
            path.relative_to(ROOT / "core/include") if "include" in path.parts else path
        ).as_posix(): set(
            re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)', path.read_text("utf-8"), re.MULTILINE)
        )
        for path in files
    }


def test_the_core_knows_no_python_no_files_and_prints_nothing() -> None:
    wrong = [
        f"{name} includes {other}"
        for name, others in headers().items()
        for other in sorted(others)
        if FORBIDDEN.fullmatch(other)
    ]
    assert len(headers()) > 50
    assert wrong == []


def test_no_header_of_the_core_includes_itself_by_way_of_others() -> None:
    found = headers()
    assert circles({name: others & found.keys() for name, others in found.items()}) == []


def layers_of_the_core() -> dict[str, int]:
    """The layer of every header that ARCHITECTURE.md lists, from 0 at the bottom."""
    page = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    found: dict[str, int] = {}
    layer = 3
    for line in page.partition("bindings/")[2].partition("Above the line")[0].splitlines()[1:]:
        layer -= line[4:5].strip() != ""
        for name in line[21:].partition("  ")[0].split():
            assert name not in found, f"{name} is listed twice"
            found[name] = layer
    return found


def test_the_core_includes_nothing_from_a_layer_above() -> None:
    layers = layers_of_the_core()
    headers_here = {name for name in headers() if name.startswith("labelgrove/")}
    assert {f"labelgrove/{name}.hpp" for name in layers} == headers_here

    def layer_of(path: str) -> int:
        name = Path(path).stem
        while name not in layers and "_" in name:  # a further source of the same class
            name = name.rpartition("_")[0]
        return layers.get(name, 0)

    wrong = [
        f"{name} includes {other}"
        for name, others in headers().items()
        for other in sorted(others & headers_here)
        if layer_of(other) > layer_of(name)
    ]
    assert wrong == []
