"""Vectors as bytes: a quarter of the size of floats, several times as fast to scan, and a little off."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrubjay.errors import InvalidInput


class Coded(NamedTuple):
    """A vector as bytes, with what to multiply them by and how much of it they miss."""

    codes: NDArray[np.int8]
    scale: float
    missed: float


@dataclass(frozen=True)
class Question:
    """A vector that is searched for."""

    exact: NDArray[np.float64]

    @cached_property
    def coded(self) -> Coded:
        """The same as bytes: made for those who scan, and not for a search among few."""
        codes, scales = quantized(self.exact.astype(np.float32)[None, :])
        scale = float(scales[0])
        missed = self.exact - codes[0] * scale
        return Coded(codes, scale, math.sqrt(missed @ missed))

    @cached_property
    def signs(self) -> NDArray[np.bool_]:
        """Which of its numbers are positive."""
        return self.exact > 0

    @cached_property
    def telling(self) -> NDArray[np.bool_]:
        """Which of its numbers are large, so that their signs say more of what is near: the upper three fifths."""
        sizes = np.abs(self.exact)
        smaller = len(sizes) * 2 // 5
        are_large: NDArray[np.bool_] = sizes >= np.partition(sizes, smaller)[smaller]
        return are_large


def question(vector: NDArray[Any]) -> Question:
    """Make a question of unit length from a vector of any."""
    exact = np.asarray(vector, dtype=np.float64).reshape(-1)
    length = math.sqrt(exact @ exact)
    if not math.isfinite(length):
        raise InvalidInput("the vector to search for has a number that is not finite")
    return Question(exact / (length or 1.0))


def quantized(rows: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """The rows as bytes, with what to multiply each by."""
    scales = np.maximum(rows.max(axis=1), -rows.min(axis=1)) / np.float32(127)
    scales[scales == 0] = 1.0
    codes = rows / scales[:, None]
    return np.rint(codes, out=codes).astype(np.int8), scales
