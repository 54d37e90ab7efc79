"""Truth maintenance: what a fact that is told means for those that are believed, and what becomes of it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID

from scrubjay.core import Core
from scrubjay.errors import InvalidInput
from scrubjay.memories.facts.flags import conflict_of, flag
from scrubjay.memories.facts.likeness import Likeness, likeness
from scrubjay.memories.facts.nearby import Neighbour, nearby
from scrubjay.memories.facts.statements import contradiction
from scrubjay.memories.facts.telling import FactTelling, check_level, telling_of
from scrubjay.model import Memory, Remembered, Scope, Trust
from scrubjay.model.facts import CONFLICT_KIND, Fact, FactOutcome, StoredFact
from scrubjay.ports import Decide, Decision, Known
from scrubjay.write.reconcile import insert, reconcile, stands_for
from scrubjay.write.remember import BATCH

_OUTCOMES: Final[dict[str, FactOutcome]] = {
    "stored": "stored",
    "unchanged": "refreshed",
    "superseded": "superseded",
}


TRIES: Final = 5
"""How often facts are compared anew, where one after the other that they contradict is forgotten meanwhile."""


@dataclass(slots=True)
class _Plan:
    """What is to be done about one draft."""

    draft: Memory
    repeats: Memory | None = None
    likeness: Likeness | None = None
    flags: list[tuple[Memory, Memory]] = field(default_factory=list)
    """Each flag with the fact that was there."""


async def store(core: Core, items: Sequence[str | FactTelling], scope: Scope, *, insert_only: bool) -> list[StoredFact]:
    """Store facts. All are checked before any is written; they are written in transactions of 1,000."""
    drafts = await core.parts.writer.drafts([telling_of(item) for item in items], scope)
    for item, draft in zip(items, drafts, strict=True):
        check_level(item, draft.scope)
    done: list[StoredFact] = []
    for start in range(0, len(drafts), BATCH):
        done += await _stored(core, drafts[start : start + BATCH], insert_only=insert_only)
    return done


async def _stored(core: Core, drafts: Sequence[Memory], *, insert_only: bool) -> list[StoredFact]:
    told = {draft.id for draft in drafts}
    for rest in reversed(range(TRIES)):
        plans = await _compared(core, drafts, may_merge=not insert_only)
        try:
            done = await _written(core, plans, insert_only=insert_only)
            break
        except InvalidInput:
            compared = {there.id for plan in plans for _, there in plan.flags}
            # What was forgotten while these were compared with it is flagged with nothing: they are compared again.
            if not rest or await _are_believed(core, compared - told):
                raise
    for one in done:
        if one.outcome in ("refreshed", "duplicate_of"):
            core.parts.uses.count(one.fact.scope, [one.id])
    return done


async def _compared(core: Core, drafts: Sequence[Memory], *, may_merge: bool) -> list[_Plan]:
    """What is to be done about each, by what is near it now."""
    plans: list[_Plan] = []
    merged: set[UUID] = set()
    for draft, neighbours in zip(drafts, await nearby(core, drafts), strict=True):
        # What repeats an earlier draft of this call stands for nothing itself.
        standing = [one for one in neighbours if one.memory.id not in merged]
        plan = _planned(draft, standing, may_merge=may_merge)
        if plan.repeats is not None:
            merged.add(draft.id)
        plans.append(plan)
    return plans


async def _written(core: Core, plans: Sequence[_Plan], *, insert_only: bool) -> list[StoredFact]:
    """Write what is new of these, and their flags, in one transaction."""
    told = [plan.draft for plan in plans if plan.repeats is None]
    raised = [raised for plan in plans for raised, _ in plan.flags]
    deciding = _deciding(insert if insert_only else reconcile, raised)
    written = await core.parts.writer.write([*told, *raised], deciding)
    by_draft = {draft.id: one for draft, one in zip([*told, *raised], written, strict=True)}
    return [_answer(plan, by_draft) for plan in plans]


async def _are_believed(core: Core, ids: Collection[UUID]) -> bool:
    """Whether all of these are, which are of one tenant."""
    found = await core.parts.stores.records.get(Scope(tenant=core.tenant), list(ids))
    return len(ids) == sum(one.superseded_at is None for one in found)


def _planned(draft: Memory, neighbours: Sequence[Neighbour], *, may_merge: bool) -> _Plan:
    """Compare a draft with what is near it: opposites are flagged, repetitions merged, near-repetitions flagged."""
    plan = _Plan(draft)
    for one in neighbours:
        there = one.memory
        if reason := contradiction(draft.content, there.content, one.similarity):
            plan.flags.append((flag(there, draft, "contradiction", reason), there))
            continue
        if there.kind != draft.kind or there.content == draft.content:
            continue
        found = likeness(draft.content, there.content, one.similarity)
        # Nothing that was told may be lost by merging: data, that it has held for longer, or how it is kept.
        adds_nothing = not draft.data and there.valid_from <= draft.valid_from and stands_for(there, draft)
        if found.verdict == "same" and may_merge and adds_nothing and plan.repeats is None:
            plan.repeats, plan.likeness = there, found
        elif found.verdict != "different":
            plan.flags.append((flag(there, draft, "near_duplicate", found.explanation), there))
    if plan.repeats is not None:
        plan.flags.clear()
    return plan


def _deciding(decide: Decide, raised: Sequence[Memory]) -> Decide:
    """Decide about facts as usual, and raise a flag only on a fact that was really stored anew.

    Facts come before flags, so the answers about them are there whenever a store asks again.
    """
    stands: dict[UUID, Memory] = {}
    pairs = {flag.derived_from for flag in raised}

    def decided(draft: Memory, known: Known) -> Decision:
        if draft.kind != CONFLICT_KIND:
            decision = decide(draft, known)
            stands[draft.id] = decision.memory
            return decision
        one, other = draft.derived_from
        told, there = stands[other], stands.get(one)
        is_known = told.id != other or told.superseded_at is not None
        if is_known or (there is not None and there.superseded_at is not None):
            return Decision(outcome="unchanged", memory=told)
        if there is not None and there.id != one:
            # It was told before this one in the same call, and known: the flag is on what stands for it.
            if (there.id, other) in pairs:
                return Decision(outcome="unchanged", memory=told)
            draft = replace(draft, derived_from=(there.id, other), trust=Trust.least([draft.trust, there.trust]))
        return reconcile(draft, known)

    return decided


def _answer(plan: _Plan, written: dict[UUID, Remembered]) -> StoredFact:
    if plan.repeats is not None and plan.likeness is not None:
        fact = Fact(memory=_standing(plan.repeats, written))
        return StoredFact(
            fact=fact, outcome="duplicate_of", explanation=f"repeats {fact.id}: {plan.likeness.explanation}"
        )
    remembered = written[plan.draft.id]
    fact = Fact(memory=remembered.memory)
    found = [
        conflict_of(written[raised.id].memory, Fact(memory=_standing(there, written)), fact)
        for raised, there in plan.flags
        if written[raised.id].memory.id == raised.id and written[raised.id].memory.superseded_at is None
    ]
    return StoredFact(
        fact=fact,
        outcome=_OUTCOMES[remembered.outcome],
        explanation=_explained(remembered, len(found)),
        replaced=remembered.replaced,
        conflicts=tuple(found),
    )


def _standing(memory: Memory, written: dict[UUID, Remembered]) -> Memory:
    """What stands for a fact that another one was compared with, which may have been told in the same call."""
    return written[memory.id].memory if memory.id in written else memory


def _explained(done: Remembered, flags: int) -> str:
    memory = done.memory
    match done.outcome:
        case "unchanged":
            said = f"known since {memory.created_at:%Y-%m-%d}: counted as one more use"
        case "superseded":
            said = f"replaces {done.replaced}, which stays in the history"
        case _:
            said = f"the first value of {memory.key} in {memory.scope}" if memory.key else f"new in {memory.scope}"
    return f"{said}; flagged with {flags} other {'fact' if flags == 1 else 'facts'}" if flags else said
