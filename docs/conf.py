"""How Sphinx builds the documentation; `make docs` runs it with warnings as errors."""

from importlib.metadata import version as installed_version

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

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings name the types, shapes included
napoleon_google_docstring = False
napoleon_use_param = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"{project} {version}"
