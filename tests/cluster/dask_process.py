"""One process of a cluster."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path

import dask

PROGRAMS = {
    "scheduler": "distributed.cli.dask_scheduler",
    "worker": "distributed.cli.dask_worker",
}
IMPORTED = ["sklearn.base", *PROGRAMS.values()]
"""What takes a process seconds to import."""


def run(command: list[str], folder: Path) -> None:
    """Run the command line of a scheduler or a worker, whose log is a file in the folder."""
    os.chdir(folder)
    log = os.open("log", os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(log, stream)
    sys.argv = command
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        import_module(PROGRAMS[command[0]]).main()
