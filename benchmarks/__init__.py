"""Measurements of LabelGrove: ``python -m benchmarks --help``.

Every module measures one thing and writes what it found into ``results/``, one JSON file a data
set; ``render`` turns those files into the tables and plots of ``docs/benchmarks.md``.
"""
