"""Ctrl-C at every point where Python checks for it leaves the model at a whole number of rows."""

from __future__ import annotations

import copy
import signal
import sys
from pathlib import Path
from threading import Event, Thread
from types import FrameType
from typing import Any

import pytest
from sklearn.base import clone

import labelgrove
from contract.kit import noise, state
from labelgrove import LdSMClassifier, LearningInterrupted, OnlinePLTClassifier, PLTClassifier
from labelgrove.models import _online

PACKAGE = str(Path(labelgrove.__file__).parent)
ROWS = 12


@pytest.fixture(autouse=True)
def short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a call go through several runs, between which it can be stopped."""
    monkeypatch.setattr(_online, "_RUN_ROWS", 5)


class CtrlC:
    """Sends SIGINT to this process at the n-th point where CPython would notice it.

    These are the beginnings of functions and the ends of calls. Only code of the package counts,
    and of contextlib, through which its locks are held.
    """

    def __init__(self, at: int) -> None:
        self.at = at
        self.points = 0

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event in {"call", "c_return"} and (name.startswith(PACKAGE) or "contextlib" in name):
            self.points += 1
            if self.points == self.at:
                sys.setprofile(None)
                signal.raise_signal(signal.SIGINT)

    def during(self, use: Any) -> BaseException | None:
        """Run something; return the KeyboardInterrupt it raised, if any."""
        try:
            sys.setprofile(self)
            use()
        except KeyboardInterrupt as stop:
            return stop
        finally:
            sys.setprofile(None)
        return None


def seen(clf: OnlinePLTClassifier) -> int:
    return clf.examples_seen_ if clf.__sklearn_is_fitted__() else 0


def stream(kind: str) -> tuple[OnlinePLTClassifier, Any, Any]:
    """Return a model, and examples with new labels to learn."""
    clf = OnlinePLTClassifier(arity=2, max_leaves=4)
    X, Y = noise(seed=1, n=ROWS)
    labels: Any = [[f"new {t % 9}", *row] for t, row in enumerate(Y)]
    rows: Any = X
    if kind == "dicts":
        rows = [{f"f{t % 5}": 1.0, f"g{t}": 0.5} for t in range(ROWS)]
    if kind == "learnt":
        clf.partial_fit(*noise(n=30))
    return clf, rows, labels


@pytest.mark.skipif(sys.platform == "win32", reason="raise_signal ends the process there")
@pytest.mark.parametrize("kind", ["fresh", "learnt", "dicts"])
def test_anywhere(kind: str) -> None:
    base, X, Y = stream(kind)
    whole = copy.deepcopy(base).partial_fit(X, Y)
    expected, before = state(whole), seen(base)
    prefixes: dict[int, Any] = {0: state(base)}
    counter = CtrlC(at=-1)
    counted = copy.deepcopy(base)
    counter.during(lambda: counted.partial_fit(X, Y))
    stopped_after = set()
    for at in range(1, counter.points + 1):
        clf = copy.deepcopy(base)
        stop = CtrlC(at).during(lambda clf=clf: clf.partial_fit(X, Y))
        done = seen(clf) - before
        assert stop is not None and 0 <= done <= ROWS
        stopped_after.add(done)
        if isinstance(stop, LearningInterrupted):
            assert stop.examples_learned == done
        else:  # before or after all learning
            assert done in {0, ROWS}
        if done not in prefixes:
            prefixes[done] = state(copy.deepcopy(base).partial_fit(X[:done], Y[:done]))
        if done:
            assert without_columns(state(clf)) == without_columns(prefixes[done]), at
        if done < ROWS:
            clf.partial_fit(X[done:], Y[done:])
        assert state(clf) == expected, at
    assert {0, 5, 10, ROWS} >= stopped_after > {5, 10}


def without_columns(learnt: Any) -> Any:
    """Drop the width of X, which an interrupted call knows from all its rows."""
    header, arrays = learnt["_learned"]
    header = {key: header[key] for key in header if key != "features"}
    return header, {key: arrays[key] for key in arrays if not key.startswith("feature.")}


@pytest.mark.skipif(sys.platform == "win32", reason="raise_signal ends the process there")
def test_while_labels_are_removed_or_renamed() -> None:
    base, X, Y = stream("learnt")
    base.partial_fit(X, Y)
    names = base.classes_[:4].tolist()
    for use in (
        lambda clf: clf.remove_labels(names),
        lambda clf: clf.rename_labels(dict(zip(names, names[::-1], strict=True))),
    ):
        before, after = state(base), state(use(copy.deepcopy(base)))
        counter = CtrlC(at=-1)
        counted = copy.deepcopy(base)
        counter.during(lambda use=use, counted=counted: use(counted))
        for at in range(1, counter.points + 1):
            clf = copy.deepcopy(base)
            CtrlC(at).during(lambda use=use, clf=clf: use(clf))
            assert state(clf) in (before, after), at


@pytest.mark.skipif(sys.platform == "win32", reason="raise_signal ends the process there")
def test_while_predicting() -> None:
    """No lock is left held."""
    clf, X, Y = stream("learnt")
    counter = CtrlC(at=-1)
    counter.during(lambda: clf.predict_topk(X))
    for at in range(1, counter.points + 1):
        assert isinstance(CtrlC(at).during(lambda: clf.predict_topk(X)), KeyboardInterrupt)
        clf.partial_fit(X[:1], Y[:1])


def test_the_handler_of_ctrl_c_is_left_as_it_was() -> None:
    clf, X, Y = stream("fresh")
    mine: list[int] = []
    previous = signal.signal(signal.SIGINT, lambda number, _: mine.append(number))
    try:
        handler = signal.getsignal(signal.SIGINT)
        clf.partial_fit(X, Y)
        assert signal.getsignal(signal.SIGINT) is handler
        if sys.platform != "win32":
            CtrlC(at=100).during(lambda: clf.partial_fit(X, Y))
            assert mine == [signal.SIGINT] and seen(clf) == 2 * ROWS
    finally:
        signal.signal(signal.SIGINT, previous)
    clf.partial_fit(X, Y)
    assert signal.getsignal(signal.SIGINT) is previous


LONG = [
    PLTClassifier(tree="random", n_trees=100, C=1e6, tol=1e-6, max_iter=3000, n_jobs=2),
    LdSMClassifier(n_estimators=10_000),
]


@pytest.mark.skipif(sys.platform == "win32", reason="raise_signal ends the process there")
@pytest.mark.parametrize("long", LONG, ids=lambda clf: type(clf).__name__)
def test_while_learning_from_all_at_once(long: Any) -> None:
    """Most of the work is skipped, and the model is unchanged."""
    X, Y = noise(seed=1, n=400)
    quick: Any = {"n_trees": 1} if isinstance(long, PLTClassifier) else {"n_estimators": 1}
    clf = clone(long).set_params(**quick).fit(X, Y)
    before = state(clf)
    shares: list[float] = []
    over = Event()

    def press() -> None:
        while not clf.fit_progress and not over.wait(0.001):
            pass
        shares.append(clf.fit_progress)
        signal.raise_signal(signal.SIGINT)
        while not over.wait(0.001):
            shares.append(clf.fit_progress)

    clf.set_params(**{name: long.get_params()[name] for name in quick})
    watcher = Thread(target=press)
    watcher.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            clf.fit(*noise(seed=2, n=600))
    finally:
        over.set()
        watcher.join()
    assert 0 < max(shares) < 0.5
    assert clf.fit_progress == 0
    assert state(clf.set_params(**quick)) == before
