"""``labelgrove tune``: find the thresholds with which a model's F-measure is highest."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer

from labelgrove._errors import DataError
from labelgrove.cli._models import Model, check_can_write, estimator_of, inputs_of, load_model
from labelgrove.cli._options import (
    AS_FOUND,
    DataArgument,
    JobsOption,
    JsonOption,
    LimitOption,
    ModelArgument,
    NewModelOption,
    Reading,
    gathered,
)
from labelgrove.cli._search import distribution, in_words
from labelgrove.cli.streams import _numbers
from labelgrove.cli.streams._console import show_pairs, write_json
from labelgrove.cli.streams._output import refuse_inputs
from labelgrove.cli.streams._progress import ProgressLine, shown
from labelgrove.cli.streams._source import Source
from labelgrove.models.thresholds._tuner import show_examples, tuning_of


@gathered
def tune(
    model_file: ModelArgument,
    data: DataArgument,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="NAME",
            help="ofo follows the F-measure along DATA; fta tries a few thresholds, the same for "
            "all labels; sto finds the best on DATA, which may not be the best elsewhere.",
        ),
    ] = "ofo",
    average: Annotated[
        str,
        typer.Option(
            "--average",
            metavar="NAME",
            help="The F-measure to maximise: macro; with fta or sto also micro, instance.",
        ),
    ] = "macro",
    output: NewModelOption = None,
    json: JsonOption = False,
    jobs: JobsOption = 1,
    reading: Reading = AS_FOUND,
    limit: LimitOption = None,
) -> None:
    """Find the probability from which each label should be predicted, and keep it in the model.

    DATA are examples that MODEL has not learnt from: on others its probabilities are too good.
    With --thresholds, `predict` and `eval` use what was found.
    """
    target = model_file if output is None else output
    model = load_model(model_file, jobs=jobs)
    check_can_write(target)
    refuse_inputs(target, data)
    with Source(data, reading=reading, limit=limit) as source:
        result = {"model": target, **tune_on(model, source, method, average)}
    with shown(ProgressLine(f"writing {target}")):
        model.save(target)
    if json:
        write_json(result)
    else:
        show_pairs(_for_people(result))


def tune_on(model: Model, source: Source, method: str, average: str) -> dict[str, Any]:
    """Give a model the thresholds that suit the examples of a source.

    Parameters
    ----------
    model : Model
        Gets the thresholds.
    source : Source
        Examples that it has not learnt from.
    method : {"ofo", "fta", "sto"}
    average : {"macro", "micro", "instance"}
    """
    begin = perf_counter()
    tuning = tuning_of(estimator_of(model), method, average=average)
    line = ProgressLine("tuning", source.total, source.share_read)
    with shown(line):
        for chunk in source.chunks():
            show_examples(tuning, model, inputs_of(model, chunk, source.path), chunk.labels)
            line.update(tuning.n_rows)
    if not tuning.n_rows:
        raise DataError(f"{source.path}: there is not a single example to tune thresholds on")
    found = tuning.finish()
    model.set_thresholds(found)
    return {
        "method": method,
        "average": average,
        "f1": found.score,
        "examples": tuning.n_rows,
        "seconds": round(perf_counter() - begin, 3),
        "classifiers_per_example": tuning.inner_products / tuning.n_rows,
        "thresholds": distribution(found.values),
    }


def _for_people(result: dict[str, Any]) -> list[tuple[str, str]]:
    examples = f"{_numbers.count(result['examples'])} in {_numbers.duration(result['seconds'])}"
    path, f1 = result["model"], _numbers.percent(result["f1"])
    return [
        ("examples", examples),
        ("thresholds", in_words(result["thresholds"])),
        ("tuned for", f"{result['average']} F1 over all labels of MODEL: {f1} on these examples"),
        ("classifiers", f"{result['classifiers_per_example']:,.1f} evaluated an example"),
        ("model", f"{path} ({_numbers.size(Path(path).stat().st_size)})"),
    ]
