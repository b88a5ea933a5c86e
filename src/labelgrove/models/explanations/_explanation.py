"""Why a label was predicted or not, as plain values and as text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Contribution:
    """What one feature of the example adds to the margin of a node classifier.

    Attributes
    ----------
    feature : str or int
        The feature's name where it is known, else its column.
    value : float
        Its value in the example, scaled as the model scales it.
    weight : float
        Its weight at the node.
    contribution : float
        ``value * weight``, in units of the margin.
    """

    feature: str | int
    value: float
    weight: float
    contribution: float


@dataclass(frozen=True)
class NodeExplanation:
    """One node on the path to a label.

    Attributes
    ----------
    node : int
        Its number in the model's ``tree_``; the root is 0.
    probability : float
        P(node | parent, x), from the node's own classifier.
    product : float
        P(node | x): the product of the probabilities from the root to here.
    margin : float
        What ``probability`` is made of, the bias and what all features add: its log-odds where
        the node's probability is a sigmoid, as everywhere but with the squared hinge and with
        siblings that compete.
    bias : float
        The margin without any feature.
    contributions : tuple of Contribution
        The features that weigh most, for or against, the heaviest first.
    others : float
        What all other features add together.
    """

    node: int
    probability: float
    product: float
    margin: float
    bias: float
    contributions: tuple[Contribution, ...]
    others: float


@dataclass(frozen=True)
class FallOut:
    """Where a label that was not predicted fell out.

    Attributes
    ----------
    step : int
        Place in the label's path of the first node where the product is below ``needed``.
    node : int
        The node's number in the model's ``tree_``.
    product : float
        P(node | x) there.
    needed : float
        What it should have been: the threshold, or the probability of the k-th best label.
    """

    step: int
    node: int
    product: float
    needed: float

    @property
    def factor(self) -> float:
        """How many times larger the product would have had to be; infinite if it was 0."""
        return self.needed / self.product if self.product > 0 else float("inf")

    def __str__(self) -> str:
        short = f"{self.factor:.3g} times too little" if self.product > 0 else "nothing at all"
        return (
            f"falls out at node {self.node}: {self.product:.3g} is left where {self.needed:.3g} "
            f"was needed, {short}"
        )


@dataclass(frozen=True)
class LabelExplanation:
    """Why a label has its probability.

    Attributes
    ----------
    label : str or int
    probability : float
        P(label | x), as ``predict_topk`` gives it.
    rank : int
        Its place among all labels, 1 for the most probable.
    predicted : bool
        Whether it is among the k best, or reaches the threshold where one was given.
    path : tuple of NodeExplanation
        From the root to the label's leaf; of several trees, in the first one.
    fallen_out : FallOut or None
        Where it fell out, unless it is predicted.
    """

    label: Any
    probability: float
    rank: int
    predicted: bool
    path: tuple[NodeExplanation, ...]
    fallen_out: FallOut | None

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        verdict = "predicted" if self.predicted else "not predicted"
        yield f"{self.label}  P = {self.probability:.4g}, place {self.rank}, {verdict}"
        yield "  node      P(node|parent)  P(node|x)  what weighs most, in the margin"
        for node in self.path:
            line = f"  {node.node:<8d}  {node.probability:>14.4f}  {node.product:>9.4g}"
            yield f"{line}  {in_words(node)}"
        if self.fallen_out is not None:
            yield f"  {self.fallen_out}"


@dataclass(frozen=True)
class Explanation:
    """Why labels were predicted, or one label was not.

    Attributes
    ----------
    labels : tuple of LabelExplanation
        The predicted labels, best first, or only the one that was asked for.
    k : int
        How many labels were to be predicted, where no threshold was given.
    threshold : float or None
        The probability from which a label was to be predicted; None where the k best were, or
        those that reach thresholds of their own.
    """

    labels: tuple[LabelExplanation, ...]
    k: int
    threshold: float | None

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.labels))

    def to_dict(self) -> dict[str, Any]:
        """Everything as dicts, lists and numbers, for JSON.

        Returns
        -------
        dict
        """
        return asdict(self)


class Weighed(Protocol):
    """A node whose margin is told by what it is made of."""

    @property
    def bias(self) -> float: ...
    @property
    def contributions(self) -> tuple[Contribution, ...]: ...
    @property
    def others(self) -> float: ...


def in_words(weighed: Weighed) -> str:
    """The features that weigh most, the bias and the rest, on a line."""
    said = [f"{c.feature} {c.contribution:+.2f}" for c in weighed.contributions]
    said.append(f"(bias {weighed.bias:+.2f})")
    if weighed.others:
        said.append(f"(others {weighed.others:+.2f})")
    return "  ".join(said)
