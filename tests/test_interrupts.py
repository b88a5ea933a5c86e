from __future__ import annotations

import signal
import threading

import pytest

from labelgrove._interrupts import held_back


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def test_what_must_not_be_cut_is_finished_first() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt):
        with held_back():
            press()
            press()
            done.append("all")
        done.append("more")
    assert done == ["all"]


def test_a_block_may_answer_it_itself() -> None:
    with held_back() as interrupts:
        press()
        assert interrupts.pending
        interrupts.pending = False


def test_an_inner_block_leaves_it_to_the_outer_one() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), held_back() as outer:
        with held_back() as inner:
            press()
        done.append((outer.held, outer.pending, inner.held, inner.pending))
    assert done == [(True, True, False, False)]


def test_it_is_not_lost_when_the_block_fails() -> None:
    with pytest.raises(KeyboardInterrupt) as caught, held_back():
        press()
        raise ValueError("row")
    assert isinstance(caught.value.__context__, ValueError)


def test_the_handler_is_put_back() -> None:
    with held_back():
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ignored_interrupts_stay_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with held_back():
            press()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def test_other_threads_leave_the_handler_alone() -> None:
    handlers = []

    def look() -> None:
        with held_back():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert handlers == [signal.default_int_handler]
