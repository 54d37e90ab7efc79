"""Flags on two facts that may contradict each other, or be one. Raised when a fact is told, kept until resolved.

A flag is a memory of its own kind, made from both facts: it is forgotten and purged with either. It holds for the
instant before it was raised, so that no recall takes it for knowledge, and it is believed until it is resolved.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID, uuid5

from scrubjay.core import Core
from scrubjay.errors import Conflict, InvalidInput, NotFound
from scrubjay.model import Filter, Memory, Scope, Trust
from scrubjay.model.checks import shown
from scrubjay.model.facts import CONFLICT_KIND, RELATIONS, Fact, FactConflict, Relation
from scrubjay.off_loop import off_loop, weight
from scrubjay.ports import Decision, Known
from scrubjay.read.readable import readable
from scrubjay.write.redact import reason_of

RESOLVED: Final = "resolved"

_INSTANT: Final = timedelta(microseconds=1)


def flag(one: Memory, other: Memory, relation: Relation, explanation: str) -> Memory:
    """The flag on a fact that was there and one that is told now. The same two make the same flag."""
    return Memory(
        id=uuid5(other.id, str(one.id)),
        kind=CONFLICT_KIND,
        content=explanation,
        data={"relation": relation},
        trust=Trust.least([Trust.CONCLUDED, one.trust, other.trust]),
        derived_from=(one.id, other.id),
        scope=other.scope,
        created_at=other.created_at,
        valid_from=other.created_at - _INSTANT,
        valid_to=other.created_at,
    )


async def conflicts(core: Core, scope: Scope) -> list[FactConflict]:
    """The open flags inside the scope whose two facts are both believed, oldest first."""
    raised = Filter(scope=scope, reach="holds", kinds=(CONFLICT_KIND,), history=True)
    found: list[FactConflict] = []
    async for batch in core.parts.stores.records.scan(raised, now=core.parts.clock()):
        found += await _standing(core, [memory for memory in batch if memory.superseded_at is None])
    return found


async def conflict(core: Core, scope: Scope, id: UUID) -> FactConflict:
    """One of them. Raises NotFound when it is not open any more."""
    held = [memory for memory in await core.parts.stores.records.get(scope, [id]) if scope.holds(memory.scope)]
    found = await _standing(core, [memory for memory in held if memory.superseded_at is None])
    if not found:
        raise NotFound(f"there is no open conflict {id} in {scope}: `conflicts` lists those that are")
    return found[0]


async def _standing(core: Core, flags: Sequence[Memory]) -> list[FactConflict]:
    if not flags:
        return []
    tenant = Scope(tenant=flags[0].scope.tenant)
    sides = list(dict.fromkeys(side for one in flags for side in one.derived_from))
    believed = {
        memory.id: memory
        for memory in await core.parts.stores.records.get(tenant, sides)
        if memory.superseded_at is None
    }
    both = [one for one in flags if one.kind == CONFLICT_KIND and believed.keys() >= set(one.derived_from)]
    return [found for _, found in readable(both, lambda one: _read(one, believed))]


def _read(raised: Memory, believed: Mapping[UUID, Memory]) -> FactConflict:
    """The flag that a memory keeps. Raises InvalidInput when it keeps none."""
    sides = [believed[side] for side in raised.derived_from]
    # Only facts of one scope are compared, so whoever reads or resolves the flag may read and close both.
    if len(sides) != 2 or any(side.scope != raised.scope for side in sides):
        raise InvalidInput(f"memory {raised.id} is no flag on two facts of {raised.scope}")
    return conflict_of(raised, Fact(memory=sides[0]), Fact(memory=sides[1]))


def conflict_of(raised: Memory, one: Fact, other: Fact) -> FactConflict:
    """The flag as people see it. Raises InvalidInput when it does not say how the two are related."""
    relation = raised.data.get("relation")
    if relation not in RELATIONS:
        raise InvalidInput(f"relation is {shown(relation)}: use one of {', '.join(RELATIONS)}")
    return FactConflict(
        id=raised.id,
        relation=relation,
        one=one,
        other=other,
        explanation=raised.content,
        noticed_at=raised.created_at,
    )


async def resolve(core: Core, found: FactConflict, keep: UUID | None, *, reason: str | None) -> list[Fact]:
    """Close the flag, and with `keep` the other side, in one transaction. Returns what is believed after it."""
    sides = {found.one.id: found.one, found.other.id: found.other}
    if keep is not None and keep not in sides:
        raise InvalidInput(f"keep is {keep}: use {found.one.id} or {found.other.id}, or keep both")
    [raised] = await core.parts.stores.records.get(found.other.scope, [found.id])
    now, why = core.parts.clock(), await off_loop(weight(reason), reason_of, reason, core.parts.redactor)
    because = f"{RESOLVED}: {why}" if why else RESOLVED
    closes = [raised.closed(now, because=because)]
    kept = sides.get(keep, found.other) if keep is not None else found.other
    if keep is not None:
        lost = found.other if kept is found.one else found.one
        closes.append(lost.memory.closed(now, because=because, by=kept.id))

    def decide(draft: Memory, known: Known) -> Decision:
        if known.same_id is None or known.same_id.superseded_at is not None:
            raise Conflict(f"fact {draft.id} was changed or deleted meanwhile: read it again, then decide")
        return Decision(outcome="unchanged", memory=known.same_id, closes=tuple(closes))

    [done] = await core.parts.writer.write([kept.memory], decide)
    stands = Fact(memory=done.memory)
    return [stands] if keep is not None else [found.one, stands]
