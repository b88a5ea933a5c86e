"""Label trees: their structure, and the methods that build them."""

from labelgrove.trees._clustering import interpolated_tree, kmeans_tree
from labelgrove.trees._codes import fano_tree, huffman_tree
from labelgrove.trees._complete import complete_tree
from labelgrove.trees._cost import SearchCost, cost_tree, search_cost
from labelgrove.trees._embeddings import label_embeddings, label_indicator
from labelgrove.trees._frequencies import fano_frequencies, label_frequencies
from labelgrove.trees._hierarchy import hierarchy_tree
from labelgrove.trees._label_tree import LabelTree
from labelgrove.trees._skos import skos_tree
from labelgrove.trees._structure import TreeStatistics

__all__ = [
    "LabelTree",
    "SearchCost",
    "TreeStatistics",
    "complete_tree",
    "cost_tree",
    "fano_frequencies",
    "fano_tree",
    "hierarchy_tree",
    "huffman_tree",
    "interpolated_tree",
    "kmeans_tree",
    "label_embeddings",
    "label_frequencies",
    "label_indicator",
    "search_cost",
    "skos_tree",
]
