"""Files need memory for pieces of the model, and dense probabilities for pieces of the result."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import labelgrove

pytestmark = pytest.mark.slow  # sanitizers keep what is freed

MODEL_MB = 50
ALLOWED_MB = 35


def megabytes(field: str) -> int:
    """Resident memory of this process (``VmRSS``) or its peak (``VmHWM``)."""
    found = re.search(rf"{field}:\s*(\d+) kB", Path("/proc/self/status").read_text("ascii"))
    assert found is not None
    return int(found[1]) >> 10


def megabytes_more(call: Callable[[], object]) -> int:
    """Peak growth of the process during a call."""
    try:
        Path("/proc/self/clear_refs").write_text("5", "ascii")  # reset the peak
    except OSError:
        pytest.skip("only Linux lets a process reset its peak")
    before = megabytes("VmRSS")
    call()
    return megabytes("VmHWM") - before


def online() -> Any:
    X, Y = np.random.default_rng(0).random((2, 27_000)), np.ones((2, 600), np.int8)
    return labelgrove.OnlinePLTClassifier().partial_fit(X, Y)


def lom_tree() -> Any:
    X = np.random.default_rng(0).random((3000, 3000), np.float32)
    return labelgrove.LOMTreeClassifier().partial_fit(X, np.arange(3000) % 1500)


def forest() -> Any:
    X = np.random.default_rng(0).random((40, 45_000), np.float32)
    model = labelgrove.LdSMClassifier(n_estimators=4, epochs_per_node=1, random_state=0)
    return model.fit(X, np.eye(40, dtype=np.int8))


def embedding() -> Any:
    n = 140_000
    X = sp.csr_matrix((np.ones(n, np.float32), np.arange(n), np.arange(0, n + 1, 140)))
    return labelgrove.EmbeddingClassifier(max_iter=1).fit(X, np.arange(1000) % 50)


def memory_tree() -> Any:
    X = np.random.default_rng(0).random((400, 10_000), np.float32)
    return labelgrove.MemoryTreeClassifier(reroutes=0).partial_fit(X, np.arange(400))


@pytest.mark.parametrize("make", [online, lom_tree, forest, embedding, memory_tree])
def test_files_are_streamed(make: Callable[[], Any], tmp_path: Path) -> None:
    path = tmp_path / "model.lg"
    model = make()
    saving = megabytes_more(lambda: model.save(path))
    assert path.stat().st_size > MODEL_MB << 20
    assert saving < ALLOWED_MB
    loading = megabytes_more(lambda: labelgrove.load(path))
    assert loading < path.stat().st_size / (1 << 20) + ALLOWED_MB


def test_dense_probabilities_are_made_for_some_rows_at_a_time() -> None:
    X = sp.random_array((20_000, 500), density=0.01, rng=np.random.default_rng(0), format="csr")
    model = labelgrove.PLTClassifier().fit(X, np.arange(20_000))
    rows = X[:800]
    result = 800 * 20_000 * 8 >> 20
    model.predict_proba(rows[:1])
    assert megabytes_more(lambda: model.predict_proba(rows)) < result + 100
