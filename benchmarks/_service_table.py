"""Results of the service as tables: load, large model, Annif, soak test and crash test."""

from __future__ import annotations

from typing import Any

from benchmarks._tables import Results, table


def service(found: Results) -> str:
    """A table for each program that has results."""
    shown = {one["subject"]: one for one in found}
    tables = [show(shown[name]) for name, show in _SHOW.items() if name in shown]
    return "\n\n".join([*tables, *_crashes(shown)])


def _load(result: dict[str, Any]) -> str:
    rows: list[list[object]] = []
    for label, key in (
        ("suggestions", "suggest"),
        ("suggestions while learning", "suggest_while_learning"),
        ("examples acknowledged one by one", "learn_single"),
    ):
        rows += [[label, n, *_figures(one)] for n, one in result[key].items()]
    batched = result["learn_batched"]
    cpu = f"{batched['service_cpu_us']:.0f}"
    each = [f"{batched['per_second']:,.0f}", "", f"{batched['p99_ms']:.0f}", cpu]
    rows.append(["examples acknowledged 500 at a time", 4, *each])
    more = [
        ["disk flush, ms", f"{result['flush_ms']:.2f}"],
        ["model file, MB", f"{result['model_mb']:.0f}"],
        ["process memory, MB", f"{result['memory_mb']:.0f}"],
        ["start-up, s", f"{result['start_up_s']:.1f}"],
    ]
    return f"{table(_HEADER, rows)}\n\n{table(['quantity', 'value'], more)}"


_HEADER = ["operation", "connections", "per second", "p50 ms", "p99 ms", "processor µs each"]


def _figures(one: dict[str, float]) -> list[object]:
    return [
        f"{one['per_second']:,.0f}",
        f"{one['p50_ms']:.1f}",
        f"{one['p99_ms']:.1f}",
        f"{one['service_cpu_us']:.0f}",
    ]


def _large(result: dict[str, Any]) -> str:
    rows: list[list[object]] = [
        [label, n, *_figures(one), f"{one['snapshot_s']:.1f}" if "snapshot_s" in one else ""]
        for label, key in (
            ("suggestions", "suggest"),
            ("suggestions while a snapshot is written", "suggest_beside_snapshot"),
        )
        for n, one in result[key].items()
    ]
    return (
        f"With a model of {result['examples']:,} examples ({result['model_mb']:,.0f} MB on disk). "
        f"The process takes {result['memory_mb']:,.0f} MB; it restarts in "
        f"{result['start_up_s']:.1f} s and then takes {result['memory_after_start_mb']:,.0f} MB:"
        f"\n\n{table([*_HEADER, 'snapshot s'], rows)}"
    )


def _annif(result: dict[str, Any]) -> str:
    rows: list[list[object]] = [
        [name, n, *_figures(one[n]), f"{100 * one['p@1']:.1f}"]
        for name, one in result["programs"].items()
        for n in one
        if n != "p@1"
    ]
    header = ["program", "connections", "suggestions per second", "p50 ms", "p99 ms"]
    return (
        f"Compared with Annif ({result['workers']} workers), after {result['known']:,} examples:"
        f"\n\n{table([*header, 'processor µs each', 'P@1'], rows)}"
    )


def _soak(result: dict[str, Any]) -> str:
    header, samples = ["minute", "examples"], result["samples"]
    places = [name for name, one in samples[0].items() if isinstance(one, dict)]
    for name in places:
        header += [f"{name} MB", "without model"]
    rows: list[list[object]] = [
        [
            one["minute"],
            f"{one['acknowledged']:,}",
            *(one[name][key] for name in places for key in ("memory_mb", "rest_mb")),
        ]
        for one in (samples[0], samples[len(samples) // 2], samples[-1])
    ]
    return (
        f"A leader and two followers for {result['minutes']:.0f} minutes: "
        f"{result['acknowledged']:,} examples acknowledged, {result['forgotten']} forgotten, "
        f"{result['suggestions']:,} suggestions. No example was lost or duplicated, and all three "
        f"had the same fingerprint at event {result['sequence']:,}:\n\n{table(header, rows)}"
    )


def _crashes(shown: dict[str, dict[str, Any]]) -> list[str]:
    rows = [
        [dropped, *(f"{shown[name][key]:,}" for key in _CRASH)]
        for name, dropped in (("crash", "no"), ("crash-lost-writes", "yes"))
        if name in shown
    ]
    return [table(["unflushed writes dropped", *_CRASH], rows)] if rows else []


_CRASH = ("kills", "during start-up", "acknowledged", "forgotten", "never answered")
_SHOW = {"load": _load, "large": _large, "annif": _annif, "soak": _soak}
