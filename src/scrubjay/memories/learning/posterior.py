"""How sure counts make us: the posterior of a rate, and its lower bound."""

from math import exp, lgamma, log, log1p
from typing import Final

BOUND: Final = 0.05
"""Confidence is the value that the rate exceeds with 95 % probability."""

_STEPS: Final = 300
_TINY: Final = 1e-300


def confidence(held: float, seen: float) -> float:
    """The lower 5 % bound of a rate of which `held` in `seen` are known, before which any rate was as likely.

    >>> round(confidence(3, 3), 2), round(confidence(30, 30), 2)
    (0.47, 0.91)
    """
    return beta_quantile(BOUND, 1 + held, 1 + seen - held)


def beta_quantile(share: float, a: float, b: float) -> float:
    """The value below which this share of the Beta(a, b) distribution lies."""
    low, high = 0.0, 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if beta_share(middle, a, b) < share else (low, middle)
    return (low + high) / 2


def beta_share(x: float, a: float, b: float) -> float:
    """The share of the Beta(a, b) distribution that lies below x."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x))
    # The continued fraction converges quickly on its own side of the mean.
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(x, a, b) / a
    return 1 - front * _fraction(1 - x, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    """Lentz's evaluation of the continued fraction of the incomplete beta function."""
    c, d = 1.0, 1 / _away(1 - (a + b) * x / (a + 1))
    value = d
    for step in range(1, _STEPS):
        for term in (
            step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step)),
            -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1)),
        ):
            d = 1 / _away(1 + term * d)
            c = _away(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < 1e-12:
            break
    return value


def _away(value: float) -> float:
    """The value, kept away from zero."""
    return value if abs(value) > _TINY else _TINY
