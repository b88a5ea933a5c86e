"""Threads, processes and Ctrl-C: races raise an error and never damage the model."""

from __future__ import annotations

import copy
import itertools
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp

from contract.kit import Make, needs, noise, state
from labelgrove import LearningInterrupted, ModelStateError
from labelgrove._core import Progress
from labelgrove.models import _base, _online
from labelgrove.models.engine._guard import Guard


def long_stream(n: int) -> tuple[sp.csr_array, list[list[int]]]:
    """Enough examples to keep learning busy for a while: many runs, new labels until the end."""
    rng = np.random.default_rng(0)
    X = sp.random_array((n, 500), density=0.03, rng=rng, dtype=np.float32, format="csr")
    return X, [[50 + t // 20, int(v)] for t, v in enumerate(rng.integers(0, 50, n))]


class Beside:
    """Runs something over and over beside the body of a with statement."""

    def __init__(self, use: Callable[[], Any]) -> None:
        self.use = use
        self.answers: list[Any] = []
        self.errors: list[BaseException] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._stop.wait(0.001):  # a pause, in which others may change the model
            try:
                self.answers.append(self.use())
            except ModelStateError as error:
                if "another thread" not in str(error):
                    self.errors.append(error)
            except BaseException as error:  # noqa: BLE001 - kept for the assertion
                self.errors.append(error)

    def __enter__(self) -> Beside:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        assert not self.errors, self.errors[0]


@needs("sets", "tree")
def check_many_threads_predict_at_once(make: Make) -> None:
    X, Y = noise(n=200)
    ways: list[Callable[[Any], Any]] = [
        lambda clf: clf.predict_topk(X, 7)[0].tolist(),
        lambda clf: clf.predict_topk(X, 7, beam_width=3)[1].tobytes(),
        lambda clf: clf.predict_proba(X, threshold=0.1).toarray().tolist(),
        lambda clf: clf.predict(X).toarray().tolist(),
        lambda clf: clf.score(X, Y),
        lambda clf: sorted(clf.tree_.labels.items()),
    ]
    for n_jobs in (1, 2):
        clf = make(n_jobs=n_jobs).fit(X, Y)
        expected = [way(clf) for way in ways]
        with ThreadPoolExecutor(8) as pool:
            for _ in range(4):
                assert list(pool.map(lambda way, of=clf: way(of), ways)) == expected


class Held(dict[str, float]):
    """A row that blocks until it may return its features.

    A call that learns or predicts from it stops half-way, so that other calls run during it.
    """

    def __init__(self, row: dict[str, float]) -> None:
        super().__init__(row)
        self._reached = threading.Event()
        self._free = threading.Event()

    def items(self) -> Any:
        self._reached.set()
        self._free.wait()
        return super().items()

    @contextmanager
    def by(self, use: Callable[[], Any]) -> Iterator[None]:
        """Run the body while a thread that uses the row is blocked; then let it finish."""
        with ThreadPoolExecutor(1) as other:
            user = other.submit(use)
            try:
                while not self._reached.wait(0.01):
                    assert not user.done(), user.result()
                yield
            finally:
                self._free.set()
            user.result()


def dict_rows(n: int = 30) -> list[dict[str, float]]:
    """Twelve classes in turn, each with a feature of its own."""
    return [{"all": 0.5, f"f{t % 12}": 1.0} for t in range(n)]


def refused(use: Callable[[], Any]) -> None:
    with pytest.raises(ModelStateError, match="another thread"):
        use()


def check_using_a_model_that_learns_is_refused(make: Make) -> None:
    """Meanwhile, reading, changing and saving are refused, and the learner is unaffected."""
    X, Y = dict_rows(), make.targets([[t % 12] for t in range(30)])
    few = X[:5]
    expected = state(make().fit(X, Y).fit(X, Y))
    clf = make().fit(X, Y)
    uses: list[Callable[[], Any]] = [
        lambda: clf.predict(few),
        lambda: clf.predict_topk(few, 3),
        lambda: clf.predict_proba(few, threshold=0.1),
        lambda: clf.score(few, Y[:5]),
        clf.size,
        lambda: clf.classes_,
        lambda: clf.label_counts_,
        lambda: copy.deepcopy(clf),
        lambda: clf.fit(few, Y[:5]),
        lambda: clf.remove_labels([0]),
        lambda: clf.rename_labels({0: 10**7}),
        lambda: clf.save("never written"),
    ]
    if "online" in make.kind.traits:
        uses.append(lambda: clf.partial_fit(few, Y[:5]))
    if "tree" in make.kind.traits:
        uses.append(lambda: clf.tree_)
    held = Held(X[-1])
    with held.by(lambda: clf.fit([*X[:-1], held], Y)):
        for use in uses:
            refused(use)
    assert state(clf) == expected
    assert not Path("never written").exists()


def check_changing_a_model_that_is_read_is_refused(make: Make) -> None:
    """Other threads may read too."""
    X, Y = dict_rows(), make.targets([[t % 12] for t in range(30)])
    clf = make().fit(X, Y)
    before, expected = state(clf), clf.predict_topk(X, 3)[1].tolist()
    for read in (clf.predict_topk, clf.predict):
        held = Held(X[-1])
        with held.by(lambda read=read, held=held: read([*X[:-1], held])):
            refused(lambda: clf.remove_labels([]))
            refused(lambda: clf.fit(X, Y))
            assert clf.predict_topk(X, 3)[1].tolist() == expected
    assert state(clf) == before


@needs("online", "sets", "tree")
def check_predicting_beside_learning_harms_nobody(make: Make) -> None:
    """However two calls overlap, each is refused or answers as before or after the other."""
    X, Y = long_stream(1000)
    expected = state(make().partial_fit(X, Y))
    clf = make().partial_fit(X[:100], Y[:100])
    few = X[:5]
    turns = itertools.cycle([lambda: clf.predict_topk(few, 3), lambda: clf.tree_, clf.size])

    def use() -> None:
        next(turns)()

    with Beside(use):
        _until_done(clf.partial_fit, X[100:], Y[100:])
    assert state(clf) == expected


def _until_done(learn: Callable[..., Any], X: Any, Y: Any) -> None:
    """Learn; while another thread reads, that is refused before anything is learnt."""
    while True:
        try:
            learn(X, Y)
        except ModelStateError as error:
            assert "another thread" in str(error)
            time.sleep(0)  # let the other thread continue
        else:
            return


@needs("sets")
def check_fitting_anew_does_not_disturb_those_who_predict(make: Make) -> None:
    """Readers get the answers of the old or the new model, or an error."""
    clf, X, Y = make.fitted()
    before = clf.predict_topk(X, 3)[1].tolist()
    other = noise(seed=1)
    after = make().fit(*other).predict_topk(X, 3)[1].tolist()

    def predict() -> Any:
        return clf.predict_topk(X, 3)[1].tolist()

    with Beside(predict) as beside:
        for _ in range(2):
            _until_done(clf.fit, *other)
            _until_done(clf.fit, X, Y)
    assert all(answer in (before, after) for answer in beside.answers)
    assert predict() == before


@needs("online", "sets")
def check_a_fork_is_safe(make: Make) -> None:
    """A process that has learnt with threads forks; the child continues with its own threads."""
    if "fork" not in multiprocessing.get_all_start_methods() or sys.platform == "darwin":
        pytest.skip("no fork here")
    X, Y = noise(n=200)
    clf = make(n_jobs=3).fit(X, Y)
    clf.predict_topk(X)
    expected = state(copy.deepcopy(clf).partial_fit(X, Y))
    context = multiprocessing.get_context("fork")
    results = context.Queue()

    def child() -> None:
        same = clf.predict_topk(X, 3)[1].tolist()
        results.put((same, state(clf.partial_fit(X, Y)) == expected))

    process = context.Process(target=child)
    process.start()
    answers, learnt_the_same = results.get(timeout=60)
    process.join(60)
    assert process.exitcode == 0 and learnt_the_same
    assert answers == clf.predict_topk(X, 3)[1].tolist()
    assert state(clf.partial_fit(X, Y)) == expected


@needs("online", "sets")
def check_a_fork_beside_a_thread_that_makes_estimators(make: Make) -> None:
    """The child inherits no held lock, which nothing in it could release."""
    if not hasattr(os, "fork"):
        pytest.skip("no fork here")
    X, Y = noise(n=20)
    amid, go_on = threading.Event(), threading.Event()

    class Slow(Guard):
        def __init__(self) -> None:
            super().__init__()
            amid.set()
            go_on.wait(60)

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(1) as pool:
        patch.setattr(_base, "Guard", Slow)
        other = pool.submit(make().fit, X, Y)
        assert amid.wait(60)
        patch.undo()
        child = os.fork()
        if child == 0:
            try:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(30)  # kills a hanging child
                make().fit(X, Y)
                os._exit(0)
            finally:
                os._exit(1)
        go_on.set()
        assert os.waitpid(child, 0)[1] == 0
        other.result()


def check_nothing_copies_what_is_being_learnt(make: Make) -> None:
    """Not before the first fit has ended either."""
    X, Y = make.noise()
    for clf in (make(), make().fit(X, Y)):
        with clf._guard.changing():
            clf._progress = Progress()
            for way in (pickle.dumps, copy.copy, copy.deepcopy):
                with pytest.raises(ModelStateError, match="another thread"):
                    way(clf)
            del clf._progress


@needs("online")
def check_ctrl_c(make: Make) -> None:
    """Learning stops soon, at a whole number of examples, and says at which."""
    if sys.platform == "win32":
        pytest.skip("a process cannot send Ctrl-C to one alone here")
    X, Y = long_stream(2000)
    Y = make.targets(Y)
    clf, fresh = (make().partial_fit(X[:10], Y[:10]) for _ in range(2))
    learning = threading.Event()

    def press() -> None:
        learning.wait()
        os.kill(os.getpid(), signal.SIGINT)

    presser = threading.Thread(target=press)
    presser.start()
    passes = 0
    try:
        learning.set()
        with patch.object(_online, "_RUN_ROWS", 200):
            while True:  # until Ctrl-C is pressed
                clf.partial_fit(X, Y)
                passes += 1
    except KeyboardInterrupt as stop:
        presser.join()
        done = clf.examples_seen_ - 10 - passes * len(Y)
        assert 0 <= done <= len(Y)
        if isinstance(stop, LearningInterrupted):  # and not between two calls
            assert stop.examples_learned == done and str(done) in str(stop)
    for _ in range(passes):
        fresh.partial_fit(X, Y)
    if done:
        fresh.partial_fit(X[:done], Y[:done])
    assert state(clf) == state(fresh), "not the model of these examples"
    if done < len(Y):
        clf.partial_fit(X[done:], Y[done:])
