"""Why an ensemble of trees that route examples predicts what it does, as values and as text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from labelgrove.models.explanations._explanation import Contribution, in_words

_LEAVES_IN_TEXT = 3


@dataclass(frozen=True)
class ForestStep:
    """A step of an example from an inner node to one of its children.

    Attributes
    ----------
    node : int
        Its number in the tree; the root is 0.
    child : int
        Which of its children, from 0 on.
    margin : float
        What the child's regressor says, the bias and what all features add: the example goes to
        every child whose margin is above 0.5, or else to the one of the largest.
    bias : float
    contributions : tuple of Contribution
        The features that weigh most, the heaviest first; here in units of the margin.
    others : float
        What all other features add together.
    """

    node: int
    child: int
    margin: float
    bias: float
    contributions: tuple[Contribution, ...]
    others: float


@dataclass(frozen=True)
class ForestLeaf:
    """A leaf that an example reaches, and what it says of a label.

    Attributes
    ----------
    tree : int
        The number of the tree.
    leaf : int
        The leaf's number there.
    depth : int
    share : float
        The label's share in the leaf, from 0 to 1.
    part : float
        What the leaf adds to the label's mean share.
    """

    tree: int
    leaf: int
    depth: int
    share: float
    part: float


@dataclass(frozen=True)
class ForestLabel:
    """Why a label has its score.

    Attributes
    ----------
    label : str or int
    probability : float
        As ``predict_topk`` gives it.
    rank : int
        Its place among all labels.
    predicted : bool
        Whether it is among the k best, or reaches the threshold where one was given.
    mean_share : float
        The mean of its shares in all leaves: its probability, unless centroids count too.
    leaves : tuple of ForestLeaf
        Those that speak of it, the largest share first.
    reached : int
        How many leaves the example has reached that any label can be read from.
    bias : float
        The same of the steps' biases as ``contributions`` of their features.
    contributions : tuple of Contribution
        The features that led the example to these leaves, the heaviest first: what they add to
        the margin of a step, on average over all steps to all these leaves, each counted by the
        label's share in the leaf.
    others : float
        What all other features add together.
    route : tuple of ForestStep
        The way to the first of the leaves.
    """

    label: Any
    probability: float
    rank: int
    predicted: bool
    mean_share: float
    leaves: tuple[ForestLeaf, ...]
    reached: int
    bias: float
    contributions: tuple[Contribution, ...]
    others: float
    route: tuple[ForestStep, ...]

    def describe(self) -> str:
        """Say through which leaves the label got its score, in a sentence.

        Returns
        -------
        str
        """
        said = f"in {len(self.leaves)} of {self.reached} leaves"
        first = [
            f"{one.share:.2f} in leaf {one.leaf} of tree {one.tree}"
            for one in self.leaves[:_LEAVES_IN_TEXT]
        ]
        return f"{said}, a mean share of {self.mean_share:.4g}" + (
            f"; most: {', '.join(first)}" if first else ""
        )

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        verdict = "predicted" if self.predicted else "not predicted"
        yield f"{self.label}  P = {self.probability:.4g}, place {self.rank}, {verdict}"
        yield f"  {self.describe()}"
        if not self.route:
            return
        yield f"  on the ways there  {in_words(self)}"
        yield f"  the way through tree {self.leaves[0].tree}:"
        for step in self.route:
            line = f"    node {step.node} to child {step.child}  {step.margin:+.3f}"
            yield f"{line}  {in_words(step)}"


@dataclass(frozen=True)
class ForestExplanation:
    """Why an ensemble of decision trees predicts what it does.

    Attributes
    ----------
    labels : tuple of ForestLabel
        The predicted labels, best first, or only the one that was asked for.
    trees : int
        How many there are.
    k : int
        How many labels were to be predicted, where no threshold was given.
    """

    labels: tuple[ForestLabel, ...]
    trees: int
    k: int

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.labels))

    def to_dict(self) -> dict[str, Any]:
        """Everything as dicts, lists and numbers, for JSON.

        Returns
        -------
        dict
        """
        return asdict(self)
