"""Arguments and options that several commands share, each described once; ``--set name=value``."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import wraps
from typing import Annotated, Any

import typer

from labelgrove._errors import ParameterError
from labelgrove.data import FORMATS, Columns
from labelgrove.vocabulary import Vocabulary, read_vocabulary

_WORDS = {"true": True, "false": False, "none": None, "null": None}

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

_TextColumnOption = Annotated[
    str | None,
    typer.Option(
        "--text-column",
        metavar="NAME,…",
        help="Columns of a table, or keys of JSON lines, whose texts are joined. Default: title "
        "and text.",
    ),
]

_LabelColumnOption = Annotated[
    str | None,
    typer.Option(
        "--label-column",
        metavar="NAME,…",
        help="Columns or keys that hold labels. Default: labels, or label.",
    ),
]

_LabelSeparatorOption = Annotated[
    str | None,
    typer.Option(
        "--label-separator",
        metavar="S",
        help="What separates labels within a string. Default: ; in CSV and TSV, nothing elsewhere.",
    ),
]


@dataclass(frozen=True)
class Reading:
    """How DATA is read."""

    format: str | None = None
    columns: Columns = field(default_factory=Columns)


#: Format and columns are recognised by their names.
AS_FOUND = Reading()


def _reading(
    format: FormatOption = None,
    text_column: _TextColumnOption = None,
    label_column: _LabelColumnOption = None,
    label_separator: _LabelSeparatorOption = None,
) -> Reading:
    columns = Columns(_names(text_column), _names(label_column), label_separator)
    return Reading(format, columns)


def _names(listed: str | None) -> tuple[str, ...]:
    return () if listed is None else tuple(name.strip() for name in listed.split(","))


_VocabularyOption = Annotated[
    str | None,
    typer.Option(
        "--vocabulary",
        metavar="FILE",
        help="What labels are called: TSV (id, tab, name), CSV, JSON lines, SKOS. A model that "
        "learns keeps it.",
    ),
]

_LanguageOption = Annotated[
    str | None,
    typer.Option(
        "--language", metavar="L,…", help="Languages of the vocabulary to show, the best first."
    ),
]


def _naming(
    vocabulary: _VocabularyOption = None, language: _LanguageOption = None
) -> Vocabulary | None:
    if vocabulary is None:
        if language is not None:
            raise ParameterError(f"--language {language}: give the --vocabulary as well")
        return None
    return read_vocabulary(vocabulary, _names(language))


_GATHERED: dict[str, Callable[..., Any]] = {"reading": _reading, "vocabulary": _naming}


def gathered(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command options in place of the parameters that are gathered from several of them."""
    given = inspect.signature(command, eval_str=True)
    parameters: list[inspect.Parameter] = []
    parts: dict[str, list[str]] = {}
    for name, parameter in given.parameters.items():
        options = [parameter]
        if name in _GATHERED:
            options = list(inspect.signature(_GATHERED[name], eval_str=True).parameters.values())
            parts[name] = [option.name for option in options]
        parameters += options

    @wraps(command)
    def run(**values: Any) -> None:
        whole = {
            name: _GATHERED[name](**{option: values.pop(option) for option in options})
            for name, options in parts.items()
        }
        command(**values, **whole)

    run.__signature__ = given.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


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

FilterPairsOption = Annotated[
    str | None,
    typer.Option(
        "--filter-pairs",
        metavar="FILE",
        help="Pairs of row and label, a pair a line, both from 0, that count neither as true nor "
        "as predicted.",
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

CheckpointOption = Annotated[
    float,
    typer.Option(
        "--checkpoint",
        metavar="MINUTES",
        min=0.0,
        help="Leave a checkpoint beside the model so often, from which the same command goes on "
        "after a stop, however sudden; 0: none. Where examples are learnt one by one, from a file.",
    ),
]

#: Minutes between two checkpoints, unless told otherwise.
CHECKPOINT = 10.0

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
        help="Leave out what only learning needs: up to half the size, but it cannot learn on.",
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


@dataclass(frozen=True)
class Settings:
    """Parameters given by ``--set``.

    Parameters
    ----------
    estimator : dict
        Parameters of the estimator.
    text : dict
        Parameters of the text front-end (those written ``text.name=value``).
    """

    estimator: dict[str, Any] = field(default_factory=dict)
    text: dict[str, Any] = field(default_factory=dict)


def parse_settings(
    assignments: Iterable[str],
    names: Collection[str],
    text_names: Collection[str],
    reserved: Mapping[str, str],
) -> Settings:
    """Read all ``--set`` of a command line.

    Parameters
    ----------
    assignments : iterable of str
        Each ``name=value`` or ``text.name=value``; the last of several for one name counts.
    names, text_names : collection of str
        What can be set of the estimator and of the text front-end.
    reserved : mapping
        Names of the estimator that have an option of their own, to that option.
    """
    settings = Settings()
    known = [*names, *(f"text.{name}" for name in text_names)]
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        name = name.strip()
        if not equals or not name:
            raise ParameterError(f"--set {assignment}: expected name=value, as in --set alpha=0.5")
        if name in reserved:
            raise ParameterError(f"--set {name}: give it by the option {reserved[name]}")
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            there = ", ".join(sorted(set(known) - set(reserved)))
            raise ParameterError(f"--set {name}: no such parameter{hint} (there are {there})")
        owner = settings.text if name.startswith("text.") else settings.estimator
        owner[name.removeprefix("text.")] = value_of(value)
    return settings


def settable(owner: Callable[..., Any]) -> list[str]:
    """List the parameters that have a default, in their order."""
    parameters = inspect.signature(owner).parameters.values()
    return [one.name for one in parameters if one.default is not inspect.Parameter.empty]


def value_of(text: str) -> Any:
    """Read a value: a number, true, false, none, several separated by commas, or a word.

    Examples
    --------
    >>> value_of("0.5"), value_of("1e6"), value_of("1,2"), value_of("true"), value_of("kmeans")
    (0.5, 1000000, (1, 2), True, 'kmeans')
    """
    text = text.strip()
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    if isinstance(value, float) and value.is_integer() and "." not in text:
        return int(value)  # 1e6 is how people write a million
    return value
