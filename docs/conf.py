"""How Sphinx builds the documentation; `make docs` runs it with warnings as errors."""

from importlib.metadata import version as installed_version

project = "LabelGrove"
author = "LabelGrove developers"
copyright = author
version = release = installed_version("labelgrove")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
]
# The inventories of others are read where a network is at hand; without it only links are missing.
intersphinx_mapping: dict[str, tuple[str, None]] = {}

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_param = False

html_theme = "furo"
html_title = f"{project} {version}"
exclude_patterns = ["_build"]
