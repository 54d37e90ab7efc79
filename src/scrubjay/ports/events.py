"""What happened in a memory, for whoever listens: in this process, or in another one on the same stores."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeAlias

from scrubjay.model import Scope
from scrubjay.model.checks import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened. The name is dotted, such as `memory.stored`; the data names ids, never content."""

    name: str
    scope: Scope
    at: datetime
    data: dict[str, Json] = field(default_factory=dict, hash=False)
    id: str = ""
    """Given when it is published: a later event of the same bus has a greater one."""


Handler: TypeAlias = Callable[[Event], Awaitable[None] | None]


class Events(Protocol):
    """Carries events to those who listen. Losing one is allowed; nothing that has to be true depends on it."""

    async def publish(self, events: Sequence[Event]) -> None:
        """Hand them on and return at once. Never raises, and never waits for a handler or a server."""

    def subscribe(self, name: str, handler: Handler) -> Callable[[], None]:
        """Call the handler with every event of this name; `*` means all, `memory.*` all below. Returns how to stop.

        A handler runs beside the work, one event at a time in order. One that fails is logged and called again next
        time; one that is slow misses the oldest of what it has not read.
        """

    async def shut(self) -> None:
        """Let the handlers finish what they have, and let go of connections. Safe to call twice."""
