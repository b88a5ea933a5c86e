"""Estimators, one a file."""

from labelgrove.models._online_plt import OnlinePLTClassifier
from labelgrove.models._prediction import SearchStats

__all__ = ["OnlinePLTClassifier", "SearchStats"]
