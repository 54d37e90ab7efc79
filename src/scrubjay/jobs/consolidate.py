"""Consolidation: its steps, one after the other, each under a lease, each counted, none able to stop the next."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from scrubjay.errors import InvalidInput, Unavailable
from scrubjay.jobs.archive import archive
from scrubjay.jobs.attempts import attempted
from scrubjay.jobs.distill import distill
from scrubjay.jobs.drain import drain
from scrubjay.jobs.orders import Orders, Tally, item_of
from scrubjay.jobs.prune import prune
from scrubjay.jobs.retain import decay, expire
from scrubjay.jobs.sights import as_seen
from scrubjay.logs import logger
from scrubjay.memories.patterns import Patterns
from scrubjay.model.checks import check_several, shown
from scrubjay.model.tasks import TASK_KIND
from scrubjay.model.work import STEPS, Consolidated, Step, StepDone
from scrubjay.ports import Sight, stage
from scrubjay.ports.upkeep import Stirred

log = logger("jobs")

_BY_ITEM: Final = ("drain", "distill")
"""Steps whose items have a lease each: several workers take different ones at the same time."""

_TAKEN: Final = "another worker is at it"


async def consolidate(orders: Orders, steps: Sequence[Step] = STEPS) -> Consolidated:
    """Take these steps, in their own order. What goes wrong in one is in what it says, and the next one is taken."""
    at = orders.parts.clock()
    done = [await take(orders, step) for step in STEPS if step in steps]
    return Consolidated(steps=tuple(done), at=at, dry_run=orders.dry_run)


def steps_of(given: Sequence[str] | str | None) -> tuple[Step, ...]:
    """The steps that somebody names; all of them when nothing is named."""
    if given is None:
        return STEPS
    if not isinstance(given, str):
        check_several("steps", given)
    asked = [given] if isinstance(given, str) else list(given)
    unknown = [one for one in asked if one not in STEPS]
    if unknown or not asked:
        raise InvalidInput(f"steps is {shown(unknown[0] if unknown else given)}: use some of {', '.join(STEPS)}")
    return tuple(step for step in STEPS if step in asked)


async def take(orders: Orders, step: Step) -> StepDone:
    """Take one step, and note how it went. Never raises for what a store or an item does."""
    with stage("consolidate", step=step) as consolidating:
        done = await _attempted(orders, step)
        outcome = "failed" if done.error else "skipped" if done.skipped else "done"
        consolidating.note(outcome=outcome, done=done.done, failed=done.failed)
        return done


async def _attempted(orders: Orders, step: Step) -> StepDone:
    began, answers = time.perf_counter(), list[StepDone]()

    async def taken() -> None:
        answers.append(await _taken(orders, step))

    try:
        error = await attempted(taken, step=step)
    except Unavailable as away:
        log.warning("consolidation has to wait", step=step, error=str(away))
        error = str(away)
    done = answers[0] if answers else StepDone(step=step, error=error)
    if done.skipped == _TAKEN:
        return done
    done = replace(done, seconds=time.perf_counter() - began)
    # What was done for one user says nothing of when the others are due.
    if not orders.dry_run and (orders.within is None or not any(orders.within.names())):
        await _noted(orders, done)
    return done


async def _taken(orders: Orders, step: Step) -> StepDone:
    if orders.dry_run or step in _BY_ITEM:
        return await _STEPS[step](orders)
    async with orders.leased(f"step {step}") as lease:
        return await _STEPS[step](orders) if lease is not None else StepDone(step=step, skipped=_TAKEN)


async def _noted(orders: Orders, done: StepDone) -> None:
    if done.done or done.failed:
        log.info("consolidated", step=done.step, failed=done.failed, **done.counts)
    try:
        await orders.works.log.ran(done, worker=orders.worker, at=orders.parts.clock())
    except Unavailable as error:
        log.warning("what was done cannot be noted", step=done.step, error=str(error))


async def _learn(orders: Orders) -> StepDone:
    """Learn patterns wherever executions have changed since the last time."""
    tally, works = Tally("learn"), orders.works
    resting = await works.log.resting("learn", now=orders.parts.clock())
    for one in await works.upkeep.places("learn", TASK_KIND, within=orders.within):
        item = item_of(one.scope)
        if item in resting:
            continue
        if orders.dry_run:
            tally.plan(f"patterns of {one.scope}", "its executions have changed", one.scope)
            continue

        work = partial(as_seen, orders.parts, one.scope, partial(_learned, orders, one, tally))
        tally.failed += await orders.attempt("learn", item, one.scope, work) != "done"
    return tally.done("patterns")


async def _learned(orders: Orders, place: Stirred, tally: Tally, sight: Sight) -> None:
    patterns = Patterns(orders.core(place.scope, sight))
    found = await patterns.learn(**place.scope.where)
    await orders.works.upkeep.mark("learn", place.scope, place.last, sight=sight)
    tally.add(places=1, patterns=len(found))


async def _index(orders: Orders) -> StepDone:
    """Index what lacks the current generation, and refresh vectors that are stale."""
    tally, index = Tally("index"), orders.parts.index
    if index.embedder is None:
        return StepDone(step="index", skipped="search is by words only")
    if orders.dry_run:
        if waiting := await index.backlog():
            tally.plan(f"{waiting:,} memories", "they lack vectors of the model that was configured")
        return tally.done("memories")
    tally.add(memories=await index.drain())
    return tally.done("memories")


_STEPS: Final[Mapping[Step, Callable[[Orders], Awaitable[StepDone]]]] = {
    "drain": drain,
    "distill": distill,
    "learn": _learn,
    "index": _index,
    "expire": expire,
    "decay": decay,
    "archive": archive,
    "prune": prune,
}
