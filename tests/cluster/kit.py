"""Data sets on disk, and the expected model."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from labelgrove import PLTClassifier, TextClassifier, distributed
from labelgrove.data._mapped import Dataset, Writer, open_dataset

Row = tuple[Sequence[Any], dict[int, float]]


def written(folder: Path, rows: Sequence[Row], width: int = 40) -> Dataset:
    """Rows in the format of `convert`."""
    folder.mkdir()
    integers = all(isinstance(label, int) for labels, _ in rows for label in labels)
    with Writer(folder, is_text=False, labels_are_int=integers) as writer:
        writer.labels([tuple(labels) for labels, _ in rows])
        ids = [sorted(features) for _, features in rows]
        values = [features[i] for _, features in rows for i in sorted(features)]
        lengths = np.array([len(row) for row in ids], np.int64)
        flat = np.array([i for row in ids for i in row], np.int32)
        writer.features(lengths, flat, np.array(values, np.float32), width)
    return open_dataset(folder)


@cache
def some_rows(n: int, n_features: int = 40) -> list[Row]:
    """Rows whose features indicate their labels; one row in ten has none."""
    random = np.random.default_rng(0)
    rows: list[Row] = []
    for _ in range(n):
        labels = np.unique(random.zipf(1.4, random.integers(1, 4)) % 60)
        features = np.concatenate([labels % n_features, random.integers(0, n_features, 4)])
        cells = {int(i): float(np.float32(random.normal(1.0))) for i in features}
        rows.append(([f"l{label}" for label in labels] if random.random() < 0.9 else [], cells))
    return rows


def written_texts(folder: Path, n: int) -> Dataset:
    """Texts whose words indicate their labels; some texts are empty."""
    folder.mkdir()
    rows = some_rows(n)
    with Writer(folder, is_text=True, labels_are_int=False) as writer:
        writer.labels([tuple(labels) for labels, _ in rows])
        writer.texts(
            [" ".join(f"Wört{i:02d}" * 2 for i in row) * (len(row) > 4) for _, row in rows]
        )
    return open_dataset(folder)


def in_memory(model: PLTClassifier | TextClassifier, dataset: Dataset, path: Path) -> bytes:
    """The file of a model like this one that learns from all rows in memory."""
    X = dataset.X if dataset.text is None else dataset.text
    clone(model).fit(X, dataset.labels).save(path)
    return path.read_bytes()


def fit_like_memory(model: Any, dataset: Dataset, **options: Any) -> Any:
    """Learn in pieces, beside the data set; the bytes must be those of learning in memory."""
    folder = Path(dataset.path).parent
    expected = in_memory(model, dataset, folder / "memory.lg")
    found = distributed.fit(model, dataset, folder / "pieces.lg", **options)
    assert (folder / "pieces.lg").read_bytes() == expected
    return found


@contextmanager
def limited_files(most: int) -> Iterator[None]:
    """Limit the size of files, as on a disk that is nearly full."""
    resource = pytest.importorskip("resource")  # of POSIX
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@contextmanager
def limited_descriptors(more: int) -> Iterator[None]:
    """Limit how many more files can be open at a time."""
    resource = pytest.importorskip("resource")  # of POSIX
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = {int(path.name) for path in Path("/dev/fd").iterdir()}
    free = [number for number in range(len(taken) + more) if number not in taken]
    resource.setrlimit(resource.RLIMIT_NOFILE, (free[more - 1] + 1, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
