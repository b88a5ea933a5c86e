"""Versions and machine facts, for bug reports and to identify machines."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from labelgrove import _core
from labelgrove._parameters import thread_count
from labelgrove._version import __version__

_PACKAGES = ("numpy", "scipy", "scikit-learn", "typer", "matplotlib", "networkx", "rdflib")


def show_versions() -> None:
    """Print the versions of LabelGrove, Python and the packages used, and the engine's kernels.

    Kernels are the innermost loops of the engine, compiled once for each instruction set. The
    environment variable ``LABELGROVE_KERNELS`` selects them when the package is imported:
    ``baseline``, ``avx2`` or ``avx512``. By default the best set that the processor supports is
    used.

    Examples
    --------
    >>> import labelgrove
    >>> labelgrove.show_versions()  # doctest: +SKIP
    labelgrove    0.1.0
    kernels       avx2 (available: baseline, avx2)
    compiler      GCC 12.2.0
    threads       2
    python        3.11.7
    platform      Linux-6.1-x86_64
    numpy         2.2.1
    scikit-learn  1.6.0
    """
    facts = versions()
    width = max(map(len, facts))
    for name, value in facts.items():
        print(f"{name:{width}}  {value}")  # noqa: T201  (its purpose)


def versions() -> dict[str, str]:
    """Collect the facts printed by :func:`show_versions`, in its order."""
    facts = {
        "labelgrove": __version__,
        "kernels": f"{_core.kernel_variant()} (available: {', '.join(_core.available_kernels())})",
        "compiler": _core.compiler(),
        "threads": str(thread_count(-1)),
        "python": platform.python_version(),
        "platform": platform.platform(),
    }
    for package in _PACKAGES:
        try:
            facts[package] = version(package)
        except PackageNotFoundError:
            facts[package] = "not installed"
    return facts
