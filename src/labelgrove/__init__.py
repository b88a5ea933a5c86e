"""LabelGrove: find the few right labels among very many, with trees of small classifiers."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from labelgrove._errors import (
    DataError,
    DataTypeError,
    FileFormatError,
    LabelGroveError,
    LearningInterrupted,
    MissingDependencyError,
    ModelFileError,
    ModelStateError,
    ParameterError,
)
from labelgrove._version import __version__
from labelgrove._versions import show_versions

if TYPE_CHECKING:
    from labelgrove._not_learned import NotLearnedError
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
        MemoryTreeClassifier,
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
    "DataTypeError",
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
    "MemoryTreeClassifier",
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

#: Packages that are attributes of this one without an import of their own.
_PACKAGES = {
    *("data", "evaluation", "metrics", "models", "persistence"),
    *("text", "trees", "tuning", "vocabulary"),
}

#: The packages of public names that need scikit-learn; those not listed are in `labelgrove.models`.
_HOMES = {
    "LabelTree": "labelgrove.trees",
    "NotLearnedError": "labelgrove._not_learned",
    "evaluate": "labelgrove.evaluation",
    "progressive_validation": "labelgrove.evaluation",
}

if not TYPE_CHECKING:  # a type checker would take any name for one of these

    def __getattr__(name: str) -> Any:
        """Import what needs scikit-learn when it is first used: that takes a second or two."""
        if name in _PACKAGES:
            return import_module(f"labelgrove.{name}")
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        home = import_module(_HOMES.get(name, "labelgrove.models"))
        value = globals()[name] = getattr(home, name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})
