"""The online probabilistic label tree, as a scikit-learn estimator."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from labelgrove import _core
from labelgrove._errors import DataError, ParameterError, brief
from labelgrove.models._label_tree import LabelTreeClassifier
from labelgrove.models._online import OnlineClassifier, OnlineStart
from labelgrove.models._plt_options import (
    HINGES,
    LINKS,
    POLICIES,
    BatchOptions,
    EngineOptions,
    resolved_stage,
)
from labelgrove.models.engine._archive import Format
from labelgrove.models.engine._batch import BatchEngine, start_on_sample
from labelgrove.models.engine._examples import Examples, Start
from labelgrove.models.engine._learned import Learned, known
from labelgrove.models.engine._staged import first_stage, with_stage
from labelgrove.models.engine._trees import engine_tree, labels_of
from labelgrove.trees import LabelTree

if TYPE_CHECKING:
    from labelgrove.models._plt import PLTClassifier

_DRAWING_POLICIES = (POLICIES["best-greedy"], POLICIES["random"])


class OnlinePLTClassifier(OnlineClassifier, LabelTreeClassifier):
    """Online probabilistic label tree, which adds new labels as they appear in the stream.

    A tree of linear classifiers estimates the probability of every label (Jasinska-Kobus et al.
    2021). Learning from an example updates the nodes on the paths to its labels; prediction
    searches only the probable branches. New labels and features may appear in any call of
    :meth:`partial_fit`. Every node is, to the last bit, what it would be if the whole tree had
    been known from the start.

    Parameters
    ----------
    preset : {"default", "paper"}
        Values of the parameters left at None: the learner, replay and tree shape that measured
        best, or those of the paper. Use "paper" to compare with published results.
    learner : {"arow", "adagrad", "sgd"}, optional
        How node classifiers learn: adaptive regularisation of weights (diagonal, squared hinge),
        logistic loss with AdaGrad (as in the paper), or logistic loss with plain steps and lazy
        L2 regularisation (Jasinska et al. 2016, Appendix B). AROW, the default except in the
        paper's preset, forgets least; if labels change their meaning, prefer the others, with
        ``replay=0``.
    learning_rate : float, optional
        Step size of AdaGrad (eta) and SGD (gamma); 1 by default. AROW has none.
    epsilon : float
        AdaGrad's epsilon, which damps the first steps.
    l2 : float
        Strength of SGD's L2 regularisation (lambda).
    r : float
        AROW's r; larger values make smaller steps.
    policy : {"best-greedy", "random", "complete", "cpet", "fixed"}
        Where to insert a new label (Algorithm 8): along the best trade-off between fit and
        balance; at random; always in the branch with the fewest leaves; at a leaf, which is split;
        or nowhere: with "fixed", ``tree`` never grows (IPLT).
    alpha : float in [0, 1]
        Weight of balance against fit in "best-greedy".
    arity : int, optional
        Number of children of an inner node (b).
    max_leaves : int, optional
        Largest number of leaves under a node whose children are all leaves (b_max). The default
        is 64, or ``arity`` if that is more, and 256 for the first node if examples have at least
        five features on average. An explicit value applies to every node.
    warm_start_size : float or int, optional
        OPLT-W: :meth:`fit` builds a balanced k-means tree over the labels of the first examples,
        given as a share (a float up to 1) or a number of those with a weight above 0, then learns
        all examples in order. Later labels extend the tree.
    n_trees : int
        Number of trees, whose probabilities are averaged. They differ in their random choices;
        with "best-greedy", all trees but the first insert new labels at random.
    tree : LabelTree, optional
        The initial tree, whose labels are known from the start.
    replay : int or "auto", optional
        Number of remembered examples that each node relearns after every new one, which keeps it
        from forgetting early labels. "auto", the default except in the paper's preset, replays
        two, and up to 12 the more labels come in blocks, one class after another. With "auto",
        AROW also adapts its regularisation: with one label an example, in mixed order, variances
        shrink less where the loss is small; with several, weights fade slightly where a replayed
        example teaches them nothing, and one that contradicts them has limited influence. Set 0
        for shuffled data, to save time and memory, and where labels change their meaning.
    replay_memory : int, optional
        Number of examples that a node remembers, a uniform sample of all that reached it; 0 to
        remember all.
    max_bytes : int or str, optional
        Limit on the memory of trees, weights and remembered examples at any time, as a number or
        as "500MB"; by default there is none. At the limit the model forgets its least important
        rows of weights, and nodes remember fewer examples. The result does not depend on the
        number of threads or on how the stream is divided into calls. Several trees share the
        limit. It includes weights inherited from a batch model, and 256 bytes for each label and
        its name, but neither feature names nor the rest of longer label names. Three sixteenths
        of it are reserved for the sums of a re-ranking ``second_stage``. If labels need more, the
        call fails: one tree keeps what it has learnt, several cannot be used any more.
    normalize : bool
        Whether to scale examples to unit length. If not, they should be about 1 long.
    epochs : int
        Number of passes that :meth:`fit` makes over its data.
    threshold : float
        Lowest probability at which :meth:`predict` returns a label, for multi-label targets
        without ``thresholds_``.
    thresholds : {None, "ofo"}
        "ofo" tunes a threshold for each label while learning, to maximise the macro-averaged
        F-measure (Jasinska et al. 2016, Algorithm 2). It predicts examples just before they are
        learnt.
    ofo_a, ofo_b : float
        Initial counts of OFO. A new label's threshold is ``ofo_a / ofo_b``, with the weight of
        ``ofo_b`` true or predicted examples, but at most 1/2, and at least π / (π + 1) for a label
        that a share π of the examples has had.
    ofo_every : int, optional
        OFO predicts one example in this many, drawn at random: 4 by default, 1 in the paper's
        preset.
    second_stage : {"auto", "calibrate", "head", "tail"}, float in [0, 1], or None
        A second stage after the tree: see :class:`PLTClassifier`. It learns from some examples,
        predicted before they are learnt. "auto" means "calibrate"; with ``thresholds="ofo"`` and
        in the paper's preset it means None, no second stage.
    n_jobs : int, optional
        Number of threads; -1 for all processors. The result is the same for any number.
    random_state : int, RandomState or None
        Seed of all random choices. None draws one.

    Notes
    -----
    Any number of threads may predict at once. Learning or removing labels while another thread
    uses the same model raises :class:`ModelStateError`. Through :meth:`shared`, threads wait for
    each other instead, and predictions continue while the model learns.

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
        ofo_a: float = 10.0,
        ofo_b: float = 100.0,
        ofo_every: int | None = None,
        second_stage: str | float | None = "auto",
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

    def _start(self) -> OnlineStart:
        options = EngineOptions.from_parameters(self.get_params(deep=False))
        if self.tree is not None and not isinstance(self.tree, LabelTree):
            raise ParameterError(f"tree={self.tree!r}: expected a LabelTree or None")
        if self.tree is not None and self.warm_start_size is not None:
            raise ParameterError(
                "warm_start_size and tree exclude each other; expected one of them"
            )
        if options.policy == POLICIES["fixed"] and self.tree is None:
            raise ParameterError(
                "policy='fixed' needs a tree; expected tree=LabelTree(…)"
                if self.warm_start_size is None
                else "warm_start_size: the tree of the sample must be able to grow; expected a "
                "policy other than 'fixed'"
            )
        _check_share(self.warm_start_size)
        alike = options.replay == 0 and self.warm_start_size is None
        if options.n_trees > 1 and alike and options.policy not in _DRAWING_POLICIES:
            raise ParameterError(
                f"n_trees={options.n_trees}: these trees would all be identical; expected "
                "n_trees=1, replay, or policy='best-greedy' or 'random'"
            )
        return Start(options, partial(self._make_engine, options), labels_of(self.tree))

    def _make_engine(self, options: EngineOptions, examples: Examples | None) -> _core.OnlinePlt:
        """Make an untrained engine, on the given or sampled tree if there is one."""
        if self.tree is not None:
            trees = [engine_tree(self.tree)] * options.n_trees
            return _core.OnlinePlt.on_trees(options.to_dict(), trees, self.tree.n_labels)
        if self.warm_start_size is None or examples is None:
            return _core.OnlinePlt(options.to_dict())
        examples = examples.without_ignored()
        size, n_rows = self.warm_start_size, examples.rows.n_rows
        n = int(size) if isinstance(size, Integral) else math.ceil(size * n_rows)
        return start_on_sample(options, examples, min(max(n, 1), n_rows), self.n_jobs)

    @classmethod
    def from_batch(cls, model: PLTClassifier, **parameters: Any) -> Self:
        """Continue learning online from a batch model.

        The new model starts with the batch model's weights. The two share them until they are
        changed, so the new model's memory grows as it learns. A model fitted with
        ``online_ready=True`` also supplies the optimiser state, auxiliary classifiers and
        remembered examples that an online learner would have after the same examples. For any
        other model the optimiser state is estimated from the label counts, and the auxiliary
        classifiers know only that all examples of their node were positive.

        Thresholds of the batch model are kept, unless ``thresholds="ofo"``. Tune them again: the
        new model's probabilities differ, since a batch model has measured how margins become
        probabilities.

        Parameters
        ----------
        model : PLTClassifier
            A fitted model that does not use softmax.
        **parameters
            Parameters of the new estimator. By default the learner is AROW after the squared
            hinge and AdaGrad after the logistic loss, and arity and leaf size have the defaults
            of OnlinePLTClassifier. The number of trees is the batch model's.

        Returns
        -------
        OnlinePLTClassifier
            A model with all labels and the tree of the batch model, which does not change.

        Raises
        ------
        NotLearnedError
            If the model has not been fitted.
        ParameterError
            If a parameter lies outside its domain, or the model cannot continue online.

        Examples
        --------
        >>> from labelgrove import OnlinePLTClassifier, PLTClassifier
        >>> batch = PLTClassifier(online_ready=True).fit([[1, 0], [0, 1]] * 9, ["cat", "dog"] * 9)
        >>> online = OnlinePLTClassifier.from_batch(batch)
        >>> online.partial_fit([[1, 1]], ["bird"]).classes_.tolist()
        ['bird', 'cat', 'dog']
        """
        if getattr(model, "algorithm", None) != "plt":
            raise ParameterError(
                f"found a {type(model).__name__}; expected a PLTClassifier (of a TextClassifier, "
                "its classifier_)"
            )
        with model._guard.reading():
            batch = known(model._learned)
            trained = first_stage(batch.engine)
            if not isinstance(trained, BatchEngine):
                raise ParameterError(
                    "a compact model can only predict; expected a model that is not compact"
                )
            given = {"n_trees": trained.batch.n_trees}
            if model.second_stage is not None:
                given["second_stage"] = model.second_stage
            parameters = {**given, **parameters}
            online = cls(**online_parameters(batch.options, parameters))
            options = EngineOptions.from_parameters(online.get_params(deep=False))
            if options.n_trees != trained.batch.n_trees:
                raise ParameterError(
                    f"n_trees={options.n_trees}: expected the {trained.batch.n_trees} trees of"
                    " the batch model, or no n_trees"
                )
            if trained.online is not None and options == batch.options.online:
                saved = trained.online.save(False)
                engine = _core.OnlinePlt.load(options.to_dict(), saved, False)
            else:
                # The two engines share the weights; the state is estimated from label counts.
                weights, counts = trained.batch.save(False, streamed=True), batch.counts
                engine = _core.OnlinePlt.from_batch(
                    options.to_dict(), weights, counts.astype(np.uint64)
                )
            staged = with_stage(engine, online._new_stage(), batch.engine, options.sums_bytes)
            tuned = None if options.ofo_b else batch.tuned  # else OFO's would never be used
            learned = replace(batch.copy_around(staged), options=options, tuned=tuned)
        online._learned, online._vocabulary = learned, model._vocabulary
        return online

    def _resolved_stage(self) -> Any:
        return resolved_stage(self.get_params(deep=False))

    def _check_new_labels(self, options: EngineOptions, fresh: list[Any]) -> None:
        if options.policy == POLICIES["fixed"]:
            raise DataError(
                f"y: label {fresh[0]!r} is not in the tree, which is fixed; choose another policy "
                "to let the tree grow"
            )


def online_parameters(batch: BatchOptions, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of an online estimator that continues from a batch model.

    Raises ParameterError if a batch model of this kind cannot continue with these parameters.
    """
    learner = "arow" if batch.link in HINGES else "adagrad"
    given = {
        "learner": learner,
        "normalize": batch.normalize,
        "random_state": batch.seed,
        **parameters,
    }
    if batch.link == LINKS["softmax"]:
        raise ParameterError(
            "a model with link='softmax' cannot continue online, because its siblings compete"
        )
    if given["learner"] not in ("arow", "adagrad", None):
        raise ParameterError(
            f"learner={given['learner']!r}: expected 'arow' or 'adagrad' after a batch model"
        )
    if given.get("tree") is not None or given.get("warm_start_size") is not None:
        raise ParameterError("tree, warm_start_size: the batch model brings its own tree")
    return given


def online_options(batch: BatchOptions, parameters: Mapping[str, Any]) -> EngineOptions:
    """Return the core's options for an online estimator that continues from a batch model."""
    online = OnlinePLTClassifier(**online_parameters(batch, parameters))
    return EngineOptions.from_parameters(online.get_params(deep=False))


def iplt_options(batch: BatchOptions, n_trees: int) -> EngineOptions:
    """Return the core's options for passes of the paper's learner over fixed trees."""
    online = OnlinePLTClassifier(
        preset="paper",
        policy="fixed",
        n_trees=n_trees,
        normalize=batch.normalize,
        random_state=batch.seed,
    )
    return EngineOptions.from_parameters(online.get_params(deep=False))


def _check_share(size: Any) -> None:
    if size is None:
        return
    is_count = isinstance(size, Integral) and not isinstance(size, bool) and int(size) >= 1
    is_share = isinstance(size, Real) and not isinstance(size, Integral) and 0 < float(size) <= 1
    if not (is_count or is_share):
        raise ParameterError(
            f"warm_start_size={brief(size)}: expected a share above 0 up to 1, a number of "
            "examples, or None"
        )
