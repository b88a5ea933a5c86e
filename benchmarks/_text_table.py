"""Raw text as tables: settings, learners and other programs; seconds of front ends; `train`."""

from __future__ import annotations

from typing import Any

from benchmarks._tables import Results, precision, table


def text(found: Results) -> str:
    """P@k and PSP@k by data set, learner and setting, with seconds and bytes."""
    header = ["data", "learning", "setting", "P@1/3/5", "PSP@1/3/5", "learning s", "MB"]
    rows = [_row(result["subject"], row) for result in found for row in result["rows"]]
    return table(header, rows)


def _row(subject: str, row: dict[str, Any]) -> list[object]:
    said = ", ".join(f"{name} {value}" for name, value in row.get("options", {}).items())
    return [
        subject,
        "" if row["learner"] == "peer" else row["learner"],
        f"{row['setting']} ({said})" if said else row["setting"],
        "/".join(f"{row[f'p@{k}']:.1f}" for k in (1, 3, 5)),
        "/".join(f"{row[f'psp@{k}']:.1f}" for k in (1, 3, 5)),
        f"{row['learning_cpu']:.2f}",
        f"{row['bytes'] / 1e6:.1f}",
    ]


def text_speed(found: Results) -> str:
    """Seconds of front ends, and how many times scikit-learn's are those of ours."""
    header = ["data", "front end", "wall s", "processor s", "times scikit-learn"]
    rows: list[list[object]] = []
    for result in found:
        for name, seconds in result["seconds"].items():
            theirs = result["seconds"].get(f"{name.partition(',')[0]}, scikit-learn")
            ratio = f"{theirs['wall'] / seconds['wall']:.1f}" if theirs else ""
            row = [result["subject"], name, f"{seconds['wall']:.2f}", f"{seconds['cpu']:.2f}"]
            rows.append([*row, ratio])
        rows.append(
            [result["subject"], "one text of 50 words to labels, ms", result["one_row_ms"], "", ""]
        )
    return table(header, rows)


def training(found: Results) -> str:
    """Seconds and bytes of the whole command, and the share of an earlier version's seconds."""
    header = ["data", "`--algorithm`", "texts as", "wall s", "of 0.1's", "processor s"]
    header += ["peak MB", "file MB", "P@1/3/5"]
    rows = [_training_row(result, row) for result in found for row in result["rows"]]
    return table(header, rows)


def _training_row(result: dict[str, Any], row: dict[str, Any]) -> list[object]:
    # Not medians: whoever else works on the machine takes a whole processor from two threads.
    figures = {
        name: min(run[name] for run in row["runs"])
        for name in ("wall", "cpu", "peak_mb", "file_mb")
    }
    before = [
        min(run["wall"] for run in one["runs"])
        for one in result["rows"]
        if one["algorithm"] == row["algorithm"] and one["setting"] == "before"
    ]
    return [
        result["subject"],
        row["algorithm"],
        {"before": "words, LabelGrove 0.1"}.get(row["setting"], row["setting"]),
        f"{figures['wall']:.1f}",
        f"{figures['wall'] / before[0]:.2f}" if before else "",
        f"{figures['cpu']:.1f}",
        f"{figures['peak_mb']:,.0f}",
        f"{figures['file_mb']:.0f}",
        precision(row["precision"]) if "precision" in row else "",
    ]
