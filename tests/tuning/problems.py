"""Small tuning problems for property tests: many ties, zeros, and bounds that matter."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays


@dataclass(frozen=True)
class Problem:
    Y: np.ndarray
    scores: np.ndarray
    lower: list[float]
    upper: float
    zero: float

    @property
    def bounds(self) -> dict[str, Any]:
        return {"lower": self.lower, "upper": self.upper, "zero_division": self.zero}


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    shape = draw(st.tuples(st.integers(1, 9), st.integers(1, 4)))
    eighths = st.sampled_from([0.0, 0.0, *(i / 16 for i in range(1, 17))])
    return Problem(
        Y=draw(arrays.arrays(np.int8, shape, elements=st.integers(0, 1))),
        scores=draw(
            arrays.arrays(np.float64, shape, elements=st.one_of(eighths, st.floats(0, 1, width=32)))
        ),
        lower=draw(
            st.lists(
                st.sampled_from([0.0, 0.0625, 0.1, 0.3, 0.7]), min_size=shape[1], max_size=shape[1]
            )
        ),
        upper=draw(st.sampled_from([0.5, 0.5, 1.0, inf])),
        zero=draw(st.sampled_from([0.0, 1.0])),
    )
