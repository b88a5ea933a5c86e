"""How many labels to predict: F-measures with tuned thresholds, and the cost of tuning.

A random fifth of the training rows is held out. Models learn from the rest, thresholds are tuned on
the held-out rows, and figures are measured on the test set.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from benchmarks._data import indicator, is_there, label_count, load
from benchmarks._measure import Clock, Growth, fresh, peak_mb
from benchmarks._results import command_line, earlier, kept, write
from labelgrove import FastXMLClassifier, LdSMClassifier, OnlinePLTClassifier, PLTClassifier
from labelgrove.metrics import f_measure
from labelgrove.models.thresholds._estimates import Estimates
from labelgrove.models.thresholds._tuner import HeldOutTuning
from labelgrove.tuning import tune_auto, tune_fta, tune_ofo, tune_sto

DATASETS = (
    "bibtex",
    "delicious",
    "rcv1sub1-train",
    "eurlex57k-tfidf",
    "stackexchange-tfidf",
    "gutenberg-tfidf",
    "kirjastonhoitaja-yso",
    "cpv-italian",
    "cooking-tfidf",
)

MODELS: dict[str, Callable[[], Any]] = {
    "PLT": PLTClassifier,
    "OPLT": OnlinePLTClassifier,
    "FastXML": FastXMLClassifier,
    "LdSM, 10 trees": lambda: LdSMClassifier(n_estimators=10),
    "one-vs-rest LR": lambda: PLTClassifier(tree="flat", loss="log", C=1.0, normalize=False),
}

WAYS: dict[str, tuple[str, str]] = {
    "auto": ("auto", "macro"),
    "auto, instance": ("auto", "instance"),
    "fta": ("fta", "macro"),
    "sto": ("sto", "macro"),
    "ofo": ("ofo", "macro"),
}
"""Methods of tuning, each with the F-measure that it maximises."""

PLACES = (1, 2, 3, 4, 5, 7, 10, 15, 20)
CHECKPOINTS = 5
EVERY = (0, 1, 4)
"""Values of ``ofo_every``: one example in so many tunes thresholds; 0 for no thresholds."""

SIZES = {"eurlex57k-sized": (6_000, 4_271), "large": (500_000, 300_000)}
"""Rows and labels of the synthetic problems for timing the tuning alone."""

SCORED = 20
"""Labels with a score in every row of these problems."""

Labelled = tuple[sp.csr_array, sp.csr_array]


def parts(dataset: str) -> tuple[Labelled, Labelled, Labelled]:
    """Training, held-out and test rows, each with a 0/1 indicator."""
    train, test = load(dataset, "train"), load(dataset, "test")
    width = label_count(dataset)
    held_out = np.zeros(len(train.labels), bool)
    held_out[np.random.default_rng(0).permutation(len(held_out))[: len(held_out) // 5]] = True
    Y = indicator(train.labels, width)
    tested = (test.X, indicator(test.labels, width))
    return (train.X[~held_out], Y[~held_out]), (train.X[held_out], Y[held_out]), tested


def measure(dataset: str, model: str) -> list[dict[str, Any]]:
    """Fit a model and cut its rankings with every method; one row of results per method."""
    warnings.filterwarnings("ignore", message="Label not")  # labels that only test rows have
    (X, Y), held_out, test = parts(dataset)
    fitted = MODELS[model]().fit(X, Y)
    m = Y.shape[1]
    ranked, _ = ranking(fitted, held_out[0], PLACES[-1])
    by_k = {k: macro(held_out[1], ranked[:, :k]) for k in PLACES}
    k = max(by_k, key=lambda k: by_k[k])
    rows = [row(f"best {k}", held_out, test, partial(best, fitted, k=k))]
    rows.append(row("0.5", held_out, test, partial(reached, fitted, taus=np.full(m, 0.5))))
    counts = np.asarray(Y.sum(axis=0), np.int64)
    for way, (method, average) in WAYS.items():
        tuning = HeldOutTuning(method, counts, Y.shape[0], average=average)
        with Clock() as clock:
            tuning.show(fitted, np.arange(m), *held_out)
            tuned = tuning.finish()
        predict = partial(reached, fitted, taus=tuned.values, least_labels=tuned.least_labels)
        found = row(way, held_out, test, predict)
        found |= {"tuning": clock.to_dict(), "tuned_over": held_out[1].shape[0]}
        found |= {"median": float(np.median(tuned.values)), "least_labels": tuned.least_labels}
        rows.append(found)
    return [{"model": model, **found} for found in rows]


def row(
    way: str,
    held_out: Labelled,
    test: Labelled,
    predict: Callable[[sp.csr_array], tuple[sp.csr_array, float]],
) -> dict[str, Any]:
    """The figures of one method of predicting label sets."""
    valid, _ = predict(held_out[0])
    with Clock() as clock:
        predicted, inner_products = predict(test[0])
    n = predicted.shape[0]
    return {
        "way": way,
        "validation": macro(held_out[1], valid),
        "macro": macro(test[1], predicted),
        "macro_one": macro(test[1], predicted, 1.0),
        "micro": 100 * float(f_measure(test[1], predicted, average="micro")),
        "instance": 100 * float(f_measure(test[1], predicted, average="instance")),
        "labels": predicted.nnz / n,
        "cpu_ms": 1e3 * clock.cpu / n,
        "inner_products": inner_products / n,
    }


def macro(Y: sp.csr_array, predicted: Any, zero_division: float = 0.0) -> float:
    """Macro-averaged F-measure in per cent."""
    return 100 * float(f_measure(Y, predicted, zero_division=zero_division))


def reached(
    fitted: Any, X: sp.csr_array, taus: Any, least_labels: int = 0
) -> tuple[sp.csr_array, float]:
    """The labels that reach their thresholds, and the total number of inner products."""
    found, stats = Estimates(fitted, len(taus)).at_least(X, taus, least_labels)
    assert stats is not None
    found.data = np.ones(found.nnz, np.int8)
    return found, float(stats.classifiers.sum())


def best(fitted: Any, X: sp.csr_array, k: int) -> tuple[sp.csr_array, float]:
    """The k best labels, and the total number of inner products."""
    ranked, cost = ranking(fitted, X, k)
    row, place = np.nonzero(ranked >= 0)
    column, m = ranked[row, place], len(fitted.classes_)
    return sp.csr_array((np.ones(len(row), np.int8), (row, column)), shape=(len(ranked), m)), cost


def ranking(fitted: Any, X: sp.csr_array, k: int) -> tuple[npt.NDArray[np.int64], float]:
    """Columns of the k best labels, best first, -1 for missing ones; and their cost."""
    found, _, stats = fitted.predict_topk(X, k, return_stats=True)
    return found, float(stats.classifiers.sum())


def follow(dataset: str) -> dict[str, Any]:
    """Tune online along a stream, and afresh on held-out rows at every checkpoint."""
    (X, Y), held_out, test = parts(dataset)
    model = OnlinePLTClassifier(thresholds="ofo", ofo_every=1)
    curve, step = [], -(-X.shape[0] // CHECKPOINTS)
    for begin in range(0, X.shape[0], step):
        model.partial_fit(X[begin : begin + step], Y[begin : begin + step])
        point: dict[str, float] = {"examples": model.examples_seen_}
        point["online"] = macro(test[1], model.predict(test[0]))
        offline = HeldOutTuning("ofo", model.label_counts_, model.examples_seen_)
        offline.show(model, np.arange(Y.shape[1]), *held_out)
        point["offline"] = macro(test[1], model.set_thresholds(offline.finish()).predict(test[0]))
        point["half"] = macro(test[1], reached(model, test[0], np.full(Y.shape[1], 0.5))[0])
        model.set_thresholds(None)
        curve.append(point)
    return {"curve": curve}


def while_learning(dataset: str, every: int) -> dict[str, float]:
    """Tune by one example in ``every`` (0: not at all): time of learning, and F."""
    (X, Y), _, test = parts(dataset)
    model = (
        OnlinePLTClassifier(thresholds="ofo", ofo_every=every)
        if every
        else OnlinePLTClassifier(second_stage=None)
    )
    with Clock() as clock:
        model.fit(X, Y)
    found = {"every": every, **clock.to_dict()}
    if every:
        predicted = model.predict(test[0])
        found["macro"] = macro(test[1], predicted)
        found["micro"] = 100 * float(f_measure(test[1], predicted, average="micro"))
        found["labels"] = predicted.nnz / predicted.shape[0]
    return found


def speed(size: str) -> list[dict[str, Any]]:
    """Time the tuners alone, on given scores."""
    n, m = SIZES[size]
    rng = np.random.default_rng(0)
    shares = 1 / np.arange(1, m + 1) ** 0.9
    label = rng.choice(m, size=(n, SCORED), p=shares / shares.sum()).astype(np.int32)
    label.sort(axis=1)
    own = np.ones(label.shape, bool)
    own[:, 1:] = label[:, 1:] != label[:, :-1]
    score = (rng.random(label.shape, dtype=np.float32) ** 3 + np.float32(1e-4)).clip(0, 1)[own]
    ends = np.concatenate(([0], np.cumsum(own.sum(axis=1))))
    scores = sp.csr_array((score, label[own], ends), shape=(n, m))
    true = rng.random(len(score)) < score
    Y = scores.copy()
    Y.data = true.astype(np.int8)
    Y.eliminate_zeros()
    del label, own, true
    found = []
    tuners: dict[str, Callable[[], object]] = {
        "ofo, a and b given": partial(tune_ofo, Y, scores, a=5, b=50),
        "ofo": partial(tune_ofo, Y, scores),
        "auto": partial(tune_auto, Y, scores),
        "fta": partial(tune_fta, Y, scores),
        "sto": partial(tune_sto, Y, scores),
    }
    for method, tune in tuners.items():
        with Growth() as memory, Clock() as clock:
            tune()
        grown = round(memory.peak, 1)
        found.append({"method": method, **clock.to_dict(), "peak_mb": peak_mb(), "grown_mb": grown})
    return found


def compared(
    dataset: str, models: list[str], before: dict[str, Any], *, along: bool
) -> dict[str, Any]:
    """Measure some models; keep the known results of the others and of the stream."""
    task = "benchmarks.thresholds:{}".format
    found: dict[str, Any] = {
        **before,
        "rows": [kept(before, old) for old in before.get("rows", [])],
    }
    found["labels"] = parts(dataset)[0][1].shape[1]
    for model in models:
        new = fresh(task("measure"), dataset=dataset, model=model)
        print(f"{dataset}: {model}: {[round(one['macro'], 1) for one in new]}", flush=True)
        found["rows"] = [old for old in found["rows"] if old["model"] != model] + new
    found["rows"].sort(key=lambda one: list(MODELS).index(one["model"]))
    if "OPLT" in models and along:
        found |= fresh(task("follow"), dataset=dataset)
    if along:
        found["while_learning"] = [
            fresh(task("while_learning"), dataset=dataset, every=every) for every in EVERY
        ]
    return {name: found[name] for name in found if name not in ("subject", "about")}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write ``thresholds-<dataset>.json`` and ``thresholds-speed.json``."""
    parser = command_line(__doc__ or "", (*DATASETS, "speed"))
    parser.add_argument("--models", nargs="*", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--no-stream", action="store_true", help="tune on held-out rows only")
    chosen = parser.parse_args(arguments)
    for dataset in filter(is_there, (one for one in chosen.subjects if one != "speed")):
        before = earlier(chosen.output, "thresholds", dataset)
        found = compared(dataset, chosen.models, before, along=not chosen.no_stream)
        write(chosen.output, "thresholds", dataset, found)
    if "speed" in chosen.subjects:
        sizes = {size: fresh("benchmarks.thresholds:speed", size=size) for size in SIZES}
        write(chosen.output, "thresholds", "speed", {"sizes": sizes})


if __name__ == "__main__":
    main()
