"""What the store asks of a Chroma, wherever it is."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from scrubjay.backends.vectors.chroma.records import Records, Where

if TYPE_CHECKING:
    from scrubjay.ports import Matrix

FIELDS: Final = "metadatas"
VECTORS: Final = "embeddings"
DISTANCES: Final = "distances"

RECORDS_PER_REQUEST: Final = 500
"""A request of so many is done well within the timeout. A server may want less."""

GRAPH: Final[dict[str, Any]] = {
    # Vectors have unit length, so this is the cosine. Under `cosine` itself Chroma scales them again, and what comes
    # back is not what was given.
    "space": "ip",
    # Denser than Chroma makes it by default. Of the 50 nearest of 4,000 random vectors of 384 numbers, which have no
    # structure to go by, it finds 99 % instead of 78 %; storing takes as long.
    "ef_construction": 100,
    "ef_search": 200,
    "max_neighbors": 24,
}
NO_GRAPH: Final[dict[str, Any]] = {"space": "ip", "ef_construction": 2, "ef_search": 2, "max_neighbors": 2}
"""As little as can be had, for a collection that is never searched."""


class NotThere(Exception):
    """The collection is not there, or not any more."""


class Connection(Protocol):
    """A Chroma that answers. Every verb can be repeated; each raises StoreUnavailable when there is no answer.

    Verbs on a collection raise NotThere when there is none of that name, and InvalidInput for vectors of another size.
    """

    async def version(self) -> str:
        """The version that it says it has."""

    async def names(self) -> list[str]:
        """All collections, of whatever prefix."""

    async def create(self, name: str, *, graph: dict[str, Any], about: dict[str, str]) -> None:
        """Make a collection, unless somebody else has."""

    async def delete(self, name: str) -> None:
        """Delete a collection, if it is there."""

    async def count(self, name: str) -> int:
        """How many records it has."""

    async def size(self, name: str) -> int | None:
        """How many dimensions its vectors have; None while it has none."""

    async def upsert(self, name: str, records: Records) -> None:
        """Store these records, each in the place of the one with its id. Fields that are not given stay."""

    async def update(self, name: str, records: Records) -> None:
        """Write the fields of these records, and leave their vectors. Unknown ids are ignored."""

    async def remove(self, name: str, *, ids: Sequence[str] | None = None, where: Where | None = None) -> None:
        """Delete the records with these ids, or those that fulfil the condition. Unknown ids are ignored."""

    async def get(
        self,
        name: str,
        *,
        ids: Sequence[str] | None = None,
        where: Where | None = None,
        include: Sequence[str] = (),
    ) -> Records:
        """The records with these ids, or those that fulfil the condition, with what is to be included."""

    async def nearest(self, name: str, vector: "Matrix", *, limit: int, where: Where | None = None) -> Records:
        """The nearest records that fulfil the condition, best first, with fields and distances."""

    async def close(self) -> None:
        """Let go of files and connections."""
