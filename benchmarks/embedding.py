"""Learnt vectors under a label tree: compared with fastText, and the effect of λ′."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks._data import Stream, is_there, load, precisions
from benchmarks._environments import FASTTEXT, run
from benchmarks._measure import Clock, fresh
from benchmarks._results import command_line, earlier, kept, write
from benchmarks.knob import build, search
from benchmarks.programs import texts as programs
from labelgrove import EmbeddingClassifier, PLTClassifier

DATASETS = (
    "clinc150-tfidf",
    "cooking-tfidf",
    "onet-tasks",
    "stackexchange-tfidf",
    "synth4k-hard",
    "eurlex57k-tfidf",
)
ALIKE = {"dim": 100, "epoch": 25, "lr": 0.5, "loss": "hs"}
"""fastText's settings where both programs have the same."""

FASTTEXTS: dict[str, dict[str, Any]] = {
    "fastText hs": ALIKE,
    "fastText hs, two threads": {**ALIKE, "thread": 2},
    "fastText hs, tuned": ALIKE,
    "fastText ova, tuned": {**ALIKE, "loss": "ova", "lr": 0.2, "epoch": 10},
}
"""fastText's settings, or the starting point of their tuning."""

PLAIN: dict[str, Any] = {
    "dimension": 100,
    "max_iter": 25,
    "learner": "sgd",
    "learning_rate": 0.5,
    "tree": "huffman",
    "arity": 2,
    "loss": "softmax",
}
OURS: dict[str, dict[str, Any]] = {
    "as fastText hs": PLAIN,
    "as fastText hs, two threads": {**PLAIN, "n_jobs": 2},
    "default": {},
    "tuned": {},
    "one-versus-rest": {"tree": "flat"},
    "linear, batch": {},
}
TRIED: dict[str, dict[str, tuple[Any, ...]]] = {
    "fastText hs, tuned": {"lr": (0.2, 1.0), "epoch": (10, 50), "dim": (50, 200)},
    "fastText ova, tuned": {"lr": (0.1, 0.5), "epoch": (5, 25), "dim": (50,)},
    "tuned": {"learning_rate": (0.1, 0.4), "max_iter": (5, 25), "dimension": (50, 200)},
}
"""Alternatives for each setting, tried in turn on a held-out tenth of the training rows."""

LAMBDAS = (0.0, 0.25, 0.5, 0.75, 1.0, 2.0, 4.0, 16.0, 64.0, 256.0, 1e5)
"""λ′ of the paper's section 5.2."""

_MOST_FOR_FLAT = 2 * 10**7
"""Largest number of rows times labels for one-versus-rest, which computes all in each pass."""

_HELD_OUT = 10


def read(dataset: str, *, values: bool = True, trial: bool = False) -> tuple[Stream, Stream]:
    """Training and test rows; in a ``trial``, every tenth training row is held out for testing.

    Without ``values``, every value is 1.
    """
    train, test = load(dataset, "train"), load(dataset, "test")
    if trial:
        held = np.arange(len(train.labels)) % _HELD_OUT == 0
        train, test = (
            Stream(train.X[rows], [train.labels[i] for i in rows])
            for rows in (np.flatnonzero(~held), np.flatnonzero(held))
        )
    for part in (train, test):
        if not values:
            part.X.data[:] = 1.0
    return train, test


def learn_and_predict(
    dataset: str, name: str, options: dict[str, Any], trial: bool
) -> dict[str, Any]:
    """Run one of our models in this process; like fastText, some do not see the values."""
    train, test = read(dataset, values=not name.startswith("as fastText"), trial=trial)
    estimator: Any = PLTClassifier if name == "linear, batch" else EmbeddingClassifier
    model = estimator(**options)
    with Clock() as learning:
        model.fit(train.X, train.labels)
    with Clock() as predicting:
        best, _ = model.predict_topk(test.X, programs.K)
    return _figures(best, test, learning.cpu, predicting.cpu)


def _figures(best: Any, test: Stream, learning: float, predicting: float) -> dict[str, Any]:
    return {
        "precision": precisions(np.asarray(best), test.labels),
        "learning_cpu": learning,
        "predicting_us": 1e6 * predicting / len(test.labels),
    }


def ask_fasttext(dataset: str, options: dict[str, Any], trial: bool) -> dict[str, Any] | None:
    """Let fastText learn and predict; None if it aborts with its NaN error."""
    train, test = read(dataset, trial=trial)
    with tempfile.TemporaryDirectory() as folder:
        paths: dict[str, Any] = {}
        for name, part in (("train", train), ("test", test)):
            ends, ids = part.X.indptr.tolist(), part.X.indices.tolist()
            texts = [" ".join(map(str, ids[begin:end])) for begin, end in pairwise(ends)]
            paths[name] = str(Path(folder, name))
            programs.write(Path(paths[name]), texts, part.labels)
        found = run(FASTTEXT, "fasttext_rows", **paths, options=options)
    if found["predicted"] is None:
        return None
    best = [([*row, *[-1] * programs.K])[: programs.K] for row in found["predicted"]]
    return _figures(best, test, found["learning_cpu"], found["predicting_cpu"])


def run_once(
    dataset: str, name: str, options: dict[str, Any], *, trial: bool = False
) -> dict[str, Any] | None:
    """Let one of the models learn and predict."""
    if name in FASTTEXTS:
        return ask_fasttext(dataset, options, trial)
    arguments = {"dataset": dataset, "name": name, "options": options, "trial": trial}
    found: dict[str, Any] = fresh("benchmarks.embedding:learn_and_predict", **arguments)
    return found


def chosen_options(dataset: str, name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Tune one setting after another by P@1 on held-out rows; ties keep the first."""

    def tried(choice: dict[str, Any]) -> float:
        found = run_once(dataset, name, choice, trial=True)
        return found["precision"][0] if found else -1.0

    best = tried(options) if name in TRIED else 0.0
    for setting, values in TRIED.get(name, {}).items():
        for choice in [{**options, setting: value} for value in values]:
            if (figure := tried(choice)) > best:
                best, options = figure, choice
    return options


def beside(
    dataset: str,
    times: int,
    only: Sequence[str],
    before: dict[str, Any],
    *,
    peers: bool,
    tune: bool,
) -> list[dict[str, Any]]:
    """Run the models in turns; times are medians.

    If ``only`` names models, the results of the others are taken from ``before``.
    """
    train = load(dataset, "train")
    n_labels = 1 + max(label for row in train.labels for label in row)
    wanted = {**(FASTTEXTS if peers else {}), **OURS}
    wanted = {name: one for name, one in wanted.items() if tune or name not in TRIED}
    if len(train.labels) * n_labels > _MOST_FOR_FLAT:
        for name in ("one-versus-rest", "fastText ova, tuned"):
            wanted.pop(name, None)
    if only:
        wanted = {name: one for name, one in wanted.items() if name in only}
    options = {name: chosen_options(dataset, name, one) for name, one in wanted.items()}
    turns: dict[str, list[dict[str, Any]]] = {name: [] for name in wanted}
    for _ in range(times):
        for name in wanted:
            if (found := run_once(dataset, name, options[name])) is not None:
                turns[name].append(found)
    rows = {row["model"]: kept(before, row) for row in before.get("rows", [])}
    for name, measured in turns.items():
        row: dict[str, Any] = {"model": name, "options": options[name]}
        if measured:
            row["precision"] = measured[0]["precision"]
            for figure in ("learning_cpu", "predicting_us"):
                row[figure] = round(median(one[figure] for one in measured), 3)
        rows[name] = row
        print(f"{dataset}: {row}", flush=True)
    return list(rows.values())


def knob(dataset: str, lambda_prime: float | None) -> dict[str, Any]:
    """The paper's experiment: fastText's model on an interpolated tree (None: Huffman's)."""
    train, test = read(dataset, values=False)
    tree: Any = "huffman"
    if lambda_prime is not None:
        tree = build(train, "interpolated", lambda_prime=lambda_prime, max_leaf_size=1)
    model = EmbeddingClassifier(**{**PLAIN, "tree": tree})
    with Clock() as learning:
        model.fit(train.X, train.labels)
    best, _ = model.predict_topk(test.X, programs.K)
    return {
        "lambda_prime": lambda_prime,
        "precision": precisions(best, test.labels),
        "learning_cpu": round(learning.cpu, 3),
        **search(model, test, 1),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``embedding-<dataset>.json``."""
    parser = command_line(__doc__ or "", DATASETS)
    parser.add_argument("--peers", action="store_true", help="measure fastText too (installs it)")
    parser.add_argument("--untuned", action="store_true", help="skip the tuned models")
    parser.add_argument("--repetitions", type=int, default=3, help="turns")
    parser.add_argument("--lambdas", type=float, nargs="*", default=list(LAMBDAS))
    models, says = [*FASTTEXTS, *OURS], "models to measure anew, no trees"
    parser.add_argument("--only", nargs="*", default=[], choices=models, help=says)
    chosen = parser.parse_args(arguments)
    for dataset in filter(is_there, chosen.subjects):
        before = earlier(chosen.output, "embedding", dataset) if chosen.only else {}
        trees = [kept(before, tree) for tree in before.get("trees", [])]
        for lambda_prime in [*chosen.lambdas, None] if chosen.lambdas and not chosen.only else []:
            call = {"dataset": dataset, "lambda_prime": lambda_prime}
            trees.append(fresh("benchmarks.embedding:knob", **call))
            print(f"{dataset}: {trees[-1]}", flush=True)
        rows = beside(
            dataset,
            chosen.repetitions,
            chosen.only,
            before,
            peers=chosen.peers,
            tune=not chosen.untuned,
        )
        write(chosen.output, "embedding", dataset, {"rows": rows, "trees": trees})


if __name__ == "__main__":
    main()
