"""Random streams for property tests: observations whose labels come, go and return."""

from __future__ import annotations

import random
from dataclasses import dataclass

from hypothesis import strategies as st

from .learners import Feature, Instance, instance
from .oplt import OPLT


@dataclass(frozen=True)
class Learn:
    """An observation with its label names, in the order of the row."""

    x: Instance
    names: tuple[int, ...]
    weight: float = 1.0


@dataclass(frozen=True)
class Remove:
    """The removal of one of the labels alive at that time, if there is one."""

    which: int


Event = Learn | Remove


def play(model: OPLT, event: Event) -> None:
    """Apply an event to the model."""
    if isinstance(event, Learn):
        model.learn(event.x, event.names, event.weight)
    elif model.label_ids:
        model.remove(list(model.label_ids)[event.which % len(model.label_ids)])


def instances() -> st.SearchStrategy[dict[Feature, float]]:
    """Sparse instances of up to six features, of unit length and with the bias."""
    values = st.floats(-2, 2, width=32).filter(lambda value: abs(value) > 1e-3)
    return st.dictionaries(st.integers(0, 5), values, max_size=4).map(instance)


WEIGHTS = [0.25, 1.0, 1.0, 1.0, 3.0]
"""Of observations in random streams; floats of 32 bits hold them."""


def events(names: int = 12, max_labels: int = 4) -> st.SearchStrategy[Event]:
    """Mostly observations, none, one or several labels each; now and then a removal."""
    row = st.lists(st.integers(0, names - 1), max_size=max_labels).map(tuple)
    learn = st.builds(Learn, instances(), row, st.sampled_from(WEIGHTS))
    remove = st.builds(Remove, st.integers(0, names - 1))
    return st.one_of(learn, learn, learn, remove)


def streams(max_size: int = 12) -> st.SearchStrategy[list[Event]]:
    return st.lists(events(), min_size=1, max_size=max_size)


def in_blocks(stream: list[Event], length: int = 8) -> list[Event]:
    """Make labels come in blocks: all rows of a block have the labels of its first row."""
    blocks: list[Event] = []
    for t, event in enumerate(stream):
        first = stream[t - t % length]
        if isinstance(event, Learn) and isinstance(first, Learn):
            event = Learn(event.x, first.names, event.weight)
        blocks.append(event)
    return blocks


def with_late_label(stream: list[Event], name: int = 99) -> list[Event]:
    """Give a quarter of the last rows a name that none of the others has."""
    rows = [e for e in stream if isinstance(e, Learn)]
    for t in range(2 * len(rows) // 3, len(rows), 4):
        rows[t] = Learn(rows[t].x, (*rows[t].names, name), rows[t].weight)
    return [*rows]


def random_stream(
    seed: int, length: int, names: int = 40, removals: float = 0.2, features: int = 4
) -> list[Event]:
    """Return a longer stream with increasingly rare names, reproducible from its seed."""
    rng = random.Random(seed)
    stream: list[Event] = []
    for _ in range(length):
        if rng.random() < removals:
            stream.append(Remove(rng.randrange(names)))
            continue
        x = {f: rng.uniform(-1, 1) for f in rng.sample(range(12), rng.randint(0, features))}
        row = tuple(int(names * rng.random() ** 2) for _ in range(rng.randint(0, 4)))
        stream.append(Learn(instance(x), row, rng.choice(WEIGHTS)))
    return stream
