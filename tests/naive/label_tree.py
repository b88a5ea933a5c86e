"""The label tree alone: parents, children, and which leaf stands for which label.

Nodes and labels are numbered in order of creation, from 0; node 0 is the root. A leaf without a
label exists only as the root of an empty tree. A leaf whose label was removed stays as a
*silent* leaf: it keeps the dead label's id until a new label takes its place.
"""

from __future__ import annotations

from collections.abc import Iterator

Node = int
Label = int


class LabelTree:
    """A rooted tree whose leaves carry labels, grown by the three variants of OPLT, Figure 1."""

    def __init__(self) -> None:
        self.root: Node = 0
        self.parent: list[Node | None] = [None]
        self.children: list[list[Node]] = [[]]
        self.label: list[Label | None] = [None]
        self.leaf_of: dict[Label, Node] = {}  # of live and silent labels
        self.silent: set[Node] = set()

    @classmethod
    def from_parents(cls, parents: list[Node | None], leaf_of: dict[Label, Node]) -> LabelTree:
        """Build a given tree; children stand in order of their ids, node 0 is the root."""
        tree = cls()
        tree.parent = list(parents)
        tree.children = [[] for _ in parents]
        tree.label = [None for _ in parents]
        for node, parent in enumerate(parents):
            if parent is not None:
                tree.children[parent].append(node)
        for label, leaf in leaf_of.items():
            tree.label[leaf] = label
            tree.leaf_of[label] = leaf
        tree.check()
        return tree

    # Reading

    def nodes(self) -> range:
        return range(len(self.parent))

    def is_leaf(self, v: Node) -> bool:
        return not self.children[v]

    def leaf_children(self, v: Node) -> list[Node]:
        """Return Ch(v) cut with L_T."""
        return [c for c in self.children[v] if self.is_leaf(c)]

    def is_pre_leaf(self, v: Node) -> bool:
        return not self.is_leaf(v) and len(self.leaf_children(v)) == len(self.children[v])

    def leaves(self, v: Node) -> list[Node]:
        """Return L_v, silent leaves included, from the first child to the last."""
        if self.is_leaf(v):
            return [v]
        return [leaf for c in self.children[v] for leaf in self.leaves(c)]

    def path(self, v: Node) -> list[Node]:
        """Return the nodes from ``v`` up to the root, both included."""
        path = [v]
        while (parent := self.parent[path[-1]]) is not None:
            path.append(parent)
        return path

    def live_labels(self) -> Iterator[Label]:
        return (label for label, leaf in self.leaf_of.items() if leaf not in self.silent)

    # Growing

    def insert_node(self, v: Node) -> Node:
        """Insert a new node between ``v`` and its children or label (Algorithm 5, lines 1-6)."""
        new = self._new_node(v)  # line 1
        if self.is_leaf(v):  # line 2: if v is a leaf, reassign its label
            label = self.label[v]
            assert label is not None, "a leaf without a label is expanded"
            self.label[v], self.label[new] = None, label
            self.leaf_of[label] = new
            if v in self.silent:
                self.silent.remove(v)
                self.silent.add(new)
        else:  # lines 3-5: all children of v become children of v'
            self.children[new] = self.children[v]
            for child in self.children[new]:
                self.parent[child] = new
        self.children[v] = [new]  # line 6
        return new

    def add_leaf(self, label: Label, v: Node) -> Node:
        """Add a new leaf for ``label`` under ``v`` (Algorithm 6)."""
        leaf = self._new_node(v)
        self.children[v].append(leaf)
        self.set_label(label, leaf)
        return leaf

    def set_label(self, label: Label, leaf: Node) -> None:
        self.label[leaf] = label
        self.leaf_of[label] = leaf

    def _new_node(self, parent: Node) -> Node:
        self.parent.append(parent)
        self.children.append([])
        self.label.append(None)
        return len(self.parent) - 1

    # Removing

    def remove_label(self, label: Label) -> None:
        """Silence the leaf of ``label``."""
        self.silent.add(self.leaf_of[label])

    def take_place(self, label: Label, leaf: Node) -> None:
        """Give a silent leaf to a new label."""
        self.silent.remove(leaf)
        dead = self.label[leaf]
        assert dead is not None and leaf != self.root, "the root's place is never taken"
        del self.leaf_of[dead]
        self.set_label(label, leaf)

    def check(self) -> None:
        """Check every invariant of the structure."""
        assert self.parent[self.root] is None
        assert self.root == 0 and self.parent.count(None) == 1
        for v in self.nodes():
            assert all(self.parent[c] == v for c in self.children[v])
            assert len(set(self.children[v])) == len(self.children[v])
            assert self.path(v)[-1] == self.root
            parent = self.parent[v]
            assert parent is None or v in self.children[parent]
            labelled = self.label[v] is not None
            empty = len(self.parent) == 1 and not self.leaf_of
            assert labelled == (self.is_leaf(v) and not empty), f"node {v}"
        assert all(self.label[leaf] == label for label, leaf in self.leaf_of.items())
        assert sum(label is not None for label in self.label) == len(self.leaf_of)
        assert all(self.is_leaf(v) and self.label[v] is not None for v in self.silent)
