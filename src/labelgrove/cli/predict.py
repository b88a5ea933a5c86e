"""``labelgrove predict``: labels and scores for every example, one JSON object a line."""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import Annotated, Any

import typer

from labelgrove.cli._labels_file import read_allowed_labels
from labelgrove.cli._models import load_model
from labelgrove.cli._options import (
    BeamOption,
    DataArgument,
    FormatOption,
    LimitOption,
    ModelArgument,
    SameJobsOption,
    ThresholdsOption,
)
from labelgrove.cli._output import Output, refuse_inputs
from labelgrove.cli._progress import ProgressLine, shown
from labelgrove.cli._ranking import Search
from labelgrove.cli._results import encode
from labelgrove.cli._source import Source
from labelgrove.cli._thresholds import chosen_cut


def predict(
    model_file: ModelArgument,
    data: DataArgument,
    k: Annotated[
        int | None,
        typer.Option(
            "-k", metavar="K", min=1, show_default=False, help="The K best labels. Default: 5."
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            metavar="T",
            min=0.0,
            max=1.0,
            help="All labels with a score of at least T; with -k, K of them at most.",
        ),
    ] = None,
    thresholds: ThresholdsOption = False,
    beam: BeamOption = None,
    labels_file: Annotated[
        str | None,
        typer.Option(
            "--labels-file",
            metavar="FILE",
            help="Predict only the labels that FILE names, one a line.",
        ),
    ] = None,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write (.gz and .xz compress); - is standard output.",
        ),
    ] = "-",
    jobs: SameJobsOption = None,
    format: FormatOption = None,
    limit: LimitOption = None,
) -> None:
    """Predict labels, with their probabilities, for the examples of DATA.

    One line of JSON an example, in the order of DATA: {"labels": [...], "scores": [...]}, best
    first. Labels that DATA may have are not looked at.
    """
    refuse_inputs(output, model_file, data)
    model = load_model(model_file, jobs=jobs)
    allowed = None if labels_file is None else read_allowed_labels(labels_file, model.classifier)
    search = Search(model, k, chosen_cut(model, threshold, thresholds), beam, allowed)
    with ExitStack() as resources:
        source = resources.enter_context(
            Source(data, format=format, limit=limit, labels_required=False)
        )
        out = resources.enter_context(closing(Output(output)))
        line = ProgressLine("predicting", source.total)
        resources.enter_context(shown(line, beside_output=output == "-"))
        done = 0
        for chunk in source.chunks():
            found = search.find(model.rows(chunk, data))
            out.write(b"".join(encode(_as_object(*row)) for row in found))
            done += chunk.n_rows
            line.update(done)


def _as_object(labels: list[Any], scores: list[float]) -> dict[str, Any]:
    # Scores are single precision: more digits than this would be noise.
    return {"labels": labels, "scores": [float(f"{score:.6g}") for score in scores]}
