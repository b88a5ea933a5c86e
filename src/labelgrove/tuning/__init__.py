"""From which probability on is a label predicted? Thresholds that maximise the F-measure.

True labels are a 0/1 matrix of shape (n, m), probabilities a matrix of the same shape; both may
be sparse, and then nothing of the size n × m is ever allocated. Any model will do: none is known
here. A label is predicted where its probability is at least its threshold, and above 0.

`tune_auto` lets rare labels borrow from others, and does no harm. The other methods are those of
Jasinska et al. 2016, as functions of whole matrices, or as objects that take rows as they come:
``update`` them, and ``finish``.
"""

from labelgrove.tuning._auto import tune_auto
from labelgrove.tuning._bounds import label_priors, lower_bounds
from labelgrove.tuning._cross_fitting import cross_fitted
from labelgrove.tuning._figures import SetFigures, set_figures
from labelgrove.tuning._fta import FTA
from labelgrove.tuning._ofo import OFO
from labelgrove.tuning._sto import STO
from labelgrove.tuning._thresholds import Thresholds
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
