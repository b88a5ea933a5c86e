"""The form of predictions, and agreement between all prediction methods."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from contract.kit import Make, checkerboard, label_sets, needs, noise, same_answers, state
from labelgrove import DataError, SearchStats


def check_the_best_k(make: Make) -> None:
    clf, X, _ = make.fitted()
    n_classes = clf.n_classes_
    every, scores = clf.predict_topk(X, n_classes)
    assert every.shape == scores.shape == (X.shape[0], n_classes)
    assert every.dtype == object and scores.dtype == np.float32
    assert ((scores >= 0) & (scores <= 1)).all() and (np.diff(scores, axis=1) <= 0).all()
    assert all(set(row) == set(clf.classes_) for row in every.tolist())
    for k in (1, 3, np.int64(5)):
        some = clf.predict_topk(X, k)
        assert np.array_equal(some[0], every[:, :k]) and np.array_equal(some[1], scores[:, :k])
    assert np.array_equal(clf.predict_topk(X)[0], every[:, :5])
    assert same_answers(clf, clf, X)


def check_equal_scores_go_to_the_label_that_came_first(make: Make) -> None:
    X, y = checkerboard(1)
    clf = make().fit(sp.csr_array(X), y)
    labels, scores = clf.predict_topk(sp.csr_array((4, 3), dtype=np.float32), 12)
    for row, of in zip(labels.tolist(), scores.tolist(), strict=True):
        assert row == sorted(row, key=lambda label: (-of[row.index(label)], label))


@needs("sets")
def check_more_than_there_are(make: Make) -> None:
    """Places that no label can take hold None or -1, and NaN."""
    X, y = checkerboard(1)
    for names, missing in ((y, -1), (y.astype(str), None), (label_sets(y), None)):
        clf = make().fit(X, names)
        there = clf.n_classes_
        labels, scores = clf.predict_topk(X, there + 4)
        assert labels.shape == scores.shape == (len(X), there + 4)
        assert (labels[:, there:] == missing).all() and np.isnan(scores[:, there:]).all()
        assert not np.isnan(scores[:, :there]).any() and not (labels[:, :there] == missing).any()
        assert clf.predict_proba(X, top_k=there + 4).nnz == len(X) * there


@needs("sets")
def check_probabilities_agree_with_the_best_k(make: Make) -> None:
    clf, X, _ = make.fitted()
    labels, scores = clf.predict_topk(X, 4)
    column = {name: j for j, name in enumerate(clf.classes_)}
    sparse = clf.predict_proba(X, top_k=4)
    assert isinstance(sparse, sp.csr_array) and sparse.dtype == np.float32
    for found in (sparse, clf.predict(X)):  # some of scikit-learn's solvers refuse 64 bits
        assert found.indices.dtype == found.indptr.dtype == np.int32
    assert sparse.shape == (X.shape[0], clf.n_classes_) and sparse.has_sorted_indices
    everything = clf.predict_proba(X).toarray()
    for i, row in enumerate(labels):
        columns = [column[name] for name in row]
        assert np.array_equal(sparse[[i]].toarray()[0, columns], scores[i])
        assert np.array_equal(everything[i, columns], scores[i])
        assert sparse.indptr[i + 1] - sparse.indptr[i] == 4


def check_thresholds(make: Make) -> None:
    clf, X, _ = make.fitted()
    everything = clf.predict_proba(X, threshold=0.0).toarray().astype(np.float64)
    for threshold in (0.01, 0.3, 1.5):
        found = clf.predict_proba(X, threshold=threshold)
        reached = everything >= threshold
        assert np.array_equal(found.toarray(), np.where(reached, everything, 0))
        assert found.nnz == reached.sum()
    each = np.random.default_rng(0).random(clf.n_classes_) ** 3
    each[0], each[1] = 0.0, np.inf
    found = clf.predict_proba(X, threshold=each)
    reached = everything >= each
    assert np.array_equal(found.toarray(), np.where(reached, everything, 0))
    assert np.array_equal(clf.predict_proba(X, threshold=each.tolist()).toarray(), found.toarray())


@needs("sets")
def check_a_probability_of_zero_reaches_no_threshold(make: Make) -> None:
    """Not even where a row has fewer probable labels than a second stage looks at."""
    X, Y = noise(n=200, d=150)
    untuned = {"thresholds": None} if hasattr(make(), "thresholds") else {}
    for stage in (None, "calibrate"):
        clf = make(second_stage=stage, **untuned).fit(X, Y)
        labels, scores = clf.predict_topk(X, clf.n_classes_)
        rows, _ = np.nonzero(scores > 0)
        positive = np.zeros(scores.shape, np.bool_)
        positive[rows, np.searchsorted(clf.classes_, labels[scores > 0])] = True
        lowest = np.resize([0.0, -1.0, -np.inf], clf.n_classes_)
        for threshold in (0.0, lowest):
            found = clf.predict_proba(X, threshold=threshold)
            assert (found.data > 0).all()
            assert np.array_equal(found.toarray() > 0, positive)
        assert np.array_equal(clf.set_thresholds(lowest).predict(X).toarray() == 1, positive)


@needs("sets")
def check_one_class_and_thresholds(make: Make) -> None:
    """An array with one threshold is for one class, not for all."""
    X, _ = noise(n=4)
    clf = make().fit(X, [["only"]] * 4)
    assert clf.predict_proba(X, threshold=[0.0]).nnz == 4
    assert clf.predict_proba(X, threshold=np.array([2.0])).nnz == 0
    assert clf.predict_topk(X, 3)[0].tolist() == [["only", None, None]] * 4


def check_classes_one_of_which_is_right(make: Make) -> None:
    """With one label a row, all probabilities of a row sum to one."""
    X, y = checkerboard()
    clf = make(passes=3).fit(X, y)
    dense = clf.predict_proba(X)
    assert isinstance(dense, np.ndarray) and dense.shape == (len(X), 12)
    np.testing.assert_allclose(dense.sum(axis=1), 1.0, rtol=1e-6)
    some = clf.predict_proba(X, labels=[3, 999])
    assert np.array_equal(some[:, 3:4], clf.predict_topk(X, 1, labels=[3])[1])
    assert not np.delete(some, 3, axis=1).any()
    assert np.array_equal(clf.classes_[dense.argmax(axis=1)], clf.predict(X))
    assert np.array_equal(clf.predict(X), clf.predict_topk(X, 1)[0][:, 0])
    assert clf.score(X, y) == np.mean(clf.predict(X) == y)
    names = np.array([f"class {c}" for c in y])
    named = make(passes=3).fit(X, names)
    assert named.predict(X).tolist() == [f"class {c}" for c in clf.predict(X)]
    assert clf.score(X, y, sample_weight=np.arange(len(y))) <= 1.0
    for wrong in ([1.0], ["x"] * len(y), np.full(len(y), np.nan), np.zeros(len(y))):
        with pytest.raises(DataError, match="sample_weight"):
            clf.score(X, y, sample_weight=wrong)


@needs("sets")
def check_the_score_of_label_sets_is_precision_at_one(make: Make) -> None:
    clf, X, Y = make.fitted()
    best = clf.predict_topk(X, 1)[0][:, 0]
    hits = [name in row for name, row in zip(best, Y, strict=True)]
    assert clf.score(X, Y) == np.mean(hits)
    weights = np.arange(1, len(Y) + 1)
    np.testing.assert_allclose(clf.score(X, Y, weights), np.average(hits, weights=weights))
    assert clf.score(X, [["unknown"]] * len(Y)) == 0.0


def check_an_allow_list(make: Make) -> None:
    clf, X, _ = make.fitted()
    wanted = set(clf.classes_[::3].tolist())
    every, scores = clf.predict_topk(X, clf.n_classes_)
    kinds: list[Any] = [list, tuple, set, frozenset, sorted, np.array, iter]
    for kind in kinds:
        labels, found = clf.predict_topk(X, 4, labels=kind([*wanted, "unknown"]))
        for i in range(len(every)):
            keep = [name in wanted for name in every[i]]
            assert labels[i].tolist() == every[i][keep][:4].tolist()
            assert found[i].tolist() == scores[i][keep][:4].tolist()
    sparse = clf.predict_proba(X, threshold=0.0, labels=wanted)
    assert set(clf.classes_[np.unique(sparse.indices)]) == wanted
    nothing = clf.predict_topk(X, 2, labels=[])
    assert (nothing[0] == None).all() and np.isnan(nothing[1]).all()  # noqa: E711 - of an array
    assert clf.predict_proba(X, top_k=3, labels=["unknown"]).nnz == 0


@needs("sets")
def check_a_search_in_parts_finds_the_same(make: Make) -> None:
    """Predictions are made for some rows at a time, for Ctrl-C, which changes nothing."""
    clf, X, _ = make.fitted()
    many = sp.vstack([X] * (1 + 600 // X.shape[0]), format="csr")
    rows = many.shape[0]
    assert rows > 600
    labels, scores = clf.predict_topk(many, 3)
    found, stats = clf.predict_proba(many, threshold=0.1, return_stats=True)
    predicted = clf.predict(many)
    assert stats.classifiers.shape == (rows,) and found.shape[0] == predicted.shape[0] == rows
    for i in (0, 255, 256, 599, rows - 1):
        one = many[[i]]
        assert labels[i].tolist() == clf.predict_topk(one, 3)[0][0].tolist()
        assert scores[i].tolist() == clf.predict_topk(one, 3)[1][0].tolist()
        assert (found[[i]] != clf.predict_proba(one, threshold=0.1)).nnz == 0
        assert (predicted[[i]] != clf.predict(one)).nnz == 0


def check_dense_probabilities_in_parts_are_the_same(make: Make) -> None:
    X, y = checkerboard()
    clf = make().fit(X, y)
    many = np.tile(X, (1 + 600 // len(X), 1))
    only = clf.classes_[1:3]
    found, stats = clf.predict_proba(many, return_stats=True)
    some = clf.predict_proba(many, labels=only)
    assert stats.classifiers.shape == (len(many),) and found.shape == (len(many), clf.n_classes_)
    for i in (0, 255, 256, 599, len(many) - 1):
        one = many[[i]]
        assert found[[i]].tolist() == clf.predict_proba(one).tolist()
        assert some[[i]].tolist() == clf.predict_proba(one, labels=only).tolist()


@needs("sets", "tree")
def check_a_beam(make: Make) -> None:
    clf, X, _ = make.fitted()
    exact = clf.predict_topk(X, 4)
    wide = clf.predict_topk(X, 4, beam_width=10_000)
    assert np.array_equal(exact[0], wide[0]) and np.array_equal(exact[1], wide[1])
    narrow = clf.predict_topk(X, 4, beam_width=1)[1]
    assert (np.nan_to_num(narrow) <= exact[1]).all()
    assert clf.predict_proba(X, top_k=2, beam_width=1).shape == (X.shape[0], clf.n_classes_)


@needs("sets", "tree")
def check_costs(make: Make) -> None:
    clf, X, _ = make.fitted()
    *_, stats = clf.predict_topk(X, 1, return_stats=True)
    assert isinstance(stats, SearchStats)
    assert stats.classifiers.shape == stats.depth.shape == (X.shape[0],)
    *_, all_of_it = clf.predict_topk(X, clf.n_classes_, return_stats=True)
    nodes, depth, inner = (
        int(of_rows[0]) for of_rows in (all_of_it.classifiers, all_of_it.depth, all_of_it.blocks)
    )
    trees = clf.get_params().get("n_trees", 1)
    if trees == 1 or not hasattr(clf, "partial_fit"):  # growing trees have various shapes
        assert (nodes, depth) == (trees * clf.tree_.n_nodes, clf.tree_.depth)
        # Each root's own classifier is a block too.
        assert inner == nodes - trees * (clf.tree_.n_labels - 1)
    assert ((stats.classifiers >= 1) & (stats.classifiers <= nodes)).all()
    assert ((stats.blocks >= 1) & (stats.blocks <= inner)).all() and (stats.bytes > 0).all()
    assert (stats.depth <= depth).all()
    assert (all_of_it.classifiers == nodes).all() and (all_of_it.depth == depth).all()
    assert (all_of_it.blocks == inner).all() and (all_of_it.bytes >= stats.bytes).all()


def check_one_row_at_a_time_gives_the_same(make: Make) -> None:
    clf, X, _ = make.fitted()
    labels, scores = clf.predict_topk(X, 3)
    for given in (X, X.toarray()):
        for i in range(X.shape[0]):
            one = clf.predict_topk(given[[i]], 3)
            assert one[0].tolist() == labels[[i]].tolist()
            np.testing.assert_allclose(one[1], scores[[i]], rtol=1e-5)


@needs("sets", "tree")
def check_predicting_changes_nothing(make: Make) -> None:
    clf, X, _ = make.fitted()
    before = state(clf)
    clf.predict(X)
    clf.predict_topk(X, 3, labels=["l1"], beam_width=2, return_stats=True)
    clf.predict_proba(X, threshold=0.2)
    clf.score(X, [["never seen"]] * X.shape[0])
    assert clf.tree_.n_labels == clf.n_classes_ and state(clf) == before
