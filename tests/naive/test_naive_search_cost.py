"""The cost of searches, by hand."""

from __future__ import annotations

import pytest

from naive.search_cost import cost, least_cost, reductions


def test_cost_by_hand() -> None:
    tree = ((0, 1), (2, 3, 4))
    searches = [({0, 1}, 1.0), ({1, 4}, 2.0)]
    # The root three times, the left node three times, the right one twice.
    assert cost(tree, searches, 10) == 3 * 12 + 3 * 12 + 2 * 13
    assert cost((0, 1), [({0}, 0.5)], 0) == 1


def test_reductions_are_all_subsets_of_inner_nodes() -> None:
    assert set(reductions(((0, 1), 2))) == {((0, 1), 2), (0, 1, 2)}
    assert len(set(reductions((((0, 1), 2), (3, 4))))) == 8


@pytest.mark.parametrize(("block_cost", "expected"), [(0, 4.0), (100, 104.0)])
def test_wide_blocks_pay_where_opening_costs(block_cost: float, expected: float) -> None:
    searches = [({label}, 0.25) for label in range(4)]
    assert least_cost(((0, 1), (2, 3)), searches, block_cost) == expected
