"""Label trees: structure alone."""

from labelgrove.trees._label_tree import LabelTree

__all__ = ["LabelTree"]
