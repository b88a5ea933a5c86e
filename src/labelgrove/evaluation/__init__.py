"""Measuring a model: along the stream as it learns, on examples held out, or beside others.

Any estimator with ``predict_topk`` (and, for the stream, ``partial_fit``) will do.
"""

from labelgrove.evaluation._course import ProgressiveResult, ProgressPoint, StreamRecord
from labelgrove.evaluation._evaluate import evaluate
from labelgrove.evaluation._progressive import iter_progressive, progressive_validation
from labelgrove.evaluation._race import Round, Standing, race

__all__ = [
    "ProgressPoint",
    "ProgressiveResult",
    "Round",
    "Standing",
    "StreamRecord",
    "evaluate",
    "iter_progressive",
    "progressive_validation",
    "race",
]
