"""Labels that come, are announced, removed and renamed."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from contract.kit import (
    N_CLASSES,
    Make,
    checkerboard,
    indicator,
    label_sets,
    needs,
    state,
)
from labelgrove import DataError, NotLearnedError


@needs("sets", "tree")
def check_removed_labels_are_never_predicted_again(make: Make) -> None:
    clf, X, Y = make.fitted()
    every, scores = clf.predict_topk(X, clf.n_classes_)
    gone = clf.classes_[[0, 3, 4, -1]].tolist()
    left = [name for name in clf.classes_ if name not in gone]
    assert clf.remove_labels(gone) is clf
    assert clf.classes_.tolist() == left and clf.n_classes_ == len(left)
    labels, found = clf.predict_topk(X, len(every[0]))
    for i in range(len(every)):
        keep = ~np.isin(every[i].astype(str), gone)
        assert labels[i, : len(left)].tolist() == every[i][keep].tolist()
        if clf.second_stage is None:  # which depends on a label's place among the remaining ones
            assert found[i, : len(left)].tolist() == scores[i][keep].tolist()
    sparse = clf.predict_proba(X, threshold=0.0)
    assert sparse.shape == (X.shape[0], len(left)) and sparse.nnz == X.shape[0] * len(left)
    assert clf.predict(X).shape == sparse.shape
    assert clf.label_counts_.tolist() == [sum(name in row for row in Y) for name in left]
    assert sorted(clf.tree_.labels.values()) == sorted(left)
    each = clf.predict_proba(X, threshold=np.linspace(0, 1, len(left)))
    assert each.shape == sparse.shape


@needs("online", "sets")
def check_a_removed_label_that_comes_again_is_new(make: Make) -> None:
    clf, X, Y = make.fitted()
    first = clf.classes_[0]
    clf.remove_labels([first])
    assert first not in clf.classes_
    assert clf.score(X, [[first]] * len(Y)) == 0.0
    clf.partial_fit(X[[0]], [[first]])
    assert first in clf.classes_ and clf.label_counts_[clf.classes_ == first] == 1
    for _ in range(20):
        clf.partial_fit(X[[0]], [[first]])
    assert clf.predict_topk(X[[0]], 1)[0].tolist() == [[first]]


@needs("online", "sets")
def check_rows_learnt_again_may_hold_new_labels(make: Make) -> None:
    clf, X, Y = make.fitted()
    clf.remove_labels(clf.classes_.tolist())
    clf.partial_fit(X, Y, again=True)
    assert clf.classes_.tolist() == sorted({name for row in Y for name in row})
    assert not clf.label_counts_.any()
    assert pickle.loads(pickle.dumps(clf)).classes_.tolist() == clf.classes_.tolist()


@needs("online", "sets")
def check_places_are_used_again(make: Make) -> None:
    clf, X, Y = make.fitted()
    if getattr(clf, "policy", None) == "cpet":
        return  # whose documentation says that it does not
    for turn in range(30):
        clf.remove_labels(clf.classes_[:5].tolist())
        clf.partial_fit(X[:5], [[f"new {turn} {i}"] for i in range(5)])
    assert clf.n_classes_ == len({name for row in Y for name in row})
    *_, stats = clf.predict_topk(X, clf.n_classes_, return_stats=True)
    trees = clf.get_params().get("n_trees", 1)
    assert stats.classifiers.max() < 6 * trees * clf.n_classes_


def check_removal_is_all_or_nothing(make: Make) -> None:
    clf, *_ = make.fitted()
    before = state(clf)
    known = clf.classes_[0]
    for bad in ([known, "unknown"], [known, 3], known, b"l", 3, np.array(3), [known, None]):
        with pytest.raises(DataError):
            clf.remove_labels(bad)
        assert state(clf) == before
    clf.remove_labels([])
    assert state(clf) == before
    clf.remove_labels([known, known])
    with pytest.raises(DataError, match="not known"):
        clf.remove_labels([known])


@needs("online", "sets", "tree")
def check_all_labels_may_go(make: Make) -> None:
    X, y = checkerboard(2)
    for targets in (y, y.astype(str), label_sets(y)):
        clf = make().fit(X, targets)
        clf.remove_labels(clf.classes_.tolist())
        assert clf.n_classes_ == 0 and len(clf.classes_) == 0
        labels, scores = clf.predict_topk(X, 2)
        assert np.isnan(scores).all() and set(labels.ravel().tolist()) <= {None, -1}
        assert clf.predict_proba(X).shape == (len(X), 0)
        assert clf.predict_proba(X, threshold=np.array([])).shape == (len(X), 0)
        assert clf.predict_proba(X, top_k=3).nnz == 0
        assert clf.score(X, targets) == 0.0
        assert clf.tree_.n_labels == 0
        if clf.target_type_ == "multiclass":
            with pytest.raises(NotLearnedError, match="removed"):
                clf.predict(X)
        else:
            assert clf.predict(X).shape == (len(X), 0)
        for _ in range(30):
            clf.partial_fit(X, targets)
        assert clf.predict_topk(X, 1)[0].shape == (len(X), 1)
        assert clf.score(X, targets) > 0.9


@needs("tree")
def check_the_only_label_may_go(make: Make) -> None:
    clf = make().fit([[1.0, 0.0], [0.0, 1.0]], ["only", "only"])  # the root is a leaf
    assert clf.tree_.labels == {0: "only"}
    assert clf.remove_labels(["only"]).tree_.labels == {}


@needs("online", "sets")
def check_names_can_be_changed(make: Make) -> None:
    clf, X, Y = make.fitted()
    labels, scores = clf.predict_topk(X)
    one, two, three = clf.classes_[:3].tolist()
    assert clf.rename_labels({one: two, two: one, three: "third"}) is clf
    new = {one: two, two: one, three: "third"}
    assert clf.predict_topk(X)[0].tolist() == [[new.get(n, n) for n in row] for row in labels]
    assert np.array_equal(clf.predict_topk(X)[1], scores)
    assert set(clf.classes_) == {new.get(n, n) for row in Y for n in row}
    renamed = [[new.get(name, name) for name in row] for row in Y]
    clf.partial_fit(X, renamed)
    assert "third" in clf.classes_ and three not in clf.classes_
    clf.partial_fit(X[[0]], [[three]])
    assert clf.label_counts_[clf.classes_ == three] == 1


def check_renaming_is_all_or_nothing(make: Make) -> None:
    clf, *_ = make.fitted()
    before = state(clf)
    one, two, three = clf.classes_[:3].tolist()
    for bad in (
        {one: "x", "unknown": "y"},
        {one: two},
        {one: "same", two: "same"},
        {one: 3},
        {one: None},
        {one: "\ud800"},
        {one: [three]},
        {3: "x"},
    ):
        with pytest.raises(DataError):
            clf.rename_labels(bad)
        assert state(clf) == before
    for bad in ([one, two], one, None, 3):
        with pytest.raises((DataError, TypeError)):
            clf.rename_labels(bad)
        assert state(clf) == before
    clf.rename_labels({})
    assert state(clf) == before


@needs("online", "sets")
def check_columns_of_an_indicator(make: Make) -> None:
    X, y = checkerboard(2)
    Y = sp.csr_array(np.eye(12, dtype=int)[y])
    clf = make().fit(X, Y)
    scores = clf.predict_proba(X, threshold=0.0).toarray()
    clf.remove_labels([2, 5])
    left = clf.predict_proba(X, threshold=0.0).toarray()
    assert left.shape == scores.shape and (left[:, [2, 5]] == 0).all()
    assert np.array_equal(np.delete(left, [2, 5], axis=1), np.delete(scores, [2, 5], axis=1))
    assert clf.label_counts_[[2, 5]].tolist() == [0, 0]
    clf.partial_fit(X, Y)
    assert clf.label_counts_.tolist() == [4, 4, 2, 4, 4, 2, *[4] * 6]
    clf.rename_labels({0: 1, 1: 0})
    before = state(clf)
    for bad in ({0: -1}, {0: 2**40}, {0: "name"}, {0: 12}, {0: 3}, {0: 1.5}):
        with pytest.raises(DataError):
            clf.rename_labels(bad)
        assert state(clf) == before
    assert clf.predict(X).shape == (len(X), 12)


@needs("online", "sets")
def check_upkeep_survives_saving(make: Make) -> None:
    clf, X, Y = make.fitted()
    clf.remove_labels(clf.classes_[1:4].tolist())
    clf.rename_labels({clf.classes_[0]: "renamed"})
    twin = copy.deepcopy(clf)
    assert state(twin) == state(clf) and twin.classes_.tolist() == clf.classes_.tolist()
    assert state(twin.partial_fit(X, Y)) == state(clf.partial_fit(X, Y))


@needs("online", "sets")
def check_indicators_may_grow_wider(make: Make) -> None:
    X, Y = indicator()
    clf = make().partial_fit(X, Y)
    wide = sp.hstack([Y, Y[:, :3]]).tocsr()
    clf.partial_fit(X, wide)
    assert clf.classes_.tolist() == list(range(12))
    clf.partial_fit(X, Y[:, :4])
    assert clf.predict(X).shape == (X.shape[0], 12)
    assert 0 <= clf.score(X, wide) <= 1


@needs("sets")
def check_a_column_of_zeros_is_a_class_that_nothing_has(make: Make) -> None:
    X, Y = indicator()
    Y = sp.csr_array(Y.toarray() * (np.arange(9) != 4))
    clf = make().fit(X, Y)
    assert clf.n_classes_ == 9 and clf.label_counts_[4] == 0
    assert clf.predict_proba(X)[:, [4]].nnz == 0
    assert 4 not in clf.predict_topk(X, 9)[0]


@needs("online")
def check_classes_may_be_announced(make: Make) -> None:
    """As scikit-learn has it: by the first call, and again by those that come after."""
    X, y = checkerboard(2)
    announced = np.arange(20)[::-1]
    clf = make().partial_fit(X, y, classes=announced)
    plain = make().partial_fit(X, y)
    assert np.array_equal(clf.predict_topk(X, 1)[0], clf.predict(X)[:, None])
    assert clf.classes_.tolist() == list(range(20)) and plain.n_classes_ == 12
    assert clf.label_counts_.tolist() == [2] * 12 + [0] * 8
    P = clf.predict_proba(X)
    assert P.shape == (len(X), 20) and not P[:, 12:].any()
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    each = clf.predict_proba(X, threshold=np.linspace(0, 1, 20))
    assert each.shape == P.shape
    before = state(clf)
    for bad in ([0, 1], np.arange(12), np.arange(21), ["a"], 3, [None], announced.astype(str)):
        with pytest.raises(DataError, match=r"classes|label"):
            clf.partial_fit(X, y, classes=bad)
        assert state(clf) == before
    with pytest.raises(DataError, match="among the classes"):
        make().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(DataError, match="one type|among the classes"):
        make().partial_fit(X, y, classes=["a", "b"])
    again = copy.deepcopy(clf)
    assert state(again) == before
    for model in (clf, again):
        model.partial_fit(X[:1], [15], classes=np.arange(20)).partial_fit(X[:1], [99])
        assert model.classes_.tolist() == [*range(20), 99] and model.label_counts_[15] == 1
    assert state(clf) == state(again)
    clf.remove_labels([19, 3])
    assert clf.n_classes_ == 19 and clf.predict_proba(X).shape == (len(X), 19)


@needs("online", "sets")
def check_label_sets_may_be_announced(make: Make) -> None:
    X, y = checkerboard(2)
    sets = label_sets(y)
    names = sorted({name for row in sets for name in row})
    clf = make().partial_fit(X, sets, classes=["never", *names])
    assert clf.classes_.tolist() == sorted(["never", *names])
    assert clf.predict_proba(X).shape == (len(X), len(names) + 1)
    columns = np.eye(N_CLASSES, dtype=int)[y]
    clf = make().partial_fit(X, columns, classes=np.arange(N_CLASSES))
    assert state(clf) == state(make().partial_fit(X, columns))
    with pytest.raises(DataError, match="columns of y"):
        make().partial_fit(X, columns, classes=np.arange(N_CLASSES + 1))
