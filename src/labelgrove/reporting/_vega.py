"""Vega, which draws the charts, as a script within the page."""

from __future__ import annotations

from functools import cache
from typing import Any

from labelgrove._optional import optional


@cache
def runtime() -> str:
    """Vega-Lite and Vega in one script, which defines ``vegaEmbed``.

    Raises
    ------
    MissingDependencyError
        Without the package that holds Vega.
    """
    script: str = _vega().javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return script.replace("</script", "<\\/script")


def version() -> str:
    """The version of Vega, for the page's last line."""
    return str(_vega().get_vega_version())


def _vega() -> Any:
    return optional("vl_convert", "a report", "vl-convert-python")
