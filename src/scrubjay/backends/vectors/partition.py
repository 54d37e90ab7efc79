"""What a process holds in memory of one tenant's vectors."""

from threading import Lock
from typing import Final

from scrubjay.backends.vectors.graph import Graph
from scrubjay.backends.vectors.matrix import Matrix

PATIENCE: Final = 3
"""How many searches of a large tenant are answered by reading a few rows before it is loaded after all."""


class Partition:
    """What this process holds of one generation and tenant, and how new it is. Its lock guards all of it."""

    def __init__(self, generation: int, tenant: str) -> None:
        self.generation = generation
        self.tenant = tenant
        self.lock = Lock()
        self.matrix: Matrix | None = None
        self.graph: Graph | None = None
        self.building = False
        self.change = 0
        self.epoch = -1
        self.patience = PATIENCE

    @property
    def size(self) -> int:
        """The bytes it takes."""
        return (self.matrix.size if self.matrix else 0) + (self.graph.size if self.graph else 0)
