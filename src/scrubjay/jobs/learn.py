"""Learn by itself: after executions were stored, the patterns of their places are brought up to date."""

from dataclasses import replace
from functools import partial
from typing import Final

from scrubjay import memories
from scrubjay.core import Parts
from scrubjay.jobs.sights import as_seen, core_since
from scrubjay.logs import logger
from scrubjay.model import Scope
from scrubjay.model.tasks import TASK_KIND
from scrubjay.ports import Event, Sight

log = logger("jobs")

CHANGES: Final = ("memory.stored", "memory.forgotten", "memory.purged")


class Learning:
    """Notes where executions come and go, and learns there when it is asked to.

    What was noted is in this process only: a place whose notes were lost is caught up with at its next execution.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._waiting: dict[Scope, bool] = {}
        """Places to learn in, and whether executions have only come there, so that it is quick."""

    def start(self) -> None:
        """Begin to listen, on the running event loop. Ends with the memory."""
        for name in CHANGES:
            self._parts.events.subscribe(name, self._note, kinds=(TASK_KIND,))

    @property
    def is_due(self) -> bool:
        """Whether executions came or went since the last time."""
        return bool(self._waiting)

    async def run(self) -> int:
        """Learn in every place that was noted, and say how many patterns changed.

        A place is a user's project, and in it what each agent did: what is learned there is read by no key that could
        not read the executions. Safe to repeat and to run in several processes at once. A place that fails is noted
        again, behind the others, so that they do not wait for it.
        """
        changed = 0
        while self._waiting:
            place = next(iter(self._waiting))
            quick = self._waiting.pop(place)
            try:
                changed += await as_seen(self._parts, place, partial(self._learned, place, quick)) or 0
            except BaseException:
                self._waiting[place] = False
                raise
        return changed

    async def _learned(self, place: Scope, quick: bool, sight: Sight) -> int:  # noqa: FBT001 -- for `partial`
        patterns = memories.Patterns(core_since(self._parts, place, sight))
        return len(await patterns.learn(user=place.user, project=place.project, agent=place.agent, quick=quick))

    def _note(self, event: Event) -> None:
        if event.scope is not None:
            place = replace(event.scope, session=None, workflow=None)
            came = event.name == "memory.stored" and event.data.get("outcome") == "stored"
            self._waiting[place] = came and self._waiting.get(place, True)
