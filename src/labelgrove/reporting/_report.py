"""The report of a model on labelled examples."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

from labelgrove._names import on_one_line
from labelgrove._numbers import counted
from labelgrove.metrics import Bootstrap
from labelgrove.metrics._score import Interval, Score
from labelgrove.reporting import _changes, _chart_parts, _charts, _sections
from labelgrove.reporting._losses import Losses, find_losses
from labelgrove.reporting._measured import CALIBRATED, LEAST, LONGEST_RANKING, Measured, measure
from labelgrove.reporting._mistakes import Called, confusions, wrong_examples
from labelgrove.reporting._page import write_page

_RESAMPLES = 300
_LEGEND = 12  # characters of a model's name in a chart


def write_report(
    model: Any,
    X: Any,
    Y: Any,
    path: str | PathLike[str],
    *,
    compare: Any = None,
    X_compare: Any = None,
    names: Sequence[str] = ("this model", "the other model"),
    data_name: str = "the examples",
    level: float = 0.95,
    excluded: Mapping[int, Collection[Any]] | None = None,
    examples: bool = True,
) -> None:
    """Measure a model on held-out examples and write an HTML report.

    The report shows headline metrics with bootstrap intervals, confused labels, wrongly predicted
    examples with their text and an explanation, P@k and R@k, F1 by threshold, the calibration of
    the probabilities, a table of all labels, F1 by label frequency, the label tree and where in it
    labels are lost, and prediction latency. With a second model, it also shows what got better and
    worse, with significance tests. If the model has a vocabulary, labels appear by name. The
    report is one self-contained file that opens in any browser.

    Parameters
    ----------
    model : estimator of LabelGrove
        A trained model. It predicts labels with its ``thresholds_`` if they are tuned, else with
        its ``threshold``; a multi-class model predicts the best class.
    X : rows
        Examples in the form that the model expects.
    Y : sparse 0/1 matrix, sequence of label collections, or 1-D sequence of labels
        True labels; the columns of a matrix are labels 0, 1, 2, ...
    path : path
        File to write.
    compare : estimator of LabelGrove, optional
        A model to compare with: the report shows what `model` does better and worse.
    X_compare : rows, optional
        The same examples in the form that `compare` expects; by default `X`.
    names : sequence of two str
        Names of the models in the report.
    data_name : str
        Name of the examples in the report.
    level : float
        Confidence level of the bootstrap intervals.
    excluded : mapping of int to collection of labels, optional
        Labels that count neither as true nor as predicted, by row from 0, as read by
        `labelgrove.data.read_filter_pairs`.
    examples : bool
        Whether to show some wrongly predicted examples, with their text. Without them the page
        contains none of the data, only labels and figures.

    Raises
    ------
    DataError
        If `X` and `Y` cannot be used.
    MissingDependencyError
        Without the packages of ``labelgrove[report]``.
    OSError
        If the page cannot be written.
    LabelGroveError
        If another process is writing the same page.

    Examples
    --------
    >>> from labelgrove import OnlinePLTClassifier
    >>> from labelgrove.reporting import write_report
    >>> clf = OnlinePLTClassifier().fit([[1, 0], [0, 1]] * 9, [["ebb"], ["flow"]] * 9)
    >>> write_report(clf, [[1, 0], [0, 1]], [["ebb"], ["flow"]], "report.html")  # doctest: +SKIP
    """
    interval = Bootstrap(level=level, n_resamples=_RESAMPLES, method="centred")
    models = [model] if compare is None else [model, compare]
    # Both models use the same columns: labels that either model knows, then other true labels.
    labels = list(dict.fromkeys(label for one in models for label in one.classes_.tolist()))
    measured = measure(model, X, Y, labels=labels, interval=interval, excluded=excluded)
    charted = _in_charts(names)
    losses = find_losses(model, X, measured) if hasattr(model, "label_paths") else None
    vocabulary = getattr(model, "vocabulary_", None)
    called: Called = str if vocabulary is None else vocabulary.called
    page = _page(model, measured, losses, charted[0], interval, called)
    changes = other = None
    if compare is not None:
        rows = X if X_compare is None else X_compare
        other = measure(
            compare, rows, Y, labels=measured.labels, interval=interval, excluded=excluded
        )
        changes = _compare(page, other, measured, charted, interval, called)
    said = f"{100 * interval.level:.6g}%"
    _add_charts(page, measured, charted[: len(models)], said)
    write_page(
        path,
        "report.html.jinja",
        {
            "page": page,
            "title": f"{names[0]} on {data_name}",
            "facts": _facts(model, measured, data_name),
            "tiles": _tiles(
                _sections.headline(measured), None if other is None else _sections.headline(other)
            ),
            "task": model.target_type_,
            "rule": measured.rule,
            "threshold": float(getattr(model, "threshold", 0.5)),
            "changes": changes,
            "confusions": confusions(measured, called),
            "mistakes": wrong_examples(model, X, measured, called) if examples else None,
            "ece": measured.figures["ece"],
            "calibrated": CALIBRATED,
            "least": LEAST,
            "longest": LONGEST_RANKING,
            "names": list(names),
            "level": said,
            "latency": _latency(measured),
            "has_tree": "tree" in page,
            "labels_in_test": measured.figures["labels_in_test"],
        },
    )


def _page(
    model: Any,
    measured: Measured,
    losses: Losses | None,
    name: str,
    interval: Interval,
    called: Called,
) -> dict[str, Any]:
    """Collect the data that the page's scripts draw."""
    columns = _sections.label_columns(measured, losses, called)
    points, means = _sections.frequency(columns)
    data: dict[str, Any] = {
        "ranking": _sections.ranking_curve(measured, name, interval),
        "threshold_curve": _sections.threshold_curve(measured),
        "reliability": _sections.reliability(measured, name),
        "frequency": points,
        "frequency_mean": means,
        "latency": _sections.latency_bins(measured.latencies),
    }
    if measured.rule == "thresholds":
        # A threshold may be infinite; outside this range it is reached always, or never.
        used = np.clip(measured.thresholds[measured.known], 0.0, 1.0)
        data["chosen"] = _sections.counts_in_bins(used, np.linspace(0, max(used.max(), 0.5), 26))
    if losses is not None and losses.labels.size:
        data["lost_by_depth"] = _sections.lost_by_depth(losses)
    page: dict[str, Any] = {"data": data, "labels": columns, "charts": {}}
    if hasattr(model, "tree_"):
        page["tree"] = _sections.tree_arrays(model.tree_, measured.labels, losses)
    return page


def _compare(
    page: dict[str, Any],
    before: Measured,
    after: Measured,
    names: Sequence[str],
    interval: Interval,
    called: Called,
) -> dict[str, Any]:
    data = page["data"]
    data["ranking"] += _sections.ranking_curve(before, names[1], interval)
    data["reliability"] += _sections.reliability(before, names[1])
    data["differences"] = _changes.differences(before, after, interval)
    f1_before = _sections.label_columns(before, None)["f1"]
    labels = _changes.changed_labels(before, after, (f1_before, page["labels"]["f1"]), called)
    page["changes"] = labels.pop("columns")
    return labels | {"first": _changes.first_places(before, after)}


def _add_charts(page: dict[str, Any], measured: Measured, names: list[str], level: str) -> None:
    threshold = measured.thresholds[measured.known]
    common = float(threshold[0]) if measured.rule == "threshold" and len(threshold) else None
    charts = {
        "ranking": _charts.ranking(names),
        "threshold_curve": _charts.threshold_curve(common),
        "reliability": _charts.reliability(names),
        "frequency": _charts.frequency(),
        "lost_by_depth": _charts.lost_by_depth(),
        "differences": _charts.differences(level),
        "chosen": _charts.histogram(
            "chosen", "Thresholds of the labels", "threshold", colour=_chart_parts.OCHRE
        ),
        "latency": _charts.histogram(
            "latency", "Prediction latency", "milliseconds", unit="~g", y="examples", scale="log"
        ),
    }
    page["charts"] = {name: spec for name, spec in charts.items() if name in page["data"]}
    if "tree" in page:
        page["charts"]["rings"] = _charts.rings()


def _in_charts(names: Sequence[str]) -> list[str]:
    """Shorten names to fit into a chart's legend on a phone, and keep them distinct."""
    short = [on_one_line(name, _LEGEND) for name in names]
    return short if len(set(short)) == len(short) else [f"{i}: {n}" for i, n in enumerate(short, 1)]


def _facts(model: Any, measured: Measured, data_name: str) -> list[tuple[str, str]]:
    found = measured.figures
    facts = [
        ("model", type(model).__name__),
        ("learnt from", counted(measured.examples_seen, "example")),
        ("labels", f"{int(measured.known.sum()):,}"),
        ("measured on", f"{counted(found['examples'], 'example')} of {data_name}"),
        ("labels per example", f"{measured.truth.nnz / found['examples']:.1f}"),
    ]
    if found["unknown_labels"]:
        of = f"{found['unknown_labels']:,} of {found['labels_in_test']:,} in the test set"
        facts.append(("labels never learnt", of))
    return facts


def _tiles(scores: Mapping[str, Score], other: Mapping[str, Score] | None) -> list[dict[str, Any]]:
    tiles = []
    for name, score in scores.items():
        low, high = score.interval or (score, score)
        tile = {"name": _sections.NAMES[name], "value": score, "low": low, "high": high}
        tiles.append(tile | {"other": None if other is None else other.get(name)})
    return tiles


def _latency(measured: Measured) -> dict[str, Any]:
    quantiles = {
        f"p{q}": _time(float(np.quantile(measured.latencies, q / 100))) for q in (50, 95, 99)
    }
    return quantiles | {
        "rows": len(measured.latencies),
        "classifiers": measured.figures["classifiers_per_example"],
        "depth": measured.figures["search_depth"],
    }


def _time(seconds: float) -> tuple[str, str]:
    """Format a short time, as number and unit."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f}", "µs"
    return f"{seconds * 1e3:.3g}", "ms"
