"""A self-contained HTML page: template, style, scripts, Vega and the data."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from os import PathLike, fspath
from typing import Any

from labelgrove._numbers import counted
from labelgrove._optional import optional
from labelgrove._version import __version__
from labelgrove.data._sink import open_sink

_SCRIPTS = ("format.js", "charts.js", "table.js", "tree.js", "page.js")


def write_page(path: str | PathLike[str], template: str, content: dict[str, Any]) -> None:
    """Fill in the template, a file in the folder ``page``, and write the page.

    ``content["page"]`` is passed to the scripts as JSON. Raises MissingDependencyError without the
    packages of ``labelgrove[report]``.
    """
    jinja = optional("jinja2", "a report", "report")
    safe = jinja.utils.markupsafe.Markup
    environment = jinja.Environment(
        loader=jinja.FunctionLoader(_part),
        autoescape=True,
        undefined=jinja.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    html = environment.get_template(template).render(
        **content,
        counted=counted,
        data=safe(_json(content["page"])),
        style=safe(_part("style.css")),
        script=safe("\n".join(map(_part, _SCRIPTS))),
        vega=safe(vega_script()),
        vega_version=str(_vega().get_vega_version()),
        version=__version__,
    )
    with open_sink(fspath(path)) as page:
        page.write(html.encode("utf-8", "replace"))  # of file names that are not UTF-8


def _part(name: str) -> str:
    return files("labelgrove.reporting").joinpath("page", name).read_text("utf-8")


def _json(value: Any) -> str:
    """Encode as JSON that is safe in a script element, whatever the labels are."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # UTF-8 cannot encode lone surrogates, and "<" could end the element.
    return text.replace("<", "\\u003c").encode("utf-8", "backslashreplace").decode("utf-8")


def check_packages() -> None:
    """Check that a page can be written, before what it shows is computed.

    Raises MissingDependencyError without the packages of ``labelgrove[report]``.
    """
    optional("jinja2", "a report", "report")
    _vega()


@cache
def vega_script() -> str:
    """Bundle Vega-Lite and Vega in one script, which defines ``vegaEmbed``.

    Raises MissingDependencyError without the package that contains Vega.
    """
    script: str = _vega().javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return script.replace("</script", "<\\/script")


def _vega() -> Any:
    return optional("vl_convert", "a report", "report")
