"""A store to carry, and the ways to look into it."""

from typing import Final, Protocol

from scrubjay.model import Memory
from scrubjay.ports import (
    Blobs,
    Generations,
    Outline,
    Piece,
    Portable,
    Records,
    WholeBlob,
    WholeSession,
    Working,
)
from scrubjay.ports.access import Audit, Keys
from scrubjay.ports.at_rest import Elsewhere
from scrubjay.ports.upkeep import Upkeep
from scrubjay.ports.worklog import Worklog

SOURCE: Final = "sqlite:///elsewhere.db"


class PortableStore(Records, Generations, Portable, Protocol):
    """Records, generations, blobs and sessions that can be carried: one object, or several on one database."""

    @property
    def blobs(self) -> Blobs:
        """Its files."""

    @property
    def working(self) -> Working:
        """Its sessions."""

    @property
    def log(self) -> Worklog:
        """What workers could not deal with."""

    @property
    def upkeep(self) -> Upkeep:
        """How far workers have come."""

    @property
    def api_keys(self) -> Keys:
        """Who may come in."""

    @property
    def audit(self) -> Audit:
        """What they did."""

    @property
    def elsewhere(self) -> Elsewhere:
        """What it says is kept in other places."""


async def outline_of(store: Portable) -> Outline:
    """What the store holds."""
    async with store.still() as still:
        return await still.outline()


async def pieces_of(store: Portable, *, after: int = 0, batch: int = 500) -> list[Piece]:
    """All that is in it, from behind a place."""
    async with store.still() as still:
        return [piece async for piece in still.pieces(after=after, batch=batch)]


async def rows_of(store: Portable) -> list[Memory]:
    """Every row, in the order of storing."""
    return [memory for piece in await pieces_of(store) for memory in piece.memories]


async def blobs_of(store: Portable) -> list[WholeBlob]:
    """Every blob, in the order of storing."""
    return [whole for piece in await pieces_of(store) for whole in piece.blobs]


async def sessions_of(store: Portable) -> list[WholeSession]:
    """Every session, by its scope."""
    return [whole for piece in await pieces_of(store) for whole in piece.sessions]


async def carry(store: Portable, other: Portable, *, batch: int = 500) -> None:
    """Fill the other one with all that is in the store."""
    await other.begin(SOURCE, await outline_of(store))
    for piece in await pieces_of(store, batch=batch):
        await other.fill(SOURCE, piece)
    await other.finish(SOURCE)
