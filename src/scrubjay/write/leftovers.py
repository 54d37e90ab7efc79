"""What is left of purged memories where vectors lie: removed at once, or as soon as the engine, or Redis, is back.

A purge notes what it deletes, with the records and before it deletes them. So an engine that is away, or a process that
is killed, costs nothing but time. And all of it is removed once more after a while: somebody may have been embedding
one of these when it was purged, and have stored its vectors after that.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from scrubjay.errors import Unavailable
from scrubjay.logs import logger
from scrubjay.ports import Generations, Stores
from scrubjay.write.models import Models

log = logger("index")

ONCE_MORE: Final = timedelta(minutes=10)
"""When they are removed for the last time: longer than any batch takes to be embedded."""

FADED: Final = timedelta(days=8)
"""When nothing can be left any more of what models shared: they share a vector for a week."""

PAGE: Final = 1_000


async def clear(ids: Sequence[UUID], *, stores: Stores, at: datetime) -> bool:
    """Remove the vectors of what was just purged. False when that has to wait, for `clear_due`."""
    try:
        await stores.vectors.remove(ids)
    except Unavailable as error:
        log.warning("vectors of purged memories have to wait", memories=len(ids), error=str(error))
        return False
    await stores.generations.leave(ids, at=at, due=at + ONCE_MORE)
    return True


async def clear_due(stores: Stores, now: datetime) -> int:
    """Remove what had to wait, and once more what was purged a while ago; return of how many memories."""
    done = 0
    while due := await stores.generations.leftovers(now=now, limit=PAGE):
        # A purge that was cut short has deleted nothing, and the memory keeps its vectors. One that is under way has
        # deleted nothing yet: so what is noted of a memory that is there stays for as long as of one that is gone.
        gone = set(await stores.records.missing([one.id for one in due]))
        try:
            await stores.vectors.remove([one.id for one in due if one.id in gone])
        except Unavailable as error:
            log.warning("vectors of purged memories have to wait", memories=len(gone), error=str(error))
            break
        is_over = {one.id for one in due if now - one.at >= ONCE_MORE}
        await stores.generations.cleared([one.id for one in due if one.id in is_over])
        for at in sorted({one.at for one in due if one.id not in is_over}):
            again = [one.id for one in due if one.at == at and one.id not in is_over]
            await stores.generations.leave(again, at=at, due=at + ONCE_MORE)
        done += len(gone)
    return done


async def clear_shared(names: Sequence[str], *, models: Models, generations: Generations, at: datetime) -> bool:
    """Remove what has these names where models share vectors. False when that has to wait, for `clear_shared_due`."""
    try:
        await models.remove(names)
    except Unavailable as error:
        log.warning("shared vectors of purged memories have to wait", vectors=len(names), error=str(error))
        return False
    await generations.leave_shared(names, at=at, due=at + ONCE_MORE)
    return True


async def clear_shared_due(models: Models, generations: Generations, now: datetime) -> int:
    """Remove what models shared and what had to wait, and once more what was purged a while ago; return how many."""
    done = 0
    while due := await generations.shared_leftovers(now=now, limit=PAGE):
        try:
            is_shared = await models.remove([one.name for one in due])
        except Unavailable as error:
            log.warning("shared vectors of purged memories have to wait", vectors=len(due), error=str(error))
            is_shared = False
        over = ONCE_MORE if is_shared else FADED
        await generations.cleared_shared([one.name for one in due if now - one.at >= over])
        if not is_shared:
            break  # Another process may be able to, or this one later.
        for at in sorted({one.at for one in due if now - one.at < over}):
            again = [one.name for one in due if one.at == at]
            await generations.leave_shared(again, at=at, due=at + ONCE_MORE)
        done += len(due)
    return done
