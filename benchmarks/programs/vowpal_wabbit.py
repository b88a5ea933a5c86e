"""Vowpal Wabbit's multi-class reductions, run by its own driver, without Python per example."""

import json
import resource
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

from vowpalwabbit import Workspace  # type: ignore[import-not-found]


def drive(options: str, seed: str = "--random_seed 1") -> float:
    """Run the driver to completion; processor seconds of all its threads."""
    begun = time.process_time()
    Workspace(f"{options} --quiet {seed}").finish()
    return time.process_time() - begun


@cache
def reading(options: str) -> float:
    """Processor seconds of only reading the data (``--noop``)."""
    return drive(f"{options} --noop")


def learn_and_predict(train: str, test: str, options: str, passes: int) -> dict[str, Any]:
    """Learn a file, then predict another with the model reloaded.

    Other programs are measured without reading text, so the seconds the driver needs to read the
    same files without learning (``--noop``) are subtracted.
    """
    with tempfile.TemporaryDirectory() as folder:
        model, found = Path(folder, "model"), Path(folder, "found")
        several = f"-k -c --cache_file {train}.cache --passes {passes} --holdout_off"
        reading_train = reading(f"-d {train} {several}")
        learning = drive(f"-d {train} {options} {several} -f {model}")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        testing = f"-d {test} -i {model} -p {found}"
        if "--memory_tree" in options:  # `-t` makes it predict at random; it stores its seed
            predicting = drive(testing, seed="")
        else:
            predicting = drive(f"{testing} -t")
        classes = [int(float(line.split()[0])) for line in found.read_text("ascii").splitlines()]
        return {
            "learning_cpu": round(learning - reading_train, 4),
            "reading_cpu": round(reading_train, 4),
            "predicting_cpu": round(predicting - reading(f"-d {test}"), 4),
            "model_bytes": model.stat().st_size,
            "peak_mb": round(peak, 1),
            "classes": classes,
        }


if __name__ == "__main__":
    found = [learn_and_predict(**run) for run in json.loads(sys.argv[1])["runs"]]
    print(json.dumps({"runs": found}))
