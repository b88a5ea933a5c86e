"""Arguments and options shared by several commands, and the parser of ``--set name=value``."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelgrove._errors import ParameterError
from labelgrove.data import FORMATS, Columns
from labelgrove.vocabulary import Vocabulary, read_vocabulary
from labelgrove.vocabulary._read import in_languages

if TYPE_CHECKING:
    from labelgrove.text import TextFeatures

_WORDS = {"true": True, "false": False, "none": None, "null": None}

ModelArgument = Annotated[str, typer.Argument(metavar="MODEL", help="A model file.")]

DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="Examples, in any format that --format lists, plain or compressed (.gz, .bz2, .xz, "
        ".zst); - reads standard input.",
    ),
]


@dataclass(frozen=True)
class Reading:
    """How DATA is read."""

    format: str | None = None
    columns: Columns = field(default_factory=Columns)


#: Detect the format and the columns.
AS_FOUND = Reading()


def _reading(
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help=f"Format of DATA: {', '.join(FORMATS)}. Default: detected from its name or "
            "content.",
        ),
    ] = None,
    text_column: Annotated[
        list[str] | None,
        typer.Option(
            "--text-column",
            metavar="NAME,…",
            help="Table columns or JSON keys that hold text; several are joined. Repeatable. "
            "Default: title and text.",
        ),
    ] = None,
    label_column: Annotated[
        list[str] | None,
        typer.Option(
            "--label-column",
            metavar="NAME,…",
            help="Table columns or JSON keys that hold labels. Repeatable. Default: labels, or "
            "label.",
        ),
    ] = None,
    label_separator: Annotated[
        str | None,
        typer.Option(
            "--label-separator",
            metavar="S",
            help="Separator between the labels in a string. Default: ; in CSV and TSV, none "
            "elsewhere.",
        ),
    ] = None,
) -> Reading:
    if format is not None and format not in FORMATS:
        raise ParameterError(f"--format {format}: expected one of {', '.join(FORMATS)}")
    text, labels = _names(text_column), _names(label_column)
    for option, names in (("--text-column", text), ("--label-column", labels)):
        if "" in names or len(set(names)) < len(names):
            raise ParameterError(
                f"{option} {','.join(names)}: expected non-empty names without repetition"
            )
    columns = Columns(text, labels, label_separator)
    return Reading(format, columns)


def _names(given: Iterable[str] | None) -> tuple[str, ...]:
    """Return the names in all uses of an option, each a list separated by commas."""
    return tuple(name.strip() for names in given or () for name in names.split(","))


_VocabularyOption = Annotated[
    str | None,
    typer.Option(
        "--vocabulary",
        metavar="FILE",
        help="Label names, as TSV (id, tab, name), CSV, JSON lines or SKOS. train and learn store "
        "them in the model.",
    ),
]

_LanguageOption = Annotated[
    list[str] | None,
    typer.Option(
        "--language",
        metavar="L,…",
        help="Languages of the label names, in order of preference. Repeatable.",
    ),
]


@dataclass(frozen=True)
class Naming:
    """How labels are named where they are shown."""

    vocabulary: Vocabulary | None = None
    languages: tuple[str, ...] = ()

    def over(self, stored: Vocabulary | None, path: str) -> Vocabulary | None:
        """Return the vocabulary to use for a file that stores this one, or none."""
        if self.vocabulary is not None or not self.languages:
            return self.vocabulary or stored
        if stored is None:
            raise ParameterError(
                f"--language {','.join(self.languages)}: {path} holds no vocabulary; expected "
                "--vocabulary as well"
            )
        return in_languages(map(stored.__getitem__, stored), self.languages, path)


#: As the model says.
AS_STORED = Naming()


def _showing(vocabulary: _VocabularyOption = None, language: _LanguageOption = None) -> Naming:
    languages = _names(language)
    return Naming(None if vocabulary is None else read_vocabulary(vocabulary, languages), languages)


def _naming(
    vocabulary: _VocabularyOption = None, language: _LanguageOption = None
) -> Vocabulary | None:
    naming = _showing(vocabulary, language)
    if naming.languages and naming.vocabulary is None:
        given = ",".join(naming.languages)
        raise ParameterError(f"--language {given}: expected --vocabulary as well")
    return naming.vocabulary


_GATHERED: dict[str, Callable[..., Any]] = {
    "reading": _reading,
    "vocabulary": _naming,
    "naming": _showing,
}


def gathered(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the parameters of a command that combine several options by these options."""
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
        help="Predict every label whose probability is at least T.",
    ),
]

FilterPairsOption = Annotated[
    str | None,
    typer.Option(
        "--filter-pairs",
        metavar="FILE",
        help="Pairs of row and label to ignore, both as true and as predicted labels: one pair "
        "per line, numbered from 0.",
    ),
]

LimitOption = Annotated[
    int | None,
    typer.Option("--limit", metavar="N", min=1, help="Use only the first N examples."),
]

JobsOption = Annotated[
    int,
    typer.Option(
        "--jobs",
        metavar="N",
        help="Number of threads; -1 uses all processors. Does not affect the result.",
    ),
]

SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Set a parameter (listed below). Repeatable.",
    ),
]

SeedOption = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Random seed.")]

CheckpointOption = Annotated[
    float,
    typer.Option(
        "--checkpoint",
        metavar="MINUTES",
        min=0.0,
        help="Minutes between checkpoints; 0 for none. After a crash or a kill, the same command "
        "resumes from the last checkpoint. For algorithms that learn one example at a time, from "
        "a file.",
    ),
]

#: Default of ``--checkpoint``.
CHECKPOINT = 10.0

NewModelOption = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="MODEL2",
        show_default=False,
        help="Where to write the model. Default: replace MODEL.",
    ),
]

BeamOption = Annotated[
    int | None,
    typer.Option(
        "--beam",
        metavar="W",
        min=1,
        help="Use beam search of this width: faster, but may miss labels. Default: exact search.",
    ),
]

ThresholdsOption = Annotated[
    bool,
    typer.Option(
        "--thresholds",
        help="Predict every label that reaches its threshold in MODEL (see `labelgrove tune`).",
    ),
]

ForPredictionOption = Annotated[
    bool,
    typer.Option(
        "--for-prediction",
        help="Omit the state that only learning needs: the file is about half as large, but the "
        "model can no longer learn.",
    ),
]

ProgressiveOption = Annotated[
    str | None,
    typer.Option(
        "--progressive",
        metavar="FILE.html",
        help="Also write an HTML report on the course of learning, for which every example is "
        "predicted before it is learnt. Needs labelgrove[report].",
    ),
]

JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


@dataclass(frozen=True)
class Settings:
    """Parameters given by ``--set``, of the estimator and (as ``text.name``) of the front end."""

    estimator: dict[str, Any] = field(default_factory=dict)
    text: dict[str, Any] = field(default_factory=dict)


def parse_settings(
    assignments: Iterable[str],
    names: Collection[str],
    text_names: Collection[str],
    reserved: Mapping[str, str],
) -> Settings:
    """Parse all ``--set`` options of a command line; if a name is repeated, the last one wins.

    ``names`` and ``text_names`` are the parameters of the estimator and of the text front end;
    ``reserved`` maps those that have their own option to that option.
    """
    settings = Settings()
    known = [*names, *(f"text.{name}" for name in text_names)]
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        name = name.strip()
        if not equals or not name:
            raise ParameterError(f"--set {assignment}: expected name=value, as in --set alpha=0.5")
        if name in reserved:
            raise ParameterError(f"--set {name}: use the option {reserved[name]} instead")
        if name not in known:
            there = ", ".join(sorted(set(known) - set(reserved)))
            expected = f"one of {there}" if there else "none"
            raise ParameterError(
                f"--set {name}: no such parameter{hint(name, known)} (expected {expected})"
            )
        owner = settings.text if name.startswith("text.") else settings.estimator
        owner[name.removeprefix("text.")] = value_of(value)
    return settings


def text_features(parameters: Mapping[str, Any], *, texts: bool) -> TextFeatures:
    """Create the text front end; an error names its parameter as ``--set`` does.

    ``texts`` says whether the data is text; if not, any parameter is refused.
    """
    if parameters and not texts:
        name = next(iter(parameters))
        raise ParameterError(f"--set text.{name}: expected text; the data holds numbered features")
    from labelgrove.text import TextFeatures  # takes a second, which `info` and `convert` spare

    try:
        return TextFeatures.from_dict(parameters)
    except ParameterError as error:
        raise ParameterError(f"text.{error}") from None


def hint(word: str, known: Iterable[str]) -> str:
    """Return a clause that suggests the known word most like this one, if any is."""
    close = get_close_matches(word.lower(), list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def settable(owner: Callable[..., Any]) -> list[str]:
    """List the parameters that have a default, in order of declaration."""
    parameters = inspect.signature(owner).parameters.values()
    return [one.name for one in parameters if one.default is not inspect.Parameter.empty]


def value_of(text: str) -> Any:
    """Parse a value: a number, true, false, none, a comma-separated list, or a word.

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
        return int(value)  # people write a million as 1e6
    return value
