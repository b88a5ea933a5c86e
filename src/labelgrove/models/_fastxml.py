"""FastXML, an ensemble of multi-label decision trees that rank, as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from labelgrove import _core
from labelgrove._parameters import flag, integer, real
from labelgrove.metrics import inverse_propensity
from labelgrove.metrics._propensity import FEWEST_EXAMPLES
from labelgrove.models._forest import ForestClassifier, ForestStatistics
from labelgrove.models.engine._archive import Format
from labelgrove.models.engine._examples import Examples
from labelgrove.models.engine._records import Options, given, seed, word
from labelgrove.tuning._pairs import FloatArray

GAINS = {"ndcg": 0, "propensity": 1}


@dataclass(frozen=True, kw_only=True)
class FastxmlOptions(Options):
    """Options of the core, with values checked."""

    trees: int = given("n_estimators", integer, 1, 10_000)
    max_leaf: int = given("max_leaf_size", integer, 1)
    cost: float = given("C", real, 1e-6, 1e6)
    gain_cost: float = given("C_rank", real, 0.0, 1e6)
    gain: int = word("gain", GAINS)
    bias: float = given("bias", real, 0.0, 1e6)
    tolerance: float = given("tol", real, 1e-9, 1.0)
    max_rounds: int = given("max_rounds", integer, 1, 1000)
    normalize: bool = given("normalize", flag)
    seed: int = seed()


class FastXMLClassifier(ForestClassifier):
    """FastXML: an ensemble of trees that group examples whose labels rank alike.

    Every inner node assigns its examples to two sides so that one label ranking for each side
    maximises nDCG, and learns a sparse hyperplane that separates the sides. Every leaf has the
    label shares of the examples that ended there (Prabhu & Varma 2014). A label's score, a sparse
    estimate of its probability, is the mean of its shares in the leaves that the example reaches,
    one in each tree.

    Parameters
    ----------
    n_estimators : int
        Number of trees. They differ in the initial sides of the examples.
    max_leaf_size : int
        Nodes with more examples are split. So up to this number of examples give a single leaf:
        every row gets the same labels.
    C : float
        C_delta: the cost of an example on the wrong side of the hyperplane, divided by its own
        side's share of the node's examples so that both sides have the same cost. Smaller values
        give hyperplanes with fewer weights; nodes without any weights are not split.
    C_rank : float
        C_r: the cost of lost nDCG. It matters only if ``max_rounds`` is above 1.
    gain : {"ndcg", "propensity"}
        Value of a label in a ranking: 1, or its inverse propensity, which gives rare labels more
        weight in the splits (PfastreXML, Jain et al. 2016).
    bias : float
        Value of the constant feature; 0 for none.
    tol : float
        A hyperplane is learnt until the norm of its objective's subgradient falls to this share
        of its first value.
    max_rounds : int
        Largest number of times that a node's hyperplane is learnt. Before each further round,
        every example moves to the side where the lost nDCG and the loss of the last hyperplane
        cost less in total. If none moves, the node is done. The paper uses one round.
    normalize : bool
        Whether to scale examples to unit length. If not, they should be about 1 long.
    threshold : float
        Lowest score at which :meth:`predict` returns a label, for multi-label targets.
    second_stage : {"calibrate", "head", "tail"} or float in [0, 1], optional
        A second stage after the trees: see :class:`PLTClassifier`. ``"tail"`` re-ranks by the
        labels' centroids, as PfastreXML does.
    n_jobs : int, optional
        Number of threads; -1 for all processors. The result is the same for any number.
    random_state : int, RandomState or None
        Seed of all random choices. None draws one.

    Notes
    -----
    Examples without labels train no hyperplane, but end in leaves and lower the shares there.
    Prediction follows the hyperplanes without a search, so there is no ``beam_width``.

    Examples
    --------
    >>> from labelgrove import FastXMLClassifier
    >>> X = [{"fish": 1, "soup": 1}, {"cat": 1, "fish": 1}, {"cat": 1, "dog": 1}, {"soup": 1}]
    >>> Y = [["food"], ["pets", "food"], ["pets"], ["food"]]
    >>> clf = FastXMLClassifier(n_estimators=10).fit(5 * X, 5 * Y)
    >>> clf.predict_topk([{"dog": 1}], k=1)[0].tolist()
    [['pets']]
    """

    algorithm = "fastxml"
    _format = Format(FastxmlOptions, _core.Forest.load)

    def __init__(
        self,
        *,
        n_estimators: int = 50,
        max_leaf_size: int = 10,
        C: float = 2.0,
        C_rank: float = 1.0,
        gain: str = "ndcg",
        bias: float = 1.0,
        tol: float = 0.01,
        max_rounds: int = 1,
        normalize: bool = True,
        threshold: float = 0.5,
        second_stage: str | float | None = None,
        n_jobs: int | None = 1,
        random_state: Any = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_leaf_size = max_leaf_size
        self.C = C
        self.C_rank = C_rank
        self.gain = gain
        self.bias = bias
        self.tol = tol
        self.max_rounds = max_rounds
        self.normalize = normalize
        self.threshold = threshold
        self.second_stage = second_stage
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def statistics_(self) -> ForestStatistics:
        """Shape of the trees and quality of the splits; not in models saved for prediction."""
        return self._statistics()[0]

    def _gains(self, options: Any, examples: Examples, n_labels: int) -> FloatArray | None:
        if options.gain == GAINS["ndcg"] or examples.rows.n_rows < FEWEST_EXAMPLES:
            return None
        counts = np.bincount(examples.ids, minlength=n_labels)
        return inverse_propensity(counts, n_examples=examples.rows.n_rows)
