"""Reports to look at: how good a model is, or how it learnt, in one page of HTML.

A page holds everything it needs and opens without a network. Making one needs the optional
packages of ``labelgrove[report]``: Vega, which draws the charts, and Jinja, which sets the page.
"""

from labelgrove.reporting._report import write_report
from labelgrove.reporting._stream_report import write_stream_report

__all__ = ["write_report", "write_stream_report"]
