"""Feature ids chosen to collide in hash tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import labelgrove
from contract.kit import KINDS, same_answers
from fuzz.extremes import LAST, colliding

pytestmark = pytest.mark.fuzz

CHANGES: dict[str, dict[str, Any]] = {"PLTClassifier": {"weight_threshold": 0.0}}


@pytest.mark.parametrize("name", sorted(KINDS))
def test_learning_and_compacting(name: str) -> None:
    ids = np.array(colliding())
    values = np.random.default_rng(0).random((20, len(ids)), dtype=np.float32)
    indptr = np.arange(0, values.size + 1, len(ids))
    X = sp.csr_array((values.ravel(), np.tile(ids, 20), indptr), shape=(20, LAST + 1))
    clf = getattr(labelgrove, name)(**CHANGES.get(name, {})).fit(X, [str(i % 5) for i in range(20)])
    assert clf.score(X, [str(i % 5) for i in range(20)]) >= 0
    if hasattr(clf, "compact"):
        small = clf.compact()
        assert same_answers(small.compact(dtype="float32"), small, X)
        (labels, scores), (same, near) = (one.predict_topk(X, 2) for one in (clf, small))
        np.testing.assert_array_equal(labels, same)
        np.testing.assert_allclose(scores, near, rtol=1e-5)
