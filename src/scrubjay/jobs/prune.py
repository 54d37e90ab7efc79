"""Prune: forget what the policy says is not worth keeping. Closed, not deleted: the past stays answerable.

What was made from it stays. Rules, instructions, preferences and conventions, and what is pinned, are never pruned.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from scrubjay.jobs.orders import Orders, Tally
from scrubjay.jobs.retain import close
from scrubjay.model import Filter, Memory, Scope
from scrubjay.model.work import StepDone, is_spared
from scrubjay.ports.upkeep import Weight

BATCH: Final = 500
PRUNED: Final = "pruned"


async def prune(orders: Orders) -> StepDone:
    """Forget by age, importance and use; then, where a place holds too much, what is least worth keeping."""
    tally, policy = Tally("prune"), orders.policy
    if not policy.prunes:
        return StepDone(step="prune", skipped="no rule is set")
    if policy.prune_after is not None:
        await _by_age(orders, tally)
    if policy.most_memories is not None or policy.most_bytes is not None:
        for weight in await orders.works.upkeep.weights(within=orders.within):
            if _excess(orders, weight):
                await _by_weight(orders, weight, tally)
    return tally.done("memories")


async def _by_age(orders: Orders, tally: Tally) -> None:
    policy, now = orders.policy, orders.parts.clock()
    if policy.prune_after is None:
        return
    before, days = now - policy.prune_after, policy.prune_after.days
    limit = BATCH if not orders.dry_run else 10_000
    while idle := await orders.works.upkeep.idle(
        within=orders.within, before=before, below=policy.prune_below, limit=limit
    ):
        if orders.dry_run:
            for one in idle:
                used = (
                    f"last used {one.used_at:%Y-%m-%d}"
                    if one.used_at
                    else f"never used since {one.created_at:%Y-%m-%d}"
                )
                tally.plan_for(one, f"{used}, and its importance {one.importance:.2f} is below {policy.prune_below:g}")
            return
        why = f"{PRUNED}: not used for {days} days, importance below {policy.prune_below:g}"
        if not await _gone(orders, idle, why, tally) or len(idle) < BATCH:
            return


async def _gone(orders: Orders, memories: list[Memory], why: str, tally: Tally) -> int:
    count = await close(orders, memories, because=why)
    tally.add(memories=count)
    return count


def _excess(orders: Orders, weight: Weight) -> bool:
    policy = orders.policy
    return (policy.most_memories is not None and weight.memories > policy.most_memories) or (
        policy.most_bytes is not None and weight.bytes > policy.most_bytes
    )


@dataclass(frozen=True, slots=True)
class _Worth:
    """What a memory is worth keeping, least first, and what it takes."""

    importance: float
    last_used: datetime
    created_at: datetime
    bytes: int
    memory: Memory

    @property
    def order(self) -> tuple[float, datetime, datetime]:
        return self.importance, self.last_used, self.created_at


async def _by_weight(orders: Orders, weight: Weight, tally: Tally) -> None:
    policy, limits = orders.policy, []
    worths = [
        _Worth(
            importance=one.importance,
            last_used=one.used_at or one.created_at,
            created_at=one.created_at,
            bytes=len(one.content.encode()),
            memory=one,
        )
        async for one in _inside(orders, weight.scope)
        if not is_spared(one)
    ]
    if policy.most_memories is not None:
        limits.append(f"{policy.most_memories:,} memories")
    if policy.most_bytes is not None:
        limits.append(f"{policy.most_bytes:,} bytes")
    count, taken, going = weight.memories, weight.bytes, list[Memory]()
    for one in sorted(worths, key=lambda one: one.order):
        if not _excess(orders, replace(weight, memories=count, bytes=taken)):
            break
        count, taken = count - 1, taken - one.bytes
        going.append(one.memory)
    why = (
        f"{weight.scope} holds {weight.memories:,} memories of {weight.bytes:,} bytes, more than {' or '.join(limits)}"
    )
    if orders.dry_run:
        for memory in going:
            tally.plan_for(memory, f"{why}; this is among the least important and least used")
        return
    for start in range(0, len(going), BATCH):
        await _gone(orders, going[start : start + BATCH], f"{PRUNED}: {why}", tally)


async def _inside(orders: Orders, place: Scope) -> AsyncIterator[Memory]:
    """What is believed in exactly this place and its sessions and workflows."""
    everything = Filter(scope=place, reach="holds", history=True)
    async for batch in orders.parts.stores.records.scan(everything, now=orders.parts.clock()):
        for memory in batch:
            if memory.superseded_at is None and replace(memory.scope, session=None, workflow=None) == place:
                yield memory
