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
from labelgrove._features import FeatureNames
from labelgrove._labels import LabelRegistry
from labelgrove._parameters import choice, flag, integer, real, seed_from
from labelgrove.models._online import OnlineClassifier, OnlineStart
from labelgrove.models._plt_options import (
    FLOATS,
    LARGEST_STEP,
    LEARNERS,
    budget_from,
    budget_of,
)
from labelgrove.models.engine._archive import Format
from labelgrove.models.engine._examples import Start
from labelgrove.models.engine._learned import Learned, known
from labelgrove.models.engine._predicting import MISSING
from labelgrove.models.engine._records import SavedOptions, word_for, words_of
from labelgrove.trees._structure import depths_of

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

LOSSES = words_of(_core.Loss)

# Inner nodes for every class seen, where the user names no number: docs/decisions/lomtree.md.
_NODES_PER_CLASS = 4
_DEFAULT_RATES = {"arow": 1.0, "adagrad": 0.25, "sgd": 0.25}


@dataclass(frozen=True)
class LOMTreeOptions(SavedOptions):
    """All that the core must know, every value checked."""

    learner: int
    loss: int
    rate: float
    epsilon: float
    r: float
    max_nodes: int
    nodes_per_class: int
    swap_resistance: int
    leaves: int
    normalize: bool
    max_bytes: int = 0  # 0 where there is no bound
    sums_bytes: int = 0  # of max_bytes in all, what the second stage may take

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> Self:
        p = parameters
        learner = choice(p, "learner", LEARNERS)
        auto = isinstance(p["max_nodes"], str) and p["max_nodes"] == "auto"
        rate = p["learning_rate"]
        seed_from(p["random_state"])  # refused like everywhere, though nothing is drawn
        return cls(
            learner=LEARNERS[learner],
            loss=LOSSES[choice(p, "loss", LOSSES)],
            rate=_DEFAULT_RATES[learner]
            if rate is None
            else real(p, "learning_rate", FLOATS[0], LARGEST_STEP),
            epsilon=real(p, "epsilon", *FLOATS),
            r=real(p, "r", *FLOATS),
            max_nodes=0 if auto else integer("max_nodes", p["max_nodes"], 1),
            nodes_per_class=_NODES_PER_CLASS,
            swap_resistance=integer("swap_resistance", p["swap_resistance"], 1),
            leaves=integer("leaves", p["leaves"], 1),
            normalize=flag("normalize", p["normalize"]),
            **budget_from(p),
        )

    @classmethod
    def _parameters_of(cls, saved: Mapping[str, Any]) -> dict[str, Any]:
        return {
            **saved,
            "learner": word_for(saved["learner"], LEARNERS),
            "loss": word_for(saved["loss"], LOSSES),
            "learning_rate": saved["rate"],
            "max_nodes": saved["max_nodes"] or "auto",
            "random_state": 0,
            **budget_of(saved),
        }


class LOMTreeClassifier(OnlineClassifier):
    """Logarithmic online multi-class tree: routes an example to the classes that it may have.

    Every inner node holds one linear regressor that sends an example left or right, every leaf the
    frequencies of the classes that have ended there (Choromanska & Langford 2015). Learning and
    predicting ask one regressor a level, so their time grows with the depth of the tree, which
    depends on the examples and not on a list of classes: new classes may show up in any call of
    :meth:`partial_fit`. The regressors learn, online, to keep the examples of a class together and
    the two sides balanced. When no more nodes may be made, those that hardly any example reaches
    are recycled where they are needed.

    It is the fastest of the estimators where there are very many classes, and less accurate than
    :class:`OnlinePLTClassifier`: a class must share its leaves with others.

    Parameters
    ----------
    max_nodes : int or "auto"
        T, the most inner nodes. ``"auto"`` lets it grow with the k classes seen so far: 4 k - 1.
        More nodes are more accurate and take more memory: about 22 bytes for each feature that an
        inner node has met. So 1,000 nodes and 30,000 features may come to 660 MB, unless
        ``max_bytes`` bounds it.
    max_bytes : int or str, optional
        What the tree, its weights and the frequencies of classes may take at any time, as a number
        or as "500MB"; no bound by default. Where it is reached, the weights of all nodes that are
        worth least are forgotten; nodes may take a quarter and are recycled beyond. The result is
        the same for any cut into calls. The sums of ``second_stage`` get three sixteenths of it.
        Names of features, and longer ones of labels, do not count.
    swap_resistance : int
        R_S: a leaf may take the nodes of the smallest leaf s only if it holds more than
        ``swap_resistance * (C_s + 1)`` examples of other classes than its most frequent one. From
        4 on, and with a fixed ``max_nodes``, no node is recycled more often than the logarithm
        (base 2) of the number of examples (Lemma 3).
    learner : {"arow", "adagrad", "sgd"}
        How regressors learn: adaptive regularisation of weights (diagonal, squared hinge),
        AdaGrad, or plain steps (online gradient descent, the paper's).
    loss : {"squared", "logistic"}
        Loss of AdaGrad and plain steps. The squared loss compares the target, -1 or +1, with the
        prediction clipped to [-1, 1], and its plain steps never overshoot.
    learning_rate : float, optional
        Step size of AdaGrad and plain steps (0.25 by default). AROW has none.
    epsilon : float
        AdaGrad's epsilon, which damps the first steps.
    r : float
        AROW's r: the larger, the smaller the steps.
    leaves : int
        How many of the most probable leaves of an example a prediction goes by. 1 is the paper's
        one path; 2 forgives most of the wrong turns, and asks two to four times as many
        regressors.
    normalize : bool
        Whether examples are scaled to unit length.
    epochs : int
        Passes of :meth:`fit` over its data.
    threshold : float
        Not used: :meth:`predict` gives the most probable class.
    second_stage : {"calibrate", "head", "tail"} or float in [0, 1], optional
        What comes after the tree: see :class:`OnlinePLTClassifier`.
    n_jobs : int, optional
        Threads for prediction; -1 for all processors. Learning takes one: where an example goes
        depends on all that came before.
    random_state : int, RandomState or None
        Not used: nothing here is random.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes that can be predicted, sorted.
    label_counts_ : ndarray of int64, shape (n_classes,)
        In how many examples each class was seen, every pass counted.
    n_features_in_ : int
        Columns seen so far.
    examples_seen_ : int
        Examples learnt from, every pass counted.

    Notes
    -----
    ``predict_proba`` and ``predict_topk`` give the frequencies of the classes at the leaves of an
    example. They are smoothed: at every node half an example more is counted, which is shared out
    among the classes by their smoothed frequencies at the parent. So every class has a probability,
    and those that a leaf has seen come first. Several leaves are found by uniform-cost search and
    count by their probabilities: at a node the example goes to the side of most of its class with
    probability sigma(s m), of its margin m and of a slope s that the node has learnt.
    ``beam_width`` of a prediction stands in for ``leaves``.

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
    _kinds = ("multiclass",)

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
        """The tree, and how well each of its nodes splits.

        Raises
        ------
        ModelStateError
            If the model was saved for prediction: they are not kept there.
        """
        with self._reading("statistics_"):
            learned = known(self._learned)
            if not learned.engine.can_learn:
                raise ModelStateError(
                    "this model was saved for prediction only, without the statistics of its nodes"
                )
            return statistics_of_lom_tree(learned.engine.nodes())

    def _start(self, *, named: bool) -> OnlineStart:
        options = LOMTreeOptions.from_parameters(self.get_params(deep=False))
        return Start(
            options,
            LabelRegistry(),
            FeatureNames() if named else None,
            lambda _: _core.LomTree(options.to_dict()),
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        return tags


@dataclass(frozen=True)
class LOMTreeStatistics:
    """A LOMtree as it stands; arrays hold one entry a node, the root first.

    Frequencies are those of learning: each example counts with the scores that it had then.

    Attributes
    ----------
    parents : ndarray of int64
        -1 for the root.
    depths : ndarray of int64
        0 for the root.
    reached : ndarray of int64
        Examples that have come to the node.
    swaps : ndarray of int64
        How often the node was recycled (Figure 2).
    balance : ndarray of float64
        beta (Definition 2), the share of the examples that went right; NaN for leaves.
    purity : ndarray of float64
        alpha (Definition 1), the share of the examples that went the other way than most of their
        class: 0 is pure, 0.5 the worst. NaN for leaves.
    objective : ndarray of float64
        J (Equation 1): 1 where a split is pure and balanced, 0 where it tells classes nothing. NaN
        for leaves.
    entropy : float
        G_t (section 2.3): the entropy of the classes at a leaf, in nats, averaged over the
        examples that have ended in the leaves.
    root_entropy : float
        The entropy of the classes of all examples, in nats: what the tree began with.
    """

    parents: Integers
    depths: Integers
    reached: Integers
    swaps: Integers
    balance: Floats
    purity: Floats
    objective: Floats
    entropy: float
    root_entropy: float

    @property
    def n_nodes(self) -> int:
        """Nodes, leaves included."""
        return len(self.parents)

    @property
    def n_leaves(self) -> int:
        """Leaves: one more than inner nodes."""
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
    """The figures of a tree whose arrays are named as in docs/format.md."""
    left, right = nodes["node.left"], nodes["node.right"]
    n = len(left)
    inner = np.flatnonzero(left != MISSING)
    parents = np.full(n, -1)
    parents[left[inner]] = parents[right[inner]] = inner
    at = np.repeat(np.arange(n), nodes["node.classes"])  # the node of every class

    def sums(values: npt.NDArray[Any]) -> Floats:
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
    entropies = _entropies(reached, sums(reached), at)
    weights = np.where(left == MISSING, sums(reached), 0.0)
    return LOMTreeStatistics(
        parents=parents,
        depths=depths_of(parents),
        reached=sums(reached).astype(np.int64),
        swaps=nodes["node.swaps"].astype(np.int64),
        balance=beta,
        purity=sums(astray) / total,
        objective=2 * sums(unlike) / total,
        entropy=float(np.average(entropies, weights=weights)),
        root_entropy=float(entropies[0]),
    )


def _entropies(counts: Floats, totals: Floats, at: Integers) -> Floats:
    """The entropy of the classes at every node; classes that were not seen are not listed."""
    shares = counts / totals[at]
    return np.bincount(at, -shares * np.log(shares), minlength=len(totals)).astype(np.float64)
