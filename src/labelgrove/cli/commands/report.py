"""``labelgrove report``: an HTML page about the quality of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from labelgrove import _numbers
from labelgrove._errors import DataError
from labelgrove.cli import _options
from labelgrove.cli._models import Model, check_can_write, inputs_of, labelled, load_model
from labelgrove.cli._search import excluded_labels
from labelgrove.cli.streams._console import show_pairs
from labelgrove.cli.streams._progress import ProgressLine, shown
from labelgrove.reporting import write_report
from labelgrove.reporting._page import check_packages


@_options.gathered
def report(
    model_file: _options.ModelArgument,
    data: _options.DataArgument,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where to write the page.")
    ],
    compare: Annotated[
        str | None,
        typer.Option(
            "--compare",
            metavar="MODEL2",
            help="Also show what MODEL does better and worse than it.",
        ),
    ] = None,
    no_examples: Annotated[
        bool,
        typer.Option(
            "--no-examples",
            help="Show no examples of DATA, so that the page can be passed on without its texts.",
        ),
    ] = False,
    filter_pairs: _options.FilterPairsOption = None,
    jobs: _options.JobsOption = 1,
    reading: _options.Reading = _options.AS_FOUND,
    naming: _options.Naming = _options.AS_STORED,
    limit: _options.LimitOption = None,
) -> None:
    """Measure MODEL on DATA in detail, and write an HTML report.

    The page is self-contained: it opens in any browser, without a network. DATA is loaded into
    memory. Needs labelgrove[report].
    """
    check_can_write(output)
    check_packages()
    files = [model_file] if compare is None else [model_file, compare]
    models = [load_model(path, jobs=jobs, naming=naming) for path in files]
    excluded = excluded_labels(models[0], filter_pairs)
    X, labels = _read(models, data, reading, limit)
    if not any(labels):
        raise DataError(f"{data}: no example has a label; expected true labels")
    names = [Path(path).stem for path in (model_file, compare or "the other")]
    if names[0] == names[1]:
        names = [model_file, str(compare)]
    with shown(ProgressLine("measuring")):
        write_report(
            models[0],
            X[0],
            labels,
            output,
            compare=models[1] if compare else None,
            X_compare=X[-1],
            names=names,
            data_name=Path(data).name if data != "-" else "standard input",
            excluded=excluded,
            examples=not no_examples,
        )
    show_pairs([("examples", f"{len(labels):,}"), ("report", _numbers.sized(output))])


def _read(
    models: list[Model], data: str, reading: _options.Reading, limit: int | None
) -> tuple[list[Any], list[Any]]:
    """Read all examples: the inputs of each model, and the labels."""
    with labelled(models[0], data, reading, limit) as source:
        line = source.progress("reading")
        with shown(line):
            examples = source.whole(line)
    return [inputs_of(model, examples, data) for model in models], list(examples.labels)
