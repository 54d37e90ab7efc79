"""Which facts apply in a place: those of the place itself and of every wider one, the narrowest of each key."""

from collections.abc import Iterable
from typing import Final

from scrubjay.core import Core
from scrubjay.model import Filter, Memory, Scope, Trust

PAGE: Final = 500

MOST: Final = 5_000
"""Facts that can apply in one place. Nobody reads more, and no prompt holds them."""


async def applying(core: Core, filter: Filter, *, most: int = MOST) -> list[Memory]:
    """What matches and applies in the filter's scope, newest first, overridden ones among them."""
    found: list[Memory] = []
    now, last = core.parts.clock(), None
    while len(found) < most:
        page = await core.parts.stores.records.find(filter, now=now, limit=PAGE, after=last)
        found += [memory for memory in page if applies(memory, filter.scope)]
        if len(page) < PAGE:
            break
        last = page[-1].id
    return found[:most]


def applies(memory: Memory, scope: Scope) -> bool:
    """Whether it holds for whoever is in this place: all that its scope names, the place names alike."""
    return memory.scope.holds(scope)


def narrowness(scope: Scope) -> tuple[bool, ...]:
    """The narrower place is the greater: a session before a workflow, an agent, a project, a user."""
    names = (scope.session, scope.workflow, scope.agent, scope.project, scope.user)
    return tuple(name is not None for name in names)


def overriding(memories: Iterable[Memory]) -> tuple[list[Memory], list[tuple[Memory, Memory]]]:
    """Those that count, in their order, and each that is overridden with the one that overrides it.

    Of one key the narrowest counts. What a stranger could have written overrides only a stranger's words.
    """
    given = list(memories)
    winners: dict[str, Memory] = {}
    for memory in given:
        if memory.key is not None:
            rival = winners.get(memory.key)
            winners[memory.key] = memory if rival is None or _weight(memory) > _weight(rival) else rival
    kept = [memory for memory in given if memory.key is None or winners[memory.key].id == memory.id]
    lost = [(memory, winners[memory.key]) for memory in given if memory.key and winners[memory.key].id != memory.id]
    return kept, lost


def _weight(memory: Memory) -> tuple[object, ...]:
    return memory.trust is not Trust.FOREIGN, narrowness(memory.scope), memory.created_at
