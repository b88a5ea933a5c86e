"""A process that may take little memory learns from more than that."""

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

#: What a process takes before it learns is not limited; then 24 MB more are allowed.
PROGRAM = """
import re, resource, sys
from pathlib import Path
from labelgrove import PLTClassifier, distributed
from labelgrove.distributed import _fit

_fit.LEAST_MEMORY = _fit._ALONE = 0
held = re.search(r"VmData:\\s*(\\d+) kB", Path("/proc/self/status").read_text())
most = (int(held[1]) << 10) + (24 << 20)
resource.setrlimit(resource.RLIMIT_DATA, (most, most))
model = PLTClassifier(arity=8, max_leaf_size=8)
if sys.argv[1] == "pieces":
    distributed.fit(model, sys.argv[2], sys.argv[3], memory=4 << 20)
else:
    from labelgrove.data import open_dataset
    rows = open_dataset(sys.argv[2])
    model.fit(rows.X, rows.labels)
"""


def test_what_does_not_fit_into_memory_is_learnt(tmp_path: Path) -> None:
    rows = some_rows(3_000, n_features=2_000) * 20
    dataset = written(tmp_path / "rows", rows, width=2_000)
    model = PLTClassifier(arity=8, max_leaf_size=8)
    expected = in_memory(model, dataset, tmp_path / "memory.lg")

    def learn(how: str) -> subprocess.CompletedProcess[str]:
        arguments = [how, str(tmp_path / "rows"), str(tmp_path / "pieces.lg")]
        return subprocess.run(
            [sys.executable, "-c", PROGRAM, *arguments], check=False, capture_output=True, text=True
        )

    assert "MemoryError" in learn("at once").stderr
    done = learn("pieces")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "pieces.lg").read_bytes() == expected
