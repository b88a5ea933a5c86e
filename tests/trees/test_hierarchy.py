"""Trees that follow a given hierarchy, and hierarchies that no tree can follow."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelgrove import DataError, LabelTree, ParameterError
from labelgrove.trees import hierarchy_tree
from trees.definitions import nested

PAIRS = [("life", "animal"), ("animal", "cat"), ("animal", "dog"), ("life", "oak")]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("all", ("life", ("animal", "cat", "dog"), "oak")),
        ("leaves", (("cat", "dog"), "oak")),
        (["dog", "animal"], (("animal", "dog"),)),
        ({"life"}, "life"),
        ([], None),
    ],
)
def test_labels_may_sit_anywhere(labels: Any, expected: Any) -> None:
    tree = hierarchy_tree(PAIRS, labels)
    assert tree == LabelTree([-1], []) if expected is None else nested(tree) == expected


def test_several_roots_get_a_common_one() -> None:
    pairs = [("a", "b"), ("c", "d"), (None, "e")]
    assert nested(hierarchy_tree(pairs)) == (("a", "b"), ("c", "d"), "e")
    assert nested(hierarchy_tree(pairs, "leaves")) == (("b",), ("d",), "e")
    # Roots without labels below are no roots.
    assert nested(hierarchy_tree(pairs, ["d"])) == ("d",)
    assert hierarchy_tree([(None, 5)]) == LabelTree([-1], [5])
    assert hierarchy_tree([]) == LabelTree([-1], [])


def test_pairs_may_come_in_any_form_and_order() -> None:
    pairs = [[3, 4], (1, 2), (2, 3), (2, 3), (None, 1)]
    assert nested(hierarchy_tree(iter(pairs), "leaves")) == (((4,),),)
    tree = hierarchy_tree([("b", "z"), ("b", "a"), ("a", "y"), ("b", "k")], "leaves")
    assert nested(tree) == ("z", ("y",), "k")


@st.composite
def forests(draw: st.DrawFn) -> dict[int, int | None]:
    """Children and their parents (None for roots), numbered at random."""
    n = draw(st.integers(1, 12))
    name = draw(st.permutations(range(n)))
    parents = [draw(st.none() | st.integers(0, i - 1)) if i else None for i in range(n)]
    return {name[i]: None if p is None else name[p] for i, p in enumerate(parents)}


@given(forests(), st.sets(st.integers(0, 11)), st.randoms())
def test_ancestors_are_those_of_the_hierarchy(
    parent_of: dict[int, int | None], wanted: set[int], random: Any
) -> None:
    labels = wanted & set(parent_of)
    pairs = [(parent, child) for child, parent in parent_of.items()]
    random.shuffle(pairs)
    tree = hierarchy_tree(pairs, labels)
    assert set(tree.leaf_labels.tolist()) == labels

    def lineage(name: int | None) -> list[int]:
        return [] if name is None else [*lineage(parent_of[name]), name]

    def siblings_above(node: int) -> int:
        return 0 if node == 0 else 1 + siblings_above(int(tree.parents[node]))

    # Each pair of labels parts where their lineages do: count shared nodes from the root.
    kept_roots = {lineage(label)[0] for label in labels}
    for node, label in tree.labels.items():
        inner = any(label in lineage(other)[:-1] for other in labels)
        above = len(lineage(label)) - 1 + inner + (len(kept_roots) > 1)
        assert siblings_above(node) == above


@given(forests())
def test_leaves_alone_need_no_leaves_of_their_own(parent_of: dict[int, int | None]) -> None:
    tree = hierarchy_tree([(p, c) for c, p in parent_of.items()], "leaves")
    roots = sum(parent is None for parent in parent_of.values())
    assert tree.n_nodes == len(parent_of) + (roots > 1)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("a", "b"), ("b", "c"), ("c", "a")], "'a' > 'b' > 'c' > 'a' is a cycle"),
        ([("r", "s"), ("a", "a")], "'a' > 'a' is a cycle"),
        ([(i, (i + 1) % 20) for i in range(20)], "0 > 1 > .* > 6 > .12 more. > 19 > 0 is a cycle"),
        ([("a", "c"), ("b", "c")], "'c' has two parents, 'a' and 'b'; expected one"),
        ([("a", "c"), (None, "c")], "'c' has two parents, 'a' and none .a root."),
        ([("a", "b"), "cd"], "pair 1: found 'cd'; expected .parent, child."),
        ([("a", "b"), ("c",)], "pair 1: found .'c',.; expected .parent, child."),
        ([("a", "b"), ("c", None)], "pair 1: the label is missing"),
        ([("a", "b"), (1, "c")], "pair 1: label 1 is an integer"),
        ([("a", 1.5)], "pair 0: 1.5 is of type float: expected a label"),
    ],
)
def test_what_is_no_hierarchy_is_named(pairs: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"^hierarchy.*{message}"):
        hierarchy_tree(pairs)


def test_the_first_parent_may_be_kept() -> None:
    pairs = [("a", "c"), ("b", "c"), ("b", "d"), ("b", "b2"), ("b2", "a")]
    found = hierarchy_tree(pairs, "leaves", several_parents="first")
    assert nested(found) == ("d", (("c",),))
    # A cycle is none if no pair in use closes it.
    assert nested(hierarchy_tree([(None, "a"), ("a", "b"), ("b", "a")], several_parents="first"))


def test_wrong_parameters_are_named() -> None:
    with pytest.raises(DataError, match="label 'x' is not in it"):
        hierarchy_tree(PAIRS, ["x"])
    with pytest.raises(ParameterError, match="labels='some': expected 'all', 'leaves' or"):
        hierarchy_tree(PAIRS, "some")  # type: ignore[arg-type]
    with pytest.raises(
        ParameterError, match="several_parents='last': expected one of 'error', 'first'"
    ):
        hierarchy_tree(PAIRS, several_parents="last")  # type: ignore[arg-type]


def test_a_deep_hierarchy_is_no_matter_of_recursion() -> None:
    tree = hierarchy_tree([(i, i + 1) for i in range(20_000)], "leaves")
    assert tree.depth == 20_000 and tree.n_labels == 1
