"""Trees as text and graphs: written trees are read back, everything else is refused."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelgrove import DataError, LabelTree, MissingDependencyError
from trees.definitions import nested, trees

TREE = LabelTree([-1, 0, 0, 1, 1], ["fish", "cat", "dog"])
READERS: list[Callable[[str], LabelTree]] = [LabelTree.from_json, LabelTree.from_edge_list]


@given(trees())
def test_json_is_read_back(tree: LabelTree) -> None:
    assert LabelTree.from_json(tree.to_json()) == tree


@given(trees(), st.randoms())
def test_edges_are_read_back_in_any_order(tree: LabelTree, random: Any) -> None:
    text = tree.to_edge_list()
    assert LabelTree.from_edge_list(text) == tree
    lines = text.split("\n")
    random.shuffle(lines)
    assert LabelTree.from_edge_list("\r\n".join(lines)) == tree


@given(trees())
def test_graphs_are_read_back(tree: LabelTree) -> None:
    pytest.importorskip("networkx")
    assert LabelTree.from_networkx(tree.to_networkx()) == tree


def test_the_text_is_as_documented() -> None:
    assert json.loads(TREE.to_json()) == {
        "format": "labelgrove-tree",
        "version": 1,
        "parents": [-1, 0, 0, 1, 1],
        "labels": [None, None, "fish", "cat", "dog"],
    }
    assert TREE.to_edge_list() == '0\t1\n0\t2\t"fish"\n1\t3\t"cat"\n1\t4\t"dog"\n'
    assert TREE.to_dot().splitlines() == [
        "digraph tree {",
        "  node [shape=box];",
        "  0 [shape=point];",
        "  1 [shape=point];",
        "  0 -> 1;",
        '  2 [label="fish"];',
        "  0 -> 2;",
        '  3 [label="cat"];',
        "  1 -> 3;",
        '  4 [label="dog"];',
        "  1 -> 4;",
        "}",
    ]


def changed(**values: Any) -> str:
    content = json.loads(TREE.to_json()) | values
    return json.dumps({key: value for key, value in content.items() if value != "gone"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Expecting value"),
        ("[" * 100_000, "nested too deeply|Expecting value"),
        ("9" * 10_000, 'integer string conversion|"format": "labelgrove-tree"'),
        ('"\ud800"', '"format": "labelgrove-tree"'),
        ("[]", 'expected an object with "format": "labelgrove-tree"'),
        ("{}", 'expected an object with "format": "labelgrove-tree"'),
        (changed(format="tree"), 'expected an object with "format": "labelgrove-tree"'),
        (changed(version=2), "version is 2; expected 1"),
        (changed(version=True), "version is True; expected 1"),
        (changed(version="gone"), "version is None; expected 1"),
        (changed(labels="gone"), "missing key 'labels'"),
        (changed(owner="me"), "unknown key 'owner'"),
        (changed(parents={}), "parents are a dict; expected a list"),
        (changed(labels="abcde"), "labels are 'abcde'; expected a list"),
        (changed(parents=[-1, 0, 0, 1]), "4 parents and 5 labels"),
        (changed(parents=[-1, 0, 0, 1, 1.0]), "parent of node 4 is 1.0; expected an integer"),
        (changed(parents=[-1, 0, 0, 1, True]), "parent of node 4 is True; expected an integer"),
        (changed(parents=[-1, 0, 0, 1, [1]]), "parent of node 4 is a list; expected an integer"),
        (changed(parents=[-1, 0, 0, 1, 10**30]), "expected a flat sequence of integers"),
        (changed(parents=[-1, 0, 0, 1, 5]), "node 4 has parent 5; expected 0 to 4"),
        (changed(parents=[-1, 0, 0, 4, 3]), "node 3 leads to a cycle"),
        (changed(parents=[], labels=[]), "node 0 must be the root"),
        (changed(labels=[None, None, "fish", "cat", None]), "node 4 is a leaf without a label"),
        (changed(labels=[None, "pet", "fish", "cat", "dog"]), "node 1 is an inner node with"),
        (changed(labels=[None, None, "cat", "cat", "dog"]), "have the same label 'cat'"),
        (changed(labels=[None, None, "fish", "cat", 4]), "node 4: label 4 is an integer"),
        (changed(labels=[None, None, "fish", "cat", False]), "label of node 4 is False; expected"),
        (changed(labels=[None, None, "fish", "cat", {}]), "label of node 4 is a dict; expected"),
        (changed(labels=[None, None, 1, 2, 2**70]), "64 bits"),
        (changed(labels=[None, None, "fish", "cat", "\ud800"]), "node 4: label.*surrogate"),
        (changed(labels=[None, None, 1, 2, float("nan")]), "NaN is not a JSON number"),
        (changed().replace("-1", "-1e999"), "the number '-1e999' is too large"),
        (changed().replace('"version"', '"format"'), "key 'format' occurs twice"),
    ],
)
def test_hostile_json_is_one_clear_error(text: str, message: str) -> None:
    with pytest.raises(DataError, match=f"^tree as JSON: .*({message})"):
        LabelTree.from_json(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0\t1\tcat", "line 1: found 'cat'; expected a label, a string in double quotes"),
        ("0\t1\ttrue", "line 1: found 'true'; expected a label"),
        ("0\t1\t" + "[" * 100_000, "line 1: found .*; expected a label"),
        ('0\t1\t"a"\n\n1 2', "line 3: found '1 2'; expected a parent, a tab and a node"),
        ('0\t1\t"a"\t"b"', 'line 1: found \'"a".*; expected a label, a string in double quotes'),
        ("-2\t1", "line 1: found '-2'; expected the number of a node"),
        ("0\t-1", "line 1: found '-1'; expected the number of a node"),
        ("0\t²", "line 1: found '²'; expected the number of a node"),
        ("0\t" + "9" * 5000, "line 1: found '9+; expected the number of a node"),
        ("0\t999999999999", "there are 2 nodes, but no line for node 1"),
        ('0\t1\t"a"\n0\t1\t"b"', "line 2: node 1 already has a parent, 0"),
        ('1\t2\t"a"\n2\t1', "node 1 leads to a cycle"),
        ('7\t1\t"a"', "node 1 has parent 7"),
        ("0\t1", "node 1 is a leaf without a label"),
        ('0\t1\t"a"\n1\t2\t"b"', "node 1 is an inner node with a label"),
    ],
)
def test_hostile_edges_are_one_clear_error(text: str, message: str) -> None:
    with pytest.raises(DataError, match=f"^tree as edges.*{message}"):
        LabelTree.from_edge_list(text)


def test_dot_escapes_what_would_end_a_name() -> None:
    names = ['Dog "Rex"', "a\\b", "R&D", "two\nlines", "bell\x07", "é"]
    lines = LabelTree.flat(names).to_dot().splitlines()
    assert [line.split("label=")[1] for line in lines if "label=" in line] == [
        r'"Dog \"Rex\""];',
        r'"a\\b"];',
        '"R&amp;D"];',
        r'"two\nlines"];',
        '"bell&#7;"];',
        '"é"];',
    ]


@pytest.mark.parametrize("read", READERS)
@given(text=st.text(st.sampled_from('{}[]"\\,:-\t\n0129abc labelsnull'), max_size=40))
def test_any_text_is_a_tree_or_one_error(read: Callable[[str], LabelTree], text: str) -> None:
    for candidate in (text, "{" + text + "}", text + TREE.to_edge_list()):
        try:
            read(candidate)
        except DataError as error:
            assert str(error).startswith("tree ") and "\n" not in str(error)


@pytest.mark.parametrize("read", [*READERS, LabelTree.from_networkx])
def test_what_is_no_text_is_refused(read: Callable[[Any], LabelTree]) -> None:
    if read == LabelTree.from_networkx:
        pytest.importorskip("networkx")
    with pytest.raises(DataError, match="not bytes"):
        read(b"{}")


def test_graphs_of_others_are_read() -> None:
    networkx = pytest.importorskip("networkx")
    graph = networkx.DiGraph([("animals", "pets"), ("pets", "cat"), ("pets", "dog")])
    graph.add_edge("animals", "fish")
    graph.nodes["dog"]["label"] = "Dog"
    assert nested(LabelTree.from_networkx(graph)) == (("cat", "Dog"), "fish")
    assert nested(LabelTree.from_networkx(networkx.DiGraph([(5, 3), (5, 4)]))) == (3, 4)
    assert LabelTree.from_networkx(networkx.DiGraph()) == LabelTree([-1], [])


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([(0, 1), (2, 1)], "node 1 has two parents, 0 and 2"),
        ([(0, 1), (2, 3)], "nodes 0 and 2 are both roots"),
        ([(0, 1), (2, 3), (3, 2)], "2 > 3 > 2 is a cycle"),
        ([(0, (1, 2))], "expected a label"),
    ],
)
def test_graphs_that_are_no_trees(edges: list[Any], message: str) -> None:
    networkx = pytest.importorskip("networkx")
    with pytest.raises(DataError, match=f"^tree as a graph.*{message}"):
        LabelTree.from_networkx(networkx.DiGraph(edges))
    labelled = networkx.DiGraph([(0, 1), (1, 2)])
    labelled.nodes[1]["label"] = "cat"
    with pytest.raises(DataError, match="node 1 has children and a label, 'cat'; expected labels"):
        LabelTree.from_networkx(labelled)
    with pytest.raises(DataError, match="expected a networkx.DiGraph, not Graph"):
        LabelTree.from_networkx(networkx.Graph(edges))


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(MissingDependencyError, match="needs the package networkx; install it with"):
        TREE.to_networkx()
