"""Vectors as every embedder hands them out: float32, one row per text, of unit length."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scrubjay.ports import Matrix


def unit(rows: "Matrix") -> "Matrix":
    """Scale each row to unit length. A row of zeros, which points nowhere, is like nothing and stays."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    scaled: Matrix = np.divide(rows, lengths, dtype=np.float32)
    return scaled
