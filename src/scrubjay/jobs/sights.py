"""Work that reads, and writes later what it makes of that: what was purged meanwhile does not come back by it.

Whoever works takes a sight of the place first. A purge that concerns it is noted in the records, and what is written
with that sight is refused from then on, in the transaction that would store it. The work then begins again with
reading, and finds that it is gone.
"""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from scrubjay.core import Core, Parts
from scrubjay.errors import ScrubjayError
from scrubjay.logs import logger
from scrubjay.model import Scope
from scrubjay.ports import Purged, Sight

log = logger("jobs")

T = TypeVar("T")

TRIES: Final = 5
"""How often a piece of work begins again, where one purge follows the other."""


async def as_seen(parts: Parts, scope: Scope, work: Callable[[Sight], Awaitable[T]]) -> T | None:
    """Do work that reads in this place; begin it again when something is purged there before it is written.

    None when that happened too often: it is left as it is, and whoever comes next takes it up.
    """
    for _ in range(TRIES):
        sight = await parts.stores.records.sight(scope)
        try:
            return await work(sight)
        except Purged:
            continue
        except ScrubjayError:
            # What is made of something that is gone is refused for that, too.
            if await parts.stores.records.sight(scope) == sight:
                raise
    log.info("work is left for later, since much is purged there", tries=TRIES)
    return None


def core_since(parts: Parts, scope: Scope, sight: Sight) -> Core:
    """The verbs of the scope's tenant. What they write is refused, with Purged, when something was purged since."""
    return Core(parts=parts.written_by(parts.writer.since(sight)), tenant=scope.tenant)
