"""The twin of the batch tree: its node problems against LIBLINEAR, its tree by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from naive.batch_plt import BatchPLT, constant_margin, link, objective, row_scale, solve


@pytest.mark.parametrize("name", ["squared_hinge", "log"])
@pytest.mark.parametrize("cost", [0.3, 2.0])
def test_a_node_is_what_liblinear_finds(name: str, cost: float) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(20, 4))
    y = np.where(X[:, 0] + rng.normal(size=20) > 0, 1.0, -1.0)
    costs = cost * rng.uniform(0.5, 2.0, 20)
    if name == "log":
        peer = LogisticRegression(C=1.0, solver="liblinear", tol=1e-10, fit_intercept=False)
    else:
        peer = LinearSVC(C=1.0, tol=1e-10, max_iter=10**6, fit_intercept=False)
    w = peer.fit(X, y, sample_weight=costs).coef_[0]
    found = solve(name, X, y, costs)
    assert found == pytest.approx(w, abs=1e-4)
    assert objective(name, found, X, y, costs) <= objective(name, w, X, y, costs) + 1e-9


def test_a_tree_by_hand() -> None:
    # The root has the leaf of label 5 and a node with those of 6 and 7; everybody has 6.
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    twin = BatchPLT([-1, 0, 0, 2, 2], {1: 5, 3: 6, 4: 7}, X, [[5, 6], [6], [6, 7]])
    assert twin.weights[2][:2].tolist() == [0.0, 0.0]  # who has a label has one below node 2
    assert twin.weights[2][2] == pytest.approx(6 / 7)
    assert twin.weights[3][2] == pytest.approx(6 / 7)
    y = np.array([1.0, -1.0, -1.0])
    rows = np.hstack([X, np.ones((3, 1))])
    assert twin.weights[1] == pytest.approx(solve("squared_hinge", rows, y, np.ones(3)))
    p = twin.probabilities(X[0])
    root = float(link("squared_hinge", np.array(6 / 7)))
    assert p[6] == pytest.approx(root**3)


def test_longer_rows_have_smaller_weights() -> None:
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.9], [0.0, 0.0]])
    assert row_scale(8 * X, np.ones(4)) == 0.125
    assert row_scale(8 * X, np.array([0.0, 0.0, 0.0, 1.0])) == 1.0
    assert row_scale(np.diag([1.0, 4.0, 1.0]), np.array([1.0, 3.0, 1.0])) == 0.25
    plain, long = (BatchPLT([-1, 0], {1: 5}, unit * X, [[5], [], [5], []]) for unit in (1, 8))
    assert 8 * long.weights[0][:2] == pytest.approx(plain.weights[0][:2])
    assert long.probabilities(8 * X[0]) == pytest.approx(plain.probabilities(X[0]))


def test_what_the_bias_alone_reaches() -> None:
    assert constant_margin("squared_hinge", 3.0, 1.0) == pytest.approx(6 / 7)
    m = constant_margin("log", 3.0, 1.0)
    assert m == pytest.approx(3 / (1 + np.exp(m)))
