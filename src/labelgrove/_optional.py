"""Packages that LabelGrove uses where they are installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from labelgrove._errors import MissingDependencyError


def optional(module: str, purpose: str, extra: str) -> Any:
    """Return a module of an optional package.

    Parameters
    ----------
    module : str
        Its name, the package's first.
    purpose : str
        What needs it, to begin the message with.
    extra : str
        Of the extras of LabelGrove the one that brings the package.

    Raises
    ------
    MissingDependencyError
        The package cannot be imported.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingDependencyError(
            f"{purpose} needs the package {package}; install it with: "
            f'pip install "labelgrove[{extra}]"'
        ) from error
