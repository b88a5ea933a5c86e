"""Metrics of rankings, label sets, classes and probabilities.

True labels are a 0/1 sparse matrix of shape (n_rows, n_labels). Predictions are ranked label ids
of shape (n_rows, k), with -1 in missing places, or a sparse matrix of scores or of 0/1. No metric
needs a model, and none allocates a dense n_rows × n_labels array.
"""

from labelgrove.metrics._calibration import (
    ReliabilityCurve,
    expected_calibration_error,
    reliability_curve,
)
from labelgrove.metrics._comparison import (
    Discordance,
    compare_rankings,
    compare_sets,
    label_changes,
    mcnemar,
)
from labelgrove.metrics._depth import expected_depth
from labelgrove.metrics._frequency import FrequencySplit, frequency_split
from labelgrove.metrics._label_table import LabelRow, LabelTable, label_table
from labelgrove.metrics._multiclass import accuracy, binomial_margin, entropy_reduction
from labelgrove.metrics._propensity import (
    inverse_propensity,
    psndcg_at_k,
    psp_at_k,
    raw_psndcg_at_k,
    raw_psp_at_k,
)
from labelgrove.metrics._ranking import (
    abandonment_at_k,
    coverage_at_k,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
)
from labelgrove.metrics._score import Bootstrap, Score
from labelgrove.metrics._sets import f_measure, hamming_loss, macro_f_at_k, precision, recall
from labelgrove.metrics._summary import ranking_metrics, set_metrics

__all__ = [
    "Bootstrap",
    "Discordance",
    "FrequencySplit",
    "LabelRow",
    "LabelTable",
    "ReliabilityCurve",
    "Score",
    "abandonment_at_k",
    "accuracy",
    "binomial_margin",
    "compare_rankings",
    "compare_sets",
    "coverage_at_k",
    "entropy_reduction",
    "expected_calibration_error",
    "expected_depth",
    "f_measure",
    "frequency_split",
    "hamming_loss",
    "inverse_propensity",
    "label_changes",
    "label_table",
    "macro_f_at_k",
    "mcnemar",
    "ndcg_at_k",
    "precision",
    "precision_at_k",
    "psndcg_at_k",
    "psp_at_k",
    "ranking_metrics",
    "raw_psndcg_at_k",
    "raw_psp_at_k",
    "recall",
    "recall_at_k",
    "reliability_curve",
    "set_metrics",
]
