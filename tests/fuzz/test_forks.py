"""Forks at any moment, while threads learn, predict and create estimators."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from contract.kit import noise
from fuzz.extremes import examples
from labelgrove import ModelStateError, OnlinePLTClassifier, PLTClassifier

pytestmark = [
    pytest.mark.fuzz,
    pytest.mark.slow,  # skipped under AddressSanitizer, whose allocator a fork may leave locked
    pytest.mark.skipif(sys.platform in {"win32", "darwin"}, reason="no safe fork here"),
]

PATIENCE = 60  # seconds until a child counts as hanging


def test_forks_beside_threads() -> None:
    """A child can use idle models, gets an error for models in use, and never hangs."""
    X, Y = noise(n=200)
    learning = OnlinePLTClassifier(n_jobs=2).fit(X, Y)
    resting = OnlinePLTClassifier(n_jobs=2).fit(X, Y)
    expected = resting.predict_topk(X, 3)[1]
    few = X[:40], Y[:40]
    ended = threading.Event()

    def over_and_over(use: Callable[[], Any]) -> threading.Thread:
        def run() -> None:
            while not ended.is_set():
                use()

        return threading.Thread(target=run)

    def child() -> None:
        found = resting.predict_topk(X, 3)[1]
        assert np.array_equal(found, expected, equal_nan=True)
        OnlinePLTClassifier().fit(*few).predict_topk(X[:2], 1)
        PLTClassifier(n_jobs=2).fit(*few)
        with suppress(ModelStateError):
            learning.predict_topk(X[:2], 1)
        resting.partial_fit(*few)

    beside = [
        over_and_over(lambda: learning.partial_fit(X, Y)),
        over_and_over(lambda: OnlinePLTClassifier().fit(X[:2], Y[:2])),
        over_and_over(lambda: resting.predict_topk(X[:20], 3)),
    ]
    moments = random.Random(0)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    for thread in beside:
        thread.start()
    try:
        for _ in range(examples(25)):
            time.sleep(moments.random() / 100)
            assert status_of(child) == 0
    finally:
        ended.set()
        for thread in beside:
            thread.join()
        sys.setswitchinterval(interval)


def status_of(work: Callable[[], None]) -> int:
    """Exit status of a forked process: 0 on success, 1 on failure, a signal if it hung."""
    process = os.fork()
    if process == 0:
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(PATIENCE)
            work()
            os._exit(0)
        except BaseException as error:  # noqa: BLE001 - the child must end here, whatever it was
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(1)
    return os.waitpid(process, 0)[1]
