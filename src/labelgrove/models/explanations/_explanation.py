"""Why a label was predicted or not, as plain values and as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from labelgrove.text._words import Span

_LEAVES_IN_TEXT = 3


@dataclass(frozen=True)
class Contribution:
    """What one feature of the example adds to a margin.

    Attributes
    ----------
    feature : str or int
        The feature's name where it is known, else its column.
    value : float
        Its value in the example, scaled as the model scales it.
    weight : float
        Its weight in the margin.
    contribution : float
        ``value * weight``.
    """

    feature: str | int
    value: float
    weight: float
    contribution: float


@dataclass(frozen=True)
class Highlight:
    """A word of the text, or a run of words, that weighs for a label or against it.

    Attributes
    ----------
    begin, end : int
        Its characters in the text.
    contribution : float
        What it adds to a margin, as among the label's ``contributions``, wherever it stands.
    """

    begin: int
    end: int
    contribution: float


@dataclass(frozen=True)
class Step:
    """One node on the path of an example through a tree, and what speaks for going there.

    Attributes
    ----------
    node : int
        The node's number in its tree, the model's ``tree_`` if that is a label tree. The root is 0.
    probability : float or None
        In a label tree P(node | parent, x), from the node's own classifier. In a LOMtree, of the
        label's examples at the parent the share that went on to this node while the tree learnt.
        None for LdSM and FastXML, whose trees count labels at their leaves only.
    product : float or None
        The product of the probabilities from the root to here; in a label tree P(node | x).
    margin : float
        ``bias`` and what all features add. In a label tree it makes the probability: it is the
        log-odds where that is a sigmoid, as everywhere but with the squared hinge and with
        siblings that compete. In a LOMtree the example goes to the child whose margin is above 0.
        So it does in FastXML; in LdSM to every child whose margin is above 0.5, or else to that of
        the largest.
    bias : float
        The margin without any feature.
    contributions : tuple of Contribution
        The features that weigh most, for the node or against it, the heaviest first.
    others : float
        What all other features add together.
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
    """A leaf that counts labels, and the share that one label has there.

    Attributes
    ----------
    tree : int
        The number of the tree.
    node : int
        The leaf's number there.
    depth : int
        Steps from the root to the leaf.
    share : float
        The label's share of the examples that ended there, from 0 to 1; with LdSM's
        ``leaf_share="labels"``, of their labels.
    """

    tree: int
    node: int
    depth: int
    share: float


@dataclass(frozen=True)
class FallOut:
    """Where a label that was not predicted fell out.

    Attributes
    ----------
    step : int
        Place in the label's path of the first node where the product is below ``needed``.
    node : int
        The node's number.
    product : float
        What is left there: the product of the probabilities.
    needed : float
        What it should have been. In a label tree the threshold, or the probability of the k-th
        best label; in a LOMtree one half, below which most of the label's examples have gone
        another way.
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
        As ``predict_topk`` gives it.
    rank : int
        Its place among all labels, 1 for the most probable.
    predicted : bool
        Whether it is among the k best, or reaches the threshold where one was given.
    path : tuple of Step
        In a label tree the way from the root to the label's leaf, in the first of several trees.
        In a LOMtree the way of the example to the most probable leaf. For LdSM
        and FastXML, the way to the leaf where the label has its largest share; empty if it has
        none anywhere.
    leaves : tuple of Leaf
        The leaves that the label's probability was read from, the largest share first: with
        LdSM and FastXML, all that the example reaches, and with LOMtree the most probable one.
        Empty for label trees, where a label has a leaf of its own.
    contributions : tuple of Contribution
        The features that weigh most over all: what they add to a margin on average, over the steps
        of the path, or with LdSM and FastXML over the steps to all leaves, each counted by the
        label's share.
    fallen_out : FallOut or None
        Where a label that is not predicted fell out; None for LdSM and FastXML, and where the
        product never was too small (a label with the same probability has arrived earlier, or
        other trees of the model decided).
    name : str or None
        What the model's vocabulary calls the label.
    highlights : tuple of Highlight
        Where in the text the ``contributions`` stand, in its order. Empty unless a
        `TextClassifier` explains.
    first_stage : float or None
        The score that the trees give, where a second stage comes after them.
    cosine : float or None
        Of the example to the label's centroid, where the second stage ranks by it.
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
        """Say what the second stage has gone by, in a sentence; nothing where there is none.

        Returns
        -------
        str
        """
        if self.first_stage is None:
            return ""
        near = "" if self.cosine is None else f" and the cosine to its centroid, {self.cosine:.2f}"
        return f"by a second stage, from {self.first_stage:.4g}{near}"

    def in_leaves(self) -> str:
        """Say in which leaves the label was found, in a sentence; nothing for a label tree.

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
        return said + (f"; most: {', '.join(most)}" if most else "")

    @property
    def called(self) -> str:
        """The name of the label and the label; the label alone where it has no name."""
        named = self.name is not None and self.name != str(self.label)
        return f"{self.name} ({self.label})" if named else str(self.label)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        verdict = "predicted" if self.predicted else "not predicted"
        yield f"{self.called}  P = {self.probability:.4g}, place {self.rank}, {verdict}"
        if self.first_stage is not None:
            yield f"  {self.after_first_stage()}"
        if self.leaves:
            yield f"  {self.in_leaves()}"
        if len(self.leaves) > 1 and self.contributions:
            yield f"  on the ways to all of them  {_in_words(self.contributions)}"
        if self.path:
            has_products = self.path[0].product is not None
            products = "  P(node|parent)  P(node)" if has_products else ""
            yield f"  node    {products}    margin  what weighs most in it"
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
    text : str or None
        What was explained, by a `TextClassifier`.
    """

    labels: tuple[LabelExplanation, ...]
    k: int
    threshold: float | None
    text: str | None = None

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.labels)) or "no label is predicted"

    def named(self, name_of: Callable[[Any], str | None]) -> Explanation:
        """Give labels their names.

        Parameters
        ----------
        name_of : callable
            From a label to its name, such as a vocabulary's ``name``.

        Returns
        -------
        Explanation
        """
        labels = tuple(replace(one, name=name_of(one.label)) for one in self.labels)
        return replace(self, labels=labels)

    def highlighted(self, text: str, spans: Iterable[Span]) -> Explanation:
        """Say where in a text the words stand that weigh most.

        Parameters
        ----------
        text : str
        spans : iterable of Span
            Its words, by their names among the contributions.

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
        """Everything as dicts, lists and numbers, for JSON.

        Returns
        -------
        dict
        """
        return asdict(self)


def _in_words(contributions: tuple[Contribution, ...]) -> str:
    return "  ".join(f"{one.feature} {one.contribution:+.2f}" for one in contributions)
