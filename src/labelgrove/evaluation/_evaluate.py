"""Evaluation of a model on held-out examples."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from labelgrove._cuts import Cut
from labelgrove._errors import DataError, ParameterError
from labelgrove._parameters import integer
from labelgrove._targets import parse_targets
from labelgrove.evaluation._figures import Training, figures
from labelgrove.evaluation._observed import Predictor, classes_of, observe, require_same_kind
from labelgrove.metrics._inputs import check_ks
from labelgrove.metrics._score import Interval


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
    threshold: Cut | None = None,
    zero_division: float = 0.0,
    interval: Interval = None,
    excluded: Mapping[int, Collection[Any]] | None = None,
) -> dict[str, Any]:
    """Measure the quality and the cost of a model's predictions on held-out examples.

    The command ``labelgrove eval`` and the reports give the same figures by the same names.

    Labels of `Y` that the model has never seen count as relevant, although it cannot predict them;
    the result includes their number.

    Parameters
    ----------
    clf : estimator with ``predict_topk``
        A fitted model.
    X : rows accepted by the model
    Y : sparse 0/1 matrix, sequence of label collections, or 1-D sequence of labels
        True labels; the columns of a matrix are labels 0, 1, 2, ...
    ks : iterable of int, default=(1, 3, 5)
        Numbers of places.
    Y_train : like `Y`, optional
        Labels of the training set, for the propensities. By default the model's own label counts
        are used, if it has any. An alternative is:
    label_counts : mapping of label to int, optional
        Number of training examples with each label; 0 for labels not listed.
    n_train : int, optional
        Number of training examples; required with `label_counts`.
    A, B : float, default=0.55 and 1.5
        Parameters of the propensity model: see `labelgrove.metrics.inverse_propensity`.
    threshold : float or array (n_classes,), optional
        Predict the labels whose probability is at least this, for the F-measures. By default the
        model's ``predict`` is used.
    zero_division : {0, 1, nan}, default=0
        Value for a row without labels in recall, nDCG and instance F1.
    interval : float or Bootstrap, optional
        Level of bootstrap intervals, kept in the values' ``interval``.
    excluded : mapping of int to collection of labels, optional
        Labels that count neither as true nor as predicted, by row from 0, as read by
        `labelgrove.data.read_filter_pairs`.

    Returns
    -------
    dict
        - "p@k", "r@k", "ndcg@k" for every k, fractions in [0, 1], and "psp@k" and "psndcg@k"
          if the training labels are known;
        - if every row has exactly one label: "accuracy", "error", "error_margin" (of its 95 %
          binomial interval), "entropy_reduction" in bits, None if no prediction was right, and
          "best_macro_f1", the mean F1 of the labels in `Y` if the best label alone is predicted;
        - if the model predicts label sets or classes: "macro_f1", the mean F1 of the labels that
          occur in `Y`, "micro_f1" over all (row, label) pairs, "instance_f1", the mean over rows,
          and "labels_per_example", the mean number of predicted labels;
        - "examples", "examples_without_labels", "labels_in_test" (distinct labels in `Y`),
          "unknown_labels" (those that the model does not know) and "unknown_label_share" (their
          share of all true labels);
        - "seconds" taken by the rankings, and "examples_per_second";
        - "classifiers_per_example" and "search_depth", the means of what the search for the
          largest k evaluated and of how deep it went, if the model reports them.

    Raises
    ------
    DataError
        When `X` and `Y` do not match or cannot be used; the message names the row.
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
    ks = check_ks(ks)
    training = _training(clf, Y_train, label_counts, n_train, A, B)
    observed = observe(clf, [(X, Y)], k=ks[-1], threshold=threshold, excluded=excluded)
    return figures(observed, ks, training=training, zero_division=zero_division, interval=interval)


def _training(
    clf: Any,
    Y_train: Any,
    label_counts: Mapping[Any, int] | None,
    n_train: int | None,
    A: float,
    B: float,
) -> Training | None:
    """Return what was given about the training set, or else what the model knows of it."""
    if Y_train is not None:
        if label_counts is not None or n_train is not None:
            raise ParameterError("Y_train is given: label_counts and n_train must not be")
        try:
            targets = parse_targets(Y_train)
        except DataError as failure:
            raise DataError(str(failure).replace("Y", "Y_train", 1)) from None
        counts = np.bincount(targets.codes).tolist()
        counted = dict(zip(targets.names.tolist(), counts, strict=True))
        require_same_kind(classes_of(clf), list(counted), "Y_train")
        return Training(counted, targets.n_rows, A, B)
    if label_counts is None and n_train is None:
        return Training.of(clf, A, B)
    if label_counts is None or n_train is None:
        raise ParameterError("label_counts and n_train: expected both or neither")
    require_same_kind(classes_of(clf), list(label_counts), "label_counts")
    return Training(label_counts, integer("n_train", n_train, 0, None), A, B)
