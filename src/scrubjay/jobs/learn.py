"""Learn by itself: after executions were stored, the patterns of their places are brought up to date."""

from typing import Final

from scrubjay import memories
from scrubjay.core import Core, Parts
from scrubjay.logs import logger
from scrubjay.model import Scope
from scrubjay.model.tasks import TASK_KIND
from scrubjay.ports import Event

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

        A place is a user's project: what is learned there is read by nobody who could not read the executions. Safe to
        repeat and to run in several processes at once. A place that fails is noted again.
        """
        changed = 0
        while self._waiting:
            place = min(self._waiting, key=repr)
            quick = self._waiting.pop(place)
            patterns = memories.Patterns(Core(parts=self._parts, tenant=place.tenant))
            try:
                changed += len(await patterns.learn(user=place.user, project=place.project, quick=quick))
            except BaseException:
                self._waiting[place] = False
                raise
        return changed

    def _note(self, event: Event) -> None:
        if event.scope is not None:
            place = Scope(tenant=event.scope.tenant, user=event.scope.user, project=event.scope.project)
            came = event.name == "memory.stored" and event.data.get("outcome") == "stored"
            self._waiting[place] = came and self._waiting.get(place, True)
