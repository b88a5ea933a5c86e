"""A better tree, built of the whole log beside the service, in a process of its own.

That process, :func:`main`, leaves the model in batch in the project's folder, and says on standard
output how it compares with the one that has grown.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from labelgrove.service._database import Reading
from labelgrove.service._events import NAME_CHANGES, Example, named_now
from labelgrove.service._history import History
from labelgrove.service._model import batch_model, teach
from labelgrove.service._problems import Problem
from labelgrove.service._settings import Settings

_LEAST = 20
_MOST_JUDGED = 2_000


class Comparison(msgspec.Struct):
    """A model in batch beside the one that has grown.

    Attributes
    ----------
    upto : int
        The last event that the one in batch was built of.
    examples : int
        At the stream's end, on which both were compared.
    before, after : float
        How often the first suggestion was right, just before its example was learnt.
    """

    upto: int
    examples: int
    before: float
    after: float


def compare(folder: Path, head: int) -> Comparison:
    """Build a model of all but the stream's end, and compare both models there.

    Parameters
    ----------
    folder : Path
        Of the project.
    head : int
        Sequence number of the last event to be looked at.
    """
    with closing(Reading(folder / "log.sqlite")) as log:
        rows = log.read(0, head)
        controls = [row for row in rows if row.kind not in {"learn", "forgotten"}]
        settings = msgspec.json.decode(controls[0].body, type=Settings)
        history = History(folder, settings, controls, log.read)
        changes = [row for row in controls if row.kind in NAME_CHANGES]
        examples = list(named_now(rows, changes))
        if len(examples) < _LEAST:
            raise Problem(409, f"there are {len(examples)} examples; expected {_LEAST} at least")
        judged = max(_LEAST // 2, min(len(examples) // 10, _MOST_JUDGED))
        old, new = examples[:-judged], examples[-judged:]
        upto = old[-1].sequence
        model = batch_model(settings, old)
        partial = folder / "built.partial"
        model.save(partial)
        partial.replace(folder / f"built-{upto}-{head}.lg")
        grown = history.model_at(upto)
        return Comparison(upto, judged, hit_rate(grown.model, new), hit_rate(model, new))


def hit_rate(model: Any, examples: Sequence[Example]) -> float:
    """How often the first suggestion is right, just before its example is learnt."""
    hits = 0
    for example in examples:
        [[best]] = model.predict_topk([example.text], k=1)[0].tolist()
        hits += best in example.labels
        teach(model, [example])
    return hits / len(examples)


def compare_beside(folder: Path, head: int, started: list[subprocess.Popen[str]]) -> Comparison:
    """Run :func:`compare` in another process, which may be killed through `started`.

    Raises
    ------
    Problem
        500 if it fails, 503 if it was stopped.
    """
    run = f"from {__name__} import main; main()"
    words = [sys.executable, "-c", run, str(folder), str(head)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        started.append(process)
        try:
            output, _ = process.communicate()
        finally:
            started.remove(process)
    if process.returncode == -signal.SIGTERM:
        raise Problem(503, "rebuild: stopped, as the project was closed")
    if not output:
        raise Problem(500, f"rebuild: its process ended by {process.returncode}")
    answer: dict[str, Any] = json.loads(output)
    if "problem" in answer:
        raise Problem(answer["status"], f"rebuild: {answer['problem']}")
    return msgspec.convert(answer, Comparison)


def main() -> None:
    """Compare what the command line says, and tell the result on standard output."""
    folder, head = sys.argv[1:]
    try:
        answer: Any = msgspec.to_builtins(compare(Path(folder), int(head)))
    except Problem as problem:
        answer = {"problem": str(problem), "status": problem.status}
    sys.stdout.write(json.dumps(answer))
