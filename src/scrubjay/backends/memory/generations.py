"""Which embedding models have vectors, in a dict."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from scrubjay.errors import Conflict, NotFound
from scrubjay.model import Generation, GenerationState, Identity
from scrubjay.ports import Keeping, Leftover, SharedLeftover


class MemoryGenerations:
    """Generations by number. A number is never given twice: memories may still be marked with it."""

    def __init__(self) -> None:
        super().__init__()
        self._generations: dict[int, Generation] = {}
        self._last = 0
        self._keeping = Keeping()
        self._leftovers: dict[UUID, tuple[datetime, datetime]] = {}
        self._shared_leftovers: dict[str, tuple[datetime, datetime]] = {}

    async def generations(self) -> list[Generation]:
        """Return all, oldest first."""
        return list(self._generations.values())

    async def add(self, identity: Identity, *, state: GenerationState, at: datetime) -> Generation:
        """Return the generation of this identity, added in this state unless it is there already, in any state.

        One that is to be active while another is, is added as building: there is one active generation.
        """
        for generation in self._generations.values():
            if generation.identity == identity:
                return generation
        begins: GenerationState = "building" if state == "active" and self._active() is not None else state
        switched_at = at if begins == "active" else None
        self._last += 1
        added = Generation(number=self._last, identity=identity, state=begins, created_at=at, switched_at=switched_at)
        self._generations[added.number] = added
        return added

    async def switch(self, number: int, *, at: datetime, leaving: GenerationState = "retired") -> None:
        """Make this generation the active one and give the one that was active the other state, at once."""
        chosen = self._generations.get(number)
        if chosen is None:
            raise NotFound(f"there is no generation {number}: choose one of {sorted(self._generations)}")
        active = self._active()
        if active is not None:
            self._generations[active.number] = replace(active, state=leaving)
        self._generations[number] = replace(chosen, state="active", switched_at=at)

    async def drop(self, number: int) -> None:
        """Forget a generation that is not active. Raises Conflict when it is."""
        active = self._active()
        if active is not None and active.number == number:
            raise Conflict(f"generation {number} is active: switch to another one, then drop it")
        self._generations.pop(number, None)

    async def keeping(self) -> Keeping:
        """Return which vector engine the marks speak of, and whether it is being filled."""
        return self._keeping

    async def keep(self, engine: str, *, at: datetime) -> None:
        """Note that the marks speak of this engine, and that a process works with it now."""
        self._keeping = replace(self._keeping, engine=engine, seen=at)

    async def filled(self) -> None:
        """Note that every memory whose mark was doubted has been looked at."""
        self._keeping = replace(self._keeping, filling=False)

    async def leave(self, ids: Sequence[UUID], *, at: datetime, due: datetime) -> None:
        """Note that these are purged at one moment, and that their vectors have to be removed at another."""
        for one in ids:
            self._leftovers[one] = (max(at, self._leftovers.get(one, (at, due))[0]), due)

    async def leftovers(self, *, now: datetime, limit: int) -> list[Leftover]:
        """Return those whose vectors have to be removed by now, those that are due for longest first."""
        found = sorted((due, one, at) for one, (at, due) in self._leftovers.items() if due <= now)
        return [Leftover(one, at) for _, one, at in found[:limit]]

    async def cleared(self, ids: Sequence[UUID]) -> None:
        """Note that nothing is left of these."""
        for one in ids:
            self._leftovers.pop(one, None)

    async def purged_since(self, moment: datetime) -> bool:
        """Say whether any of those that are noted was purged then or later."""
        return any(at >= moment for at, _ in self._leftovers.values())

    async def leave_shared(self, names: Sequence[str], *, at: datetime, due: datetime) -> None:
        """Note the names that vectors of what is purged have where models share them."""
        for one in names:
            self._shared_leftovers[one] = (max(at, self._shared_leftovers.get(one, (at, due))[0]), due)

    async def shared_leftovers(self, *, now: datetime, limit: int) -> list[SharedLeftover]:
        """Return those that have to be removed by now, those that are due for longest first."""
        found = sorted((due, one, at) for one, (at, due) in self._shared_leftovers.items() if due <= now)
        return [SharedLeftover(one, at) for _, one, at in found[:limit]]

    async def cleared_shared(self, names: Sequence[str]) -> None:
        """Note that nothing is left under these names."""
        for one in names:
            self._shared_leftovers.pop(one, None)

    def _active(self) -> Generation | None:
        return next((one for one in self._generations.values() if one.state == "active"), None)
