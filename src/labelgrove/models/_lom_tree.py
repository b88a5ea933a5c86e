"""The logarithmic online multi-class tree, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import Tags

from labelgrove import _core
from labelgrove._errors import ModelStateError
from labelgrove._parameters import flag, integer, real, seed_from
from labelgrove.models._online import OnlineClassifier, OnlineStart
from labelgrove.models._plt_options import (
    FLOATS,
    LARGEST_STEP,
    LEARNERS,
    BudgetedOptions,
    with_rate,
)
from labelgrove.models.engine._archive import Format
from labelgrove.models.engine._examples import Start
from labelgrove.models.engine._learned import MISSING, Learned, known
from labelgrove.models.engine._records import given, word, words_of
from labelgrove.trees._structure import depths_of
from labelgrove.tuning._pairs import FloatArray, IntArray

LOSSES = words_of(_core.Loss)

# Default number of inner nodes for every class seen: docs/decisions/lomtree.md.
_NODES_PER_CLASS = 4
_DEFAULT_RATES = {"adagrad": 0.25, "sgd": 0.25, "arow": 1.0}


@dataclass(frozen=True, kw_only=True)
class LOMTreeOptions(BudgetedOptions):
    """Options of the core, with values checked."""

    learner: int = word("learner", LEARNERS)
    loss: int = word("loss", LOSSES)
    rate: float = given("learning_rate", real, FLOATS[0], LARGEST_STEP)
    epsilon: float = given("epsilon", real, *FLOATS)
    r: float = given("r", real, *FLOATS)
    max_nodes: int = given("max_nodes", integer, 1, zero="auto")
    nodes_per_class: int
    swap_resistance: int = given("swap_resistance", integer, 1)
    leaves: int = given("leaves", integer, 1)
    normalize: bool = given("normalize", flag)

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> Self:
        p = with_rate(parameters, _DEFAULT_RATES)
        seed_from(p["random_state"])  # checked as in other estimators, though nothing is drawn
        return cls._with(p, nodes_per_class=_NODES_PER_CLASS)

    @classmethod
    def _parameters_of(cls, saved: Mapping[str, Any]) -> dict[str, Any]:
        return {**super()._parameters_of(saved), "random_state": 0}


class LOMTreeClassifier(OnlineClassifier):
    """Logarithmic online multi-class tree, which routes each example to its probable classes.

    Every inner node has one linear regressor that sends an example left or right; every leaf
    counts the classes of the examples that ended there (Choromanska & Langford 2015). Learning
    and prediction evaluate one regressor per level, so their time grows with the depth of the
    tree. The depth depends on the examples, not on a list of classes: new classes may appear in
    any call of :meth:`partial_fit`. The regressors learn online to keep the examples of a class
    together and the two sides balanced. When the limit on nodes is reached, nodes that few
    examples reach are recycled.

    For very many classes it is the fastest of the estimators. It is less accurate than
    :class:`OnlinePLTClassifier`, because classes must share leaves.

    Parameters
    ----------
    max_nodes : int or "auto"
        Largest number of inner nodes (T). ``"auto"`` grows with the k classes seen so far, as
        4 k - 1. More nodes are more accurate but take more memory: about 22 bytes for each
        feature that has reached an inner node. So 1,000 nodes and 30,000 features may take
        660 MB, unless ``max_bytes`` limits them.
    max_bytes : int or str, optional
        Limit on the memory of the tree, its weights and its class counts, as for
        :class:`OnlinePLTClassifier`. At the limit the model forgets the least important weights
        of all nodes. Nodes themselves may take a quarter of the limit; beyond that they are
        recycled.
    swap_resistance : int
        R_S: a leaf may take over the nodes of the smallest leaf s only if it has more than
        ``swap_resistance * (C_s + 1)`` examples of classes other than its most frequent one.
        With at least 4, and a fixed ``max_nodes``, no node is recycled more often than the
        logarithm (base 2) of the number of examples (Lemma 3).
    learner : {"arow", "adagrad", "sgd"}
        How regressors learn: adaptive regularisation of weights (diagonal, squared hinge),
        AdaGrad, or plain steps (online gradient descent, as in the paper).
    loss : {"squared", "logistic"}
        Loss of AdaGrad and plain steps. The squared loss compares the target, -1 or +1, with the
        prediction clipped to [-1, 1]; plain steps with it never overshoot.
    learning_rate : float, optional
        Step size of AdaGrad and plain steps (0.25 by default). AROW has none.
    epsilon : float
        AdaGrad's epsilon, which damps the first steps.
    r : float
        AROW's r; larger values make smaller steps.
    leaves : int
        Number of most probable leaves that a prediction combines. 1 follows a single path, as in
        the paper; 2 corrects many wrong turns, but evaluates two to four times as many
        regressors.
    normalize : bool
        Whether to scale examples to unit length. If not, they should be about 1 long.
    epochs : int
        Number of passes that :meth:`fit` makes over its data.
    threshold : float
        Not used: :meth:`predict` returns the most probable class.
    second_stage : {"calibrate", "head", "tail"} or float in [0, 1], optional
        A second stage after the tree: see :class:`PLTClassifier`. It learns from some examples,
        predicted before they are learnt.
    n_jobs : int, optional
        Number of threads for prediction; -1 for all processors. Learning uses one, because the
        route of an example depends on all earlier examples.
    random_state : int, RandomState or None
        Not used: the algorithm is deterministic.

    Notes
    -----
    ``predict_proba`` and ``predict_topk`` return the smoothed frequencies of the classes in the
    leaves of an example. Smoothing adds half an example to every node, divided among the classes
    by their smoothed frequencies at the parent. So every class has a probability, and the classes
    that a leaf has seen come first. Uniform-cost search finds the most probable leaves, and each
    counts by its probability: at a node the example goes to the side of most of its class with
    probability sigma(s m), with m its margin and s a slope that the node has learnt.
    ``beam_width`` of a prediction replaces ``leaves``.

    Any number of threads may predict at once. To learn meanwhile, use :meth:`shared`.

    Examples
    --------
    >>> import numpy as np
    >>> from labelgrove import LOMTreeClassifier
    >>> X = np.repeat(np.eye(4), 5, axis=0)
    >>> y = np.repeat(["ant", "bee", "cat", "dog"], 5)
    >>> order = np.argsort(np.arange(20) % 5, kind="stable")
    >>> clf = LOMTreeClassifier(epochs=3).fit(X[order], y[order])
    >>> clf.predict(np.eye(4)).tolist()
    ['ant', 'bee', 'cat', 'dog']
    >>> clf.statistics_.depth
    2
    """

    algorithm = "lomtree"
    _format = Format(LOMTreeOptions, _core.LomTree.load)
    _learned: Learned[LOMTreeOptions, _core.LomTree] | None = None

    def __init__(
        self,
        *,
        max_nodes: int | str = "auto",
        max_bytes: int | str | None = None,
        swap_resistance: int = 4,
        learner: str = "arow",
        loss: str = "squared",
        learning_rate: float | None = None,
        epsilon: float = 0.01,
        r: float = 1.0,
        leaves: int = 2,
        normalize: bool = True,
        epochs: int = 1,
        threshold: float = 0.5,
        second_stage: str | float | None = None,
        n_jobs: int | None = 1,
        random_state: Any = 0,
    ) -> None:
        self.max_nodes = max_nodes
        self.max_bytes = max_bytes
        self.swap_resistance = swap_resistance
        self.learner = learner
        self.loss = loss
        self.learning_rate = learning_rate
        self.epsilon = epsilon
        self.r = r
        self.leaves = leaves
        self.normalize = normalize
        self.epochs = epochs
        self.threshold = threshold
        self.second_stage = second_stage
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def statistics_(self) -> LOMTreeStatistics:
        """Shape of the tree, and how well each of its nodes splits the examples.

        Raises
        ------
        ModelStateError
            If the model was saved for prediction, which leaves the statistics out.
        """
        with self._reading("statistics_"):
            learned = known(self._learned)
            if not learned.engine.can_learn:
                raise ModelStateError(
                    "this model was saved for prediction only, without the statistics of its nodes"
                )
            return statistics_of_lom_tree(learned.engine.nodes())

    @property
    def _kinds(self) -> tuple[str, ...]:
        return ("multiclass",)

    def _start(self) -> OnlineStart:
        options = LOMTreeOptions.from_parameters(self.get_params(deep=False))
        return Start(options, lambda _: _core.LomTree(options.to_dict()))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        return tags


@dataclass(frozen=True, kw_only=True)
class LOMTreeStatistics:
    """Statistics of the current LOMtree; arrays have one entry per node, the root first.

    Frequencies were counted while learning, with the scores that each example had at the time.

    Attributes
    ----------
    parents : ndarray of int64
        -1 for the root.
    depths : ndarray of int64
        0 for the root.
    reached : ndarray of int64
        Number of examples that have reached the node.
    swaps : ndarray of int64
        Number of times that the node was recycled (Figure 2).
    balance : ndarray of float64
        beta (Definition 2), the share of the examples that went right; NaN for leaves.
    purity : ndarray of float64
        alpha (Definition 1), the share of the examples that went to the other side than most of
        their class: 0 is pure, 0.5 the worst. NaN for leaves.
    objective : ndarray of float64
        J (Equation 1): 1 for a pure and balanced split, 0 for one that does not distinguish
        classes. NaN for leaves.
    entropy : float
        G_t (section 2.3): the entropy of the classes in a leaf, in nats, averaged over the
        examples that have ended in the leaves.
    root_entropy : float
        The entropy of the classes of all examples, in nats, before any split.
    """

    parents: IntArray
    depths: IntArray
    reached: IntArray
    swaps: IntArray
    balance: FloatArray
    purity: FloatArray
    objective: FloatArray
    entropy: float
    root_entropy: float

    @property
    def n_nodes(self) -> int:
        """Number of nodes, including leaves."""
        return len(self.parents)

    @property
    def n_leaves(self) -> int:
        """Number of leaves, one more than inner nodes."""
        return (self.n_nodes + 1) // 2

    @property
    def depth(self) -> int:
        """Depth of the deepest leaf."""
        return int(self.depths.max())

    @property
    def mean_depth(self) -> float:
        """Depth of the leaves, averaged over the examples that have ended in them."""
        leaves = np.isnan(self.balance)
        weights = self.reached[leaves]
        return float(np.average(self.depths[leaves], weights=weights)) if weights.any() else 0.0


def statistics_of_lom_tree(nodes: Mapping[str, npt.NDArray[Any]]) -> LOMTreeStatistics:
    """Compute the statistics of a tree from arrays named as in docs/format.md."""
    left, right = nodes["node.left"], nodes["node.right"]
    n = len(left)
    inner = np.flatnonzero(left != MISSING)
    parents = np.full(n, -1)
    parents[left[inner]] = parents[right[inner]] = inner
    at = np.repeat(np.arange(n), nodes["node.classes"])  # the node of every class

    def sums(values: npt.NDArray[Any]) -> FloatArray:
        return np.bincount(at, values, minlength=n).astype(np.float64)

    reached, trained, went_right = (
        nodes[f"class.{name}"].astype(np.float64) for name in ("reached", "trained", "right")
    )
    total = sums(trained)
    total[left == MISSING] = np.nan
    beta = sums(went_right) / total
    astray = np.minimum(went_right, trained - went_right)
    # pi_i |beta - P(right | i)|, without dividing by a class that was never trained on.
    unlike = np.abs(beta[at] * trained - went_right)
    shares = reached / sums(reached)[at]  # of the classes seen at every node
    entropies = sums(-shares * np.log(shares))
    weights = np.where(left == MISSING, sums(reached), 0.0)
    return LOMTreeStatistics(
        parents=parents,
        depths=depths_of(parents),
        reached=sums(reached).astype(np.int64),
        swaps=nodes["node.swaps"].astype(np.int64),
        balance=beta,
        purity=sums(astray) / total,
        objective=2 * sums(unlike) / total,
        entropy=float(np.average(entropies, weights=weights)) if weights.any() else 0.0,
        root_entropy=float(entropies[0]),
    )
