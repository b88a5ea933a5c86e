"""``labelgrove compact``: a small copy of a model, for prediction only."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from labelgrove import _numbers
from labelgrove._errors import ParameterError
from labelgrove._parameters import byte_count
from labelgrove._unfinished import Unfinished
from labelgrove.cli import _options
from labelgrove.cli._models import (
    Model,
    algorithm_of,
    check_can_write,
    estimator_of,
    inputs_of,
    labelled,
    load_model,
    targets_of,
)
from labelgrove.cli.streams._console import say_warning, show_result
from labelgrove.models import CompactionReport
from labelgrove.models._label_tree import LabelTreeClassifier
from labelgrove.models.engine._records import PLACES


@_options.gathered
def compact(
    model_file: _options.ModelArgument,
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="MODEL2", help="Where to write the small copy."),
    ],
    dtype: Annotated[
        Literal["float32", "float16", "int8"],
        typer.Option("--dtype", help="Type of the stored weights."),
    ] = "float32",
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            metavar="T",
            min=0.0,
            help="Drop weights that contribute less than T to a score for a feature of value 1.",
        ),
    ] = None,
    max_bytes: Annotated[
        str | None,
        typer.Option(
            "--max-bytes",
            metavar="SIZE",
            help="Drop as few weights as needed to fit the file into this size, such as 10MB.",
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            "--data", metavar="DATA", help="Labelled examples to compare the two models on."
        ),
    ] = None,
    reading: _options.Reading = _options.AS_FOUND,
    limit: _options.LimitOption = None,
    jobs: _options.JobsOption = 1,
    json: _options.JsonOption = False,
) -> None:
    """Write a small copy of MODEL that predicts but can no longer learn.

    With float32 and no threshold, it predicts exactly what MODEL does. Its weights stay in the
    memory-mapped file, so processes share them. With --data, also measures the precision of both
    models.
    """
    if threshold is not None and max_bytes is not None:
        raise ParameterError("--threshold and --max-bytes exclude each other; expected one of them")
    most = None if max_bytes is None else byte_count("--max-bytes", max_bytes, 1)
    model = load_model(model_file, jobs=jobs)
    if not isinstance(estimator_of(model), LabelTreeClassifier):
        raise ParameterError(
            f"{model_file}: expected a model with a label tree; {algorithm_of(model)} has none"
        )
    check_can_write(output)
    X, y = (None, None) if data is None else _examples(model, data, reading, limit)
    small: Any = model.compact(dtype=dtype, threshold=threshold, max_bytes=most, X=X, y=y)
    with Unfinished(Path(output)):  # no other process may write it meanwhile
        small.save(output, for_prediction=True)
    report: CompactionReport = small.compaction_
    if report.bytes_after > report.bytes_before:
        say_warning(
            f"{output}: the copy is not smaller: saved for prediction, {model_file} itself takes "
            f"{report.bytes_before:,} bytes instead of {report.bytes_after:,}"
        )
    result = {"model": output, **asdict(report)}
    show_result(result, _for_people(report, output), as_json=json)


def _examples(
    model: Model, data: str, reading: _options.Reading, limit: int | None
) -> tuple[Any, Any]:
    with labelled(model, data, reading, limit) as source:
        examples = source.whole()
        return inputs_of(model, examples, source.path), targets_of(model, examples, source.path)


def _for_people(report: CompactionReport, path: str) -> list[tuple[str, str]]:
    pairs = [
        ("weights", f"{report.weights_before:,} → {report.weights_after:,}"),
        ("stored as", f"{report.dtype}, no weight below {report.threshold:.3g}"),
        ("size", f"{_numbers.size(report.bytes_before)} → {_numbers.size(report.bytes_after)}"),
    ]
    before, after = report.precision_before, report.precision_after
    if before is not None and after is not None:
        pairs += [
            (f"P@{k}", f"{_numbers.percent(was)} → {_numbers.percent(now)}")
            for k, was, now in zip(PLACES, before, after, strict=True)
        ]
    return [*pairs, ("model", path)]
