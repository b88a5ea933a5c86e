"""Why a tree that routes examples predicts what it does, as plain values and as text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from labelgrove.models.explanations._explanation import Contribution, in_words


@dataclass(frozen=True)
class RouteNode:
    """An inner node of a decision tree that an example passes.

    Attributes
    ----------
    node : int
        Its number in the tree; the root is 0.
    side : {"left", "right"}
        Where the example goes: right if the margin is above 0.
    margin : float
        The bias and what all features add.
    bias : float
    contributions : tuple of Contribution
        The features that weigh most, the heaviest first; here in units of the margin.
    others : float
        What all other features add together.
    """

    node: int
    side: str
    margin: float
    bias: float
    contributions: tuple[Contribution, ...]
    others: float


@dataclass(frozen=True)
class RouteLabel:
    """A class, as the nodes on the route of an example have seen it.

    Attributes
    ----------
    label : str or int
    probability : float
        As ``predict_topk`` gives it.
    rank : int
        Its place among all classes.
    predicted : bool
        Whether it is among the k best.
    seen : tuple of int
        How many of its examples have come to each node of the route, the leaf included.
    parted : int or None
        Place in the route where most of those that had come so far went the other way; None if
        most of them have gone with the example all the way.
    """

    label: Any
    probability: float
    rank: int
    predicted: bool
    seen: tuple[int, ...]
    parted: int | None


@dataclass(frozen=True)
class RouteExplanation:
    """Why a decision tree predicts what it does: the way of the example, and who went it before.

    Attributes
    ----------
    route : tuple of RouteNode
        From the root on, without the leaf.
    leaf : int
        The number of the leaf.
    reached : tuple of int
        How many examples have come to each node of the route, the leaf included.
    labels : tuple of RouteLabel
        The predicted classes, best first, or only the one that was asked for.
    k : int
        How many classes were to be predicted.
    """

    route: tuple[RouteNode, ...]
    leaf: int
    reached: tuple[int, ...]
    labels: tuple[RouteLabel, ...]
    k: int

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def to_dict(self) -> dict[str, Any]:
        """Everything as dicts, lists and numbers, for JSON.

        Returns
        -------
        dict
        """
        return asdict(self)

    def describe(self, one: RouteLabel) -> str:
        """Say what the nodes of the route have seen of a class, in a sentence.

        Parameters
        ----------
        one : RouteLabel
            Of ``labels``.

        Returns
        -------
        str
        """
        at_leaf = f"{one.seen[-1]} of the {self.reached[-1]} examples at the leaf are of it"
        if one.parted is None:
            return at_leaf
        here, onward = one.seen[one.parted], one.seen[one.parted + 1]
        node = self.route[one.parted]
        return (
            f"parts at node {node.node}: {here - onward} of its {here} examples there went the "
            f"other way than {node.side}; {at_leaf}"
        )

    def _lines(self) -> Iterator[str]:
        yield "node      examples  goes    margin  what weighs most"
        for node, reached in zip(self.route, self.reached, strict=False):
            line = f"{node.node:<8d}  {reached:>8d}  {node.side:<5s}  {node.margin:>+7.3f}"
            yield f"{line}  {in_words(node)}"
        yield f"{self.leaf:<8d}  {self.reached[-1]:>8d}  leaf"
        for one in self.labels:
            verdict = "predicted" if one.predicted else "not predicted"
            yield f"{one.label}  P = {one.probability:.4g}, place {one.rank}, {verdict}"
            yield f"  {self.describe(one)}"
