"""Learning in order of arrival, with labels and features that come and go."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from contract.kit import (
    N_CLASSES,
    N_FEATURES,
    Make,
    checkerboard,
    label_sets,
    needs,
    noise,
    same_answers,
    state,
)
from labelgrove import DataError


def check_learns_classes_that_can_be_told_apart(make: Make) -> None:
    X, y = checkerboard()
    for given in (X, sp.csr_array(X)):
        clf = make(passes=5).fit(given, y)
        assert clf.score(given, y) == 1.0
        assert np.array_equal(clf.predict(given), y)


@needs("sets")
def check_learns_labels_that_can_be_told_apart(make: Make) -> None:
    X, y = checkerboard()
    clf = make(passes=10).fit(X, label_sets(y))
    found = clf.predict_topk(X[:N_CLASSES], 2)[0]
    assert [set(row) for row in found.tolist()] == [set(row) for row in label_sets(y[:N_CLASSES])]


@needs("online", "sets")
def check_one_by_one_is_the_same_as_all_at_once(make: Make) -> None:
    for X, Y in (noise(), (checkerboard(3)[0], label_sets(checkerboard(3)[1]))):
        at_once = make().partial_fit(X, Y)
        one_by_one, in_parts = make(), make()
        for i in range(X.shape[0]):
            one_by_one.partial_fit(X[[i]], [Y[i]])
        for i in range(0, X.shape[0], 7):
            in_parts.partial_fit(X[i : i + 7], Y[i : i + 7])
        assert state(one_by_one) == state(at_once) == state(in_parts)
        if "passes" in make.kind.traits:
            assert state(make().fit(X, Y)) == state(at_once)


@needs("passes")
def check_epochs_are_passes_over_the_same_data(make: Make) -> None:
    X, Y = make.noise()
    again = make().partial_fit(X, Y).partial_fit(X, Y).partial_fit(X, Y)
    at_once = make(passes=3).fit(X, Y)
    assert at_once.examples_seen_ == again.examples_seen_ == 3 * X.shape[0]
    if at_once.second_stage is None:  # it learns from the first pass only, if it knows of passes
        assert same_answers(at_once, again, X)


def check_fit_forgets_everything(make: Make) -> None:
    X, Y = make.noise()
    expected = state(make().fit(X, Y))
    clf = make().fit(*checkerboard())  # wider rows, other labels, another type of targets
    assert state(clf.fit(X, Y)) == expected
    clf.remove_labels(clf.classes_[:5])
    assert state(clf.fit(X, Y)) == expected
    clf.fit([{"a": 1.0}, {"b": 1.0}], ["x", "y"])  # named features
    assert state(clf.fit(X, Y)) == expected


@needs("online")
def check_emerging_features(make: Make) -> None:
    """Columns that were never there before are learnt from as soon as they appear."""
    X, y = checkerboard()
    clf = make()
    for width, upto in ((N_CLASSES, 6), (N_FEATURES, 12), (N_FEATURES + 1, 12)):
        known = y < upto
        for _ in range(5):
            clf.partial_fit(sp.csr_array(X[known, :width]), y[known])
        assert clf.n_features_in_ == width
    assert clf.score(sp.csr_array(X), y) == 1.0
    far = sp.csr_array(([1.0], ([0], [10**9])), shape=(1, 2**31 - 1))
    for _ in range(20):
        clf.partial_fit(far, [99])
    assert clf.predict(far).tolist() == [99]


@needs("online")
def check_disappearing_features(make: Make) -> None:
    """Sparse rows may lack any column that was there before."""
    X, y = checkerboard()
    clf = make(passes=5).fit(sp.csr_array(X), y)
    narrow = sp.csr_array(X[:, :N_CLASSES])
    assert clf.score(narrow, y) == 1.0
    clf.partial_fit(narrow, y)
    assert clf.n_features_in_ == N_FEATURES + 1
    nothing = sp.csr_array((2, 3), dtype=np.float32)
    assert clf.predict(nothing).shape == (2,)
    seen = (make.counted(5) + 1) * len(y)
    assert clf.partial_fit(nothing, [3, 4]).examples_seen_ == seen + 2


def check_the_order_of_columns_has_no_meaning(make: Make) -> None:
    X, y = checkerboard()
    order = np.random.default_rng(0).permutation(X.shape[1])
    # Initial weights are drawn by the number of their column.
    parameters = make().get_params()
    changes: dict[str, Any] = {"initial_spread": 0.0} if "initial_spread" in parameters else {}
    moved = dict(changes)
    if "vectors" in parameters:
        vectors = np.random.default_rng(1).normal(size=(X.shape[1], parameters["dimension"]))
        changes["vectors"], moved["vectors"] = vectors, vectors[order]
    straight = make(passes=3, **changes).fit(X, y)
    shuffled = make(passes=3, **moved).fit(X[:, order], y)
    mine, theirs = straight.predict_topk(X, 3), shuffled.predict_topk(X[:, order], 3)
    assert np.array_equal(mine[0][:, 0], theirs[0][:, 0])
    # AROW rounds to 16 bits with noise drawn by the number of the column.
    rounds = "preset" in parameters and parameters["preset"] != "paper"
    rounds = rounds and parameters["learner"] != "sgd"
    np.testing.assert_allclose(mine[1], theirs[1], rtol=0.03 if rounds else 1e-3, atol=1e-5)


@needs("online", "sets")
def check_labels_may_arrive_at_any_time(make: Make) -> None:
    X, Y = noise()
    clf = make().partial_fit(X, Y)
    arrived = list(dict.fromkeys(name for row in Y for name in row))
    assert clf.classes_.tolist() == sorted(arrived) and clf.n_classes_ == len(arrived)
    clf.partial_fit(X[[0, 1]], [["zz", arrived[0], "aa"], ["zz", "mm"]])
    assert clf.classes_.tolist() == sorted([*arrived, "zz", "aa", "mm"])
    assert set(clf.predict_topk(X[[0]], 1000)[0][0].tolist()) == {*clf.classes_, None}


@needs("online")
def check_a_call_may_hold_a_single_class(make: Make) -> None:
    X, y = checkerboard()
    clf = make()
    for c in range(N_CLASSES):
        clf.partial_fit(X[y == c], y[y == c])
    assert clf.classes_.tolist() == list(range(N_CLASSES))
    if "remembers" in make.kind.traits:
        assert clf.score(X, y) > 1 / N_CLASSES


@needs("online", "sets")
def check_rows_without_labels_are_learnt_from(make: Make) -> None:
    """Rows without labels teach that nothing is relevant there."""
    X, y = checkerboard()
    Y = label_sets(y)
    clf = make(passes=3).fit(X, Y)
    strange = np.zeros((1, X.shape[1]), np.float32)
    strange[0, [0, 5]] = 1.0
    before = clf.predict_topk(strange, 1)[1][0, 0]
    for _ in range(10):
        clf.partial_fit(strange, [[]])
    assert clf.predict_topk(strange, 1)[1][0, 0] < before
    only_empty = make().partial_fit(X[:3], [[], [], []])
    assert only_empty.classes_.tolist() == [] and only_empty.examples_seen_ == 3
    assert only_empty.predict(X).shape == (len(X), 0)
    assert only_empty.partial_fit(X, Y).n_classes_ == N_CLASSES + 3


@needs("online", "sets")
def check_counts(make: Make) -> None:
    X, Y = noise()
    clf = make(passes=2).fit(X, Y)
    clf.partial_fit(X[:10], Y[:10])
    times = make.counted(2)
    assert clf.examples_seen_ == times * X.shape[0] + 10
    for name, count in zip(clf.classes_, clf.label_counts_, strict=True):
        assert count == sum(name in row for row in [*Y, *Y[:10]])  # once, however many passes


def check_the_seed_decides(make: Make) -> None:
    X, Y = make.noise()
    assert state(make(random_state=1).fit(X, Y)) == state(make(random_state=1).fit(X, Y))
    seeds = [np.random.RandomState(3), np.random.RandomState(3)]
    drawn = [make(random_state=seed).fit(X, Y) for seed in seeds]
    assert state(drawn[0]) == state(drawn[1])
    make(random_state=None).fit(X, Y)
    make(random_state=np.int64(2**40)).fit(X, Y)


def check_any_number_of_threads_gives_the_same(make: Make) -> None:
    X, Y = make.noise(n=150)
    alone = make(n_jobs=1).fit(X, Y)
    expected = state(alone)
    for n_jobs in (None, 3, -1):
        clf = make(n_jobs=n_jobs).fit(X, Y)
        assert state(clf) == expected
        assert same_answers(clf, alone, X)


@needs("sets")
def check_what_is_given_stays_as_it_was(make: Make) -> None:
    X, Y = noise()
    X.indices[X.indptr[3] : X.indptr[4]] = X.indices[X.indptr[3] : X.indptr[4]][::-1].copy()
    X.has_sorted_indices = False
    before = X.indices.copy(), X.data.copy(), X.indptr.copy()
    names = [list(row) for row in Y]
    for part in (X.data, X.indices, X.indptr):
        part.flags.writeable = False
    clf = make().fit(X, Y)
    clf.predict(X)
    clf.score(X, Y)
    after = X.indices, X.data, X.indptr
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    assert names == Y


def check_weights_of_one_change_nothing(make: Make) -> None:
    X, Y = make.noise()
    ones = np.ones(len(Y))
    assert state(make().fit(X, Y, sample_weight=ones)) == state(make().fit(X, Y))


@needs("online")
def check_rows_without_weight_teach_nothing(make: Make) -> None:
    """They are counted and their labels are known; otherwise they have no effect."""
    X, Y = make.noise()
    alone = make().fit(X, Y)
    extra = ["other"] if "sets" in make.kind.traits else "other"
    mixed_X = sp.csr_array(sp.vstack([X, X]))[np.arange(2 * len(Y)).reshape(2, -1).T.ravel()]
    mixed_Y = [row for pair in zip(Y, [extra] * len(Y), strict=True) for row in pair]
    weights = np.tile([1.0, 0.0], len(Y))
    clf = make().fit(mixed_X, mixed_Y, sample_weight=weights)
    assert "other" in clf.classes_ and clf.label_counts_[clf.classes_ == "other"] == 0
    ignored = 0 if hasattr(clf, "max_iter") else alone.examples_seen_  # by a fit in batch
    assert clf.examples_seen_ == alone.examples_seen_ + ignored
    in_two = (
        make().partial_fit(X, Y).partial_fit(X, [extra] * len(Y), sample_weight=np.zeros(len(Y)))
    )
    if "n_jobs" in make().get_params():
        threaded = make(n_jobs=2).fit(mixed_X, mixed_Y, sample_weight=weights)
        assert same_answers(threaded, clf, X)
    assert same_answers(in_two, make().partial_fit(X, Y), X)
    assert state(copy.deepcopy(in_two)) == state(in_two)
    assert same_answers(in_two.partial_fit(X, Y), copy.deepcopy(in_two), X)


@needs("online")
def check_features_of_rows_without_weight_do_not_matter(make: Make) -> None:
    X, Y = make.noise()
    weights = np.tile([1.0, 0.0, 1.0], len(Y) // 3)
    other = sp.csr_array(sp.diags_array(np.where(weights > 0, 1.0, 7.0)) @ X[:, ::-1])
    mixed = sp.csr_array(np.where((weights > 0)[:, None], X.toarray(), other.toarray()))
    models = [make().fit(rows, Y, sample_weight=weights) for rows in (X, mixed)]
    assert same_answers(*models, X)
    assert models[0].examples_seen_ in (len(Y), int(weights.sum()))


def check_a_weight_moves_the_answer(make: Make) -> None:
    """If rows contradict each other, those with more weight win."""
    X, y = checkerboard()
    other = (y + 1) % N_CLASSES
    twice, both = np.repeat(X, 2, axis=0), np.stack([y, other], axis=1).ravel()
    for right, wrong, weights in ((y, other, [50.0, 0.02]), (other, y, [0.02, 50.0])):
        clf = make(passes=3).fit(twice, both, sample_weight=np.tile(weights, len(X)))
        assert clf.score(X, right) > 2 * clf.score(X, wrong)


@needs("online")
def check_weights_and_calls(make: Make) -> None:
    """A call of n weighted rows equals n calls of one, also after saving and loading."""
    X, Y = make.noise()
    weights = np.random.default_rng(0).integers(0, 4, len(Y)) / 2
    at_once, one_by_one = make().partial_fit(X, Y, sample_weight=weights), make()
    for i in range(len(Y)):
        one_by_one.partial_fit(X[[i]], [Y[i]], sample_weight=weights[[i]])
    assert state(one_by_one) == state(at_once)
    loaded = copy.deepcopy(at_once)
    assert state(loaded.partial_fit(X, Y)) == state(at_once.partial_fit(X, Y))


def check_weights_are_checked(make: Make) -> None:
    X, Y = make.noise(n=6)
    clf = make()
    bad = [
        [1.0] * 5,
        [[1.0]] * 6,
        3.0,
        "heavy",
        [1, 2, -1, 1, 1, 1],
        [np.nan, 1, 1, 1, 1, 1],
        [np.inf, 1, 1, 1, 1, 1],
        [None, 1, 1, 1, 1, 1],
        ["a"] * 6,
        np.ones(6, complex),
        np.ones(6, "m8[D]"),
        np.ones(6, "M8[D]"),
        [0.0] * 6,
    ]
    for weights in bad:
        with pytest.raises(DataError, match="sample_weight"):
            clf.fit(X, Y, sample_weight=weights)
    if hasattr(clf, "partial_fit"):
        clf.fit(X, Y)
        before = state(clf)
        for weights in [*bad[:-1], [2e6, 1, 1, 1, 1, 1]]:
            with pytest.raises(DataError, match="sample_weight"):
                clf.partial_fit(X, Y, sample_weight=weights)
            assert state(clf) == before


def check_zeros_mean_the_same_stored_or_not(make: Make) -> None:
    """The same model is learnt, and predicts the same."""
    X, y = checkerboard()
    rows, columns = np.indices(X.shape)
    stored = sp.csr_array((X.ravel(), (rows.ravel(), columns.ravel())), shape=X.shape)
    assert stored.nnz == X.size
    sparse = make(passes=2).fit(sp.csr_array(X), y)
    for given in (X, stored):
        clf = make(passes=2).fit(given, y)
        assert state(clf) == state(sparse)
        one, other = clf.predict_topk(given, 3), clf.predict_topk(sp.csr_array(X), 3)
        assert np.array_equal(one[0], other[0]) and np.array_equal(one[1], other[1])


@needs("sets")
def check_values_without_zeros_are_the_same_dense_or_sparse(make: Make) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 12)).astype(np.float32)
    Y = label_sets(rng.integers(0, 9, 30))
    dense, sparse = make().fit(X, Y), make().fit(sp.csr_array(X), Y)
    assert state(dense) == state(sparse)
    assert same_answers(dense, sparse, X) and same_answers(dense, dense, sp.csr_array(X))


def check_values_of_any_magnitude(make: Make) -> None:
    """Rows are scaled to unit length, so tiny or huge values do not matter."""
    X, y = checkerboard(3)
    clf = make().fit(X, y)
    for factor in (1e-30, 1e-44, 1e30, 3e38):
        scaled = (X.astype(np.float64) * factor).astype(np.float32)
        assert make().fit(scaled, y).predict_topk(scaled)[1].min() >= 0
        if factor != 1e-44:  # which leaves two bits of a float
            np.testing.assert_allclose(
                clf.predict_topk(scaled, 2)[1], clf.predict_topk(X, 2)[1], rtol=1e-4
            )
