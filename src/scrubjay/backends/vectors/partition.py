"""What a process holds in memory of one tenant's vectors."""

import math
from concurrent.futures import Future
from threading import Lock
from typing import Final

from scrubjay.backends.vectors.kept import Kept
from scrubjay.backends.vectors.matrix import Matrix

PATIENCE: Final = 3
"""How many searches of a tenant are answered by reading a few rows before it is loaded after all."""


class Partition:
    """What this process holds of one generation and tenant, and how new it is. Its lock guards all of it."""

    def __init__(self, generation: int, tenant: str) -> None:
        self.generation = generation
        self.tenant = tenant
        self.lock = Lock()
        self.matrix: Matrix | None = None
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

    @property
    def size(self) -> int:
        """The bytes it takes."""
        return self.matrix.size if self.matrix else 0
