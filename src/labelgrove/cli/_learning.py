"""What `train` and `learn` do: learn from a file, write the model, its page and a summary."""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
import typer

from labelgrove import _numbers, distributed
from labelgrove._errors import DataError, FileFormatError
from labelgrove._interrupts import held_back
from labelgrove._parameters import byte_count
from labelgrove.cli._application import FAILURE, INTERRUPTED
from labelgrove.cli._checkpoints import Checkpoints
from labelgrove.cli._misread import warn_of_misread_labels
from labelgrove.cli._models import (
    Model,
    algorithm_of,
    check_can_write,
    inputs_of,
    learner_of,
    targets_of,
    threads_of,
)
from labelgrove.cli.streams._console import (
    about_os_error,
    say,
    say_error,
    say_warning,
    show_pairs,
    write_json,
)
from labelgrove.cli.streams._progress import ProgressLine, ShareLine, shown
from labelgrove.cli.streams._source import CHUNK_ROWS, LEARNING_ROWS, Source, rows
from labelgrove.cli.streams._units import warn_of_units
from labelgrove.data import Columns, Dataset, Examples, open_dataset
from labelgrove.data._mapped import is_mapped
from labelgrove.evaluation import StreamRecord
from labelgrove.models import TextClassifier
from labelgrove.models._online import predict_and_learn
from labelgrove.models._text_classifier import counter_of
from labelgrove.reporting import write_stream_report
from labelgrove.reporting._page import check_packages
from labelgrove.text._counted import CountedTexts
from labelgrove.vocabulary import Vocabulary

Indices = npt.NDArray[np.uint64]

#: So many examples are all predicted before they are learnt; later fewer, at last one in `EVERY`.
#: They come in runs of `BURST`, since each prediction makes nodes learn all that waits for them.
ALL_PREDICTED, EVERY, BURST = 256, 16, 64

#: Batches are at most so large in the first `_FIRST` examples, and while every one is predicted.
_SMALL, _FIRST = 256, LEARNING_ROWS


@dataclass
class Learning:
    """The state of one learning run."""

    model: Model
    #: The course of the first pass, which predicts every example or only some.
    record: StreamRecord = field(default_factory=lambda: StreamRecord(places=1))
    all_predicted: bool = False
    examples: int = 0  # learnt, once per pass
    seconds: float = 0.0  # including reading and predicting
    passes: int = 0  # completed
    stopped: bool = False  # by Ctrl-C
    labelled: bool = True  # whether any example read has a label

    @property
    def n_labels(self) -> int:
        """Labels that the model knows."""
        return int(getattr(self.model, "n_classes_", 0))

    def figures(self) -> dict[str, Any]:
        """Return what a checkpoint holds besides the model and the number of examples."""
        return {"seconds": self.seconds, "record": self.record.state()}

    def was_finished(self, checkpoints: Checkpoints) -> bool:
        """Whether an earlier run wrote this model and stopped before it could clean up."""
        finished = checkpoints.finished(self.model)
        if finished is None:
            return False
        self.examples, state = finished
        self.seconds, self.record = state["seconds"], StreamRecord.resumed(state["record"])
        self.passes = 1
        say(
            f"an earlier run already learnt these {_numbers.counted(self.examples, 'example')} "
            "before it stopped"
        )
        return True

    def resume(self, checkpoints: Checkpoints) -> None:
        """Resume from the latest checkpoint, if there is one."""
        latest = checkpoints.latest()
        if latest is not None:
            self.model, self.examples, state = latest
            self.seconds, self.record = state["seconds"], StreamRecord.resumed(state["record"])
            say(f"resuming after {_numbers.counted(self.examples, 'example')} of an earlier run")


def learn_from(
    model: Model,
    source: Source,
    passes: int = 1,
    *,
    checkpoints: Checkpoints,
    record: StreamRecord | None,
) -> Learning:
    """Learn all examples of a source, batch by batch, with a progress line on terminals.

    Ctrl-C ends learning early, between two batches, and sets ``stopped``. Models that learn one
    example at a time write checkpoints; if an earlier run left one, learning resumes from its model
    rather than ``model``. If there is a ``record`` of the course, every example is predicted.
    """
    if not learns_one_by_one(model):
        return _fit_from(model, source)
    state = Learning(model)
    if record is not None:
        state.record, state.all_predicted = record, True
    if state.was_finished(checkpoints):
        return state
    state.resume(checkpoints)
    state.labelled = False
    line = source.progress("learning")
    learnt, seen, threads = state.examples, 0, threads_of(model)
    begin = perf_counter() - state.seconds
    try:
        with shown(line):
            for number in range(1, passes + 1):
                if passes > 1:
                    line.restart(f"pass {number}/{passes}", source.total)
                done = 0
                small = 0 if number > 1 else math.inf if state.all_predicted else _FIRST
                batches = _batches(source, small)
                counting = max(threads - 1, 1)  # one thread learns meanwhile
                given = _given(state.model, batches, source.path, counting, skip=learnt - seen)
                for batch, X in source.ahead(given, threads):
                    seen += batch.n_rows
                    state.labelled = state.labelled or any(map(len, batch.labels))
                    if X is not None:
                        with held_back():
                            learn_batch(state, batch, X, source.path, predict=number == 1)
                            state.examples += batch.n_rows
                    done += batch.n_rows
                    line.update(done, facts(state))
                    if X is not None and checkpoints.are_due():
                        state.seconds = perf_counter() - begin
                        checkpoints.keep(state.model, state.examples, state.figures())
                state.passes = number
    except KeyboardInterrupt:
        state.stopped = True
    state.seconds = perf_counter() - begin
    return state


def _fit_from(model: Model, source: Source) -> Learning:
    """Read all examples, then learn from them at once; after Ctrl-C nothing has been learnt."""
    state = Learning(model)
    line = source.progress("reading")
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
    """Read all examples; return the model's inputs and their labels."""
    if not isinstance(model, TextClassifier):
        examples = source.whole(line)
        return inputs_of(model, examples, source.path), targets_of(model, examples, source.path)
    parts: list[Any] = []
    labels: list[Any] = []
    threads = threads_of(model)
    for batch, X in _given(model, source.ahead(source.chunks(), threads), source.path, threads):
        parts.append(X)
        labels += targets_of(model, batch, source.path)
        line.update(len(labels))
    if isinstance(parts[0], CountedTexts):
        return CountedTexts.of(parts), labels
    return [text for part in parts for text in part], labels


def _given(
    model: Model, batches: Iterable[Examples], path: str, threads: int, skip: int = 0
) -> Iterator[tuple[Examples, Any]]:
    """Yield batches with the model's inputs, or with None within the first ``skip`` examples."""
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
    """Learn from a data set on disk in pieces, and write the model.

    ``dask`` is the address of a scheduler whose workers learn the pieces; ``memory`` limits the
    memory of each process. The model passed in does not change.
    """
    if not is_mapped(data):
        raise DataError(f"{data}: expected a folder written by labelgrove convert")
    dataset = open_dataset(data, verify=False)  # already verified by the `Source`
    if not len(dataset.labels.ids):
        raise DataError(f"{data}: no example has a label; no model was written")
    _require_ids(dataset, learner_of(model).vocabulary_)
    if dataset.X is not None:
        warn_of_units(dataset.X[:CHUNK_ROWS])
    line, begin = ShareLine("learning"), perf_counter()
    limit = {}
    if memory is not None:
        limit["memory"] = byte_count("--memory", memory, distributed.LEAST_MEMORY)
    workers = nullcontext() if dask is None else _client(dask)
    with workers as client, shown(line):
        learnt = distributed.fit(
            model, dataset, output, executor=client, progress=line.set_share, **limit
        )
    n = learnt.examples_seen_
    return Learning(learnt, examples=n, seconds=perf_counter() - begin, passes=1)


def _client(address: str) -> Any:
    """Connect to a Dask scheduler; when it is lost, Dask would log tracebacks before our error."""
    client = distributed.client(address)
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    return client


def _require_ids(dataset: Dataset, vocabulary: Vocabulary | None) -> None:
    """Refuse labels given by name, which only a `Source` replaces by ids."""
    if vocabulary is None or not dataset.labels_may_be_names:
        return
    for name in dataset.labels.names if dataset.labels.names is not None else ():
        label = vocabulary.id_of(name)
        if label != name:
            raise DataError(
                f"{dataset.path}: gives the label {label!r:.80} by its name, {name!r:.80}; "
                "expected ids with --memory or --dask, as in Annif's NAME.tsv files"
            )


def learns_one_by_one(model: Model) -> bool:
    """Whether a model learns its next examples one at a time; some begin better all at once."""
    begins_at_once = hasattr(model, "fit_progress") and not hasattr(model, "n_classes_")
    return hasattr(model, "partial_fit") and not begins_at_once


def learn_batch(state: Learning, batch: Examples, X: Any, path: str, *, predict: bool) -> None:
    """Learn a batch, some or all of whose rows are predicted just before they are learnt.

    Later passes do not ``predict``: the model has already learnt their rows.
    """
    model: Any = state.model
    asked, begin = _asked(state, batch.n_rows), perf_counter()
    try:
        targets = targets_of(state.model, batch, path)
        if not predict:
            model.partial_fit(X, targets, again=True)
            return
        found = predict_and_learn(model, X, targets, asked, state.record.places)
    except FileFormatError:
        raise
    except DataError as failure:
        place = f"{path}, lines {batch.lines[0]} to {batch.lines[-1]}"
        raise DataError(f"{place}: {failure}") from None
    _note(state, batch, asked, found, perf_counter() - begin)


def _asked(state: Learning, n_rows: int) -> Indices:
    """Return the rows of a batch to predict, chosen by the number of the example alone."""
    if state.all_predicted:
        return np.arange(n_rows, dtype=np.uint64)
    bursts = (state.examples + np.arange(n_rows)) // BURST
    doublings = np.frexp(bursts // (ALL_PREDICTED // BURST))[1]
    due = bursts % np.minimum(1 << doublings, EVERY) == 0
    return np.flatnonzero(due).astype(np.uint64)


def _note(
    state: Learning, batch: Examples, asked: Indices, found: list[list[Any]], seconds: float
) -> None:
    """Record the predictions of a batch; each run of them stands for the rows up to the next."""
    nodes, model = 0, state.model
    if state.all_predicted and hasattr(model, "tree_"):
        nodes = model.tree_.n_nodes
    best = dict(zip(asked.tolist(), found, strict=True))
    begins = sorted({0, *best, *(row + 1 for row in best)} - {batch.n_rows})
    for begin, end in pairwise([*begins, batch.n_rows]):
        share = seconds * (end - begin) / batch.n_rows
        predicted = [best[begin]] if begin in best else None
        state.record.add(batch.labels[begin:end], predicted, seconds=share, nodes=nodes)


def facts(state: Learning) -> list[str]:
    """Return figures for the progress line, the most important first."""
    return [
        f"P@1 {_numbers.percent(state.record.point().accuracy)}",
        _numbers.counted(state.n_labels, "label"),
    ]


def _batches(source: Source, small: float) -> Iterator[Examples]:
    """Yield the batches of a pass: its chunks, cut into parts in the first ``small`` examples."""
    seen = 0
    for chunk in source.chunks():
        start = 0
        while start < chunk.n_rows:
            size = min(seen + 1, _SMALL) if seen < small else LEARNING_ROWS
            whole = start == 0 and size >= chunk.n_rows
            batch = chunk if whole else rows(chunk, slice(start, start + size))
            yield batch
            start += batch.n_rows
            seen += batch.n_rows


def new_record(page: str | None, known: Sequence[Any] = ()) -> StreamRecord | None:
    """Create a record if a page is wanted, and can be written; ``known`` are the model's labels."""
    if page is None:
        return None
    check_can_write(page)
    check_packages()
    return StreamRecord(known)


def write_record(page: str | None, learning: Learning, model: str, data: str) -> None:
    """Write the page on the course of learning, if it was recorded."""
    if page is None:
        return
    if not learning.record.examples:
        say_warning(f"{page}: not written, as nothing is predicted while this model learns")
        return
    source = "standard input" if data == "-" else Path(data).name
    vocabulary = learning.model.vocabulary_
    called = str if vocabulary is None else vocabulary.called
    try:
        write_stream_report(
            learning.record, page, name=Path(model).stem, data_name=source, called=called
        )
    except OSError as failure:
        say_error(f"{about_os_error(failure)}; the model is saved in {model}")
        raise typer.Exit(FAILURE) from None


def finish_learning(
    learning: Learning,
    path: str,
    checkpoints: Checkpoints,
    *,
    for_prediction: bool,
) -> None:
    """Write the model; after Ctrl-C before the first example exit with its status."""
    if learning.examples == 0:
        if learning.stopped:
            say_error("stopped by Ctrl-C before anything was learnt; no model was written")
            raise typer.Exit(INTERRUPTED)
        raise DataError("DATA contains no examples; no model was written")
    if learning.n_labels == 0 or not (learning.labelled or learning.stopped):
        raise DataError(
            f"{_numbers.counted(learning.examples, 'example')} read, but none has a label; "
            "no model was written"
        )
    with shown(ProgressLine(f"writing {path}")):
        if not learning.stopped:
            checkpoints.finish(learning.model, learning.examples, learning.figures())
        learning.model.save(path, for_prediction=for_prediction)
    checkpoints.model_is_written()


def report_learning(
    learning: Learning,
    path: str,
    columns: Columns,
    *,
    known_before: Collection[Any] = (),
    settings: Sequence[str] | None = None,
    as_json: bool,
) -> None:
    """Print a summary of a written model; after Ctrl-C exit with its status.

    ``columns`` are those that were read, ``known_before`` the labels before learning, a set, and
    ``settings`` the ``--set`` options of a new model.
    """
    if as_json:
        result = _for_programs(learning, path, len(known_before))
        write_json(result if settings is None else {**result, "settings": list(settings)})
    elif not learning.stopped:
        show_pairs(_for_people(learning, path, len(known_before)))
    sys.stdout.flush()  # before the checkpoints are removed
    warn_of_misread_labels(learning.model, learning.examples, columns, known_before)
    _warn_of_other_names(learning)
    if learning.stopped:
        say_error(
            f"stopped by Ctrl-C after {_numbers.counted(learning.examples, 'example')}; "
            f"the model learnt so far is saved in {path}"
        )
        raise typer.Exit(INTERRUPTED)


def _warn_of_other_names(learning: Learning) -> None:
    """Warn if the vocabulary holds no label of any example, perhaps as its ids are other ones."""
    model = learning.model
    vocabulary = model.vocabulary_
    if vocabulary is None:
        return
    own = 1 if getattr(model, "names", None) else 0  # the names that it has learnt count as one
    labels = list(zip(model.classes_.tolist(), model.label_counts_.tolist(), strict=True))
    others = [label for label, _ in labels if label not in vocabulary]
    if others and not any(count > own for label, count in labels if label in vocabulary):
        say_warning(
            f"the vocabulary names none of the labels learnt, such as {others[0]!r:.80}; its ids "
            f"are such as {next(iter(vocabulary))!r:.80}"
        )


def _for_programs(learning: Learning, path: str, known_before: int) -> dict[str, object]:
    return {
        "model": path,
        "bytes": Path(path).stat().st_size,
        "algorithm": algorithm_of(learning.model),
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
    speed = round(learning.examples / max(learning.seconds, 1e-9))
    time = _numbers.duration(learning.seconds)
    examples = f"{learning.examples:,} in {time} ({speed:,} per second)"
    labels = f"{learning.n_labels:,}"
    if known_before:
        labels += f" ({learning.n_labels - known_before:,} new)"
    progress = _numbers.percent(learning.record.point().accuracy)
    return [
        ("examples", examples),
        ("labels", labels),
        *([("P@1 while learning", progress)] if learning.record.examples else []),
        ("model", _numbers.sized(path)),
    ]
