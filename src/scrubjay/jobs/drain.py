"""Drain: messages of sessions that are over, or too long, become episodes. Stored first, let go of after.

A message is a memory by its own id: whatever is repeated after a crash, or done by two workers at once, is there once.
What is purged while a worker has it in memory is refused when it is stored, and read again: it is gone by then.
Where that id is another memory's already, it is a memory by the id that it has in its session alone.
"""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Final
from uuid import UUID

from scrubjay.errors import Conflict, IdTaken, ScrubjayError, StoreUnavailable, Unavailable
from scrubjay.jobs.leasing import still_leased
from scrubjay.jobs.orders import Fate, Orders, Tally, item_of
from scrubjay.jobs.sights import as_seen
from scrubjay.logs import logger
from scrubjay.memories.working import telling_of
from scrubjay.model import Scope
from scrubjay.model.work import StepDone, Trouble, counted
from scrubjay.model.working import ABSENT, Message, Session, Waiting, id_in, message_from, message_text
from scrubjay.ports import Purged, Sight, Working

log = logger("jobs")

SOON: Final = timedelta(minutes=10)
"""A session that expires within this time is drained: at its end nobody may be there to do it."""

BATCH: Final = 500
"""Messages stored in one transaction."""

MOST_SESSIONS: Final = 10_000
_MOST_TROUBLES: Final = 1_000

_WHY: Final = {
    "ended": "the session was ended",
    "expired": "the session has expired",
    "expiring": "the session is about to expire",
    "long": "the session holds more messages than it should",
}


async def drain(orders: Orders) -> StepDone:
    """Drain every session that waits for it. One whose messages fail does not keep the others from being drained."""
    tally, now = Tally("drain"), orders.parts.clock()
    if not orders.dry_run:
        await _left_over(orders, tally)
    waiting = await orders.parts.working.waiting(now=now, soon=SOON, limit=MOST_SESSIONS)
    for one in waiting:
        if not orders.holds(one.scope):
            continue
        if orders.dry_run:
            tally.plan(
                f"{counted(one.messages, 'messages')} of session {one.scope.session!r}", _WHY[one.why], one.scope
            )
            continue
        async with orders.leased(f"drain {item_of(one.scope)}") as lease:
            if lease is not None:
                tally.add(messages=await _drained(orders, orders.parts.working, one, tally), sessions=1)
    if orders.parts.former_working is not None and not orders.dry_run:
        await _moved(orders, orders.parts.former_working, tally)
    return tally.done("messages")


async def _moved(orders: Orders, former: Working, tally: Tally) -> None:
    """Empty the working memory of another setting: messages become episodes, scratch values go where sessions are."""
    try:
        left = await former.sessions(None, now=orders.parts.clock(), limit=MOST_SESSIONS)
    except StoreUnavailable as error:
        # Sessions do not need it any more. What is left there is moved when it is back.
        log.info("sessions of an earlier setting cannot be looked at", reason=str(error))
        return
    for session in left:
        if orders.holds(session.scope):
            async with orders.leased(f"drain {item_of(session.scope)}") as lease:
                if lease is not None:
                    tally.add(messages=await _moved_session(orders, former, session, tally), sessions=1)


async def _moved_session(orders: Orders, former: Working, session: Session, tally: Tally) -> int:
    scope, now, working = session.scope, orders.parts.clock(), orders.parts.working
    if values := await former.scratch(scope, now=now):
        known = await working.session(scope, now=now)
        until = max(one.expires_at for one in (session, known) if one is not None)
        there = {value.name for value in await working.scratch(scope, now=now)}
        for value in values:
            if value.name not in there:
                try:
                    await working.set(scope, value, ttl=until - now, now=now, expect=ABSENT)
                except Conflict:
                    # There is no room for it, or another one came just now: the session stays until the next time.
                    tally.failed += 1
                    return 0
    ended = await former.end(scope, now=now)
    if ended is None or not ended.messages:
        return 0
    waiting = Waiting(session=ended, why="ended", messages=ended.messages)
    return await _drained(orders, former, waiting, tally)


async def _drained(orders: Orders, working: Working, waiting: Waiting, tally: Tally) -> int:
    """Move the messages of one session, oldest first; return how many it has let go of."""
    scope, gone = waiting.scope, 0

    async def moved(sight: Sight) -> tuple[int, bool]:
        """Move some; return how many, and whether there may be more to move."""
        messages = await working.take(scope, limit=min(BATCH, waiting.messages - gone))
        # Who comes late would store again what was drained by another worker since.
        await still_leased()
        held = await _stored(orders, scope, messages, tally, sight)
        # The session lets go from its oldest on: what follows a message that failed stays with it.
        first = next((place for place, message in enumerate(messages) if message.id in held), len(messages))
        ids = [message.id for message in messages[:first]]
        went = await working.drained(scope, ids, now=orders.parts.clock()) if ids else 0
        return went, bool(went) and not held

    is_more = True
    while is_more and gone < waiting.messages:
        went, is_more = await as_seen(orders.parts, scope, moved) or (0, False)
        gone += went
    return gone


async def _stored(orders: Orders, scope: Scope, messages: Sequence[Message], tally: Tally, sight: Sight) -> set[UUID]:
    """Store these; return those that could not be, and must stay where they are."""
    core = orders.core(scope, sight)
    try:
        await core.remember_many([telling_of(message) for message in messages], **scope.where)
    except Unavailable:
        raise
    except ScrubjayError:
        # One of them is at fault. Each by itself says which.
        return await _one_by_one(orders, scope, messages, tally, sight)
    return set()


async def _one_by_one(
    orders: Orders, scope: Scope, messages: Sequence[Message], tally: Tally, sight: Sight
) -> set[UUID]:
    resting = await orders.works.log.resting("drain", now=orders.parts.clock())
    parked = {one.item for one in await orders.works.log.troubles(limit=_MOST_TROUBLES) if one.parked_at is not None}
    held: set[UUID] = set()
    for message in messages:
        item = _item(scope, message)
        if item in parked:
            continue
        if item in resting:
            held.add(message.id)
            continue
        fate = await _attempted(orders, scope, item, message, sight)
        tally.failed += fate != "done"
        if fate == "resting":
            held.add(message.id)
    return held


async def _attempted(orders: Orders, scope: Scope, item: str, message: Message, sight: Sight) -> Fate:
    work = partial(_store, orders, scope, message, sight)
    fate = await orders.attempt("drain", item, scope, work, body=message_text(message))
    if fate != "done" and await orders.parts.stores.records.sight(scope) != sight:
        # Whoever purged it may have looked for what had failed before this one was noted.
        await orders.works.log.settled("drain", item)
        raise Purged
    return fate


async def _left_over(orders: Orders, tally: Tally) -> None:
    """Store parked messages that somebody wants tried again: no session holds them any more."""
    for scope in {trouble.scope: None for trouble in await _due(orders)}:
        await as_seen(orders.parts, scope, partial(_tried_again, orders, scope, tally))


async def _tried_again(orders: Orders, scope: Scope, tally: Tally, sight: Sight) -> None:
    for trouble in await _due(orders):
        if trouble.body is not None and trouble.scope == scope:
            fate = await _attempted(orders, scope, trouble.item, message_from(trouble.body, None), sight)
            tally.failed += fate != "done"
            tally.add(messages=int(fate == "done"))


async def _due(orders: Orders) -> list[Trouble]:
    now = orders.parts.clock()
    return [
        trouble
        for trouble in await orders.works.log.troubles(limit=_MOST_TROUBLES)
        if trouble.step == "drain" and trouble.parked_at is None and trouble.retry_at <= now
        if trouble.body is not None and orders.holds(trouble.scope)
    ]


async def _store(orders: Orders, scope: Scope, message: Message, sight: Sight) -> None:
    core, telling = orders.core(scope, sight), telling_of(message)
    try:
        await core.remember_many([telling], **scope.where)
    except IdTaken:
        # Ids of a caller's own may be those of the messages of one session, and begin anew in the next.
        await core.remember_many([{**telling, "id": id_in(scope, message)}], **scope.where)


def _item(scope: Scope, message: Message) -> str:
    return f"{item_of(scope)} message {message.id}"
