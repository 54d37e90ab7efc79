"""Purges, as who writes later meets them, on dicts."""

from collections import Counter
from collections.abc import Collection, Mapping

from scrubjay.model import Scope
from scrubjay.model.work import Step
from scrubjay.ports import Purged, Sight


class MemoryPurges:
    """How often something was purged from each place, and up to where steps have dealt with it."""

    def __init__(self) -> None:
        self._purges: Counter[Scope] = Counter()
        self.work_marks: dict[tuple[Step, Scope], int] = {}

    async def purging(self, scope: Scope) -> None:
        """Note that all of this place is purged: who took a sight of it before writes nothing there from now on."""
        self._purges[scope] += 1

    async def sight(self, scope: Scope) -> Sight:
        """Say how often something was purged from places that this one sees."""
        return Sight(scope=scope, purges=self._counted(scope))

    def check_sight(self, sight: Sight | None) -> None:
        """Raise Purged when something was purged there since."""
        if sight is not None and self._counted(sight.scope) != sight.purges:
            raise Purged

    def _counted(self, scope: Scope) -> int:
        return sum(count for place, count in self._purges.items() if scope.sees(place))

    def _note_purge(self, places: Mapping[Scope, Collection[int]]) -> None:
        """Count one more purge of these places; each comes with the positions that are left in it."""
        for place, positions in places.items():
            self._purges[place] += 1
            mark = self.work_marks.pop(("distill", place), -1)
            if mark >= 0 and positions:
                self.work_marks["distill", place] = min(mark, max(positions))
