"""The vectors once more, beside the records: they go where the records go, and answer while the engine cannot."""

from typing import Protocol, runtime_checkable

from scrubjay.ports.indexes import Listed, Vectors
from scrubjay.ports.portable import PortableVectors


class Mirror(Vectors, PortableVectors, Listed, Protocol):
    """Holds what a vector engine should hold, where the records are. Its search is exact: everything is compared."""


@runtime_checkable
class Mirrored(Protocol):
    """A vector engine with a mirror. What is stored in it is in both, or it was not acknowledged.

    Its own search asks the engine alone and raises when that is down, so that whoever asks the mirror instead knows it,
    and says so.
    """

    @property
    def engine(self) -> Vectors:
        """The engine by itself, to be filled from the mirror."""

    @property
    def mirror(self) -> Mirror:
        """The mirror by itself, to be asked while the engine cannot answer or lacks something."""
