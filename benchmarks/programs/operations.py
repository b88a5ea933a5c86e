"""How long every operation of the installed LabelGrove takes, for `benchmarks.since`."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from operator import methodcaller
from pathlib import Path
from typing import Any

import numpy as np

import labelgrove as lg
from benchmarks._data import CHUNK, DATA, indicator, label_count, load, text_of

SEED = 0
ROWS = 4000
"""Examples that models learn, at most."""

SINGLE = 200
"""Calls with one example or row each."""


class Stopwatch:
    """Processor seconds of operations: the median of several runs."""

    def __init__(self, wanted: str) -> None:
        self._wanted = wanted
        self.seconds: dict[str, float] = {}

    def time(self, name: str, operation: Callable[[], Any], runs: int = 5) -> Any:
        """Run an operation and return what it returned last; None if it fails or is missing.

        Operations that prepare others run even if only the others are wanted.
        """
        if self._wanted not in name:
            runs = 1
        times = []
        found = None
        for _ in range(runs):
            begun = _processor_time()
            try:
                found = operation()
            except Exception as missing:  # noqa: BLE001  another version may lack it
                print(f"{name}: {missing!r}", file=sys.stderr)
                return None
            times.append(_processor_time() - begun)
        if self._wanted in name:
            self.seconds[name] = float(np.median(times))
        return found


def _processor_time() -> float:
    """Seconds of this process and of the processes that it waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


_ONLINE = partial(lg.OnlinePLTClassifier, random_state=SEED)
_BATCH = partial(lg.PLTClassifier, random_state=SEED)

MULTILABEL: dict[str, Callable[[], Any]] = {
    "online": _ONLINE,
    "online, paper": partial(_ONLINE, preset="paper"),
    "online, 3 trees": partial(_ONLINE, n_trees=3),
    "online, max_bytes": partial(_ONLINE, max_bytes=2**24),
    "batch": _BATCH,
    "batch, 3 trees": partial(_BATCH, n_trees=3),
    "one-vs-rest": partial(_BATCH, tree="flat"),
    "LdSM": partial(lg.LdSMClassifier, n_estimators=5, random_state=SEED),
    "FastXML": partial(lg.FastXMLClassifier, n_estimators=5, random_state=SEED),
}

MULTICLASS: dict[str, Callable[[], Any]] = {
    "online": _ONLINE,
    "batch": _BATCH,
    "LOMtree": partial(lg.LOMTreeClassifier, random_state=SEED),
    "memory tree": partial(lg.MemoryTreeClassifier, random_state=SEED),
    "embedding": partial(lg.EmbeddingClassifier, random_state=SEED),
}


def _model(watch: Stopwatch, name: str, make: Callable[[], Any], data: tuple[Any, ...]) -> None:
    """Learn, predict, explain, save, load; learn again in chunks, and one by one."""
    X, y, tested = data
    rows = [tested[i : i + 1] for i in range(SINGLE)]
    fitted = watch.time(f"{name}: fit", lambda: make().fit(X, y), 3)
    watch.time(f"{name}: predict_topk", lambda: fitted.predict_topk(tested, 5))
    watch.time(f"{name}: predict", lambda: fitted.predict(tested))
    watch.time(
        f"{name}: predict_topk, single rows", lambda: [fitted.predict_topk(x, 5) for x in rows]
    )
    watch.time(
        f"{name}: predict_proba over 0.1", lambda: fitted.predict_proba(tested, threshold=0.1)
    )
    watch.time(f"{name}: predict_proba", lambda: fitted.predict_proba(tested[:SINGLE]))
    watch.time(f"{name}: explain", lambda: [fitted.explain(x) for x in rows[:20]])
    for operation in ("size", "compact"):
        watch.time(f"{name}: {operation}", partial(methodcaller(operation), fitted))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.lg")
        watch.time(f"{name}: save", lambda: fitted.save(path))
        watch.time(f"{name}: load", lambda: lg.load(path))
    if not hasattr(fitted, "partial_fit"):
        return

    def online() -> Any:
        model = make()
        for begin in range(0, X.shape[0], CHUNK):
            model.partial_fit(X[begin : begin + CHUNK], y[begin : begin + CHUNK])
        return model

    grown = watch.time(f"{name}: partial_fit", online, 3)
    parts = [(X[i : i + 1], y[i : i + 1]) for i in range(SINGLE)]
    watch.time(
        f"{name}: partial_fit, single rows",
        lambda: [grown.partial_fit(one, label) for one, label in parts],
    )


def _models(watch: Stopwatch) -> None:
    for dataset in ("bibtex", "stackexchange-tfidf"):
        train, test = load(dataset, "train", shuffle=SEED), load(dataset, "test")
        data = (train.X[:ROWS], train.labels[:ROWS], test.X[:ROWS])
        for name, make in MULTILABEL.items():
            _model(watch, f"{name}, {dataset}", make, data)
    train, test = load("clinc150-tfidf", "train", shuffle=SEED), load("clinc150-tfidf", "test")
    classes = np.array([label for (label,) in train.labels[:ROWS]])
    single = (train.X[:ROWS], classes, test.X[:ROWS])
    for name, make in MULTICLASS.items():
        _model(watch, f"{name}, clinc150-tfidf", make, single)


def _inputs(watch: Stopwatch) -> None:
    """Names of labels, indicators, dense rows, columns, dicts."""
    train = load("stackexchange-tfidf", "train", shuffle=SEED)
    X, labels = train.X[:ROWS], train.labels[:ROWS]
    names = [tuple(f"label {label}" for label in row) for row in labels]
    dicts = [
        {f"w{j}": float(v) for j, v in zip(X[[i]].indices, X[[i]].data, strict=True)}
        for i in range(X.shape[0] // 4)
    ]
    width = label_count("stackexchange-tfidf")
    dense = X[:400, :500].toarray()
    named = watch.time("inputs: names of labels", lambda: _ONLINE().partial_fit(X, names), 3)
    watch.time("inputs: predict names", lambda: named.predict(X))
    watch.time("inputs: indicator", lambda: _ONLINE().partial_fit(X, indicator(labels, width)), 3)
    watch.time("inputs: dense", lambda: _ONLINE().partial_fit(dense, labels[:400]), 3)
    watch.time("inputs: CSC", lambda: _ONLINE().partial_fit(X.tocsc(), labels), 3)
    of_dicts = watch.time(
        "inputs: dicts", lambda: _ONLINE().partial_fit(dicts, labels[: len(dicts)]), 3
    )
    watch.time("inputs: predict_topk of dicts", lambda: of_dicts.predict_topk(dicts, 5))
    watch.time(
        "inputs: predict_topk of dicts, single",
        lambda: [of_dicts.predict_topk([row], 5) for row in dicts[:SINGLE]],
    )
    watch.time(
        "inputs: LOMtree, dicts",
        lambda: lg.LOMTreeClassifier(random_state=SEED).partial_fit(
            dicts, [row[0] for row in labels[: len(dicts)]]
        ),
        3,
    )


def _texts(watch: Stopwatch) -> None:
    path = DATA / "cooking-text"
    read = watch.time(
        "texts: read_examples", lambda: lg.data.read_examples(path / "train.jsonl.xz"), 3
    )
    texts, labels = list(read.text), list(read.labels)
    for name, features in {"counts": lg.text.TextFeatures, "hashed": lg.text.HashedText}.items():
        watch.time(f"texts: {name}", partial(methodcaller("fit_transform", texts), features()), 3)
    fitted = watch.time("texts: fit", lambda: lg.TextClassifier().fit(texts, labels), 3)
    watch.time("texts: predict_topk", lambda: fitted.predict_topk(texts, 5), 3)
    watch.time(
        "texts: predict_topk, single",
        lambda: [fitted.predict_topk([text], 5) for text in texts[:SINGLE]],
    )
    watch.time(
        "texts: partial_fit, single",
        lambda: [
            fitted.partial_fit([text], [row])
            for text, row in zip(texts[:SINGLE], labels[:SINGLE], strict=True)
        ],
    )
    watch.time("texts: explain", lambda: [fitted.explain([text]) for text in texts[:20]])
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder, "model.lg")
        watch.time("texts: save", lambda: fitted.save(model))
        watch.time("texts: load", lambda: lg.load(model))


def _judging(watch: Stopwatch) -> None:
    """Metrics, thresholds, evaluation."""
    train, test = (
        load("stackexchange-tfidf", "train", shuffle=SEED),
        load("stackexchange-tfidf", "test"),
    )
    model = _ONLINE().partial_fit(train.X[:ROWS], train.labels[:ROWS])
    width = label_count("stackexchange-tfidf")
    truth = indicator(test.labels, width)
    found, _ = model.predict_topk(test.X, 10)
    weights = lg.metrics.inverse_propensity(indicator(train.labels, width))
    sets = indicator(found[:, :3].tolist(), width)
    for measure in ("precision_at_k", "ndcg_at_k", "psp_at_k", "ranking_metrics"):
        given = (truth, found, weights) if measure == "psp_at_k" else (truth, found)
        watch.time(f"metrics: {measure}", partial(getattr(lg.metrics, measure), *given))
    watch.time("metrics: set_metrics", lambda: lg.metrics.set_metrics(truth, sets))
    watch.time("metrics: label_table", lambda: lg.metrics.label_table(truth, sets))
    watch.time("evaluate", lambda: lg.evaluate(model, test.X, test.labels), 3)
    for method in ("auto", "fta", "sto", "ofo"):
        tuning = partial(model.tune_thresholds, test.X[:1000], test.labels[:1000], method)
        watch.time(f"thresholds: {method}", tuning, 3)
    rows = slice(ROWS, ROWS + 500)
    watch.time(
        "progressive_validation",
        lambda: lg.progressive_validation(_ONLINE(), (train.X[rows], train.labels[rows])),
        3,
    )


def _commands(watch: Stopwatch) -> None:
    """Whole processes."""
    train, test = (str(text_of("bibtex", part)) for part in ("train", "test"))
    with tempfile.TemporaryDirectory() as folder:
        made = count()

        def run(name: str, *arguments: str, output: str = "") -> str:
            """Every run writes a file of its own: nothing is resumed or replaced."""
            paths = [""]

            def call() -> None:
                if output:
                    paths.append(f"{next(made)}.{output}")
                written = ["-o", paths[-1]] if output else []
                program = str(Path(sys.executable).with_name("labelgrove"))
                command = [program, *arguments, *written]
                subprocess.run(command, cwd=folder, check=True, capture_output=True)

            watch.time(f"command: {name}", call, 3)
            return paths[-1]

        run("--version", "--version")
        run("train", "train", train, "--algorithm", "plt", output="lg")
        model = run("train, online", "train", train, output="lg")
        run("learn", "learn", model, test, output="lg")
        run("predict", "predict", model, test, output="jsonl")
        run("eval", "eval", model, test)
        run("tune", "tune", model, test, output="lg")
        run("info", "info", model)
        run("convert", "convert", train, output="set")


GROUPS = {
    "models": _models,
    "inputs": _inputs,
    "texts": _texts,
    "judging": _judging,
    "commands": _commands,
}


def main() -> None:
    """Time the operations whose names contain a string; print their seconds as JSON."""
    asked = json.loads(sys.argv[1])
    watch = Stopwatch(asked["wanted"])
    for name in asked["groups"]:
        GROUPS[name](watch)
    print(json.dumps(watch.seconds))


if __name__ == "__main__":
    main()
