"""scikit-learn's own estimator checks; expected failures are listed with reasons."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

from contract.kit import estimators, run_check_of_scikit_learn

EXPECTED = {
    "check_classifiers_train": (
        "rows to predict may have more features than were seen in learning, as new features may "
        "show up at any time; they are ignored"
    ),
    "check_classifiers_multilabel_representation_invariance": (
        "a list of lists holds a collection of labels a row, so 0 and 1 would be labels; an "
        "indicator is given as an array"
    ),
}

STEPS = "a weight is how far a step goes: a step twice as far is not two steps"
WEIGHTS = {
    "EmbeddingClassifier": STEPS,
    "FastXMLClassifier": (
        "every example begins on a side that is drawn for it: the same example twice, on two"
    ),
    "LOMTreeClassifier": STEPS,
    "LdSMClassifier": STEPS,
    "MemoryTreeClassifier": (
        "an example that counts twice is remembered once, and takes one place in a leaf"
    ),
    "OnlinePLTClassifier": STEPS,
    "PLTClassifier": "the tree is built from the rows, whose number it counts",
}
PASSES = {
    "EmbeddingClassifier": (
        "all passes are made that max_iter asks for, so there is nothing to tell"
    ),
    "PLTClassifier": (
        "max_iter bounds the passes of every node, so there is no one number of passes"
    ),
}


@parametrize_with_checks([estimator() for _, estimator in estimators()])
def test_scikit_learn(estimator: BaseEstimator, check: Any) -> None:
    name = type(estimator).__name__
    expected = {
        **EXPECTED,
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS[name],
        "check_sample_weight_equivalence_on_sparse_data": WEIGHTS[name],
    }
    if name in PASSES:
        expected["check_non_transformer_estimators_n_iter"] = PASSES[name]
    run_check_of_scikit_learn(check, estimator, expected)
