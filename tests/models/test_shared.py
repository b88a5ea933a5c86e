"""One model shared by one learner and many readers in threads: fair waiting."""

from __future__ import annotations

import copy
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from contract.concurrency import Held, dict_rows
from contract.kit import noise, state
from labelgrove import (
    DataError,
    LearningInterrupted,
    ModelStateError,
    NotLearnedError,
    OnlinePLTClassifier,
    SharedModel,
)
from labelgrove.models import _online
from labelgrove.models.engine._guard import Guard
from waiting import until

LONG = 60.0
"""Seconds until a hanging test fails."""


def waiting(guard: Guard, n: int) -> None:
    """Wait until this many threads are blocked."""
    until(lambda: len(guard._line) + len(guard._changers) >= n)


class Actor:
    """A thread that enters a guard and leaves it on request."""

    def __init__(self, pool: ThreadPoolExecutor, log: list[str], name: str, enter: Any) -> None:
        self.inside = threading.Event()
        self.leave = threading.Event()
        self._log, self._name = log, name
        self.done: Future[None] = pool.submit(self._run, enter)

    def _run(self, enter: Callable[[ExitStack], None]) -> None:
        with ExitStack() as stack:
            enter(stack)
            self._log.append(self._name)
            self.inside.set()
            assert self.leave.wait(LONG)


def reader(guard: Guard) -> Callable[[ExitStack], None]:
    return lambda stack: stack.enter_context(guard.reading(LONG))


def changer(guard: Guard) -> Callable[[ExitStack], None]:
    def enter(stack: ExitStack) -> None:
        turn = stack.enter_context(guard.changing(LONG))
        stack.enter_context(turn.alone())

    return enter


def test_threads_are_served_in_order_of_arrival() -> None:
    guard, log = Guard(), list[str]()
    with ThreadPoolExecutor(8) as pool:
        first = Actor(pool, log, "reads 1", reader(guard))
        assert first.inside.wait(LONG)
        writer = Actor(pool, log, "changes", changer(guard))
        waiting(guard, 1)
        late = []
        for n in (2, 3):
            late.append(Actor(pool, log, f"reads {n}", reader(guard)))
            waiting(guard, n)
        assert log == ["reads 1"]  # no reader overtakes the waiting writer
        first.leave.set()
        assert writer.inside.wait(LONG)
        assert log == ["reads 1", "changes"]
        last = Actor(pool, log, "changes again", changer(guard))
        waiting(guard, 3)
        writer.leave.set()
        for one in late:
            assert one.inside.wait(LONG)  # both are in, as neither has left
        for one in late:
            one.leave.set()
        last.leave.set()
        last.done.result(LONG)
    assert log[:2] == ["reads 1", "changes"] and log[-1] == "changes again"


def test_who_changes_in_steps_lets_others_in_between() -> None:
    guard, log = Guard(), list[str]()
    with ThreadPoolExecutor(4) as pool, guard.changing(LONG) as turn:
        readers = []
        for n in range(3):
            with turn.alone():
                one = Actor(pool, log, f"reads {n}", reader(guard))
                waiting(guard, 1)
                log.append(f"step {n}")
                one.leave.set()
            readers.append(one)
        for one in readers:
            one.done.result(LONG)
    assert log == ["step 0", "reads 0", "step 1", "reads 1", "step 2", "reads 2"]


def test_a_thread_that_reads_may_read_again_though_one_waits_to_change() -> None:
    guard = Guard()
    with ThreadPoolExecutor(1) as pool:
        with guard.reading(LONG):
            writer = Actor(pool, [], "changes", changer(guard))
            writer.leave.set()
            waiting(guard, 1)
            with guard.reading(LONG), guard.reading():
                pass
        writer.done.result(LONG)


def test_a_reader_that_will_not_wait_overtakes_one_that_waits_to_change() -> None:
    guard = Guard()

    def read() -> None:
        with guard.reading():
            pass

    with ThreadPoolExecutor(2) as pool:
        with guard.reading(LONG):
            writer = Actor(pool, [], "changes", changer(guard))
            writer.leave.set()
            waiting(guard, 1)
            pool.submit(read).result(LONG)
        writer.done.result(LONG)


def test_where_nobody_waits_a_reader_is_let_in_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(Guard, "_wait")
    with (guard := Guard()).reading(LONG), guard.reading(LONG):
        pass


def test_nobody_waits_for_itself() -> None:
    guard = Guard()
    with guard.changing(LONG) as turn, turn.alone():
        for enter in (guard.reading(LONG), guard.changing(LONG)):
            with pytest.raises(ModelStateError, match="this very thread"), enter:
                pass
    with guard.reading(LONG), guard.changing(LONG) as turn, turn.alone():
        pass  # a thread may change what it reads


def test_who_gives_up_leaves_no_trace() -> None:
    guard = Guard()
    with ThreadPoolExecutor(1) as pool:
        writer = Actor(pool, [], "changes", changer(guard))
        assert writer.inside.wait(LONG)
        for enter in (guard.reading(0.01), guard.changing(0.01)):
            with pytest.raises(ModelStateError, match=r"waited 0\.01 seconds"), enter:
                pass
        assert not guard._line and not guard._changers
        writer.leave.set()
        writer.done.result(LONG)
    with guard.changing():
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="raise_signal ends the process there")
@pytest.mark.parametrize("entry", ["reading", "changing"])
def test_ctrl_c_ends_waiting(entry: str) -> None:
    guard = Guard()
    with ThreadPoolExecutor(2) as pool:
        writer = Actor(pool, [], "changes", changer(guard))
        assert writer.inside.wait(LONG)

        def interrupt() -> None:
            waiting(guard, 1)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

        pressed = pool.submit(interrupt)
        with pytest.raises(KeyboardInterrupt), getattr(guard, entry)(LONG):
            pass
        pressed.result(LONG)
        assert not guard._line and not guard._changers
        writer.leave.set()
        writer.done.result(LONG)
    with guard.changing():
        pass


@pytest.fixture
def short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Learn one row at a time."""
    monkeypatch.setattr(_online, "_STEP_NONZEROS", 1)
    monkeypatch.setattr(_online, "_STEP_SECONDS", 1e-9)


@pytest.mark.usefixtures("short_steps")
@pytest.mark.parametrize("targets", ["sets", "columns", "dicts"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_it_learns_what_the_model_itself_would(targets: str, n_jobs: int) -> None:
    X: Any
    Y: Any
    X, Y = noise(n=80)
    if targets == "columns":
        X, Y = X[:, :8], (X[:, 8:] != 0).astype(int)
    elif targets == "dicts":
        X, Y = dict_rows(80), [f"class {t % 12}" for t in range(80)]
    plain = OnlinePLTClassifier(arity=2, max_leaves=4, thresholds="ofo", n_jobs=n_jobs)
    if targets == "dicts":
        plain.set_params(thresholds=None)
    model = copy.deepcopy(plain).shared()
    for part in (slice(0, 30), slice(30, 80)):
        plain.partial_fit(X[part], Y[part])
        assert model.partial_fit(X[part], Y[part]) is model
        assert state(model.model) == state(plain)


@pytest.mark.usefixtures("short_steps")
def test_readers_meet_whole_models_only() -> None:
    """Each answer comes from the model after a whole number of rows, never a half-updated one."""
    X, Y = noise(n=60)
    base = OnlinePLTClassifier(arity=2, max_leaves=4).partial_fit(X, Y)
    more, labels = noise(seed=1, n=40)
    labels = [[f"new {t}", *row] for t, row in enumerate(labels)]
    possible = {_answers(base)}
    twin = copy.deepcopy(base)
    for t in range(40):
        possible.add(_answers(twin.partial_fit(more[[t]], [labels[t]])))
    model, stop = base.shared(LONG), threading.Event()
    with ThreadPoolExecutor(3) as pool:

        def read() -> set[Any]:
            seen = set()
            while not stop.is_set():
                seen.add(model.read(_answers))
            return seen

        readers = [pool.submit(read) for _ in range(2)]
        try:
            model.partial_fit(more, labels)
        finally:
            stop.set()
        seen = readers[0].result(LONG) | readers[1].result(LONG)
    assert seen <= possible
    assert model.read(_answers) == _answers(twin)


def _answers(clf: OnlinePLTClassifier) -> Any:
    found, scores = clf.predict_topk(noise(seed=2, n=3)[0], 4)
    size = (clf.examples_seen_, clf.n_classes_, int(clf.label_counts_.sum()), clf.tree_.n_nodes)
    return (*found.ravel().tolist(), scores.tobytes(), *size)


def test_predicting_goes_on_while_examples_are_validated() -> None:
    model = (
        OnlinePLTClassifier().partial_fit(dict_rows(), [f"l{t}" for t in range(30)]).shared(LONG)
    )
    held = Held({"all": 1.0})
    with held.by(lambda: model.partial_fit([held], ["late"])):
        assert model.predict_topk(dict_rows(1), 1)[0].shape == (1, 1)
        assert "late" not in model.read(lambda clf: clf.classes_)
    assert "late" in model.read(lambda clf: clf.classes_)


def test_the_model_itself_still_refuses() -> None:
    clf = OnlinePLTClassifier().partial_fit(dict_rows(), [f"l{t}" for t in range(30)])
    held = Held({"all": 1.0})
    with held.by(lambda: clf.shared().partial_fit([held], ["late"])):
        for use in (lambda: clf.partial_fit([{}], ["x"]), lambda: clf.remove_labels(["l1"])):
            with pytest.raises(ModelStateError, match=r"another thread.*shared\(\)"):
                use()
    with ThreadPoolExecutor(1) as pool:
        writer = Actor(pool, [], "changes", changer(clf._guard))
        assert writer.inside.wait(LONG)
        with pytest.raises(ModelStateError, match=r"another thread.*shared\(\)"):
            clf.predict_topk([{}])
        with pytest.raises(ModelStateError, match="waited 0 seconds"):
            clf.shared(timeout=0).predict_topk([{}])
        writer.leave.set()


@pytest.mark.usefixtures("short_steps")
def test_what_is_refused_changes_nothing() -> None:
    X, Y = noise()
    model = OnlinePLTClassifier().partial_fit(X, Y).shared()
    before = state(model.model)
    for rows, labels in ((X, [*Y[:-1], [3]]), (X, Y[:-1]), (X, [*Y[:-1], ["\ud800"]])):
        with pytest.raises(DataError):
            model.partial_fit(rows, labels)
        assert state(model.model) == before
    with pytest.raises(DataError):
        model.remove_labels(["nobody"])
    assert state(model.model) == before


@pytest.mark.usefixtures("short_steps")
@pytest.mark.skipif(sys.platform == "win32", reason="raise_signal ends the process there")
def test_ctrl_c_between_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y = noise(n=30)
    learn, learnt = _online.learn_run, []

    def interrupted(*arguments: Any, **options: Any) -> None:
        learn(*arguments, **options)
        learnt.append(arguments)
        if len(learnt) == 5:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(_online, "learn_run", interrupted)
    model = OnlinePLTClassifier().shared()
    with pytest.raises(LearningInterrupted) as stop:
        model.partial_fit(X, Y)
    monkeypatch.undo()
    assert stop.value.examples_learned == 5
    model.partial_fit(X[5:], Y[5:])
    assert state(model.model) == state(OnlinePLTClassifier().partial_fit(X, Y))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_between_steps_and_within_one() -> None:
    clf = OnlinePLTClassifier().partial_fit(dict_rows(), [f"l{t}" for t in range(30)])
    model = clf.shared(timeout=LONG)

    def in_child(use: Callable[[], Any]) -> int:
        child = os.fork()
        if child == 0:
            try:
                use()
                os._exit(0)
            except ModelStateError as error:
                os._exit(3 if "forked" in str(error) else 4)
            finally:
                os._exit(5)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def predict() -> None:
        model.predict_topk(dict_rows(1))

    def learn() -> None:
        model.partial_fit(dict_rows(1), ["other"])

    held = Held({"all": 1.0})
    with held.by(lambda: model.partial_fit([held], ["late"])):
        assert [in_child(predict), in_child(learn)] == [0, 0]
    with ThreadPoolExecutor(1) as pool:
        writer = Actor(pool, [], "changes", changer(clf._guard))
        assert writer.inside.wait(LONG)
        assert [in_child(predict), in_child(learn)] == [3, 3]
        writer.leave.set()


def test_all_it_offers() -> None:
    X, Y = noise()
    model = OnlinePLTClassifier().shared()
    assert isinstance(model, SharedModel)
    with pytest.raises(NotLearnedError):
        model.predict_topk(X)
    clf = model.partial_fit(X, Y).model
    assert (model.predict(X) != clf.predict(X)).nnz == 0
    assert (model.predict_proba(X, top_k=2) != clf.predict_proba(X, top_k=2)).nnz == 0
    first, second = clf.classes_[:2].tolist()
    model.rename_labels({first: "renamed"}).remove_labels([second])
    assert "renamed" in clf.classes_ and second not in clf.classes_
    with pytest.raises(DataError, match="expected a mapping"):
        model.rename_labels("ab")
    model.set_thresholds([0.3] * clf.n_classes_)
    assert clf.thresholds_.tolist() == [0.3] * clf.n_classes_
    with pytest.raises(ValueError, match="timeout=-1"):
        clf.shared(timeout=-1)
