"""Thresholds on the probabilities of labels, chosen to maximise the F-measure.

True labels are a 0/1 matrix of shape (n, m), probabilities a matrix of the same shape. If both are
sparse, no dense n × m array is allocated. The probabilities may come from any model. A label is
predicted if its probability is at least its threshold, and above 0.

`tune_auto` lets rare labels borrow from labels of similar frequency, and is never worse than the
best single threshold on cross-fitted rows. The other methods are those of Jasinska et al. 2016:
functions of whole matrices, or objects that take rows in batches with ``update`` and return the
thresholds from ``finish``.
"""

from labelgrove.tuning._auto import tune_auto
from labelgrove.tuning._bounds import label_priors, lower_bounds
from labelgrove.tuning._figures import SetFigures, set_figures
from labelgrove.tuning._fta import FTA
from labelgrove.tuning._ofo import OFO
from labelgrove.tuning._sto import STO
from labelgrove.tuning._thresholds import Thresholds, cross_fitted
from labelgrove.tuning._tune import tune_fta, tune_ofo, tune_sto

__all__ = [
    "FTA",
    "OFO",
    "STO",
    "SetFigures",
    "Thresholds",
    "cross_fitted",
    "label_priors",
    "lower_bounds",
    "set_figures",
    "tune_auto",
    "tune_fta",
    "tune_ofo",
    "tune_sto",
]
