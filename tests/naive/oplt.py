"""OPLT: the tree grows with the labels that arrive (OPLT, Algorithms 2-7 and 9)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence

import numpy as np

from .label_tree import Label, LabelTree, Node
from .learners import Evidence, Instance, Learner
from .policy import Policy
from .replay import FADES_AFTER, LabelGauge, NodeMemory, Replay, times_now

Name = Hashable

SUPER_ROOT: Node = -1
"""The node above the root: its only child is the root, and every example reaches it."""


def assign_to_nodes(tree: LabelTree, labels: Iterable[Label]) -> tuple[set[Node], set[Node]]:
    """Return the positive and the negative nodes of an example (Algorithm 9)."""
    P: set[Node] = set()  # line 1
    N: set[Node] = {tree.root}
    for j in labels:  # line 2
        v: Node | None = tree.leaf_of[j]  # line 3
        while v is not None and v not in P:  # line 4
            P.add(v)  # line 5
            N.discard(v)  # line 6
            for child in tree.children[v]:  # line 7
                if child not in P:  # line 8
                    N.add(child)  # line 9
            v = tree.parent[v]  # line 10
    return P, N  # line 11


class OPLT:
    """A growing tree with its classifiers.

    ``H[v]`` is the paper's eta(v), ``Theta[v]`` its theta(v), there only while the policy can still
    extend v. ``memory[v]`` belongs to v's children and theta(v): it exists where one of them does,
    and after each new example they learn again from some of it.

    With ``start``, a tree given beforehand whose labels are named by ``names``, this is OPLT-W of
    section 5.1 before it has seen anything, and IPLT (Algorithm 1) as long as no label is new.
    """

    def __init__(
        self,
        new_classifier: Callable[[], Learner],
        policy: Policy,
        replay: Replay | None = None,
        start: LabelTree | None = None,
        names: Sequence[Name] = (),
    ) -> None:
        # Algorithm 2, OPLT.INIT
        self.new_classifier = new_classifier
        self.policy = policy
        self.replay = replay or Replay()
        self.gauge = LabelGauge()
        self.tree = start or LabelTree()  # line 1
        self.label_ids: dict[Name, Label] = {name: j for j, name in enumerate(names)}
        self.names: list[Name] = list(names)  # of all labels ever, by id
        self.H: dict[Node, Learner] = {v: new_classifier() for v in self.tree.nodes()}  # line 2
        self.Theta: dict[Node, Learner] = {}
        self.memory = {SUPER_ROOT: NodeMemory(self.replay)}
        self.steps: Counter[str] = Counter()  # how often each way to place a label was taken
        self._keep_theta_where_needed(new_nodes=self.tree.nodes())  # line 3

    def learn(self, x: Instance, names: Sequence[Name], weight: float = 1.0) -> list[Label]:
        """Learn from one observation (Algorithm 3, lines 2-4) and give the ids of its labels.

        It counts ``weight`` times, in every step of the classifiers; ``weight`` is above 0.
        """
        self.policy.observe(x)
        names = list(dict.fromkeys(names))
        new = [name for name in names if name not in self.label_ids]
        for position, name in enumerate(new):  # Algorithm 3, line 2; Algorithm 4, line 1
            self._update_tree(x, self._new_label(name), first=position == 0)
        labels = [self.label_ids[name] for name in names]
        self._update_classifiers(x, labels, weight)  # Algorithm 3, line 3
        return labels

    def remove(self, name: Name) -> None:
        """Remove the label; its leaf stays silent until a new label takes its place."""
        self.tree.remove_label(self.label_ids.pop(name))
        self.steps["remove"] += 1

    def probability(self, x: Instance, v: Node) -> float:
        """Return eta(x, v)."""
        return self.H[v].probability(x)

    def _new_label(self, name: Name) -> Label:
        self.label_ids[name] = len(self.names)
        self.names.append(name)
        return self.label_ids[name]

    # Algorithm 4: UPDATETREE, for one new label

    def _update_tree(self, x: Instance, j: Label, first: bool) -> None:
        if not self.tree.leaf_of:  # line 2: no labels have been seen so far
            self.tree.set_label(j, self.tree.root)
            self.steps["root"] += 1
            return
        v, insert = self.policy.select(self.tree, lambda node: self.probability(x, node), first)
        free = [leaf for leaf in self.tree.leaf_children(v) if leaf in self.tree.silent]
        if free:
            self._take_place(j, free[0])
            return
        self._count_step(v, insert)
        grown: list[Node] = []
        if insert:  # line 5
            grown.append(self._insert_node(v))
        grown.append(self._add_leaf(j, v))  # line 6
        self._keep_theta_where_needed(new_nodes=grown)

    def _insert_node(self, v: Node) -> Node:
        """INSERTNODE: everything that reached v so far is positive at v' (Algorithm 5)."""
        new = self.tree.insert_node(v)  # lines 1-6
        self.H[new] = self.Theta[v].copy()  # line 7
        self.Theta[new] = self.Theta[v].copy()  # line 8
        self.memory[new] = self.memory[v].copy()
        self.memory[v] = self.memory[v].with_positive(new)
        return new

    def _add_leaf(self, j: Label, v: Node) -> Node:
        """ADDLEAF: nothing that reached v so far is positive at v'' (Algorithm 6)."""
        new = self.tree.add_leaf(j, v)
        self.H[new] = self.Theta[v].negated()  # INVERSECLASSIFIER
        return new  # theta(v'') is created by _keep_theta_where_needed, if at all

    def _take_place(self, j: Label, leaf: Node) -> None:
        """Give the silent leaf to label j: ADDLEAF without a new node.

        The dead label's examples stay positive at the parent and become negative at the leaf, in
        the classifier and in the memory.
        """
        v = self.tree.parent[leaf]
        assert v is not None
        self.tree.take_place(j, leaf)
        self.H[leaf] = self.Theta[v].negated()
        self.memory[v].forget_positive(leaf)
        if leaf in self.Theta:
            self.Theta[leaf] = self.new_classifier()
            self.memory[leaf] = NodeMemory(self.replay)
        self.steps["take place"] += 1

    def _keep_theta_where_needed(self, new_nodes: Sequence[Node]) -> None:
        """Create the missing auxiliary classifiers of new nodes; drop those no longer needed."""
        for v in self.tree.nodes():
            if not self.policy.may_extend(self.tree, v):
                self.Theta.pop(v, None)
            elif v not in self.Theta:
                assert v in new_nodes, f"theta({v}) is needed but was dropped"
                self.Theta[v] = self.new_classifier()
            if self.tree.is_leaf(v) and v not in self.Theta:
                self.memory.pop(v, None)  # neither children nor theta: no list
            else:
                self.memory.setdefault(v, NodeMemory(self.replay))

    def _count_step(self, v: Node, insert: bool) -> None:
        """Record which variant of Figure 1 is used, so that tests know their coverage."""
        if not insert:
            kind = "pre-leaf" if self.tree.is_pre_leaf(v) else "mixed"
            self.steps[f"variant 1, {kind}"] += 1
        elif not self.tree.is_leaf(v):
            self.steps["variant 2"] += 1
        else:
            silent = ", silent" if v in self.tree.silent else ""
            self.steps[f"variant 3{silent}"] += 1

    # Algorithm 7, and replay after it

    def _update_classifiers(self, x: Instance, labels: Sequence[Label], weight: float) -> None:
        """UPDATECLASSIFIERS, for an example and the ids of its labels."""
        P, N = assign_to_nodes(self.tree, labels)  # line 1
        times = times_now(self.replay, self.gauge, labels)
        evidence = Evidence.BY_LOSS if self.gauge.single() else Evidence.FULL
        now = float(np.float32(self.gauge.share(labels)) * np.float32(weight))
        for v in P:  # line 2
            self.H[v].update(x, +1, weight=now, evidence=evidence)  # line 3
            if v in self.Theta:  # line 4
                self.Theta[v].update(x, +1, weight=now, evidence=evidence)
        for v in N:  # line 5
            self.H[v].update(x, -1, weight=now, evidence=evidence)
        late = [j for j in labels if self.replay.most > 0 and self.gauge.late(j)]
        for v in {SUPER_ROOT, *assign_to_nodes(self.tree, late)[0]} if late else ():
            for child in self._children(v):
                self.H[child].update(x, +1 if child in P else -1, now, Evidence.AGAIN)
            if v in self.Theta:
                self.Theta[v].update(x, +1, now, Evidence.AGAIN)
        for v in [SUPER_ROOT, *P]:
            if v in self.memory:
                self._remember_and_replay(v, x, P, weight, times)

    def _children(self, v: Node) -> list[Node]:
        return [self.tree.root] if v == SUPER_ROOT else self.tree.children[v]

    def _remember_and_replay(
        self, v: Node, x: Instance, P: set[Node], weight: float, times: int
    ) -> None:
        children = self._children(v)
        self.memory[v].add(x, frozenset(P.intersection(children)), weight)
        evidence = Evidence.BOUNDED if self.gauge.several() else Evidence.AGAIN
        if self.gauge.several() and self.memory[v].n % FADES_AFTER == 0:
            evidence = Evidence.FADING
        for entry in self.memory[v].drawn(times):
            for child in children:
                y = +1 if child in entry.positives else -1
                self.H[child].update(entry.x, y, entry.weight, evidence)
            if v in self.Theta:
                self.Theta[v].update(entry.x, +1, entry.weight, evidence)
            if evidence is Evidence.FADING:
                evidence = Evidence.BOUNDED
