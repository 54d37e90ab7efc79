"""What a cosine means: a curve for each model, fitted to how alike people find two sentences.

`benchmarks/core/calibrate.py` fits the numbers; docs/reference/embedders.md tells how well.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A logistic curve, scaled so that a cosine of 1 is a likeness of 1."""

    steepness: float
    middle: float

    def __call__(self, cosine: float) -> float:
        """Return the likeness, 0 to 1. A greater cosine never gives a smaller one."""
        cosine = min(1.0, max(-1.0, cosine))
        return self._logistic(cosine) / self._logistic(1.0)

    def _logistic(self, cosine: float) -> float:
        return 1.0 / (1.0 + math.exp(-self.steepness * (cosine - self.middle)))
