"""Arguments and options that several commands share, each described once."""

from __future__ import annotations

from typing import Annotated

import typer

from labelgrove.data import FORMATS

_FORMATS = ", ".join(FORMATS)

ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help="A model file.")]
OptionalModelArgument = Annotated[
    str | None, typer.Argument(metavar="[MODEL]", help="A model file.", show_default=False)
]

DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help=f"Examples: {_FORMATS}, plain or .gz or .xz; - is standard input.",
    ),
]

FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help=f"Format of DATA if its name does not tell: {_FORMATS}.",
    ),
]

ThresholdOption = Annotated[
    float | None,
    typer.Option(
        "--threshold",
        metavar="T",
        min=0.0,
        max=1.0,
        show_default=False,
        help="Predicted are all labels with a score of at least T; with -k, K of them at most.",
    ),
]

LimitOption = Annotated[
    int | None,
    typer.Option("--limit", metavar="N", min=1, help="Use the first N examples only."),
]

JobsOption = Annotated[
    int,
    typer.Option("--jobs", metavar="N", help="Threads; -1 for all. The result is the same."),
]

SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Set a parameter; see below. May be given several times.",
    ),
]

SeedOption = Annotated[
    int, typer.Option("--seed", metavar="N", min=0, help="Seed of everything random.")
]

NewModelOption = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="MODEL2",
        show_default=False,
        help="Where to write the model; by default it takes the place of MODEL.",
    ),
]

BeamOption = Annotated[
    int | None,
    typer.Option(
        "--beam",
        metavar="W",
        min=1,
        help="Search with a beam of this width; by default the search is exact.",
    ),
]

ThresholdsOption = Annotated[
    bool,
    typer.Option(
        "--thresholds",
        help="All labels that reach the thresholds kept in MODEL (see `labelgrove tune`).",
    ),
]

ForPredictionOption = Annotated[
    bool,
    typer.Option(
        "--for-prediction",
        help="Leave out what only learning needs: about half the size, but it cannot learn on.",
    ),
]

ProgressiveOption = Annotated[
    str | None,
    typer.Option(
        "--progressive",
        metavar="FILE.html",
        help="Also write how the learning went, as a page to look at; every example is predicted "
        "for it. Needs the packages of labelgrove[report].",
    ),
]

JsonOption = Annotated[
    bool, typer.Option("--json", help="Write the result as JSON to standard output.")
]
