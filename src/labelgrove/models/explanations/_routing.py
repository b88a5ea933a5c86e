"""How an estimator whose tree routes examples explains its predictions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove._parameters import integer
from labelgrove._validation import Rows
from labelgrove.models._predicting import Predicting
from labelgrove.models.engine._learned import Learned
from labelgrove.models.explanations._route_explanation import (
    RouteExplanation,
    RouteLabel,
    RouteNode,
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


class Routing(Predicting):
    """Explanations from the route of an example through ``_learned.engine``."""

    def explain(
        self,
        x: Any,
        label: Any = None,
        *,
        k: int = 5,
        threshold: Any = None,  # noqa: ARG002 (as of the other estimators)
        top: int = 8,
        feature_names: FeatureNaming | None = None,
    ) -> RouteExplanation:
        """Say why classes are predicted for an example, or why a given class is not.

        What is predicted is what has ended before where the example ends. So the explanation is
        the way of the example, to the right where the margin is above 0, with what each feature
        says at every node, and how many examples of a class have gone it, node by node. Where
        predictions go by several leaves, the others count too, the less the clearer the margins.

        Parameters
        ----------
        x : one row of X
            As for :meth:`predict_topk`: of shape (1, d) or (d,), or a dict.
        label : label, optional
            Explain this class, predicted or not; by default the k best.
        k : int
            How many classes are predicted.
        threshold : ignored
        top : int
            How many features to list at every node; the others are summed up.
        feature_names : mapping of int to str, or sequence of str, optional
            Names of columns; features of dicts have theirs already.

        Returns
        -------
        RouteExplanation
            ``str()`` of it is readable text.

        Raises
        ------
        NotLearnedError
            Before the first example.
        DataError, ParameterError
            If x is not one row, the class is not known, or another parameter cannot be used.

        Examples
        --------
        >>> import numpy as np
        >>> from labelgrove import LOMTreeClassifier
        >>> clf = LOMTreeClassifier().fit(np.eye(2)[[0, 1] * 20], ["ebb", "flow"] * 20)
        >>> explained = clf.explain([[1, 0]], "flow", feature_names=["moon", "wind"])
        >>> explained.route[0].contributions[0].feature, explained.labels[0].predicted
        ('moon', True)
        """
        k, top = integer("k", k, 1), integer("top", top, 0)
        with self._guard.reading():
            learned = self._require_learned()
            rows = one_row(learned, x)
            best, _ = best_labels(learned, rows, k)
            wanted = best.tolist() if label is None else [id_of(learned, label)]
            found = [learned.engine.explain(*rows.arrays, one) for one in wanted]
            if not found:
                return RouteExplanation((), 0, (0,), (), k)
            labels = tuple(
                _label(learned, rows, one, says, best)
                for one, says in zip(wanted, found, strict=True)
            )
            named = feature_naming(learned, feature_names)
            route = _route(rows, found[0], top, named)
        return RouteExplanation(
            route, int(found[0]["node"][-1]), tuple(found[0]["reached"].tolist()), labels, k
        )


def _route(
    rows: Rows,
    found: Mapping[str, npt.NDArray[Any]],
    top: int,
    named: FeatureNaming,
) -> tuple[RouteNode, ...]:
    nodes, right = found["node"].tolist(), found["right"].tolist()
    return tuple(
        RouteNode(
            node=node,
            side="right" if right[i + 1] else "left",
            **weighed(rows, found, i, top, named),
        )
        for i, node in enumerate(nodes[:-1])
    )


def _label(
    learned: Learned,
    rows: Rows,
    label: int,
    found: Mapping[str, npt.NDArray[Any]],
    best: npt.NDArray[np.uint32],
) -> RouteLabel:
    probability = probability_of(learned, rows, label)
    seen = found["seen"].tolist()
    parted = (i for i in range(len(seen) - 1) if 2 * seen[i + 1] < seen[i])
    return RouteLabel(
        label=name_of(learned, label),
        probability=probability,
        rank=rank_of(learned, rows, label, probability),
        predicted=bool(np.isin(label, best)),
        seen=tuple(seen),
        parted=next(parted, None),
    )
