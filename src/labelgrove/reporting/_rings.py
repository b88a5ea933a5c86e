"""The label tree as rings, in Vega: a ring for each depth, labels as wide as they are frequent."""

from __future__ import annotations

from typing import Any


def rings() -> dict[str, Any]:
    """The chart of the tree, coloured by the signal ``by``: "f1", "seen" or "lost"."""
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
                            " F1: isValid(datum.f1) ? format(datum.f1, '.1%') : 'not in the test',"
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
