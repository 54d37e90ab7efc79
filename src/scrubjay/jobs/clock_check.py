"""What a step that lets go of things by age takes for the present, where the clock may be wrong."""

from datetime import datetime, timedelta
from typing import Final

from scrubjay.jobs.orders import Orders
from scrubjay.logs import logger
from scrubjay.model import Scope
from scrubjay.model.work import Step

log = logger("jobs")

LEAP: Final = timedelta(days=8)
"""How long after a step was taken its next turn may come unsuspected: a week and a day, for those who work weekly."""

CONFIRMED: Final = timedelta(hours=1)
"""How long a clock that leapt has to go on from there before it is believed."""

_ITEM: Final = "clock since "
_MOST: Final = 10_000


async def judged_at(orders: Orders, step: Step) -> datetime:
    """The present moment; or when the step was last taken, if that is long ago and the clock may be wrong.

    One wrong reading would let go at once of what should stay for a year. So a leap is noted, where `work parked` shows
    it, and what is over is judged by the last turn until the clock has gone on for an hour from where it leapt to.
    """
    now, works = orders.parts.clock(), orders.works
    run = (await works.log.runs()).get(step)
    last = run.finished_at if run is not None else None
    troubles = await works.log.troubles(limit=_MOST) if any(await works.log.counted()) else []
    for noted in troubles:
        if noted.step == step and noted.item.startswith(_ITEM):
            last = datetime.fromisoformat(noted.item.removeprefix(_ITEM))
            if now - noted.first_at < CONFIRMED and now - last > LEAP:
                return last
            await works.log.settled(step, noted.item)
            return now
    if last is None or now - last <= LEAP:
        return now
    if not orders.dry_run:
        log.warning("the clock leapt, or nothing was done for long", step=step, since=str(last), now=str(now))
        await works.log.failed(
            step,
            f"{_ITEM}{last.isoformat()}",
            orders.within or Scope(),
            error=f"it is {now:%Y-%m-%d %H:%M} by the clock, {(now - last).days} days after this was last done: "
            f"what is over is judged by {last:%Y-%m-%d %H:%M} until the clock has gone on for an hour",
            at=now,
            tries=_MOST,
            pause=timedelta(0),
        )
    return last
