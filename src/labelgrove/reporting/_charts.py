"""The charts of the report on a model."""

from __future__ import annotations

from typing import Any

from labelgrove.reporting._chart_parts import (
    BETTER,
    BLUE,
    CARD,
    CURVE,
    GREEN,
    INK,
    MUTED,
    OCHRE,
    PERCENT,
    WORSE,
    Spec,
    chart,
    colours,
    layer,
    share,
    tooltip,
    x,
)


def ranking(models: list[str]) -> Spec:
    """Draw P@k and R@k against k, with their intervals."""
    dash: Spec = {}
    if len(models) > 1:
        scale = {"domain": models, "range": [[1, 0], [4, 3]]}
        dash = {"strokeDash": {"field": "model", "type": "nominal", "scale": scale, "sort": models}}
    names = ["precision", "recall"]
    seen = tooltip(
        model="model", at="k", what="metric", value="value|.1%", low="low|.1%", high="high|.1%"
    )
    return chart(
        "ranking",
        "Precision and recall of the first k labels, for k from 1 to 10",
        [
            layer({"type": "area", "opacity": 0.14}, y=share("low", None), y2={"field": "high"}),
            layer(CURVE, **dash),
            layer({"type": "point", "filled": True, "size": 46, "opacity": 1}, tooltip=seen),
        ],
        encoding={
            "x": x("k", "k", axis={"tickMinStep": 1, "format": "d"}, scale={"nice": False}),
            "y": share("value", None),
            "color": colours("metric", names, [GREEN, OCHRE]),
            "detail": {"field": "model"},
        },
    )


def threshold_curve(threshold: float | None) -> Spec:
    """Draw macro-, micro- and instance-averaged F1 against a threshold for all labels."""
    names = ["macro", "micro", "instance"]
    layers: list[Spec] = [
        layer(
            CURVE | {"interpolate": "monotone"},
            y=share("f", "F1"),
            color=colours("average", names, [GREEN, OCHRE, BLUE]),
        ),
        layer(
            {"type": "point", "opacity": 0, "size": 200, "filled": True},
            y=share("f", "F1"),
            tooltip=tooltip(average="average", threshold="threshold|.2f", F1="f|.1%"),
        ),
    ]
    if threshold is not None:
        layers.append(
            layer(
                {"type": "rule", "color": INK, "strokeDash": [2, 3], "strokeWidth": 1.5},
                data={"values": [{"threshold": threshold}]},
            )
        )
    return chart(
        "threshold_curve",
        "F1 against a threshold shared by all labels",
        layers,
        encoding={"x": x("threshold", "threshold", scale={"domain": [0, 1]})},
    )


def histogram(
    data: str,
    description: str,
    title: str,
    *,
    colour: str = GREEN,
    unit: str = ".2f",
    y: str = "labels",
    scale: str = "linear",
) -> Spec:
    """Draw bars for precomputed intervals [low, high] with counts."""
    seen = tooltip(**{"from": f"low|{unit}", "to": f"high|{unit}", y: "count|,d"})
    return chart(
        data,
        description,
        [
            layer(
                {"type": "rect", "color": colour, "stroke": CARD, "strokeWidth": 1},
                x=x(
                    "low",
                    title,
                    axis={"format": unit, "tickCount": 6},
                    scale={"type": scale, "nice": False},
                ),
                x2={"field": "high"},
                y=x("count", y, axis={"tickCount": 4, "format": "~s"}),
                y2={"datum": 0},
                tooltip=seen,
            )
        ],
        height=180,
    )


def reliability(models: list[str]) -> Spec:
    """Draw observed frequency against predicted probability."""
    colour = colours("model", models, [GREEN, BLUE])
    seen = tooltip(
        model="model", predicted="predicted|.1%", observed="observed|.1%", predictions="count|,d"
    )
    return chart(
        "reliability",
        "Share of true labels against their predicted probability",
        [
            layer(
                {"type": "line", "color": MUTED, "strokeDash": [2, 4], "strokeWidth": 1.5},
                data={"values": [{"predicted": 0, "observed": 0}, {"predicted": 1, "observed": 1}]},
            ),
            layer(CURVE, color=colour),
            layer(
                {"type": "point", "filled": True, "opacity": 1},
                color=colour,
                size={
                    "field": "count",
                    "type": "quantitative",
                    "legend": None,
                    "scale": {"type": "sqrt", "range": [24, 260]},
                },
                tooltip=seen,
            ),
        ],
        encoding={
            "x": x("predicted", "predicted", axis=PERCENT, scale={"domain": [0, 1]}),
            "y": share("observed", "observed"),
        },
    )


def frequency() -> Spec:
    """Draw F1 of every label against its number of training examples, and the mean."""
    seen = tooltip(label="label", seen="seen|,d", in_test="support|,d", F1="f1|.1%")
    counts = x(
        "seen",
        "training examples of the label",
        scale={"type": "log", "nice": False},
        axis={"format": "~s", "tickCount": 5},
    )
    return chart(
        "frequency",
        "F1 of every label against its number of training examples",
        [
            layer({"type": "circle", "opacity": 0.28, "color": GREEN, "size": 26}, tooltip=seen),
            layer(CURVE | {"color": INK}, data={"name": "frequency_mean"}),
            layer(
                {"type": "point", "color": INK, "filled": True, "size": 50, "opacity": 1},
                tooltip=tooltip(around="seen|,.0f", labels="labels|,d", mean_F1="f1|.1%"),
                data={"name": "frequency_mean"},
            ),
        ],
        encoding={"x": counts, "y": share("f1", "F1")},
        height=262,
        canvas=True,
    )


def lost_by_depth() -> Spec:
    """Draw the depth of the tree at which missed labels are lost."""
    return chart(
        "lost_by_depth",
        "Depth of the tree at which missed labels are lost",
        [
            layer(
                {"type": "bar", "cornerRadiusEnd": 2},
                x={"field": "depth", "type": "ordinal", "title": "step", "axis": {"labelAngle": 0}},
                y=x("share", "share of misses", axis=PERCENT),
                color=colours(
                    "where", ["at a group of labels", "at the label itself"], [OCHRE, GREEN]
                ),
                tooltip=tooltip(step="depth", where="where", misses="misses|,d", share="share|.1%"),
            )
        ],
        height=200,
    )


def differences(level: str) -> Spec:
    """Draw the change of every metric, with its interval of this level."""
    names = ["better", "worse", "undecided"]
    y = {"field": "metric", "type": "ordinal", "title": None, "sort": None}
    colour = colours("verdict", names, [BETTER, WORSE, MUTED])
    points = "format(100 * datum.value, '+.1f')"
    change = {"labelExpr": points, "tickCount": 5, "grid": True}
    title = "change, in percentage points"
    seen = tooltip(
        metric="metric",
        before="before|.1%",
        after="after|.1%",
        change="change|+.2%",
        low="low|+.2%",
        high="high|+.2%",
    )
    return chart(
        "differences",
        f"Change of every metric with its {level} interval",
        [
            layer(
                {"type": "rule", "color": MUTED, "strokeWidth": 1.5},
                x=x("zero", title, axis=change),
                data={"values": [{"zero": 0}]},
            ),
            layer(
                {"type": "rule", "strokeWidth": 3, "opacity": 0.55},
                x=x("low", title, axis=change),
                x2={"field": "high"},
                y=y,
                color=colour,
            ),
            layer(
                {"type": "point", "filled": True, "size": 90, "opacity": 1},
                x=x("change", title),
                y=y,
                color=colour,
                tooltip=seen,
            ),
        ],
        height=320,
    )


def rings() -> dict[str, Any]:
    """Draw the tree, coloured by the signal ``by``: "f1", "seen" or "lost"."""
    return {
        "$schema": "https://vega.github.io/schema/vega/v6.json",
        "description": "The label tree as rings around its root",
        "usermeta": {"renderer": "canvas"},
        "autosize": "none",
        "signals": [
            {
                "name": "width",
                "init": "containerSize()[0]",
                "on": [{"events": "window:resize", "update": "containerSize()[0]"}],
            },
            {"name": "height", "update": "min(width, 560)"},
            {"name": "radius", "update": "min(width, height) / 2 - 2"},
            {"name": "by", "value": "f1"},
        ],
        "data": [
            {
                "name": "rings",
                "transform": [
                    {"type": "stratify", "key": "id", "parentKey": "parent"},
                    {
                        "type": "partition",
                        "field": "weight",
                        "sort": {"field": "value", "order": "descending"},
                        "size": [{"signal": "2 * PI"}, {"signal": "radius"}],
                        "as": ["a0", "r0", "a1", "r1", "depth", "children"],
                    },
                ],
            }
        ],
        "scales": [
            {"name": "f1", "type": "linear", "domain": [0, 1], "range": _RAMP},
            {"name": "seen", "type": "log", "domain": _extent("seen"), "range": _RAMP},
            {"name": "lost", "type": "sqrt", "domain": _extent("lost"), "range": _LOST},
        ],
        "marks": [
            {
                "type": "arc",
                "from": {"data": "rings"},
                "encode": {
                    "enter": {"cursor": {"value": "pointer"}},
                    "update": {
                        "x": {"signal": "width / 2"},
                        "y": {"signal": "height / 2"},
                        "startAngle": {"field": "a0"},
                        "endAngle": {"field": "a1"},
                        "innerRadius": {"field": "r0"},
                        "outerRadius": {"signal": "max(datum.r0, datum.r1 - 1)"},
                        "stroke": {"value": "var(--card)"},
                        "strokeWidth": {"signal": "datum.a1 - datum.a0 > 0.02 ? 1 : 0.2"},
                        "fill": {
                            "signal": "by == 'f1' ? (isValid(datum.f1) ? scale('f1', datum.f1)"
                            " : 'var(--line)') : by == 'seen' ? scale('seen', max(1, datum.seen))"
                            " : scale('lost', datum.lost)"
                        },
                        "tooltip": {
                            "signal": "{title: datum.title,"
                            " 'examples seen': format(datum.seen, ',d'),"
                            " F1: isValid(datum.f1) ? format(datum.f1, '.1%') : 'not in test set',"
                            " 'misses lost here': format(datum.lost, ',d')}"
                        },
                    },
                    "hover": {"fill": {"value": "var(--ink)"}},
                },
            }
        ],
    }


_RAMP = ["var(--ramp-low)", "var(--ramp-mid)", "var(--ramp-high)"]
_LOST = ["var(--line)", "var(--ochre)"]


def _extent(field: str) -> dict[str, Any]:
    return {"data": "rings", "field": field}
