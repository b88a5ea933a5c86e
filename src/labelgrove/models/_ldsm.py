"""LdSM, an ensemble of multi-label decision trees, as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from labelgrove import _core
from labelgrove._parameters import flag, integer, real
from labelgrove.models._forest import ForestClassifier, ForestStatistics, of_inner
from labelgrove.models.engine._archive import Format
from labelgrove.models.engine._records import Options, given, seed, word, words_of
from labelgrove.tuning._pairs import FloatArray

LEARNERS = words_of(_core.LearnerKind)
del LEARNERS["arow"]  # it does not support squared loss
SHARES = words_of(_core.LeafShare)


@dataclass(frozen=True, kw_only=True)
class LdsmOptions(Options):
    """Options of the core, with values checked."""

    trees: int = given("n_estimators", integer, 1, 10_000)
    arity: int = given("arity", integer, 2, 8)
    max_nodes: int = given("max_nodes", integer, 1)
    epochs: int = given("epochs_per_node", integer, 1, 10_000)
    min_examples: int = given("min_samples_split", integer, 2)
    min_count: int = given("min_feature_count", integer, 1)
    lambda1: float = given("lambda1", real, 0.0, 1e6)
    lambda2: float = given("lambda2", real, 0.0, 1e6)
    learner: int = word("learner", LEARNERS)
    rate: float = given("learning_rate", real, 1e-30, 1e6)
    spread: float = given("initial_spread", real, 0.0, 1e6)
    share: int = word("leaf_share", SHARES)
    tail_weight: float = given("tail_weight", real, 0.0, 1.0)
    tail_gamma: float = given("tail_gamma", real, 0.0, 1e6)
    shuffle: bool = given("shuffle", flag)
    normalize: bool = given("normalize", flag)
    seed: int = seed()


class LdSMClassifier(ForestClassifier):
    """Ensemble of logarithm-depth multi-label decision trees (LdSM).

    Every inner node has M linear regressors, which send an example to one or several of its M
    children. Every leaf has the label shares of the examples that ended there (Majzoubi &
    Choromanska 2020). The regressors of a node minimise one objective, which favours balanced
    children, keeps the examples of a label together, and penalises sending examples to several
    children. A label's score is the mean of its shares in the leaves that the example reaches.

    Parameters
    ----------
    n_estimators : int
        Number of trees. They differ in the initial weights of their regressors.
    arity : int from 2 to 8
        Number of children of an inner node (M). Above 4, raise ``lambda2`` as well.
    max_nodes : int
        Number of nodes at which a tree stops growing (T_max).
    epochs_per_node : int
        Number of passes that a node makes over its examples (E).
    lambda1 : float
        Weight of keeping the examples of a label together. Trees become lopsided if it exceeds
        ``lambda2``. For columns of measurements and few classes lower it, to 0.5 for example: at
        2, nodes in which one class prevails are not split.
    lambda2 : float
        Weight of the penalty for sending examples to several children. It should exceed
        ``(arity - 3) * lambda1``, or else nodes prefer to send them to several: trees then become
        deep, and learning and prediction take many times as long (Lemma 1).
    learner : {"nag", "adagrad", "sgd"}
        How regressors minimise their squared loss: by normalised adaptive gradient (Ross et al.
        2013), AdaGrad, or plain steps.
    learning_rate : float
        Step size.
    initial_spread : float
        Initial weights are drawn between minus this value and this value. With "nag" they are
        divided by the largest value of their feature.
    min_samples_split : int
        Nodes with fewer examples are not split.
    min_feature_count : int
        A node ignores features that occur in fewer of its training examples. Half of a node's
        features occur once and say nothing about other examples.
    leaf_share : {"examples", "labels"}
        A label's share in a leaf: of the examples, which estimates its probability, or of all
        labels of these examples, as in the paper.
    tail_weight : float in [0, 1]
        Weight w of the similarity to the label's centroid (the mean of its examples) in its
        score p^(1 - w) r^w, with p the mean share, r = 2 / (1 + exp(tail_gamma d / 2)), and d the
        squared distance. It helps rare labels (PfastreXML, Jain et al. 2016, uses 0.2). With 0 no
        centroids are stored.
    tail_gamma : float
        How fast r falls with the distance.
    shuffle : bool
        Whether every pass of a node takes its examples in a new order, which measured better, or
        in the given order, as in the paper.
    normalize : bool
        Whether to scale examples to unit length. If not, they should be about 1 long.
    threshold : float
        Lowest score at which :meth:`predict` returns a label, for multi-label targets.
    second_stage : {"calibrate", "head", "tail"} or float in [0, 1], optional
        A second stage after the trees: see :class:`PLTClassifier`.
    n_jobs : int, optional
        Number of threads; -1 for all processors. The result is the same for any number.
    random_state : int, RandomState or None
        Seed of all random choices. None draws one.

    Notes
    -----
    A node reads its examples in place; nothing is copied. Examples without labels train no
    regressor, but end in leaves and lower the shares there. Prediction follows the regressors
    without a search, so there is no ``beam_width``.

    Examples
    --------
    >>> from labelgrove import LdSMClassifier
    >>> X = [{"fish": 1, "soup": 1}, {"cat": 1, "fish": 1}, {"cat": 1, "dog": 1}, {"soup": 1}]
    >>> Y = [["food"], ["pets", "food"], ["pets"], ["food"]]
    >>> clf = LdSMClassifier(n_estimators=10).fit(5 * X, 5 * Y)
    >>> clf.predict_topk([{"dog": 1}], k=1)[0].tolist()
    [['pets']]
    >>> clf.statistics_.n_trees
    10
    """

    algorithm = "ldsm"
    _format = Format(LdsmOptions, _core.Forest.load)

    def __init__(
        self,
        *,
        n_estimators: int = 50,
        arity: int = 4,
        max_nodes: int = 4000,
        epochs_per_node: int = 5,
        lambda1: float = 2.0,
        lambda2: float = 4.0,
        learner: str = "adagrad",
        learning_rate: float = 0.1,
        initial_spread: float = 0.1,
        min_samples_split: int = 10,
        min_feature_count: int = 2,
        leaf_share: str = "examples",
        tail_weight: float = 0.0,
        tail_gamma: float = 30.0,
        shuffle: bool = True,
        normalize: bool = True,
        threshold: float = 0.5,
        second_stage: str | float | None = None,
        n_jobs: int | None = 1,
        random_state: Any = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.arity = arity
        self.max_nodes = max_nodes
        self.epochs_per_node = epochs_per_node
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.learner = learner
        self.learning_rate = learning_rate
        self.initial_spread = initial_spread
        self.min_samples_split = min_samples_split
        self.min_feature_count = min_feature_count
        self.leaf_share = leaf_share
        self.tail_weight = tail_weight
        self.tail_gamma = tail_gamma
        self.shuffle = shuffle
        self.normalize = normalize
        self.threshold = threshold
        self.second_stage = second_stage
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def statistics_(self) -> LdSMStatistics:
        """Shape of the trees and quality of the splits; not in models saved for prediction."""
        forest, nodes = self._statistics()
        inner = ~np.isnan(forest.objective)
        splits = int(inner.sum())
        course = nodes["split.course"].reshape(splits, -1 if splits else 0)
        below = forest.parents >= 0
        sent = np.bincount(forest.parents[below], forest.reached[below], minlength=len(inner))
        return LdSMStatistics(
            **vars(forest),
            course=of_inner(inner, course),
            balance=of_inner(inner, nodes["split.balance"]),
            purity=of_inner(inner, nodes["split.purity"]),
            multi_way=of_inner(inner, sent[inner] / forest.reached[inner] - 1.0),
        )


@dataclass(frozen=True, kw_only=True)
class LdSMStatistics(ForestStatistics):
    """Statistics of all trees of an LdSM ensemble: a :class:`ForestStatistics` with more fields.

    Its ``objective`` is J of the final routes of the examples.

    Attributes
    ----------
    course : ndarray of float64, shape (n_nodes, epochs)
        J of Equation 1 after every epoch of the node's training, from the margins of its
        regressors (Figure 3); NaN for leaves.
    balance : ndarray of float64
        beta (Definition 1): 0 if all children got the same number of examples; NaN for leaves.
    purity : ndarray of float64
        alpha (Definition 2): 0 if no label's examples went to more than one child; NaN for leaves.
    multi_way : ndarray of float64
        Average number of children beyond the first that an example was sent to; NaN for leaves.
    """

    course: FloatArray
    balance: FloatArray
    purity: FloatArray
    multi_way: FloatArray
