"""Results as Markdown tables. Each function takes the results of one benchmark, by subject."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks import _aims
from benchmarks._fits import CACHED, Fit
from benchmarks._traffic import BYTES_MOVED

Results = list[dict[str, Any]]

GROWTH = {
    "learn": ("learning, known labels, in batches", " µs"),
    "grow": ("learning, two new labels per example, in batches", " µs"),
    "learn_row": ("learning, known labels, one row per call", " µs"),
    "predict": ("prediction, in batches", " µs"),
    "predict_row": ("prediction, one row per call", " µs"),
}
"""Kinds of work in `benchmarks.growth`: their titles and units."""

GROWTH_COUNTS = {
    "touched": ("weights touched in learning", ""),
    "classifiers": ("classifiers evaluated in prediction", ""),
}
"""What `benchmarks.growth` also counts; independent of the machine."""


def measured(found: Results) -> str:
    """Dates, machines and versions of the results in one line; the files say more."""
    abouts = list(_circumstances(found))
    dates = sorted({about["date"] for about in abouts})
    when = " to ".join(dict.fromkeys([dates[0], dates[-1]]))
    machines = {f"{about['processors']} processors {about['processor']}" for about in abouts}
    versions = {f"LabelGrove {about['labelgrove']}" for about in abouts}
    return f"Measured {when}, {', '.join([*sorted(machines), *sorted(versions)])}."


def _circumstances(found: Any) -> Iterable[dict[str, Any]]:
    """Yield everything stored under ``about``, in whole results and in single runs."""
    if isinstance(found, dict):
        if "about" in found:
            yield found["about"]
        found = list(found.values())
    if isinstance(found, list):
        for part in found:
            yield from _circumstances(part)


def learning(found: Results) -> str:
    """Time, accuracy and memory of every program, and how close it comes to the bound."""
    header = ["data", "program", "runs", "processor s", "wall s", "P@1/3/5", "memory MB"]
    rows = [row for result in found for row in _learning_rows(result)]
    facts = ["data", "weights touched, million", "copy bandwidth, GB/s", "bound, s"]
    facts += [f"bound ÷ processor time (aim: {100 * _aims.LEARNING_BOUND_SHARE:.0f} %)"]
    aims = _aims.LEARNING_TWO_THREADS.items()
    facts += [f"{setting}, 1 thread ÷ 2 threads (aim: {aim})" for setting, aim in aims]
    facts += [f"napkinXC ÷ 1 thread (aim: {_aims.LEARNING_TIMES_NAPKINXC})"]
    return f"{table(header, rows)}\n\n{table(facts, map(_learning_facts, found))}"


_LEARNERS = {
    "published, 1": "LabelGrove as published, 1 thread",
    "published, 2": "LabelGrove as published, 2 threads",
    "default, 1": "LabelGrove's default, 1 thread",
    "default, 2": "LabelGrove's default, 2 threads",
    "napkinxc": "napkinXC, 1 thread",
}


def _learning_rows(result: dict[str, Any]) -> list[list[object]]:
    return [
        [
            result["subject"],
            _LEARNERS[program],
            len(runs),
            f"{_median(runs, 'cpu'):.2f}",
            f"{_median(runs, 'wall'):.2f}",
            precision(runs[0]["precision"]),
            f"{_median(runs, 'peak_growth_mb'):,.0f}",
        ]
        for program, runs in result["runs"].items()
        if program in _LEARNERS
    ]


def _learning_facts(result: dict[str, Any]) -> list[str]:
    runs, touched = result["runs"], result["weights_touched"]
    one = _median(runs["published, 1"], "cpu")
    copied = _median(runs["copy"], "bytes_per_second")
    bound = touched * BYTES_MOVED / copied
    walls = [
        [_median(runs[f"{setting}, {n}"], "wall") for n in (1, 2)]
        for setting in _aims.LEARNING_TWO_THREADS
    ]
    theirs = f"{_median(runs['napkinxc'], 'cpu') / one:.0f}" if "napkinxc" in runs else ""
    return [
        result["subject"],
        f"{touched / 1e6:,.0f}",
        f"{copied / 1e9:.1f}",
        f"{bound:.2f}",
        f"{100 * bound / one:.0f} %",
        *(f"{alone / both:.2f}" for alone, both in walls),
        theirs,
    ]


def prediction(found: Results) -> str:
    """Microseconds per example, in batches and with one row per call."""
    header = ["data", "model", "batch µs", "one row p50 µs", "p99 µs", "call µs", "classifiers"]
    header += ["ns per classifier", "P@1/3/5"]
    rows = [row for result in found for row in _prediction_rows(result)]
    facts = [
        [result["subject"], f"{_batch(result, peer) / _batch(result, same_tree):.1f}"]
        for result in found
        for peer, same_tree in [(("napkinxc", "loaded"), ("napkinxc's tree", "loaded"))]
        if peer[0] in result["runs"]
    ]
    aim = _aims.PREDICTION_TIMES_NAPKINXC
    ratio = f"batch time, napkinXC ÷ LabelGrove on napkinXC's tree (aim: {aim})"
    return f"{table(header, rows)}\n\n{table(['data', ratio], facts)}".rstrip("\n")


_PREDICTORS = {
    ("own tree", "learnt"): "LabelGrove, as learnt",
    ("own tree", "loaded"): "LabelGrove, loaded",
    ("napkinxc's tree", "loaded"): "LabelGrove, loaded, on napkinXC's tree",
    ("napkinxc", "loaded"): "napkinXC",
}


def _prediction_rows(result: dict[str, Any]) -> list[list[object]]:
    rows: list[list[object]] = []
    for predictor, title in _PREDICTORS.items():
        runs = [run[predictor[1]] for run in result["runs"].get(predictor[0], [])]
        if not runs:
            continue
        single, batch = [run["single"] for run in runs], _batch(result, predictor)
        times = [batch, _median(single, "p50"), _median(single, "p99")]
        row = [result["subject"], title, *(f"{time:.1f}" for time in times)]
        if "classifiers" in runs[0]:  # napkinXC does not report them
            classifiers = runs[0]["classifiers"]
            row += [f"{_median(single, 'cpu') - batch:.0f}", f"{classifiers:.0f}"]
            row += [f"{1e3 * batch / classifiers:.1f}"]
        else:
            row += ["", "", ""]
        rows.append([*row, precision(runs[0]["precision"])])
    return rows


def _batch(result: dict[str, Any], predictor: tuple[str, str]) -> float:
    """Microseconds of processor time per example when all are given at once."""
    runs = [run[predictor[1]]["batch"] for run in result["runs"][predictor[0]]]
    return 1e6 * _median([one for batch in runs for one in batch], "cpu") / int(result["rows"])


def sharing(found: Results) -> str:
    """Milliseconds of a prediction while another thread learns, and the cost to learning."""
    rows = []
    for result in found:
        for run in result["runs"]:
            speed = run["rows_per_second"]
            for who, learns in (("alone", ""), ("beside", f"{speed['shared']:,.0f}")):
                asked = run[who]
                rows.append(
                    [
                        result["subject"],
                        str(run["readers"]),
                        "yes" if learns else "no",
                        *(f"{asked[p]:.2f}" for p in ("p50", "p99", "worst")),
                        learns,
                    ]
                )
            rows.append([result["subject"], "0", "yes", "", "", "", f"{speed['plain']:,.0f}"])
    header = ["data", "readers", "learning", "p50 ms", f"p99 ms (aim: {_aims.SHARED_P99_MS})"]
    return table([*header, "worst ms", "rows learnt per second"], rows)


def memory(found: Results) -> str:
    """Bytes per weight, by the growth of the process and by the model's own count."""
    rows = []
    for result in found:
        for preset in ("paper", "default"):
            held = result[preset]
            weights = held["weights"]
            mb = 2**20 / weights
            rows.append(
                [
                    result["subject"],
                    preset,
                    f"{weights / 1e6:.1f}",
                    f"{held['held_mb']:,.0f}",
                    f"{held['peak_mb']:,.0f}",
                    f"{held['memory_bytes'] / 2**20:,.0f}",
                    f"{held['held_mb'] * mb - held['memory_bytes'] / weights:.2f}",
                    f"{held['peak_mb'] * mb - held['memory_bytes'] / weights:.2f}",
                    f"{held['model_bytes'] / weights:.2f}",
                ]
            )
    header = ["data", "preset", "million weights", "held MB", "peak MB", "stored examples MB"]
    per_weight = f"bytes per weight (aim: {_aims.MEMORY_BYTES_A_WEIGHT})"
    return table([*header, per_weight, "at peak", "by `size()`"], rows)


def budget(found: Results) -> str:
    """P@k within budgets, and the memory of a batch model that continues to learn online."""
    rows, learnt_on = [], []
    for result in found:
        free = result["runs"][0]
        for run in result["runs"]:
            limit = run["max_bytes"]
            rows.append(
                [
                    result["subject"] if run is free else "",
                    "none" if limit is None else f"{limit / 1e6:,.0f}",
                    f"{run['held_bytes'] / 1e6:,.0f}",
                    f"{run['peak_mb'] * 2**20 / 1e6:,.0f}" if "peak_mb" in run else "",
                    f"{run['memory_bytes'] / 1e6:,.1f}",
                    "/".join(f"{p:.1f}" for p in run["precision"]),
                    f"{run['learning']['cpu'] / free['learning']['cpu']:.1f}",
                ]
            )
        if "learnt_on" not in result:
            continue
        on = result["learnt_on"]
        sizes = ("batch_mb", "online_mb", "held_mb", "file_mb")
        learnt_on.append([result["subject"], on["documents"], *(f"{on[s]:,.1f}" for s in sizes)])
    header = ["data", "`max_bytes` MB", "held MB", "peak MB", "stored examples MB", "P@1/3/5"]
    continued = ["data", "documents", "batch file MB", "online model MB", "process growth MB"]
    return "\n\n".join(
        [table([*header, "time ratio"], rows), table([*continued, "online file MB"], learnt_on)]
    )


def files(found: Results) -> str:
    """Memory and time of learning, saving and loading."""
    rows = []
    for result in found:
        subject, steps = result["subject"], ("learning", "saving", "loading")
        rows.append(
            [
                f"{int(subject):,} labels, one example each" if subject.isdecimal() else subject,
                f"{result['model_mb']:,.0f}",
                f"{result['learning']['held_mb']:,.0f}",
                f"{result['file_mb']:,.0f}",
                f"{result['saving']['peak_mb']:,.0f}",
                f"{result['loading']['peak_mb'] - result['loading']['held_mb']:,.0f}",
                *(f"{result[step]['processor_s']:.1f}" for step in steps),
            ]
        )
    header = ["data", "model MB", "process MB", "file MB", "extra MB to save", "extra MB to load"]
    return table([*header, "learning s", "saving s", "loading s"], rows)


def accuracy(found: Results) -> str:
    """P@k by data set, preset and order; time, memory and classifiers in file order."""
    rows = []
    for result in found:
        for row in (row for row in result["rows"] if row["shuffle"] is None):
            predicting = 1e6 * row["predicting"]["cpu"] / row["predicted_rows"]
            rows.append(
                [
                    result["subject"],
                    row["preset"],
                    *_aimed(result, row["preset"], shuffled=False),
                    *_aimed(result, row["preset"], shuffled=True),
                    f"{row['learning']['cpu']:.2f}",
                    f"{predicting:.0f}",
                    f"{row['classifiers']:,.0f} of {row['labels']:,}",
                    f"{(row['model_bytes'] + row['memory_bytes']) / 2**20:,.0f}",
                ]
            )
    header = ["data", "preset", "file order P@1/3/5", "aim", "shuffled P@1/3/5", "aim"]
    header += ["learning s", "prediction µs", "classifiers, of labels", "model MB"]
    return table(header, rows)


def _aimed(result: dict[str, Any], preset: str, *, shuffled: bool) -> list[str]:
    """Precision in one order of the stream, and its aim."""
    aim = _aims.ACCURACY.get((result["subject"], preset, shuffled), ())
    for row in result["rows"]:
        if row["preset"] == preset and (row["shuffle"] is not None) == shuffled:
            return [precision(row["precision"]), precision(aim)]
    return ["", ""]


ORDERS = {"filed": "file order"}
"""Titles of the orders in `benchmarks.progress` that have another name there."""


def progress(found: Results) -> str:
    """P@1 over the whole stream, and on the test set after it, by order of the stream."""
    orders = [ORDERS.get(row["order"], row["order"]) for row in found[0]["rows"]]
    *online, batch = orders
    header = ["data", *(f"along, {order}" for order in online)]
    header += [*(f"after, {order}" for order in online), batch]
    return table(header, [_progress_row(result) for result in found])


def _progress_row(result: dict[str, Any]) -> list[object]:
    *streams, _ = rows = result["rows"]
    along = [f"{row['overall']:.1f}" for row in streams]
    return [result["subject"], *along, *(f"{row['tested'][0]:.1f}" for row in rows)]


def growth(found: Results) -> str:
    """The cost of every kind of work at every power of ten, and whether it looks logarithmic."""
    stops = set.intersection(*({p["labels"] for p in result["points"]} for result in found))
    decades = sorted(n for n in stops if math.log10(n).is_integer())
    header = ["preset", "per example", *(f"n = {n:,.0f}" for n in decades), "power law"]
    header += ["R² of a + b log n", f"R² from {CACHED:,} labels", "logarithmic?"]
    rows = [
        [result["subject"], title, *_growth_cells(result["points"], kind, unit, decades)]
        for result in found
        for kind, (title, unit) in {**GROWTH, **GROWTH_COUNTS}.items()
        if kind in result["points"][0]
    ]
    return table(header, rows)


def _growth_cells(
    points: list[dict[str, float]], kind: str, unit: str, decades: list[float]
) -> list[str]:
    value_at = {point["labels"]: point[kind] for point in points}
    whole = Fit.of(list(value_at), list(value_at.values()))
    cells = [f"{value_at[n]:,.0f}{unit}" for n in decades]
    cells += [f"n^{whole.exponent:.2f}", f"{whole.r2:.2f}"]
    large = {n: value for n, value in value_at.items() if n >= CACHED}
    if len(large) < 4:
        return [*cells, "", "yes" if whole.looks_logarithmic else "no"]
    later = Fit.of(list(large), list(large.values()))
    verdict = f"from {CACHED:,}" if later.looks_logarithmic else "no"
    return [*cells, f"{later.r2:.2f}", "yes" if whole.looks_logarithmic else verdict]


def _median(runs: Iterable[dict[str, Any]], key: str) -> float:
    return float(median(run[key] for run in runs))


def schedule(found: Results) -> str:
    """How much faster batch learning would be with more threads."""
    rows = []
    for result in found:
        seconds, times = result["seconds"], result["times"]
        one = sum(seconds.values())
        rows.append(
            [
                result["subject"],
                f"{one:.2f}",
                *(f"{seconds[step] / one:.0%}" for step in ("vectors", "clustering", "alone")),
                f"{result['longest']['64'] / one:.0%}",
                " / ".join(f"{result['tasks'][threads]}" for threads in times),
                *(f"{times[threads]:.2f}" for threads in times),
                f"{one / seconds['alone']:.0f}",
            ]
        )
    steps = ["label vectors", "clustering", "single-threaded", "longest task", "tasks"]
    header = ["data", "processor s", *steps, *(f"{n} threads" for n in (2, 4, 16, 64)), "Amdahl"]
    return table(header, rows)


STAGES = (None, "head", 0.25, "tail")
"""Settings whose ranking `second_stage` shows: the tree's own and three mixtures."""


def second_stage(found: Results) -> str:
    """Ranking by setting, probabilities without and with a second stage, and what one costs."""
    header = ["data", "learner", "P@1, PSP@1 of the tree", "`head`", "0.25", "`tail`"]
    header += ["ECE of the tree", "`calibrate`", "by chance"]
    header += ["expected ÷ true labels, tree", "`calibrate`"]
    header += ["learning s, tree", "`head`", "prediction µs, tree", "`head`"]
    rows: list[list[object]] = []
    for result in found:
        for learner in ("online", "batch"):
            by = {row["stage"]: row for row in result["rows"] if row["learner"] == learner}
            tree, calibrated, head = (by[stage] for stage in (None, "calibrate", "head"))
            rows.append(
                [
                    result["subject"],
                    learner,
                    *(_ranked(by[stage]) for stage in STAGES),
                    *(f"{100 * one['ece']:.1f}" for one in (tree, calibrated)),
                    f"{100 * calibrated['ece_by_chance']:.1f}",
                    *(f"{one['expected']:.2f}" for one in (tree, calibrated)),
                    *(f"{one['learning_cpu']:.1f}" for one in (tree, head)),
                    *(f"{one['predicting_us']:.0f}" for one in (tree, head)),
                ]
            )
    return table(header, rows)


def _ranked(row: dict[str, Any]) -> str:
    """P@1 and PSP@1, unless the second stage leaves the tree's ranking as it is."""
    shown = row["stage"] is None or row["reranks"]
    return f"{100 * row['p@1']:.1f}, {100 * row['psp@1']:.1f}" if shown else ""


def drift(found: Results) -> str:
    """Accuracy along streams whose labels change their meaning, by settings."""
    rows: list[list[object]] = []
    for row in found[0]["rows"]:
        header, (name, *shares) = list(row), row.values()
        rows.append([name, *(f"{100 * share:.1f}" for share in shares)])
    return table(header, rows)


def late(found: Results) -> str:
    """Share of late labels found, by model and number of their examples."""
    names = {"OnlinePLTClassifier": "learnt on", "PLTClassifier": "batch, learnt anew"}
    header = ["data", "model", *map(str, found[0]["examples"]), "P@1 of the others"]
    rows = [
        [row["data"], names[row["model"]], *row["recall"], f"{row['others']:.1f}"]
        for row in found[0]["rows"]
    ]
    return table(header, rows)


def exclusive(found: Results) -> str:
    """Log-loss and calibration error of classes, by model and how probabilities are made."""
    ways = dict.fromkeys(way for row in found[0]["rows"] for way in row)
    shown = [way for way in ways if way not in ("data", "rows", "classes")]
    rows: list[list[object]] = []
    for row in found[0]["rows"]:
        each = [row.get(way) for way in shown]
        cells = ["" if one is None else f"{one['loss']:.2f}, {one['error']:.0f}" for one in each]
        rows.append([row["data"], f"{row['classes']:,}", *cells])
    return table(["data", "classes", *shown], rows)


_NAMES = {None: "none", "met": "labels seen", "all": "all labels"}


def names(found: Results) -> str:
    """P@k, PSP@k and the recall of labels without examples, by data set, learner and names."""
    header = ["data", "learner", "names learnt", "P@1/5", "PSP@1/5", "R@5 of unseen labels"]
    header += ["learning s", "model MB"]
    rows = [_names_row(result["subject"], row) for result in found for row in result["rows"]]
    return table(header, rows)


def _names_row(subject: str, row: dict[str, Any]) -> list[object]:
    recall = row["unseen_recall@5"]
    return [
        subject,
        row["learner"],
        _NAMES[row["names"]],
        f"{100 * row['p@1']:.1f}/{100 * row['p@5']:.1f}",
        f"{100 * row['psp@1']:.1f}/{100 * row['psp@5']:.1f}",
        "" if recall is None else f"{100 * recall:.1f}",
        f"{row['learning_cpu']:.1f}",
        f"{row['bytes'] / 2**20:.1f}",
    ]


def percent(value: float) -> str:
    """Round half up to one decimal (98.85 in binary is slightly less)."""
    return f"{value + 1e-6:.1f}"


def precision(values: Sequence[float]) -> str:
    """P@1, P@3 and P@5 in one cell."""
    return "/".join(map(percent, values))


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; columns of numbers are aligned to the right."""
    cells = [[str(cell) for cell in row] for row in rows]
    numeric = [
        all(not row[i] or row[i][0].isdigit() or row[i][0] == "−" for row in cells)
        for i in range(len(header))
    ]
    rule = ["--:" if right else "---" for right in numeric]
    lines = [header, rule, *cells]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def pivot(title: str, columns: Sequence[str], figures: Sequence[Mapping[str, str]]) -> str:
    """A table of one figure: a column for each mapping, and a row for each of their keys."""
    names = dict.fromkeys(name for one in figures for name in one)
    rows = ([name, *(one.get(name, "") for one in figures)] for name in names)
    return table([title, *columns], rows)
