"""Files, pickles and copies hold the same model, which continues in the same way."""

from __future__ import annotations

import copy
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import labelgrove
from contract.kit import Make, checkerboard, label_sets, needs, noise, same_answers, state
from labelgrove import DataError, ModelFileError, ModelStateError, ParameterError


def through_file(clf: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        clf.save(Path(folder) / "model.lg")
        return labelgrove.load(str(Path(folder) / "model.lg"), n_jobs=clf.n_jobs)


def through_joblib(clf: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        joblib.dump(clf, Path(folder) / "model.joblib")
        return joblib.load(Path(folder) / "model.joblib")


WAYS: list[Callable[[Any], Any]] = [
    through_file,
    through_joblib,
    copy.deepcopy,
    copy.copy,
    lambda clf: pickle.loads(pickle.dumps(clf, protocol=2)),
    lambda clf: pickle.loads(pickle.dumps(clf, pickle.HIGHEST_PROTOCOL)),
]


def check_what_can_be_learnt_can_be_stored(make: Make) -> None:
    x, y = checkerboard(1)
    for given in (1e12 * x, sp.csr_array((x.shape[0], 2**31))):
        clf = make()
        try:
            clf.fit(given, y)
        except DataError:
            continue
        assert same_answers(pickle.loads(pickle.dumps(clf)), clf, x)


@needs("online", "sets")
def check_whatever_way_it_goes_it_goes_on(make: Make) -> None:
    X, Y = noise()
    more = noise(seed=1)
    x, y = checkerboard(2)
    dicts = [{"a": 1.0, "b": 0.5}, {"c": 1.0}]
    cases: list[tuple[Any, Any, Any, Any]] = [
        (X, Y, *more),
        (x, y, x, y),
        (x, y.astype(str), x, y.astype(str)),
        (x, np.eye(12, dtype=int)[y], x, np.eye(12, dtype=int)[y]),
        (dicts, ["one", "two"], [{"d": 1.0}], ["three"]),
    ]
    for given, targets, later, later_targets in cases:
        clf = make(n_jobs=2).fit(given, targets)
        clf.remove_labels(clf.classes_[:1].tolist())
        expected = state(clf)
        copies = [way(clf) for way in WAYS]
        for twin in copies:
            assert state(twin) == expected
            # The number of threads belongs to the process, not to the model.
            assert twin.set_params(n_jobs=2).get_params() == clf.get_params()
            assert same_answers(twin, clf, given)
        expected = state(clf.partial_fit(later, later_targets))
        for twin in copies:
            assert state(twin.partial_fit(later, later_targets)) == expected


@needs("online", "sets")
def check_copies_are_independent(make: Make) -> None:
    X, Y = noise()
    for way in WAYS:
        clf = make().fit(X, Y)
        before = state(clf)
        twin = way(clf)
        twin.partial_fit(X, [["new"]] * len(Y))
        twin.remove_labels(clf.classes_[:3].tolist())
        assert state(clf) == before


def check_what_has_learnt_nothing_can_be_copied_too(make: Make) -> None:
    X, Y = make.noise()
    for way in WAYS:
        if way is through_file:
            continue
        other = make(**make.kind.numbers)
        twin = way(other)
        assert not twin.__sklearn_is_fitted__() and twin.get_params() == other.get_params()
        assert state(twin.fit(X, Y)) == state(other.fit(X, Y))


@needs("online")
def check_parameters_that_changed_count_from_the_next_fit(make: Make) -> None:
    """Until then the model is unchanged; it can be saved and loaded."""
    X, Y = make.noise()
    changes = {**make.kind.numbers, "random_state": 9}
    plain = make().fit(X, Y)
    learnt_on = state(make().fit(X, Y).partial_fit(X, Y))
    changed, unchanged = copy.deepcopy(plain).set_params(**changes), state(plain)
    for way in WAYS:
        twin = way(changed)
        assert twin.get_params() == changed.get_params()
        assert state(twin) == unchanged
    for name, value in changes.items():
        clf = copy.deepcopy(plain).set_params(**{name: value})
        assert state(clf.partial_fit(X, Y)) == learnt_on
        assert state(clf.fit(X, Y)) == state(make(**{name: value}).fit(X, Y))
    bad = {**make.bad(), "threshold": [np.nan]}
    broken = copy.deepcopy(plain)
    broken.set_params(**{name: values[0] for name, values in bad.items()})
    for way in WAYS:
        if way is not through_file:
            assert state(way(broken)) == state(plain)
    bad.pop("n_jobs")  # belongs to the process, and is not in the file
    for name, values in bad.items():
        before = plain.get_params()[name]
        wrong = next(value for value in values if isinstance(value, int | float | str))
        refuses_to_save(plain.set_params(**{name: wrong}), name)
        plain.set_params(**{name: before})
    with pytest.raises(ParameterError):
        broken.fit(X, Y)


def refuses_to_save(clf: Any, name: str) -> None:
    """A model that could not be loaded again does not replace a good file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.lg"
        path.write_bytes(b"good")
        with pytest.raises(ModelFileError, match=f"{name}|JSON"):
            clf.save(path)
        assert path.read_bytes() == b"good" and len(list(Path(folder).iterdir())) == 1


@needs("online")
def check_a_generator_of_seeds_can_be_saved(make: Make) -> None:
    X, Y = make.noise()
    for seed in (np.random.RandomState(1), None):
        clf = make(random_state=seed).fit(X, Y)
        for way in WAYS:
            twin = way(clf)
            assert state(twin.partial_fit(X, Y)) == state(copy.deepcopy(clf).partial_fit(X, Y))


def check_clones_have_learnt_nothing(make: Make) -> None:
    X, Y = make.noise()
    clf = make(**make.kind.numbers, n_jobs=2).fit(X, Y)
    twin = clone(clf)
    assert not twin.__sklearn_is_fitted__() and twin.get_params() == clf.get_params()
    assert state(twin.fit(X, Y)) == state(clf)


@needs("online", "sets", "tree")
def check_models_for_prediction(make: Make) -> None:
    """They predict the same and refuse to learn; the refused call leaves no trace."""
    clf, X, Y = make.fitted()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lean.lg"
        clf.save(path, for_prediction=True)
        lean = labelgrove.load(path)
        assert same_answers(lean, clf, X)
        assert (lean.predict(X) != clf.predict(X)).nnz == 0
        assert lean.classes_.tolist() == clf.classes_.tolist()
        assert lean.label_counts_.tolist() == clf.label_counts_.tolist()
        assert lean.examples_seen_ == clf.examples_seen_ and lean.tree_.depth == clf.tree_.depth
        before = state(lean)
        for wider in (X, np.ones((len(Y), 50))):
            with pytest.raises(ModelStateError, match="prediction only .*; load the full model"):
                lean.partial_fit(wider, [["new"], *Y[1:]])
            assert state(lean) == before
        lean.save(path)  # over the file that it is mapped from
        again = labelgrove.load(path)
        twin = pickle.loads(pickle.dumps(again))
        lean.remove_labels([clf.classes_[0]])
        clf.remove_labels([clf.classes_[0]])
        assert same_answers(lean, clf, X) and not same_answers(again, clf, X)
        assert same_answers(again, twin, X)
        assert state(lean.fit(X, Y)) == state(make().fit(X, Y))


@needs("sets")
def check_files_are_written_over_safely(make: Make) -> None:
    X, y = checkerboard(2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.lg"
        make().fit(X, y).save(path)
        first = path.read_bytes()
        make().fit(X, y).save(path)
        assert path.read_bytes() == first  # the same model, the same bytes
        make().fit(X, label_sets(y)).save(path)
        assert labelgrove.load(path).target_type_ == "multilabel"
        assert [entry.name for entry in Path(folder).iterdir()] == ["model.lg"]
        with pytest.raises(FileNotFoundError):
            make().fit(X, y).save(Path(folder) / "missing" / "model.lg")
        with pytest.raises(FileNotFoundError):
            labelgrove.load(Path(folder) / "none.lg")
        path.write_bytes(first[:-7])
        with pytest.raises(ModelFileError, match=r"model\.lg"):
            labelgrove.load(path)
        path.write_bytes(b"")
        with pytest.raises(ModelFileError):
            labelgrove.load(path)
