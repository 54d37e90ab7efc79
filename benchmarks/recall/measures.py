"""What an answer is worth, and how sure that is."""

from collections.abc import Callable, Sequence
from math import log2
from uuid import UUID

import numpy as np

CUTS = (1, 5, 10, 20)
MEASURES = (
    *(f"R@{cut}" for cut in CUTS),
    *(f"hit@{cut}" for cut in CUTS),
    *(f"all@{cut}" for cut in CUTS),
    "MRR",
    "nDCG@10",
)
SESSIONS = ("session R@5", "session R@10")
DRAWS = 2_000


def judged(answer: Sequence[UUID], relevant: frozenset[UUID]) -> dict[str, float]:
    """Every measure of one answer. R is the share of the evidence found, hit any of it, all the whole of it."""
    gains = [one in relevant for one in answer[: max(CUTS)]]
    found = {cut: sum(gains[:cut]) for cut in CUTS}
    ideal = sum(1 / log2(rank + 1) for rank in range(1, min(10, len(relevant)) + 1))
    return {
        **{f"R@{cut}": found[cut] / len(relevant) for cut in CUTS},
        **{f"hit@{cut}": float(found[cut] > 0) for cut in CUTS},
        **{f"all@{cut}": float(found[cut] == len(relevant)) for cut in CUTS},
        "MRR": next((1 / rank for rank, gain in enumerate(gains[:10], 1) if gain), 0.0),
        "nDCG@10": sum(gain / log2(rank + 1) for rank, gain in enumerate(gains[:10], 1)) / ideal,
    }


def judged_sessions(answer: Sequence[UUID], relevant: frozenset[UUID], sessions: dict[UUID, str]) -> dict[str, float]:
    """The same for whole sessions, each at the place of its best turn; nothing where there are none."""
    wanted = {sessions[one] for one in relevant if one in sessions}
    if not wanted:
        return {}
    ranked = list(dict.fromkeys(sessions[one] for one in answer if one in sessions))
    return {f"session R@{cut}": len(wanted & set(ranked[:cut])) / len(wanted) for cut in (5, 10)}


def interval(values: Sequence[float], of: Callable[..., np.ndarray] = np.mean) -> tuple[float, float]:
    """Where their mean, or what else, lies with 95 % confidence: drawn again and again, always the same draws."""
    if len(values) == 0:
        return float("nan"), float("nan")
    given = np.asarray(values, dtype=np.float64)
    draws = np.random.default_rng(7).integers(0, len(given), (DRAWS, len(given)))
    low, high = np.percentile(of(given[draws], axis=1), (2.5, 97.5))
    return float(low), float(high)
