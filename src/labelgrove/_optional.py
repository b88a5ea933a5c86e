"""Packages that LabelGrove uses where they are installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from labelgrove._errors import MissingDependencyError


def optional(module: str, purpose: str, package: str | None = None) -> Any:
    """Return a module of an optional package.

    Parameters
    ----------
    module : str
        Its name, the package's first.
    purpose : str
        What needs it, to begin the message with.
    package : str, optional
        What to install, where that has another name than the module.

    Raises
    ------
    MissingDependencyError
        The package cannot be imported.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = package or module.partition(".")[0]
        raise MissingDependencyError(
            f"{purpose} needs the package {package}; install it with: pip install {package}"
        ) from error
