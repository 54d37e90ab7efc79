"""How sure it is that anything here is about the question: one number for the whole answer."""

import math
from collections.abc import Sequence
from typing import Final

from scrubjay.ports import Calibrated

MIDDLE: Final = 0.185
"""The calibrated similarity of a memory at which it is as likely as not, when it is the only one."""

GROWTH: Final = 0.055
MANY: Final = 100
"""What is added for ten times as many memories, up to a hundred: the closest of many is closer by chance alone."""

STEEPNESS: Final = 25.0
"""How fast the chance grows around the middle.

All four are fitted by benchmarks/recall/confidence.py on its part `dev`: docs/decisions/0039-confidence-by-size.md.
"""

LOOKED_AT: Final = 24
"""Candidates, best first, of which the closest is taken, or twice as many as are wanted. It hardly ever lies behind."""


def confidence(cosines: Sequence[float | None], scale: Calibrated | None, *, compared: int) -> float | None:
    """The chance that memories about the question's topic are here, 0 to 1, by the closest of all that may answer.

    `cosines` are theirs, None for one that was not compared. `compared` is how many were found by meaning: all of them
    where there are few. It says nothing about whether they hold the answer. 0 when there is no memory at all; None when
    nothing was compared in meaning, or there is no scale to read the comparison on.
    """
    if scale is None:
        return None
    if not cosines:
        return 0.0
    closest = max((cosine for cosine in cosines if cosine is not None), default=None)
    return None if closest is None else chance(scale.calibrate(closest), compared)


def chance(similarity: float, compared: int = MANY) -> float:
    """The chance that memories are about a question, by the calibrated similarity of the closest of so many."""
    middle = MIDDLE + GROWTH * math.log10(min(max(1, compared), MANY))
    return 1.0 / (1.0 + math.exp(STEEPNESS * (middle - similarity)))
