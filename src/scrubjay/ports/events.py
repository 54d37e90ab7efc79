"""What happened in a memory, for whoever listens: in this process, or in another one on the same stores.

memory.stored             ids, kinds (one for each id), outcome: `stored`, `superseded` an earlier one, or `imported`
memory.forgotten          ids: closed, and still answering for the past
memory.purged             ids: deleted for good
memory.context.suggested  ids of one place, recommendations (how many in all): a task context was made of these
memory.pattern.learned    patterns: new ones, or new versions
memory.pattern.matched    patterns of one place: those that concern a task that was asked about
generation.switched       generation, model: another embedding model answers from now on
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeAlias, runtime_checkable

from scrubjay.errors import InvalidInput
from scrubjay.model import Scope
from scrubjay.model.checks import Json, shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened. The name is dotted, such as `memory.stored`; the data names ids, never content."""

    name: str
    scope: Scope | None
    """Where it happened. None: it concerns the whole installation, and every tenant may know."""
    at: datetime
    data: dict[str, Json] = field(default_factory=dict, hash=False)
    id: str = ""
    """Given when it is published: as text, that of a later event of the same bus is greater."""

    def concerns(self, scope: Scope | None) -> bool:
        """Whether a listener in this scope may know. None listens for the installation itself, and knows all."""
        return scope is None or self.scope is None or scope.sees(self.scope)


Handler: TypeAlias = Callable[[Event], Awaitable[None] | None]


class Events(Protocol):
    """Carries events to those who listen. Losing one is allowed; nothing that has to be true depends on it."""

    async def publish(self, events: Sequence[Event]) -> None:
        """Hand them on and return at once. Never raises, and never waits for a handler or a server."""

    def subscribe(
        self, name: str, handler: Handler, *, scope: Scope | None = None, kinds: Collection[str] = ()
    ) -> Callable[[], None]:
        """Call the handler with every event of this name; `*` means all, `memory.*` all below. Returns how to stop.

        With a scope, only with what concerns it; with kinds, only with what names one of them. A handler runs beside
        the work, on the event loop that this is called on, one event at a time in order. One that fails is logged and
        called again next time; one that is slow misses the oldest of what it has not read. Raises InvalidInput for a
        name that no event can have.
        """

    async def shut(self) -> None:
        """Let the handlers finish what they have, within bounds, and let go of connections. Safe to call twice."""


@runtime_checkable
class Replayed(Protocol):
    """Events that are kept for a while, so that a listener who was away can catch up."""

    async def since(self, scope: Scope, id: str, *, limit: int = 1_000) -> list[Event]:
        """Return what concerns the scope and came after the event of this id, oldest first, as far as it is kept.

        An empty id means from the oldest kept. Raises InvalidInput for an id of another form, and StoreUnavailable.
        """


def check_subscription(name: str) -> None:
    """A dotted name, or one that ends in `*` where a word could be."""
    words = name.split(".") if isinstance(name, str) else []
    *above, last = words or [""]
    if not all(word.isidentifier() for word in above) or not (last == "*" or last.isidentifier()):
        raise InvalidInput(f"the event name is {shown(name)}: use one such as 'memory.stored', 'memory.*' or '*'")


def is_named(event: Event, name: str) -> bool:
    """Whether a subscription to this name means this event."""
    return event.name == name or (name.endswith("*") and event.name.startswith(name[:-1]))
