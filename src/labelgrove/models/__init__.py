"""Estimators, one per file."""

from labelgrove.models._embedding import EmbeddingClassifier
from labelgrove.models._fastxml import FastXMLClassifier
from labelgrove.models._forest import ForestStatistics
from labelgrove.models._label_tree import LabelPaths
from labelgrove.models._ldsm import LdSMClassifier, LdSMStatistics
from labelgrove.models._load import ESTIMATORS, load
from labelgrove.models._lom_tree import LOMTreeClassifier, LOMTreeStatistics
from labelgrove.models._memory_tree import MemoryTreeClassifier
from labelgrove.models._online_plt import OnlinePLTClassifier
from labelgrove.models._plt import PLTClassifier
from labelgrove.models._shared import SharedModel
from labelgrove.models._text_classifier import TextClassifier
from labelgrove.models._thresholded import ThresholdedClassifier
from labelgrove.models.engine._predicting import SearchStats
from labelgrove.models.engine._records import CompactionReport
from labelgrove.models.explanations._explanation import (
    Contribution,
    Explanation,
    FallOut,
    Highlight,
    LabelExplanation,
    Leaf,
    Step,
)

__all__ = [
    "ESTIMATORS",
    "CompactionReport",
    "Contribution",
    "EmbeddingClassifier",
    "Explanation",
    "FallOut",
    "FastXMLClassifier",
    "ForestStatistics",
    "Highlight",
    "LOMTreeClassifier",
    "LOMTreeStatistics",
    "LabelExplanation",
    "LabelPaths",
    "LdSMClassifier",
    "LdSMStatistics",
    "Leaf",
    "MemoryTreeClassifier",
    "OnlinePLTClassifier",
    "PLTClassifier",
    "SearchStats",
    "SharedModel",
    "Step",
    "TextClassifier",
    "ThresholdedClassifier",
    "load",
]
