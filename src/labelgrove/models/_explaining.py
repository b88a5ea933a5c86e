"""How an estimator over a label tree explains its predictions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove._errors import DataError
from labelgrove._parameters import integer, thread_count
from labelgrove._validation import Rows
from labelgrove.models._explanation import (
    Contribution,
    Explanation,
    FallOut,
    LabelExplanation,
    NodeExplanation,
)
from labelgrove.models._paths import LabelPaths, follow, products_along
from labelgrove.models._predicting import Predicting
from labelgrove.models._prediction import MISSING, tree_numbers
from labelgrove.models._state import Learned

FeatureNaming = Mapping[int, str] | Sequence[str]


class Explaining(Predicting):
    """Explanations from the paths of ``_learned.engine``, whose tree has one leaf a label."""

    def explain(
        self,
        x: Any,
        label: Any = None,
        *,
        k: int = 5,
        threshold: float | None = None,
        top: int = 8,
        feature_names: FeatureNaming | None = None,
    ) -> Explanation:
        """Say why labels are predicted for an example, or why a given label is not.

        The probability of a label is the product of the probabilities along its path in the tree
        (Jasinska-Kobus et al. 2021, Eq. 2), and each of these is the sigmoid of a sum of one
        number a feature. Both are laid open: nothing here is an approximation.

        Parameters
        ----------
        x : one row of X
            As for :meth:`predict_topk`: of shape (1, d) or (d,), or a dict.
        label : label, optional
            Explain this label, predicted or not; by default all that are predicted.
        k : int
            Predicted are the k best labels,
        threshold : float, optional
            or, if given, all labels with at least this probability.
        top : int
            How many features to list at every node; the others are summed up.
        feature_names : mapping of int to str, or sequence of str, optional
            Names of columns, such as a vectoriser's vocabulary, or what
            :meth:`HashedText.words <labelgrove.text.HashedText.words>` gives for the text.
            Features of dicts have their names already.

        Returns
        -------
        Explanation
            ``str()`` of it is readable text.

        Raises
        ------
        NotLearnedError
            Before the first example.
        DataError, ParameterError
            If x is not one row, the label is not known, or another parameter cannot be used.

        Examples
        --------
        >>> from labelgrove import OnlinePLTClassifier
        >>> clf = OnlinePLTClassifier()
        >>> _ = clf.partial_fit([{"bark": 1}, {"purr": 1}] * 5, ["dog", "cat"] * 5)
        >>> explained = clf.explain({"bark": 1}, "dog")
        >>> [dog] = explained.labels
        >>> dog.predicted, dog.path[-1].contributions[0].feature
        (True, 'bark')
        """
        k, top = integer("k", k, 1), integer("top", top, 0)
        with self._guard.reading():
            learned = self._require_learned()
            rows = learned.check_rows(_as_rows(x))
            if rows.n_rows != 1:
                raise DataError(f"x has {rows.n_rows} rows; expected the one to be explained")
            least = None if threshold is None else learned.thresholds(threshold)[:1]
            best = _best(learned, rows, k, least)
            wanted = best[0] if label is None else [_id_of(learned, label)]
            named = _names(learned, feature_names)
            explained = [
                _explain(learned, rows, int(one), best, k, least, top, named) for one in wanted
            ]
        return Explanation(tuple(explained), k, None if least is None else float(least[0]))

    def label_paths(self, X: Any, labels: Sequence[Collection[Any]]) -> LabelPaths:
        """Follow given labels of many rows through the tree.

        Parameters
        ----------
        X
            As for :meth:`predict_topk`.
        labels : sequence of n collections of labels
            Whose paths, for every row; labels that the model does not know have empty ones.

        Returns
        -------
        LabelPaths

        Raises
        ------
        NotLearnedError
            Before the first example.
        DataError
            If X cannot be used or there are not as many collections as rows.

        Examples
        --------
        >>> from labelgrove import OnlinePLTClassifier
        >>> clf = OnlinePLTClassifier().fit([[1, 0], [0, 1]] * 9, ["ebb", "flow"] * 9)
        >>> paths = clf.label_paths([[1, 0], [0, 1]], [["ebb"], ["flow", "flood"]])
        >>> paths.indptr.tolist(), paths.nodes[[0, 2]].tolist()
        ([0, 2, 4, 4], [0, 0])
        """
        with self._guard.reading():
            learned = self._require_learned()
            rows = learned.check_rows(X)
            if len(labels) != rows.n_rows:
                raise DataError(f"labels has {len(labels)} rows: expected {rows.n_rows}, as X has")
            return follow(learned, rows, labels, thread_count(self.n_jobs))


_Found = tuple[npt.NDArray[np.uint32], npt.NDArray[np.float32]]


def _best(learned: Learned, rows: Rows, k: int, least: Any) -> _Found:
    if least is None:
        ids, scores, _, _ = learned.engine.top_k(*rows.arrays, k, 0, None, 1)
        there = ids[0] != MISSING
        return ids[0][there], scores[0][there]
    _, ids, scores, _, _ = learned.engine.above_threshold(*rows.arrays, least, None, 1)
    return ids, scores


def _explain(
    learned: Learned,
    rows: Rows,
    label: int,
    best: _Found,
    k: int,
    least: Any,
    top: int,
    named: FeatureNaming,
) -> LabelExplanation:
    found = learned.engine.explain(*rows.arrays, label)
    numbers = tree_numbers(learned.engine.tree())
    products = products_along(found["probability"], np.array([0, len(found["probability"])]))
    path = tuple(
        _node(rows, found, i, int(numbers[node]), float(products[i]), top, named)
        for i, node in enumerate(found["node"].tolist())
    )
    predicted = bool(np.isin(label, best[0]))
    needed = float(best[1][k - 1] if least is None and len(best[1]) >= k else _floor(least))
    return LabelExplanation(
        label=learned.labels.names[[label]].tolist()[0],
        probability=path[-1].product,
        rank=_rank(learned, rows, label, products[-1]),
        predicted=predicted,
        path=path,
        fallen_out=None if predicted else _fall(path, needed),
    )


def _floor(least: Any) -> float:
    return 0.0 if least is None else float(least[0])


def _node(
    rows: Rows,
    found: Mapping[str, npt.NDArray[Any]],
    i: int,
    number: int,
    product: float,
    top: int,
    named: FeatureNaming,
) -> NodeExplanation:
    added, values = found["contributions"][i].astype(np.float64), found["value"]
    heaviest = np.argsort(-np.abs(added), kind="stable")[:top]
    heaviest = heaviest[added[heaviest] != 0]
    ids, bias = rows.arrays[1], float(found["bias"][i])
    listed = tuple(
        Contribution(
            feature=_name(named, int(ids[j])),
            value=float(values[j]),
            weight=float(added[j] / values[j]),
            contribution=float(added[j]),
        )
        for j in heaviest
    )
    return NodeExplanation(
        node=number,
        probability=float(found["probability"][i]),
        product=product,
        margin=float(added.sum()) + bias,
        bias=bias,
        contributions=listed,
        others=float(added.sum() - added[heaviest].sum()),
    )


def _fall(path: tuple[NodeExplanation, ...], needed: float) -> FallOut:
    """The first node below what is needed; of equals with the k-th best, the leaf itself."""
    step = next((i for i, node in enumerate(path) if node.product < needed), len(path) - 1)
    return FallOut(step, path[step].node, path[step].product, needed)


def _rank(learned: Learned, rows: Rows, label: int, probability: np.float32) -> int:
    """Labels that come before, and one: higher probability, or equal and an earlier arrival."""
    least = np.array([probability], np.float32)
    _, ids, _, _, _ = learned.engine.above_threshold(*rows.arrays, least, None, 1)
    return int(np.flatnonzero(ids == label)[0]) + 1


def _id_of(learned: Learned, label: Any) -> int:
    [found] = learned.labels.ids_of([label])
    if found < 0 or not np.isin(found, learned.engine.labels()):
        raise DataError(f"label {label!r} is not known to the model")
    return int(found)


def _as_rows(x: Any) -> Any:
    if isinstance(x, Mapping):
        return [x]
    return x.reshape(1, -1) if getattr(x, "ndim", 2) == 1 else x


def _names(learned: Learned, given: FeatureNaming | None) -> FeatureNaming:
    if given is not None:
        return given
    return [] if learned.features is None else learned.features.names()


def _name(named: FeatureNaming, feature: int) -> str | int:
    if isinstance(named, Mapping):
        return named.get(feature, feature)
    return str(named[feature]) if feature < len(named) else feature
