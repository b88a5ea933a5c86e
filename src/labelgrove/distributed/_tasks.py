"""Training in pieces: pure tasks over a data set and a folder with their results.

A task is a function of a `Job` and a few numbers. It maps the data set and the results of earlier
tasks by path, and returns arrays, which `perform` writes to a file that appears only when it is
complete. So tasks may run anywhere, in any order, any number of times, and even concurrently with
themselves.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from labelgrove import _core
from labelgrove._errors import DataError
from labelgrove._sparse import runs_of
from labelgrove._validation import Rows, require_magnitude
from labelgrove.data._mapped import Header, csr_over, open_arrays, texts_over
from labelgrove.models.engine._trees import TreePlan, embed_labels, engine_tree, label_matrix
from labelgrove.persistence import Storable, read_model, write_model
from labelgrove.text import TextFeatures
from labelgrove.text._counted import CountedTexts
from labelgrove.text._front_ends import front_end_from_state
from labelgrove.trees import LabelTree

Arrays = dict[str, npt.NDArray[Any]]
Make = Callable[[int, Any], npt.NDArray[Any]]

RUN = 1 << 22
"""Number of entries of the data set that are processed together."""
GATHERED = 1 << 16
"""Number of entries that are gathered together, so that their places stay in the cache."""


@dataclass(frozen=True)
class Job:
    """Parameters common to all tasks of a run."""

    data: str  # folder of the data set
    header: Header  # of the data set: identifies its version
    work: str  # folder of the results
    options: dict[str, Any]  # of the engine
    width: int  # number of features
    text: dict[str, Any] | None  # header of the front end, if the examples are texts
    n_labels: int  # ids are below this
    memory: int  # limit of a task, in bytes

    def __truediv__(self, name: str) -> Path:
        return Path(self.work, name)


# --- results -------------------------------------------------------------------------------------


def is_done(path: Path) -> bool:
    """Return whether a task has written its result there."""
    return path.is_file()


def store(path: Path, arrays: Mapping[str, Storable]) -> None:
    """Write arrays into a file, which appears with all of them or not at all."""
    write_model(path, {"algorithm": "part"}, arrays)


def perform(path: Path, task: Callable[[], Mapping[str, Storable]]) -> None:
    """Run a task, and write its result."""
    store(path, task())


def stored(path: Path, *names: str) -> list[npt.NDArray[Any]]:
    """Map arrays that a task has written."""
    arrays = read_model(path, verify=False).arrays
    return [arrays[name] for name in names]


@dataclass(frozen=True)
class Pieces:
    """An array that is generated piece by piece whenever it is written."""

    dtype: np.dtype[Any]
    make: Callable[[], Iterator[npt.NDArray[Any]]]
    ndim: ClassVar[int] = 1

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of items."""
        return (sum(map(len, self.make())),)

    @property
    def nbytes(self) -> int:
        """Bytes of all items."""
        return self.shape[0] * self.dtype.itemsize

    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        return self.make()


# --- the data set --------------------------------------------------------------------------------


def opened(data: str, header: Header) -> dict[str, npt.NDArray[Any]]:
    """Map the arrays of a data set, provided that it is still the one that the call began with."""
    found, arrays = open_arrays(data)
    if found != header:
        raise DataError(
            f"{data}: has been replaced in the meantime; repeat the call with the new one"
        )
    return arrays


class Source:
    """The rows of a job's data set, and the ids of their labels, mapped."""

    def __init__(self, job: Job) -> None:
        self._job = job
        arrays = opened(job.data, job.header)
        self.n_rows = job.header.rows
        self._ends, self._ids, self._values = (
            (arrays[name] for name in ("X.indptr.i64", "X.indices.i32", "X.data.f32"))
            if job.text is None
            else stored(job / "rows", "indptr", "ids", "values")
        )
        self.n_cells = len(self._ids)
        self.label_ends = arrays["Y.indptr.i64"]
        (self.labels,) = stored(job / "labels", "ids")

    def rows(self, places: npt.NDArray[np.int64] | None, make: Make = np.empty) -> Rows:
        """Return some of the rows, checked; for None all of them, without a copy.

        Raises DataError if the data set is damaged.
        """
        if places is None:
            arrays = self._ends, self._ids.view(np.uint32), self._values
        else:
            ends, entries = gathered(self._ends, places)
            ids, values = make(int(ends[-1]), np.uint32), make(int(ends[-1]), np.float32)
            for to, at in entries:
                for taken, cells in ((ids, self._ids.view(np.uint32)), (values, self._values)):
                    np.take(cells, at, out=taken[to], mode="clip")  # other modes copy twice
            arrays = ends, ids, values
        width = self._job.width
        rows = Rows(*arrays, len(arrays[0]) - 1, width, dense=False)
        if _core.check_rows(*arrays, width) is not None:
            raise DataError(f"{self._job.data}: is damaged; convert it again")
        if not self._job.options["normalize"]:
            require_magnitude(rows)
        return rows

    def labels_of(
        self, places: npt.NDArray[np.int64] | None, chosen: npt.NDArray[np.bool_]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]]:
        """Return the chosen labels of some rows; for None all labels of all rows."""
        if places is None:
            return self.label_ends, self.labels
        ends, entries = gathered(self.label_ends, places)
        sizes, kept = np.zeros(len(places), np.int64), []
        for to, at in entries:
            labels = self.labels[at]
            own = chosen[labels]
            row_of = np.searchsorted(ends, np.arange(to.start, to.stop)[own], "right") - 1
            np.add.at(sizes, row_of, 1)
            kept.append(labels[own])
        none = np.empty(0, np.uint32)
        return np.concatenate([[0], np.cumsum(sizes)]), np.concatenate([none, *kept])

    def with_labels(self, chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        """Return the rows that have a chosen label, in order."""
        found = [np.empty(0, np.int64)]
        for begin in range(0, len(self.labels), RUN):
            places = np.flatnonzero(chosen[self.labels[begin : begin + RUN]]) + begin
            rows = np.searchsorted(self.label_ends, places, "right") - 1
            found.append(rows[np.diff(rows, prepend=-1) > 0])
        rows = np.concatenate(found)
        return rows[np.diff(rows, prepend=-1) > 0]

    def runs(self) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32], Any]]:
        """Yield, for runs of rows, the ends of each row's labels, the labels, and the row sizes."""
        begin = 0
        while begin < self.n_rows:
            most = self.label_ends[begin] + RUN
            end = int(np.searchsorted(self.label_ends[: begin + RUN + 1], most, "right")) - 1
            end = max(end, begin + 1)
            ends = self.label_ends[begin : end + 1]
            labels = self.labels[ends[0] : ends[-1]]
            yield ends - ends[0], labels, np.diff(self._ends[begin : end + 1])
            begin = end


def gathered(
    ends: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], Iterator[tuple[slice, npt.NDArray[np.int64]]]]:
    """Return the ends of the gathered rows, and (target, source) indices for a few rows a time."""
    begins, sizes = ends[rows], ends[rows + 1] - ends[rows]
    to = np.concatenate([[0], np.cumsum(sizes)])

    def entries() -> Iterator[tuple[slice, npt.NDArray[np.int64]]]:
        for first, last in runs_of(to, GATHERED):
            shift = np.repeat(begins[first:last] - to[first:last], sizes[first:last])
            yield slice(to[first], to[last]), np.arange(to[first], to[last]) + shift

    return to, entries()


# --- tasks ---------------------------------------------------------------------------------------


def count(job: Job, front: TextFeatures, begin: int, end: int, threads: int) -> Arrays:
    """Count the features of the texts from ``begin`` to ``end``."""
    texts = texts_over(job.data, opened(job.data, job.header))
    return _arrays_of(front.counted(texts[begin:end], threads).rows)


def weigh(job: Job, counted: Path, threads: int) -> Arrays:
    """Turn the counts of some texts into rows, once all texts have been counted."""
    counts = counts_of(job, counted)
    return _arrays_of(front_end(job).weighted(counts, threads, as_next=False).without_zeros())


def counts_of(job: Job, counted: Path) -> CountedTexts:
    """Return the texts counted by a task."""
    ends, ids, values = stored(counted, "indptr", "ids", "values")
    rows = Rows(ends, ids.view(np.uint32), values, len(ends) - 1, job.width, dense=False)
    return CountedTexts((rows,))


def front_end(job: Job) -> TextFeatures:
    """Return the front end that has counted all texts."""
    arrays = read_model(job / "text", verify=False).arrays
    front = front_end_from_state(job.text, arrays)
    assert isinstance(front, TextFeatures)
    return front


def _arrays_of(rows: Rows) -> Arrays:
    return {"indptr": rows.indptr, "ids": rows.ids.view(np.int32), "values": rows.values}


def embed(job: Job, begin: int, end: int, threads: int) -> Arrays:
    """Compute the vectors of the labels from ``begin`` to ``end``: sums of their rows.

    A label's vector depends only on the label's rows, in order, so it has the same bytes whichever
    labels are embedded with it.
    """
    source = Source(job)
    chosen = np.zeros(job.n_labels, np.bool_)
    chosen[begin:end] = True
    rows = source.with_labels(chosen)
    indptr, ids = source.labels_of(rows, chosen)
    present = np.arange(begin, end)
    vectors = embed_labels(source.rows(rows), label_matrix(indptr, ids, present), threads)
    indptr = vectors.indptr.astype(np.int64)
    return {"indptr": indptr, "ids": vectors.indices.astype(np.int32), "values": vectors.data}


def build_tree(job: Job, plan: TreePlan, number: int) -> Arrays:
    """Cluster the labels that occur, from their vectors."""
    (counts,), indicator = stored(job / "counts", "counts"), None
    vectors = csr_over(stored(job / "vectors", "indptr", "ids", "values"), job.width)
    if plan.needs_indicator:
        source = Source(job)
        indicator = label_matrix(source.label_ends, source.labels, np.flatnonzero(counts))
    return arrays_of_tree(plan.one(counts, job.header.rows, vectors, indicator, number))


def arrays_of_tree(tree: LabelTree) -> Arrays:
    """Return a tree over ids of labels as the engine takes it."""
    parents, labels = engine_tree(tree, tree.leaf_labels)
    return {"parents": parents, "labels": labels}


def learn(
    job: Job, number: int, unit: int, threads: int, progress: _core.Progress | None = None
) -> Arrays:
    """Learn the nodes of a unit, from the rows that have a label below one of them."""
    tree = stored(job / f"tree-{number}", "parents", "labels")
    nodes, ends, needs = stored(job / f"units-{number}", "nodes", "ends", "needs")
    own = np.array(nodes[ends[unit] : ends[unit + 1]])
    source = Source(job)
    chosen = labels_below(tree[0], tree[1], own, job.n_labels)
    rows = None if own[0] == 0 else source.with_labels(chosen)
    costs = None
    if is_done(job / "costs"):
        costs = np.array(stored(job / "costs", "costs")[0])
    make = partial(_room, job) if needs[unit] > job.memory else None
    learnt = source.rows(rows, np.empty if make is None else partial(_array, make))
    return _core.train_batch_nodes(
        job.options,
        tuple(np.array(array) for array in tree),
        own,
        job.n_labels,
        *learnt.arrays,
        *source.labels_of(rows, chosen),
        costs,
        threads,
        progress or _core.Progress(),
        make,
    )


def labels_below(
    parents: npt.NDArray[Any], labels: npt.NDArray[Any], nodes: npt.NDArray[Any], n_labels: int
) -> npt.NDArray[np.bool_]:
    """Return which labels have a leaf below one of these nodes."""
    below = np.zeros(len(parents), np.bool_)
    below[nodes] = True
    up = parents.astype(np.int64)
    up[0] = 0
    while True:  # every iteration doubles the distance that a node looks up
        below |= below[up]
        if not up.any():
            break
        up = up[up]
    chosen = np.zeros(n_labels, np.bool_)
    leaves = below & (labels < n_labels)
    chosen[labels[leaves]] = True
    return chosen


def _room(job: Job, n_bytes: int) -> npt.NDArray[np.uint8]:
    """Return memory backed by an unnamed file, which is freed with its last reference."""
    if os.name == "nt":  # Windows has no unnamed files
        return np.empty(n_bytes, np.uint8)
    with NamedTemporaryFile(dir=job.work, prefix=".room-") as file:
        file.truncate(n_bytes)
        if hasattr(os, "posix_fallocate"):  # makes a full disk an error here, not a signal later
            os.posix_fallocate(file.fileno(), 0, n_bytes)
        return np.memmap(file.name, np.uint8, mode="r+").view(np.ndarray)


def _array(room: Callable[[int], npt.NDArray[np.uint8]], size: int, dtype: Any) -> Any:
    return room(max(1, size) * np.dtype(dtype).itemsize).view(dtype)[:size]


# --- joining the results of tasks ----------------------------------------------------------------


def join(paths: Sequence[Path], whole: Path) -> None:
    """Concatenate the rows written by several tasks."""

    def indptr() -> Iterator[npt.NDArray[Any]]:
        yield np.zeros(1, np.int64)
        before = 0
        for path in paths:
            (ends,) = stored(path, "indptr")
            yield ends[1:] + before
            before += int(ends[-1])

    def entries(array: str) -> Iterator[npt.NDArray[Any]]:
        for path in paths:  # each stays open for as long as its arrays are in use
            yield from stored(path, array)

    rows = {
        "indptr": Pieces(np.dtype(np.int64), indptr),
        "ids": Pieces(np.dtype(np.int32), partial(entries, "ids")),
        "values": Pieces(np.dtype(np.float32), partial(entries, "values")),
    }
    store(whole, rows)
    for path in paths:
        path.unlink()


def assembled(job: Job, trees: int, examples: int) -> dict[str, Storable]:
    """Assemble the arrays of a model, as loaded by `CompactPlt`, from the blocks of all units."""
    found = [
        list(map(np.array, stored(job / f"tree-{number}", "parents", "labels")))
        for number in range(trees)
    ]
    parents, labels = zip(*found, strict=True)
    sizes = np.array(list(map(len, parents)), np.uint32)
    arrays: dict[str, Storable] = {
        "counters": np.array([job.n_labels, examples, 0], np.uint64),
        "tree.nodes": sizes,
        "tree.parent": np.concatenate(parents),
        "tree.label": np.concatenate(labels),
        "tree.silent": np.zeros(int(sizes.sum()), np.uint8),
    }
    blocks = [_Blocks(job, number) for number in range(trees)]
    for name in blocks[0].names:
        arrays[name] = Pieces(np.dtype(_BLOCKS[name]), partial(_of_all, blocks, name))
    counts = [count for tree in blocks for count in tree.margin_counts()]
    if counts:
        arrays |= zip(_COUNTS, np.sum(counts, axis=0), strict=True)
    return arrays


def _of_all(blocks: Sequence[_Blocks], name: str) -> Iterator[npt.NDArray[Any]]:
    for tree in blocks:
        yield from tree.pieces(name)
    if name == "weights.row":
        yield blocks[0].behind


class _Blocks:
    """The blocks of a tree's nodes, stored in the arrays of the units that learnt them."""

    def __init__(self, job: Job, number: int) -> None:
        nodes, self._first = map(np.array, stored(job / f"units-{number}", "nodes", "ends"))
        n_units = len(self._first) - 1
        self._paths = [job / f"blocks-{number}-{unit:06d}" for unit in range(n_units)]
        self._order = np.argsort(nodes)
        self._unit = np.repeat(np.arange(n_units), np.diff(self._first))
        parents = stored(job / f"tree-{number}", "parents")[0]
        # Opening a file takes longer than reading such short arrays: each is opened once for all.
        parts = [list(map(np.array, stored(path, *_OF_NODES))) for path in self._paths]
        of_nodes = map(np.concatenate, zip(*parts, strict=True))
        self._of_nodes = dict(zip(_OF_NODES, of_nodes, strict=True))
        bitmap = self._of_nodes["block.multiplier"] == 0
        children = np.bincount(parents[1:], minlength=len(parents))[nodes]
        sizes = {
            "index.pair": 2 * self._of_nodes["block.pairs"].astype(np.int64),
            "index.offset": np.where(bitmap, self._of_nodes["block.features"], 0).astype(np.int64),
            "weights.bias": children,
            "weights.rarity": children,
            "weights.row": self._of_nodes["block.bytes"].astype(np.int64),
        }
        self._ends = {name: np.concatenate([[0], np.cumsum(size)]) for name, size in sizes.items()}

    def pieces(self, name: str) -> Iterator[npt.NDArray[Any]]:
        """Yield the parts of an array, in order of the nodes."""
        if name in self._of_nodes:
            whole = self._of_nodes[name]
            yield whole[self._order] if len(whole) else whole
            return
        run = np.cumsum(np.diff(self._ends[name])[self._order]) // RUN
        for places in np.split(self._order, np.flatnonzero(np.diff(run)) + 1):
            yield self._gathered(name, places)

    def _gathered(self, name: str, places: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return the parts of an array for some nodes; the units' files are opened in turn."""
        ends, units = self._ends[name], self._unit[places]
        to = np.concatenate([[0], np.cumsum(ends[places + 1] - ends[places])])
        whole = np.empty(int(to[-1]), _BLOCKS[name])
        for unit in np.unique(units):
            (array,) = stored(self._paths[unit], name)
            own = np.flatnonzero(units == unit)
            at = ends[places[own]] - ends[self._first[unit]]
            for begin, end, source in zip(to[own], to[own + 1], at, strict=True):
                whole[begin:end] = array[source : source + end - begin]
        return whole

    @property
    def names(self) -> list[str]:
        """The arrays of every unit, counts aside; there are no rarities if the link is fixed."""
        arrays = read_model(self._paths[0], verify=False).arrays
        return [name for name in _BLOCKS if name in arrays]

    def margin_counts(self) -> Iterator[npt.NDArray[np.uint64]]:
        """Yield the counts of every unit that has held examples out."""
        for path in self._paths:
            arrays = read_model(path, verify=False).arrays
            if _COUNTS[0] in arrays:
                yield np.array([arrays[name] for name in _COUNTS])

    @property
    def behind(self) -> npt.NDArray[Any]:
        """The padding after the last row, so that whole SIMD vectors can be read."""
        (rows,) = stored(self._paths[0], "weights.row")
        return rows[self._ends["weights.row"][self._first[1]] :]


_OF_NODES = (
    "block.link",
    "block.scale",
    "block.features",
    "block.pairs",
    "block.multiplier",
    "block.bytes",
    "weights.scale",
)
"""Arrays with an item per node, or with none."""

_COUNTS = ("margins.negative", "margins.positive")  # of all examples held out

_BLOCKS = {
    "block.link": np.uint8,
    "block.scale": np.float32,
    "block.features": np.uint32,
    "block.pairs": np.uint32,
    "block.multiplier": np.uint32,
    "block.bytes": np.uint32,
    "index.pair": np.uint32,
    "index.offset": np.uint32,
    "weights.bias": np.float32,
    "weights.rarity": np.uint8,
    "weights.scale": np.float32,
    "weights.row": np.uint8,
}
