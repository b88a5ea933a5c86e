"""LabelGrove: pick the few right labels out of very many, with trees of small classifiers."""

from labelgrove._errors import (
    DataError,
    FileFormatError,
    LabelGroveError,
    LearningInterrupted,
    MissingDependencyError,
    ModelFileError,
    ModelStateError,
    NotLearnedError,
    ParameterError,
)
from labelgrove._version import __version__
from labelgrove._versions import show_versions
from labelgrove.evaluation import evaluate, progressive_validation
from labelgrove.models import (
    CompactionReport,
    EmbeddingClassifier,
    Explanation,
    FastXMLClassifier,
    ForestStatistics,
    LdSMClassifier,
    LdSMStatistics,
    LOMTreeClassifier,
    LOMTreeStatistics,
    OnlinePLTClassifier,
    PLTClassifier,
    SearchStats,
    SharedModel,
    TextClassifier,
    ThresholdedClassifier,
    load,
)
from labelgrove.trees import LabelTree

__all__ = [
    "CompactionReport",
    "DataError",
    "EmbeddingClassifier",
    "Explanation",
    "FastXMLClassifier",
    "FileFormatError",
    "ForestStatistics",
    "LOMTreeClassifier",
    "LOMTreeStatistics",
    "LabelGroveError",
    "LabelTree",
    "LdSMClassifier",
    "LdSMStatistics",
    "LearningInterrupted",
    "MissingDependencyError",
    "ModelFileError",
    "ModelStateError",
    "NotLearnedError",
    "OnlinePLTClassifier",
    "PLTClassifier",
    "ParameterError",
    "SearchStats",
    "SharedModel",
    "TextClassifier",
    "ThresholdedClassifier",
    "__version__",
    "evaluate",
    "load",
    "progressive_validation",
    "show_versions",
]
