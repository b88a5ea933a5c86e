"""Progressive validation: every example is predicted first and learnt from afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from labelgrove._errors import DataError, ParameterError
from labelgrove.evaluation._course import ProgressiveResult, ProgressPoint, Record, as_result
from labelgrove.evaluation._stream import Example, examples_of
from labelgrove.evaluation._targets import Learner, Row
from labelgrove.metrics._inputs import check_k


def progressive_validation(
    clf: Learner,
    stream: Iterable[tuple[Any, Any]] | tuple[Any, Any],
    k: int = 5,
    *,
    window: int = 1000,
    every: int | None = None,
    callback: Callable[[ProgressPoint], object] | None = None,
) -> ProgressiveResult:
    """Let a model predict, then learn, one example at a time.

    Every prediction is made before the model has seen the answer, so a single pass gives an
    honest figure without holding anything out (Blum et al. 1999). In the multi-label task it is
    P@1 to P@k, where rows without labels count as misses. When every example has one label it is
    the accuracy and the entropy reduction of Section 5.2 of Jasinska-Kobus et al. (2021),
    log2(Acc) - log2(Acc_const). Acc_const is the accuracy on the examples so far of the best
    constant predictor for them, that is, the share of the class that is most frequent among them
    (the present one included): never zero, and harder to beat than a majority guess made in
    advance.

    Parameters
    ----------
    clf : estimator with ``predict_topk`` and ``partial_fit``
        It goes on learning from where it stands; until it has learnt from a label, it may raise
        NotFittedError, which counts as an empty prediction.
    stream : pair (X, Y), or iterable of pairs (x, labels)
        A tuple of two is (X, Y): rows, and a sparse 0/1 matrix, a sequence of label collections
        or a 1-D sequence of labels. Anything else is read as a stream of single examples: x is a
        1-D array, a row of a sparse matrix or a {feature: value} dict; labels are a collection,
        or one string or integer.
    k : int, default=5
        Number of places.
    window : int, default=1000
        How many of the latest examples the recent figures are about.
    every : int, optional
        Checkpoints stand at powers of two and at the last example; with this also at its
        multiples.
    callback : callable, optional
        Called with each `ProgressPoint` as it is reached.

    Returns
    -------
    ProgressiveResult

    Raises
    ------
    DataError
        When the stream is empty or an example cannot be read, or single labels and collections
        are mixed; the message says which example. The model keeps what it has learnt before.
    ParameterError
        When `k`, `window` or `every` is not a positive whole number.

    Examples
    --------
    >>> import numpy as np
    >>> class Latest:
    ...     "Predicts the label that came last."
    ...     label = "none"
    ...     def partial_fit(self, X, Y):
    ...         self.label = Y[0]
    ...     def predict_topk(self, X, k=5):
    ...         return np.array([[self.label]]), np.ones((1, 1))
    >>> stream = [({"leaves": 1.0}, label) for label in ["oak", "oak", "elm", "elm"]]
    >>> result = progressive_validation(Latest(), stream, k=1)
    >>> result.examples, result.accuracy, result.entropy_reduction
    (array([1, 2, 4]), array([0. , 0.5, 0.5]), array([-inf,  -1.,   0.]))
    """
    points: list[ProgressPoint] = []
    for point in iter_progressive(clf, stream, k, window=window, every=every):
        points.append(point)
        if callback is not None:
            callback(point)
    return as_result(points)


def iter_progressive(
    clf: Learner,
    stream: Iterable[tuple[Any, Any]] | tuple[Any, Any],
    k: int = 5,
    *,
    window: int = 1000,
    every: int | None = None,
) -> Iterator[ProgressPoint]:
    """Let a model predict, then learn, one example at a time, and stop by at every checkpoint.

    The model learns as the iterator is asked for more, up to the checkpoint that it returns.

    Parameters
    ----------
    clf, stream, k, window, every
        As for `progressive_validation`.

    Yields
    ------
    ProgressPoint

    Raises
    ------
    DataError, ParameterError
        As for `progressive_validation`.
    """
    record = Record(check_k(k), _positive(window, "window"))
    step = None if every is None else _positive(every, "every")
    shown = 0
    for example in examples_of(stream):
        predicted, seconds = _predict(clf, example, k, record.n_labels)
        start = perf_counter()
        clf.partial_fit(example.X, example.Y)
        seconds += perf_counter() - start
        record.add(example, predicted, seconds)
        n = record.examples
        if n & (n - 1) == 0 or (step is not None and n % step == 0):
            shown = n
            yield record.point()
    if record.examples == 0:
        raise DataError("stream holds no examples: there is nothing to measure")
    if shown < record.examples:
        yield record.point()


def _predict(clf: Learner, example: Example, k: int, n_labels: int) -> tuple[Row, float]:
    """Return the predicted labels in order, None in empty places, and the seconds it took."""
    start = perf_counter()
    try:
        labels, scores, *_ = clf.predict_topk(example.X, k=k)
    except NotFittedError:
        if n_labels > 0:  # it has learnt from labels, so this is an error of its own
            raise
        return (), perf_counter() - start
    seconds = perf_counter() - start
    empty = np.isnan(np.asarray(scores[0], dtype=np.float64))
    labels = np.asarray(labels)[0].tolist()[:k]
    return tuple(None if no else label for label, no in zip(labels, empty, strict=False)), seconds


def _positive(value: Any, name: str) -> int:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise ParameterError(f"{name}={value!r}: expected a positive whole number")
    return int(value)
