"""Distill: the episodes of a session become a summary and candidate facts, each naming its sources.

A session is read in windows of positions. A window has one summary, under a key of its own: when the window has grown,
the new summary replaces the old one. Every memory made here has an id that follows from what it says and from where it
comes, so repeating it changes nothing, and what somebody forgot does not come back.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Final
from uuid import UUID, uuid5

from scrubjay.jobs.orders import Orders, Tally, item_of
from scrubjay.jobs.sights import as_seen
from scrubjay.logs import logger
from scrubjay.memories.facts import Facts
from scrubjay.model import Memory, Scope
from scrubjay.model.work import StepDone
from scrubjay.ports import Sight
from scrubjay.ports.upkeep import Stirred
from scrubjay.write.prepare import Telling

if TYPE_CHECKING:
    from scrubjay.memories.facts.telling import FactTelling
    from scrubjay.model.distill import CandidateFact, Distilled, Summary

log = logger("jobs")

SUMMARY_KIND: Final = "summary"

WINDOW: Final = 200
"""Positions of a session that are summarized together."""

BUDGET: Final = 200
"""Tokens of one summary."""

LEAST_CONFIDENCE: Final = 0.5
"""Candidates below are not stored: that somebody said so is too unsure."""

SURE: Final = 0.7
"""Candidates below are stored without a key: they must not replace what is known under it."""

_MOST_SESSIONS: Final = 1_000
_NAMED: Final = UUID("7b0f4a52-6c1d-5d55-9d0e-0f6f0c6f5a11")
_LONGEST_NAME: Final = 200


async def distill(orders: Orders) -> StepDone:
    """Distill every session in which something happened since the last time."""
    tally, works = Tally("distill"), orders.works
    stirred = await works.upkeep.sessions("distill", within=orders.within, limit=_MOST_SESSIONS)
    resting = await works.log.resting("distill", now=orders.parts.clock())
    for one in stirred:
        item = item_of(one.scope)
        if item in resting or not await _is_quiet(orders, one):
            continue
        if orders.dry_run:
            tally.plan(f"session {one.scope.session!r}", f"{one.last - one.mark:,} positions are new", one.scope)
            continue
        async with orders.leased(f"distill {item}") as lease:
            if lease is not None:
                work = partial(as_seen, orders.parts, one.scope, partial(_distilled, orders, one.scope, tally))
                fate = await orders.attempt("distill", item, one.scope, work)
                tally.failed += fate != "done"
    return tally.done("sessions")


async def _is_quiet(orders: Orders, stirred: Stirred) -> bool:
    """Whether nothing happens there right now, or so much did that it need not be waited for."""
    if not orders.quiet or stirred.last - stirred.mark >= WINDOW:
        return True
    newest = await orders.works.upkeep.episodes(stirred.scope, start=stirred.last, stop=stirred.last + 1)
    return not newest or newest[-1].created_at <= orders.parts.clock() - orders.quiet


async def _distilled(orders: Orders, scope: Scope, tally: Tally, sight: Sight) -> None:
    """Distill one session, window by window, and note after each how far it is."""
    upkeep = orders.works.upkeep
    # As it is now: something may have been purged since the session was listed.
    here = [one for one in await upkeep.sessions("distill", within=scope, limit=_MOST_SESSIONS) if one.scope == scope]
    for stirred in here:
        await _in_windows(orders, stirred, tally, sight)
        tally.add(sessions=1)


async def _in_windows(orders: Orders, stirred: Stirred, tally: Tally, sight: Sight) -> None:
    scope, upkeep = stirred.scope, orders.works.upkeep
    first, own = (stirred.mark + 1) // WINDOW * WINDOW, set[int]()
    for start in range(first, stirred.last + 1, WINDOW):
        episodes = await upkeep.episodes(scope, start=start, stop=start + WINDOW)
        new = {one.id for one in episodes if one.position is not None and one.position > stirred.mark}
        # What else is stored in a session has a position too, and is nothing to distill.
        if new:
            kept = await _keep(orders, sight, start // WINDOW, episodes, new, tally)
            own |= {one.position for one in kept if one.scope == scope and one.position is not None}
        await upkeep.mark("distill", scope, min(stirred.last, start + WINDOW - 1), sight=sight)
    # Without a user, what was made is in the session itself, and is nothing to distill either.
    last = stirred.last
    while last + 1 in own:
        last += 1
    if last > stirred.last:
        await upkeep.mark("distill", scope, last, sight=sight)


async def _keep(
    orders: Orders, sight: Sight, window: int, episodes: Sequence[Memory], new: set[UUID], tally: Tally
) -> list[Memory]:
    """Store the summary of a window, and the facts that its new episodes state; return all of it."""
    made: list[Memory] = []
    found = await _read(orders, episodes)
    scope = sight.scope
    core, place = orders.core(scope, sight), place_of(scope)
    if found.summary is not None:
        told = _summary(found.summary, found.method, scope, window, since=episodes[0])
        [kept] = await core.remember_many([told], **place.where)
        made.append(kept.memory)
        tally.add(summaries=int(kept.outcome != "unchanged"))
    candidates = [one for one in found.facts if one.confidence >= LEAST_CONFIDENCE and new & {*one.sources}]
    facts = [_fact(one, place) for one in await _named(orders, candidates, episodes)]
    known = {one.id for one in await orders.parts.stores.records.get(
        Scope(tenant=scope.tenant), [UUID(str(fact["id"])) for fact in facts]
    )}  # fmt: skip
    if fresh := [fact for fact in facts if fact["id"] not in known]:
        stored = await Facts(core).store_many(fresh, **place.where)
        made += [one.fact.memory for one in stored]
        tally.add(facts=sum(one.outcome in ("stored", "superseded") for one in stored))
    return made


async def _named(orders: Orders, facts: "Sequence[CandidateFact]", episodes: Sequence[Memory]) -> "list[CandidateFact]":
    """The facts; under names that give nothing away where what was said is encrypted, since keys are kept in plain."""
    vault, secret = orders.parts.stores.vault, {one.id: one for one in episodes if one.encrypted}
    named: list[CandidateFact] = []
    for fact in facts:
        key, said = fact.key, next((secret[one] for one in fact.sources if one in secret), None)
        if vault is not None and said is not None and key is not None:
            prefix, _, name = key.partition(":")
            key = f"{prefix}:{await vault.alias(said.scope.tenant, name)}"
        named.append(replace(fact, key=key))
    return named


async def _read(orders: Orders, episodes: Sequence[Memory]) -> "Distilled":
    from scrubjay.memories.distill import condense  # noqa: PLC0415 -- brings NumPy

    parts = orders.parts
    # A message may come from a clock that is ahead of this one, and is distilled all the same.
    now = max(parts.clock(), *(one.valid_from for one in episodes))
    found = await condense(episodes, now=now, tokens=parts.tokens(), budget=BUDGET, chat=parts.chat)
    if found.degraded:
        log.warning("distilled without the language model", why=found.why)
    return found


def place_of(scope: Scope) -> Scope:
    """Where knowledge from a session belongs: to its user, in the same project and for the same agent.

    Without a user nobody knows whose words they are, and they stay in the session.
    """
    return replace(scope, session=None, workflow=None) if scope.user is not None else scope


def _summary(summary: "Summary", method: str, scope: Scope, window: int, *, since: Memory) -> Telling:
    session = scope.session or ""
    named = session if len(session) <= _LONGEST_NAME else blake2b(session.encode(), digest_size=16).hexdigest()
    key = f"{SUMMARY_KIND}:{named}:{window}"
    return {
        "id": _id(place_of(scope), key, summary.text, summary.sources),
        "kind": SUMMARY_KIND,
        "key": key,
        "content": summary.text,
        "data": {"session": session, "window": window, "method": method},
        "trust": summary.trust,
        "derived_from": summary.sources,
        # Always the same for one window, so that a longer summary takes the whole place of a shorter one.
        "valid_from": since.valid_from,
    }


def _fact(fact: "CandidateFact", place: Scope) -> "FactTelling":
    key = fact.key if fact.confidence >= SURE else None
    return {
        "id": _id(place, f"{fact.type.value} {key or ''}", fact.content, fact.sources),
        "type": fact.type,
        "key": key,
        "content": fact.content,
        "importance": round(0.3 + 0.4 * fact.confidence, 2),
        "trust": fact.trust,
        "derived_from": fact.sources,
        "valid_from": fact.said_at,
    }


def _id(place: Scope, name: str, content: str, sources: Sequence[UUID]) -> UUID:
    """The same for the same knowledge from the same sources, however often it is distilled."""
    return uuid5(_NAMED, "\x00".join([item_of(place), name, content, *map(str, sources)]))
