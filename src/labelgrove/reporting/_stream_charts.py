"""The charts of a report on a stream."""

from __future__ import annotations

from labelgrove.reporting._chart_parts import (
    BLUE,
    GREEN,
    OCHRE,
    Spec,
    chart,
    colours,
    share,
    tooltip,
    x,
)

_STEPS = [0, *(digit * 10**zeros for zeros in range(7) for digit in (1, 2, 5))]


def over_time(
    data: str,
    description: str,
    title: str,
    names: list[str],
    *,
    shares: bool = False,
    height: int = 220,
) -> Spec:
    """Lines over the examples of a stream."""
    axis = (
        {"y": share("value", title, scale={"zero": True})}
        if shares
        else {"y": x("value", title, axis={"format": "~s", "tickCount": 5})}
    )
    form = ".1%" if shares else ",.4~r"
    seen = tooltip(after="examples|,d", what="name", value=f"value|{form}")
    return chart(
        data,
        description,
        [
            {
                "mark": {"type": "line", "strokeWidth": 2.5},
                "encoding": {**axis, "color": colours("name", names, [GREEN, OCHRE, BLUE])},
            },
            {
                "mark": {"type": "point", "opacity": 0, "size": 120, "filled": True},
                "encoding": {**axis, "tooltip": seen},
            },
        ],
        encoding={
            "x": x(
                "examples", "examples", axis={"format": "~s", "tickCount": 6}, scale={"nice": False}
            ),
        },
        height=height,
    )


def patience() -> Spec:
    """The share of new labels recognised, by how many examples of them were learnt."""
    return chart(
        "patience",
        "Share of new labels recognised, by the number of their examples learnt",
        [
            {
                "mark": {
                    "type": "area",
                    "interpolate": "step-after",
                    "color": GREEN,
                    "opacity": 0.14,
                },
                "encoding": {"y": share("share", "recognised")},
            },
            {
                "mark": {
                    "type": "line",
                    "interpolate": "step-after",
                    "color": GREEN,
                    "strokeWidth": 2.5,
                },
                "encoding": {"y": share("share", "recognised")},
            },
            {
                "mark": {"type": "point", "opacity": 0, "size": 160, "filled": True},
                "encoding": {
                    "y": share("share", "recognised"),
                    "tooltip": tooltip(examples="learnt|,d", recognised="share|.1%"),
                },
            },
        ],
        encoding={
            "x": x(
                "learnt",
                "examples learnt of the label",
                scale={"type": "symlog", "nice": False},
                axis={"values": _STEPS, "format": "~s"},
            )
        },
        height=220,
    )
