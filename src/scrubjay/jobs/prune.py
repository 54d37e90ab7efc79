"""Prune: forget what the policy says is not worth keeping. Closed, not deleted: the past stays answerable.

What was made from it stays. Rules, instructions, preferences and conventions, and what is pinned, are never pruned.
Records of agents fade by the rules of their namespaces too: by age, and by how relevant they are by then.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from scrubjay.jobs.orders import MOST_PLANNED, Orders, Tally
from scrubjay.jobs.retain import close
from scrubjay.model import Filter, Memory, Scope
from scrubjay.model.namespaces import belonging, namespaces_of
from scrubjay.model.work import Fading, StepDone, is_spared, relevance
from scrubjay.ports.upkeep import Weight

BATCH: Final = 500
PRUNED: Final = "pruned"


async def prune(orders: Orders) -> StepDone:
    """Forget by age, importance and use, what has faded, and where a place holds too much, what is least worth it."""
    tally, policy = Tally("prune", gone=orders.gone), orders.policy
    if not policy.prunes:
        return StepDone(step="prune", skipped="no rule is set")
    if policy.prune_after is not None:
        await _by_age(orders, tally)
    if policy.namespaces:
        await _by_namespace(orders, tally)
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
    limit = BATCH if not orders.dry_run else MOST_PLANNED
    while idle := await orders.works.upkeep.idle(
        within=orders.within, before=before, below=policy.prune_below, limit=limit
    ):
        if orders.dry_run:
            for one in idle:
                used = (
                    f"last recalled {one.used_at:%Y-%m-%d}"
                    if one.used_at
                    else f"never recalled since {one.created_at:%Y-%m-%d}"
                )
                tally.plan_for(one, f"{used}, and its importance {one.importance:.2f} is below {policy.prune_below:g}")
            return
        why = f"{PRUNED}: not recalled for {days} days, importance below {policy.prune_below:g}"
        if not await _gone(orders, idle, why, tally) or len(idle) < BATCH:
            return


async def _by_namespace(orders: Orders, tally: Tally) -> None:
    rules, now = orders.policy.namespaces, orders.parts.clock()
    tenants = [orders.within.tenant] if orders.within is not None else await orders.works.upkeep.tenants()
    for tenant in tenants:
        for name, rule in rules.items():
            where = orders.within or Scope(tenant=tenant)
            old = Filter(scope=where, reach="holds", data=belonging(name), until=now - rule.after)
            async for batch in orders.parts.stores.records.scan(old, now=now, batch=BATCH):
                faded = [one for one in batch if _has_faded(one, rules, now)]
                if orders.dry_run:
                    for one in faded:
                        tally.plan_for(one, _faded_why(one, name, rule, now))
                elif faded:
                    why = f"{PRUNED}: {name}, older than {rule.after.days} days, relevance below {rule.below:g}"
                    await _gone(orders, faded, why, tally)


def _has_faded(memory: Memory, rules: Mapping[str, Fading], now: datetime) -> bool:
    """Whether every namespace that it is in lets it go. One without a rule keeps what it has."""
    if is_spared(memory):
        return False
    wanted, age = relevance(memory, now), now - memory.valid_from
    of_its_own = [rules.get(name) for name in namespaces_of(memory)]
    return all(rule is not None and age > rule.after and wanted < rule.below for rule in of_its_own)


def _faded_why(memory: Memory, name: str, rule: Fading, now: datetime) -> str:
    age, wanted = (now - memory.valid_from).days, relevance(memory, now)
    return (
        f"in {name} for {age} days, more than {rule.after.days}, recalled {memory.uses} times, "
        f"and its relevance {wanted:.2f} is below {rule.below:g}"
    )


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
    inside = [
        _Worth(
            importance=one.importance,
            last_used=one.used_at or one.created_at,
            created_at=one.created_at,
            bytes=len(one.content.encode()),
            memory=one,
        )
        async for one in _inside(orders, weight.scope)
        if one.id not in orders.gone
    ]
    # As they are by now: another worker may have pruned since they were weighed, and less is too much then.
    weight = replace(weight, memories=len(inside), bytes=sum(one.bytes for one in inside))
    if policy.most_memories is not None:
        limits.append(f"{policy.most_memories:,} memories")
    if policy.most_bytes is not None:
        limits.append(f"{policy.most_bytes:,} bytes")
    count, taken, going = weight.memories, weight.bytes, list[Memory]()
    for one in sorted((one for one in inside if not is_spared(one.memory)), key=lambda one: one.order):
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
