"""Figures and pictures of trees."""

from __future__ import annotations

import io
import math
import sys
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelgrove import LabelTree, MissingDependencyError, ParameterError
from labelgrove.trees import complete_tree
from labelgrove.trees._plot import heights_of
from trees.definitions import depths_by_walking, label_depths, trees

TREE = LabelTree([-1, 0, 0, 1, 1], ["fish", "cat", "dog"])


@given(trees(), st.data())
def test_figures_are_as_defined(tree: LabelTree, data: st.DataObject) -> None:
    names = tree.leaf_labels.tolist()
    counts = data.draw(st.lists(st.integers(0, 9), min_size=len(names), max_size=len(names)))
    depths = label_depths(tree)
    found = tree.statistics()
    assert (found.n_nodes, found.n_labels) == (tree.n_nodes, len(names))
    assert found.depth == max(depths_by_walking(tree.parents.tolist()))
    assert found.mean_depth == pytest.approx(np.mean(list(depths.values())) if names else 0)
    below = [len(tree.children(v)) for v in range(tree.n_nodes)]
    assert found.arities == Counter(n for n in below if n)
    assert list(found.arities) == sorted(found.arities)
    assert found.expected_depth is None
    if sum(counts):
        drawn = sum(count * depths[name] for name, count in zip(names, counts, strict=True))
        assert tree.expected_depth(counts, names) == pytest.approx(drawn / sum(counts))
        assert tree.statistics(dict(zip(names, counts, strict=True))).expected_depth == (
            tree.expected_depth(counts, tree.leaf_labels)
        )


@given(trees())
def test_balance_is_the_evenness_of_splits(tree: LabelTree) -> None:
    """The entropy of every split, over that of an even one, both weighted by the labels below."""

    def labels_below(node: int) -> int:
        return sum(map(labels_below, tree.children(node))) if tree.children(node) else 1

    entropy = even = 0.0
    for node in range(tree.n_nodes):
        if below := tree.children(node):
            total = labels_below(node)
            shares = [labels_below(child) / total for child in below]
            entropy -= total * sum(p * math.log(p) for p in shares)
            even += total * math.log(len(below))
    assert tree.statistics().balance == pytest.approx(entropy / even if even else 1.0)


def test_known_figures() -> None:
    assert complete_tree(range(64), arity=4).statistics().balance == pytest.approx(1)
    chain = LabelTree([-1, 0, 0, 2, 2, 4, 4], [0, 1, 2, 3])
    assert chain.statistics().balance == pytest.approx(2 / 2.25)
    assert chain.expected_depth([4, 2, 1, 1]) == 1.75
    assert TREE.expected_depth(Counter(["fish", "fish"])) == 1
    assert LabelTree([-1], []).statistics().mean_depth == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({"fish": 1, "bird": 2},), "label 'bird' is not in the tree"),
        (([1, 2, 3],), "label 0 is not in the tree"),
        (({"fish": 0},), "all are 0; expected one above 0"),
        (([],), "all are 0"),
        (([1, 2], ["cat", "cat"]), "labels: one label occurs twice"),
        (([1, -2], ["cat", "dog"]), "the frequency of label 'dog' is -2.0"),
    ],
)
def test_wrong_frequencies_are_named(arguments: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        TREE.expected_depth(*arguments)
    with pytest.raises(ParameterError, match=message):
        TREE.statistics(*arguments)


def test_labels_need_frequencies() -> None:
    with pytest.raises(ParameterError, match="labels: given without frequencies"):
        TREE.statistics(labels=["fish"])


@pytest.fixture
def ax() -> Any:
    figure = pytest.importorskip("matplotlib.figure")
    return figure.Figure(figsize=(6, 4)).subplots()


def test_a_small_tree_is_drawn_node_by_node(ax: Any) -> None:
    names = ["two\nlines", "$x_$ costs", "l" * 100]
    tree = LabelTree([-1, 0, 0, 1, 1], names)
    assert tree.plot(ax) is ax
    shown = [text.get_text() for text in ax.texts]
    assert shown == ["two lines", "$x_$ costs", "l" * 39 + "…"]
    ax.figure.savefig(io.BytesIO())  # no label is taken for a formula
    assert len(ax.collections[-1].get_offsets()) == 3


def test_a_large_tree_is_summarised(ax: Any) -> None:
    tree = complete_tree(range(200))
    tree.plot(ax)
    inner, labels = ([int(bar.get_height()) for bar in bars] for bars in ax.containers)
    assert (sum(inner), sum(labels), len(labels)) == (199, 200, 9)
    assert "399 nodes, 200 labels, mean depth 7.7" in ax.get_title() and not ax.texts
    ax.clear()
    tree.plot(ax, max_nodes=399)
    assert len(ax.texts) == 200


@given(trees())
def test_lines_of_a_drawing_do_not_cross(tree: LabelTree) -> None:
    heights, leaves = heights_of(tree.parents)
    assert sorted(heights[leaves]) == list(range(len(leaves)))

    def span(node: int) -> tuple[float, float]:
        below = [span(child) for child in tree.children(node)]
        for (_, end), (start, _) in pairwise(below):
            assert end < start
        if below:
            assert below[0][0] <= heights[node] <= below[-1][1]
        return (below[0][0], below[-1][1]) if below else (heights[node], heights[node])

    span(0)


def test_a_figure_is_made_where_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    for tree in (TREE, LabelTree([-1], []), LabelTree([-1], ["a"]), complete_tree(range(900))):
        figure = tree.plot().figure
        figure.canvas.draw()
        pyplot.close(figure)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingDependencyError, match="LabelTree.plot needs the package matplotlib"):
        TREE.plot()
    with pytest.raises(ParameterError, match="max_nodes=0: expected an integer from 1"):
        TREE.plot(max_nodes=0)
