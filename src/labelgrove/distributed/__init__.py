"""Learning and predicting with more data than memory, on one machine or many."""

from labelgrove.distributed._fit import client, fit

__all__ = ["client", "fit"]
