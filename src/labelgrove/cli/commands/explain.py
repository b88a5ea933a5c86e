"""``labelgrove explain``: why labels are predicted for one example, or why one is not."""

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

from labelgrove import _numbers
from labelgrove._errors import DataError, ModelStateError, ParameterError
from labelgrove._names import integer_in
from labelgrove.cli import _options
from labelgrove.cli._models import Model, algorithm_of, inputs_of, load_model, unlabelled
from labelgrove.cli._search import chosen_cut
from labelgrove.cli.streams._console import is_terminal, show, write_json
from labelgrove.models import Explanation, Highlight, LabelExplanation, Step, TextClassifier

_SHORT = 800
_PASSAGES = 6
_AROUND = 40
"""A text longer than `_SHORT` is shown in passages, with `_AROUND` characters of context."""


@_options.gathered
def explain(
    model_file: _options.ModelArgument,
    data: Annotated[
        str | None,
        typer.Argument(metavar="DATA", show_default=False, help="Examples; requires --row."),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option("--text", metavar="TEXT", help="The text to explain, instead of DATA."),
    ] = None,
    row: Annotated[
        int | None,
        typer.Option("--row", metavar="N", min=1, help="Explain the N-th example of DATA, from 1."),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(
            "--label",
            metavar="X",
            help="Explain this label, by its id or its name, predicted or not.",
        ),
    ] = None,
    k: Annotated[
        int, typer.Option("-k", metavar="K", min=1, help="Explain the K best labels.")
    ] = 5,
    threshold: _options.ThresholdOption = None,
    thresholds: _options.ThresholdsOption = False,
    top: Annotated[
        int, typer.Option("--top", metavar="N", min=0, help="Number of features shown per node.")
    ] = 6,
    reading: _options.Reading = _options.AS_FOUND,
    naming: _options.Naming = _options.AS_STORED,
    json: _options.JsonOption = False,
) -> None:
    """Show why MODEL predicts labels for an example, or why it does not predict a label.

    Shows the path through the tree: the probability at each node, and the features that contribute
    most for and against it. In a label tree, the label's probability is the product along the
    path. For a label that is not predicted, also shows the node where it falls out, and by how
    much. For LOMtree, memory trees, LdSM and FastXML, also shows the leaves that the example
    reaches, and the label's share in them.
    """
    model = load_model(model_file, naming=naming)
    if not hasattr(model, "explain"):
        raise ModelStateError(
            f"{model_file}: {algorithm_of(model)} models cannot explain their predictions"
        )
    cut, least = chosen_cut(model, threshold, thresholds)
    X = _example(model, data, text, row, reading)
    explained = model.explain(
        X, _label(model, label), k=k, threshold=cut, least_labels=least, top=top
    )
    if json:
        write_json(explained.to_dict())
    else:
        show_explanation(explained)


def _example(
    model: Model, data: str | None, text: str | None, row: int | None, reading: _options.Reading
) -> Any:
    """Return the text or row to explain."""
    if (text is None) == (row is None) or (data is None) != (row is None):
        raise ParameterError("expected an example, either --text TEXT or DATA with --row N")
    if text is not None:
        if not isinstance(model, TextClassifier):
            raise ParameterError(
                "--text: expected DATA and --row N, since the model reads numbered features"
            )
        return [text]
    assert data is not None and row is not None
    left = row
    with unlabelled(model, data, reading, row) as source:
        for chunk in source.chunks():
            if left <= chunk.n_rows:
                return inputs_of(model, chunk, data)[left - 1 : left]
            left -= chunk.n_rows
    there = _numbers.counted(row - left, "example")
    raise DataError(f"--row {row}: {data} contains only {there}")


def _label(model: Model, label: str | None) -> Any:
    if label is None or label in model.classes_.tolist():
        return label
    if model.vocabulary_ is not None:
        label = model.vocabulary_.id_of(label)
    if model.classes_.dtype.kind not in "iu":
        return label
    number = integer_in(label)
    if number is None:
        raise ParameterError(f"--label {label}: expected an integer, as the model's labels are")
    return number


def show_explanation(explained: Explanation) -> None:
    """Show one table per label on standard output."""
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
    place = f"  {_score(one.probability)}, rank {one.rank:,}"
    return Text.assemble((f"{mark} {one.called}", f"bold {style}"), (place, "dim"))


def _highlighted(text: str, highlights: Sequence[Highlight]) -> Text:
    """Colour the text, or passages of a long one, by contribution for or against a label.

    Words that weigh at least half as much as the heaviest are in reverse video.
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
    """Return the spans of a text to show: all of a short one, else the first few highlights."""
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
    table.add_column("contributions for (+) and against (−)")
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
