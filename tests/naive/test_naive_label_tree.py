"""The tree alone: the three variants of OPLT's Figure 1, silent leaves and ghosts."""

from __future__ import annotations

import pytest

from naive.label_tree import LabelTree


@pytest.fixture
def figure_1() -> LabelTree:
    r"""Return a tree like Figure 1 (a).

    ::

               0
             /   \
            1     2
           / \   / \
          3   4 5   6      labels 0 1 2 3
    """
    return LabelTree.from_parents([None, 0, 0, 1, 1, 2, 2], {0: 3, 1: 4, 2: 5, 3: 6})


def test_empty_tree_is_a_root_without_a_label() -> None:
    tree = LabelTree()
    tree.check()
    assert tree.is_leaf(0) and not tree.is_pre_leaf(0)
    tree.set_label(0, tree.root)
    tree.check()
    assert list(tree.live_labels()) == [0] and tree.leaves(0) == [0]


def test_reading(figure_1: LabelTree) -> None:
    assert figure_1.leaves(0) == [3, 4, 5, 6] and figure_1.leaves(5) == [5]
    assert figure_1.path(6) == [6, 2, 0]
    assert figure_1.is_pre_leaf(2)
    assert not figure_1.is_pre_leaf(0) and not figure_1.is_pre_leaf(3)
    assert figure_1.leaf_children(0) == [] and figure_1.leaf_children(1) == [3, 4]


def test_variant_1_adds_a_leaf(figure_1: LabelTree) -> None:
    assert figure_1.add_leaf(4, 1) == 7
    figure_1.check()
    assert figure_1.children[1] == [3, 4, 7] and figure_1.leaf_of[4] == 7


def test_variant_2_moves_a_subtree_down(figure_1: LabelTree) -> None:
    assert figure_1.insert_node(1) == 7
    assert figure_1.add_leaf(4, 1) == 8
    figure_1.check()
    assert figure_1.children[1] == [7, 8] and figure_1.children[7] == [3, 4]
    assert figure_1.path(3) == [3, 7, 1, 0]


def test_variant_3_splits_a_leaf(figure_1: LabelTree) -> None:
    assert figure_1.insert_node(3) == 7
    assert figure_1.add_leaf(4, 3) == 8
    figure_1.check()
    assert figure_1.children[3] == [7, 8]
    assert figure_1.label[3] is None and figure_1.leaf_of[0] == 7


def test_a_silent_leaf_keeps_its_dead_label_until_the_place_is_taken(figure_1: LabelTree) -> None:
    figure_1.remove_label(1)
    figure_1.check()
    assert sorted(figure_1.live_labels()) == [0, 2, 3]
    assert figure_1.leaf_of[1] == 4 and figure_1.ghosts == {}
    assert figure_1.leaves(1) == [3, 4]
    figure_1.take_place(4, 4)
    figure_1.check()
    assert sorted(figure_1.live_labels()) == [0, 2, 3, 4]
    assert 1 not in figure_1.leaf_of and figure_1.ghosts == {1: 1}


def test_silence_moves_with_the_label_of_a_split_leaf(figure_1: LabelTree) -> None:
    figure_1.remove_label(1)
    figure_1.insert_node(4)
    figure_1.add_leaf(4, 4)
    figure_1.check()
    assert figure_1.silent == {7} and figure_1.leaf_of[1] == 7


def test_ghosts_move_down_with_the_subtree(figure_1: LabelTree) -> None:
    figure_1.remove_label(1)
    figure_1.take_place(4, 4)
    figure_1.insert_node(4)  # splitting the place itself leaves the ghost where it is
    figure_1.add_leaf(5, 4)
    assert figure_1.ghosts == {1: 1}
    figure_1.insert_node(1)
    figure_1.add_leaf(6, 1)
    figure_1.check()
    assert figure_1.ghosts == {1: 9}


def test_check_finds_a_broken_tree(figure_1: LabelTree) -> None:
    figure_1.parent[3] = 2
    with pytest.raises(AssertionError):
        figure_1.check()
    with pytest.raises(AssertionError, match="node 2"):
        LabelTree.from_parents([None, 0, 0], {0: 1})  # a leaf without a label
