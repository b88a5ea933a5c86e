"""How an estimator over a label tree explains its predictions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove._errors import DataError
from labelgrove._parameters import integer, thread_count
from labelgrove._validation import Rows
from labelgrove.models._predicting import Predicting
from labelgrove.models.engine._learned import Learned
from labelgrove.models.engine._results import tree_numbers
from labelgrove.models.explanations._explanation import (
    Explanation,
    FallOut,
    LabelExplanation,
    NodeExplanation,
)
from labelgrove.models.explanations._paths import LabelPaths, follow, products_along
from labelgrove.models.explanations._weighing import (
    FeatureNaming,
    best_labels,
    feature_naming,
    id_of,
    name_of,
    one_row,
    probability_of,
    rank_of,
    weighed,
)


class Explaining(Predicting):
    """Explanations from the paths of ``_learned.engine``, whose tree has one leaf a label."""

    def explain(
        self,
        x: Any,
        label: Any = None,
        *,
        k: int = 5,
        threshold: Any = None,
        top: int = 8,
        feature_names: FeatureNaming | None = None,
    ) -> Explanation:
        """Say why labels are predicted for an example, or why a given label is not.

        The probability of a label is the product of the probabilities along its path in the tree
        (Jasinska-Kobus et al. 2021, Eq. 2), and each of these is the sigmoid (or what the model's
        link is) of a sum of one number a feature. Both are laid open: nothing here is an
        approximation. Of a model of several trees the first one is shown.

        Parameters
        ----------
        x : one row of X
            As for :meth:`predict_topk`: of shape (1, d) or (d,), or a dict.
        label : label, optional
            Explain this label, predicted or not; by default all that are predicted.
        k : int
            Predicted are the k best labels,
        threshold : float or array-like of shape (n_classes,), optional
            or, if given, all labels with at least this probability, or their own one.
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
            rows = one_row(learned, x)
            least = None if threshold is None else learned.thresholds(threshold)
            best = best_labels(learned, rows, k, least)
            wanted = best[0] if label is None else [id_of(learned, label)]
            named = feature_naming(learned, feature_names)
            explained = [
                _explain(learned, rows, int(one), best, k, least, top, named) for one in wanted
            ]
        common = None if least is None or len(least) > 1 else float(least[0])
        return Explanation(tuple(explained), k, common)

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


def _explain(
    learned: Learned,
    rows: Rows,
    label: int,
    best: tuple[npt.NDArray[np.uint32], npt.NDArray[np.float32]],
    k: int,
    least: Any,
    top: int,
    named: FeatureNaming,
) -> LabelExplanation:
    found = learned.engine.explain(*rows.arrays, label)
    numbers = tree_numbers(learned.engine.tree())
    products = products_along(found["probability"], np.array([0, len(found["probability"])]))
    path = tuple(
        NodeExplanation(
            node=int(numbers[node]),
            probability=float(found["probability"][i]),
            product=float(products[i]),
            **weighed(rows, found, i, top, named),
        )
        for i, node in enumerate(found["node"].tolist())
    )
    probability = probability_of(learned, rows, label)
    predicted = bool(np.isin(label, best[0]))
    if least is not None:
        needed = float(least[label if len(least) > 1 else 0])
    else:
        needed = float(best[1][k - 1]) if len(best[1]) >= k else 0.0
    return LabelExplanation(
        label=name_of(learned, label),
        probability=probability,
        rank=rank_of(learned, rows, label, probability),
        predicted=predicted,
        path=path,
        fallen_out=None if predicted else _fall(path, needed),
    )


def _fall(path: tuple[NodeExplanation, ...], needed: float) -> FallOut:
    """The first node below what is needed; of equals with the k-th best, the leaf itself."""
    step = next((i for i, node in enumerate(path) if node.product < needed), len(path) - 1)
    return FallOut(step, path[step].node, path[step].product, needed)
