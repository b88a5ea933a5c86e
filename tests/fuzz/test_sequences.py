"""Random sequences of calls on every estimator, against a plain model of its state.

The plain model tracks what is known without learning: the labels, their counts, and what a call
must not change.
"""

from __future__ import annotations

import copy
import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import labelgrove
from contract.kit import KINDS, same_answers, state
from fuzz.extremes import NAMES, examples, parameters, rows
from labelgrove import DataError, LabelGroveError, ParameterError

pytestmark = pytest.mark.fuzz


class Calls(RuleBasedStateMachine):
    """One estimator, and a plain record of its state."""

    name: str

    @initialize(data=st.data(), kind=st.sampled_from(sorted(NAMES)))
    def begin(self, data: st.DataObject, kind: str) -> None:
        chosen = data.draw(parameters(self.name), label="parameters")
        self.traits = KINDS[self.name].traits
        self.labels = NAMES[kind]
        self.clf = getattr(labelgrove, self.name)(**chosen)
        self.counts: dict[Any, int] = {}
        self.seen = 0
        self.learn(data, afresh=True)

    def targets(self, data: st.DataObject, n: int) -> list[Any]:
        sets = st.lists(self.labels, max_size=3, unique=True)
        each = sets if "sets" in self.traits else self.labels
        return data.draw(st.lists(each, min_size=n, max_size=n), label="y")

    def learn(self, data: st.DataObject, *, afresh: bool) -> None:
        X = data.draw(st.integers(1, 6).flatmap(rows), label="X")
        y = self.targets(data, X.shape[0])
        before = None if afresh else state(self.clf)
        try:
            self.clf.fit(X, y) if afresh else self.clf.partial_fit(X, y)
        except (DataError, ParameterError):
            # For example incompatible parameters; then nothing has changed.
            assert before is None or state(self.clf) == before
            return
        if afresh:
            self.counts, self.seen = {}, 0
        self.seen += X.shape[0]
        for labels in y if "sets" in self.traits else [[label] for label in y]:
            for label in labels:
                self.counts[label] = self.counts.get(label, 0) + 1

    @rule(data=st.data())
    def fit(self, data: st.DataObject) -> None:
        self.learn(data, afresh=True)

    @precondition(lambda self: hasattr(self.clf, "partial_fit") and self.seen)
    @rule(data=st.data())
    def partial_fit(self, data: st.DataObject) -> None:
        self.learn(data, afresh=False)

    @precondition(lambda self: hasattr(self.clf, "partial_fit") and self.seen)
    @rule(data=st.data(), bad=st.sampled_from([np.nan, np.inf]))
    def refuse(self, data: st.DataObject, bad: float) -> None:
        before = state(self.clf)
        X = data.draw(rows(2), label="X")
        X.resize(3, X.shape[1])
        X = X.tolil()
        X[2, 0] = bad
        with pytest.raises(DataError):
            self.clf.partial_fit(X.tocsr(), self.targets(data, 3))
        assert state(self.clf) == before

    @precondition(lambda self: self.counts)
    @rule(data=st.data())
    def remove_labels(self, data: st.DataObject) -> None:
        gone = data.draw(st.sets(st.sampled_from(sorted(self.counts, key=str)), min_size=1))
        self.clf.remove_labels(gone)
        for label in gone:
            del self.counts[label]

    @precondition(lambda self: self.counts)
    @rule(data=st.data())
    def rename_labels(self, data: st.DataObject) -> None:
        old = data.draw(st.sampled_from(sorted(self.counts, key=str)))
        new = data.draw(self.labels)
        if new in self.counts and new != old:
            with pytest.raises(DataError):
                self.clf.rename_labels({old: new})
            return
        self.clf.rename_labels({old: new})
        self.counts[new] = self.counts.pop(old)

    @precondition(lambda self: self.seen and "sets" in self.traits)
    @rule(data=st.data())
    def set_thresholds(self, data: st.DataObject) -> None:
        n = len(self.counts)
        values = st.sampled_from([0.0, 0.5, 1.0, -np.inf, np.inf, 1e-300])
        given = data.draw(st.none() | st.lists(values, min_size=n, max_size=n))
        self.clf.set_thresholds(given)
        assert given is None or self.clf.thresholds_.tolist() == given

    @precondition(lambda self: self.seen)
    @rule(data=st.data())
    def predict(self, data: st.DataObject) -> None:
        X = data.draw(st.integers(1, 3).flatmap(rows), label="X")
        labels, scores = self.clf.predict_topk(X, 4)
        there = ~np.isnan(scores)
        assert there.sum(axis=1).tolist() == [min(4, len(self.counts))] * X.shape[0]
        assert {labels[at] for at in zip(*np.nonzero(there), strict=True)} <= self.counts.keys()
        assert ((scores[there] >= 0) & (scores[there] <= 1)).all()
        assert (np.diff(np.nan_to_num(scores, nan=-1.0), axis=1) <= 0).all()
        if self.counts:
            self.clf.predict(X)
            assert np.isfinite(self.clf.predict_proba(X, threshold=0.0).data).all()

    @precondition(lambda self: self.seen)
    @rule(way=st.sampled_from(["file", "pickle", "deepcopy"]), data=st.data())
    def replace_by_a_copy(self, way: str, data: st.DataObject) -> None:
        X = data.draw(rows(2), label="X")
        before = state(self.clf)
        if way == "file":
            twin = through_files(self.clf, X)
        else:
            twin = (
                pickle.loads(pickle.dumps(self.clf)) if way == "pickle" else copy.deepcopy(self.clf)
            )
        assert same_answers(twin, self.clf, X)
        assert state(twin) == before
        self.clf = twin

    @precondition(lambda self: self.seen and hasattr(self.clf, "compact"))
    @rule(dtype=st.sampled_from(["float32", "float16", "int8"]), data=st.data())
    def compact(self, dtype: str, data: st.DataObject) -> None:
        X = data.draw(rows(2), label="X")
        try:
            small = self.clf.compact(dtype=dtype)
        except LabelGroveError:
            return  # such as weights too large for 16 bits
        assert same_answers(through_files(small, X), small, X)

    @invariant()
    def knows_what_it_has_seen(self) -> None:
        if not self.seen:
            return
        assert self.clf.examples_seen_ == self.seen
        known = dict(zip(self.clf.classes_.tolist(), self.clf.label_counts_.tolist(), strict=True))
        assert known == self.counts
        assert self.clf.classes_.tolist() == sorted(self.counts)


def through_files(clf: Any, X: Any) -> Any:
    """Save and load the whole model; a file for prediction must give the same answers."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.lg"
        clf.save(path, for_prediction=True)
        assert same_answers(labelgrove.load(path), clf, X)
        clf.save(path)
        return labelgrove.load(path)


@pytest.mark.parametrize("name", sorted(KINDS))
def test_calls(name: str) -> None:
    machine = type(f"Calls{name}", (Calls,), {"name": name})
    machine.TestCase.settings = settings(
        max_examples=examples(10),
        stateful_step_count=12,
        suppress_health_check=list(HealthCheck),
    )
    machine.TestCase().runTest()
