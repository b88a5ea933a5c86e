"""``labelgrove explain``: why labels are predicted for one example, or why a label is not."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from labelgrove._errors import DataError, ModelStateError, ParameterError
from labelgrove.cli._models import (
    Model,
    algorithm_of,
    inputs_of,
    load_model,
    reading_for,
)
from labelgrove.cli._options import (
    AS_FOUND,
    JsonOption,
    ModelArgument,
    Reading,
    ThresholdOption,
    ThresholdsOption,
    gathered,
)
from labelgrove.cli._search import chosen_cut
from labelgrove.cli.streams import _numbers
from labelgrove.cli.streams._console import is_terminal, show, write_json
from labelgrove.cli.streams._source import Source
from labelgrove.models import Explanation, Highlight, LabelExplanation, Step, TextClassifier
from labelgrove.vocabulary import Vocabulary

_SHORT = 800
_PASSAGES = 6
_AROUND = 40
"""Characters: a longer text is shown in passages, with so many on each side of a highlight."""


@gathered
def explain(
    model_file: ModelArgument,
    data: Annotated[
        str | None,
        typer.Argument(metavar="[DATA]", show_default=False, help="Examples, with --row."),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option("--text", metavar="TEXT", help="The example, if MODEL reads text."),
    ] = None,
    row: Annotated[
        int | None,
        typer.Option("--row", metavar="N", min=1, help="The N-th example of DATA, from 1 on."),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option("--label", metavar="X", help="Explain this label, predicted or not."),
    ] = None,
    k: Annotated[
        int, typer.Option("-k", metavar="K", min=1, help="Predicted are the K best labels.")
    ] = 5,
    threshold: ThresholdOption = None,
    thresholds: ThresholdsOption = False,
    top: Annotated[
        int, typer.Option("--top", metavar="N", min=0, help="Features to list at every node.")
    ] = 6,
    reading: Reading = AS_FOUND,
    vocabulary: Vocabulary | None = None,
    json: JsonOption = False,
) -> None:
    """Show why MODEL predicts labels for one example, or why not.

    For every step of the way through the tree: its probability, and the features that speak for
    and against it. In a label tree the product of the probabilities is that of the label. For a
    label that is not predicted: where it falls out, and by how much. For LOMtree, LdSM and
    FastXML also the leaves that the example reaches, and how much of the label there is in them.
    """
    model = load_model(model_file, vocabulary=vocabulary)
    if not hasattr(model, "explain"):
        raise ModelStateError(
            f"{model_file}: models of {algorithm_of(model)} cannot explain themselves"
        )
    cut = chosen_cut(model, threshold, thresholds)
    X = _example(model, data, text, row, reading)
    explained = model.explain(X, _label(model, label), k=k, threshold=cut, top=top)
    if json:
        write_json(explained.to_dict())
    else:
        show_explanation(explained)


def _example(
    model: Model, data: str | None, text: str | None, row: int | None, reading: Reading
) -> Any:
    """The text or row to be explained."""
    if (text is None) == (row is None) or (data is None) != (row is None):
        raise ParameterError("give the example either as --text TEXT or as --row N with DATA")
    if text is not None:
        if not isinstance(model, TextClassifier):
            raise ParameterError(
                "--text: the model has learnt from numbered features; give --row N and DATA"
            )
        return [text]
    assert data is not None and row is not None
    left = row
    reading = reading_for(model, reading)
    with Source(data, reading=reading, limit=row, labels_required=False) as source:
        for chunk in source.chunks():
            if left <= chunk.n_rows:
                return inputs_of(model, chunk, data)[left - 1 : left]
            left -= chunk.n_rows
    there = _numbers.counted(row - left, "example")
    raise DataError(f"{data}: --row {row}, but it holds no more than {there}")


def _label(model: Model, label: str | None) -> Any:
    if label is None or model.classes_.dtype.kind not in "iu":
        return label
    try:
        return int(label)
    except ValueError:
        raise ParameterError(
            f"--label {label}: expected a whole number, as the model's labels are"
        ) from None


def show_explanation(explained: Explanation) -> None:
    """Show one table a label on standard output."""
    parts: list[RenderableType] = []
    for one in explained.labels:
        parts.append(_heading(one))
        if explained.text is not None and one.highlights and is_terminal(sys.stdout):
            parts.append(Padding(_highlighted(explained.text, one.highlights), (0, 0, 1, 2)))
        if one.first_stage is not None:
            parts.append(Text(one.after_first_stage()))
        if one.leaves:
            parts.append(Text(one.in_leaves()))
        if one.path:
            parts.append(_path(one))
        if one.fallen_out is not None:
            parts.append(Text(str(one.fallen_out), "yellow"))
        parts.append("")
    show(Group(*parts[:-1]) if parts else Text("no label is predicted"))


def _heading(one: LabelExplanation) -> Text:
    mark, style = ("✓", "green") if one.predicted else ("·", "yellow")
    place = f"  {_score(one.probability)}, place {_numbers.count(one.rank)}"
    return Text.assemble((f"{mark} {one.called}", f"bold {style}"), (place, "dim"))


def _highlighted(text: str, highlights: Sequence[Highlight]) -> Text:
    """The text, or passages of a long one, with colours for what speaks for a label or against.

    The words that weigh half as much as the heaviest, or more, are reversed.
    """
    shown, end = Text(), 0
    heavy = max(abs(mark.contribution) for mark in highlights) / 2
    for begin, stop in _passages(len(text), highlights):
        shown.append(" … " if begin > end else "")
        passage = Text(text[begin:stop])
        for mark in highlights:
            style = "green" if mark.contribution > 0 else "red"
            style += " reverse" if abs(mark.contribution) >= heavy else " underline"
            passage.stylize(style, max(mark.begin - begin, 0), max(mark.end - begin, 0))
        shown.append_text(passage)
        end = stop
    return shown.append(" …" if end < len(text) else "")


def _passages(length: int, highlights: Sequence[Highlight]) -> list[tuple[int, int]]:
    """Where the highlights of a text stand: all of a short one, else the first few places."""
    if length <= _SHORT:
        return [(0, length)]
    found: list[tuple[int, int]] = []
    for mark in highlights:
        begin, end = max(mark.begin - _AROUND, 0), min(mark.end + _AROUND, length)
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        elif len(found) < _PASSAGES:
            found.append((begin, end))
    return found


def _path(one: LabelExplanation) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("node", justify="right", no_wrap=True, style="dim")
    has_products = one.path[0].product is not None
    if has_products:
        table.add_column("P(node|parent)", justify="right", no_wrap=True)
        table.add_column("P(node)", justify="right", no_wrap=True)
    table.add_column("margin", justify="right", no_wrap=True)
    table.add_column("speaks for it (+) and against it (−)")
    for place, step in enumerate(one.path):
        fell = one.fallen_out is not None and one.fallen_out.step == place
        products = [_score(step.probability), _score(step.product)] if has_products else []
        table.add_row(
            str(step.node),
            *products,
            _signed(step.margin),
            _weights(step),
            style="bold yellow" if fell else None,
        )
    if len(one.leaves) > 1:
        average = [_said(c.feature, c.contribution) for c in one.contributions]
        table.add_row("all", *[""] * (3 if has_products else 1), Text("  ").join(average))
    return table


def _weights(step: Step) -> Text:
    said = [_said(c.feature, c.contribution) for c in step.contributions]
    said.append(_said("bias", step.bias, "dim"))
    if step.others:
        said.append(_said("all others", step.others, "dim"))
    return Text("  ").join(said)


def _said(name: object, size: float, style: str | None = None) -> Text:
    return Text(f"{name} {_signed(size)}", style or ("green" if size > 0 else "red"))


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")


def _score(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if value >= 0.001 or value == 0 else f"{value:.1e}"
