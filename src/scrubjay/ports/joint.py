"""Writing memories and their vectors at once, where both lie in one database."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias
from uuid import UUID

from scrubjay.model import Memory, Remembered
from scrubjay.ports.purges import Sight
from scrubjay.ports.records import Decide

if TYPE_CHECKING:
    from scrubjay.ports.models import Matrix

Cut: TypeAlias = tuple[tuple[tuple[int, int], ...], int]
"""The stretches of a text that a model reads, and where their vectors begin among those of others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """What the index needs of memories that are about to be stored."""

    generation: int
    """The embedding generation that the vectors belong to."""
    parts: dict[UUID, Cut]
    """How each is cut, and which of the vectors is that of its first part; those of the others follow."""
    vectors: "Matrix | None"
    """One of unit length for each part; None when there are none."""
    marks: dict[UUID, int]
    """The mark that each is stored with: the generation, or that of a memory which is to have no vectors."""

    def leave_out(self, id: UUID) -> None:
        """Let this one be indexed later, since what is stored reads otherwise than what the vectors were made of."""
        self.parts.pop(id, None)
        self.marks.pop(id, None)


class Joint(Protocol):
    """Writes what `Records.write` writes, and its vectors, in one transaction: nothing is left to be indexed later."""

    async def unknown(self, drafts: Sequence[Memory]) -> set[UUID]:
        """Return the ids of those that nothing stored stands for: neither under the same id nor with the same words.

        A hint, true when it is given, so that vectors need not be made of what is known.
        """

    async def write(
        self, drafts: Sequence[Memory], decide: Decide, ahead: Ahead, *, sight: Sight | None = None
    ) -> list[Remembered]:
        """Do as `Records.write` does, and store what is opened under an id that `ahead` names with mark and vectors.

        A search filters by what the memory is stored with, whatever its draft said. What is opened under another id
        waits to be indexed. Raises what `Records.write` raises.
        """
