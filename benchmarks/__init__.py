"""Measurements of LabelGrove: ``python -m benchmarks --help``.

Every module measures one thing and writes its results into ``results/``, one JSON file per data
set; ``render`` turns those files into the tables and plots of ``docs/benchmarks.md``.
"""
