"""HTML reports on the quality of a model, or on the course of its learning.

A report is one self-contained page that opens without a network. Writing one needs the optional
packages of ``labelgrove[report]``: Vega for the charts, and Jinja for the page.
"""

from labelgrove.reporting._report import write_report
from labelgrove.reporting._stream_report import write_stream_report

__all__ = ["write_report", "write_stream_report"]
