"""Events that were kept, for a listener who was away."""

from scrubjay.model import Scope
from scrubjay.ports import Event, Events
from scrubjay.ports.events import Replayed, is_named

PAGE = 1_000


async def kept_since(events: Events, scope: Scope, name: str, *, after: str, limit: int) -> list[Event]:
    """Those of this name that concern the scope and came after this id, oldest first; none where none are kept."""
    found: list[Event] = []
    while isinstance(events, Replayed) and len(found) < limit:
        page = await events.since(scope, after, limit=PAGE)
        found += [event for event in page if is_named(event, name)]
        if len(page) < PAGE:
            break
        after = page[-1].id
    return found[:limit]
