"""Threads, processes and Ctrl-C: an error where there would be a race, never a harmed model."""

from __future__ import annotations

import copy
import itertools
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from contract.kit import Make, needs, noise, state
from labelgrove import ModelStateError
from labelgrove._core import Progress
from labelgrove.models import _predicting
from labelgrove.models.engine._guard import Guard


def long_stream(n: int = 12_000) -> tuple[sp.csr_array, list[list[int]]]:
    """Enough to be at it for a while: many runs, and new labels to the end."""
    rng = np.random.default_rng(0)
    X = sp.random_array((n, 500), density=0.03, rng=rng, dtype=np.float32, format="csr")
    return X, [[t // 20, int(v)] for t, v in enumerate(rng.integers(0, 50, n))]


class Beside:
    """Runs something over and over beside the body of a with statement."""

    def __init__(self, use: Callable[[], Any]) -> None:
        self.use = use
        self.answers: list[Any] = []
        self.refused = 0
        self.errors: list[BaseException] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self.answers.append(self.use())
            except ModelStateError as error:
                self.refused += "another thread" in str(error)
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


@needs("online", "sets", "tree")
def check_predicting_while_learning_is_refused(make: Make) -> None:
    """Every use is refused or answered as before or after; the learner notices nothing."""
    X, Y = long_stream()
    expected = state(make().partial_fit(X, Y))
    clf = make().partial_fit(X[:100], Y[:100])
    few = X[:5]
    uses: list[Callable[[], Any]] = [
        lambda: clf.predict_topk(few, 3),
        lambda: clf.predict_proba(few, threshold=0.1),
        lambda: (clf.tree_, clf.size(), clf.classes_, clf.label_counts_, clf.n_classes_),
        lambda: (clf.examples_seen_, clf.n_features_in_, clf.target_type_),
        lambda: copy.deepcopy(clf),
        lambda: clf.score(few, Y[:5]),
    ]
    turns = itertools.cycle(uses)

    def use() -> Any:
        return next(turns)()

    refused = 0
    for _ in range(20):  # it may be done before the other thread gets its turn
        with Beside(use) as beside:
            refused += _until_done(clf.partial_fit, X[100:], Y[100:])
        assert state(clf) == expected
        refused += beside.refused
        if refused:
            return
        clf = make().partial_fit(X[:100], Y[:100])
    pytest.fail("learning and predicting never met")


def _until_done(learn: Callable[..., Any], X: Any, Y: Any) -> int:
    """Learn; while another thread reads, that is refused before anything is learnt."""
    refused = 0
    while True:
        try:
            learn(X, Y)
        except ModelStateError as error:
            assert "another thread" in str(error)
            refused += 1
            time.sleep(0.0005)
        else:
            return refused


@needs("online")
def check_learning_while_predicting_is_refused(make: Make) -> None:
    X, Y = long_stream(3000)
    clf = make().partial_fit(X, make.targets(Y))
    before = state(clf)
    for use in (lambda: clf.predict_topk(X, 20), lambda: clf.predict_proba(X, threshold=0.0)):
        assert any(_refused_beside(use, clf) for _ in range(50)), "predicting was never met"
    assert state(clf) == before


def _refused_beside(use: Callable[[], Any], clf: Any) -> bool:
    """Whether a change that changes nothing is refused while another thread predicts."""
    refused = False
    reader = threading.Thread(target=use)
    reader.start()
    while reader.is_alive():
        try:
            clf.remove_labels([])
        except ModelStateError as error:
            assert "another thread" in str(error)
            refused = True
    reader.join()
    return refused


@needs("online", "sets", "tree")
def check_two_cannot_learn_at_once(make: Make) -> None:
    X, Y = long_stream()
    expected = state(make().partial_fit(X, Y))
    clf = make().partial_fit(X[:1], Y[:1])
    intruders: list[Callable[[], Any]] = [
        lambda: clf.partial_fit(X[:1], [[10**6]]),
        lambda: clf.remove_labels([Y[0][0]]),
        lambda: clf.rename_labels({Y[0][0]: 10**7}),
        lambda: clf.save("never written"),
    ]
    learner = threading.Thread(target=lambda: clf.partial_fit(X[1:], Y[1:]))
    learner.start()
    while not is_busy(clf):
        time.sleep(0)
        assert learner.is_alive(), "learning was over before it was seen to begin"
    for intruder in intruders:
        with pytest.raises(ModelStateError, match="another thread"):
            intruder()
    learner.join()
    assert state(clf) == expected


def is_busy(clf: Any) -> bool:
    try:
        _ = clf.tree_
    except ModelStateError:
        return True
    return False


@needs("sets")
def check_fitting_anew_does_not_disturb_those_who_predict(make: Make) -> None:
    """They get the answers of one model or of the other, or are told to wait."""
    X, Y = noise()
    clf = make().fit(X, Y)
    before = clf.predict_topk(X, 3)[1].tolist()
    other = noise(seed=1)
    after = make().fit(*other).predict_topk(X, 3)[1].tolist()

    def predict() -> Any:
        return clf.predict_topk(X, 3)[1].tolist()

    with Beside(predict) as beside:
        for _ in range(8):
            _until_done(clf.fit, *other)
            _until_done(clf.fit, X, Y)
    assert all(answer in (before, after) for answer in beside.answers)
    assert predict() == before


@needs("online", "sets")
def check_a_fork_is_safe(make: Make) -> None:
    """A process that has learnt with threads forks; the child goes on with threads of its own."""
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
    """No lock is copied into the child while it is held: nobody there would ever open it."""
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
        patch.setattr(_predicting, "Guard", Slow)
        other = pool.submit(make().fit, X, Y)
        assert amid.wait(60)
        patch.undo()
        child = os.fork()
        if child == 0:
            try:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(30)  # ends a child that hangs
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
    clf = make()
    arguments = {name: value for name, value in clf.get_params().items() if name != "tree"}
    program = textwrap.dedent(
        f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parents[1])!r})
        import numpy as np
        from labelgrove import LearningInterrupted, {type(clf).__name__} as Estimator
        from contract.concurrency import long_stream
        from contract.kit import KINDS, Make, state

        X, Y = long_stream()
        Y = Make(Estimator, {{}}, KINDS[Estimator.__name__]).targets(Y)
        clf = Estimator(**{arguments!r})
        clf.partial_fit(X[:10], Y[:10])
        clf.set_params(epochs=10**6)
        base = clf.examples_seen_
        print("go", flush=True)
        try:
            while True:
                base = clf.examples_seen_
                clf.partial_fit(X, Y)
        except KeyboardInterrupt as stop:
            done = clf.examples_seen_ - base
            assert 0 <= done <= len(Y)
            if isinstance(stop, LearningInterrupted):  # and not between two calls
                assert stop.examples_learned == done and str(done) in str(stop)
        fresh = Estimator(**{arguments!r}).partial_fit(X[:10], Y[:10])
        for _ in range((base - 10) // len(Y)):
            fresh.partial_fit(X, Y)
        if done:
            fresh.partial_fit(X[:done], Y[:done])
        assert state(clf) == state(fresh), "not the model of these examples"
        clf.partial_fit(X[done:], Y[done:]) if done < len(Y) else None
        print("well", done, flush=True)
        """
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "go\n", process.communicate()[1]
    time.sleep(0.15)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0 and out.startswith("well"), err
