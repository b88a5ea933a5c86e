"""Evaluation of a model: on the stream as it learns, on held-out examples, or against others.

It works with any estimator that has ``predict_topk`` (and, on a stream, ``partial_fit``).
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
