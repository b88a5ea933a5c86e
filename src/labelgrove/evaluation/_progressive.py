"""Progressive validation: predict every example first, then learn from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.exceptions import NotFittedError

from labelgrove._errors import DataError, ParameterError, brief
from labelgrove._parameters import integer
from labelgrove._targets import parse_targets
from labelgrove._validation import n_rows_of
from labelgrove.evaluation._course import ProgressiveResult, ProgressPoint, StreamRecord, as_result
from labelgrove.evaluation._observed import Predictor


class Learner(Predictor, Protocol):
    """The interface that progressive validation requires of a model."""

    def partial_fit(self, X: Any, Y: Any) -> Any:
        """Learn from more rows."""


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

    Every prediction is made before the model sees the true labels, so a single pass gives an
    unbiased figure without a held-out set (Blum et al. 1999). The multi-label figures are P@1 to
    P@k, where rows without labels count as misses. If every example has one label, these include
    the accuracy, and there is also the entropy reduction of Section 5.2 of Jasinska-Kobus et al.
    (2021), log2(Acc) - log2(Acc_const). Acc_const is the accuracy of the best constant predictor
    on the examples so far: the share of the most frequent class among them, including the current
    example. It is never zero, and harder to beat than a majority guess made in advance.

    Parameters
    ----------
    clf : estimator with ``predict_topk`` and ``partial_fit``
        The model, which keeps what it learns. Until it has learnt from a label it may raise
        NotFittedError, which counts as an empty prediction.
    stream : pair (X, Y), or iterable of pairs (x, labels)
        A tuple of two is (X, Y): rows, and a sparse 0/1 matrix, a sequence of label collections
        or a 1-D sequence of labels. Anything else is read as a stream of single examples: x is a
        1-D array, a row of a sparse matrix or a {feature: value} dict; labels are a collection,
        or one string or integer.
    k : int, default=5
        Number of places.
    window : int, default=1000
        Number of latest examples that the recent figures cover.
    every : int, optional
        Checkpoints are at powers of two and at the last example, and also at multiples of this if
        it is given.
    callback : callable, optional
        Called with each `ProgressPoint` when it is reached.

    Returns
    -------
    ProgressiveResult

    Raises
    ------
    DataError
        When the stream is empty, an example cannot be read, or single labels and collections are
        mixed; the message names the example. The model keeps what it has learnt so far.
    ParameterError
        When `k`, `window` or `every` is not a positive whole number, or the model has no
        ``partial_fit``.

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
    """Let a model predict, then learn, one example at a time, and yield every checkpoint.

    The iteration is lazy: each step learns up to the checkpoint that it yields.

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
    record = StreamRecord(places=integer("k", k, 1), window=integer("window", window, 1))
    step = None if every is None else integer("every", every, 1)
    if not hasattr(clf, "partial_fit"):
        raise ParameterError(
            f"clf is {brief(clf)}, which has no partial_fit: expected a model that learns online "
            "(labelgrove.evaluate measures any model on examples held out)"
        )
    shown = 0
    for example in _examples_of(stream):
        _predict_then_learn(clf, example, record)
        n = record.examples
        if n & (n - 1) == 0 or (step is not None and n % step == 0):
            shown = n
            yield record.point()
    if record.examples == 0:
        raise DataError("stream holds no examples: there is nothing to measure")
    if shown < record.examples:
        yield record.point()


def _predict_then_learn(clf: Learner, example: _Example, record: StreamRecord) -> None:
    """Let a model predict an example, then learn it, and record how well it did."""
    start = perf_counter()
    try:
        names, scores, *_ = clf.predict_topk(example.X, k=record.places)
    except NotFittedError:
        if record.n_labels > 0:  # the model has learnt from labels, so this is a real error
            raise
        names, scores = np.empty((1, 0)), np.empty((1, 0))
    clf.partial_fit(example.X, example.Y)
    seconds = perf_counter() - start
    found = zip(np.asarray(names)[0].tolist(), np.asarray(scores, np.float64)[0], strict=True)
    predicted = [label for label, score in found if not np.isnan(score)]
    record.add([example.labels], [predicted], seconds=seconds)


class _Example(NamedTuple):
    """One example: X and Y as a model's methods accept them, and the list of its labels."""

    X: Any
    Y: Any
    labels: list[Any]


def _examples_of(stream: Any) -> Iterator[_Example]:
    """Yield the examples of a pair (X, Y) or of an iterable of pairs (x, labels)."""
    if isinstance(stream, tuple) and len(stream) == 2 and not isinstance(stream[0], tuple):
        return _rows_of_arrays(*stream)
    if not isinstance(stream, Iterable):
        raise DataError(
            f"stream is a {type(stream).__name__}: expected a pair (X, Y) or an iterable of pairs"
        )
    return _pairs(stream)


def _rows_of_arrays(X: Any, Y: Any) -> Iterator[_Example]:
    targets = parse_targets(Y, n_rows_of(X))
    X = csr_array(X) if issparse(X) else X
    Y = csr_array(Y) if issparse(Y) else Y  # a format that can be sliced by row
    for i in range(targets.n_rows):
        yield _Example(X[i : i + 1], Y[i : i + 1], targets.row(i))


def _pairs(stream: Iterable[Any]) -> Iterator[_Example]:
    expected = None
    for i, pair in enumerate(stream):
        try:
            x, labels = pair
        except (TypeError, ValueError):
            raise DataError(f"stream, example {i}: expected a pair (x, labels)") from None
        try:
            targets = parse_targets([labels])
        except DataError as failure:
            why = str(failure).removeprefix("Y, row 0: ")
            raise DataError(f"stream, example {i}: {why}") from None
        expected = targets.kind if expected is None else expected
        if targets.kind != expected:
            raise DataError(
                f"stream, example {i}: single labels and collections of labels are mixed; "
                "expected one or the other throughout"
            )
        row = targets.row(0)
        yield _Example(_one_row(x, i), row if expected == "multiclass" else [row], row)


def _one_row(x: Any, i: int) -> Any:
    """Return a single example's features as a batch of one row."""
    if isinstance(x, Mapping | str):
        return [x]
    row = x if issparse(x) else np.asarray(x)
    if row.ndim == 1:
        row = row.reshape((1, -1))
    if row.ndim != 2 or row.shape[0] != 1:
        raise DataError(f"stream, example {i}: x of shape {row.shape} found, expected a single row")
    return row
