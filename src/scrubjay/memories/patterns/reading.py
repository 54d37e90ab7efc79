"""Read the executions of a tenant into histories, one for each place, and keep up with what is stored since."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING
from uuid import UUID
from weakref import WeakKeyDictionary

from scrubjay.core import Core
from scrubjay.errors import InvalidInput
from scrubjay.model import Filter, Memory, Reach, Scope
from scrubjay.model.tasks import TASK_KIND, Execution
from scrubjay.ports import Sight
from scrubjay.write.index import Index

if TYPE_CHECKING:
    from scrubjay.memories.learning.history import History
    from scrubjay.memories.patterns.drafting import Signature
    from scrubjay.memories.patterns.forecasting import Forecasters

PAGE = 1_000

MOST_PLACES = 64
"""Places whose history is kept in this process. Others are read again when they are asked for."""

SURE_SECONDS = 60.0
"""How long it is taken for granted, by those who are in a hurry, that nothing that was read has gone."""

NOTHING = ""
"""Stands among the keys of what was told until patterns that are found no more have been looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Which:
    """Which executions make a history."""

    scope: Scope
    reach: Reach
    across_projects: bool = False
    """Executions of every project, instead of only those of the scope's own."""
    own: bool = False
    """Executions of the scope's own user and agent only: what is learned from them can be read by no one else."""

    @property
    def way(self) -> str:
        """How patterns of these executions are learned: those of one way are none of the others' business."""
        users = "" if self.own else " across users"
        return f"by itself{users}{' across projects' if self.across_projects else ''}"

    @property
    def filter(self) -> Filter:
        """All that may be meant. A scope without a project reaches into all of them, so `means` has to be asked too."""
        scope = replace(self.scope, project=None) if self.across_projects else self.scope
        return Filter(scope=scope, reach=self.reach, kinds=(TASK_KIND,))

    def means(self, scope: Scope) -> bool:
        """Whether an execution of that scope is meant."""
        projects = (self.scope.project, None) if self.reach == "sees" else (self.scope.project,)
        return (self.across_projects or scope.project in projects) and (
            not self.own or (scope.user, scope.agent) == (self.scope.user, self.scope.agent)
        )


class Place:
    """The executions that were read, and what was learned from them."""

    def __init__(self) -> None:
        self.history = _new_history()
        self.last: UUID | None = None
        """The newest execution that was read."""
        self.read = 0
        self.told: dict[str, Signature] = {NOTHING: ()}
        """What was learned here and is remembered, by key. At first that is not known, and everything is told again."""
        self.lock = asyncio.Lock()
        self._looked = float("-inf")
        self._sight: Sight | None = None

    async def catch_up(self, core: Core, which: Which, *, quick: bool = False) -> None:
        """Read what was stored since. When one that was read is no longer believed, everything is read again.

        Whether that is so takes longer the more there are; `quick` looks only when it was not looked for a while.
        """
        sight = await core.parts.stores.records.sight(which.scope)
        if sight != self._sight:
            # Something was purged. What was read of it goes, too, whatever is stored in its place.
            self._begin_again()
            self._sight = sight
        await self._read_on(core, which)
        if quick and time.monotonic() - self._looked < SURE_SECONDS:
            return
        self._looked = time.monotonic()
        if await self._is_behind(core, which):
            # Told while we read; or one came or went in the middle, which reading on does not see.
            await self._read_on(core, which)
            if await self._is_behind(core, which):
                self._begin_again()
                await self._read_on(core, which)

    def _begin_again(self) -> None:
        self.history, self.last, self.read, self.told = _new_history(), None, 0, {NOTHING: ()}

    async def _is_behind(self, core: Core, which: Which) -> bool:
        counts = await core.parts.stores.records.count(which.filter, now=core.parts.clock())
        return counts.current != self.read

    async def _read_on(self, core: Core, which: Which) -> None:
        records, now = core.parts.stores.records, core.parts.clock()
        while page := await records.find(which.filter, now=now, limit=PAGE, order="oldest", after=self.last):
            told = [one for one in page if which.means(one.scope)]
            # Beside the event loop: a long history takes a while.
            await asyncio.to_thread(_add, self.history, told)
            self.last, self.read = page[-1].id, self.read + len(page)


class Places:
    """What was read of every place, shared by all who ask on the same stores. Derived: a restart reads it again."""

    def __init__(self) -> None:
        self._places: dict[Which, Place] = {}

    @cached_property
    def forecasters(self) -> "Forecasters":
        """Forecasters of these stores."""
        from scrubjay.memories.patterns.forecasting import Forecasters  # noqa: PLC0415 -- brings NumPy

        return Forecasters()

    async def place(self, core: Core, which: Which, *, quick: bool = False) -> Place:
        """The place with all executions that are stored now. Whoever works with its history holds its lock."""
        place = self._places.pop(which, None) or Place()
        # In the order of use: the place that was not asked for longest makes room.
        self._places[which] = place
        if len(self._places) > MOST_PLACES:
            del self._places[next(iter(self._places))]
        async with place.lock:
            await place.catch_up(core, which, quick=quick)
        return place


def _new_history() -> "History":
    from scrubjay.memories.learning.history import History  # noqa: PLC0415 -- brings NumPy

    return History()


def _add(history: "History", memories: Sequence[Memory]) -> None:
    for memory in memories:
        try:
            execution = Execution.of(memory)
        except InvalidInput:
            # A memory of this kind that was told by hand, and is no execution.
            continue
        history.add(memory.id, execution, memory.valid_from)


_shared: WeakKeyDictionary[Index, Places] = WeakKeyDictionary()


def places_of(core: Core) -> Places:
    """The places of these stores: the same for everybody who was made with them, and gone with them."""
    return _shared.setdefault(core.parts.index, Places())
