"""``labelgrove tree``: build, show, plot and measure label trees."""

from __future__ import annotations

import inspect
import io
import time
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.text import Text

from labelgrove import _numbers
from labelgrove._errors import ParameterError
from labelgrove._paths import named
from labelgrove.cli import _options
from labelgrove.cli._application import Command, Group, app
from labelgrove.cli._models import TEXT_SETTINGS
from labelgrove.cli._trees import (
    BUILDERS,
    CLUSTERED,
    Given,
    as_pairs,
    figures,
    outline,
    read_tree,
    tree_as_bytes,
)
from labelgrove.cli.streams._console import (
    STANDARD_OUTPUT,
    output_console,
    show_result,
    visible,
)
from labelgrove.cli.streams._output import Output
from labelgrove.cli.streams._progress import ProgressLine, shown

_RESERVED = {"n_jobs": "--jobs", "random_state": "--seed"}

tree_app = typer.Typer(
    cls=Group,
    help="Build, show, plot and measure label trees.",
    no_args_is_help=True,
    add_completion=False,  # the application has it
    rich_markup_mode=app.rich_markup_mode,
)

TreeArgument = Annotated[
    str,
    typer.Argument(metavar="TREE", help="A tree: JSON, an edge list (.tsv), or a model file."),
]


def _settable(kind: str) -> str:
    names = [name for name in BUILDERS[kind].settable if name not in _RESERVED]
    return f"{kind}: {', '.join(names)}" if names else kind


#: Shown below the options in ``--help``.
BUILD_EPILOG = (
    f"Parameters for --set, by kind: {'; '.join(map(_settable, BUILDERS))}. See the reference "
    "documentation of labelgrove.trees. A hierarchy has one pair per line: parent, tab, child."
)


@tree_app.command(cls=Command, epilog=BUILD_EPILOG)
@_options.gathered
def build(
    data: _options.DataArgument,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="TREE",
            help="Where to write the tree: JSON, an edge list (.tsv) or Graphviz (.dot); - is "
            "standard output.",
        ),
    ],
    kind: Annotated[
        str, typer.Option("--kind", metavar="NAME", help=f"One of {', '.join(BUILDERS)}.")
    ] = "kmeans",
    settings: _options.SetOption = None,
    embeddings: Annotated[
        Literal["pifa", "cooccurrence"],
        typer.Option("--embeddings", help="Label embeddings for clustering."),
    ] = "pifa",
    fano_frequencies: Annotated[
        Literal["marginal", "greedy", "all"],
        typer.Option(
            "--fano-frequencies",
            help="Which labels of an example count towards the frequencies of an interpolated "
            "tree.",
        ),
    ] = "marginal",
    reading: _options.Reading = _options.AS_FOUND,
    limit: _options.LimitOption = None,
    jobs: _options.JobsOption = 1,
    seed: _options.SeedOption = 0,
    json: _options.JsonOption = False,
) -> None:
    """Build a label tree from DATA: examples, a hierarchy or a thesaurus."""
    builder = BUILDERS.get(kind)
    if builder is None:
        raise ParameterError(
            f"--kind {kind}: no such builder (expected one of {', '.join(BUILDERS)})"
        )
    if json and output == "-":
        raise ParameterError("--json: expected a file for -o, since -o - prints the tree itself")
    for option, value, default, kinds in (
        ("--embeddings", embeddings, "pifa", CLUSTERED),
        ("--fano-frequencies", fano_frequencies, "marginal", ("interpolated",)),
    ):
        if value != default and kind not in kinds:
            raise ParameterError(
                f"{option} {value}: a tree of kind {kind} does not use this; expected --kind "
                f"{' or '.join(kinds)}"
            )
    if builder.reads != "examples" and (limit is not None or reading != _options.AS_FOUND):
        raise ParameterError(
            f"--kind {kind}: reads {builder.reads}; expected neither --limit nor options that say "
            "how to read examples"
        )
    of_text = TEXT_SETTINGS if kind in CLUSTERED and embeddings == "pifa" else ()
    chosen = _options.parse_settings(settings or [], builder.settable, of_text, _RESERVED)
    taken = inspect.signature(builder.function).parameters
    options = {"n_jobs": jobs, "random_state": seed}
    parameters = {name: value for name, value in options.items() if name in taken}
    parameters |= chosen.estimator
    given = Given(data, embeddings, fano_frequencies, reading, limit, chosen.text)
    started = time.perf_counter()
    with shown(ProgressLine(f"building a tree from {builder.reads} in {data}")):
        tree = builder.build(given, parameters)
    seconds = time.perf_counter() - started
    with Output(output) as file:
        file.write(tree_as_bytes(tree, output))
    facts = {"tree": output, "seconds": round(seconds, 3), **figures(tree)}
    if output != "-":
        pairs = [("tree", output), *as_pairs(facts), ("time", _numbers.duration(seconds))]
        show_result(facts, pairs, as_json=json)


@tree_app.command(cls=Command)
@_options.gathered
def show(
    tree: TreeArgument,
    levels: Annotated[
        int,
        typer.Option("--levels", metavar="N", min=0, max=100, help="Levels shown below the root."),
    ] = 3,
    children: Annotated[
        int, typer.Option("--children", metavar="N", min=1, help="Children shown per node.")
    ] = 8,
    labels: Annotated[
        int, typer.Option("--labels", metavar="N", min=1, help="Labels listed per node.")
    ] = 6,
    naming: _options.Naming = _options.AS_STORED,
) -> None:
    """Print TREE as an outline, with label names if there is a vocabulary."""
    found = read_tree(tree, naming)
    screen = output_console()
    with named(STANDARD_OUTPUT):
        for line in outline(found, levels=levels, width=children, samples=labels):
            text = Text(visible(line))
            if screen.is_terminal:
                text.truncate(screen.width, overflow="ellipsis")
            typer.echo(text.plain)


@tree_app.command(cls=Command)
def plot(
    tree: TreeArgument,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="PICTURE", help="Where to write the plot: .svg, .png or .pdf."
        ),
    ],
    max_nodes: Annotated[
        int,
        typer.Option(
            "--max-nodes", metavar="N", min=1, help="Size of the largest tree drawn node by node."
        ),
    ] = 300,
) -> None:
    """Plot TREE, or a summary of a large one. Needs Matplotlib."""
    if Path(output).suffix.lower() not in {".svg", ".png", ".pdf"}:
        raise ParameterError(f"{output}: expected a name that ends in .svg, .png or .pdf")
    figure = read_tree(tree).plot(max_nodes=max_nodes).figure
    drawn = io.BytesIO()
    figure.savefig(drawn, format=Path(output).suffix[1:].lower())
    with Output(output) as file:
        file.write(drawn.getvalue())


@tree_app.command(cls=Command)
@_options.gathered
def stats(
    tree: TreeArgument,
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="DATA",
            help="Labelled examples: adds the expected depth and search cost of their labels.",
        ),
    ] = None,
    reading: _options.Reading = _options.AS_FOUND,
    limit: _options.LimitOption = None,
    json: _options.JsonOption = False,
) -> None:
    """Show the size, depth and balance of TREE, and with --data its search cost."""
    if data is None and (limit is not None or reading != _options.AS_FOUND):
        raise ParameterError("--limit and options that say how to read examples require --data")
    found = read_tree(tree)
    searches = None if data is None else Given(data, reading=reading, limit=limit)
    facts = {"tree": tree, **figures(found, searches)}
    show_result(facts, [("tree", tree), *as_pairs(facts)], as_json=json)
