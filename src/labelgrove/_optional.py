"""Optional packages, which LabelGrove uses if they are installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from labelgrove._errors import MissingDependencyError


def optional(module: str, purpose: str, extra: str) -> Any:
    """Return a module of an optional package.

    Parameters
    ----------
    module : str
        Its full name, which starts with the name of the package.
    purpose : str
        What needs it, for the beginning of the message.
    extra : str
        The extra of LabelGrove that installs the package.

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
