"""LdSM, an ensemble of multi-label decision trees, as a scikit-learn estimator."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from labelgrove import _core
from labelgrove._errors import ModelStateError
from labelgrove._features import FeatureNames
from labelgrove._labels import LabelRegistry
from labelgrove._parameters import choice, flag, integer, real, seed_from, thread_count
from labelgrove.models._batch import BatchClassifier, BatchStart
from labelgrove.models.engine._archive import Format
from labelgrove.models.engine._examples import Examples, Start
from labelgrove.models.engine._learned import Learned, known
from labelgrove.models.engine._predicting import MISSING
from labelgrove.models.engine._records import SavedOptions, word_for, words_of

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

LEARNERS = words_of(_core.LearnerKind)
del LEARNERS["arow"]  # which has no squared loss
SHARES = words_of(_core.LeafShare)


@dataclass(frozen=True)
class LdsmOptions(SavedOptions):
    """All that the core must know, every value checked."""

    trees: int
    arity: int
    max_nodes: int
    epochs: int
    min_examples: int
    min_count: int
    lambda1: float
    lambda2: float
    learner: int
    rate: float
    spread: float
    share: int
    tail_weight: float
    tail_gamma: float
    shuffle: bool
    normalize: bool
    seed: int

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> Self:
        p = parameters
        return cls(
            trees=integer("n_estimators", p["n_estimators"], 1, 10_000),
            arity=integer("arity", p["arity"], 2, 8),
            max_nodes=integer("max_nodes", p["max_nodes"], 1),
            epochs=integer("epochs_per_node", p["epochs_per_node"], 1, 10_000),
            min_examples=integer("min_samples_split", p["min_samples_split"], 2),
            min_count=integer("min_feature_count", p["min_feature_count"], 1),
            lambda1=real(p, "lambda1", 0.0, 1e6),
            lambda2=real(p, "lambda2", 0.0, 1e6),
            learner=LEARNERS[choice(p, "learner", LEARNERS)],
            rate=real(p, "learning_rate", 1e-30, 1e6),
            spread=real(p, "initial_spread", 0.0, 1e6),
            share=SHARES[choice(p, "leaf_share", SHARES)],
            tail_weight=real(p, "tail_weight", 0.0, 1.0),
            tail_gamma=real(p, "tail_gamma", 0.0, 1e6),
            shuffle=flag("shuffle", p["shuffle"]),
            normalize=flag("normalize", p["normalize"]),
            seed=seed_from(p["random_state"]),
        )

    @classmethod
    def _parameters_of(cls, saved: Mapping[str, Any]) -> dict[str, Any]:
        return {
            **saved,
            "n_estimators": saved["trees"],
            "epochs_per_node": saved["epochs"],
            "min_samples_split": saved["min_examples"],
            "min_feature_count": saved["min_count"],
            "learner": word_for(saved["learner"], LEARNERS),
            "learning_rate": saved["rate"],
            "initial_spread": saved["spread"],
            "leaf_share": word_for(saved["share"], SHARES),
            "random_state": saved["seed"],
        }


class LdSMClassifier(BatchClassifier):
    """Logarithm-depth streaming multi-label decision trees, in an ensemble.

    Every inner node has M linear regressors that send an example to one or several of its M
    children; every leaf, the shares of the labels of the examples that ended there (Majzoubi &
    Choromanska 2020). The regressors of a node learn which examples to take by minimising one
    objective that wants the children balanced, the examples of a label together, and few examples
    in more than one child. A label's score is the mean of its shares in the leaves that the
    example reaches.

    Parameters
    ----------
    n_estimators : int
        Trees. They differ in the weights that regressors begin with.
    arity : int from 2 to 8
        M, children of an inner node.
    max_nodes : int
        T_max: a tree that has as many nodes grows no more.
    epochs_per_node : int
        E: passes of a node over the examples that reach it.
    lambda1 : float
        Weight of keeping the examples of a label together. Trees become lopsided where it is
        larger than ``lambda2``.
    lambda2 : float
        Weight of the penalty for sending examples to several children.
    learner : {"nag", "adagrad", "sgd"}
        How regressors learn, in squared loss: by normalised adaptive gradient (Ross et al. 2013),
        AdaGrad, or plain steps.
    learning_rate : float
        Step size.
    initial_spread : float
        Weights begin at random between this and its negative; NAG's in units of 1 over the
        largest value of their feature.
    min_samples_split : int
        Nodes that fewer examples have reached are not split.
    min_feature_count : int
        A feature that fewer of the examples that train a node have does not count there: half of
        what a node sees is seen once, and says nothing of other examples.
    leaf_share : {"examples", "labels"}
        Whether a label's share in a leaf is that of examples that have it, an estimate of its
        probability, or that of all labels of these examples, as in the paper.
    tail_weight : float in [0, 1]
        How much the nearness of a label's centroid, the mean of the examples that have the label,
        counts in its score: p^(1 - w) r^w, with p the mean share and r = 2 / (1 + exp(tail_gamma
        d / 2)), d the squared distance. It helps labels that few examples have (PfastreXML, Jain
        et al. 2016, who take 0.2). 0: centroids are not kept.
    tail_gamma : float
        How fast nearness falls.
    shuffle : bool
        Whether every pass of a node takes its examples in an order of its own, which measured
        better, or all in the given one, as in the paper.
    normalize : bool
        Whether examples are scaled to unit length.
    threshold : float
        Score from which :meth:`predict` returns a label, for multi-label targets.
    second_stage : {"calibrate", "head", "tail"} or float in [0, 1], optional
        What comes after the trees: see :class:`PLTClassifier`.
    n_jobs : int, optional
        Threads; -1 for all processors. The result is the same for any number.
    random_state : int, RandomState or None
        Seed of all random choices. None draws one.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels that can be predicted, sorted; for indicator targets the column numbers.
    label_counts_ : ndarray of int64, shape (n_classes,)
        In how many examples each class was seen.
    n_features_in_ : int
        Columns of X.
    examples_seen_ : int
        Examples learnt from.
    target_type_ : {"multiclass", "multilabel"}

    Notes
    -----
    While a node learns, it reads the examples that reached it where they lie; nothing is copied.
    Examples without labels train no regressor, but end in leaves and lower the shares there.
    Predictions go where the regressors send them: there is no search, and no ``beam_width``.

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
    _format = Format(LdsmOptions, _core.Ldsm.load)
    _learned: Learned[LdsmOptions, _core.Ldsm] | None = None
    _takes_beam = False

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
        """How nodes were split, and the shape of the trees; not in models for prediction."""
        with self._reading("statistics_"):
            learned = known(self._learned)
            if not learned.engine.can_learn:
                raise ModelStateError("statistics_: this model was saved for prediction, without")
            classes = len(learned.engine.labels())
            return statistics_of_ldsm(learned.engine.nodes(), learned.options.to_dict(), classes)

    def _start(self, *, named: bool) -> BatchStart:
        options = LdsmOptions.from_parameters(self.get_params(deep=False))
        thread_count(self.n_jobs)
        make = partial(self._grow, options)
        return Start(options, LabelRegistry(), FeatureNames() if named else None, make)

    def _grow(
        self,
        options: LdsmOptions,
        examples: Examples,
        weights: npt.NDArray[np.float32] | None,
        progress: _core.Progress,
    ) -> _core.Ldsm:
        engine = _core.Ldsm(options.to_dict())
        engine.grow(
            *examples.rows.arrays,
            examples.indptr,
            examples.ids,
            weights,
            examples.first + len(examples.fresh),
            thread_count(self.n_jobs),
            progress,
        )
        return engine


@dataclass(frozen=True)
class LdSMStatistics:
    """All trees of an ensemble; arrays hold one entry a node, tree after tree, roots first.

    Attributes
    ----------
    arity : int
        M.
    n_classes : int
        K, labels that the trees know.
    trees : ndarray of int64
        The number of the node's tree.
    parents : ndarray of int64
        Position of the parent in these arrays; -1 for roots.
    depths : ndarray of int64
        0 for roots.
    reached : ndarray of int64
        Training examples that have come to the node.
    course : ndarray of float64, shape (n_nodes, epochs)
        J of Equation 1 after every epoch of the node's training, from the margins of its
        regressors (Figure 3); NaN for leaves.
    objective : ndarray of float64
        J of the examples as they were sent in the end; NaN for leaves.
    balance : ndarray of float64
        beta (Definition 1): 0 where all children got as much; NaN for leaves.
    purity : ndarray of float64
        alpha (Definition 2): 0 where no label's examples went to more than one child; NaN for
        leaves.
    multi_way : ndarray of float64
        How many children an example was sent to beyond the first, on average; NaN for leaves.
    """

    arity: int
    n_classes: int
    trees: Integers
    parents: Integers
    depths: Integers
    reached: Integers
    course: Floats
    objective: Floats
    balance: Floats
    purity: Floats
    multi_way: Floats

    @property
    def n_nodes(self) -> int:
        """Nodes of all trees, leaves included."""
        return len(self.parents)

    @property
    def n_trees(self) -> int:
        """Trees."""
        return int(self.trees[-1]) + 1

    @property
    def depth(self) -> int:
        """Depth of the deepest tree."""
        return int(self.depths.max())

    @property
    def log_classes(self) -> float:
        """log_M K: the depth of a balanced tree with one leaf a label (Figure 2)."""
        return math.log(max(self.n_classes, 1), self.arity)


def statistics_of_ldsm(
    nodes: Mapping[str, npt.NDArray[Any]], options: Mapping[str, Any], n_classes: int
) -> LdSMStatistics:
    """The figures of trees whose arrays are named as in docs/format.md."""
    arity, epochs = int(options["arity"]), int(options["epochs"])
    sizes = nodes["tree.nodes"].astype(np.int64)
    n = int(sizes.sum())
    trees = np.repeat(np.arange(len(sizes)), sizes)
    first = nodes["node.first_child"].astype(np.int64)
    inner = np.flatnonzero(first != int(MISSING))
    roots = np.cumsum(sizes) - sizes
    children = (roots[trees[inner]] + first[inner])[:, None] + np.arange(arity)
    parents = np.full(n, -1)
    parents[children] = inner[:, None]
    depths = np.zeros(n, np.int64)
    for v, below in zip(inner.tolist(), children, strict=True):  # parents come first
        depths[below] = depths[v] + 1
    reached = nodes["node.examples"].astype(np.int64)

    def of_inner(values: npt.NDArray[Any]) -> Floats:
        spread = np.full((n, *values.shape[1:]), np.nan)
        spread[inner] = values
        return spread

    return LdSMStatistics(
        arity=arity,
        n_classes=n_classes,
        trees=trees,
        parents=parents,
        depths=depths,
        reached=reached,
        course=of_inner(nodes["split.course"].reshape(len(inner), epochs)),
        objective=of_inner(nodes["split.objective"]),
        balance=of_inner(nodes["split.balance"]),
        purity=of_inner(nodes["split.purity"]),
        multi_way=of_inner(reached[children].sum(axis=1) / reached[inner] - 1.0),
    )
