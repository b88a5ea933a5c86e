"""Rebuilding: a new tree from the whole log, built in a separate process.

That process, :func:`main`, writes the batch model to the project's folder, and prints how it
compares with the model that has grown online.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from labelgrove import TextClassifier
from labelgrove._errors import LabelGroveError
from labelgrove.service._database import is_disk_full, reading
from labelgrove.service._events import NAME_CHANGES, NEW_BEGINNINGS, Example, Row, named_now
from labelgrove.service._history import History
from labelgrove.service._model import batch_model, learnt_anew, teach
from labelgrove.service._problems import Problem
from labelgrove.service._settings import Settings

_LEAST = 20
_MOST_JUDGED = 2_000


class Comparison(msgspec.Struct):
    """A batch model compared with the one that has grown online, as `Rebuilding` says.

    ``upto`` is the last event that the batch model has learnt from.
    """

    upto: int
    examples: int
    before: float
    after: float


def compare(folder: Path, head: int) -> Comparison:
    """Build a model from all but the end of the log up to `head`, and compare both models there."""
    with reading(folder / "log.sqlite") as read:
        rows = read(0, head)
        controls = [row for row in rows if row.kind not in {"learn", "forgotten"}]
        settings = msgspec.json.decode(controls[0].body, type=Settings)
        history = History(folder, settings, controls, read)
        changes = [row for row in controls if row.kind in NAME_CHANGES]
        examples = list(named_now(rows, changes))
        if len(examples) < _LEAST:
            raise Problem(409, f"found {len(examples)} examples; expected at least {_LEAST}")
        judged = max(_LEAST // 2, min(len(examples) // 10, _MOST_JUDGED))
        old, new = examples[:-judged], examples[-judged:]
        upto = old[-1].sequence
        model = batch_model(settings, old)
        model.save(folder / f"built-{upto}-{head}.lg")
        grown = _grown(history, settings, old, [row for row in changes if row.sequence > upto])
        return Comparison(upto, judged, hit_rate(grown, new), hit_rate(model, new))


def _grown(
    history: History, settings: Settings, examples: Sequence[Example], changes: Sequence[Row]
) -> TextClassifier:
    """Return the model that has grown online from examples, given the changes of names after them.

    It must know labels by their current names, as the examples at the end of the stream have them.
    """
    if any(row.kind in NEW_BEGINNINGS for row in changes):
        return learnt_anew(settings, examples)
    learner = history.model_at(examples[-1].sequence)
    learner.apply(changes)
    model: TextClassifier = learner.model
    return model


def hit_rate(model: Any, examples: Sequence[Example]) -> float:
    """Measure how often the first suggestion is right, just before its example is learnt."""
    hits = 0
    for example in examples:
        [[best]] = model.predict_topk([example.text], k=1)[0].tolist()
        hits += best in example.labels
        teach(model, [example])
    return hits / len(examples)


def compare_beside(folder: Path, head: int, started: set[subprocess.Popen[str]]) -> Comparison:
    """Run :func:`compare` in another process, which is in `started` meanwhile.

    Raises Problem: 500 if it fails, 503 if it is stopped: by SIGTERM, or by a caller that took it
    out of `started` first, since Windows does not tell how a process ended.
    """
    # It finds modules where this process does; by itself it would look in the current folder first.
    run = (
        f"import sys; sys.path = {sys.path!r}; "
        f"from {__name__} import end_with_service, main; end_with_service(); main()"
    )
    words = [sys.executable, "-P", "-c", run, str(folder), str(head)]
    pipe = subprocess.PIPE
    with subprocess.Popen(  # noqa: S603
        words,
        stdin=pipe,
        stdout=pipe,
        text=True,
        process_group=0,  # Ctrl-C in the terminal is for the service, which stops the process
    ) as process:
        started.add(process)
        try:
            assert process.stdout is not None
            output = process.stdout.read()
            process.wait()
        finally:
            stopped = process not in started
            started.discard(process)
    if stopped or process.returncode == -signal.SIGTERM:
        raise Problem(503, "rebuild: stopped, since the project was closed")
    if not output:
        raise Problem(500, f"rebuild: its process failed with status {process.returncode}")
    answer: dict[str, Any] = json.loads(output)
    if "problem" in answer:
        raise Problem(answer["status"], f"rebuild: {answer['problem']}")
    return msgspec.convert(answer, Comparison)


def main() -> None:
    """Run `compare` with the arguments of the command line, and print the result."""
    folder, head = sys.argv[1:]
    try:
        answer: Any = msgspec.to_builtins(compare(Path(folder), int(head)))
    except Problem as problem:
        answer = {"problem": str(problem), "status": problem.status}
    except (OSError, sqlite3.Error, LabelGroveError) as failure:
        if is_disk_full(failure):
            answer = {"problem": "the disk is full; nothing was changed", "status": 507}
        else:
            answer = {"problem": str(failure), "status": 500}
    sys.stdout.write(json.dumps(answer))


def end_with_service() -> None:
    """End this process once standard input, a pipe from the service, is closed."""

    def wait() -> None:
        os.read(0, 1)  # not sys.stdin, whose lock may not be held when Python ends
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
