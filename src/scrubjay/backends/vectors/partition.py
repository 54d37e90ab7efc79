"""What a process holds in memory of one tenant's vectors."""

import math
from concurrent.futures import Future
from threading import Lock
from typing import Final

from scrubjay.backends.vectors.kept import Kept
from scrubjay.backends.vectors.matrix import Matrix

PATIENCE: Final = 3
"""How many searches of a tenant are answered by reading a few rows before it is loaded after all."""

AT_LEAST: Final = 14_000
"""Bytes that it takes beside the columns of its matrix."""


class Partition:
    """What this process holds of one generation and tenant, and how new it is. Its lock guards all of it."""

    def __init__(self, generation: int, tenant: str) -> None:
        self.generation = generation
        self.tenant = tenant
        self.lock = Lock()
        self.matrix: Matrix | None = None
        self.counted = 0
        """The bytes that it was last found to take, as they are counted among those of all."""
        self.history = -1
        """Of which store it is what is held."""
        self.change = 0
        self.epoch = -1
        self.patience = PATIENCE
        self.is_large: bool | None = None
        """Whether loading takes so long that others answer meanwhile; None before anybody has looked."""
        self.arrival: Future[None] | None = None
        """Done when what is being loaded is there, or why it is not; None while nothing is being loaded."""
        self.kept: Kept | None = None
        """Signs from their file, as long as there is no matrix to search in."""
        self.looked_at = -math.inf
        """When it was last seen to that a file keeps its signs, in seconds of a clock that only goes forward."""

    def begin_anew(self, history: int) -> None:
        """Let go of what is held, for it is of another store than this one. The caller holds the lock."""
        self.history, self.matrix, self.kept = history, None, None
        self.change, self.epoch, self.patience = 0, -1, PATIENCE
        self.is_large, self.looked_at = None, -math.inf

    @property
    def size(self) -> int:
        """The bytes it takes."""
        return AT_LEAST + (0 if self.matrix is None else self.matrix.size)
