"""The online probabilistic label tree, as a scikit-learn estimator."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

from labelgrove import _core
from labelgrove._errors import DataError, ParameterError
from labelgrove._features import FeatureNames
from labelgrove.models._label_tree import LabelTreeClassifier
from labelgrove.models._online import OnlineClassifier, OnlineStart
from labelgrove.models._plt_options import HINGES, LINKS, POLICIES, BatchOptions, EngineOptions
from labelgrove.models.engine._archive import Format
from labelgrove.models.engine._batch import BatchEngine, learn_on, start_on_sample
from labelgrove.models.engine._examples import Examples, Start
from labelgrove.models.engine._learned import Learned, known
from labelgrove.models.engine._staged import first_stage, with_stage
from labelgrove.models.engine._trees import engine_tree, labels_of
from labelgrove.trees import LabelTree

if TYPE_CHECKING:
    from labelgrove.models._plt import PLTClassifier


class OnlinePLTClassifier(OnlineClassifier, LabelTreeClassifier):
    """Online probabilistic label tree: learns label after label as they come.

    A tree of small linear classifiers estimates the probability of every label (Jasinska-Kobus et
    al. 2021). To learn from an example is to update the nodes on the paths to its labels; to
    predict is to search the branches that are probable. New labels and new features may show up
    in any call of :meth:`partial_fit`; each node is, to the last bit, what it would be had the
    tree been known from the start.

    Parameters
    ----------
    preset : {"default", "paper"}
        What the parameters left at None stand for: the learner, replay and tree shape that
        measured best, or those of the paper.
    learner : {"arow", "adagrad", "sgd"}, optional
        How node classifiers learn: adaptive regularisation of weights (diagonal, squared hinge),
        logistic loss with AdaGrad (the paper's), or logistic loss with plain steps and lazy L2
        regularisation (Jasinska et al. 2016, Appendix B).
    learning_rate : float, optional
        Step size: AdaGrad's eta, SGD's gamma (both 1 by default). AROW has none.
    epsilon : float
        AdaGrad's epsilon, which damps the first steps.
    l2 : float
        SGD's lambda.
    r : float
        AROW's r: the larger, the smaller the steps.
    policy : {"best-greedy", "random", "complete", "cpet", "fixed"}
        Where a new label goes (Algorithm 8): along the best trade-off of fit and balance; at
        random; always where the tree has the fewest leaves; at a leaf, which splits; or nowhere
        (``tree`` is all there is: IPLT).
    alpha : float in [0, 1]
        BEST-GREEDY's weight of balance.
    arity : int, optional
        Children of an inner node, b.
    max_leaves : int, optional
        Leaves of a node that has only leaves, b_max. By default 64, and for the first node 256 if
        examples have five features or more, on average; what is given holds for every node.
    warm_start_size : float or int, optional
        OPLT-W: :meth:`fit` builds a balanced k-means tree for the labels of the first examples,
        of a share (a float up to 1) or number of them, and then learns all examples on it, in
        order; labels to come extend the tree.
    n_trees : int
        Trees of the ensemble, whose probabilities are averaged. They differ in their random
        choices, and where the first places new labels by BEST-GREEDY, the others do so at random.
    tree : LabelTree, optional
        The tree to start from. Its labels are known from the start.
    replay : int or "auto", optional
        How often every node learns again, from an example drawn among those that have reached it,
        after each new one. It is what keeps early labels from being forgotten. "auto", the default
        but for the paper's preset, is twice, and the more often, up to 12 times, the more labels
        come in blocks, one class after another. Where examples have one label each and labels are
        mixed, AROW's weights then also settle less by what they have nearly right; where they have
        several, they fade a little where an example that is learnt again teaches them nothing.
    replay_memory : int, optional
        How many examples a node remembers, a fair sample of all that reached it; 0 for all of
        them.
    max_bytes : int or str, optional
        What trees, weights and remembered examples may take at any time, as a number or as
        "500MB"; no bound by default. Where it is reached, the rows of weights are forgotten that
        are worth least, and nodes remember fewer examples; the result is the same for any number
        of threads and any cut into calls. Several trees share it, and what is inherited from a
        batch model counts, as do 256 bytes for a label and its name. The sums of ``second_stage``
        get three sixteenths of it. Names of features, and longer ones of labels, do not count.
    normalize : bool
        Whether examples are scaled to unit length.
    epochs : int
        Passes of :meth:`fit` over its data.
    threshold : float
        Probability from which :meth:`predict` returns a label, for multi-label targets and as long
        as there are no ``thresholds_``.
    thresholds : {None, "ofo"}
        "ofo" tunes a threshold for every label while learning, for the macro-averaged F-measure
        (Jasinska et al. 2016, Algorithm 2): examples are predicted just before they are learnt.
    ofo_a, ofo_b : float
        What OFO's counts begin with: a new label's threshold is ``ofo_a / ofo_b``, which is worth
        ``ofo_b`` true or predicted examples.
    ofo_every : int, optional
        Of how many examples OFO predicts one, drawn at random: 4 by default, and 1 in the paper's
        preset.
    second_stage : {"calibrate", "head", "tail"} or float in [0, 1], optional
        What comes after the tree, and learns from examples predicted before they are learnt:
        "calibrate" turns scores into probabilities that are right as often as they say; "head"
        also re-ranks the best labels by how near the example is to the centroid of each, as soon
        as P@k is seen to gain; "tail" does so for PSP@k, which counts rare labels more, a number
        for a mix, from 0 for the head to 1 for the tail. Off the head, what comes first is what
        is worth most, not what is most probable.
    n_jobs : int, optional
        Threads; -1 for all processors. The result is the same for any number.
    random_state : int, RandomState or None
        Seed of all random choices. None draws one.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels that can be predicted, sorted; for indicator targets the column numbers.
    label_counts_ : ndarray of int64, shape (n_classes,)
        In how many examples each class was seen, every pass counted.
    n_features_in_ : int
        Columns seen so far.
    examples_seen_ : int
        Examples learnt from, every pass counted.
    target_type_ : {"multiclass", "multilabel"}
    thresholds_ : ndarray of float64, shape (n_classes,)
        Thresholds of :meth:`predict`, where there are any: tuned while learning, by
        :meth:`tune_thresholds`, or given by :meth:`set_thresholds`.
    tree_ : LabelTree
        The tree as it stands; labels that were removed are not in it. Of an ensemble the first one.

    Notes
    -----
    Any number of threads may predict at once. Learning, or removing labels, while another thread
    uses the same model raises :class:`ModelStateError`; through :meth:`shared` they wait for each
    other, and predictions go on while the model learns.

    Examples
    --------
    >>> from labelgrove import OnlinePLTClassifier
    >>> from labelgrove.text import HashedText
    >>> texts = ["soup with fish", "cat eats fish", "cat and dog", "fish soup"]
    >>> labels = [["food"], ["pets", "food"], ["pets"], ["food"]]
    >>> hashed = HashedText()
    >>> clf = OnlinePLTClassifier()
    >>> for text, labelled in zip(texts, labels):
    ...     _ = clf.partial_fit(hashed.transform([text]), [labelled])
    >>> clf.predict_topk(hashed.transform(["a dog"]), k=1)[0].tolist()
    [['pets']]
    """

    algorithm = "online-plt"
    _format = Format(EngineOptions, _core.OnlinePlt.load, _core.CompactPlt.load)
    _learned: Learned[EngineOptions, _core.OnlinePlt | _core.CompactPlt] | None = None

    def __init__(
        self,
        *,
        preset: str = "default",
        learner: str | None = None,
        learning_rate: float | None = None,
        epsilon: float = 0.01,
        l2: float = 1e-6,
        r: float = 1.0,
        policy: str = "best-greedy",
        alpha: float = 0.75,
        arity: int | None = None,
        max_leaves: int | None = None,
        n_trees: int = 1,
        tree: LabelTree | None = None,
        warm_start_size: float | None = None,
        replay: int | str | None = None,
        replay_memory: int | None = None,
        max_bytes: int | str | None = None,
        normalize: bool = True,
        epochs: int = 1,
        threshold: float = 0.5,
        thresholds: str | None = None,
        ofo_a: float = 5.0,
        ofo_b: float = 50.0,
        ofo_every: int | None = None,
        second_stage: str | float | None = None,
        n_jobs: int | None = 1,
        random_state: Any = 0,
    ) -> None:
        self.preset = preset
        self.learner = learner
        self.learning_rate = learning_rate
        self.epsilon = epsilon
        self.l2 = l2
        self.r = r
        self.policy = policy
        self.alpha = alpha
        self.arity = arity
        self.max_leaves = max_leaves
        self.n_trees = n_trees
        self.tree = tree
        self.warm_start_size = warm_start_size
        self.replay = replay
        self.replay_memory = replay_memory
        self.max_bytes = max_bytes
        self.normalize = normalize
        self.epochs = epochs
        self.threshold = threshold
        self.thresholds = thresholds
        self.ofo_a = ofo_a
        self.ofo_b = ofo_b
        self.ofo_every = ofo_every
        self.second_stage = second_stage
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _start(self, *, named: bool) -> OnlineStart:
        options = EngineOptions.from_parameters(self.get_params(deep=False))
        if self.tree is not None and not isinstance(self.tree, LabelTree):
            raise ParameterError(f"tree={self.tree!r}: expected a LabelTree or None")
        if self.tree is not None and self.warm_start_size is not None:
            raise ParameterError("warm_start_size: found a tree as well; expected one of them")
        if options.policy == POLICIES["fixed"] and self.tree is None:
            raise ParameterError(
                "policy='fixed' needs a tree; expected tree=LabelTree(…)"
                if self.warm_start_size is None
                else "warm_start_size: the sample's tree is to grow; expected a policy other than "
                "'fixed'"
            )
        _check_share(self.warm_start_size)
        if options.n_trees > 1 and options.replay == 0 and self.warm_start_size is None:
            _check_trees_differ(options)
        make = partial(self._make_engine, options)
        return Start(options, labels_of(self.tree), FeatureNames() if named else None, make)

    def _make_engine(self, options: EngineOptions, examples: Examples | None) -> _core.OnlinePlt:
        """An engine that has learnt nothing, on a tree if there is one."""
        if self.tree is not None:
            parents, leaf_labels, names = engine_tree(self.tree)
            trees = [(parents, leaf_labels)] * options.n_trees
            return _core.OnlinePlt.on_trees(options.to_dict(), trees, len(names))
        if self.warm_start_size is None or examples is None:
            return _core.OnlinePlt(options.to_dict())
        size, n_rows = self.warm_start_size, examples.rows.n_rows
        n = int(size) if isinstance(size, Integral) else math.ceil(size * n_rows)
        return start_on_sample(
            options,
            examples.rows,
            examples.indptr,
            examples.ids,
            min(max(n, 1), n_rows),
            self.n_jobs,
        )

    @classmethod
    def from_batch(cls, model: PLTClassifier, **parameters: Any) -> Self:
        """Go on online where a batch model has ended.

        Node classifiers keep their weights, which the two models share until they are learnt on:
        the new one's memory grows with what it learns. A model fitted with ``online_ready=True``
        brings the rest as well: the optimiser's state, auxiliary classifiers and remembered
        examples that an online learner would have after going over the same examples. From any
        other model they are guessed: the state from how often each label occurred, and auxiliary
        classifiers know that all of a node's examples were positive, nothing more.

        Parameters
        ----------
        model : PLTClassifier
            Without softmax.
        **parameters
            Of the new estimator; by default AROW goes on from the squared hinge and AdaGrad from
            the logistic loss, with arity and leaf size as of any OnlinePLTClassifier. It has as
            many trees as the model.

        Returns
        -------
        OnlinePLTClassifier
            It knows all labels of the model and has its tree; the model itself stays as it is.

        Raises
        ------
        NotLearnedError
            If the model has not learnt anything.
        ParameterError
            If a parameter lies outside its domain, or the model cannot be learnt on.

        Examples
        --------
        >>> from labelgrove import OnlinePLTClassifier, PLTClassifier
        >>> batch = PLTClassifier(online_ready=True).fit([[1, 0], [0, 1]] * 9, ["cat", "dog"] * 9)
        >>> online = OnlinePLTClassifier.from_batch(batch)
        >>> online.partial_fit([[1, 1]], ["bird"]).classes_.tolist()
        ['bird', 'cat', 'dog']
        """
        known(model._learned)
        with model._guard.reading():
            batch = known(model._learned)
            trained = first_stage(batch.engine)
            if not isinstance(trained, BatchEngine):
                raise ParameterError(
                    "a compact model predicts only; expected one that is not compact"
                )
            given = {"n_trees": trained.batch.n_trees, "second_stage": model.second_stage}
            parameters = {**given, **parameters}
            online = cls(**online_parameters(batch.options, parameters))
            options = online_options(batch.options, parameters)
            if options.n_trees != trained.batch.n_trees:
                raise ParameterError(
                    f"n_trees={options.n_trees}: expected the {trained.batch.n_trees} trees of"
                    " the batch model, or no n_trees"
                )
            if trained.online is not None and options == batch.options.online:
                saved = trained.online.save(False)
                engine = _core.OnlinePlt.load(options.to_dict(), saved, False)
            else:
                engine = learn_on(options, trained.batch, batch.counts)
            learned = Learned(
                engine=with_stage(engine, online._new_stage(), batch.engine, options.sums_bytes),
                options=options,
                labels=batch.labels.copy(),
                features=copy.deepcopy(batch.features),
                kind=batch.kind,
                n_columns=batch.n_columns,
                n_features=batch.n_features,
                counts=batch.counts.copy(),
                tuned=batch.tuned,
            )
        online._learned, online._vocabulary = learned, model._vocabulary
        return online

    def _check_new_labels(self, options: EngineOptions, fresh: list[Any]) -> None:
        if options.policy == POLICIES["fixed"]:
            raise DataError(
                f"y: label {fresh[0]!r} is not in the tree, which is fixed; choose another policy "
                "for it to grow"
            )


def online_parameters(batch: BatchOptions, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """What an online estimator that goes on from a batch model is made with.

    Raises
    ------
    ParameterError
        If a batch model of this kind cannot be learnt on so.
    """
    learner = "arow" if batch.link in HINGES else "adagrad"
    given = {
        "learner": learner,
        "normalize": batch.normalize,
        "random_state": batch.seed,
        **parameters,
    }
    if batch.link == LINKS["softmax"]:
        raise ParameterError("a model with link='softmax' cannot be learnt on; siblings compete")
    if given["learner"] not in ("arow", "adagrad", None):
        raise ParameterError(
            f"learner={given['learner']!r}: expected 'arow' or 'adagrad' after a batch model"
        )
    if given.get("tree") is not None or given.get("warm_start_size") is not None:
        raise ParameterError("tree, warm_start_size: the batch model brings its own tree")
    return given


def online_options(batch: BatchOptions, parameters: Mapping[str, Any]) -> EngineOptions:
    """What the core is told by an online estimator that goes on from a batch model."""
    online = OnlinePLTClassifier(**online_parameters(batch, parameters))
    return EngineOptions.from_parameters(online.get_params(deep=False))


def iplt_options(batch: BatchOptions, n_trees: int) -> EngineOptions:
    """What the core is told by passes of the paper's learner over fixed trees."""
    online = OnlinePLTClassifier(
        preset="paper",
        policy="fixed",
        n_trees=n_trees,
        normalize=batch.normalize,
        random_state=batch.seed,
    )
    return EngineOptions.from_parameters(online.get_params(deep=False))


def _check_trees_differ(options: EngineOptions) -> None:
    if options.policy not in (POLICIES["best-greedy"], POLICIES["random"]):
        raise ParameterError(
            f"n_trees={options.n_trees}: such trees would all be the same; expected n_trees=1, some"
            " replay, or policy='best-greedy' or 'random'"
        )


def _check_share(size: Any) -> None:
    if size is None:
        return
    is_count = isinstance(size, Integral) and not isinstance(size, bool) and int(size) >= 1
    is_share = isinstance(size, Real) and not isinstance(size, Integral) and 0 < float(size) <= 1
    if not (is_count or is_share):
        raise ParameterError(
            f"warm_start_size={size!r}: expected a share above 0 up to 1, a number of examples, or "
            "None"
        )
