"""What tests are made of: memories with a default for every field, a clock that stands still, plain ways to decide."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from scrubjay.model import Filter, Memory, Scope, new_id
from scrubjay.model.portable import header, to_json
from scrubjay.ports import Decision, Known, Records

NOW: Final = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)
"""The moment at which everything in a test happens, unless it says otherwise."""

SECOND: Final = timedelta(seconds=1)
HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)


def a_scope(user: str | None = "anna", **names: str) -> Scope:
    """A place of one user; more names make it narrower, and `tenant` puts it elsewhere."""
    return Scope(user=user, **names)


def a_memory(content: str = "Prefers tabs over spaces", **overrides: Any) -> Memory:  # noqa: ANN401 -- any field; Memory checks it
    """A memory of `a_scope()`, told at `NOW` and valid since then, with a new id. Any field can be given."""
    fields: dict[str, Any] = {"id": new_id(), "scope": a_scope(), "created_at": NOW, **overrides}
    fields.setdefault("valid_from", fields["created_at"])
    return Memory(content=content, **fields)


def some_memories(many: int, **overrides: Any) -> list[Memory]:  # noqa: ANN401 -- the same
    """As many different memories, in order."""
    return [a_memory(f"Fact number {place}", **overrides) for place in range(many)]


def export_of(*memories: Memory) -> list[str]:
    """The lines of an export that holds these: whoever has the files imports also what no verb would write."""
    return [json.dumps(line) for line in (header(), *map(to_json, memories))]


class Ticking:
    """A clock that moves only when it is told to."""

    def __init__(self, start: datetime = NOW) -> None:
        self.now = start

    def __call__(self) -> datetime:
        """The time, aware and in UTC."""
        return self.now

    def advance(self, step: timedelta = SECOND) -> datetime:
        """Let time pass, and tell the new time."""
        self.now += step
        return self.now


def keep_all(draft: Memory, known: Known) -> Decision:  # noqa: ARG001 -- whatever is known, the draft is new
    """Store every draft as it is."""
    return Decision(outcome="stored", memory=draft, opens=(draft,))


def replace_by_key(draft: Memory, known: Known) -> Decision:
    """Store what is new, in place of what is believed under the same key."""
    before = known.same_id or known.same_words
    if before is not None:
        return Decision(outcome="unchanged", memory=before)
    closes = tuple(old.closed(draft.created_at, because="replaced", by=draft.id) for old in known.same_key)
    return Decision(outcome="superseded" if closes else "stored", memory=draft, closes=closes, opens=(draft,))


async def told(store: Records, *memories: Memory) -> list[Memory]:
    """Write these as they are, and return them as they are stored."""
    return [remembered.memory for remembered in await store.write(memories, keep_all)]


async def all_rows(store: Records, scope: Scope) -> list[Memory]:
    """Every row that lies inside the scope, in any state, in the order of storing."""
    return await store.find(Filter(scope=scope, reach="holds", history=True), now=NOW, limit=100_000, order="oldest")
