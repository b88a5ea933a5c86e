"""How Sphinx builds the documentation; `make docs` runs it with warnings as errors."""

import re
from importlib.metadata import version as installed_version
from typing import Any

from sphinx.application import Sphinx

project = "LabelGrove"
author = "LabelGrove developers"
copyright = author
version = release = installed_version("labelgrove")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
]
exclude_patterns = ["_build"]
# The words of a type, as in "shape (n_labels,)", are looked up like names, and may be two's.
suppress_warnings = ["ref.python"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings name the types, shapes included
napoleon_google_docstring = False
# A list, as of parameters: attributes that are properties have an entry of their own besides.
napoleon_custom_sections = [("Attributes", "params_style")]
napoleon_use_param = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"{project} {version}"


def skip_metadata_requests(
    app: Sphinx, what: str, name: str, obj: object, skip: bool, options: Any
) -> bool | None:
    """Leave out ``set_fit_request`` and its kin, which scikit-learn adds to every estimator."""
    return True if re.fullmatch(r"set_\w+_request|get_metadata_routing", name) else None


def setup(app: Sphinx) -> None:
    """Connect the above."""
    app.connect("autodoc-skip-member", skip_metadata_requests)
