"""Training on a data set on disk in tasks, run locally or anywhere, with little memory."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from labelgrove import _core
from labelgrove._errors import DataError, ModelFileError, ParameterError
from labelgrove._interrupts import held_back, run_watched
from labelgrove._labels import sorted_in_rows
from labelgrove._parameters import byte_count, thread_count
from labelgrove._paths import followed
from labelgrove._sparse import runs_of
from labelgrove._unfinished import Unfinished
from labelgrove._version import __version__
from labelgrove.data import Columns
from labelgrove.data._mapped import HEADER, Dataset, as_dataset
from labelgrove.distributed._executors import TRIES, Workers
from labelgrove.distributed._plan import plan_units
from labelgrove.distributed._tasks import (
    RUN,
    Arrays,
    Job,
    Pieces,
    Source,
    arrays_of_tree,
    assembled,
    build_tree,
    count,
    counts_of,
    embed,
    front_end,
    is_done,
    join,
    learn,
    perform,
    store,
    stored,
    weigh,
)
from labelgrove.models import PLTClassifier, TextClassifier, load
from labelgrove.models._plt_options import LINKS, BatchOptions, class_weights
from labelgrove.models._text_classifier import text_classifier
from labelgrove.models.engine._learned import Learned
from labelgrove.models.engine._trees import over_ids
from labelgrove.persistence import Storable
from labelgrove.text import TextFeatures
from labelgrove.trees import LabelTree

DEFAULT_MEMORY = 2 << 30
LEAST_MEMORY = 500 * 10**6
"""Minimum of the parameter ``memory`` of `fit`, in bytes."""
_ALONE = 256 << 20
"""Memory of Python and its packages before anything is learnt."""

_VECTOR_BYTES = 40
"""Memory per entry of a label's rows while label vectors are computed."""
_TEXT_BYTES = 64
"""Memory per byte of text while features are counted."""
_SHARE_OF_TEXTS = 0.25
"""Time to turn texts into rows, relative to the time to learn from these."""

Tell = Callable[[float], None]
Task = Callable[[], Arrays]
Model = TypeVar("Model", PLTClassifier, TextClassifier)


def fit(
    model: Model,
    dataset: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    memory: int | str = DEFAULT_MEMORY,
    executor: Any = None,
    progress: Tell | None = None,
) -> Model:
    r"""Train a batch model on a data set on disk that may be larger than memory.

    The model file is byte for byte the same as from ``model.fit(dataset.X,
    dataset.labels).save(output)``, or with ``dataset.text``, whatever the memory, the executor and
    the number of workers. The work is split into tasks that read the data set by path and write
    their results to a hidden folder next to the output. After an interruption, however sudden, the
    same call resumes with the unfinished tasks.

    Parameters
    ----------
    model : PLTClassifier, or TextClassifier with one
        Sets the parameters; it is not changed. ``n_jobs`` is the number of threads per task.
    dataset : str or os.PathLike
        A folder written by `labelgrove.data.convert`, whose checksums are then verified, or the
        `Dataset` opened from it; with texts for a TextClassifier.
    output : str or os.PathLike
        The model file. During training its folder temporarily needs space for about twice the
        model, the label vectors, and twice the rows made from texts. Executors on other machines
        must see it and the data set under the same paths.
    memory : int or str
        Memory limit of a process, in bytes, not counting mapped files, whose pages the system can
        reclaim. With an executor, it is the limit of each worker; one that runs several tasks at
        once needs as many times more. The weights of one node are not divided: with very many
        features they exceed the limit, by up to 160 bytes a feature and thread.
    executor : concurrent.futures.Executor or dask.distributed.Client, optional
        Runs the tasks. By default they run in this process, one after another.
    progress : callable, optional
        Called from time to time with the share of the work done so far, from 0 to 1.

    Returns
    -------
    PLTClassifier or TextClassifier
        The model, whose weights stay in the file.

    Raises
    ------
    ParameterError
        If a parameter is out of its domain, or requires all examples at once (``second_stage``,
        ``online_ready``, ``solver="adagrad"``, ``names`` and `HashedText`) or one label per row
        (``link="softmax"``), or if embeddings are computed by a function, which cannot be stored
        in a file.
    DataError
        If the data set cannot be used, or has been replaced in the meantime.
    ModelFileError
        If the output is a folder, or anything else that a file cannot replace.
    LabelGroveError
        If another process is writing the same file, or if the executor breaks (for example because
        a worker is killed) or is closed, or if its workers have another version of the library or
        do not see the data set or the model's folder.
    OSError
        If a file cannot be read or written.
    KeyboardInterrupt
        On Ctrl-C; the same call resumes.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from labelgrove import PLTClassifier, distributed
    >>> from labelgrove.data import convert
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     folder = pathlib.Path(folder)
    ...     _ = (folder / "two.svm").write_text("1,3 0:0.5 9:2\n2 4:1\n")
    ...     _ = convert([folder / "two.svm"], folder / "two")
    ...     model = distributed.fit(PLTClassifier(), folder / "two", folder / "model.lg")
    ...     print(model.predict_topk([[0] * 9 + [1]], k=1)[0])
    [[1]]
    """
    learner, front, columns = _parts(model)
    memory = byte_count("memory", memory, LEAST_MEMORY)
    target = Path(os.fsdecode(output)).absolute()
    if target.exists() and not target.is_file():
        raise ModelFileError(f"{target}: a model can only replace a regular file")
    source = as_dataset(dataset)
    run = _Run(learner, front, columns, source, target, memory, executor, progress)
    with held_back() as interrupts:
        run_watched(run.finish, interrupts, run.stop)
    return load(target, n_jobs=learner.n_jobs)  # type: ignore[no-any-return]


class _Run:
    """One call of `fit`, which may resume an earlier one."""

    def __init__(
        self,
        model: PLTClassifier,
        front: TextFeatures | None,
        columns: Columns | None,
        dataset: Dataset,
        target: Path,
        memory: int,
        executor: Any,
        progress: Tell | None,
    ) -> None:
        self._model, self._front, self._columns = model, front, columns
        self._dataset, self._target = dataset, target
        self._options, self._plan, self._labels = model._checked()
        _check(model, self._options, front, dataset)
        self._threads = thread_count(model.n_jobs, here=executor is None)
        self._tell = progress
        self._core_progress = _core.Progress()
        self._stopped = False
        self._unfinished = Unfinished(target)
        work, data = self._unfinished.path, followed(dataset.path)
        self._workers = None
        if executor is not None:
            self._workers = Workers(executor, str(data / HEADER), str(work))
        options = self._options.for_training(dataset.n_rows)
        header, text = dataset._header, None
        width = header.width
        if front is not None:
            begun = clone(front)  # tasks get one without counts, which is small
            text, _ = begun.state()
            width = begun.rows([], 1).n_features
        self._job = Job(str(data), header, str(work), options, width, text, 0, memory - _ALONE)

    def stop(self) -> None:
        """Stop soon, with a KeyboardInterrupt."""
        self._stopped = True
        self._core_progress.stop()

    def finish(self) -> None:
        """Run all unfinished stages, and write the model."""
        again, workers = " with a new executor, which resumes where it stopped", self._workers
        with self._unfinished, workers.failures_explained(again) if workers else nullcontext():
            self._begin()
            self._know_labels()
            self._read_texts()
            self._find_scale()
            self._grow_trees()
            self._learn()
            self._save()
            self._unfinished.remove()

    def _begin(self) -> None:
        """Keep the folder of an earlier call if its request was the same."""
        parameters = self._model.get_params(deep=False)
        given = parameters["tree"]
        if isinstance(given, LabelTree):
            parameters["tree"] = given.to_json()
        for name in ("n_jobs", "random_state"):  # the seed is among the options
            del parameters[name]
        request = {
            "library": __version__,
            "parameters": repr(sorted(parameters.items())),
            "threads": self._threads,  # which share the memory
            "job": asdict(self._job),
        }
        self._unfinished.begin(request)
        # Each request has its own folder, as a late worker may still write for an earlier one.
        digest = hashlib.sha256(json.dumps(request).encode()).hexdigest()[:16]
        work = self._unfinished.path / digest
        work.mkdir(exist_ok=True)
        self._job = replace(self._job, work=str(work))

    # --- stages ------------------------------------------------------------------------------

    def _know_labels(self) -> None:
        """Assign ids to labels in order of first occurrence."""
        rows = self._dataset.labels
        raw, ids = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
        for begin in range(0, len(rows.ids), RUN):
            found, first = np.unique(rows.ids[begin : begin + RUN], return_index=True)
            met = found[np.argsort(first)]
            names = met.astype(np.int64) if rows.names is None else rows.names[met]
            raw.append(met)
            ids.append(self._labels.ids_of(names, add=True))
        known, where = np.unique(np.concatenate(raw), return_index=True)
        ids_of_known = np.concatenate(ids)[where]
        self._job = replace(self._job, n_labels=len(self._labels))

        def pieces() -> Iterator[npt.NDArray[np.uint32]]:
            for begin in range(0, len(self._dataset), RUN // 16):
                some = rows[begin : begin + RUN // 16]
                ids = ids_of_known[np.searchsorted(known, some.ids)]
                yield sorted_in_rows(some.indptr, ids).view(np.uint32)

        counts = np.zeros(len(self._labels), np.int64)
        for piece in pieces():
            counts += np.bincount(piece, minlength=len(counts))
        self._counts = counts
        self._keep("labels", {"ids": Pieces(np.dtype(np.uint32), pieces)})
        self._keep("counts", {"counts": counts})
        (all_ids,) = stored(self._job / "labels", "ids")
        costs = class_weights(self._model.class_weight, self._labels, all_ids, len(self._dataset))
        if costs is not None:
            self._keep("costs", {"costs": costs})

    def _keep(self, name: str, arrays: dict[str, Storable]) -> None:
        if not is_done(self._job / name):
            store(self._job / name, arrays)

    def _read_texts(self) -> None:
        """Turn texts into rows: count their features, then weight these by the total counts."""
        job, front, texts = self._job, self._front, self._dataset.text
        if front is None or texts is None or is_done(job / "rows"):
            return
        n_bytes = np.maximum(np.diff(texts.indptr), 1)
        parts = _ranges(n_bytes, max(job.memory // _TEXT_BYTES, 1))
        counted = [job / f"counted-{part:05d}" for part in range(len(parts))]
        if not is_done(job / "text"):
            counts = [partial(count, job, front, *ends, self._threads) for ends in parts]
            self._run(dict(zip(counted, counts, strict=True)), (-_SHARE_OF_TEXTS, -0.1))
            whole = clone(front)
            for path in counted:
                whole.add(counts_of(job, path))
            store(job / "text", whole.state()[1])
        rows = [partial(weigh, job, path, self._threads) for path in counted]
        self._run_and_join("rows", rows, (-0.1, 0.0))
        for path in counted:
            path.unlink()

    def _find_scale(self) -> None:
        """Measure all rows, unless each is scaled to unit length: a task sees only some of them."""
        if self._options.normalize:
            return
        path = self._job / "row_scale"
        if not is_done(path):
            rows = Source(self._job).rows(None)
            store(path, {"scale": np.array([_core.row_scale(*rows.arrays, None)])})
        (scale,) = stored(path, "scale")
        options = {**self._job.options, "row_scale": float(scale[0])}
        self._job = replace(self._job, options=options)

    def _grow_trees(self) -> None:
        plan, job = self._plan, self._job
        trees = [job / f"tree-{number}" for number in range(plan.n_trees)]
        if all(map(is_done, trees)):
            return
        if not plan.embedded or not self._counts.any():
            for number in range(plan.n_trees):
                if plan.given is None:
                    tree = plan.one(self._counts, self._dataset.n_rows, None, None, number)
                else:
                    tree = over_ids(plan.given, self._labels, self._counts)
                store(trees[number], arrays_of_tree(tree))
            return
        if not is_done(job / "vectors"):
            vectors = [partial(embed, job, *ends, self._threads) for ends in self._label_ranges()]
            self._run_and_join("vectors", vectors, (0.0, 0.1))
        tasks = {path: partial(build_tree, job, plan, n) for n, path in enumerate(trees)}
        self._run(tasks, (0.1, 0.2))

    def _label_ranges(self) -> list[tuple[int, int]]:
        """Split the labels into ranges that fit into memory."""
        cells = np.zeros(self._job.n_labels, np.int64)
        for ends, ids, sizes in Source(self._job).runs():
            of_rows = np.repeat(sizes, np.diff(ends))
            cells += np.bincount(ids, of_rows, minlength=len(cells)).astype(np.int64)
        return _ranges(cells, max(self._job.memory // _VECTOR_BYTES, 1))

    def _learn(self) -> None:
        job, tasks = self._job, dict[Path, Task]()
        watched = self._core_progress if self._workers is None else None
        for number in range(self._plan.n_trees):
            units = job / f"units-{number}"
            if not is_done(units):
                store(units, plan_units(job, number, self._threads))
            (ends,) = stored(units, "ends")
            for unit in range(len(ends) - 1):
                task = partial(learn, job, number, unit, self._threads, watched)
                tasks[job / f"blocks-{number}-{unit:06d}"] = task
        self._run(tasks, (0.2, 1.0))

    def _save(self) -> None:
        job = self._job
        arrays = assembled(job, self._plan.n_trees, self._dataset.n_rows)
        # Stands in for an engine of which only the arrays are needed.
        engine: Any = SimpleNamespace(can_learn=False, save=lambda *_, **__: arrays)
        self._model._learned = Learned(
            engine=engine,
            options=self._options,
            labels=self._labels,
            features=None,
            kind="multilabel",
            n_columns=0,
            n_features=job.width,
            counts=self._counts,
        )
        if job.text is None:
            self._model.save(self._target)
        else:
            whole = text_classifier(self._model, front_end(job), columns=self._columns)
            whole.save(self._target)
        self._model._learned = None  # it maps files that are about to be deleted

    # --- running tasks -----------------------------------------------------------------------

    def _run_and_join(self, name: str, tasks: Sequence[Task], span: tuple[float, float]) -> None:
        """Run tasks that make rows, and concatenate these."""
        parts = [self._job / f"{name}-{part:05d}" for part in range(len(tasks))]
        self._run(dict(zip(parts, tasks, strict=True)), span)
        join(parts, self._job / name)

    def _run(self, tasks: Mapping[Path, Task], span: tuple[float, float]) -> None:
        """Run the tasks whose results do not exist."""
        todo = [partial(perform, path, task) for path, task in tasks.items() if not is_done(path)]
        done, (begin, end) = len(tasks) - len(todo), span

        def tell() -> None:
            if self._tell is not None:
                share = done / max(len(tasks), 1)
                ahead = 0.0 if self._front is None else _SHARE_OF_TEXTS
                self._tell((ahead + begin * (1 - share) + end * share) / (ahead + 1.0))
            if self._stopped:
                raise KeyboardInterrupt

        tell()
        workers = self._workers
        if workers is None:
            for task in todo:
                task()
                done += 1
                tell()
            return
        waiting = {workers.submit(task): (task, 1) for task in todo}
        try:
            while waiting:
                finished, _ = wait(waiting, 0.2, return_when=FIRST_COMPLETED)
                for future in finished:
                    task, tries = waiting.pop(future)
                    try:
                        future.result()
                        done += 1
                    except workers.lost:
                        if tries == TRIES:
                            raise
                        waiting[workers.submit(task)] = task, tries + 1
                tell()
        except BaseException:
            for future in waiting:
                future.cancel()
            raise


def _ranges(sizes: npt.NDArray[np.int64], most: int) -> list[tuple[int, int]]:
    """Split items into ranges whose sizes add up to at most `most`, or of one larger item."""
    return list(runs_of(np.concatenate([[0], np.cumsum(sizes)]), most))


def _parts(model: Model) -> tuple[PLTClassifier, TextFeatures | None, Columns | None]:
    """Return a classifier and a front end that have learnt nothing, and the columns of texts."""
    if isinstance(model, PLTClassifier):
        learner = clone(model)
        learner.vocabulary_ = model.vocabulary_
        return learner, None, None
    if not isinstance(model, TextClassifier):
        raise ParameterError(
            f"model is a {type(model).__name__}; expected a PLTClassifier, or a TextClassifier"
        )
    learner, front = model._fresh()
    if not isinstance(learner, PLTClassifier):
        raise ParameterError(
            f"model has the classifier {type(learner).__name__}; expected a PLTClassifier"
        )
    if not isinstance(front, TextFeatures) or callable(front.embeddings):
        raise ParameterError(
            "the front end is a HashedText or computes embeddings with a function: expected "
            "TextFeatures without these, for texts that are learnt in pieces"
        )
    if model.names is not None:
        raise ParameterError(
            f"names={model.names!r} needs all texts in memory; expected None for texts that are "
            "learnt in pieces"
        )
    return learner, front, model.columns


def _check(
    model: PLTClassifier, options: BatchOptions, front: TextFeatures | None, dataset: Dataset
) -> None:
    """Refuse a data set that the model cannot learn, and parameters that need it in memory."""
    if not len(dataset):
        raise DataError(f"{dataset.path}: has no examples; expected at least one")
    if front is None and dataset.X is None:
        raise DataError(
            f"{dataset.path}: holds texts; expected features, such as from a libsvm file, or a "
            "TextClassifier"
        )
    if front is not None and dataset.X is not None:
        raise DataError(f"{dataset.path}: holds features; expected texts, or a PLTClassifier")
    if model.second_stage is not None or model.online_ready or model.solver != "dual":
        raise ParameterError(
            "second_stage, online_ready and solver='adagrad' need all examples in memory; expected "
            "none of them for a data set that is learnt in pieces"
        )
    if options.link == LINKS["softmax"]:
        raise ParameterError(
            "link='softmax': expected another link for a data set that is learnt in pieces, since "
            "its rows may have several labels"
        )
