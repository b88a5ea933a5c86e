"""Front ends, which turn texts into rows for a classifier, and their form in model files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from labelgrove._errors import ModelFileError, ParameterError
from labelgrove.text._features import TextFeatures
from labelgrove.text._hashed import HashedText

FrontEnd = TextFeatures | HashedText
"""Every kind of front end."""


def front_end_from_state(
    header: Any, arrays: Mapping[str, npt.NDArray[Any]], *, trust_pattern: bool = False
) -> FrontEnd:
    """Build a front end from the output of ``state()``, possibly from an untrusted file.

    Raises ModelFileError if the kind is unknown, the state is damaged, or the ``token_pattern``
    is not the default, unless `trust_pattern`.
    """
    if not isinstance(header, dict):
        raise ModelFileError("the header's front_end must be an object or null")
    parameters = {name: value for name, value in header.items() if name != "kind"}
    try:
        if header.get("kind") == TextFeatures.kind:
            return TextFeatures.from_state(parameters, arrays)
        if header.get("kind") == HashedText.kind:
            _refuse_patterns(parameters, trust_pattern)
            return HashedText.from_dict(parameters, trust_pattern=True)
    except (ParameterError, TypeError, LookupError) as failure:
        raise ModelFileError(f"its text front-end is damaged ({failure})") from None
    raise ModelFileError("its text front-end is of a kind unknown to this version")


def _refuse_patterns(parameters: Mapping[str, Any], trusted: bool) -> None:
    default = HashedText().token_pattern
    pattern = parameters.get("token_pattern", default)
    if pattern != default and not trusted:
        raise ModelFileError(
            f"it finds words with the pattern {pattern!r:.200}, and a pattern can take for ever to "
            "match; expected trust_pattern=True (--trust-pattern on the command line) if you trust "
            "the source of the file"
        )
