"""The contextual memory tree, as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from labelgrove import _core
from labelgrove._parameters import flag, integer, real
from labelgrove.models._online import OnlineClassifier, OnlineStart
from labelgrove.models._plt_options import FLOATS, BudgetedOptions
from labelgrove.models.engine._archive import Format
from labelgrove.models.engine._examples import Start
from labelgrove.models.engine._learned import Learned
from labelgrove.models.engine._records import given, seed
from labelgrove.tuning._second_stage import PLACES

_MOST = 10_000


@dataclass(frozen=True, kw_only=True)
class MemoryTreeOptions(BudgetedOptions):
    """Options of the core, with values checked."""

    alpha: float = given("alpha", real, 0.0, 1.0)
    leaf_multiplier: int = given("leaf_multiplier", integer, 1, _MOST)
    reroutes: int = given("reroutes", integer, 0, _MOST)
    max_examples: int = given("max_examples", integer, 1, zero=None)
    leaves: int = given("leaves", integer, 1)
    classifiers: bool = given("classifiers", flag)
    r: float = given("r", real, *FLOATS)
    normalize: bool = given("normalize", flag)
    seed: int = seed()

    def odds(self, _: int, /) -> float:
        """As `Options.odds`: with classifiers, every label has a probability of its own."""
        return 1.0 if self.classifiers else 0.0

    @property
    def learns_odds_to(self) -> int:
        """As `Options.learns_odds_to`: labels that it does not count have most of the weight."""
        return PLACES


class MemoryTreeClassifier(OnlineClassifier):
    """Contextual memory tree: stores examples, and finds similar ones in logarithmic time.

    Every inner node has a linear router that sends an example left or right; every leaf remembers
    examples with their labels (Sun, Beygelzimer, Daumé, Langford & Mineiro 2019). An example is
    compared, by a learnt similarity, with the remembered examples of its most probable leaves,
    which vote for their labels. Linear classifiers of these labels, and of no others, contribute
    as well. Routers learn to balance the tree, and which side gives better answers. With every new
    example, some remembered examples are learnt from again and rerouted through the tree. New
    labels and features may appear in any call of :meth:`partial_fit`, and one remembered example
    makes a label predictable.

    Use it if examples have a dozen labels or more. Otherwise :class:`OnlinePLTClassifier` is as
    accurate with one example per label, more accurate with several, and predicts 4 to 40 times
    as fast. The model contains the examples.

    Parameters
    ----------
    alpha : float in [0, 1]
        Weight of a router's own prediction, or of the difference in reward between the two sides,
        against balance.
    leaf_multiplier : int
        c: a leaf holds up to c times the number of bits of the node count.
    reroutes : int
        d: number of remembered examples, drawn at random, to learn from again and to reroute after
        every new example.
    max_examples : int, optional
        Largest number of remembered examples, a uniform sample of the whole stream. None
        remembers all. It does not limit routers and classifiers.
    max_bytes : int or str, optional
        Limit on the memory of the tree, its weights and remembered examples, as for
        :class:`OnlinePLTClassifier`. At the limit the model forgets the least important weights of
        routers and classifiers, and remembers fewer examples if they take more than 3/8 of what
        the tree leaves of it.
    leaves : int
        Number of most probable leaves to search. 1 follows a single path, as in the paper.
    classifiers : bool
        Whether labels have linear classifiers, which learn from the examples that reach a leaf
        containing the label ("one against some"). A label's probability is then the geometric mean
        of its share of the votes and its classifier's probability; otherwise it is the share of
        the votes. Classifiers take most of the memory: about 22 bytes for each feature of a
        label's examples.
    r : float
        AROW's r for routers, similarity and classifiers; larger values make smaller steps.
    normalize : bool
        Whether to scale examples to unit length. If not, they should be about 1 long.
    epochs : int
        Number of passes that :meth:`fit` makes over its data. Each pass remembers every example
        again.
    threshold : float
        Lowest probability at which :meth:`predict` returns a label, for multi-label targets.
    second_stage : {"calibrate", "head", "tail"} or float in [0, 1], optional
        A second stage after the tree: see :class:`PLTClassifier`. It learns from some examples,
        predicted before they are learnt.
    n_jobs : int, optional
        Number of threads for prediction; -1 for all processors. Learning uses one, because the
        route of an example depends on all earlier examples.
    random_state : int, RandomState or None
        Seed of all random choices. None draws one.

    Notes
    -----
    Half an additional example votes for every label in proportion to its frequency. So every label
    has a probability, and labels of similar examples come first. ``beam_width`` of a prediction
    replaces ``leaves``.

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

    def _start(self) -> OnlineStart:
        options = MemoryTreeOptions.from_parameters(self.get_params(deep=False))
        return Start(options, lambda _: _core.MemoryTree(options.to_dict()))
