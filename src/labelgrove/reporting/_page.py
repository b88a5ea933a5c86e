"""One self-contained page of HTML: template, style, scripts, Vega and the data."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

from labelgrove._optional import optional
from labelgrove._version import __version__

_SCRIPTS = ("format.js", "charts.js", "table.js", "tree.js", "page.js")


def write_page(path: str | PathLike[str], template: str, content: dict[str, Any]) -> None:
    """Write the page.

    Parameters
    ----------
    path : path
    template : str
        Name of a file in the folder ``page``.
    content : dict
        What the template asks for; ``content["page"]`` is what the scripts find as JSON.

    Raises
    ------
    MissingDependencyError
        Without the packages of ``labelgrove[report]``.
    OSError
        If the file cannot be written.
    """
    jinja = optional("jinja2", "a report", "report")
    folder = files("labelgrove.reporting").joinpath("page")
    environment = jinja.Environment(
        loader=jinja.FunctionLoader(lambda name: folder.joinpath(name).read_text("utf-8")),
        autoescape=True,
        undefined=jinja.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    html = environment.get_template(template).render(
        **content,
        data=jinja.utils.markupsafe.Markup(_json(content["page"])),
        style=jinja.utils.markupsafe.Markup(folder.joinpath("style.css").read_text("utf-8")),
        script=jinja.utils.markupsafe.Markup(
            "\n".join(folder.joinpath(name).read_text("utf-8") for name in _SCRIPTS)
        ),
        vega=jinja.utils.markupsafe.Markup(vega_script()),
        vega_version=str(_vega().get_vega_version()),
        version=__version__,
    )
    Path(path).write_text(html, encoding="utf-8")


def _json(value: Any) -> str:
    """JSON that is safe in a script element, whatever the labels are."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Lone surrogates have no UTF-8, and "<" could end the element.
    return text.replace("<", "\\u003c").encode("utf-8", "backslashreplace").decode("utf-8")


@cache
def vega_script() -> str:
    """Vega-Lite and Vega in one script, which defines ``vegaEmbed``.

    Raises
    ------
    MissingDependencyError
        Without the package that holds Vega.
    """
    script: str = _vega().javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return script.replace("</script", "<\\/script")


def _vega() -> Any:
    return optional("vl_convert", "a report", "report")
