"""Virtual environments of the other programs: one each, as their requirements conflict."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks._data import CACHE
from benchmarks._measure import run_json


@dataclass(frozen=True)
class Environment:
    """A virtual environment in the cache, created when first needed.

    Attributes
    ----------
    name : str
        Includes the version of the program.
    steps : tuple of tuples of str
        Arguments of ``pip install``, one call each.
    """

    name: str
    steps: tuple[tuple[str, ...], ...]

    @property
    def folder(self) -> Path:
        """The directory of the environment."""
        return CACHE / self.name

    def install(self) -> None:
        """Create it unless it exists."""
        if self.folder.exists():
            return
        print(f"installing {self.name} into {self.folder}", flush=True)
        unfinished = self.folder.with_name(self.name + "-unfinished")
        venv.create(unfinished, clear=True, with_pip=False, symlinks=True)
        pip = [sys.executable, "-m", "pip", f"--python={_python(unfinished)}", "install", "-q"]
        for step in self.steps:
            subprocess.run([*pip, *step], check=True)
        unfinished.rename(self.folder)


def run(
    environment: Environment | None, module: str, threads: int = 1, **arguments: Any
) -> dict[str, Any]:
    """Run a module of ``benchmarks.programs`` in a new process and return its results.

    Parameters
    ----------
    environment : Environment or None
        None is the environment of LabelGrove.
    module : str
    threads : int
        Limit for the numerical libraries.
    **arguments
        Passed to the module.
    """
    command = [sys.executable]
    if environment is not None:
        environment.install()
        command = [str(_python(environment.folder)), "-E", "-s"]
    command += ["-m", f"benchmarks.programs.{module}", json.dumps(arguments)]
    found: dict[str, Any] = run_json(command, threads)
    return found


def _python(environment: Path) -> Path:
    return environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


NAPKINXC = Environment("napkinxc-0.7.2", (("napkinxc==0.7.2",),))

OMIKUJI = Environment("omikuji-0.5.2", (("omikuji==0.5.2", "numpy", "scipy"),))

OMIKUJI_TEXTS = Environment("omikuji-texts-0.5.2", (("omikuji==0.5.2", "scikit-learn>=1.6"),))

FASTTEXT = Environment("fasttext-0.9.3", (("fasttext==0.9.3", "numpy<2"),))

# XR-Linear does not need PECOS's other requirements (PyTorch and more).
PECOS = Environment(
    "libpecos-1.2.8",
    (("--no-deps", "libpecos==1.2.8"), ("numpy<2", "scipy<1.14", "scikit-learn<1.7")),
)

VOWPAL_WABBIT = Environment("vowpalwabbit-9.11.9", (("vowpalwabbit==9.11.9", "numpy", "scipy"),))

ANNIF = Environment("annif-1.4.3", (("annif[fasttext,omikuji]==1.4.3",),))
