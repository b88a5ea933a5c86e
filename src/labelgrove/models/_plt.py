"""The probabilistic label tree learnt in batch, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from labelgrove import _core
from labelgrove._errors import DataError, ParameterError
from labelgrove._features import FeatureNames
from labelgrove._labels import LabelRegistry
from labelgrove._parameters import thread_count
from labelgrove._validation import check_weights
from labelgrove.models._batch import BatchClassifier, BatchStart
from labelgrove.models._label_tree import LabelTreeClassifier
from labelgrove.models._online_plt import iplt_options, online_options
from labelgrove.models._plt_options import (
    LINKS,
    SOLVERS,
    BatchOptions,
    EngineOptions,
    check_class_weight,
    class_weights,
)
from labelgrove.models.engine._archive import Format
from labelgrove.models.engine._batch import BatchEngine, learn_iplt, prepare
from labelgrove.models.engine._examples import MOST_WEIGHT, Examples, Start
from labelgrove.models.engine._learned import Learned
from labelgrove.models.engine._trees import TreePlan, engine_tree_of_ids, labels_of
from labelgrove.trees import LabelTree


class PLTClassifier(BatchClassifier, LabelTreeClassifier):
    """Probabilistic label tree, learnt from all examples at once.

    The labels hang on a tree that is built from the data, and every node has a linear classifier
    that tells whether an example has a label below it (Jasinska et al. 2016). Node classifiers are
    those of L2-regularised squared hinge or logistic loss, each learnt from the examples of its
    parent; a balanced k-means tree makes it the model of Parabel (Prabhu et al. 2018), a wide one
    that of Bonsai (Khandagale et al. 2020), a tree of one level one-versus-rest.

    Parameters
    ----------
    tree : str or LabelTree
        ``"kmeans"``: balanced k-means over what the labels' examples look like;
        ``"interpolated"``: between that and Fano's tree (Baharav et al. 2021);
        ``"cost"``: the cheapest one to search, which chooses every width by itself;
        ``"huffman"``, ``"fano"``: by the labels' frequency alone;
        ``"complete"``, ``"random"``: complete, in order of arrival or at random;
        ``"flat"``: all labels below the root, which is one-versus-rest.
        Or a tree of your own, which must have every label of the data.
    arity : int, optional
        Children of an inner node; by default one for every 128 labels of the data, or for every
        ``max_leaf_size`` if that is less, but from 2 to 32. Huffman's trees have 32.
    max_leaf_size : int
        Labels that hang together on one node, at most; not for the trees of Huffman and of least
        cost.
    interpolation : float in [0, 2]
        λ of ``tree="interpolated"``: 0 is k-means, 1 weighted k-means, 2 Fano's tree.
    n_trees : int
        Trees of the ensemble, which differ in their random choices; their probabilities are
        averaged.
    loss : {"squared_hinge", "log"}, optional
        What node classifiers minimise; by default the squared hinge, but with ``link="softmax"``
        and with ``solver="adagrad"`` the logistic loss.
    link : {"softmax", "cubic_hinge"}, optional
        By default every node has a probability of its own: σ(m) of the margin m for the logistic
        loss, exp(-max(0, 1 - m)²) for the squared hinge, as in Parabel. ``"cubic_hinge"``, for
        the squared hinge: exp(-max(0, 1 - m)³), as in PECOS, which may rank labels better where
        trees are uncertain, but gives probabilities that are far too high. ``"softmax"``:
        siblings compete, and the labels' probabilities sum to one: hierarchical softmax, for
        multi-class targets alone.
    solver : {"dual", "adagrad"}
        Dual coordinate ascent up to ``tol``; or ``max_iter`` passes of AdaGrad, which is IPLT
        (Jasinska-Kobus et al. 2021, Algorithm 1).
    C : float, optional
        Weight of the loss against the regulariser ½|w|². By default 10 for the logistic loss, and
        for the squared hinge 1, or √(400/n) for a node or label that n > 400 examples have.
    bias : float
        Value of the constant feature; 0 for none.
    tol : float, optional
        How far the derivative of any dual variable may be from optimal: 0.3 by default for the
        squared hinge and 0.05 for the logistic loss.
    max_iter : int, optional
        Passes over a node's examples at most: 20 by default, for AdaGrad 3.
    weight_threshold : float
        Smaller weights are dropped when a node has been learnt.
    class_weight : {"balanced", "propensity"} or mapping, optional
        What it costs to miss a label, relative to 1: by label; inversely to how often it occurs;
        or the inverse propensity of Jain et al. (2016). A node counts for an example as much as
        the costliest of its labels below the node.
    normalize : bool
        Whether examples are scaled to unit length.
    threshold : float
        Probability from which :meth:`predict` returns a label, for multi-label targets.
    second_stage : {"calibrate", "head", "tail"} or float in [0, 1], optional
        What comes after the trees, and learns from held-out examples:
        "calibrate" turns scores into probabilities that are right as often as they say; "head"
        also re-ranks the best labels by how near the example is to the centroid of each, as soon
        as P@k is seen to gain; "tail" does so for PSP@k, which counts rare labels more, a number
        for a mix, from 0 for the head to 1 for the tail. Off the head, what comes first is what
        is worth most, not what is most probable.
    n_jobs : int, optional
        Threads; -1 for all processors. The result is the same for any number.
    online_ready : bool
        Whether fit also prepares all that :meth:`OnlinePLTClassifier.from_batch` needs to learn on
        as if the online learner had seen the examples itself; the model is a multiple as large.
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
    tree_ : LabelTree
        The tree, without labels that were removed; of an ensemble the first one.

    Examples
    --------
    >>> from labelgrove import PLTClassifier
    >>> X = [[1, 0, 1], [1, 0, 0], [0, 1, 1], [0, 1, 0]]
    >>> Y = [["cat", "red"], ["cat"], ["dog", "red"], ["dog"]]
    >>> clf = PLTClassifier().fit(X, Y)
    >>> clf.predict_topk([[0, 2, 1]], k=2)[0].tolist()
    [['dog', 'red']]
    """

    algorithm = "plt"
    _format = Format(BatchOptions, BatchEngine.load, _core.CompactPlt.load)
    _learned: Learned[BatchOptions, BatchEngine | _core.CompactPlt] | None = None

    def __init__(
        self,
        *,
        tree: str | LabelTree = "kmeans",
        arity: int | None = None,
        max_leaf_size: int = 200,
        interpolation: float = 1.0,
        n_trees: int = 1,
        loss: str | None = None,
        link: str | None = None,
        solver: str = "dual",
        C: float | None = None,
        bias: float = 1.0,
        tol: float | None = None,
        max_iter: int | None = None,
        weight_threshold: float = 0.1,
        class_weight: str | Mapping[Any, float] | None = None,
        normalize: bool = True,
        threshold: float = 0.5,
        second_stage: str | float | None = None,
        online_ready: bool = False,
        n_jobs: int | None = 1,
        random_state: Any = 0,
    ) -> None:
        self.tree = tree
        self.arity = arity
        self.max_leaf_size = max_leaf_size
        self.interpolation = interpolation
        self.n_trees = n_trees
        self.loss = loss
        self.link = link
        self.solver = solver
        self.C = C
        self.bias = bias
        self.tol = tol
        self.max_iter = max_iter
        self.weight_threshold = weight_threshold
        self.class_weight = class_weight
        self.normalize = normalize
        self.threshold = threshold
        self.online_ready = online_ready
        self.second_stage = second_stage
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _start(self, *, named: bool) -> BatchStart:
        options, plan, labels = self._checked()
        make = partial(self._train, options, plan, labels)
        return Start(options, labels, FeatureNames() if named else None, make)

    def _checked(self) -> tuple[BatchOptions, TreePlan, LabelRegistry]:
        """What the parameters ask for, and the labels that are known beforehand."""
        options = BatchOptions.from_parameters(self.get_params(deep=False))
        if self.online_ready:
            options = replace(options, online=self._online_options(options))
        plan = TreePlan(self.get_params(deep=False), options.seed)
        check_class_weight(self.class_weight)
        if options.solver == SOLVERS.index("adagrad") and self.class_weight is not None:
            raise ParameterError(
                "class_weight: solver='adagrad' has no costs of labels; expected None"
            )
        thread_count(self.n_jobs)
        return options, plan, labels_of(plan.given)

    def _online_options(self, options: BatchOptions) -> EngineOptions:
        if options.link == LINKS["softmax"]:
            raise ParameterError(
                "online_ready=True: expected no link='softmax'; trees whose siblings do not "
                "compete are what can be learnt on"
            )
        return online_options(options, {"n_trees": self.n_trees})

    def _train(
        self,
        options: BatchOptions,
        plan: TreePlan,
        labels: LabelRegistry,
        examples: Examples,
        weights: npt.NDArray[np.float32] | None,
        progress: _core.Progress,
    ) -> BatchEngine:
        """Build the trees, and learn them."""
        rows, indptr, ids = examples.rows, examples.indptr, examples.ids
        online = options.solver == SOLVERS.index("adagrad")
        if online or options.online is not None:
            check_weights(weights, rows.n_rows, most=MOST_WEIGHT)
        if options.link == LINKS["softmax"] and examples.kind != "multiclass":
            raise DataError(
                f"y: {examples.kind} targets; with link='softmax', where labels compete, expected "
                "multiclass ones"
            )
        trees = [engine_tree_of_ids(tree) for tree in plan.build(rows, indptr, ids, labels)]
        threads = thread_count(self.n_jobs)
        if online:
            arrays = learn_iplt(
                iplt_options(options, len(trees)),
                options.max_passes,
                options.weight_threshold,
                trees,
                len(labels),
                examples,
                threads,
            )
        else:
            arrays = _core.train_batch_plt(
                options.to_dict(),
                trees,
                len(labels),
                *rows.arrays,
                indptr,
                ids,
                weights,
                class_weights(self.class_weight, labels, ids, rows.n_rows),
                threads,
                progress,
            )
        batch = _core.CompactPlt.load(options.to_dict(), arrays, True)
        prepared = None
        if options.online is not None:
            prepared = prepare(options.online, batch, examples, threads)
        return BatchEngine(batch, prepared)
