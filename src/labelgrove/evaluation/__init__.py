"""Measuring a model: along the stream as it learns, or on examples held out.

Any estimator with ``predict_topk`` (and, for the stream, ``partial_fit``) will do.
"""

from labelgrove.evaluation._course import ProgressiveResult, ProgressPoint, StreamRecord
from labelgrove.evaluation._evaluate import evaluate
from labelgrove.evaluation._progressive import iter_progressive, progressive_validation

__all__ = [
    "ProgressPoint",
    "ProgressiveResult",
    "StreamRecord",
    "evaluate",
    "iter_progressive",
    "progressive_validation",
]
