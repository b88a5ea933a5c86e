"""Results of the multi-class benchmarks as tables."""

from __future__ import annotations

import math
from typing import Any

from benchmarks._tables import Results, table


def multiclass(found: Results) -> str:
    """Error and examples per second of every method, one table per data set."""
    return "\n\n".join(_methods(result) for result in found)


def _methods(result: dict[str, Any]) -> str:
    header = [f"{result['subject']}, {result['classes']:,} classes", "error %", "passes"]
    header += ["learning, examples/s", "prediction, examples/s", "model MB"]
    rows = []
    for method, run in result["runs"].items():
        learnt, rows_tested = result["learnt"] * run["passes"], result["rows"]
        rows.append(
            [
                method,
                f"{run['error']:.2f} ± {_half_width(run['error'], rows_tested):.2f}",
                run["passes"],
                f"{learnt / run['learning_cpu']:,.0f}",
                f"{rows_tested / max(run['predicting_cpu'], 1e-4):,.0f}",
                f"{run['model_bytes'] / 2**20:.1f}",
            ]
        )
    return table(header, rows)


def _half_width(error: float, n: int) -> float:
    """Half the width of the symmetric 95 % binomial interval, in per cent."""
    share = error / 100
    return 100 * 1.96 * math.sqrt(share * (1 - share) / n)


def river(found: Results) -> str:
    """Progressive accuracy of each classifier, and its time per example."""
    header = ["accuracy %", "prediction, µs", "learning, µs"]
    return "\n\n".join(
        table(
            [
                f"{result['subject']}, {result['rows']:,} examples, {result['classes']} classes",
                *header,
            ],
            [
                [
                    name,
                    f"{100 * run['accuracy']:.1f}",
                    f"{run['predicting_us']:,.0f}",
                    f"{run['learning_us']:,.0f}",
                ]
                for name, run in result["runs"].items()
            ],
        )
        for result in found
    )


def classes(found: Results) -> str:
    """Microseconds per example at every number of classes, and the size of the model."""
    counts = sorted({point["classes"] for result in found for point in result["points"]})
    parts = []
    keys = {
        "learning_us": "learning, µs",
        "predicting_us": "prediction, µs",
        "model_mb": "model MB",
    }
    for key, title in keys.items():
        rows = []
        for result in found:
            at = {point["classes"]: point[key] for point in result["points"]}
            cells = [f"{at[k]:,.1f}" if k in at else "" for k in counts]
            rows.append([result["subject"].replace("_", " "), *cells])
        parts.append(table([title, *(f"k = {k:,}" for k in counts)], rows))
    return "\n\n".join(parts)
