"""Per-node replay: the examples a node stores, and those it replays.

A node's memory holds the examples that were positive there, each with the children that were
positive too. Which example is replayed depends on a seed and on the *number* of examples so far,
not on the node. A node inserted later, whose examples are its parent's, would therefore have drawn
the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from .label_tree import Node
from .learners import Instance

Hash = Callable[..., int]

_MASK = (1 << 64) - 1


def mix(*numbers: int) -> int:
    """Hash integers to 64 bits, by the SplitMix64 finaliser; tests may inject any other hash."""
    state = 0
    for number in numbers:
        state = (state + number + 0x9E3779B97F4A7C15) & _MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
        state ^= state >> 31
    return state


@dataclass(frozen=True)
class Replay:
    """The number of replays after each example, and the size of the memory."""

    times: int = 0
    memory: int | None = None  # M: examples that a node remembers; None is all of them
    seed: int = 0
    draw_hash: Hash = mix  # of seed, n, r
    slot_hash: Hash = mix  # of seed, n
    most: int = 0  # how often while labels come in blocks; 0: as often as ever


FULL = 4
"""If the number of replays follows the stream, this many count fully; more share this total."""

FADES_AFTER = 4
"""If the number of replays follows the stream and examples have several labels, weights fade with
the first replay after this many examples of a node."""


@dataclass
class LabelGauge:
    """Estimates from labels alone whether a stream comes in blocks, one class after another."""

    seen: list[frozenset[int]] = field(default_factory=list)
    repeated: float = 0.0
    possible: float = 0.0

    def observe(self, labels: Sequence[int]) -> float:
        """Record an example's labels, and return ``blocks``."""
        if self.seen and labels:
            chance = sum(label in row for row in self.seen for label in labels) / len(self.seen)
            repeats = sum(label in self.seen[-1] for label in labels)
            self.repeated += ((repeats - chance) / len(labels) - self.repeated) / 64
            self.possible += ((len(labels) - chance) / len(labels) - self.possible) / 64
        self.seen.append(frozenset(labels))
        return self.blocks()

    def blocks(self) -> float:
        """0 for a mixed stream, 1 for one class after another."""
        return min(max(self.repeated / self.possible, 0.0), 1.0) if self.possible > 0 else 0.0

    def share(self, labels: Sequence[int]) -> float:
        """By how much the last example counts: in blocks less, if labels have had many examples."""
        excess = max(0.0, 2.0 * self.blocks() - 1.0)
        new = any(sum(label in row for row in self.seen) <= 16 for label in labels)
        if excess == 0.0 or new:
            return 1.0
        per_label = sum(map(len, self.seen)) / len(frozenset().union(*self.seen))
        return 1.0 - excess * excess * (1.0 - min(max(32.0 / per_label, 0.05), 1.0))

    def late(self, label: int) -> bool:
        """Whether a label of the last example turned up late: the chance that all others of n <= 16
        random places lie behind the first is below 1 in 10,000."""
        rows = [n for n, row in enumerate(self.seen) if label in row]
        behind = (len(self.seen) - rows[0]) / len(self.seen)
        few = len(rows) <= 16 and behind ** (len(rows) - 1) < 1e-4
        return few and self.blocks() < 0.25

    def single(self) -> bool:
        """Whether labels are mixed, and examples have one each or hardly more on average."""
        few = sum(map(len, self.seen)) < 1.5 * len(self.seen)
        return few and self.blocks() < 0.5

    def several(self) -> bool:
        """Whether examples have several labels on average; unknown is no."""
        return bool(self.seen) and sum(map(len, self.seen)) >= 1.5 * len(self.seen)


def times_now(replay: Replay, gauge: LabelGauge, labels: Sequence[int]) -> int:
    """The number of replays in every node after an example with these labels."""
    if replay.most == 0:
        return replay.times
    return replay.times + int((replay.most - replay.times) * gauge.observe(labels) ** 2)


@dataclass(frozen=True)
class Entry:
    """An example that reached a node, with those of its children that were positive."""

    x: Instance
    positives: frozenset[Node]
    weight: float = 1.0


@dataclass
class NodeMemory:
    """The examples that reached one node: all of them, or a reservoir of at most M."""

    replay: Replay
    n: int = 0  # how many have reached the node
    entries: list[Entry] = field(default_factory=list)

    def add(self, x: Instance, positives: frozenset[Node], weight: float = 1.0) -> None:
        """Remember the n-th example, unless memory is full and its slot lies outside."""
        self.n += 1
        entry = Entry(x, positives, weight)
        memory = self.replay.memory
        if memory is None or self.n <= memory:
            self.entries.append(entry)
            return
        slot = self.replay.slot_hash(self.replay.seed, self.n) % self.n
        if slot < memory:
            self.entries[slot] = entry

    def drawn(self, times: int | None = None) -> list[Entry]:
        """Return the examples to replay after the n-th example, which may be among them."""
        if not self.entries:  # M = 0: nothing is remembered
            return []
        replay = self.replay
        times = replay.times if times is None else times
        draws = (replay.draw_hash(replay.seed, self.n, r) for r in range(times))
        entries = [self.entries[draw % len(self.entries)] for draw in draws]
        if replay.most == 0 or times <= FULL:
            return entries
        share = np.float32(FULL) / np.float32(times)
        return [Entry(e.x, e.positives, float(share * np.float32(e.weight))) for e in entries]

    def copy(self) -> NodeMemory:
        return NodeMemory(self.replay, self.n, list(self.entries))

    def with_positive(self, node: Node) -> NodeMemory:
        """Return the same examples, ``node`` the one child and positive in all (INSERTNODE)."""
        entries = [Entry(e.x, frozenset({node}), e.weight) for e in self.entries]
        return NodeMemory(self.replay, self.n, entries)

    def forget_positive(self, node: Node) -> None:
        """Make ``node`` negative in all: its label was removed and its place reused."""
        self.entries = [Entry(e.x, e.positives - {node}, e.weight) for e in self.entries]
