"""The parameters of `TextFeatures`: presets, domains, and options of the core."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labelgrove._errors import ParameterError, brief
from labelgrove._parameters import choice, flag, integer, real
from labelgrove.text._embeddings import GIVEN, embedding_of

LONGEST_RUN = 8
_LONGEST_SUBWORD = 15
_LONGEST_SHORT_TEXT = 8
_FIRST_DOCUMENTS = 4096
_MOST = 2**31 - 2
_MOST_COUNTED = 2**26  # columns: limits the memory that an untrusted file can request

_PRESETS: dict[str, dict[str, Any]] = {
    "words": {"words": (1, 1)},
    "words+pairs": {"words": (1, 2), "min_documents": 2},
    "words+stems": {
        "words": (1, 1),
        "subwords": (4, 4),
        "subwords_at": "start",
        "short_texts": 2,
    },
    "words+subwords": {
        "words": (1, 1),
        "subwords": (3, 5),
        "min_documents": 2,
        "most_features": 200,
    },
    "subwords": {"subwords": (3, 5), "min_documents": 2, "most_features": 200},
}

_DEFAULTS: dict[str, Any] = {
    "words": None,
    "subwords": None,
    "subwords_at": "anywhere",
    "short_texts": 0,
    "subword_weight": 1.0,
    "idf": True,
    "min_documents": 1,
    "most_features": 0,
}


def settings_of(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Check the parameters, and replace those that are None by the values of the preset."""
    chosen = _DEFAULTS | _PRESETS[choice("preset", parameters["preset"], _PRESETS)]
    chosen |= {name: parameters[name] for name in chosen if parameters[name] is not None}
    words = _lengths_or_none("words", chosen["words"], LONGEST_RUN)
    subwords = _lengths_or_none("subwords", chosen["subwords"], _LONGEST_SUBWORD)
    if not (words[1] or subwords[1]):
        raise ParameterError("words and subwords are both (0, 0); expected at least one of them")
    idf, least = flag("idf", chosen["idf"]), integer("min_documents", chosen["min_documents"], 1)
    embeddings = parameters["embeddings"]
    if embeddings is not None:
        embedding_of(embeddings)  # raises an error if it is invalid
    most = _MOST_COUNTED if idf or least > 1 else _MOST
    return {
        "preset": parameters["preset"],
        "n_features": integer("n_features", parameters["n_features"], 2, most),
        "words": words,
        "subwords": subwords,
        "subwords_at": choice("subwords_at", chosen["subwords_at"], ("anywhere", "start")),
        "short_texts": integer("short_texts", chosen["short_texts"], 0, _LONGEST_SHORT_TEXT),
        "subword_weight": real("subword_weight", chosen["subword_weight"], 1e-3, 1e3),
        "idf": idf,
        "min_documents": least,
        "most_features": integer("most_features", chosen["most_features"], 0, _MOST),
        "fold_accents": flag("fold_accents", parameters["fold_accents"]),
        "symbols": flag("symbols", parameters["symbols"]),
        "embeddings": embeddings if isinstance(embeddings, str | None) else GIVEN,
        "embedding_weight": real("embedding_weight", parameters["embedding_weight"], 1e-3, 1e3),
    }


def require_room(settings: Mapping[str, Any], embedding_size: int) -> None:
    """Refuse an embedding whose columns, after those of the words, would have too high numbers."""
    if settings["n_features"] + embedding_size > _MOST:
        raise ParameterError(
            f"n_features={settings['n_features']} and {embedding_size} columns of embeddings; "
            f"expected at most {_MOST} columns together"
        )


def core_options(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Convert settings to the options that the core expects."""
    starts = settings["subwords_at"] == "start"
    pieces = [length + 1 if starts and length else length for length in settings["subwords"]]
    return {
        "shortest_run": settings["words"][0],
        "longest_run": settings["words"][1],
        "shortest_piece": pieces[0],
        "longest_piece": pieces[1],
        "beginnings": starts,
        "short_words": settings["short_texts"],
        "piece_weight": settings["subword_weight"],
        "most_features": settings["most_features"] or _MOST,
        "columns": settings["n_features"],
        "least_documents": settings["min_documents"],
        "first_documents": _FIRST_DOCUMENTS,
        "rare_count_more": settings["idf"],
        "fold_accents": settings["fold_accents"],
        "symbols": settings["symbols"],
    }


def counts_documents(settings: Mapping[str, Any]) -> bool:
    """Return whether a row depends on the documents counted so far."""
    return bool(settings["idf"] or settings["min_documents"] > 1)


def _lengths_or_none(name: str, value: Any, most: int) -> tuple[int, int]:
    try:
        none = not value or bool(value == (0, 0))
    except ValueError:  # an array
        none = False
    return (0, 0) if none else lengths(name, value, most, ", or (0, 0)")


def lengths(name: str, value: Any, most: int, instead: str = "") -> tuple[int, int]:
    """Return a range of lengths after checking it; ``instead`` ends the message if it is none."""
    try:
        shortest, longest = value if isinstance(value, tuple) else ()
        return integer(name, shortest, 1, most), integer(name, longest, int(shortest), most)
    except ValueError:  # also a ParameterError
        raise ParameterError(
            f"{name}={brief(value)}: expected two increasing whole numbers from 1 to "
            f"{most}{instead}"
        ) from None
