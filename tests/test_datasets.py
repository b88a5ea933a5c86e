"""Docstrings of installed packages as a data set: names, labels, masks, order, rough sources."""

from __future__ import annotations

import importlib.util
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from labelgrove import DataError, ParameterError, datasets
from labelgrove.datasets import PythonDoc, iter_python_docs, load_python_docs

FILES = {
    "grove/__init__.py": '"""The package about trees and what grows below them."""',
    "grove/birch.py": '''
        """Birches, which grow fast and need much light."""

        class Birch:
            """A birch of the GROVE, made by grove.birch.Birch with a white bark."""

            def grow(self):
                """Let it grow: call grow once a year and mind the _birch roots."""

                class Ring:
                    """One year's ring, seen within the wood of the stem."""

            def short(self):
                """Too short."""

            def silent(self):
                pass

        if True:
            async def plant(where):
                """Plant one where the ground is open and not too wet."""
        else:
            try:
                def plant(where):
                    """Plant one elsewhere, on the dry side of the hill."""
            except ValueError:
                def water():
                    """Return it water from the brook at the edge."""
        ''',
    "grove/a_copy.py": '''
        """Birches, which grow fast and need much light."""
        ''',
    "grove/deep/__init__.py": "",
    "grove/deep/root.py": '"""Roots, which nobody sees and everybody needs."""',
    "grove/tests/test_birch.py": '"""Tests are no documentation, so this is left out."""',
    "grove/test_oak.py": '"""Tests are no documentation, so this is left out."""',
    "grove/conftest.py": '"""Tests are no documentation, so this is left out."""',
    "grove/not-a-module/x.py": '"""This folder cannot be imported, so it is left out."""',
    "lonely.py": '"""A module all alone, without any package about it."""',
}


@pytest.fixture
def grove(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(content), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    yield tmp_path
    assert not {"grove", "grove.birch", "lonely"} & set(sys.modules)  # parsed, never imported


@pytest.fixture
def forest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package of 20 modules with 10 documented functions each, which must not be imported."""
    folder = tmp_path / "forest"
    folder.mkdir()
    (folder / "__init__.py").write_text('raise RuntimeError("imported")\n', encoding="utf-8")
    for module in range(20):
        functions = (
            f"def tree{tree}():\n"
            f'    """Tree {tree} of wood {module}, which forest.m{module}.tree{tree} plants."""\n'
            for tree in range(10)
        )
        (folder / f"m{module}.py").write_text("".join(functions), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    return "forest"


def by_name(docs: list[PythonDoc]) -> dict[str, PythonDoc]:
    return {doc.name: doc for doc in docs}


def test_names_come_file_by_file_from_top_to_bottom(grove: Path) -> None:
    assert [doc.name for doc in iter_python_docs(["grove", "lonely"])] == [
        "grove",
        "grove.a_copy",
        "grove.birch.Birch",
        "grove.birch.Birch.grow",
        "grove.birch.Birch.grow.Ring",
        "grove.birch.plant",
        "grove.birch.plant",
        "grove.birch.water",
        "grove.deep.root",
        "lonely",
    ]


def test_labels_are_packages_modules_and_classes(grove: Path) -> None:
    docs = by_name(list(iter_python_docs(["grove", "lonely"])))
    module = ("grove", "grove.birch")
    assert docs["grove"].labels == ("grove",)
    assert docs["grove.birch.plant"].labels == module
    assert docs["grove.birch.Birch"].labels == (*module, "grove.birch.Birch")
    assert docs["grove.birch.Birch.grow"].labels == (*module, "grove.birch.Birch")
    ring = docs["grove.birch.Birch.grow.Ring"]
    assert ring.labels == (*module, "grove.birch.Birch", "grove.birch.Birch.Ring")
    assert docs["grove.deep.root"].labels == ("grove", "grove.deep", "grove.deep.root")
    assert docs["lonely"].labels == ("lonely",)


def test_every_part_of_the_path_is_masked(grove: Path) -> None:
    docs = by_name(list(iter_python_docs(["grove"])))
    expected = "A _ of the _, made by _._._ with a white bark."
    assert docs["grove.birch.Birch"].text == expected
    expected = "Let it _: call _ once a year and mind the _ roots."
    assert docs["grove.birch.Birch.grow"].text == expected


def test_no_text_occurs_twice_and_short_ones_not_at_all(grove: Path) -> None:
    docs = list(iter_python_docs(["grove"]))
    assert len({doc.text for doc in docs}) == len(docs)
    assert "grove.birch" not in by_name(docs)  # its text stands in a_copy before
    assert "grove.birch.Birch.short" in by_name(list(iter_python_docs(["grove"], min_words=1)))


def test_held_out_names_are_the_same_in_any_order(grove: Path, forest: str) -> None:
    packages = ["grove", forest]
    in_order = list(iter_python_docs(packages))
    shuffled = list(iter_python_docs(packages, order="shuffled"))
    assert shuffled != in_order
    assert sorted(shuffled, key=repr) == sorted(in_order, key=repr)
    assert shuffled == list(iter_python_docs(packages, order="shuffled"))
    other = iter_python_docs(packages, order="shuffled", random_state=1)
    assert shuffled != list(other)
    assert 0.05 < sum(doc.held_out for doc in in_order) / len(in_order) < 0.2


def test_the_split_does_not_move_between_releases() -> None:
    names = [f"package.module.f{number}" for number in range(60)]
    held_out = [name.rpartition("f")[2] for name in names if datasets._is_held_out(name)]
    assert held_out == ["4", "23", "25", "38", "39"]


def test_loading_parts_the_stream(grove: Path, forest: str) -> None:
    docs = list(iter_python_docs(["grove", forest]))
    train, test = load_python_docs(["grove", forest])
    assert len(train) + len(test) == len(docs)
    for part, held_out in ((train, False), (test, True)):
        wanted = [doc for doc in docs if doc.held_out is held_out]
        assert part.names == [doc.name for doc in wanted]
        assert part.texts == [doc.text for doc in wanted]
        assert part.labels == [doc.labels for doc in wanted]


def test_rough_sources_are_passed_over(grove: Path) -> None:
    rough = {
        "syntax.py": b"def (: pass",
        "latin.py": '"""Ein Märchen aus uralten Zeiten ohne Vermerk."""'.encode("latin-1"),
        "nul.py": b'"""Holds a nul byte, which no source may."""\0',
        "unknown.py": b'# -*- coding: klingon -*-\n"""Nobody can decode what stands in here."""',
        "deep.py": b"(" * 5000 + b")" * 5000,
        "deeper.py": b"x = " + b"-" * 5000 + b"1",
        "empty.py": b"",
    }
    for name, content in rough.items():
        (grove / "grove" / name).write_bytes(content)
    (grove / "grove" / "folder.py").mkdir()
    before = len(list(iter_python_docs(["grove"])))
    good = {
        "declared.py": '# coding: latin-1\n"""Ein Märchen aus uralten Zeiten."""'.encode("latin-1"),
        "marked.py": b'\xef\xbb\xbf"""Begins with a mark of its byte order."""',
        "escape.py": rb'"""Half a character \ud800 and a bad escape \d in here."""',
        "chain.py": (
            b"if x: pass\n" + b"elif x: pass\n" * 60 + b"else:\n"
            b'    def end():\n        """Stands at the end of a long chain."""\n'
        ),
    }
    for name, content in good.items():
        (grove / "grove" / name).write_bytes(content)
    docs = by_name(list(iter_python_docs(["grove"])))
    assert len(docs) == before - 1 + len(good)  # `plant` stands twice in the list before
    assert docs["grove.declared"].text == "Ein Märchen aus uralten Zeiten."
    assert "? and a bad" in docs["grove.escape"].text
    assert "grove.chain.end" in docs


def test_missing_packages_are_passed_over_unless_all_are_missing(grove: Path) -> None:
    assert list(iter_python_docs(["no_such_thing", "lonely", "sys"]))
    with pytest.raises(DataError, match="no Python source file found for no_such_thing, sys"):
        list(iter_python_docs(["no_such_thing", "sys"]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"packages": "json"}, "packages='json': expected a collection of strings"),
        ({"packages": [1]}, r"packages=\[1\]: expected a collection of strings"),
        ({"packages": None}, "packages=None: expected a collection of strings"),
        ({"packages": ["os.path"]}, "'os.path' found where a top-level name was expected"),
        ({"order": "random"}, "order='random': expected one of 'files', 'shuffled'"),
        ({"order": ["files"]}, r"order=\['files'\]: expected one of 'files', 'shuffled'"),
        ({"order": "shuffled", "random_state": -1}, r"random_state=-1: expected 0 to 2\*\*64 - 1"),
        ({"min_words": 0}, "min_words=0: expected an integer from 1"),
    ],
)
def test_parameters_outside_their_domain_are_refused(
    arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        next(iter_python_docs(**({"packages": ["json"]} | arguments)))


def test_a_whole_package_is_read_without_importing_it(forest: str) -> None:
    train, test = load_python_docs([forest])
    assert len(train) + len(test) == 200
    assert {label for labels in train.labels for label in labels} == {
        "forest",
        *(f"forest.m{module}" for module in range(20)),
    }
    for name, text in zip(train.names, train.texts, strict=True):
        assert not set(name.split(".")) & set(re.findall(r"\w+", text)), name
    assert not [name for name in sys.modules if name.partition(".")[0] == forest]


def test_the_library_of_python_itself_is_found() -> None:
    """The standard library is always available; other packages may not be."""
    first = next(iter(iter_python_docs(["stdlib"])))
    assert first.text and first.labels
