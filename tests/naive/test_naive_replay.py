"""The examples that a node stores and draws."""

from __future__ import annotations

import pytest

from naive.replay import Entry, NodeMemory, Replay, mix

NONE: frozenset[int] = frozenset()


def filled(replay: Replay, n: int) -> NodeMemory:
    memory = NodeMemory(replay)
    for i in range(n):
        memory.add({0: float(i)}, NONE)
    return memory


def kept(memory: NodeMemory) -> list[int]:
    return [int(entry.x[0]) for entry in memory.entries]


def test_unlimited_memory_keeps_all_in_order_and_draws_among_them() -> None:
    calls: list[tuple[int, int, int]] = []

    def draw(seed: int, n: int, r: int) -> int:
        calls.append((seed, n, r))
        return 7 + r

    memory = filled(Replay(times=3, seed=9, draw_hash=draw), 5)
    assert kept(memory) == [0, 1, 2, 3, 4] and memory.n == 5
    assert [int(entry.x[0]) for entry in memory.drawn()] == [7 % 5, 8 % 5, 9 % 5]
    assert calls == [(9, 5, 0), (9, 5, 1), (9, 5, 2)]


def test_the_newest_can_be_drawn_the_first_time_it_comes() -> None:
    memory = filled(Replay(times=1, draw_hash=lambda seed, n, r: n - 1), 1)
    assert memory.drawn() == [Entry({0: 0.0}, NONE)]
    memory.add({0: 1.0}, NONE)
    assert memory.drawn() == [Entry({0: 1.0}, NONE)]


def test_bounded_memory_is_a_reservoir() -> None:
    slots = {4: 1, 5: 4, 6: 8}  # n -> hash; modulo n: slot 1, slot 4 (outside), slot 2
    replay = Replay(memory=3, slot_hash=lambda seed, n: slots[n])
    assert kept(filled(replay, 3)) == [0, 1, 2]
    assert kept(filled(replay, 4)) == [0, 3, 2]
    assert kept(filled(replay, 5)) == [0, 3, 2]
    assert kept(filled(replay, 6)) == [0, 3, 5]


def test_bounded_memory_draws_among_what_it_holds() -> None:
    replay = Replay(times=1, memory=3, draw_hash=lambda seed, n, r: 5, slot_hash=lambda seed, n: 3)
    assert [int(entry.x[0]) for entry in filled(replay, 4).drawn()] == [5 % 3]


@pytest.mark.parametrize("replay", [Replay(times=2, memory=0), Replay(times=0)])
def test_nothing_to_draw(replay: Replay) -> None:
    assert filled(replay, 4).drawn() == []


def test_memory_under_a_new_node_has_that_node_positive_throughout() -> None:
    memory = NodeMemory(Replay(), 1, [Entry({0: 1.0}, frozenset({3, 4}))])
    above = memory.with_positive(9)
    assert above.entries == [Entry({0: 1.0}, frozenset({9}))] and above.n == 1
    other = memory.copy()
    other.add({}, NONE)
    assert memory.n == 1 and len(memory.entries) == 1


def test_a_dead_label_is_no_positive_of_its_place() -> None:
    memory = NodeMemory(Replay(), 1, [Entry({0: 1.0}, frozenset({3, 4}))])
    memory.forget_positive(4)
    assert memory.entries == [Entry({0: 1.0}, frozenset({3}))]


def test_mix_spreads_and_repeats() -> None:
    values = [mix(seed, n, r) for seed in range(8) for n in range(8) for r in range(8)]
    assert len(set(values)) == len(values) and all(0 <= value < 2**64 for value in values)
    assert mix(1, 2, 3) == mix(1, 2, 3)
    assert {mix(0, n) % 4 for n in range(40)} == {0, 1, 2, 3}
