"""Results of the multi-class benchmarks as tables."""

from __future__ import annotations

import math
from typing import Any

from benchmarks._tables import Results, pivot, table


def multiclass(found: Results) -> str:
    """A table each for the error and for the speeds: methods by data sets."""
    titles = [f"{result['subject']}, {result['classes']:,}" for result in found]
    figures = {
        "error %; data set, classes →": _error,
        "learning, examples/s (passes)": _learning,
        "prediction, examples/s": _prediction,
    }
    return "\n\n".join(
        pivot(
            title,
            titles,
            [{method: figure(one, run) for method, run in one["runs"].items()} for one in found],
        )
        for title, figure in figures.items()
    )


def _error(result: dict[str, Any], run: dict[str, Any]) -> str:
    return f"{run['error']:.2f} ± {_half_width(run['error'], result['rows']):.2f}"


def _learning(result: dict[str, Any], run: dict[str, Any]) -> str:
    return f"{result['learnt'] * run['passes'] / run['learning_cpu']:,.0f} ({run['passes']})"


def _prediction(result: dict[str, Any], run: dict[str, Any]) -> str:
    return f"{result['rows'] / max(run['predicting_cpu'], 1e-4):,.0f}"


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
    titles = [f"k = {k:,}" for k in counts]
    keys = {
        "learning_us": "learning, µs",
        "predicting_us": "prediction, µs",
        "model_mb": "model MB",
    }
    return "\n\n".join(
        pivot(title, titles, [_at(found, k, key) for k in counts]) for key, title in keys.items()
    )


def _at(found: Results, k: int, key: str) -> dict[str, str]:
    """A figure of every program with k classes."""
    return {
        result["subject"].replace("_", " "): f"{point[key]:,.1f}"
        for result in found
        for point in result["points"]
        if point["classes"] == k
    }
