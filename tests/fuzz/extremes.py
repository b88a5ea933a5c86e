"""Legal but rare inputs: parameters at the ends of their domains, rows, label names.

Hypothesis draws everything, so that it can shrink a failure and print how to reproduce it.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

LONGER = int(os.environ.get("LABELGROVE_FUZZ", "1"))
"""Factor on the number of examples; `make fuzz` sets it."""

LAST = 2**31 - 2
"""The largest feature id."""


def examples(number: int) -> int:
    """Scale the number of examples that a test has in the suite."""
    return number * LONGER


def _mix(z: int) -> int:
    z = (z + 0x9E3779B97F4A7C15) & (2**64 - 1)
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & (2**64 - 1)
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & (2**64 - 1)
    return z ^ (z >> 31)


@cache
def colliding(tables: int = 64, of_each: int = 60) -> tuple[int, ...]:
    """Feature ids that hash to the last places of a table, for each of many multipliers.

    Multiplicative hashing maps an id to the high bits of its product with an odd number, which can
    be inverted if the number is known.
    """
    found: set[int] = set()
    for table in range(tables):
        inverse = pow((_mix(table) & 0xFFFFFFFF) | 1, -1, 2**32)
        places = ((2**32 - 1 - i) * inverse & 0xFFFFFFFF for i in range(100 * of_each))
        chosen = [feature for feature in places if feature <= LAST]
        found.update(chosen[:of_each])
    return tuple(sorted(found))


columns = st.one_of(
    st.integers(0, 9), st.integers(0, LAST), st.sampled_from([LAST, LAST - 1, 2**16, 2**20 - 1])
) | st.sampled_from(colliding())

values = st.floats(-10, 10, width=32) | st.sampled_from(
    [0.0, -0.0, 1e-45, 1e-30, 1.0, -1.0, 1e9, -1e9]
)


def rows(number: int) -> st.SearchStrategy[sp.csr_array]:
    """So many sparse rows, of up to six entries each."""
    row = st.dictionaries(columns, values, max_size=6)
    return st.lists(row, min_size=number, max_size=number).map(_as_csr)


def _as_csr(entries: list[dict[int, float]]) -> sp.csr_array:
    indptr = np.cumsum([0, *map(len, entries)])
    ids = [column for row in entries for column in sorted(row)]
    numbers = [row[column] for row in entries for column in sorted(row)]
    parts = (np.array(numbers, np.float32), np.array(ids, np.int64), indptr)
    return sp.csr_array(parts, shape=(len(entries), LAST + 1))


NAMES = {
    "text": st.sampled_from(
        ["a", "b", "c", " a", "b ", "\x00", "\x1b[31m", "🌳", "nan", "x" * 1000]
    ),
    "integers": st.sampled_from([0, 1, 2, 3, -1, 2**63 - 1, -(2**63), 10**6]),
}
"""Names of labels, of either type."""


def _ends(least: float, most: float, *between: float) -> st.SearchStrategy[float]:
    return st.sampled_from([least, most, *between])


_STEPS = {
    "learner": st.sampled_from(["arow", "adagrad", "sgd"]),
    "learning_rate": st.none() | _ends(1e-30, 1e6, 0.1),
    "epsilon": _ends(1e-30, 1e30, 0.01),
    "r": _ends(1e-30, 1e30, 0.01, 1.0, 3.0),
    "normalize": st.booleans(),
}
_ENDS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "OnlinePLTClassifier": {
        **_STEPS,
        "l2": _ends(0.0, 1e6, 1e-6),
        "policy": st.sampled_from(["best-greedy", "random", "complete", "cpet"]),
        "alpha": _ends(0.0, 1.0, 0.75),
        "arity": st.sampled_from([2, 3, 64]),
        "max_leaves": st.sampled_from([64, 2**31 - 1]),
        "replay": st.sampled_from([0, 1, 5]),
        "replay_memory": st.sampled_from([0, 1, 2**31 - 1]),
        "max_bytes": st.sampled_from([None, 100_000, 2**60]),
        "thresholds": st.sampled_from([None, "ofo"]),
        "ofo_b": _ends(5.0, 1e9),
        "ofo_every": st.sampled_from([None, 1, 2, 1000]),
    },
    "LOMTreeClassifier": {
        **_STEPS,
        "loss": st.sampled_from(["squared", "logistic"]),
        "max_nodes": st.sampled_from(["auto", 1, 2, 2**31 - 1]),
        "swap_resistance": st.sampled_from([1, 4, 2**31 - 1]),
        "leaves": st.sampled_from([1, 2, 2**31 - 1]),
    },
    "MemoryTreeClassifier": {
        "r": _ends(1e-30, 1e30),
        "alpha": _ends(0.0, 1.0, 0.1),
        "leaf_multiplier": st.sampled_from([1, 10_000]),
        "reroutes": st.sampled_from([0, 1, 5]),
        "max_examples": st.sampled_from([None, 1, 2**31 - 1]),
        "leaves": st.sampled_from([1, 4, 2**31 - 1]),
        "classifiers": st.booleans(),
    },
    "EmbeddingClassifier": {
        "dimension": st.sampled_from([1, 7, 8, 200]),
        "tree": st.sampled_from(["kmeans", "huffman", "flat", "complete", "cost"]),
        "arity": st.sampled_from([2, 3, 2**31 - 1]),
        "max_leaf_size": st.sampled_from([1, 2, 2**31 - 1]),
        "learner": st.sampled_from(["adagrad", "sgd"]),
        "learning_rate": st.none() | _ends(1e-30, 1e6, 0.1),
        "epsilon": _ends(1e-30, 1e30, 0.01),
        "max_iter": st.sampled_from([1, 50]),
        "alpha": _ends(0.0, 1.0, 0.75),
    },
    "PLTClassifier": {
        "tree": st.sampled_from(["kmeans", "huffman", "flat", "complete", "cost"]),
        "arity": st.sampled_from([2, 3, 2**31 - 1]),
        "max_leaf_size": st.sampled_from([1, 2, 2**31 - 1]),
        "loss": st.sampled_from([None, "log", "squared_hinge"]),
        "C": st.none() | _ends(1e-6, 1e6),
        "bias": _ends(0.0, 1e3, 1.0),
        "tol": st.none() | _ends(1e-6, 1.0),
        "max_iter": st.sampled_from([None, 1, 50]),
        "weight_threshold": _ends(0.0, 1e6, 0.1),
        "normalize": st.booleans(),
    },
    "FastXMLClassifier": {
        "n_estimators": st.sampled_from([1, 3]),
        "max_leaf_size": st.sampled_from([1, 2, 2**31 - 1]),
        "C": _ends(1e-6, 1e6, 1.0),
        "C_rank": _ends(0.0, 1e6, 1.0),
        "gain": st.sampled_from(["ndcg", "propensity"]),
        "bias": _ends(0.0, 1e6, 1.0),
        "tol": _ends(1e-9, 1.0, 0.01),
        "max_rounds": st.sampled_from([1, 5]),
        "normalize": st.booleans(),
    },
    "LdSMClassifier": {
        "n_estimators": st.sampled_from([1, 3]),
        "arity": st.integers(2, 8),
        "max_nodes": st.sampled_from([1, 2, 50, 3000]),
        "epochs_per_node": st.sampled_from([1, 3]),
        "min_samples_split": st.sampled_from([2, 2**31 - 1]),
        "min_feature_count": st.sampled_from([1, 2**31 - 1]),
        "lambda1": _ends(0.0, 1e6, 1.0),
        "lambda2": _ends(0.0, 1e6, 1.0),
        "learning_rate": _ends(1e-30, 1e6, 0.1),
        "initial_spread": _ends(0.0, 1e6, 0.1),
        "tail_weight": _ends(0.0, 1.0, 0.2),
        "tail_gamma": _ends(0.0, 1e6, 1.0),
        "normalize": st.booleans(),
    },
}


def parameters(estimator: str) -> st.SearchStrategy[dict[str, Any]]:
    """Some of an estimator's parameters, at the ends of their domains."""
    return st.fixed_dictionaries({}, optional=_ENDS[estimator])
