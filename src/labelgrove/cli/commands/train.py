"""``labelgrove train``: learn a new model from a file of examples."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

import typer

from labelgrove._errors import ParameterError
from labelgrove.cli import _options
from labelgrove.cli._application import OPTIONS
from labelgrove.cli._checkpoints import Checkpoints
from labelgrove.cli._choice import AUTO, TRIAL, chosen_algorithm
from labelgrove.cli._learning import (
    ALL_PREDICTED,
    BURST,
    EVERY,
    finish_learning,
    learn_from,
    learn_in_pieces,
    learns_one_by_one,
    new_record,
    report_learning,
    write_record,
)
from labelgrove.cli._models import ALGORITHMS, TEXT_SETTINGS, check_can_write, create_model
from labelgrove.cli.streams._source import Source
from labelgrove.vocabulary import Vocabulary

_SETTABLE = "\n\n".join(
    f"{name}: {', '.join(sorted(set(_options.settable(estimator)) - set(OPTIONS)))}."
    for name, estimator in ALGORITHMS.items()
)
_SETTABLE_TEXT = sorted(f"text.{name}" for name in TEXT_SETTINGS)

#: Shown below the options in ``--help``.
EPILOG = (
    "Parameters for --set, by algorithm; see the reference documentation of the estimators and of "
    f"TextFeatures.\n\n{_SETTABLE}\n\nText: {', '.join(_SETTABLE_TEXT)}.\n\n"
    "“P@1 while learning” is the progressive P@1: the share of examples whose best label was right "
    "when predicted just before they were learnt, on the first pass. The first "
    f"{ALL_PREDICTED:,} examples are all predicted, later ones less often, down to one in {EVERY}, "
    f"in runs of {BURST}."
)


@_options.gathered
def train(
    context: typer.Context,
    data: _options.DataArgument,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="MODEL", help="Where to write the model.")
    ],
    algorithm: Annotated[
        str,
        typer.Option(
            "--algorithm",
            metavar="NAME",
            help=f"One of {', '.join(ALGORITHMS)}; or {AUTO}, which picks the best on a sample.",
        ),
    ] = "online-plt",
    trial: Annotated[
        int,
        typer.Option(
            "--trial", metavar="N", min=3, help=f"Size of the sample for --algorithm {AUTO}."
        ),
    ] = TRIAL,
    settings: _options.SetOption = None,
    passes: Annotated[
        int, typer.Option("--passes", metavar="N", min=1, help="Number of passes over DATA.")
    ] = 1,
    trees: Annotated[
        int | None,
        typer.Option(
            "--trees",
            metavar="N",
            min=1,
            help="Number of trees to average. Default: 1; 50 for ldsm and fastxml.",
        ),
    ] = None,
    jobs: _options.JobsOption = 1,
    seed: _options.SeedOption = 0,
    reading: _options.Reading = _options.AS_FOUND,
    vocabulary: Vocabulary | None = None,
    shuffle: Annotated[
        bool,
        typer.Option("--shuffle", help="Load DATA into memory and shuffle it for every pass."),
    ] = False,
    limit: _options.LimitOption = None,
    for_prediction: _options.ForPredictionOption = False,
    progressive: _options.ProgressiveOption = None,
    learn_names: Annotated[
        Literal["met", "all"] | None,
        typer.Option(
            "--learn-names",
            help="Learn label names from the vocabulary as additional examples: met learns each "
            "label's name before its first example, all learns the whole vocabulary. Useful for "
            "short texts.",
        ),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="Learn in pieces that each fit into this much memory, such as 2GB, at least "
            "500MB; very many features need more. Needs --algorithm plt, and a folder written by "
            "convert as DATA. If interrupted, the same command resumes.",
        ),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            "--dask",
            metavar="ADDRESS",
            help="Learn in pieces on the workers of this Dask scheduler, such as "
            "tcp://host:8786. Workers must see DATA and MODEL under the same paths. Needs "
            "--algorithm plt.",
        ),
    ] = None,
    checkpoint: _options.CheckpointOption = _options.CHECKPOINT,
    json: _options.JsonOption = False,
) -> None:
    """Learn a new model from DATA.

    Ctrl-C ends learning early and writes the model learnt so far to MODEL (batch algorithms write
    none). After a crash or a kill, the same command resumes from its last checkpoint.
    """
    check_can_write(output)
    record = new_record(progressive)
    in_pieces = memory is not None or dask is not None
    elsewhere = (shuffle, for_prediction, limit, record, learn_names)
    if in_pieces and (any(elsewhere) or checkpoint != _options.CHECKPOINT):
        raise ParameterError(
            "--memory and --dask: expected none of --shuffle, --limit, --progressive, "
            "--for-prediction, --learn-names and --checkpoint, which do not apply to learning in "
            "pieces"
        )
    if in_pieces and algorithm != "plt":
        raise ParameterError("--memory and --dask: expected --algorithm plt")
    if algorithm != AUTO and trial != TRIAL:
        raise ParameterError(f"--trial {trial}: expected --algorithm {AUTO} as well")
    shuffle_seed = seed if shuffle else None
    with Source(
        data,
        reading=reading,
        limit=limit,
        shuffle_seed=shuffle_seed,
        vocabulary=vocabulary,
        to_learn=True,
    ) as source:
        source.check_passes(passes)
        make = partial(
            create_model,
            texts=source.is_text,
            passes=passes,
            jobs=jobs,
            seed=seed,
            trees=trees,
            vocabulary=vocabulary,
            names=learn_names,
            columns=reading.columns if reading.columns.are_given else None,
        )
        given, named = settings or [], algorithm != AUTO
        if not named:
            if passes > 1 or trees is not None:
                raise ParameterError(
                    "--algorithm auto: expected neither --passes nor --trees, which only some of "
                    "the algorithms have"
                )
            algorithm, given = chosen_algorithm(source, make, given, trial, seed)
        model = make(algorithm, given)
        if named and checkpoint not in (_options.CHECKPOINT, 0) and not learns_one_by_one(model):
            raise ParameterError(
                f"--checkpoint {checkpoint:g}: {algorithm} learns all examples at once; expected "
                "an algorithm that learns one at a time"
            )
        if in_pieces:
            learning = learn_in_pieces(model, data, output, memory=memory, dask=dask)
            report_learning(learning, output, source.columns, settings=given, as_json=json)
            return
        with Checkpoints(output, context.params, checkpoint) as kept:
            learning = learn_from(model, source, passes, checkpoints=kept, record=record)
            finish_learning(learning, output, kept, for_prediction=for_prediction)
            write_record(progressive, learning, output, data)
            report_learning(learning, output, source.columns, settings=given, as_json=json)
