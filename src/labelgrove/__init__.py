"""LabelGrove: pick the few right labels out of very many, with trees of small classifiers."""

from labelgrove._errors import (
    DataError,
    FileFormatError,
    LabelGroveError,
    LearningInterrupted,
    MissingDependencyError,
    ModelFileError,
    NotLearnedError,
    ParameterError,
)

__version__ = "0.1.0"

__all__ = [
    "DataError",
    "FileFormatError",
    "LabelGroveError",
    "LearningInterrupted",
    "MissingDependencyError",
    "ModelFileError",
    "NotLearnedError",
    "ParameterError",
    "__version__",
]
