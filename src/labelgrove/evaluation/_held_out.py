"""A model against examples that it has not learnt from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from inspect import signature
from time import perf_counter
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from labelgrove._errors import DataError, ParameterError
from labelgrove.evaluation._targets import MULTICLASS, Predictor, Row, read_targets
from labelgrove.metrics import expected_depth, inverse_propensity, ranking_metrics
from labelgrove.metrics._inputs import MISSING, IntArray, check_k
from labelgrove.metrics._score import FloatArray, Interval

_REPORTED = ("p", "r", "ndcg", "psp", "psndcg")


def evaluate(
    clf: Predictor,
    X: Any,
    Y: Any,
    *,
    ks: Iterable[int] = (1, 3, 5),
    Y_train: Any = None,
    label_counts: Mapping[Any, int] | None = None,
    n_train: int | None = None,
    A: float = 0.55,
    B: float = 1.5,
    zero_division: float = 0.0,
    interval: Interval = None,
) -> dict[str, float]:
    """Measure a model's rankings on held-out examples, and what they cost.

    Labels of `Y` that the model has never seen count as relevant: it cannot predict them, and
    the figures show it. Their number stands in the result.

    Parameters
    ----------
    clf : estimator with ``predict_topk``
        A model that has learnt.
    X : rows as the model takes them
    Y : sparse 0/1 matrix, sequence of label collections, or 1-D sequence of labels
        True labels; the columns of a matrix are labels 0, 1, 2, ...
    ks : iterable of int, default=(1, 3, 5)
        Numbers of places.
    Y_train : like `Y`, optional
        Labels of the training set, for the propensities; or instead of it:
    label_counts : mapping of label to int, optional
        How many training examples have each label; the others have none.
    n_train : int, optional
        Number of training examples, with `label_counts`.
    A, B : float, default=0.55 and 1.5
        Parameters of the propensity model: see `labelgrove.metrics.inverse_propensity`.
    zero_division : {0, 1, nan}, default=0
        Value of a row without labels in recall and nDCG.
    interval : float or Bootstrap, optional
        Level of bootstrap intervals, kept in the values' ``interval``.

    Returns
    -------
    dict of str to float
        - "p@k", "r@k", "ndcg@k" for every k, fractions in [0, 1], and "psp@k" and "psndcg@k"
          where the training labels are known; "accuracy" when every row has one label;
        - "examples", and "unknown_labels", the number of distinct labels unknown to the model;
        - "seconds" that prediction took and "examples_per_second";
        - "classifiers_per_example" and "expected_depth", how deep the search for the largest k
          goes, where the model reports them.

    Raises
    ------
    DataError
        When `X` and `Y` do not fit each other or cannot be read; the message names the row.
    ParameterError
        When another parameter lies outside its domain.

    Examples
    --------
    >>> import numpy as np
    >>> class Constant:
    ...     classes_ = np.array(["oak", "elm"])
    ...     def predict_topk(self, X, k=5):
    ...         return np.full((len(X), k), "oak"), np.ones((len(X), k))
    >>> found = evaluate(Constant(), [[0.0], [1.0]], ["oak", "yew"], ks=[1])
    >>> found["p@1"], found["unknown_labels"]
    (0.5, 1)
    """
    ks = sorted({check_k(k) for k in ks})
    if not ks:
        raise ParameterError("ks is empty: expected at least one number of places")
    task, rows = read_targets(Y)
    n = len(rows)
    if _n_rows(X) != n:
        raise DataError(f"Y has {n} rows: expected {_n_rows(X)}, as X has")
    if n == 0:
        raise DataError("X has no rows: there is nothing to measure")
    ids: dict[Hashable, int] = {
        label: i for i, label in enumerate(np.asarray(getattr(clf, "classes_", ())).tolist())
    }
    n_known = len(ids)
    for row in rows:
        for label in row:
            ids.setdefault(label, len(ids))
    n_unknown = len(ids) - n_known
    labels, scores, stats, seconds = _predict(clf, X, ks[-1])
    ranking = _ranking(labels, scores, ids, (n, ks[-1]))
    metrics = ranking_metrics(
        _indicator(rows, ids),
        ranking,
        ks,
        inverse_propensities=_propensities(ids, Y_train, label_counts, n_train, A, B),
        zero_division=zero_division,
        interval=interval,
    )
    found: dict[str, float] = {
        name: metrics[name]
        for name in (f"{kind}@{k}" for kind in _REPORTED for k in ks)
        if name in metrics
    }
    if task == MULTICLASS and "p@1" in found:
        found["accuracy"] = found["p@1"]
    found["examples"] = n
    found["unknown_labels"] = n_unknown
    found["seconds"] = seconds
    found["examples_per_second"] = n / seconds
    if stats is not None:
        found["classifiers_per_example"] = float(np.mean(stats.classifiers))
        found["expected_depth"] = expected_depth(stats.depth, interval=interval)
    return found


def _predict(clf: Predictor, X: Any, k: int) -> tuple[Any, FloatArray, Any, float]:
    """Return labels (n, k), scores (n, k), what the search reports or None, and the seconds."""
    method: Any = clf.predict_topk
    reports = "return_stats" in signature(method).parameters
    start = perf_counter()
    answer = method(X, k=k, return_stats=True) if reports else method(X, k=k)
    seconds = max(perf_counter() - start, 1e-9)
    labels, scores, *stats = answer
    return np.asarray(labels), np.asarray(scores), stats[0] if stats else None, seconds


def _ranking(
    labels: Any, scores: FloatArray, ids: dict[Hashable, int], shape: tuple[int, int]
) -> IntArray:
    """Return predicted labels as ids, -1 where a place holds none."""
    if labels.shape != shape or scores.shape != shape:
        raise DataError(
            f"predict_topk returned labels of shape {labels.shape} and scores of shape "
            f"{scores.shape}: expected {shape} for both"
        )
    missing = np.isnan(scores)
    # A place without a score is empty, whatever stands in for its label.
    numbered = [
        MISSING if empty or label is None else ids.setdefault(label, len(ids))
        for label, empty in zip(labels.ravel().tolist(), missing.ravel().tolist(), strict=True)
    ]
    return np.array(numbered, dtype=np.int64).reshape(shape)


def _indicator(rows: Sequence[Row], ids: dict[Hashable, int]) -> csr_array:
    indptr = np.concatenate(([0], np.cumsum([len(row) for row in rows])))
    indices = np.fromiter((ids[label] for row in rows for label in row), np.int64, indptr[-1])
    return csr_array((np.ones(indices.size), indices, indptr), shape=(len(rows), max(len(ids), 1)))


def _propensities(
    ids: dict[Hashable, int],
    Y_train: Any,
    label_counts: Mapping[Any, int] | None,
    n_train: int | None,
    A: float,
    B: float,
) -> FloatArray | None:
    """Return the inverse propensity of every id, or None when nothing is known of training."""
    if Y_train is not None:
        if label_counts is not None or n_train is not None:
            raise ParameterError("Y_train is given: label_counts and n_train must not be")
        rows = read_targets(Y_train, "Y_train")[1]
        label_counts, n_train = Counter(label for row in rows for label in row), len(rows)
    if label_counts is None and n_train is None:
        return None
    if label_counts is None or n_train is None:
        raise ParameterError("label_counts and n_train: expected both or neither")
    counts = [label_counts.get(label, 0) for label in ids] or [0]
    return inverse_propensity(np.array(counts), n_examples=n_train, A=A, B=B)


def _n_rows(X: Any) -> int:
    shape = getattr(X, "shape", None)
    return int(shape[0]) if shape else len(X)
