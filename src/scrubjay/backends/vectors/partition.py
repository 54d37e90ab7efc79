"""What a process holds in memory of one tenant's vectors."""

from threading import Condition, Lock
from typing import TYPE_CHECKING, Final

from scrubjay.backends.vectors.graph import Graph
from scrubjay.backends.vectors.matrix import Matrix

if TYPE_CHECKING:
    from usearch.index import Index

PATIENCE: Final = 3
"""How many searches of a tenant are answered by reading a few rows before it is loaded after all."""


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
        self.is_large: bool | None = None
        """Whether loading takes so long that it is done aside; None before anybody has looked."""
        self.loading = False
        self.arrival = Condition(self.lock)
        """Told when loading has come to an end."""
        self.kept: tuple[Index, int] | None = None
        """A graph from its file with its change number, as long as there is no matrix to search in."""

    @property
    def size(self) -> int:
        """The bytes it takes."""
        return (self.matrix.size if self.matrix else 0) + (self.graph.size if self.graph else 0)
