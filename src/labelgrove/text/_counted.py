"""Texts whose features have been counted beforehand, perhaps in another thread."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from labelgrove._validation import Rows


@dataclass(frozen=True, eq=False)
class CountedTexts:
    """Taken by the front end that counted them, or one like it, wherever it takes texts.

    Attributes
    ----------
    parts : tuple of Rows
        How often each feature occurs, all parts below one another; at least one.
    """

    parts: tuple[Rows, ...]

    @classmethod
    def of(cls, several: Iterable[CountedTexts]) -> CountedTexts:
        """Put texts below one another."""
        return cls(tuple(part for one in several for part in one.parts))

    def __len__(self) -> int:
        return sum(part.n_rows for part in self.parts)

    def __getitem__(self, chosen: slice) -> CountedTexts:
        begin, end, _ = chosen.indices(len(self))
        return CountedTexts((self.rows.part(begin, end),))

    @property
    def rows(self) -> Rows:
        """All of them, put together."""
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
