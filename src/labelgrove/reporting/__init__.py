"""Reports to look at: all that there is to know about a model, in one page of HTML.

A page holds everything it needs and opens without a network. Making one needs the optional
packages of ``labelgrove[report]``: Vega, which draws the charts, and Jinja, which sets the page.
"""

from labelgrove.reporting._report import write_report

__all__ = ["write_report"]
