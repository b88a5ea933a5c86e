"""The report on a stream: how well a model predicted while it learnt."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove._errors import DataError
from labelgrove.evaluation import ProgressPoint, StreamRecord
from labelgrove.reporting._chart_parts import (
    BLUE,
    CURVE,
    GREEN,
    OCHRE,
    Spec,
    chart,
    colours,
    layer,
    plain,
    share,
    tooltip,
    x,
)
from labelgrove.reporting._mistakes import Called
from labelgrove.reporting._page import write_page

_OVERLOOKED = 20
_NOISE = 200  # skip the first 1/200 of a stream, too short to measure precision or speed


def write_stream_report(
    record: StreamRecord,
    path: str | PathLike[str],
    *,
    name: str = "the model",
    data_name: str = "the stream",
    called: Called = str,
) -> None:
    """Write an HTML report on how well a model predicted while it learnt.

    The report shows progressive P@1 over time, the growing numbers of labels and nodes, how many
    examples of a new label are learnt before the model recognises it, which labels it never
    recognised, and the speed. It is one self-contained file.

    Parameters
    ----------
    record : StreamRecord
        A record with at least one example.
    path : path
        File to write.
    name, data_name : str
        Names of the model and the stream in the report.
    called : callable
        Returns the display name of a label, like a vocabulary's ``called``.

    Raises
    ------
    DataError
        If nothing was recorded.
    MissingDependencyError
        Without the packages of ``labelgrove[report]``.
    OSError
        If the page cannot be written.
    LabelGroveError
        If another process is writing the same page.
    """
    points = record.points()
    if not points:
        raise DataError("record: found no examples; expected at least one")
    patience = record.patience()
    page = {"data": _data(points, patience), "charts": _charts(has_tree=points[-1].nodes > 0)}
    page["charts"] = {name: spec for name, spec in page["charts"].items() if page["data"][name]}
    half = np.flatnonzero(patience >= 0.5)
    last = points[-1]
    write_page(
        path,
        "stream.html.jinja",
        {
            "page": page,
            "title": f"{name}, learning {data_name}",
            "facts": [
                ("examples", f"{last.examples:,}"),
                ("labels", f"{last.n_labels:,}"),
                ("new labels", f"{record.new_labels:,}"),
                *([("nodes", f"{last.nodes:,}")] if last.nodes else []),
            ],
            "so_far": last.accuracy,
            "recent": last.recent_accuracy,
            "window": min(record.window, last.examples),
            "speed": last.examples / max(last.seconds, 1e-9),
            "half": int(half[0]) if half.size else None,
            "ever": float(patience[-1]) if patience.size else None,
            "places": record.places,
            "overlooked": [(called(label), n) for label, n in record.overlooked(_OVERLOOKED)],
        },
    )


def _data(points: Sequence[ProgressPoint], patience: npt.NDArray[np.float64]) -> dict[str, Any]:
    def lines(points: Sequence[ProgressPoint], **columns: str) -> list[dict[str, Any]]:
        return [
            {"examples": point.examples, "name": name, "value": plain([getattr(point, field)])[0]}
            for name, field in columns.items()
            for point in points
        ]

    settled = [point for point in points if point.examples * _NOISE >= points[-1].examples]

    grown = {"labels": "n_labels", "nodes": "nodes"} if points[-1].nodes else {"labels": "n_labels"}
    # Keep only the points where the step function changes.
    steps = np.flatnonzero(np.diff(patience, prepend=-1.0) != 0)
    steps = np.unique(np.append(steps, len(patience) - 1)) if len(patience) else steps
    return {
        "precision": lines(settled, **{"so far": "accuracy", "recent": "recent_accuracy"}),
        "growth": lines(points, **grown),
        "patience": [{"learnt": int(n), "share": plain([patience[n]])[0]} for n in steps],
        "speed": _speeds(settled),
    }


def _speeds(points: Sequence[ProgressPoint]) -> list[dict[str, Any]]:
    """Compute examples per second between points that are far enough apart."""
    kept = [points[0]]
    for point in points[1:]:
        if point.examples >= kept[-1].examples * 1.1:
            kept.append(point)
    rows = []
    for before, after in pairwise(kept):
        speed = (after.examples - before.examples) / max(after.seconds - before.seconds, 1e-9)
        rows.append({"examples": after.examples, "name": "examples per second", "value": speed})
    return rows


def _charts(*, has_tree: bool) -> dict[str, Any]:
    grown = ["labels", "nodes"] if has_tree else ["labels"]
    return {
        "precision": _over_time(
            "precision", "Progressive P@1", "P@1", ["so far", "recent"], shares=True, height=300
        ),
        "growth": _over_time("growth", "Labels and nodes over time", "number", grown),
        "patience": _patience(),
        "speed": _over_time(
            "speed", "Examples per second over time", "per second", ["examples per second"]
        ),
    }


_STEPS = [0, *(digit * 10**zeros for zeros in range(7) for digit in (1, 2, 5))]


def _over_time(
    data: str,
    description: str,
    title: str,
    names: list[str],
    *,
    shares: bool = False,
    height: int = 220,
) -> Spec:
    """Draw lines over the examples of a stream."""
    if shares:
        y, form = share("value", title, scale={"zero": True}), ".1%"
    else:
        y, form = x("value", title, axis={"format": "~s", "tickCount": 5}), ",.4~r"
    seen = tooltip(after="examples|,d", what="name", value=f"value|{form}")
    return chart(
        data,
        description,
        [
            layer(CURVE, color=colours("name", names, [GREEN, OCHRE, BLUE])),
            layer({"type": "point", "opacity": 0, "size": 120, "filled": True}, tooltip=seen),
        ],
        encoding={
            "x": x(
                "examples", "examples", axis={"format": "~s", "tickCount": 6}, scale={"nice": False}
            ),
            "y": y,
        },
        height=height,
    )


def _patience() -> Spec:
    """Draw the share of new labels recognised, by the number of their examples learnt."""
    step = {"interpolate": "step-after", "color": GREEN}
    return chart(
        "patience",
        "Share of new labels recognised, by the number of their examples learnt",
        [
            layer({"type": "area", "opacity": 0.14} | step),
            layer(CURVE | step),
            layer(
                {"type": "point", "opacity": 0, "size": 160, "filled": True},
                tooltip=tooltip(examples="learnt|,d", recognised="share|.1%"),
            ),
        ],
        encoding={
            "x": x(
                "learnt",
                "examples learnt of the label",
                scale={"type": "symlog", "nice": False},
                axis={"values": _STEPS, "format": "~s"},
            ),
            "y": share("share", "recognised"),
        },
        height=220,
    )
