"""Explanations of why labels are predicted or not, as plain values and as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from labelgrove.text._words import Span

_LEAVES_IN_TEXT = 3


@dataclass(frozen=True)
class Contribution:
    """The contribution of one feature of the example to a margin.

    Attributes
    ----------
    feature : str or int
        The feature's name if it is known, else its column.
    value : float
        Its value in the example, scaled as the model scales it.
    weight : float
        Its weight in the margin; 0 if features that share the name have values that cancel out.
    contribution : float
        ``value * weight``, summed over the features that share the name.
    """

    feature: str | int
    value: float
    weight: float
    contribution: float


@dataclass(frozen=True)
class Highlight:
    """A word or a sequence of words in the text that counts for or against a label.

    Attributes
    ----------
    begin, end : int
        Range of its characters in the text.
    contribution : float
        Its contribution to a margin, as in the label's ``contributions``. The same for all
        occurrences of the word.
    """

    begin: int
    end: int
    contribution: float


@dataclass(frozen=True)
class Step:
    """One node on a path through a tree, and the features that lead there.

    Attributes
    ----------
    node : int
        The node's number in its tree; for a label tree this is the model's ``tree_``. The root
        is 0.
    probability : float or None
        In a label tree P(node | parent, x), from the node's own classifier. In a LOMtree the share
        of the label's examples at the parent that continued to this node during learning. None
        for other models, whose routers do not distinguish labels.
    product : float or None
        The product of the probabilities from the root to this node; in a label tree P(node | x).
    margin : float
        The sum of ``bias`` and all contributions. In a label tree it determines the probability:
        it is the log-odds, except with the hinge losses of `PLTClassifier` and with competing
        siblings. In a LOMtree and in FastXML the example goes to the child whose margin is above
        0; in LdSM to every child whose margin is above 0.5, or to the child with the largest
        margin if there is none.
    bias : float
        The margin without any feature.
    contributions : tuple of Contribution
        The features with the largest contributions for or against the node, largest first.
    others : float
        The sum of the contributions of all other features.
    """

    node: int
    probability: float | None
    product: float | None
    margin: float
    bias: float
    contributions: tuple[Contribution, ...]
    others: float

    def __str__(self) -> str:
        others = f"  (others {self.others:+.2f})" if self.others else ""
        return f"{_in_words(self.contributions)}  (bias {self.bias:+.2f}){others}".lstrip()


@dataclass(frozen=True)
class Leaf:
    """A leaf that counts labels, and the share of one label in it.

    Attributes
    ----------
    tree : int
        The number of the tree.
    node : int
        The leaf's number in the tree.
    depth : int
        Number of steps from the root to the leaf.
    share : float
        The label's share of the examples that ended in the leaf, from 0 to 1; with LdSM's
        ``leaf_share="labels"``, its share of their labels.
    """

    tree: int
    node: int
    depth: int
    share: float


@dataclass(frozen=True)
class FallOut:
    """The node at which a label that was not predicted fell out.

    Attributes
    ----------
    step : int
        Index in the label's path of the first node where the product is below ``needed``.
    node : int
        The node's number.
    product : float
        The product of the probabilities at this node.
    needed : float
        The required product. In a label tree the threshold, or the probability of the k-th best
        label; in a LOMtree one half, below which most of the label's examples have taken another
        path.
    """

    step: int
    node: int
    product: float
    needed: float

    @property
    def factor(self) -> float:
        """The ratio of the required product to the actual one; infinite if that is 0."""
        return self.needed / self.product if self.product > 0 else float("inf")

    def __str__(self) -> str:
        below = f"{self.factor:.3g} times below" if self.product > 0 else "below"
        return (
            f"falls out at node {self.node}: the product is {self.product:.3g}, {below} the "
            f"required {self.needed:.3g}"
        )


@dataclass(frozen=True)
class LabelExplanation:
    """Why a label has its probability.

    Attributes
    ----------
    label : str or int
    probability : float
        As returned by ``predict_topk``.
    rank : int
        Its rank among all labels as ``predict_topk`` ranks them, from 1.
    predicted : bool
        Whether it is among the k best, or reaches the threshold if one was given.
    path : tuple of Step
        The path that ``explain`` describes for each estimator, from the root; empty if no leaf of
        LdSM or FastXML has a share of the label.
    leaves : tuple of Leaf
        The leaves that determine the label's probability, largest share first: for LdSM and
        FastXML all leaves that the example reaches, for LOMtrees and memory trees the most
        probable one. Empty for label trees, where each label has its own leaf.
    contributions : tuple of Contribution
        The features with the largest contributions overall, averaged over the steps of the path;
        for LdSM and FastXML over the steps to all leaves, weighted by the label's share, and for
        memory trees over the steps after the routers.
    fallen_out : FallOut or None
        The node at which a label that is not predicted fell out. None for models without
        probabilities on the path, and if no product was too small: a label with the same
        probability arrived earlier, or other trees of the model decided.
    name : str or None
        The label's name in the model's vocabulary.
    highlights : tuple of Highlight
        The positions of the ``contributions`` in the text, in text order. Empty unless made by a
        `TextClassifier`.
    first_stage : float or None
        The score before the second stage, if there is one.
    cosine : float or None
        Cosine of the example and the label's centroid, if the second stage uses it.
    """

    label: Any
    probability: float
    rank: int
    predicted: bool
    path: tuple[Step, ...]
    leaves: tuple[Leaf, ...]
    contributions: tuple[Contribution, ...]
    fallen_out: FallOut | None
    name: str | None = None
    highlights: tuple[Highlight, ...] = ()
    first_stage: float | None = None
    cosine: float | None = None

    def after_first_stage(self) -> str:
        """Describe the inputs of the second stage in a phrase; empty if there is none.

        Returns
        -------
        str
        """
        if self.first_stage is None:
            return ""
        if self.cosine is None:
            return f"calibrated, from {self.first_stage:.4g}"
        return f"from {self.first_stage:.4g} and the cosine to its centroid, {self.cosine:.2f}"

    def in_leaves(self) -> str:
        """Describe the label's leaves in a phrase; empty for a label tree.

        Returns
        -------
        str
        """
        if not self.leaves:
            return ""
        if len(self.leaves) == 1:
            return f"a share of {self.leaves[0].share:.4g} in leaf {self.leaves[0].node}"
        found = [leaf for leaf in self.leaves if leaf.share > 0]
        mean = sum(leaf.share for leaf in found) / len(self.leaves)
        said = f"in {len(found)} of {len(self.leaves)} leaves, with a mean share of {mean:.4g}"
        most = [
            f"{leaf.share:.2f} in leaf {leaf.node} of tree {leaf.tree}"
            for leaf in found[:_LEAVES_IN_TEXT]
        ]
        return said + (f"; largest: {', '.join(most)}" if most else "")

    @property
    def called(self) -> str:
        """The label's name followed by the label; the label alone if it has no name."""
        named = self.name is not None and self.name != str(self.label)
        return f"{self.name} ({self.label})" if named else str(self.label)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        verdict = "predicted" if self.predicted else "not predicted"
        yield f"{self.called}  P = {self.probability:.4g}, rank {self.rank}, {verdict}"
        if self.first_stage is not None:
            yield f"  {self.after_first_stage()}"
        if self.leaves:
            yield f"  {self.in_leaves()}"
        if len(self.leaves) > 1 and self.contributions:
            yield f"  on the paths to all of them  {_in_words(self.contributions)}"
        if self.path:
            has_products = self.path[0].product is not None
            products = "  P(node|parent)  P(node)" if has_products else ""
            yield f"  node    {products}    margin  largest contributions"
        for step in self.path:
            if step.probability is None or step.product is None:
                products = ""
            else:
                products = f"  {step.probability:>14.4f}  {step.product:>7.4g}"
            yield f"  {step.node:<8d}{products}  {step.margin:>+8.2f}  {step}"
        if self.fallen_out is not None:
            yield f"  {self.fallen_out}"


@dataclass(frozen=True)
class Explanation:
    """Explanation of the predicted labels of an example, or of one given label.

    Attributes
    ----------
    labels : tuple of LabelExplanation
        The predicted labels, best first, or only the requested label.
    k : int
        Number of labels that count as predicted, if no threshold was given.
    threshold : float or None
        Lowest probability of a predicted label; None if the k best are predicted, or if each
        label has its own threshold.
    text : str or None
        The explained text, if a `TextClassifier` made the explanation.
    """

    labels: tuple[LabelExplanation, ...]
    k: int
    threshold: float | None
    text: str | None = None

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.labels)) or "no label is predicted"

    def named(self, name_of: Callable[[Any], str | None]) -> Explanation:
        """Return the explanation with names of labels.

        Parameters
        ----------
        name_of : callable
            Maps a label to its name, such as a vocabulary's ``name``.

        Returns
        -------
        Explanation
        """
        labels = tuple(replace(one, name=name_of(one.label)) for one in self.labels)
        return replace(self, labels=labels)

    def highlighted(self, text: str, spans: Iterable[Span]) -> Explanation:
        """Return the explanation with the positions of the contributing words in a text.

        Parameters
        ----------
        text : str
        spans : iterable of Span
            The words of the text, named as in the contributions.

        Returns
        -------
        Explanation
        """
        found = list(spans)
        labels = []
        for one in self.labels:
            added = {weighed.feature: weighed.contribution for weighed in one.contributions}
            marks = (
                Highlight(span.begin, span.end, added[span.name])
                for span in found
                if span.name in added
            )
            ordered = tuple(sorted(marks, key=lambda mark: (mark.begin, mark.end)))
            labels.append(replace(one, highlights=ordered))
        return replace(self, labels=tuple(labels), text=text)

    def to_dict(self) -> dict[str, Any]:
        """Convert the explanation to dicts, lists and numbers, for JSON.

        Returns
        -------
        dict
        """
        return asdict(self)


def _in_words(contributions: tuple[Contribution, ...]) -> str:
    return "  ".join(f"{one.feature} {one.contribution:+.2f}" for one in contributions)
