"""The contextual memory tree, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from labelgrove import _core
from labelgrove._features import FeatureNames
from labelgrove._labels import LabelRegistry
from labelgrove._parameters import flag, integer, real, seed_from
from labelgrove.models._online import OnlineClassifier, OnlineStart
from labelgrove.models._plt_options import FLOATS, budget_from, budget_of
from labelgrove.models.engine._archive import Format
from labelgrove.models.engine._examples import Start
from labelgrove.models.engine._learned import Learned
from labelgrove.models.engine._records import SavedOptions

_MOST = 10_000


@dataclass(frozen=True)
class MemoryTreeOptions(SavedOptions):
    """All that the core must know, every value checked."""

    alpha: float
    leaf_multiplier: int
    reroutes: int
    max_examples: int
    leaves: int
    classifiers: bool
    r: float
    normalize: bool
    seed: int
    max_bytes: int = 0  # 0 where there is no bound
    sums_bytes: int = 0  # of max_bytes in all, what the second stage may take

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> Self:
        p = parameters
        most = p["max_examples"]
        return cls(
            alpha=real(p, "alpha", 0.0, 1.0),
            leaf_multiplier=integer("leaf_multiplier", p["leaf_multiplier"], 1, _MOST),
            reroutes=integer("reroutes", p["reroutes"], 0, _MOST),
            max_examples=0 if most is None else integer("max_examples", most, 1),
            leaves=integer("leaves", p["leaves"], 1),
            classifiers=flag("classifiers", p["classifiers"]),
            r=real(p, "r", *FLOATS),
            normalize=flag("normalize", p["normalize"]),
            seed=seed_from(p["random_state"]),
            **budget_from(p),
        )

    @classmethod
    def _parameters_of(cls, saved: Mapping[str, Any]) -> dict[str, Any]:
        return {
            **saved,
            "max_examples": saved["max_examples"] or None,
            "random_state": saved["seed"],
            **budget_of(saved),
        }


class MemoryTreeClassifier(OnlineClassifier):
    """Contextual memory tree: remembers examples, and finds those near to a new one in log time.

    Every inner node holds a linear router that sends an example left or right, every leaf remembers
    examples with their labels (Sun, Beygelzimer, Daumé, Langford & Mineiro 2019). The labels of an
    example are those of the ones that are near to it, at the leaves that it most probably reaches,
    by a similarity that is learnt; classifiers of these labels, and of no others, have a say as
    well. Routers learn to balance, and which side answers better; with every new example some of
    those remembered go down the tree anew. New labels and new features may show up in any call of
    :meth:`partial_fit`, and a label can be found as soon as one example of it is remembered.

    It pays where a label has been seen once, and where an example has a dozen labels or more; else,
    from three examples a label on, :class:`OnlinePLTClassifier` is ahead. That one predicts 8 to
    90 times as fast, too. The model holds the examples.

    Parameters
    ----------
    alpha : float in [0, 1]
        What a router's own prediction, or the difference in reward between the two sides, weighs
        against balance.
    leaf_multiplier : int
        c: a leaf holds up to c times the bits of the number of nodes.
    reroutes : int
        d: examples, drawn from those remembered, that go down the tree anew with every new one.
    max_examples : int, optional
        The most examples that are remembered: a fair sample of all, wherever they stood in the
        stream. None remembers all. It bounds neither routers nor classifiers.
    max_bytes : int or str, optional
        What tree, weights and remembered examples may take at any time, as a number or as
        "500MB"; no bound by default. Where it is reached, the weights of routers and classifiers
        that are worth least are forgotten, and fewer examples are remembered once these take more
        than a quarter; the result is the same for any cut into calls. The sums of ``second_stage``
        get three sixteenths of it. Names of features, and longer ones of labels, do not count.
    leaves : int
        How many of the most probable leaves of an example are looked at. 1 is the paper's one path.
    classifiers : bool
        One against some: whether labels have linear classifiers, which learn from the examples
        that reach a leaf where the label is; a label's probability is then the geometric mean of
        its share of the votes and of what its classifier says. Without them the nearest examples
        vote alone. They are what takes most memory: about 22 bytes for each feature that the
        examples of a label had.
    r : float
        AROW's r: the larger, the smaller the steps of all that learns.
    normalize : bool
        Whether examples are scaled to unit length.
    epochs : int
        Passes of :meth:`fit` over its data; each remembers every example once more.
    threshold : float
        Probability from which :meth:`predict` returns a label, for multi-label targets.
    second_stage : {"calibrate", "head", "tail"} or float in [0, 1], optional
        What comes after the tree: see :class:`OnlinePLTClassifier`.
    n_jobs : int, optional
        Threads for prediction; -1 for all processors. Learning takes one: where an example goes
        depends on all that came before.
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

    Notes
    -----
    Half an example more has a vote, for every label by how frequent it is: so every label has a
    probability, and those near by come first. ``beam_width`` of a prediction stands in for
    ``leaves``.

    Any number of threads may predict at once. To learn meanwhile, use :meth:`shared`.

    Examples
    --------
    >>> from labelgrove import MemoryTreeClassifier
    >>> X = [{"meow": 1, "red": 1}, {"purr": 1}, {"bark": 1, "red": 1}, {"growl": 1}]
    >>> clf = MemoryTreeClassifier().fit(X, [["cat", "red"], ["cat"], ["dog", "red"], ["dog"]])
    >>> clf.predict_topk([{"growl": 1, "bark": 1}], k=1)[0].tolist()
    [['dog']]
    >>> clf.partial_fit([{"moo": 1}], [["cow"]]).predict_topk([{"moo": 1}], k=1)[0].tolist()
    [['cow']]
    """

    algorithm = "memory-tree"
    _format = Format(MemoryTreeOptions, _core.MemoryTree.load)
    _learned: Learned[MemoryTreeOptions, _core.MemoryTree] | None = None

    def __init__(
        self,
        *,
        alpha: float = 0.1,
        leaf_multiplier: int = 4,
        reroutes: int = 1,
        max_examples: int | None = None,
        max_bytes: int | str | None = None,
        leaves: int = 8,
        classifiers: bool = True,
        r: float = 1.0,
        normalize: bool = True,
        epochs: int = 1,
        threshold: float = 0.5,
        second_stage: str | float | None = None,
        n_jobs: int | None = 1,
        random_state: Any = 0,
    ) -> None:
        self.alpha = alpha
        self.leaf_multiplier = leaf_multiplier
        self.reroutes = reroutes
        self.max_examples = max_examples
        self.max_bytes = max_bytes
        self.leaves = leaves
        self.classifiers = classifiers
        self.r = r
        self.normalize = normalize
        self.epochs = epochs
        self.threshold = threshold
        self.second_stage = second_stage
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _start(self, *, named: bool) -> OnlineStart:
        options = MemoryTreeOptions.from_parameters(self.get_params(deep=False))
        return Start(
            options,
            LabelRegistry(),
            FeatureNames() if named else None,
            lambda _: _core.MemoryTree(options.to_dict()),
        )
