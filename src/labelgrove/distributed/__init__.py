"""Learning and prediction with more data than fits in memory, on one machine or many."""

from labelgrove.distributed._executors import client
from labelgrove.distributed._fit import LEAST_MEMORY, fit
from labelgrove.distributed._predict import evaluate, predict_topk

__all__ = ["LEAST_MEMORY", "client", "evaluate", "fit", "predict_topk"]
