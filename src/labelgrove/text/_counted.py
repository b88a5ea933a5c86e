"""Texts whose features have been counted in advance, perhaps in another thread."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from labelgrove._validation import Rows


@dataclass(frozen=True, eq=False)
class CountedTexts:
    """Counted texts: accepted in place of texts by the front end that counted them, or one like it.

    ``parts`` are the rows of counts, in one or more consecutive parts.
    """

    parts: tuple[Rows, ...]

    @classmethod
    def of(cls, several: Iterable[CountedTexts]) -> CountedTexts:
        """Concatenate several."""
        return cls(tuple(part for one in several for part in one.parts))

    def __len__(self) -> int:
        return sum(part.n_rows for part in self.parts)

    def __getitem__(self, chosen: slice) -> CountedTexts:
        begin, end, _ = chosen.indices(len(self))
        return CountedTexts((self.rows.part(begin, end),))

    @property
    def rows(self) -> Rows:
        """All parts, concatenated."""
        first, *others = self.parts
        if not others:
            return first
        ends = np.cumsum([0, *(len(part.ids) for part in self.parts)])
        indptr = [part.indptr[1:] + end for part, end in zip(self.parts, ends, strict=False)]
        return Rows(
            np.concatenate([first.indptr[:1], *indptr]),
            np.concatenate([part.ids for part in self.parts]),
            np.concatenate([part.values for part in self.parts]),
            len(self),
            first.n_features,
            dense=False,
        )
