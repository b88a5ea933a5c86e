"""FastXML compared with the published figures.

The only FastXML package on PyPI, ``fastxml`` 2.0, is written for Python 2: it compiles, but
importing it raises `SyntaxError`. The published figures (`benchmarks._aims`) take its place.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks._data import is_there, load
from benchmarks._results import command_line, write
from benchmarks.batch import Subject, run_once

DATASETS = ("bibtex", "delicious")


def _forest(trees: int) -> Subject:
    chosen = {"estimator": "FastXMLClassifier", "n_estimators": trees}
    return Subject("`FastXMLClassifier`", trees, "labelgrove_models", None, chosen)


SUBJECTS = tuple(_forest(trees) for trees in (50, 10))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``fastxml-<dataset>.json``."""
    parser = command_line(__doc__ or "", DATASETS)
    chosen = parser.parse_args(arguments)
    for dataset in filter(is_there, chosen.subjects):
        runs = []
        for subject in SUBJECTS:
            found = run_once(dataset, subject, 1)
            print(f"{dataset}: {subject.title}: {found['precision']}, {found['learning']}")
            runs.append({"title": subject.title, "trees": subject.trees, **found})
        rows = len(load(dataset, "test").labels)
        write(chosen.output, "fastxml", dataset, {"rows": rows, "runs": runs})


if __name__ == "__main__":
    main()
