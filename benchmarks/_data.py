"""The data sets, parsed once from their files and then cached as arrays."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from benchmarks._made import MADE, Part
from labelgrove.data import read_examples, write_examples

ROOT = Path(__file__).resolve().parents[1]
_HOME_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")

DATA = Path(os.environ.get("LABELGROVE_DATA") or ROOT / "data")
"""Directory of the data sets, one folder each."""

CACHE = Path(os.environ.get("LABELGROVE_BENCH_CACHE") or _HOME_CACHE / "labelgrove-bench")
"""Parsed data sets and the peers' environments; may be deleted at any time."""

CHUNK = 4096
"""Rows per call of ``partial_fit``: the chunk size of the command line."""

Chunk = tuple[sp.csr_array, list[tuple[int, ...]]]


@dataclass(frozen=True)
class Stream:
    """Labelled examples in the order of learning."""

    X: sp.csr_array
    labels: list[tuple[int, ...]]

    @property
    def chunks(self) -> list[Chunk]:
        """The rows in chunks, cut in advance so that cutting is not measured."""
        starts = range(0, len(self.labels), CHUNK)
        return [(self.X[i : i + CHUNK], self.labels[i : i + CHUNK]) for i in starts]


def is_there(name: str) -> bool:
    """Whether a data set is available; if not, say so on standard output."""
    if name in MADE:
        source = MADE[name].source
        folder = DATA / (source or "")
        there = source is None or folder.exists()
    else:
        folder = DATA / _split(name)[0]
        there = (folder / "train.txt.xz").exists()
    if there:
        return True
    print(f"{name}: skipped, {folder} does not exist (set LABELGROVE_DATA to the data directory)")
    return False


def _split(name: str) -> tuple[str, int | None]:
    """The folder of a data set, and the number of training rows to use (None for all)."""
    folder, _, rows = name.partition("-first")
    return folder, int(rows) if rows else None


def arrays_of(name: str, part: str) -> Path:
    """Return the .npz file of a data set's arrays, creating it from the text if necessary.

    Parameters
    ----------
    name : str
        The data set's folder; the suffix ``-first3000`` keeps only that many rows of ``train``.
    part : {"train", "test"}

    Returns
    -------
    Path
        Holds ``indptr``, ``indices``, ``values``, ``shape``, ``label_indptr`` and ``labels``.
    """
    if name in MADE:
        return _made_arrays(name, part)
    folder, limit = _split(name)
    source = DATA / folder / f"{part}.txt.xz"
    about = source.stat()
    path = CACHE / "arrays" / f"{name}-{part}-{about.st_size}-{about.st_mtime_ns}.npz"
    if path.exists():
        return path
    examples = read_examples(source)
    X = examples.X
    rows = [tuple(map(int, row)) for row in examples.labels]
    assert X is not None
    if part == "train":
        X, rows = X[:limit], rows[:limit]
    _keep(path, X, rows)
    return path


def _made_arrays(name: str, part: str) -> Path:
    paths = {one: CACHE / "arrays" / f"{name}-{one}.npz" for one in ("train", "test")}
    if not all(path.exists() for path in paths.values()):
        made: tuple[Part, Part] = MADE[name].make(DATA)
        for path, (X, labels) in zip(paths.values(), made, strict=True):
            _keep(path, X, labels)
    return paths[part]


def _keep(path: Path, X: sp.csr_array, rows: list[tuple[int, ...]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.npz")
    np.savez(
        unfinished,
        indptr=X.indptr.astype(np.int64),
        indices=X.indices.astype(np.int32),
        values=X.data,
        shape=np.array(X.shape),
        label_indptr=np.cumsum([0, *map(len, rows)]),
        labels=np.array([label for row in rows for label in row], np.int64),
    )
    unfinished.replace(path)


def text_of(name: str, part: str) -> Path:
    """Return the rows as text, without those that lack features (omikuji rejects them)."""
    path = arrays_of(name, part).with_suffix(".txt")
    if not path.exists():
        rows = load(name, part)
        kept = np.flatnonzero(np.diff(rows.X.indptr))
        write_examples(path, rows.X[kept], [rows.labels[i] for i in kept.tolist()])
    return path


def load(name: str, part: str, shuffle: int | None = None) -> Stream:
    """Read a data set.

    Parameters
    ----------
    name : str
    part : {"train", "test"}
    shuffle : int, optional
        Seed of a permutation; by default, file order.

    Returns
    -------
    Stream
    """
    with np.load(arrays_of(name, part)) as stored:
        ends = stored["indptr"].astype(np.int32)  # as `read_examples`; int64 would widen indices
        triple = (stored["values"], stored["indices"], ends)
        X = sp.csr_array(triple, shape=tuple(stored["shape"].tolist()))
        flat, parts = stored["labels"].tolist(), stored["label_indptr"].tolist()
    labels = [tuple(flat[begin:end]) for begin, end in pairwise(parts)]
    if shuffle is None:
        return Stream(X, labels)
    order = np.random.default_rng(shuffle).permutation(len(labels))
    return Stream(X[order], [labels[i] for i in order.tolist()])


@cache
def label_count(name: str) -> int:
    """One more than the largest label of a data set."""
    rows = (row for part in ("train", "test") for row in load(name, part).labels)
    return 1 + max(map(max, filter(None, rows)))


def indicator(labels: list[tuple[int, ...]], width: int) -> sp.csr_array:
    """Label sets as a 0/1 matrix with ``width`` columns."""
    ends = np.cumsum([0, *map(len, labels)])
    flat = np.array([label for row in labels for label in row], np.int64)
    # With 8-bit ones, scikit-learn 1.9 mistakes columns beyond 127 for others.
    return sp.csr_array((np.ones(len(flat), np.int64), flat, ends), shape=(len(labels), width))


def precisions(predicted: npt.NDArray[np.int64], labels: list[tuple[int, ...]]) -> list[float]:
    """P@1, P@3 and P@5 in per cent, computed identically for every program.

    Parameters
    ----------
    predicted : ndarray of shape (n, 5)
        Labels, best first; -1 for missing ones.
    labels : list of n tuples
    """
    pairs = zip(predicted.tolist(), labels, strict=True)
    hits = np.array([[label in row for label in best] for best, row in pairs])
    return [round(100 * float(hits[:, :k].mean()), 3) for k in (1, 3, 5)]
