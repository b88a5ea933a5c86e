"""Thresholds, given or tuned: predict applies them and files keep them."""

from __future__ import annotations

import copy
import pickle
import tempfile
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array, vstack

import labelgrove
from contract.kit import Make, checkerboard, label_sets, needs, noise
from labelgrove import DataError, NotLearnedError, ParameterError
from labelgrove.evaluation._figures import Training
from labelgrove.metrics import f_measure
from labelgrove.tuning import Thresholds, lower_bounds


@needs("sets")
def check_each_class_has_its_own(make: Make) -> None:
    clf, X, _ = make.fitted()
    everything = clf.predict_proba(X, threshold=0.0).toarray()
    given = np.random.default_rng(1).choice(everything[everything > 0], clf.n_classes_)
    assert clf.set_thresholds(given) is clf
    assert clf.thresholds_.tolist() == given.tolist()
    assert np.array_equal(clf.predict(X).toarray() == 1, everything >= given)


@needs("online", "sets")
def check_priors_count_an_example_once_and_only_if_it_has_weight(make: Make) -> None:
    X, Y = noise()
    weights = np.tile([1.0, 0.0], len(Y))
    twice = csr_array(vstack([X, X]))
    each_twice = twice[np.arange(2 * len(Y)).reshape(2, -1).T.ravel()]
    paired = [row for row in Y for _ in range(2)]
    models = [
        make().fit(X, Y),
        make(passes=3).fit(X, Y),
        make().fit(each_twice, paired, sample_weight=weights),
        make().partial_fit(X, Y).partial_fit(X, Y, again=True),
    ]
    share = {label: sum(label in row for row in Y) / len(Y) for row in Y for label in row}
    for clf in [*models, *map(copy.deepcopy, models)]:
        priors = np.array([share[label] for label in clf.classes_.tolist()])
        everything = [list(share)] * len(Y)
        clf.tune_thresholds(X, everything, method="sto", c=None)
        assert (clf.thresholds_ > lower_bounds(priors)).all()
        training = Training.of(clf)
        assert training.examples == len(Y)


@needs("sets")
def check_they_are_kept(make: Make) -> None:
    clf, X, _ = make.fitted()
    clf.set_thresholds(np.linspace(0.05, 0.6, clf.n_classes_))
    copies = [copy.deepcopy(clf), pickle.loads(pickle.dumps(clf))]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.lg"
        for for_prediction in (False, True):
            clf.save(path, for_prediction=for_prediction)
            copies.append(labelgrove.load(path))
            assert labelgrove.load(path).get_params() == clf.get_params()
    for other in copies:
        assert other.thresholds_.tolist() == clf.thresholds_.tolist()
        assert (other.predict(X) != clf.predict(X)).nnz == 0


@needs("sets")
def check_the_index_of_a_series_names_their_labels(make: Make) -> None:
    pd = pytest.importorskip("pandas")
    clf, X, _ = make.fitted()
    labels, values = clf.classes_.tolist(), np.linspace(0.05, 0.6, clf.n_classes_)
    expected = clf.predict_proba(X, threshold=values).toarray()
    by_label = pd.Series(values, index=labels)[::-1]
    for given in (by_label, pd.Series(values), pd.Series(values, index=labels)):
        assert clf.set_thresholds(given).thresholds_.tolist() == values.tolist()
        assert np.array_equal(clf.predict_proba(X, threshold=given).toarray(), expected)
    renamed = by_label.rename({labels[0]: "no such label"})
    for wrong in (renamed, by_label[1:], pd.concat([by_label, by_label[:1]])):
        for call in (clf.set_thresholds, lambda given: clf.predict_proba(X, threshold=given)):
            with pytest.raises(ParameterError, match="labels in the index are not those"):
                call(wrong)
    assert clf.thresholds_.tolist() == values.tolist()


@needs("sets")
def check_they_follow_their_labels(make: Make) -> None:
    clf, *_ = make.fitted()
    given = dict(zip(clf.classes_.tolist(), np.linspace(0.1, 0.9, clf.n_classes_), strict=True))
    clf.set_thresholds(list(given.values()))
    gone, *_, renamed = given
    clf.remove_labels([gone]).rename_labels({renamed: "new name"})
    expected = [given[renamed if name == "new name" else name] for name in clf.classes_.tolist()]
    assert clf.thresholds_.tolist() == expected


@needs("sets", "online")
def check_labels_that_come_later_have_the_default(make: Make) -> None:
    clf, X, _ = make.fitted()
    m = clf.n_classes_
    clf.set_thresholds(Thresholds(np.full(m, 0.25), 0.125, "fta", "macro", 0.5))
    clf.partial_fit(X[:2], [["later"], ["latest"]])
    assert clf.thresholds_.tolist() == [0.25] * m + [0.125] * 2
    again = pickle.loads(pickle.dumps(clf))
    again.partial_fit(X[:1], [["last"]])
    assert again.thresholds_.tolist() == [0.25] * m + [0.125] * 3


@needs("sets")
def check_without_any_threshold_counts(make: Make) -> None:
    clf, X, _ = make.fitted()
    before = clf.predict(X)
    own = getattr(clf, "thresholds_", None)
    clf.set_thresholds(np.full(clf.n_classes_, 0.01)).set_thresholds(None)
    assert (clf.predict(X) != before).nnz == 0
    if own is None:
        with pytest.raises(AttributeError, match="predict uses the parameter threshold"):
            _ = clf.thresholds_
        expected = clf.predict_proba(X, threshold=clf.threshold)
        assert np.array_equal(before.toarray(), (expected.toarray() > 0).astype(int))


@needs("sets")
def check_tuning(make: Make) -> None:
    X, classes = checkerboard(repeats=6)
    clf = make(passes=2).fit(X[::2], label_sets(classes[::2]))
    Y = label_sets(classes[1::2])
    truth = csr_array([[int(c in row) for c in clf.classes_.tolist()] for row in Y])
    plain = f_measure(truth, clf.predict_proba(X[1::2], threshold=0.5) > 0)
    for method in ("sto", "fta", "ofo", "auto"):
        assert clf.tune_thresholds(X[1::2], Y, method) is clf
        assert (clf.thresholds_ > 0).all()
        assert (clf.thresholds_ <= 0.5).all()
        if method == "sto":
            assert f_measure(truth, clf.predict(X[1::2])) >= plain
    unknown = [[*row, "never seen"] for row in Y]
    before = clf.thresholds_
    assert clf.tune_thresholds(X[1::2], unknown).thresholds_.tolist() == before.tolist()


@needs("sets")
def check_every_row_gets_a_label_if_asked(make: Make) -> None:
    clf, X, Y = make.fitted()
    high = np.full(clf.n_classes_, 2.0)
    assert clf.set_thresholds(high).predict(X).nnz == 0
    for k in (1, 2):
        clf.set_thresholds(Thresholds(high, 2.0, "given", "macro", 0.0, least_labels=k))
        best = clf.predict_proba(X, top_k=k)
        assert np.array_equal(clf.predict(X).toarray(), (best.toarray() > 0).astype(int))
        found = clf.predict_proba(X, threshold=high, least_labels=k)
        assert np.array_equal(found.toarray(), best.toarray())
        for again in (copy.deepcopy(clf), pickle.loads(pickle.dumps(clf))):
            assert (again.predict(X) != clf.predict(X)).nnz == 0
    first, before = clf.classes_.tolist()[0], clf.predict(X).nnz
    assert clf.rename_labels({first: "renamed"}).predict(X).nnz == before
    middle = float(np.median(clf.predict_proba(X, threshold=0.0).data))
    found = clf.predict_proba(X, threshold=middle, least_labels=1).toarray()
    plain, best = clf.predict_proba(X, threshold=middle), clf.predict_proba(X, top_k=1)
    assert np.array_equal(found, np.maximum(plain.toarray(), best.toarray()))
    allowed = clf.classes_.tolist()[:1]
    only = clf.predict_proba(X, threshold=2.0, least_labels=1, labels=allowed)
    assert set(only.indices.tolist()) <= {0}
    clf.tune_thresholds(X, Y, least_labels=1)
    assert (np.diff(csr_array(clf.predict(X)).indptr) > 0).all()
    with pytest.raises(ParameterError, match="least_labels requires threshold"):
        clf.predict_proba(X, least_labels=1)
    with pytest.raises(ParameterError, match="least_labels=-1: expected an integer"):
        clf.predict_proba(X, threshold=0.5, least_labels=-1)


@needs("sets")
def check_what_does_not_fit_is_refused(make: Make) -> None:
    with pytest.raises(NotLearnedError):
        make().set_thresholds([0.5])
    with pytest.raises(NotLearnedError):
        make().tune_thresholds([[1.0]], [["a"]])
    with pytest.raises(AttributeError):
        _ = make().thresholds_
    clf, X, Y = make.fitted()
    clf.set_thresholds(np.full(clf.n_classes_, 0.25))
    for wrong in (0.5, [0.5], [np.nan] * clf.n_classes_, ["x"] * clf.n_classes_, [["0.5"]]):
        with pytest.raises(ParameterError, match="threshold"):
            clf.set_thresholds(wrong)
    for call in (clf.set_thresholds, lambda given: clf.predict_proba(X, threshold=given)):
        with pytest.raises(ParameterError, match=r"found a dict; expected .* order of classes_"):
            call(dict.fromkeys(clf.classes_.tolist(), 0.5))
    for default, method, average in (
        (np.nan, "fta", "macro"),
        (np.inf, "fta", "macro"),
        (10**400, "fta", "macro"),
        (0.5, None, "macro"),
        (0.5, "fta", "mean"),
    ):
        with pytest.raises(ParameterError):  # now, not when the model's file is loaded
            Thresholds(np.full(3, 0.5), default, method, average, 0.5)
    with pytest.raises(ParameterError, match="method='best': expected one of auto, ofo, fta, sto"):
        clf.tune_thresholds(X, Y, "best")
    with pytest.raises(ParameterError, match="alpha: no such option"):
        clf.tune_thresholds(X, Y, alpha=1)
    with pytest.raises(DataError, match="X has 60 rows, y has 2; expected the same number"):
        clf.tune_thresholds(X, Y[:2])
    with pytest.raises(
        DataError, match=r"multiclass targets, but the model .* expected a (coll|0/1)"
    ):
        clf.tune_thresholds(X, ["a"] * X.shape[0])
    for nothing_known in ([["never seen"]] * X.shape[0], [[]] * X.shape[0]):
        with pytest.raises(DataError, match="no row has a label that the model knows"):
            clf.tune_thresholds(X, nothing_known)
    assert clf.thresholds_.tolist() == [0.25] * clf.n_classes_


def check_classes_that_exclude_one_another_have_none(make: Make) -> None:
    X, y = checkerboard(repeats=2)
    clf = make().fit(X, y)
    with pytest.raises(ParameterError, match="thresholds are for multi-label targets"):
        clf.tune_thresholds(X, y)
