"""A process with limited memory learns from larger data."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cluster.kit import in_memory, some_rows, written
from labelgrove import PLTClassifier

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits what is not mapped"),
]

#: Memory used before learning is not limited; learning may take 30 MB more.
PROGRAM = """
import re, resource, sys
from pathlib import Path
from labelgrove import PLTClassifier, distributed
from labelgrove.data import open_dataset
from labelgrove.distributed import _fit

_fit.LEAST_MEMORY = _fit._ALONE = 0
held = re.search(r"VmData:\\s*(\\d+) kB", Path("/proc/self/status").read_text())
most = (int(held[1]) << 10) + (30 << 20)
resource.setrlimit(resource.RLIMIT_DATA, (most, most))
model = PLTClassifier(arity=8, max_leaf_size=8)
distributed.fit(model, sys.argv[1], sys.argv[2], memory=4 << 20)
rows = open_dataset(sys.argv[1])
try:
    model.fit(rows.X, rows.labels)
except MemoryError:
    print("does not fit into memory")
"""


def test_what_does_not_fit_into_memory_is_learnt(tmp_path: Path) -> None:
    dataset = written(tmp_path / "rows", some_rows(1_000, n_features=2_000) * 100, width=2_000)
    model = PLTClassifier(arity=8, max_leaf_size=8)
    expected = in_memory(model, dataset, tmp_path / "memory.lg")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, tmp_path / "rows", tmp_path / "pieces.lg"],
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.stdout == "does not fit into memory\n", done.stderr
    assert (tmp_path / "pieces.lg").read_bytes() == expected
