"""Learning and predicting with more data than memory, on one machine or many."""

from labelgrove.distributed._fit import LEAST_MEMORY, client, fit

__all__ = ["LEAST_MEMORY", "client", "fit"]
