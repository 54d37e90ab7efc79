"""How sure it is that anything here is about the question: one number for the whole answer."""

import math
from collections.abc import Sequence
from typing import Final

from scrubjay.ports import Calibrated
from scrubjay.read.rerank import Ranked

MIDDLE: Final = 0.3
"""The calibrated similarity of the closest memory at which it is as likely as not."""

STEEPNESS: Final = 20.0
"""How fast the chance grows around the middle.

Both are fitted by benchmarks/recall/confidence.py on its part `dev`: docs/decisions/0033-confidence.md.
"""


def confidence(ranked: Sequence[Ranked], scale: Calibrated | None) -> float | None:
    """The chance that memories about the question's topic are here, 0 to 1, by the closest of all that were ranked.

    It says nothing about whether they hold the answer. 0 when there is no memory at all; None when nothing was
    compared in meaning, or there is no scale to read the comparison on.
    """
    if scale is None:
        return None
    if not ranked:
        return 0.0
    closest = max((cosine for one in ranked if (cosine := one.similarity) is not None), default=None)
    return None if closest is None else chance(scale.calibrate(closest))


def chance(similarity: float) -> float:
    """The chance that memories are about a question, by the calibrated similarity of the closest of them."""
    return 1.0 / (1.0 + math.exp(STEEPNESS * (MIDDLE - similarity)))
