"""``labelgrove convert``: combine files of examples into one memory-mapped data set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labelgrove import _numbers
from labelgrove._errors import ParameterError
from labelgrove.cli import _options
from labelgrove.cli.streams._console import show_result
from labelgrove.cli.streams._progress import ShareLine, shown
from labelgrove.data import convert as convert_files


@_options.gathered
def convert(
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="DATA", help="Examples, in any files that `train` reads."),
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="DIR", help="The folder to write.")
    ],
    reading: _options.Reading = _options.AS_FOUND,
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs",
            metavar="N",
            help="Number of processes, each of which reads one file at a time; -1 uses all "
            "processors. Does not affect the result.",
        ),
    ] = 1,
    json: _options.JsonOption = False,
) -> None:
    """Convert DATA to one memory-mapped data set, a folder that the other commands read as DATA.

    They read only the parts they use, without parsing. If interrupted, the same command resumes
    with the file it was converting.
    """
    if output == "-":
        raise ParameterError("found - as the output; expected the name of a folder")
    line = ShareLine("converting")
    with shown(line):
        dataset = convert_files(
            inputs,
            output,
            format=reading.format,
            columns=reading.columns,
            n_jobs=jobs,
            progress=line.set_share,
        )
    size = sum(path.stat().st_size for path in Path(output).iterdir())
    width = None if dataset.X is None else dataset.X.shape[1]
    result = {"dataset": output, "examples": len(dataset), "features": width, "bytes": size}
    held = "text" if width is None else f"{width:,} features"
    pairs = [
        ("examples", f"{len(dataset):,}, {held}"),
        ("data set", f"{output} ({_numbers.size(size)})"),
    ]
    show_result(result, pairs, as_json=json)
