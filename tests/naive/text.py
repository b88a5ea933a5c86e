"""Text features in plain Python: Unicode normal forms, dicts, one document at a time."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

MASK = 2**64 - 1
BASE = 0x9E3779B97F4A7C15
SALTS = 0x73647277, 0x73636570, 0x73636570
WORDS, PIECES, SHORT_PIECES = range(3)  # the parts of a row
LONGEST_SHORT_PIECE = 3
LETTERS_PER_WORD = 4  # in scripts without spaces, for the length of a short text
LONGEST_WORD = 64


@cache
def _tables() -> tuple[set[int], set[int]]:
    """The invisible characters and those of scripts without spaces, as the script lists them."""
    path = Path(__file__).parents[2] / "scripts" / "unicode-tables"
    spec = spec_from_loader("unicode_tables", SourceFileLoader("unicode_tables", str(path)))
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.members(module.IGNORED), module.members(module.UNSPACED)


def mix(z: int) -> int:
    """SplitMix64's finaliser."""
    z = (z + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def hashed(units: Iterable[int]) -> int:
    """The hash of a sequence of units."""
    value = 0
    for unit in units:
        value = (value * BASE + unit + 1) & MASK
    return value


def all_pieces(units: list[int], shortest: int, longest: int) -> Iterator[list[int]]:
    """All runs of letters of a word with its boundaries, those of a short word shorter."""
    whole = [0x20, *units, 0x20]
    for n in range(min(shortest, len(whole)), min(longest, len(whole)) + 1):
        for begin in range(len(whole) - n + 1):
            yield whole[begin : begin + n]


def stands_alone(unit: int) -> bool:
    """Whether a symbol is a word by itself, unlike punctuation and the halves of flags."""
    return unit >= 0x2190 and not 0x1F1E6 <= unit <= 0x1F1FF


def is_symbol(one: str) -> bool:
    """Whether a character is a symbol in every form, such as an ellipsis or its three dots."""
    forms = one + unicodedata.normalize("NFKD", one)
    return not any(unicodedata.category(form)[0] in "LNM" for form in forms)


def plain(text: str) -> str:
    """Text in one form, between symbols, which stay as they are."""
    return "".join(
        "".join(run) if symbols else _plain("".join(run))
        for symbols, run in groupby(text, is_symbol)
    )


def _plain(text: str) -> str:
    """Compatibility forms taken apart, case folded, and Hangul syllables put together again."""
    for _ in range(2):
        text = unicodedata.normalize("NFKD", text)
        text = "".join(one if one == "\u0345" else one.casefold() for one in text)
    text = unicodedata.normalize("NFKD", text)
    syllable = "[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?"
    return re.sub(syllable, lambda found: unicodedata.normalize("NFC", found[0]), text)


@dataclass
class NaiveTextFeatures:
    """The core's work, with its options."""

    options: dict[str, Any]
    documents: Counter[int] = field(default_factory=Counter)
    n_documents: int = 0

    def __post_init__(self) -> None:
        self.ignored, self.unspaced = _tables()

    # --- words ---------------------------------------------------------------------------------

    def words(self, text: str) -> Iterator[tuple[list[int], str]]:
        """The units of every word, and its kind: spaced, unspaced or symbols."""
        text = plain("".join(one for one in text if ord(one) not in self.ignored))
        letters: list[int] = []
        run = "blank"
        for one in text:
            point, category = ord(one), unicodedata.category(one)
            if point in self.ignored:
                continue
            if category[0] == "M":
                folded = self.options["fold_accents"] and unicodedata.combining(one) > 9
                folded = folded or (one == "\u0307" and letters[-1:] == [0x69])  # as i has it
                if letters and not folded and one == "\u0345":
                    letters += [0x3B9] if len(letters) < LONGEST_WORD else []
                elif letters and not folded:
                    letters[-1] = ((letters[-1] ^ point) * 0x01000193 & (2**32 - 1)) | 0x80000000
                continue
            is_letter = category[0] in "LN"
            spaceless = point in self.unspaced and category not in {"Nd", "No"}
            blank = category[0] == "Z" or category == "Cc" or point in {0x200B, 0xFFFD}
            if is_letter:
                kind = "unspaced" if spaceless else "spaced"
            else:
                kind = "symbols" if self.options["symbols"] and not blank else "blank"
            alone = kind == "symbols" and any(map(stands_alone, [point, *letters[-1:]]))
            if letters and (kind != run or alone or len(letters) == LONGEST_WORD):
                yield letters, run
                letters = []
            if kind != "blank":
                letters.append(point)
                run = kind
        if letters:
            yield letters, run

    # --- features ------------------------------------------------------------------------------

    def column(self, units: list[int], part: int) -> int:
        """The column of a sequence of units."""
        begin, end = self.parts()[part]
        return begin + ((mix(hashed(units) ^ SALTS[part]) >> 32) * (end - begin) >> 32)

    def parts(self) -> list[tuple[int, int]]:
        """The columns of each part of a row, from the first to the one after the last."""
        o = self.options
        words, pieces, short = o["longest_run"] > 0, o["longest_piece"] > 0, o["short_words"] > 0
        n = o["columns"]
        first = (n // 2 if pieces or short else n) if words else 0
        second = first + (((n - first) // 2 if short else n - first) if pieces else 0)
        return [(0, first), (first, second), (second, n)]

    def count(self, text: str) -> Counter[int]:
        """How often each column occurs."""
        o, found = self.options, Counter[int]()
        words: list[list[int]] = []
        counted: list[list[int]] = []
        n_words = 0
        for units, kind in self.words(text):
            spaceless = kind == "unspaced"
            pairs = [units[i : i + 2] for i in range(len(units) - 1)]
            counted += pairs if spaceless and pairs else [units]
            found.update(self.column(one, PIECES) for one in self.pieces(units, spaceless))
            if kind != "symbols":
                n_words += math.ceil(len(units) / LETTERS_PER_WORD) if spaceless else 1
                words.append(units)
        if n_words <= o["short_words"]:
            for units in words:
                short = all_pieces(units, 1, LONGEST_SHORT_PIECE)
                found.update(self.column(one, SHORT_PIECES) for one in short)
        if o["longest_run"]:
            for length in range(o["shortest_run"], o["longest_run"] + 1):
                for i in range(len(counted) - length + 1):
                    run = counted[i]
                    for word in counted[i + 1 : i + length]:
                        run = [*run, 0x20, *word]
                    found[self.column(run, WORDS)] += 1
        return found

    def pieces(self, units: list[int], spaceless: bool) -> Iterator[list[int]]:
        """Runs of letters within a word."""
        o = self.options
        if not o["longest_piece"]:
            return
        if o["beginnings"]:
            whole = [0x20, *units]
            for n in range(o["shortest_piece"], min(o["longest_piece"], len(whole)) + 1):
                if not spaceless and n > 1:
                    yield whole[:n]
            return
        yield from all_pieces(units, o["shortest_piece"], o["longest_piece"])

    # --- weights -------------------------------------------------------------------------------

    def weigh(self, counts: Counter[int], n: int, d: dict[int, int]) -> dict[int, float]:
        """The row of one of n documents, given the document frequencies."""
        o = self.options
        row: dict[int, float] = {}
        for column, times in counts.items():
            if d[column] < o["least_documents"] and n > o["first_documents"]:
                continue
            rarity = 1 + math.log((1 + n) / (1 + d[column])) if o["rare_count_more"] else 1.0
            row[column] = (1 + math.log(times)) * rarity
        for which, (begin, end) in enumerate(self.parts()):
            length = 1.0 if which == WORDS else o["piece_weight"]
            part = [column for column in row if begin <= column < end]
            part.sort(key=lambda column: (-np.float32(row[column]), column))  # as the core has them
            for column in part[o["most_features"] :]:
                del row[column]
            del part[o["most_features"] :]
            norm = math.sqrt(sum(row[column] ** 2 for column in part))
            for column in part:
                row[column] *= length / norm
        return row

    def learn(self, text: str) -> dict[int, float]:
        """Count a document, then weight it by the counts so far."""
        counts = self.count(text)
        self.add(counts)
        return self.weigh(counts, self.n_documents, self.documents)

    def add(self, counts: Counter[int]) -> None:
        """Count a document."""
        self.n_documents += 1
        self.documents.update(counts.keys())

    def transform(self, text: str) -> dict[int, float]:
        """The row of a text as if it came next, without features that no document has had.

        A part that has no others keeps one, unless learnt rows lack such features, too.
        """
        o, counts = self.options, self.count(text)
        if not o["rare_count_more"] and o["least_documents"] <= 1:
            return self.weigh(counts, 1, dict.fromkeys(counts, 1))
        known = Counter({c: times for c, times in counts.items() if self.documents[c]})
        row = self.weigh(
            known, self.n_documents + 1, {column: self.documents[column] + 1 for column in known}
        )
        if o["least_documents"] <= 1 or self.n_documents < o["first_documents"]:
            for which, (begin, end) in enumerate(self.parts()):
                part = [column for column in counts if begin <= column < end]
                if part and not row.keys() & part:
                    row[max(part)] = 1.0 if which == WORDS else o["piece_weight"]
        return row
