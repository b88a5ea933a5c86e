"""Drive the compiled engine directly, and read its state from what it saves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove import OnlinePLTClassifier, _core
from labelgrove.models._plt_options import EngineOptions
from naive.learners import BIAS, Instance
from naive.streams import Event, Learn

Array = npt.NDArray[Any]
NONE = 0xFFFFFFFF
ABOVE_ROOT, ROOT = 0, 1
SHARED = 1 << 31
LEARNERS = ["arow", "adagrad", "sgd"]
POLICIES = ["best-greedy", "random", "cpet", "complete"]


def options(**changes: Any) -> dict[str, Any]:
    """Return the engine's options for these parameters of the estimator, with another seed."""
    ours = {"preset": "paper", "learner": "arow", "normalize": False, "random_state": 3}
    parameters = {**OnlinePLTClassifier().get_params(), **ours, **changes}
    return EngineOptions.from_parameters(parameters).to_dict()


@dataclass(frozen=True)
class Example:
    """One row in the engine's format: increasing ids, without the bias."""

    ids: tuple[int, ...]
    values: tuple[float, ...]
    labels: tuple[int, ...] = ()
    weight: float = 1.0


def example(x: Instance, labels: Sequence[int], *, width: int = 0, weight: float = 1.0) -> Example:
    """Translate an instance of the twin; with a width, the row has all features below it."""
    features = {f: v for f, v in x.items() if f != BIAS}
    ids = range(width) if width else sorted(features)
    values = (float(np.float32(features.get(f, 0.0))) for f in ids)
    return Example(tuple(ids), tuple(values), tuple(labels), weight)


def rows(examples: Sequence[Example]) -> tuple[Array, Array, Array]:
    """Return the rows as compressed sparse rows."""
    indptr = np.cumsum([0, *(len(e.ids) for e in examples)], dtype=np.int64)
    ids = np.array([i for e in examples for i in e.ids], np.uint32)
    return indptr, ids, np.array([v for e in examples for v in e.values], np.float32)


def dense_rows(examples: Sequence[Example]) -> tuple[Array, Array, Array]:
    """Return the rows as dense ones, all of the same width."""
    ids = np.arange(len(examples[0].ids), dtype=np.uint32)
    values = np.array([e.values for e in examples], np.float32).reshape(-1)
    return np.empty(0, np.int64), ids, values


def labels_of(examples: Sequence[Example]) -> tuple[Array, Array]:
    indptr = np.cumsum([0, *(len(e.labels) for e in examples)], dtype=np.int64)
    return indptr, np.array([j for e in examples for j in e.labels], np.uint32)


def weights_of(examples: Sequence[Example]) -> Array | None:
    """Return the weights, or None where all count once."""
    weights = np.array([e.weight for e in examples], np.float32)
    return None if (weights == 1.0).all() else weights


def learn(
    engine: _core.OnlinePlt,
    examples: Sequence[Example],
    *,
    threads: int = 1,
    run: int | None = None,
    dense: bool = False,
) -> None:
    """Learn in stream order, ``run`` examples at a time."""
    if not examples:
        return
    given = (dense_rows if dense else rows)(examples)
    labels = labels_of(examples)
    run = run or len(examples)
    for begin in range(0, len(examples), run):
        end = min(begin + run, len(examples))
        engine.learn(*given, *labels, begin, end, threads, weights=weights_of(examples))


class LabelBook:
    """Names and ids of labels, as the twin keeps them: ids are never reused."""

    def __init__(self) -> None:
        self.ids: dict[int, int] = {}
        self.count = 0

    def ids_of(self, names: Iterable[int]) -> list[int]:
        ids = []
        for name in dict.fromkeys(names):
            if name not in self.ids:
                self.ids[name] = self.count
                self.count += 1
            ids.append(self.ids[name])
        return ids

    def remove(self, which: int) -> int | None:
        """Remove one of the live labels, if any, and return its id."""
        if not self.ids:
            return None
        return self.ids.pop(list(self.ids)[which % len(self.ids)])


def play(engine: _core.OnlinePlt, book: LabelBook, event: Event, *, width: int = 0) -> None:
    """Apply an event of a random stream to the engine."""
    if isinstance(event, Learn):
        names = book.ids_of(event.names)
        row = example(event.x, names, width=width, weight=event.weight)
        learn(engine, [row], dense=bool(width))
    elif (removed := book.remove(event.which)) is not None:
        engine.remove_labels(np.array([removed], np.uint32))


@dataclass(frozen=True)
class Block:
    """The contents of a node's sibling block; arrays have one column per child, then theta's."""

    children: int
    theta: bool
    updates: int
    features: list[int]
    cells: Array  # (rows, 2, columns): weights and state; the bias first
    places: (
        Array  # of the features: a row of the cells, perhaps with the bit of those that are shared
    )
    shares: Array  # of the features, in their rows
    links: Array  # (columns, link parameters), the latter none where the learner has no link
    reached: int = 0
    memory: list[tuple[Example, frozenset[int]]] = field(default_factory=list)

    @cached_property
    def rows(self) -> dict[int, Array]:
        """Feature, -1 for the bias -> (2, columns): its weights, and the state of its row."""
        cells = self.cells[self.places & np.uint32(SHARED - 1)]
        cells[:, 0] *= self.shares[:, np.newaxis]
        return dict(zip([-1, *self.features], [self.cells[0], *cells], strict=True))

    def row(self, feature: int, initial: Array) -> Array:
        """Return a feature's row; that of an unseen feature is fresh."""
        new = np.repeat(initial[:, None], self.children + self.theta, axis=1)
        return self.rows.get(feature, new)


def blocks(engine: _core.OnlinePlt) -> dict[int, Block]:
    """Return the blocks of all nodes that have one."""
    saved = engine.save(False)
    counts = np.bincount(saved["tree.parent"][1:], minlength=len(saved["tree.parent"]))
    memory = _memories(saved)
    features = _Pieces(saved["weights.feature"])
    value = widened(saved, "weights.value")
    weights = _Pieces(value)
    has_state = {"weights.state", "weights.state8"} & saved.keys()
    state = _Pieces(variances_or_sums(saved) if has_state else np.zeros_like(value))
    held = _Pieces(saved.get("block.rows", saved["block.features"] + 1))
    places = _Pieces(saved.get("weights.place", np.empty(0, np.uint32)))
    shares = _Pieces(saved.get("weights.share", np.empty(0, np.float32)))
    columns_in_all = sum(counts[saved["block.node"]]) + int(saved["block.theta"].sum())
    link = saved.get("weights.link", np.empty(0, np.float32))
    links = _Pieces(link.reshape(int(columns_in_all), -1))
    result = {}
    for i, node in enumerate(saved["block.node"].tolist()):
        children, theta = int(counts[node]), bool(saved["block.theta"][i])
        n = int(saved["block.features"][i])
        columns, n_rows = children + theta, int(held.take(1)[0])
        both = [part.take(n_rows * columns).reshape(n_rows, -1) for part in (weights, state)]
        shared = "block.rows" in saved
        result[node] = Block(
            children,
            theta,
            int(saved["block.updates"][i]),
            features.take(n).tolist(),
            np.stack(both, axis=1),
            places.take(n) if shared else np.arange(1, n + 1, dtype=np.uint32),
            shares.take(n) if shared else np.ones(n, np.float32),
            links.take(children + theta),
            *memory.get(node, (0, [])),
        )
    return result


def widened(saved: Mapping[str, Array], name: str) -> Array:
    """Return an array of rows as floats, stored whole or as upper halves."""
    if f"{name}16" not in saved:
        return saved[name]
    return (saved[f"{name}16"].astype(np.uint32) << 16).view(np.float32)


def variances_or_sums(saved: Mapping[str, Array]) -> Array:
    """Return the state of rows: of AROW the roots of variances are saved, in 256ths, less 1."""
    if "weights.state8" not in saved:
        return saved["weights.state"]
    return (((saved["weights.state8"].astype(np.float32) + 1) / 256) ** 2).astype(np.float32)


def halves(floats: Array) -> Array:
    """Return the inverse of `widened`."""
    return (np.ascontiguousarray(floats).view(np.uint32) >> 16).astype(np.uint16)


def initial_row(given: Mapping[str, Any]) -> Array:
    """Return weight and state of a fresh classifier."""
    return blocks(_core.OnlinePlt(dict(given)))[ABOVE_ROOT].rows[-1][:, 0]


def save_bytes(engine: Any) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in engine.save(False).items()}


class _Pieces:
    def __init__(self, array: Array) -> None:
        self._rest = array

    def take(self, n: int) -> Array:
        piece, self._rest = self._rest[:n], self._rest[n:]
        return piece


def _memories(
    saved: dict[str, Array],
) -> dict[int, tuple[int, list[tuple[Example, frozenset[int]]]]]:
    if "memory.size" not in saved:
        return {}
    examples = list(_examples(saved))
    entries, counts = _Pieces(saved["memory.example"]), _Pieces(saved["memory.positives"])
    children = _Pieces(saved["memory.child"])
    result = {}
    for i, node in enumerate(saved["block.node"].tolist()):
        size = int(saved["memory.size"][i])
        which, positives = entries.take(size).tolist(), counts.take(size).tolist()
        kept = [
            (examples[e], frozenset(children.take(n).tolist()))
            for e, n in zip(which, positives, strict=True)
        ]
        result[node] = int(saved["memory.reached"][i]), kept
    return result


def _examples(saved: dict[str, Array]) -> Iterator[Example]:
    ids, values = _Pieces(saved["example.feature"]), _Pieces(saved["example.value"])
    weights = saved.get("example.weight", np.ones(len(saved["example.dense"])))
    sizes, dense_ones = saved["example.features"], saved["example.dense"]
    for size, dense, weight in zip(sizes, dense_ones, weights.tolist(), strict=True):
        which = range(int(size)) if dense else ids.take(int(size)).tolist()
        yield Example(tuple(which), tuple(values.take(int(size)).tolist()), weight=weight)
