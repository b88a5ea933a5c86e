"""The batch probabilistic label tree, as a scikit-learn estimator."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from labelgrove import _core
from labelgrove._errors import ParameterError
from labelgrove._labels import LabelRegistry
from labelgrove._parameters import thread_count
from labelgrove.models._batch import BatchClassifier, BatchStart
from labelgrove.models._label_tree import LabelTreeClassifier
from labelgrove.models._online_plt import iplt_options, online_options
from labelgrove.models._plt_options import (
    LINKS,
    SOLVERS,
    BatchOptions,
    check_class_weight,
    class_weights,
)
from labelgrove.models.engine._archive import Format
from labelgrove.models.engine._batch import BatchEngine, learn_once, prepare
from labelgrove.models.engine._examples import MOST_WEIGHT, Examples, Start
from labelgrove.models.engine._learned import Learned
from labelgrove.models.engine._trees import TreePlan, engine_tree, labels_of
from labelgrove.trees import LabelTree


class PLTClassifier(BatchClassifier, LabelTreeClassifier):
    """Probabilistic label tree, learnt from all examples at once.

    The labels are the leaves of a tree built from the data. Every node has a linear classifier
    that predicts whether an example has a label below the node (Jasinska et al. 2016). Each
    classifier minimises an L2-regularised squared hinge or logistic loss over the examples of its
    parent. With a balanced k-means tree this is Parabel (Prabhu et al. 2018), with a wide tree
    Bonsai (Khandagale et al. 2020), and with a tree of one level one-versus-rest.

    Parameters
    ----------
    tree : str or LabelTree
        How to build the tree, or a tree that contains every label of the data.
        ``"kmeans"``: balanced k-means over the mean examples of the labels;
        ``"interpolated"``: between k-means and Fano's tree (Baharav et al. 2021);
        ``"cost"``: the tree that is cheapest to search, with a width chosen for each node;
        ``"huffman"``, ``"fano"``: from the label frequencies alone;
        ``"complete"``, ``"random"``: a complete tree, in order of arrival or shuffled;
        ``"flat"``: all labels below the root, which is one-versus-rest.
    arity : int, optional
        Number of children of an inner node. By default one for every 128 labels of the data, or
        for every ``max_leaf_size`` labels if that is less, but at least 2 and at most 32. Huffman
        trees have 32 by default.
    max_leaf_size : int, optional
        Largest number of labels under a node whose children are all leaves, unless ``arity`` is
        larger. The default is 200, and 1,000 for a single tree over up to 1,000 examples. Ignored
        by ``"huffman"``, ``"cost"`` and ``"flat"``.
    interpolation : float in [0, 2]
        λ of ``tree="interpolated"``: 0 is k-means, 1 weighted k-means, 2 Fano's tree.
    n_trees : int
        Number of trees, whose probabilities are averaged. They differ in their random choices.
    loss : {"squared_hinge", "log"}, optional
        Loss of the node classifiers. The default is the squared hinge, or the logistic loss with
        ``link="softmax"`` or ``solver="adagrad"``.
    link : {"calibrated", "squared_hinge", "cubic_hinge", "softmax"}, optional
        How a node's margin m becomes a probability. For the squared hinge the default is
        ``"calibrated"``: the share of right children at that margin, among those that about as
        many of their node's examples have (among all if costs differ), measured on some examples
        of each node before the node learns from them too: one in ten, but of n < 1,000 examples
        100/n, at most three in ten, and of n > 40,960 examples 4,096/n. With fewer than 100
        examples (124 with a second stage), or ``max_iter`` below 8, it is ``"squared_hinge"``:
        exp(-max(0, 1 - m)²), as in Parabel. ``"cubic_hinge"``: exp(-max(0, 1 - m)³), as in PECOS.
        For the logistic loss it is σ(m), or ``"softmax"``: siblings compete and the probabilities
        of all labels sum to one (hierarchical softmax), for multi-class targets only.
    solver : {"dual", "adagrad"}
        Dual coordinate ascent until ``tol`` is reached, or ``max_iter`` passes of AdaGrad, which
        is IPLT (Jasinska-Kobus et al. 2021, Algorithm 1).
    C : float, optional
        Weight of the loss against the regulariser ½|w|². The default is 10 for the logistic loss.
        For the squared hinge it is 1, or √(400/n) for a node or label with n > 400 examples.
    bias : float
        Value of the constant feature; 0 for none.
    tol : float, optional
        Largest distance from optimality of the derivative of a dual variable: by default 0.3 for
        the squared hinge and 0.05 for the logistic loss.
    max_iter : int, optional
        Largest number of passes over the examples of a node: by default 20, 100 with
        ``link="softmax"``, which takes that long where classes overlap, and 3 for AdaGrad.
    weight_threshold : float
        Drop smaller weights once a node has been learnt. Raise it for a smaller model. Up to 0.1,
        many smaller weights are kept where examples are dense, such as embeddings.
    class_weight : {"balanced", "propensity"} or mapping, optional
        Cost of missing each label, relative to 1: inversely proportional to its frequency, its
        inverse propensity (Jain et al. 2016), or a mapping from labels to costs. One that names
        every label of y may name others, too. A positive example of a node has the cost of its
        costliest label below the node.
    normalize : bool
        Whether to scale examples to unit length. If not, all examples are multiplied by the same
        power of two while learning, which makes the median one about 1 long: ``C``, ``tol`` and
        ``weight_threshold`` refer to such examples, and not to the unit of the columns.
        ``solver="adagrad"`` and ``online_ready`` take examples as they are.
    threshold : float
        Lowest probability at which :meth:`predict` returns a label, for multi-label targets.
    second_stage : {"calibrate", "head", "tail"} or float in [0, 1], optional
        A second stage after the trees, which learns from held-out examples. "calibrate"
        calibrates the probabilities. "head" also re-ranks the best labels by the similarity of
        the example to each label's centroid, once this measurably improves P@k. "tail" does the
        same for PSP@k, which gives rare labels more weight; a number mixes the two, from 0 for
        the head to 1 for the tail. Except at 0, re-ranked labels are in the order of their
        expected contribution to that measure, not of probability alone.
    n_jobs : int, optional
        Number of threads; -1 for all processors. The result is the same for any number.
    online_ready : bool
        Whether :meth:`fit` also prepares the state with which
        :meth:`OnlinePLTClassifier.from_batch` continues as if the online learner had seen the
        examples itself. The model becomes several times as large.
    random_state : int, RandomState or None
        Seed of all random choices. None draws one.

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
        max_leaf_size: int | None = None,
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

    @property
    def _kinds(self) -> tuple[str, ...]:
        return ("multiclass",) if self.link == "softmax" else super()._kinds  # siblings compete

    @property
    def _most_weight(self) -> float:
        return MOST_WEIGHT if self.solver == "adagrad" or self.online_ready else math.inf

    def _start(self) -> BatchStart:
        options, plan, labels = self._checked()
        return Start(options, partial(self._train, options, plan, labels), labels)

    def _checked(self) -> tuple[BatchOptions, TreePlan, LabelRegistry]:
        """Check the parameters; return options, tree plan, and the labels of a given tree."""
        options = BatchOptions.from_parameters(self.get_params(deep=False))
        if self.online_ready:
            if options.link == LINKS["softmax"]:
                raise ParameterError(
                    "online_ready=True: a model with link='softmax' cannot continue online; "
                    "expected another link"
                )
            online = online_options(options, {"n_trees": self.n_trees})
            options = replace(options, online=online)
        plan = TreePlan(self.get_params(deep=False), options.seed)
        check_class_weight(self.class_weight)
        if options.solver == SOLVERS["adagrad"] and self.class_weight is not None:
            raise ParameterError(
                "class_weight: solver='adagrad' does not support label costs; expected None"
            )
        return options, plan, labels_of(plan.given)

    def _train(
        self,
        options: BatchOptions,
        plan: TreePlan,
        labels: LabelRegistry,
        examples: Examples,
        progress: _core.Progress,
        seen: BatchEngine | None,
    ) -> BatchEngine:
        """Build the trees and learn their node classifiers."""
        measure = seen is None or seen.batch.link_is_measured
        rows, indptr, ids = examples.rows, examples.indptr, examples.ids
        built = plan.build(rows, indptr, ids, labels)
        trees = [engine_tree(tree, tree.leaf_labels) for tree in built]
        threads = thread_count(self.n_jobs)
        if options.solver == SOLVERS["adagrad"]:
            # IPLT (Jasinska-Kobus et al. 2021, Algorithm 1)
            learner = iplt_options(options, len(trees)).to_dict()
            model = _core.OnlinePlt.on_trees(learner, trees, len(labels))
            for _ in range(options.max_passes):
                learn_once(model, examples, threads)
            arrays = model.compact(_core.WeightType.float32.value, options.weight_threshold)
            arrays["counters"][1] = rows.n_rows  # examples, not the steps of all passes
        else:
            scale = 1.0 if options.normalize else _core.row_scale(*rows.arrays, examples.weights)
            arrays = _core.train_batch_plt(
                options.for_training(rows.n_rows, row_scale=scale, measure=measure),
                trees,
                len(labels),
                *rows.arrays,
                indptr,
                ids,
                examples.weights,
                class_weights(self.class_weight, labels, ids, rows.n_rows),
                threads,
                progress,
            )
        batch = _core.CompactPlt.load(options.to_dict(), arrays, True)
        prepared = None
        if options.online is not None:
            prepared = prepare(options.online, batch, examples, threads)
        return BatchEngine(batch, prepared)
