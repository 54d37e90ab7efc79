"""From the newest executions to a prediction, with what it rests on."""

import asyncio
from collections.abc import Sequence
from uuid import UUID

from scrubjay.core import Core
from scrubjay.errors import InvalidInput
from scrubjay.memories.learning.history import text_of
from scrubjay.memories.learning.ledger import OFTEN
from scrubjay.memories.learning.predict import FIRST, MOST_PAST, Forecast, Forecaster, Past, Skill
from scrubjay.memories.patterns.reading import PAGE, Which
from scrubjay.model import Memory
from scrubjay.model.patterns import Prediction, Stage
from scrubjay.model.tasks import Execution

TWENTIETH = MOST_PAST // 20

MOST_FORECASTERS = 8
"""Places whose forecaster is kept in this process: up to 9 MB each."""


class Forecasters:
    """A forecaster for each place, kept until enough has happened there. Derived: a restart makes it again."""

    def __init__(self) -> None:
        self._kept: dict[Which, tuple[UUID | None, Forecaster]] = {}

    async def get(self, core: Core, which: Which) -> Forecaster:
        """Learned from the newest executions: with every new one while there are few, then with every twentieth."""
        records, now = core.parts.stores.records, core.parts.clock()
        newest, kept = self._kept.pop(which, (None, None))
        last = await records.find(which.filter, now=now, limit=1)
        now_newest = last[0].id if last else None
        if kept is None or not await self._is_fresh(core, which, newest, now_newest, kept):
            # Beside the event loop: it takes a moment.
            newest, kept = now_newest, await asyncio.to_thread(Forecaster, await _newest(core, which))
        # In the order of use: the one that was not asked for longest makes room.
        self._kept[which] = (newest, kept)
        if len(self._kept) > MOST_FORECASTERS:
            del self._kept[next(iter(self._kept))]
        return kept

    async def _is_fresh(
        self, core: Core, which: Which, newest: UUID | None, now_newest: UUID | None, kept: Forecaster
    ) -> bool:
        if now_newest == newest:
            return True
        if len(kept) <= OFTEN or newest is None:
            return False
        since = await core.parts.stores.records.find(
            which.filter, now=core.parts.clock(), limit=TWENTIETH, order="oldest", after=newest
        )
        return 0 < len(since) < TWENTIETH


async def _newest(core: Core, which: Which) -> list[Past]:
    """The newest executions that are meant, oldest first."""
    records, now = core.parts.stores.records, core.parts.clock()
    found: list[Past] = []
    after: UUID | None = None
    while len(found) < MOST_PAST and (page := await records.find(which.filter, now=now, limit=PAGE, after=after)):
        after = page[-1].id
        found += [past for memory in page if which.means(memory.scope) and (past := _past(memory)) is not None]
    return found[:MOST_PAST][::-1]


def _past(memory: Memory) -> Past | None:
    try:
        told = Execution.of(memory)
    except InvalidInput:
        # A memory of this kind that was told by hand, and is no execution.
        return None
    return Past(memory.id, told.task_id, text_of(told), told.tools, told.errors, told.model, told.success)


def predicted(
    forecaster: Forecaster, description: str, *, tools: Sequence[str], errors: Sequence[str], model: str | None
) -> Prediction:
    """The forecast that has shown skill here, or why there is none."""
    told = forecaster.forecast(description, tools=tools, errors=errors, model=model)
    if told is not None:
        return Prediction(
            probability=told.probability,
            basis=_basis(told),
            stage=told.stage,
            base_rate=told.base_rate,
            evaluated=told.skill.evaluated,
            skill=told.skill.score,
            similar=told.similar,
        )
    stage: Stage = "during" if tools or errors else "before"
    skill = forecaster.skill(stage)
    return Prediction(
        probability=None,
        basis=_doubt(skill, len(forecaster)),
        stage=stage,
        base_rate=forecaster.rate,
        evaluated=skill.evaluated if skill is not None else 0,
        skill=skill.score if skill is not None else None,
    )


def _basis(told: Forecast) -> str:
    alike = f"outcomes of {len(told.similar)} tasks described alike"
    source = f"tools and errors so far, and {alike}" if told.stage == "during" else alike
    return (
        f"{source}; on the last {told.skill.evaluated} tasks here, each predicted from those before it, the Brier "
        f"score was {told.skill.brier:.3f}, that of the base rate {told.skill.base_brier:.3f}"
    )


def _doubt(skill: Skill | None, many: int) -> str:
    if skill is None:
        return f"{many} past tasks here, and it takes {2 * FIRST} to measure whether predicting works"
    return (
        f"on the last {skill.evaluated} tasks here, each predicted from those before it, the Brier score was "
        f"{skill.brier:.3f}, not surely better than {skill.base_brier:.3f}, that of the base rate"
    )
