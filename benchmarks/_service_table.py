"""The service: its load, beside Annif, with a large model, for long, and killed again and again."""

from __future__ import annotations

from typing import Any

from benchmarks._tables import Results, table


def service(found: Results) -> str:
    """A table for each program that was run."""
    shown = {one["subject"]: one for one in found}
    tables = [show(shown[name]) for name, show in _SHOW.items() if name in shown]
    return "\n\n".join([*tables, *_crashes(shown)])


def _load(result: dict[str, Any]) -> str:
    rows: list[list[object]] = []
    for says, key in (
        ("suggestions", "suggest"),
        ("suggestions beside learning", "suggest_while_learning"),
        ("examples acknowledged one by one", "learn_single"),
    ):
        rows += [[says, n, *_figures(one)] for n, one in result[key].items()]
    batched = result["learn_batched"]
    cpu = f"{batched['service_cpu_us']:.0f}"
    each = [f"{batched['per_second']:,.0f}", "", f"{batched['p99_ms']:.0f}", cpu]
    rows.append(["examples acknowledged 500 at a time", 4, *each])
    more = [
        ["a flush of the disk, ms", f"{result['flush_ms']:.2f}"],
        ["model in its file, MB", f"{result['model_mb']:.0f}"],
        ["memory of the process, MB", f"{result['memory_mb']:.0f}"],
        ["start, s", f"{result['start_up_s']:.1f}"],
    ]
    header = ["what", "connections", "a second", "p50 ms", "p99 ms", "processor µs each"]
    return f"{table(header, rows)}\n\n{table(['what', 'found'], more)}"


def _figures(one: dict[str, float]) -> list[object]:
    return [
        f"{one['per_second']:,.0f}",
        f"{one['p50_ms']:.1f}",
        f"{one['p99_ms']:.1f}",
        f"{one['service_cpu_us']:.0f}",
    ]


def _large(result: dict[str, Any]) -> str:
    rows: list[list[object]] = [
        [says, n, *_figures(one), f"{one['snapshot_s']:.1f}" if "snapshot_s" in one else ""]
        for says, key in (
            ("suggestions", "suggest"),
            ("suggestions while a snapshot is written", "suggest_beside_snapshot"),
        )
        for n, one in result[key].items()
    ]
    header = ["what", "connections", "a second", "p50 ms", "p99 ms", "processor µs each"]
    return (
        f"With a model of {result['model_mb']:,.0f} MB in its file, of {result['examples']:,} "
        f"examples; the process takes {result['memory_mb']:,.0f} MB, it starts in "
        f"{result['start_up_s']:.1f} s, and takes {result['memory_after_start_mb']:,.0f} MB then:"
        f"\n\n{table([*header, 'snapshot s'], rows)}"
    )


def _annif(result: dict[str, Any]) -> str:
    rows: list[list[object]] = [
        [says, n, *_figures(one[n]), f"{100 * one['p@1']:.1f}"]
        for says, one in result["programs"].items()
        for n in one
        if n != "p@1"
    ]
    header = ["program", "connections", "suggestions a second", "p50 ms", "p99 ms"]
    return (
        f"Beside Annif, which has {result['workers']} workers, after {result['known']:,} examples:"
        f"\n\n{table([*header, 'processor µs each', 'P@1'], rows)}"
    )


def _soak(result: dict[str, Any]) -> str:
    header = ["minute", "examples"]
    places = [name for name, one in result["samples"][0].items() if isinstance(one, dict)]
    for name in places:
        header += [f"{name}, MB", "without its model"]
    rows: list[list[object]] = [
        [
            one["minute"],
            f"{one['acknowledged']:,}",
            *(one[name][key] for name in places for key in ("memory_mb", "rest_mb")),
        ]
        for one in result["samples"]
    ]
    return (
        f"A leader and two followers for {result['minutes']:.0f} minutes: "
        f"{result['acknowledged']:,} examples acknowledged and {result['forgotten']} forgotten, "
        f"{result['suggestions']:,} suggestions; none lost, none twice, and the three fingerprints "
        f"equal at event {result['sequence']:,}:\n\n{table(header, rows)}"
    )


def _crashes(shown: dict[str, dict[str, Any]]) -> list[str]:
    rows = [
        [says, *(f"{shown[name][key]:,}" for key in _CRASH)]
        for name, says in (("crash", "no"), ("crash-lost-writes", "yes"))
        if name in shown
    ]
    return [table(["unflushed writes dropped", *_CRASH], rows)] if rows else []


_CRASH = ("kills", "during start-up", "acknowledged", "forgotten", "never answered")
_SHOW = {"load": _load, "large": _large, "annif": _annif, "soak": _soak}
