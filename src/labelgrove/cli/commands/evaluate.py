"""``labelgrove eval``: measure a model on labelled examples."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from time import perf_counter
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table

from labelgrove import _numbers
from labelgrove._cuts import Cut
from labelgrove._errors import DataError, ParameterError
from labelgrove.cli import _options
from labelgrove.cli._misread import warn_of_joined_labels
from labelgrove.cli._models import Model, inputs_of, labelled, load_model
from labelgrove.cli._search import chosen_cut, excluded_labels, label_of
from labelgrove.cli.streams._console import encode, say_warning, show, show_pairs, write_json
from labelgrove.cli.streams._output import Output
from labelgrove.cli.streams._progress import shown
from labelgrove.cli.streams._source import Source
from labelgrove.data import read_inverse_propensities
from labelgrove.evaluation._figures import Propensities, Training, figures
from labelgrove.evaluation._observed import Observed, observe
from labelgrove.metrics import label_table
from labelgrove.metrics._inputs import check_ks
from labelgrove.metrics._sets import AVERAGES
from labelgrove.vocabulary import Vocabulary

_NAMES = {"p": "P", "r": "R", "ndcg": "nDCG", "psp": "PSP", "psndcg": "PSnDCG"}


@_options.gathered
def evaluate(
    model_file: _options.ModelArgument,
    data: _options.DataArgument,
    k: Annotated[
        list[str] | None,
        typer.Option(
            "-k",
            metavar="K,…",
            help="Values of k for the ranking metrics. Repeatable. Default: 1,3,5.",
        ),
    ] = None,
    filter_pairs: _options.FilterPairsOption = None,
    propensity: Annotated[
        str | None,
        typer.Option(
            "--propensity", metavar="A,B", help="Propensity parameters of PSP@k. Default: 0.55,1.5."
        ),
    ] = None,
    inverse_propensities: Annotated[
        str | None,
        typer.Option(
            "--inverse-propensities",
            metavar="FILE",
            help="Read inverse propensities from FILE, one number per line from label 0, instead "
            "of computing them.",
        ),
    ] = None,
    per_label: Annotated[
        str | None,
        typer.Option(
            "--per-label",
            metavar="FILE",
            help="Write precision, recall and F1 of every label as TSV.",
        ),
    ] = None,
    json: _options.JsonOption = False,
    metrics_file: Annotated[
        str | None,
        typer.Option(
            "--metrics-file", metavar="FILE", help="Also write the result as JSON to FILE."
        ),
    ] = None,
    thresholds: _options.ThresholdsOption = False,
    threshold: _options.ThresholdOption = None,
    beam: _options.BeamOption = None,
    jobs: _options.JobsOption = 1,
    reading: _options.Reading = _options.AS_FOUND,
    naming: _options.Naming = _options.AS_STORED,
    limit: _options.LimitOption = None,
) -> None:
    """Measure MODEL on DATA: ranking quality, predicted label sets, and speed.

    Reports P@k, R@k, nDCG@k, PSP@k and PSnDCG@k for k = 1, 3 and 5, or those given by -k; with
    --json as fractions.
    Missing predictions count as misses, and so does every prediction for an example without
    labels. True labels that MODEL has never seen count in R@k, nDCG@k and PSP@k.
    Propensities derive from the label frequencies that MODEL has seen.
    If every example has exactly one label, also reports the error with its 95% binomial interval,
    the entropy reduction in bits, and the macro F1 of the best label alone.
    F1 is measured on the label sets that MODEL predicts with its own thresholds, or with
    --threshold: macro (the mean over the labels in DATA), micro and instance.
    """
    places = _places(",".join(k or ["1,3,5"]))
    model = load_model(model_file, jobs=jobs, naming=naming)
    with labelled(model, data, reading, limit) as source:
        cut, _ = chosen_cut(model, threshold, thresholds)
        if thresholds:
            cut = None  # the model predicts by these itself
        training = _training(model, propensity, inverse_propensities)
        excluded = excluded_labels(model, filter_pairs)
        observed, seconds = _observed(model, source, places[-1], beam, cut, excluded)
    result = figures(observed, places, training=training) | {"total_seconds": seconds}
    if result["examples_without_labels"] == result["examples"]:
        raise DataError(f"{data}: no example has a label; expected true labels")
    if result["unknown_label_share"] == 1.0 and len(model.classes_):
        say_warning(
            f"{data}: the model knows none of these labels; its own are like "
            f"{model.classes_.tolist()[0]!r}"
        )
    named = list(zip(observed.labels, observed.known.tolist(), strict=True))
    others = [label for label, known in named if not known]
    warn_of_joined_labels(others, {label for label, known in named if known}, source.columns)
    if per_label is not None:
        with Output(per_label) as out:
            out.write(_table(observed, model.vocabulary_))
    if metrics_file is not None:
        with Output(metrics_file) as out:
            out.write(encode(result))
    if json:
        write_json(result)
    else:
        _show(result, places)


def _places(given: str) -> list[int]:
    try:
        return check_ks([int(part) for part in given.split(",")])
    except ValueError:
        raise ParameterError(f"-k {given}: expected positive integers, such as 1,3,5") from None


def _training(
    model: Model, propensity: str | None, file: str | None
) -> Training | Propensities | None:
    """Return the source of propensities: the model's label counts, or a file."""
    if file is not None:
        numbers = read_inverse_propensities(file).tolist()
        given = {label_of(model, i): number for i, number in enumerate(numbers)}
        return Propensities(given, file)
    if propensity is None:
        return Training.of(model)
    try:
        A, B = (float(part) for part in propensity.split(","))
    except ValueError:
        raise ParameterError(
            f"--propensity {propensity}: expected two numbers, such as 0.5,0.4"
        ) from None
    return Training.of(model, A, B)


def _table(observed: Observed, vocabulary: Vocabulary | None) -> bytes:
    """Format a line for each label that is true or predicted anywhere, most frequent first."""
    assert observed.sets is not None
    rows = label_table(observed.truth, observed.sets, names=observed.labels).rows()
    there = [row for row in rows if row.support or row.false_positives]
    lines = ["label\tname\tsupport\tTP\tFP\tFN\tprecision\trecall\tF1"]
    for row in sorted(there, key=lambda row: -row.support):
        name = (vocabulary.name(row.name) if vocabulary else None) or ""
        texts = [" ".join(str(text).split()) for text in (row.name, name)]
        counts = (row.support, row.true_positives, row.false_positives, row.false_negatives)
        shares = (f"{share:.4f}" for share in (row.precision, row.recall, row.f1))
        lines.append("\t".join([*texts, *map(str, counts), *shares]))
    return "\n".join([*lines, ""]).encode("utf-8", "backslashreplace")


def _observed(
    model: Model,
    source: Source,
    k: int,
    beam: int | None,
    cut: Cut | None,
    excluded: Mapping[int, Collection[Any]],
) -> tuple[Observed, float]:
    """Predict batch by batch, with a progress line; also return the time it took."""
    line = source.progress("predicting")
    begin = perf_counter()
    batches = (
        (inputs_of(model, chunk, source.path), chunk.labels) for chunk in line.over(source.chunks())
    )
    with shown(line):
        found = observe(model, batches, k=k, threshold=cut, beam_width=beam, excluded=excluded)
    return found, perf_counter() - begin


def _show(result: Mapping[str, Any], places: list[int]) -> None:
    """Show a table of metrics and other findings on standard output."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("")
    for k in places:
        table.add_column(f"@{k}", justify="right", no_wrap=True)
    for metric, name in _NAMES.items():
        values = [result.get(f"{metric}@{k}", float("nan")) for k in places]
        table.add_row(name, *map(_numbers.percent, values))
    show(Group(table, ""))
    show_pairs(_findings(result))


def _findings(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    examples = f"{result['examples']:,}"
    if result["examples_without_labels"]:
        examples += f" ({result['examples_without_labels']:,} without labels)"
    pairs = [("examples", examples)]
    in_test = _numbers.counted(result["labels_in_test"], "label")
    if "error" in result:
        margin = ""
        if result["error_margin"] > 0:  # not if all or none are right, which leaves it unknown
            margin = f" ± {_numbers.percent(result['error_margin'])}"
        bits = result["entropy_reduction"]
        baseline = "always predicting the most frequent class"
        gained = "" if bits is None else f"; {bits:.2f} bits better than {baseline}"
        pairs.append(("error", f"{_numbers.percent(result['error'])}{margin}{gained}"))
        macro = _numbers.percent(result["best_macro_f1"])
        pairs.append(("F1 of best label", f"macro {macro} (over {in_test} in DATA)"))
    if "macro_f1" in result:
        macro, micro, instance = (_numbers.percent(result[f"{name}_f1"]) for name in AVERAGES)
        sets = f"{result['labels_per_example']:.2f} labels per example"
        parts = f"macro {macro} (over {in_test} in DATA), micro {micro}, instance {instance}"
        pairs.append(("F1 of label sets", f"{parts}; {sets}"))
    if result["unknown_labels"]:
        share = f"{result['unknown_label_share']:.2%} of all true labels"
        pairs.append(("unknown labels", f"{result['unknown_labels']:,} ({share})"))
    speed = f"{result['examples_per_second']:,.0f} examples per second"
    return [
        *pairs,
        ("prediction", f"{_numbers.duration(result['seconds'])} ({speed})"),
        ("classifiers", f"{result['classifiers_per_example']:,.1f} evaluated per example"),
    ]
