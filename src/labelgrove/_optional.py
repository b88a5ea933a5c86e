"""Optional packages, which LabelGrove uses if they are installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from labelgrove._errors import MissingDependencyError


def optional(module: str, purpose: str, extra: str) -> Any:
    """Return a module of an optional package.

    Its name starts with that of the package, which the extra `extra` of LabelGrove installs. If it
    cannot be imported, raise a MissingDependencyError that begins with `purpose`, what needs it,
    and says how to install the package or, if it is there but broken, quotes its error.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        absent = isinstance(error, ModuleNotFoundError) and error.name in {module, package}
        if not absent:
            raise MissingDependencyError(
                f"{purpose} needs the package {package}, which cannot be imported: {error}"
            ) from error
        raise MissingDependencyError(
            f"{purpose} needs the package {package}; install it with: "
            f'pip install "labelgrove[{extra}]"'
        ) from error
