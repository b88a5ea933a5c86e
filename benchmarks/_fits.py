"""Whether times grow like the logarithm: fitted curves and the criterion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

CACHED = 30_000
"""Labels from which the model of `benchmarks.growth` is larger than the processor's caches."""

SLOW = 0.11
"""Largest exponent of a power law that counts as log n, which grows like n^0.10 up to 1e6."""

GOOD_R2 = 0.9
"""Least share of the variance that a good fit explains."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Fit:
    """Least-squares fits of ``a + b log10 n`` and, on logarithmic axes, of ``c n**d``.

    Attributes
    ----------
    a, b : float
    r2 : float
        Share of the variance explained by the logarithmic curve.
    exponent : float
        The power law's d; 1 means proportional to the number of labels.
    """

    a: float
    b: float
    r2: float
    exponent: float

    @classmethod
    def of(cls, labels: list[float], values: list[float]) -> Fit:
        """Fit both curves to values measured at these numbers of labels."""
        x, y = np.log10(np.array(labels)), np.array(values)
        b, a = np.polyfit(x, y, 1).tolist()
        exponent, _ = np.polyfit(x, np.log10(y), 1).tolist()
        spread, rest = ((y - y.mean()) ** 2).sum(), ((y - a - b * x) ** 2).sum()
        return cls(a, b, float(1 - rest / spread) if spread > 0 else 1.0, exponent)

    def at(self, labels: Floats) -> Floats:
        """The logarithmic curve."""
        return self.a + self.b * np.log10(labels)

    @property
    def looks_logarithmic(self) -> bool:
        """Whether the measurements follow the logarithm or grow more slowly."""
        return self.exponent <= SLOW or self.r2 >= GOOD_R2
