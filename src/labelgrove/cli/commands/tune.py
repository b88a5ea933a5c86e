"""``labelgrove tune``: find the thresholds that maximise a model's F-measure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, Literal

import typer

from labelgrove import _numbers
from labelgrove._errors import DataError, ParameterError
from labelgrove._unfinished import Unfinished
from labelgrove.cli import _options
from labelgrove.cli._misread import warn_of_joined_labels
from labelgrove.cli._models import (
    Model,
    check_can_write,
    estimator_of,
    inputs_of,
    labelled,
    load_model,
)
from labelgrove.cli._search import distribution, excluded_labels, in_words, least_in_words
from labelgrove.cli.streams._console import say_warning, show_result
from labelgrove.cli.streams._progress import ProgressLine, shown
from labelgrove.cli.streams._source import Source
from labelgrove.evaluation._observed import excluded_cells
from labelgrove.models.thresholds._tuner import show_examples, tuning_of


@_options.gathered
def tune(
    model_file: _options.ModelArgument,
    data: _options.DataArgument,
    method: Annotated[
        Literal["auto", "ofo", "fta", "sto"],
        typer.Option(
            "--method",
            help="auto: one threshold per label where that does no harm; rare labels borrow from "
            "labels of similar frequency. ofo: follow the F-measure along DATA, online. fta: try a "
            "few thresholds, the same for all labels. sto: the best thresholds on DATA, which "
            "overfit rare labels.",
        ),
    ] = "auto",
    average: Annotated[
        Literal["macro", "micro", "instance"] | None,
        typer.Option(
            "--average",
            help="F-measure to maximise: macro (auto does so without losing micro F); auto, fta "
            "and sto also support micro and instance. Default: macro.",
        ),
    ] = None,
    labels: Annotated[
        float | None,
        typer.Option(
            "--labels", metavar="N", help="With auto: predict N labels per example on average."
        ),
    ] = None,
    recall: Annotated[
        float | None,
        typer.Option(
            "--recall",
            metavar="SHARE",
            help="With auto: reach this recall with the highest possible precision.",
        ),
    ] = None,
    least: Annotated[
        int | None,
        typer.Option(
            "--least-labels",
            metavar="N",
            min=0,
            help="With auto: predict the best N labels of every example even if they miss their "
            "thresholds. Default: 0, or with --average instance 1 if that is better.",
        ),
    ] = None,
    filter_pairs: _options.FilterPairsOption = None,
    output: _options.NewModelOption = None,
    json: _options.JsonOption = False,
    jobs: _options.JobsOption = 1,
    reading: _options.Reading = _options.AS_FOUND,
    limit: _options.LimitOption = None,
) -> None:
    """Choose a threshold for each label, and store the thresholds in the model.

    DATA must be held-out examples: on those that MODEL has learnt from, its probabilities are too
    optimistic. With --thresholds, `predict`, `eval` and `explain` use these thresholds.
    """
    _check_goal(method, average, labels, recall, least)
    average = "macro" if average is None else average
    target = model_file if output is None else output
    check_can_write(target)
    with Unfinished(Path(target)):  # no other process may write it meanwhile
        model = load_model(model_file, jobs=jobs)
        with labelled(model, data, reading, limit) as source:
            excluded = excluded_labels(model, filter_pairs)
            goal = {
                "average": average,
                "labels_per_row": labels,
                "least_recall": recall,
                "least_labels": least,
            }
            result = {"model": target, **tune_on(model, source, method, excluded, **goal)}
        with shown(ProgressLine(f"writing {target}")):
            model.save(target)
    _warn(result)
    pairs = _for_people(result, _goal(average, labels, recall))
    show_result(result, pairs, as_json=json)


def tune_on(
    model: Model,
    source: Source,
    method: str,
    excluded: Mapping[int, Collection[Any]],
    **goal: Any,
) -> dict[str, Any]:
    """Tune a model's thresholds on held-out examples.

    Labels ``excluded``, by row, count neither as true nor as predicted; ``goal`` contains
    ``average``, ``labels_per_row``, ``least_recall`` and ``least_labels``, as for
    `ThresholdedClassifier`.
    """
    begin = perf_counter()
    estimator = estimator_of(model)
    tuning = tuning_of(estimator, method, compared=True, **goal)
    columns = {label: i for i, label in enumerate(model.classes_.tolist())}
    others: dict[Any, None] = {}
    line = source.progress("tuning")
    with shown(line):
        for chunk in line.over(source.chunks()):
            show_examples(tuning, model, inputs_of(model, chunk, source.path), chunk.labels)
            there = (label for labels in chunk.labels for label in labels)
            others.update((label, None) for label in there if label not in columns)
    warn_of_joined_labels(others, columns, source.columns)
    if not tuning.positives().any():
        raise DataError(f"{source.path}: no example has a label of the model; expected true labels")
    cells = excluded_cells(excluded, columns, (tuning.n_rows, len(columns)))
    if cells is not None:
        tuning.leave_out(cells)
    found = tuning.finish()
    model.set_thresholds(found)
    single_threshold, single = tuning.single(found)
    positives = tuning.positives()
    return {
        "method": method,
        "average": found.average,
        "f1": found.score,
        "examples": tuning.n_rows,
        "true_labels": int(positives.sum()),
        "labels": len(positives),
        "rare_labels": int((positives < _FEW).sum()),
        "before": tuning.before().to_dict(),
        "single_threshold": single_threshold,
        "single": single.to_dict(),
        "after": tuning.after(found).to_dict(),
        "seconds": round(perf_counter() - begin, 3),
        "classifiers_per_example": tuning.inner_products / tuning.n_rows,
        "thresholds": distribution(found.values),
        "least_labels": found.least_labels,
    }


_FEW = 5
_ENOUGH = 200
_HARM = 1.0  # percentage point


def _warn(result: dict[str, Any]) -> None:
    """Warn of too few examples for the thresholds, and of thresholds that do harm."""
    method, average = result["method"], result["average"]
    after, single = (100 * result[which][average] for which in ("after", "single"))
    true, examples = result["true_labels"], _numbers.counted(result["examples"], "example")
    rare = f"{result['rare_labels']:,} of {result['labels']:,} labels"
    if true < _ENOUGH:
        say_warning(
            f"{examples} with {_numbers.counted(true, 'true label')} in total are too few for "
            f"reliable thresholds; expected at least {_ENOUGH} true labels"
        )
    if method in ("ofo", "sto") and 2 * result["rare_labels"] > result["labels"]:
        harm = "overfits them"
        if method == "ofo":
            harm = "leaves their thresholds near the initial values"
        say_warning(
            f"{rare} have fewer than {_FEW} examples in DATA, and --method {method} "
            f"{harm}; --method auto lets them borrow from labels of similar frequency"
        )
    elif method != "auto" and after < single - _HARM:
        say_warning(
            f"on rows not tuned on, --method {method} reaches {average} F1 {after:.1f}%, less than "
            f"the {single:.1f}% of the best single threshold, below which --method auto never falls"
        )


def _check_goal(
    method: str,
    average: str | None,
    labels: float | None,
    recall: float | None,
    least: int | None,
) -> None:
    """Refuse options that exclude each other, before any file is read."""
    goals = {"--average": average, "--labels": labels, "--recall": recall}
    given = [name for name, value in goals.items() if value is not None]
    if len(given) > 1:
        raise ParameterError(f"{given[0]} and {given[1]} exclude each other; expected one of them")
    only_auto = [name for name in given if name != "--average"]
    only_auto += ["--least-labels"] if least is not None else []
    if only_auto and method != "auto":
        raise ParameterError(f"{only_auto[0]}: expected --method auto; found --method {method}")
    if method == "ofo" and average not in (None, "macro"):
        raise ParameterError(
            f"--average {average}: --method ofo maximises macro F1; expected --method auto, fta "
            "or sto"
        )


def _goal(average: str, labels: float | None, recall: float | None) -> str:
    """Describe the goal of `labelgrove tune` for people."""
    if recall is not None:
        return f"a recall of {recall:.0%}, with the best precision"
    if labels is not None:
        return f"{labels:g} label{'s' * (labels != 1)} per example, with the best micro F1"
    return f"{average} F1 over all labels of MODEL"


def _for_people(result: dict[str, Any], goal: str) -> list[tuple[str, str]]:
    examples = f"{result['examples']:,} in {_numbers.duration(result['seconds'])}"
    few = f"{result['rare_labels']:,} of {result['labels']:,} labels have fewer than {_FEW}"
    measured = "cross-fitted: on rows not tuned on"
    if result["method"] == "auto" and result["after"] == result["single"]:
        # Measured on the rows that it was chosen on.
        measured = "the best single: no others did better on rows not tuned on"
    return [
        ("examples", f"{examples}; {few}"),
        ("thresholds", in_words(result["thresholds"]) + least_in_words(result["least_labels"])),
        ("before", _figures(result["before"])),
        ("best single", f"{_figures(result['single'])} ({result['single_threshold']:.3g})"),
        ("after", f"{_figures(result['after'])} ({measured})"),
        ("tuned for", goal),
        ("classifiers", f"{result['classifiers_per_example']:,.1f} evaluated per example"),
        ("model", _numbers.sized(result["model"])),
    ]


def _figures(found: dict[str, float]) -> str:
    macro, micro, instance, precision, recall = (
        _numbers.percent(found[name])
        for name in ("macro", "micro", "instance", "precision", "recall")
    )
    return (
        f"{found['labels']:.2f} labels per example; F1 macro {macro}, micro {micro}, instance "
        f"{instance}; precision {precision}, recall {recall}"
    )
