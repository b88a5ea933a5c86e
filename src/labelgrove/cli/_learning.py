"""The loop of `train`, `learn` and `demo`: predict a batch, count, learn it, go on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from labelgrove._errors import DataError, FileFormatError
from labelgrove._interrupts import held_back
from labelgrove.cli._models import Model
from labelgrove.cli.streams import _numbers
from labelgrove.cli.streams._progress import ProgressLine, ShareLine, shown
from labelgrove.cli.streams._source import CHUNK_ROWS, Source, joined, rows
from labelgrove.data import Examples
from labelgrove.evaluation import StreamRecord
from labelgrove.evaluation._progressive import predict_then_learn

#: Rows that are predicted before a batch of at least so many is learnt.
SAMPLE = 256

#: Examples up to which batches are small enough to be predicted as a whole.
ALL_PREDICTED = 16_384


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
        return int(getattr(self.model.classifier, "n_classes_", 0))


def learn_from(
    model: Model, source: Source, passes: int = 1, *, record: StreamRecord | None = None
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
    record : StreamRecord, optional
        What to keep the course in; every example is predicted for it.
    """
    if not hasattr(model.classifier, "partial_fit"):
        return _fit_from(model, source)
    source.check_passes(passes)
    state = Learning(model)
    if record is not None:
        state.record, state.all_predicted = record, True
    line = ProgressLine("learning", source.total)
    begin = perf_counter()
    before = _examples_seen(model)
    try:
        with shown(line):
            for number in range(1, passes + 1):
                if passes > 1:
                    line.restart(f"pass {number}/{passes}", source.total)
                done = 0
                for batch in _batches(
                    source, first_pass=number == 1, all_predicted=state.all_predicted
                ):
                    with held_back():
                        learn_batch(state, batch, source.path, predict=number == 1)
                    done += batch.n_rows
                    line.update(done, facts(state))
                state.passes = number
    except KeyboardInterrupt:
        state.stopped = True
    state.examples = _examples_seen(model) - before
    state.seconds = perf_counter() - begin
    return state


def _fit_from(model: Model, source: Source) -> Learning:
    """Read all examples, then learn from them at once; Ctrl-C leaves nothing behind."""
    state = Learning(model)
    line = ProgressLine("reading", source.total)
    begin = perf_counter()
    parts, done = [], 0
    try:
        with shown(line):
            for part in source.chunks():
                parts.append(part)
                done += part.n_rows
                line.update(done, [])
        if parts:
            examples = joined(parts)
            X = model.rows(examples, source.path)
            title = f"learning from {_numbers.counted(done, 'example')}"
            with shown(ShareLine(title, lambda: model.classifier.fit_progress)):
                model.classifier.fit(X, _targets(model, examples, source.path))
            state.examples, state.passes = done, 1
    except KeyboardInterrupt:
        state.stopped = True
    state.seconds = perf_counter() - begin
    return state


def learn_batch(state: Learning, batch: Examples, path: str, *, predict: bool) -> None:
    """Predict a batch, count the hits, then learn it.

    Parameters
    ----------
    state : Learning
        Counts and model, changed in place.
    batch : Examples
        Rows that the model has not seen.
    path : str
        Their file's name, for messages.
    predict : bool
        False on later passes, when the rows have been seen and a prediction would flatter.
    """
    classifier = state.model.classifier
    X = state.model.rows(batch, path)
    try:
        targets = _targets(state.model, batch, path)
        if predict:
            predict_then_learn(
                classifier,
                X,
                targets,
                batch.labels,
                state.record,
                sample=None if state.all_predicted else SAMPLE,
                count_nodes=state.all_predicted,
            )
        else:
            classifier.partial_fit(X, targets)
    except FileFormatError:
        raise
    except DataError as failure:
        place = f"{path}, lines {batch.lines[0]} to {batch.lines[-1]}"
        raise DataError(f"{place}: {failure}") from None


def _targets(model: Model, batch: Examples, path: str) -> Any:
    """Give the labels as the model takes them: collections, or single ones to a multi-class one."""
    if getattr(model.classifier, "target_type_", None) != "multiclass":
        return batch.labels
    for line, labels in zip(batch.lines, batch.labels, strict=True):
        if len(labels) != 1:
            raise FileFormatError(
                path,
                int(line),
                f"{_numbers.counted(len(labels), 'label')} found where the model, which has "
                "learnt classes that exclude one another, expects exactly one",
            )
    return [labels[0] for labels in batch.labels]


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
            size = _batch_size(seen, all_predicted) if first_pass else CHUNK_ROWS
            whole = start == 0 and size >= chunk.n_rows
            batch = chunk if whole else rows(chunk, slice(start, start + size))
            yield batch
            start += batch.n_rows
            seen += batch.n_rows


def _batch_size(seen: int, all_predicted: bool) -> int:
    """1, 2, 4, … rows at first, or every label of the first chunk would be unknown."""
    return min(seen + 1, SAMPLE) if all_predicted or seen < ALL_PREDICTED else CHUNK_ROWS


def _examples_seen(model: Model) -> int:
    return int(getattr(model.classifier, "examples_seen_", 0))
