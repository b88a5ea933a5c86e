"""Parts of the reports' charts, in Vega-Lite.

Charts refer to their data by name. Colours are written ``var(--name)``; the page replaces them by
the colours of its light or dark theme.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Spec = dict[str, Any]

INK, MUTED, LINE = "var(--ink)", "var(--muted)", "var(--line)"
CARD = "var(--card)"
GREEN, OCHRE, BLUE = "var(--green)", "var(--ochre)", "var(--blue)"
BETTER, WORSE = "var(--better)", "var(--worse)"

_CONFIG: Spec = {
    "background": None,
    "font": "var(--font)",
    "view": {"stroke": None},
    "axis": {
        "labelColor": MUTED,
        "titleColor": MUTED,
        "gridColor": LINE,
        "domain": False,
        "ticks": False,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelPadding": 6,
        "titlePadding": 10,
        "labelOverlap": True,
    },
    "axisX": {"grid": False},
    "legend": {
        # Stack two legends: side by side they would be wider than a phone.
        "layout": {"top": {"direction": "vertical", "anchor": "start", "margin": 4}},
        "labelColor": INK,
        "title": None,
        "orient": "top",
        "direction": "horizontal",
        "labelFontSize": 12,
        "symbolType": "circle",
        "symbolOpacity": 1,
        "symbolStrokeWidth": 2,
        "offset": 4,
        "columns": 3,
    },
}
CURVE: Spec = {"type": "line", "strokeWidth": 2.5}
PERCENT = {"format": ".0%", "tickCount": 5}


def chart(
    data: str,
    description: str,
    layers: list[Spec],
    *,
    encoding: Spec | None = None,
    height: int = 240,
    canvas: bool = False,
) -> Spec:
    """Specify a chart of the data of that name, which fills the width of its container.

    The Vega-Lite layers share `encoding`; `description` is for screen readers. With `canvas`, for
    thousands of marks, it is drawn on a canvas instead of as SVG.
    """
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "description": description,
        "data": {"name": data},
        "width": "container",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "config": _CONFIG,
        "encoding": encoding or {},
        "layer": layers,
        "usermeta": {"renderer": "canvas" if canvas else "svg"},
    }


def layer(mark: Spec, *, data: Spec | None = None, **encoding: Any) -> Spec:
    """Specify a layer of marks, by default of the chart's data."""
    own = {} if data is None else {"data": data}
    return {**own, "mark": mark, "encoding": encoding}


def x(field: str, title: str, **more: Any) -> Spec:
    """Specify a quantitative axis."""
    return {"field": field, "type": "quantitative", "title": title, **more}


def share(field: str, title: str | None, **more: Any) -> Spec:
    """Specify a vertical axis of shares, from 0 to 100%."""
    given = {"axis": PERCENT, "scale": {"domain": [0, 1]}} | more
    return {"field": field, "type": "quantitative", "title": title, **given}


def tooltip(**fields: str) -> list[Spec]:
    """Specify the fields of a tooltip: title="field" or title="field|format"."""
    result = []
    for title, field in fields.items():
        name, _, form = field.partition("|")
        entry: Spec = {"field": name, "title": title.replace("_", " ")}
        if form:
            entry |= {"type": "quantitative", "format": form}
        result.append(entry)
    return result


def colours(field: str, names: list[str], values: list[str]) -> Spec:
    """Assign a colour to each name, with a legend if there are several."""
    legend: Spec | None = {} if len(names) > 1 else None
    scale = {"domain": names, "range": values[: len(names)]}
    return {"field": field, "type": "nominal", "scale": scale, "legend": legend, "sort": names}


def plain(values: npt.ArrayLike) -> list[Any]:
    """Convert to a list: integers unchanged, floats to four digits, None for non-finite values."""
    array = np.asarray(values)
    if array.dtype.kind != "f":
        return list(array.tolist())
    rounded = np.round(array.astype(np.float64), 4).tolist()
    return [value if np.isfinite(value) else None for value in rounded]


def records(**columns: npt.ArrayLike) -> list[dict[str, Any]]:
    """Convert columns to one dict per row, the format of Vega."""
    lists = [plain(values) for values in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]
