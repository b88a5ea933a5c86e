"""IPLT: incremental learning on a given tree (OPLT, Algorithms 1 and 9)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from .label_tree import Label, LabelTree, Node
from .learners import Evidence, Instance, Learner
from .replay import FADES_AFTER, BlockGauge, NodeMemory, Replay, times_now

NewClassifier = Callable[[], Learner]
Observation = tuple[Instance, Collection[Label]] | tuple[Instance, Collection[Label], float]
"""An example, its labels, and its weight if that is not 1."""

SUPER_ROOT: Node = -1
"""The node above the root: its only child is the root, and every example reaches it."""


def assign_to_nodes(tree: LabelTree, labels: Iterable[Label]) -> tuple[set[Node], set[Node]]:
    """Return the positive and the negative nodes of an example (Algorithm 9).

    A ghost, having no leaf of its own, starts at the node whose child it was.
    """
    P: set[Node] = set()  # line 1
    N: set[Node] = {tree.root}
    for j in labels:  # line 2
        v: Node | None = tree.ghosts[j] if j in tree.ghosts else tree.leaf_of[j]  # line 3
        while v is not None and v not in P:  # line 4
            P.add(v)  # line 5
            N.discard(v)  # line 6
            for child in tree.children[v]:  # line 7
                if child not in P:  # line 8
                    N.add(child)  # line 9
            v = tree.parent[v]  # line 10
    return P, N  # line 11


def sign(positive: bool) -> int:
    return 1 if positive else -1


class NodeClassifiers:
    """The classifiers of a tree's nodes, and how an example updates them.

    ``Theta`` holds a node's auxiliary classifier if it has one, ``memory`` its stored examples.
    """

    tree: LabelTree
    H: dict[Node, Learner]
    Theta: dict[Node, Learner]
    memory: dict[Node, NodeMemory]
    replay: Replay
    gauge: BlockGauge

    def update_classifiers(self, x: Instance, labels: Sequence[Label], weight: float) -> None:
        """UPDATECLASSIFIERS (Algorithm 7), and replay after it."""
        P, N = assign_to_nodes(self.tree, labels)  # line 1
        times = times_now(self.replay, self.gauge, labels)
        evidence = Evidence.BY_LOSS if self.gauge.single() else Evidence.FULL
        for v in P:  # line 2
            self.H[v].update(x, +1, weight=weight, evidence=evidence)  # line 3
            if v in self.Theta:  # line 4
                self.Theta[v].update(x, +1, weight=weight, evidence=evidence)
        for v in N:  # line 5
            self.H[v].update(x, -1, weight=weight, evidence=evidence)
        for v in [SUPER_ROOT, *P]:
            if v in self.memory:
                self._remember_and_replay(v, x, P, weight, times)

    def _remember_and_replay(
        self, v: Node, x: Instance, P: set[Node], weight: float, times: int
    ) -> None:
        children = [self.tree.root] if v == SUPER_ROOT else self.tree.children[v]
        self.memory[v].add(x, frozenset(P.intersection(children)), weight)
        fades = self.gauge.several() and self.memory[v].n % FADES_AFTER == 0
        evidence = Evidence.FADING if fades else Evidence.AGAIN
        for entry in self.memory[v].drawn(times):
            for child in children:
                y = sign(child in entry.positives)
                self.H[child].update(entry.x, y, entry.weight, evidence)
            if v in self.Theta:
                self.Theta[v].update(entry.x, +1, entry.weight, evidence)
            evidence = Evidence.AGAIN


class IPLT(NodeClassifiers):
    """A fixed tree with a classifier in each node, as Algorithm 1 trains them.

    ``H[v]`` estimates P(some label below v | some label below v's parent, x). Beyond the paper:

    * per-node replay: each parent (including the super-root) stores the examples that reached it
      and, after each new one, its children learn from some of them again;
    * ``Theta[v]``, for the requested nodes: the auxiliary classifier as if it had always existed,
      i.e. a classifier that learns a positive from each example positive at v.
    """

    def __init__(
        self,
        tree: LabelTree,
        new_classifier: NewClassifier,
        replay: Replay | None = None,
        theta_nodes: Collection[Node] = (),
    ) -> None:
        self.replay = replay = replay or Replay()
        self.gauge = BlockGauge()
        self.tree = tree
        self.H = {v: new_classifier() for v in tree.nodes()}  # Algorithm 1, lines 1-2
        self.Theta = {v: new_classifier() for v in theta_nodes}
        remembering = [v for v in tree.nodes() if not tree.is_leaf(v) or v in self.Theta]
        self.memory = {v: NodeMemory(replay) for v in [SUPER_ROOT, *remembering]}

    def train(self, observations: Iterable[Observation]) -> Mapping[Node, Learner]:
        for observation in observations:  # line 3
            self.learn(*observation)
        return self.H  # line 7

    def learn(self, x: Instance, labels: Iterable[Label], weight: float = 1.0) -> None:
        labels = list(labels)
        self.update_classifiers(x, labels, weight)  # lines 4 to 6
