"""Truth maintenance: what a fact that is told means for those that are believed, and what becomes of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from scrubjay.core import Core
from scrubjay.memories.facts.flags import conflict_of, flag
from scrubjay.memories.facts.likeness import Likeness, likeness
from scrubjay.memories.facts.nearby import Neighbour, nearby
from scrubjay.memories.facts.statements import contradiction
from scrubjay.memories.facts.telling import FactTelling, check_level, telling_of
from scrubjay.model import Memory, Remembered, Scope
from scrubjay.model.facts import CONFLICT_KIND, Fact, FactOutcome, StoredFact
from scrubjay.ports import Decide, Decision, Known
from scrubjay.write.reconcile import insert, reconcile, stands_for
from scrubjay.write.remember import BATCH

_OUTCOMES: Final[dict[str, FactOutcome]] = {
    "stored": "stored",
    "unchanged": "refreshed",
    "superseded": "superseded",
}


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
    beside = await nearby(core, drafts)
    plans: list[_Plan] = []
    merged: dict[UUID, Memory] = {}
    for draft, neighbours in zip(drafts, beside, strict=True):
        # What repeats an earlier draft of this call stands for nothing itself.
        standing = [one for one in neighbours if one.memory.id not in merged]
        plan = _planned(draft, standing, may_merge=not insert_only)
        if plan.repeats is not None:
            merged[draft.id] = plan.repeats
        plans.append(plan)
    told = [plan.draft for plan in plans if plan.repeats is None]
    raised = [raised for plan in plans for raised, _ in plan.flags]
    written = await core.parts.writer.write([*told, *raised], _deciding(insert if insert_only else reconcile))
    by_draft = {draft.id: one for draft, one in zip([*told, *raised], written, strict=True)}
    done = [_answer(plan, by_draft) for plan in plans]
    for one in done:
        if one.outcome in ("refreshed", "duplicate_of"):
            core.parts.uses.count(one.fact.scope, [one.id])
    return done


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


def _deciding(decide: Decide) -> Decide:
    """Decide about facts as usual, and raise a flag only on a fact that was really stored anew.

    Facts come before flags, so the answers about them are there whenever a store asks again.
    """
    stands: dict[UUID, Memory] = {}

    def decided(draft: Memory, known: Known) -> Decision:
        if draft.kind != CONFLICT_KIND:
            decision = decide(draft, known)
            stands[draft.id] = decision.memory
            return decision
        told = stands[draft.derived_from[1]]
        if told.id != draft.derived_from[1]:
            return Decision(outcome="unchanged", memory=told)
        return reconcile(draft, known)

    return decided


def _answer(plan: _Plan, written: dict[UUID, Remembered]) -> StoredFact:
    if plan.repeats is not None and plan.likeness is not None:
        first = written.get(plan.repeats.id)
        fact = Fact(memory=first.memory if first is not None else plan.repeats)
        return StoredFact(
            fact=fact, outcome="duplicate_of", explanation=f"repeats {fact.id}: {plan.likeness.explanation}"
        )
    remembered = written[plan.draft.id]
    fact = Fact(memory=remembered.memory)
    found = [
        conflict_of(written[raised.id].memory, Fact(memory=there), fact)
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
