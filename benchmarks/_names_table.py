"""What learning the names of labels gains, as a table."""

from __future__ import annotations

from typing import Any

from benchmarks._tables import Results, table

_SAYS = {None: "no", "met": "of labels met", "all": "of all labels"}


def names(found: Results) -> str:
    """P@k, PSP@k and the recall of labels without examples, by data set, learner and names."""
    header = ["data", "learning", "names learnt", "P@1/5", "PSP@1/5", "R@5 of unseen labels"]
    header += ["learning s", "MB"]
    rows = [_row(result["subject"], row) for result in found for row in result["rows"]]
    return table(header, rows)


def _row(subject: str, row: dict[str, Any]) -> list[object]:
    recall = row["unseen_recall@5"]
    return [
        subject,
        row["learner"],
        _SAYS[row["names"]],
        f"{100 * row['p@1']:.1f}/{100 * row['p@5']:.1f}",
        f"{100 * row['psp@1']:.1f}/{100 * row['psp@5']:.1f}",
        "" if recall is None else f"{100 * recall:.1f}",
        f"{row['learning_cpu']:.1f}",
        f"{row['bytes'] / 2**20:.1f}",
    ]
