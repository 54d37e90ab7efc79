"""Messages and values for the suites of working memory, and how to tell and to ask a store."""

from typing import Any, Final

from scrubjay.model import Json, Scope, new_id
from scrubjay.model.working import Limits, Message, Scratch
from scrubjay.ports import Working
from scrubjay.testing.values import DAY, HOUR, NOW, SECOND, a_scope

LIMITS: Final = Limits(
    ttl=HOUR, grace=DAY, messages=4, message_bytes=1_000, session_bytes=5_000, scratch_values=3, scratch_bytes=500
)
"""The limits of the store that the suite is given: small enough to meet."""

HERE: Final = a_scope(session="s-1")


def a_message(content: str = "Hello", **overrides: Any) -> Message:  # noqa: ANN401 -- any field; Message checks it
    """A message of a user, said at `NOW`, with a new id. Any field can be given."""
    fields: dict[str, Any] = {"id": new_id(), "role": "user", "at": NOW, **overrides}
    return Message(content=content, **fields)


def some_messages(many: int) -> list[Message]:
    """As many different messages, in order."""
    return [a_message(f"Message number {place}") for place in range(many)]


def a_value(value: Json = "draft", *, name: str = "plan", version: str | None = None) -> Scratch:
    """A value for the scratchpad, with a new version."""
    return Scratch(name=name, value=value, version=version or str(new_id()), at=NOW)


async def said(store: Working, *messages: Message, scope: Scope = HERE, **options: Any) -> list[Message]:  # noqa: ANN401 -- ttl or now
    """Append these, for an hour."""
    return await store.append(scope, messages, **{"ttl": HOUR, "now": NOW, **options})


async def noted(store: Working, scratch: Scratch, *, scope: Scope = HERE, **options: Any) -> Scratch:  # noqa: ANN401 -- as above
    """Put this on the scratchpad, for an hour."""
    return await store.set(scope, scratch, **{"ttl": HOUR, "now": NOW, **options})


async def contents(store: Working, scope: Scope = HERE, **options: Any) -> list[str]:  # noqa: ANN401 -- limit, now or over
    """What the newest messages say."""
    return [one.content for one in await store.recent(scope, **{"limit": 100, "now": NOW, **options})]


async def due(store: Working, **options: Any) -> dict[Scope, tuple[str, int]]:  # noqa: ANN401 -- now or soon
    """Which sessions wait to be drained, why, and how many messages of each."""
    found = await store.waiting(**{"now": NOW, "soon": SECOND, "limit": 100, **options})
    return {one.scope: (one.why, one.messages) for one in found}
