"""``labelgrove predict``: labels and scores for every example, one JSON object per line."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from labelgrove._errors import DataError, FileFormatError, ParameterError
from labelgrove._names import integer_in
from labelgrove._numbers import counted
from labelgrove._paths import is_there
from labelgrove.cli import _options
from labelgrove.cli._models import Model, inputs_of, load_model, unlabelled
from labelgrove.cli._remote import is_address, predict_there
from labelgrove.cli._search import DEFAULT_K, Search, chosen_cut, excluded_labels
from labelgrove.cli.streams._console import encode_prediction, say_warning
from labelgrove.cli.streams._output import Output
from labelgrove.cli.streams._progress import shown
from labelgrove.data._csv import decoded_lines
from labelgrove.data._lines import lines_in
from labelgrove.models import TextClassifier


@_options.gathered
def predict(
    model_file: _options.ModelArgument,
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA",
            show_default=False,
            help="Examples; - reads standard input. Not with --text.",
        ),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(
            "--text",
            metavar="TEXT",
            help="A text to predict for, instead of DATA. Repeatable.",
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "-k",
            metavar="K",
            min=1,
            show_default=False,
            help="Predict K labels, or at most K with --threshold; 5 by default.",
        ),
    ] = None,
    threshold: _options.ThresholdOption = None,
    thresholds: _options.ThresholdsOption = False,
    beam: _options.BeamOption = None,
    labels_file: Annotated[
        str | None,
        typer.Option(
            "--labels-file",
            metavar="FILE",
            help="Predict only labels listed in FILE, one per line.",
        ),
    ] = None,
    filter_pairs: _options.FilterPairsOption = None,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write; .gz, .bz2, .xz and .zst files are compressed, - is standard "
            "output.",
        ),
    ] = "-",
    jobs: _options.JobsOption = 1,
    reading: _options.Reading = _options.AS_FOUND,
    naming: _options.Naming = _options.AS_STORED,
    limit: _options.LimitOption = None,
) -> None:
    """Predict labels and their probabilities for DATA or for texts.

    Writes one line of JSON per example, in the order of DATA: {"labels": [...], "scores": [...]},
    best first. If the model has a vocabulary, also "names", null for labels without one. DATA needs
    no labels, and may be plain text, one text per line. MODEL may also be a project of a service,
    such as http://localhost:8787#tickets; its answers always have "names".
    """
    if (text is None) == (data is None):
        raise ParameterError("expected either DATA (- for standard input) or --text")
    if data is not None and " " in data and not is_there(data):
        raise ParameterError(f"{data}: no such file; expected DATA, or a text given by --text")
    if is_address(model_file):
        others = (threshold, beam, labels_file, filter_pairs)
        if thresholds or naming != _options.AS_STORED or any(one is not None for one in others):
            raise ParameterError(
                f"{model_file}: a service returns only the K best labels; expected none of "
                "--threshold, --thresholds, --beam, --labels-file, --filter-pairs, --vocabulary "
                "and --language"
            )
        predict_there(model_file, data or text or [], k or DEFAULT_K, output, reading, limit)
        return
    model = load_model(model_file, jobs=jobs, naming=naming)
    allowed = None if labels_file is None else read_allowed_labels(labels_file, model)
    excluded = excluded_labels(model, filter_pairs)
    cut, least = chosen_cut(model, threshold, thresholds)
    search = Search(model, k, cut, least, beam, allowed, excluded)
    name = None if model.vocabulary_ is None else model.vocabulary_.name

    def lines(X: Any, first: int = 0) -> bytes:
        return b"".join(
            encode_prediction(labels, scores, None if name is None else map(name, labels))
            for labels, scores in search.find(X, first)
        )

    if data is None:
        if not isinstance(model, TextClassifier):
            raise ParameterError("--text: expected DATA, since the model reads numbered features")
        with Output(output) as out:
            out.write(lines(text))
        return
    with unlabelled(model, data, reading, limit) as source, Output(output) as out:
        line = source.progress("predicting")
        with shown(line, beside_output=output == "-"):
            for chunk in line.over(source.chunks()):
                out.write(lines(inputs_of(model, chunk, data), line.done))


def read_allowed_labels(path: str, model: Model) -> list[Any]:
    """Read labels from a file, keep those that the model knows, and warn about the others.

    The file has one label per line, as integers if the model's labels are; empty lines are skipped.
    """
    numbered = model.classes_.dtype.kind in "iu"
    known = set(model.classes_.tolist())
    allowed: dict[Any, None] = {}
    unknown: list[Any] = []
    for number, line in enumerate(decoded_lines(path, lines_in(path)), start=1):
        text = line.strip()
        if not text:
            continue
        label = integer_in(text) if numbered else text
        if label is None:
            raise FileFormatError(
                path, number, f"found {text!r}; expected an integer, as the model's labels are"
            )
        if label in known:
            allowed[label] = None
        else:
            unknown.append(label)
    if not allowed:
        raise DataError(f"{path}: the model knows none of the labels in this file ({len(unknown)})")
    if unknown:
        ignored = counted(len(unknown), "label")
        say_warning(f"{path}: ignoring {ignored} unknown to the model, first {unknown[0]!r}")
    return list(allowed)
