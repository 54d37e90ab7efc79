"""Changes that wait for a working memory that is away, on dicts."""

from collections.abc import Callable
from dataclasses import replace

from scrubjay.model import Scope
from scrubjay.model.working import check_session
from scrubjay.ports.working import Detour, Operation


class MemoryDetours:
    """The `Detours` port. Nothing outlives the process."""

    def __init__(self) -> None:
        self.last = 0
        """The highest number that any change ever had."""
        self._detours: dict[Scope, Detour] = {}

    async def detour(self, scope: Scope) -> Detour:
        """Return what is noted for this session."""
        check_session(scope)
        return self._detours.get(scope, Detour())

    async def note(self, scope: Scope, decide: Callable[[Detour], Operation]) -> Operation:
        """Ask `decide` what to note, given what is noted, and note it."""
        known = await self.detour(scope)
        operation = replace(decide(known), number=self.last + 1)
        self.last += 1
        self._detours[scope] = Detour(number=operation.number, operations=(*known.operations, operation))
        return operation

    async def settled(self, scope: Scope, number: int) -> None:
        """Forget the changes of this session up to this number: they are made. Safe to repeat."""
        known = await self.detour(scope)
        left = tuple(operation for operation in known.operations if operation.number > number)
        self._detours[scope] = replace(known, operations=left)

    async def detoured(self, *, limit: int) -> list[Scope]:
        """Return the sessions, of every tenant, for which something is noted."""
        return [scope for scope, detour in self._detours.items() if detour.operations][:limit]

    def whole(self) -> dict[Scope, Detour]:
        """What is noted, or was, by session."""
        return dict(self._detours)

    def put(self, scope: Scope, detour: Detour) -> None:
        """Let this be what is noted for the session."""
        self._detours[scope] = detour
