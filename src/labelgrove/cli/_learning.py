"""What `train` and `learn` do: learn from a file, then write the model, its page and a summary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import typer

from labelgrove import distributed
from labelgrove._errors import DataError, FileFormatError, ParameterError
from labelgrove._interrupts import held_back
from labelgrove._parameters import size_from
from labelgrove.cli._application import INTERRUPTED
from labelgrove.cli._checkpoints import Checkpoints
from labelgrove.cli._models import Model, check_can_write, inputs_of, targets_of, threads_of
from labelgrove.cli.streams import _numbers
from labelgrove.cli.streams._console import say, say_error, show_pairs, write_json
from labelgrove.cli.streams._output import refuse_inputs
from labelgrove.cli.streams._progress import ProgressLine, ShareLine, shown
from labelgrove.cli.streams._source import LEARNING_ROWS, Source, rows
from labelgrove.data import Examples
from labelgrove.data._mapped import is_mapped
from labelgrove.evaluation import StreamRecord
from labelgrove.evaluation._progressive import predict_then_learn
from labelgrove.models import PLTClassifier, TextClassifier
from labelgrove.models._text_classifier import counter_of
from labelgrove.reporting import write_stream_report
from labelgrove.text._counted import CountedTexts

#: Rows that are predicted before a batch of at least so many is learnt.
SAMPLE = 256

#: Examples up to which batches are small enough to be predicted as a whole.
ALL_PREDICTED = 4_096


@dataclass
class Learning:
    """The state of a run of learning.

    Parameters
    ----------
    model : Model
        The model that learns.
    record : StreamRecord
        The course of the first pass.
    all_predicted : bool
        Whether all examples of it are predicted, or the first of each batch stand for the others.
    examples : int
        Examples learnt, each as often as it was learnt.
    seconds : float
        Time spent, reading and predicting included.
    passes : int
        Passes completed.
    stopped : bool
        True after Ctrl-C.
    """

    model: Model
    record: StreamRecord = field(default_factory=lambda: StreamRecord(places=1))
    all_predicted: bool = False
    examples: int = 0
    seconds: float = 0.0
    passes: int = 0
    stopped: bool = False

    @property
    def n_labels(self) -> int:
        """Labels known to the model by now."""
        return int(getattr(self.model, "n_classes_", 0))

    def keep(self, checkpoints: Checkpoints) -> None:
        """Leave a checkpoint."""
        checkpoints.keep(self.model, self.examples, self._state())

    def finish(self, checkpoints: Checkpoints) -> None:
        """Note that this is all, for a stop while the model is written."""
        checkpoints.finish(self.model, self.examples, self._state())

    def _state(self) -> dict[str, Any]:
        return {"seconds": self.seconds, "record": self.record.state()}

    def was_finished(self, checkpoints: Checkpoints) -> bool:
        """Whether an earlier run has written this model, and was stopped just then."""
        finished = checkpoints.finished(self.model)
        if finished is None:
            return False
        self.examples, state = finished
        self.seconds, self.record = state["seconds"], StreamRecord.resumed(state["record"])
        self.passes = 1
        say(f"{_numbers.counted(self.examples, 'example')} were learnt before a stop")
        return True

    def go_on(self, checkpoints: Checkpoints) -> None:
        """Go on from the latest checkpoint, if there is one."""
        latest = checkpoints.latest()
        if latest is not None:
            self.model, self.examples, state = latest
            self.seconds, self.record = state["seconds"], StreamRecord.resumed(state["record"])
            say(f"goes on after {_numbers.counted(self.examples, 'example')}, learnt before a stop")


def learn_from(
    model: Model,
    source: Source,
    passes: int = 1,
    *,
    checkpoints: Checkpoints,
    record: StreamRecord | None = None,
) -> Learning:
    """Learn all examples of a source, batch by batch, and show how it goes on a terminal.

    Ctrl-C ends learning early, with ``stopped`` set; the model has then learnt a whole number of
    examples.

    Parameters
    ----------
    model : Model
        Learns in place.
    source : Source
        The examples.
    passes : int, default=1
        How often to go through them.
    checkpoints : Checkpoints
        Left now and then, for a model that learns example by example; where an earlier run has
        left one, learning goes on from there, in a model of its own.
    record : StreamRecord, optional
        What to keep the course in; every example is predicted for it.
    """
    if not hasattr(model, "partial_fit") or _begins_at_once(model):
        return _fit_from(model, source)
    source.check_passes(passes)
    state = Learning(model)
    if record is not None:
        state.record, state.all_predicted = record, True
    if state.was_finished(checkpoints):
        return state
    state.go_on(checkpoints)
    line = ProgressLine("learning", source.total, source.share_read)
    learnt, seen, threads = state.examples, 0, threads_of(model)
    begin = perf_counter() - state.seconds
    try:
        with shown(line):
            for number in range(1, passes + 1):
                if passes > 1:
                    line.restart(f"pass {number}/{passes}", source.total)
                done = 0
                batches = _batches(
                    source, first_pass=number == 1, all_predicted=state.all_predicted
                )
                beside = max(threads - 1, 1)  # one learns meanwhile
                given = _given(state.model, batches, source.path, beside, skip=learnt - seen)
                for batch, X in source.ahead(given, threads):
                    seen += batch.n_rows
                    if X is not None:
                        with held_back():
                            learn_batch(state, batch, X, source.path, predict=number == 1)
                            state.examples += batch.n_rows
                    done += batch.n_rows
                    line.update(done, facts(state))
                    if X is not None and checkpoints.are_due():
                        state.seconds = perf_counter() - begin
                        state.keep(checkpoints)
                state.passes = number
    except KeyboardInterrupt:
        state.stopped = True
    state.seconds = perf_counter() - begin
    return state


def _fit_from(model: Model, source: Source) -> Learning:
    """Read all examples, then learn from them at once; Ctrl-C leaves nothing behind."""
    state = Learning(model)
    line = ProgressLine("reading", source.total, source.share_read)
    begin = perf_counter()
    try:
        with shown(line):
            X, labels = _read(model, source, line)
        if len(labels) > 0:
            done = len(labels)
            title = f"learning from {_numbers.counted(done, 'example')}"
            with shown(ShareLine(title, lambda: model.fit_progress)):
                model.fit(X, labels)
            state.examples, state.passes = done, 1
    except KeyboardInterrupt:
        state.stopped = True
    state.seconds = perf_counter() - begin
    return state


def _read(model: Model, source: Source, line: ProgressLine) -> tuple[Any, Any]:
    """Read all examples: what the model takes of them, and their labels."""
    if not isinstance(model, TextClassifier):
        examples = source.whole(line.update)
        if examples is None:
            return None, []
        return inputs_of(model, examples, source.path), examples.labels
    parts: list[Any] = []
    labels: list[Any] = []
    threads = threads_of(model)
    for batch, X in _given(model, source.ahead(source.chunks(), threads), source.path, threads):
        parts.append(X)
        labels += batch.labels
        line.update(len(labels))
    if parts and isinstance(parts[0], CountedTexts):
        return CountedTexts.of(parts), labels
    return [text for part in parts for text in part], labels


def _given(
    model: Model, batches: Iterable[Examples], path: str, threads: int, skip: int = 0
) -> Iterator[tuple[Examples, Any]]:
    """Give with examples what the model takes of them, but for the first so many."""
    count = None
    if isinstance(model, TextClassifier):
        count = counter_of(model, threads)
    for batch in batches:
        skip -= batch.n_rows
        if skip >= 0:
            yield batch, None
            continue
        X = inputs_of(model, batch, path)
        yield batch, X if count is None else count(X)


def learn_in_pieces(
    model: Model, data: str, output: str, *, memory: str | None, dask: str | None
) -> Learning:
    """Learn from a data set on disk by tasks, and write the model.

    ``dask`` is the address of a scheduler whose workers run the tasks, ``memory`` what a process
    may take. The model given stays as it is.
    """
    if not is_mapped(data):
        raise DataError(f"{data}: expected a folder that labelgrove convert has written")
    learner = model.classifier if isinstance(model, TextClassifier) else model
    if not isinstance(learner, PLTClassifier):
        raise ParameterError("--memory and --dask: expected --algorithm plt")
    share, begin = [0.0], perf_counter()

    def told(done: float) -> None:
        share[0] = done

    limit = {} if memory is None else {"memory": size_from("--memory", memory)}
    with ExitStack() as opened:
        client = None
        if dask is not None:
            client = opened.enter_context(distributed.client(dask))
        opened.enter_context(shown(ShareLine("learning", lambda: share[0])))
        learnt = distributed.fit(model, data, output, executor=client, progress=told, **limit)
    n = learnt.examples_seen_
    return Learning(learnt, examples=n, seconds=perf_counter() - begin, passes=1)


def _begins_at_once(model: Model) -> bool:
    """Whether a model that can go on learning learns its first examples better all at once."""
    return hasattr(model, "fit_progress") and not hasattr(model, "n_classes_")


def learn_batch(state: Learning, batch: Examples, X: Any, path: str, *, predict: bool) -> None:
    """Predict a batch, count the hits, then learn it.

    Later passes do not ``predict``: their rows have been learnt, and predictions would flatter.
    """
    model: Any = state.model
    try:
        targets = targets_of(state.model, batch, path)
        if predict:
            predict_then_learn(
                model,
                X,
                targets,
                batch.labels,
                state.record,
                sample=None if state.all_predicted else SAMPLE,
                count_nodes=state.all_predicted,
            )
        else:
            model.partial_fit(X, targets, again=True)
    except FileFormatError:
        raise
    except DataError as failure:
        place = f"{path}, lines {batch.lines[0]} to {batch.lines[-1]}"
        raise DataError(f"{place}: {failure}") from None


def facts(state: Learning) -> list[str]:
    """How a run goes, in a few words, the most important first."""
    return [
        f"P@1 {_numbers.percent(state.record.point().accuracy)}",
        _numbers.counted(state.n_labels, "label"),
    ]


def _batches(source: Source, first_pass: bool, all_predicted: bool) -> Iterator[Examples]:
    """Give the chunks of a pass, in smaller pieces where all of them will be predicted."""
    seen = 0
    for chunk in source.chunks():
        start = 0
        while start < chunk.n_rows:
            size = _batch_size(seen, all_predicted) if first_pass else LEARNING_ROWS
            whole = start == 0 and size >= chunk.n_rows
            batch = chunk if whole else rows(chunk, slice(start, start + size))
            yield batch
            start += batch.n_rows
            seen += batch.n_rows


def _batch_size(seen: int, all_predicted: bool) -> int:
    """1, 2, 4, … rows at first, or every label of the first chunk would be unknown."""
    return min(seen + 1, SAMPLE) if all_predicted or seen < ALL_PREDICTED else LEARNING_ROWS


def new_record(
    page: str | None, model: str, data: str, *, known: Sequence[Any] = ()
) -> StreamRecord | None:
    """Begin a record, where a page of it is wanted and can be written.

    The page must not take the place of ``model`` or ``data``; ``known`` are the model's labels.
    """
    if page is None:
        return None
    check_can_write(page)
    refuse_inputs(page, model, data)
    return StreamRecord(known)


def write_record(page: str | None, learning: Learning, model: str, data: str) -> None:
    """Write the page of what was recorded, if anything was."""
    if page is None or not learning.record.examples:
        return
    source = "standard input" if data == "-" else Path(data).name
    vocabulary = learning.model.vocabulary_
    called = str if vocabulary is None else vocabulary.called
    write_stream_report(
        learning.record, page, name=Path(model).stem, data_name=source, called=called
    )


def finish_learning(
    learning: Learning,
    path: str,
    checkpoints: Checkpoints,
    *,
    known_before: int = 0,
    for_prediction: bool = False,
    as_json: bool = False,
) -> None:
    """Write the model and report; after Ctrl-C say so and end with its status."""
    if learning.examples == 0:
        if learning.stopped:
            say_error("stopped by Ctrl-C before anything was learnt; no model was written")
            raise typer.Exit(INTERRUPTED)
        raise DataError("there is not a single example to learn from; no model was written")
    if learning.n_labels == 0:
        raise DataError(
            f"{_numbers.counted(learning.examples, 'example')} read, and none of them has a label; "
            "no model was written"
        )
    with shown(ProgressLine(f"writing {path}")):
        if not learning.stopped:
            learning.finish(checkpoints)
        learning.model.save(path, for_prediction=for_prediction)
    checkpoints.remove()
    report_learning(learning, path, known_before=known_before, as_json=as_json)


def report_learning(
    learning: Learning, path: str, *, known_before: int = 0, as_json: bool = False
) -> None:
    """Report on a model that has been written; after Ctrl-C say so and end with its status."""
    if as_json:
        write_json(_for_programs(learning, path, known_before))
    elif not learning.stopped:
        show_pairs(_for_people(learning, path, known_before))
    if learning.stopped:
        say_error(
            f"stopped by Ctrl-C after {_numbers.counted(learning.examples, 'example')}; "
            f"what has been learnt from them is saved in {path}"
        )
        raise typer.Exit(INTERRUPTED)


def _for_programs(learning: Learning, path: str, known_before: int) -> dict[str, object]:
    return {
        "model": path,
        "bytes": Path(path).stat().st_size,
        "examples": learning.examples,
        "passes": learning.passes,
        "labels": learning.n_labels,
        "new_labels": learning.n_labels - known_before,
        "progressive_p@1": learning.record.point().accuracy,
        "seconds": round(learning.seconds, 3),
        "examples_per_second": round(learning.examples / max(learning.seconds, 1e-9), 1),
        "interrupted": learning.stopped,
    }


def _for_people(learning: Learning, path: str, known_before: int) -> list[tuple[str, str]]:
    speed = _numbers.count(round(learning.examples / max(learning.seconds, 1e-9)))
    time = _numbers.duration(learning.seconds)
    examples = f"{_numbers.count(learning.examples)} in {time} ({speed} a second)"
    new = learning.n_labels - known_before
    labels = _numbers.count(learning.n_labels)
    if known_before:
        labels += f" ({_numbers.count(new)} of them new)"
    progress = _numbers.percent(learning.record.point().accuracy)
    return [
        ("examples", examples),
        ("labels", labels),
        *([("P@1 while learning", progress)] if learning.record.examples else []),
        ("model", f"{path} ({_numbers.size(Path(path).stat().st_size)})"),
    ]
