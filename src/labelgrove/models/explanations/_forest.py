"""How an ensemble of trees that route examples explains its predictions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove._parameters import integer
from labelgrove._validation import Rows
from labelgrove.models._predicting import Predicting
from labelgrove.models.engine._learned import Learned
from labelgrove.models.engine._results import MISSING
from labelgrove.models.explanations._forest_explanation import (
    ForestExplanation,
    ForestLabel,
    ForestLeaf,
    ForestStep,
)
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

Found = Mapping[str, npt.NDArray[Any]]


class Forest(Predicting):
    """Explanations from the ways of an example through the trees of ``_learned.engine``."""

    def explain(
        self,
        x: Any,
        label: Any = None,
        *,
        k: int = 5,
        threshold: Any = None,
        top: int = 8,
        feature_names: FeatureNaming | None = None,
    ) -> ForestExplanation:
        """Say why labels are predicted for an example, or why a given label is not.

        A label's score is the mean of its shares in the leaves that the example reaches. So the
        explanation names these leaves with their shares, the features that led the example there,
        and the way to the leaf that speaks loudest, step by step. Where the nearness of centroids
        counts (``tail_weight``), the score is made of the mean share and of that.

        Parameters
        ----------
        x : one row of X
            As for :meth:`predict_topk`: of shape (1, d) or (d,), or a dict.
        label : label, optional
            Explain this label, predicted or not; by default all that are predicted.
        k : int
            Predicted are the k best labels,
        threshold : float or array-like of shape (n_classes,), optional
            or, if given, all labels with at least this score, or their own one.
        top : int
            How many features to list at every step; the others are summed up.
        feature_names : mapping of int to str, or sequence of str, optional
            Names of columns; features of dicts have theirs already.

        Returns
        -------
        ForestExplanation
            ``str()`` of it is readable text.

        Raises
        ------
        NotLearnedError
            Before the first example.
        DataError, ParameterError
            If x is not one row, the label is not known, or another parameter cannot be used.

        Examples
        --------
        >>> from labelgrove import LdSMClassifier
        >>> X, Y = [{"moon": 1}, {"wind": 1}] * 20, [["tide"], ["wave", "storm"]] * 20
        >>> clf = LdSMClassifier(n_estimators=8).fit(X, Y)
        >>> [tide] = clf.explain({"moon": 1}, "tide").labels
        >>> tide.predicted, tide.mean_share, tide.contributions[0].feature
        (True, 1.0, 'moon')
        """
        k, top = integer("k", k, 1), integer("top", top, 0)
        with self._guard.reading():
            learned = self._require_learned()
            rows = one_row(learned, x)
            least = None if threshold is None else learned.thresholds(threshold)
            best, _ = best_labels(learned, rows, k, least)
            wanted = best.tolist() if label is None else [id_of(learned, label)]
            named = feature_naming(learned, feature_names)
            labels = tuple(_label(learned, rows, one, best, top, named) for one in wanted)
            return ForestExplanation(labels, learned.options.to_dict()["trees"], k)


def _label(
    learned: Learned,
    rows: Rows,
    label: int,
    best: npt.NDArray[np.uint32],
    top: int,
    named: FeatureNaming,
) -> ForestLabel:
    found = learned.engine.explain(*rows.arrays, label)
    shares, reached = found["leaf.share"].astype(np.float64), int(found["leaf.votes"].sum())
    ways = [_way(found, step) for step in found["leaf.step"].tolist()]
    order = [leaf for leaf in np.argsort(-shares, kind="stable").tolist() if shares[leaf] > 0]
    probability = probability_of(learned, rows, label)
    average = weighed(rows, _averaged(found, ways, shares), 0, top, named)
    del average["margin"]
    return ForestLabel(
        label=name_of(learned, label),
        probability=probability,
        rank=rank_of(learned, rows, label, probability),
        predicted=bool(np.isin(label, best)),
        mean_share=float(shares.sum() / max(reached, 1)),
        leaves=tuple(
            ForestLeaf(
                tree=int(found["leaf.tree"][leaf]),
                leaf=int(found["leaf.node"][leaf]),
                depth=len(ways[leaf]),
                share=float(shares[leaf]),
                part=float(shares[leaf] / reached),
            )
            for leaf in order
        ),
        reached=reached,
        **average,
        route=tuple(
            ForestStep(
                node=int(found["step.node"][step]),
                child=int(found["step.child"][step]),
                **weighed(rows, found, step, top, named),
            )
            for step in (ways[order[0]] if order else ())
        ),
    )


def _way(found: Found, last: int) -> list[int]:
    """The steps that end with this one, in their order."""
    way = []
    while last != int(MISSING):
        way.append(last)
        last = int(found["step.before"][last])
    return way[::-1]


def _averaged(found: Found, ways: list[list[int]], shares: npt.NDArray[np.float64]) -> Found:
    """All steps as one: their mean, each as often as ways lead over it, by the leaf's share."""
    weights = np.zeros(len(found["step.node"]))
    for way, share in zip(ways, shares.tolist(), strict=True):
        weights[way] += share
    weights /= max(weights.sum(), np.finfo(np.float64).tiny)
    return {
        "value": found["value"],
        "bias": np.array([weights @ found["bias"]]),
        "contributions": (weights @ found["contributions"])[None],
    }
