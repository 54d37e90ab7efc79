"""Retain: close what has expired, and let the importance of what nobody uses decay. Nothing is deleted."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from scrubjay.jobs.leasing import still_leased
from scrubjay.jobs.orders import MOST_PLANNED, Orders, Tally
from scrubjay.model import Memory, Scope
from scrubjay.model.memory import EXPIRED
from scrubjay.model.work import StepDone
from scrubjay.write.announce import forgotten

BATCH: Final = 500
"""Memories closed in one transaction."""

DECAYED: Final = 5_000
"""Rows looked at in one transaction of decay."""

LONGEST_PERIOD: Final = timedelta(days=7)
_PERIODS: Final = 12
"""At least so many periods make a half-life, so that decay has no visible steps."""


async def expire(orders: Orders) -> StepDone:
    """Close what has expired. It answered no question any more; now no index has to look at it either."""
    tally, now = Tally("expire", gone=orders.gone), orders.parts.clock()
    if orders.parts.access is not None and not orders.dry_run:
        # They may hold what memories say, and nobody may ever ask for them again.
        await orders.parts.access.answers.sweep(now=now)
        if orders.parts.access.audit_for is not None:
            await orders.parts.access.audit.sweep(before=now - orders.parts.access.audit_for)
    limit = BATCH if not orders.dry_run else MOST_PLANNED
    while True:
        over = await orders.works.upkeep.expired(within=orders.within, now=now, limit=limit)
        if orders.dry_run:
            for one in over:
                tally.plan_for(one, f"it expired at {one.expires_at:%Y-%m-%d %H:%M}")
            break
        if not over:
            break
        tally.add(memories=await close(orders, over, because=EXPIRED))
        if len(over) < BATCH:
            break
    return tally.done("memories")


async def close(orders: Orders, memories: Sequence[Memory], *, because: str) -> int:
    """Stop believing these, but for what was made from them, and take them out of the indexes.

    Who extended or pinned one since it was read has the last word: it is left alone.
    """
    await still_leased()
    parts, at = orders.parts, orders.parts.clock()
    tenants: dict[str, list[Memory]] = defaultdict(list)
    for memory in memories:
        tenants[memory.scope.tenant].append(memory)
    count = 0
    for tenant, held in tenants.items():
        ids = [memory.id for memory in held]
        closed = await parts.stores.records.close(
            Scope(tenant=tenant), ids, at=at, because=because, unless_changed=held
        )
        await parts.index.retire(closed)
        await parts.events.publish(forgotten(closed, at))
        count += len(closed)
    return count


async def decay(orders: Orders) -> StepDone:
    """Let the importance of what was not used fall, by half in each half-life."""
    tally, half_life = Tally("decay"), orders.policy.half_life
    if half_life is None:
        return StepDone(step="decay", skipped="no half-life is set")
    if orders.within is not None and any(orders.within.names()):
        return StepDone(step="decay", skipped="it concerns a whole tenant")
    period = min(LONGEST_PERIOD, half_life / _PERIODS)
    if orders.dry_run:
        tally.plan("the importance of what was not used", f"it halves in {half_life.days} days without use")
        return tally.done("memories")
    upkeep, now = orders.works.upkeep, orders.parts.clock()
    tenants = [orders.within.tenant] if orders.within is not None else await upkeep.tenants()
    factor = 0.5 ** (period / half_life)
    for tenant in tenants:
        while (changed := await upkeep.decay(tenant, period=period, factor=factor, now=now, limit=DECAYED)) is not None:
            tally.add(memories=changed)
    return tally.done("memories")
