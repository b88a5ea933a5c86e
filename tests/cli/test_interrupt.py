from __future__ import annotations

import signal
import threading

import pytest

from labelgrove.cli._interrupt import PoliteInterrupt


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def test_what_must_not_be_cut_is_finished_first() -> None:
    done = []
    with PoliteInterrupt() as interrupt, pytest.raises(KeyboardInterrupt):
        with interrupt.deferred():
            press()
            done.append("all")
        done.append("more")
    assert done == ["all"]


def test_elsewhere_it_is_answered_at_once() -> None:
    done = []
    with PoliteInterrupt() as interrupt, pytest.raises(KeyboardInterrupt):
        with interrupt.deferred():
            pass
        press()
        done.append("more")
    assert done == []


def test_the_second_time_it_is_answered_at_once() -> None:
    done = []
    with PoliteInterrupt() as interrupt, pytest.raises(KeyboardInterrupt), interrupt.deferred():
        press()
        done.append("first")
        press()
        done.append("second")
    assert done == ["first"]


def test_a_failure_inside_comes_out_as_it_is() -> None:
    with (
        PoliteInterrupt() as interrupt,
        pytest.raises(ValueError, match="row"),
        interrupt.deferred(),
    ):
        press()
        raise ValueError("row")


def test_the_handler_is_put_back() -> None:
    with PoliteInterrupt():
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ignored_interrupts_stay_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with PoliteInterrupt() as interrupt, interrupt.deferred():
            press()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def test_other_threads_leave_the_handler_alone() -> None:
    handlers = []

    def look() -> None:
        with PoliteInterrupt():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert handlers == [signal.default_int_handler]
