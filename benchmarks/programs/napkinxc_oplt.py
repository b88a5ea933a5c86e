"""napkinXC's OPLT, for which napkinXC has no class of its own."""

import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from napkinxc.models import Model  # type: ignore[import-not-found]

from benchmarks.programs._side import arrays, memory

# The paper's hyper-parameters; everything else is napkinXC's default.
OPLT = {
    "model": "oplt",
    "tree_type": "onlineBestScore",
    "online_tree_alpha": 0.75,
    "arity": 2,
    "max_leaves": 100,
    "optimizer": "adagrad",
    "eta": 1.0,
    "adagrad_eps": 0.01,
    "epochs": 1,
    "threads": 1,
    "seed": 1,
    "verbose": 0,
}


def learn(train: str, model: str) -> dict[str, Any]:
    """Learn in one pass; napkinXC's fitting includes writing the model."""
    X, labels = arrays(train)
    shutil.rmtree(model, ignore_errors=True)
    Path(model).mkdir(parents=True)
    before = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # reset the peak
    wall, cpu = time.perf_counter(), time.process_time()
    Model(output=model, **OPLT).fit(X, labels)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    growth = memory("VmHWM") - before
    found = {"wall": round(wall, 4), "cpu": round(cpu, 4), "peak_growth_mb": growth}
    Path(model, "learned.json").write_text(json.dumps(found), encoding="ascii")
    return found


def predict(
    test: str, model: str, repetitions: int, single_rows: int, predicted: str
) -> dict[str, Any]:
    """Find the best five labels, repeatedly for all rows at once, then for single rows."""
    X, _ = arrays(test)
    oplt = Model(output=model, **OPLT)
    oplt.load()
    batch = []
    for _ in range(repetitions):
        wall, cpu = time.perf_counter(), time.process_time()
        found = oplt.predict(X, top_k=5)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        batch.append({"wall": round(wall, 5), "cpu": round(cpu, 5)})
    single = []
    for row in [X[i : i + 1] for i in range(min(single_rows, X.shape[0]))]:
        start = time.perf_counter()
        oplt.predict(row, top_k=5)
        single.append(time.perf_counter() - start)
    np.save(predicted, np.array([([int(label) for label in row] + [-1] * 5)[:5] for row in found]))
    return {"batch": batch, "single": single, "predicted": predicted}


if __name__ == "__main__":
    arguments = json.loads(sys.argv[1])
    found = learn(**arguments) if arguments.pop("mode") == "learn" else predict(**arguments)
    print(json.dumps(found))
