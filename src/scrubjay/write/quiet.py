"""Which memories have no vectors, and how they are marked."""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from scrubjay.model import Memory
from scrubjay.model.agents import AGENT_KEY, AGENT_KIND, CYCLE_KIND
from scrubjay.model.memory import QUIET_KINDS
from scrubjay.ports.indexes import SILENT, WORDS_ONLY

_LIFECYCLE_KINDS: Final = frozenset({AGENT_KIND, CYCLE_KIND, "snapshot"})
_AT_TIMES: Final = QUIET_KINDS | _LIFECYCLE_KINDS
"""The kinds of which some or all have no vectors, whatever is configured."""


@dataclass(frozen=True, slots=True)
class Quiet:
    """Memories that are not to be found by meaning: of some kinds, and those that must not be read off a vector."""

    kinds: Collection[str] = ()
    hidden: Callable[[Memory], bool] | None = None
    """Says which memories are encrypted in a way that no vector may tell of; None when there are none."""

    @property
    def is_configured(self) -> bool:
        """Whether some memories have no vectors because somebody said so."""
        return bool(self.kinds) or self.hidden is not None

    def mark_of(self, memory: Memory) -> int | None:
        """The mark of a memory that is to have no vectors; None for one that is."""
        if memory.kind in QUIET_KINDS or _is_lifecycle(memory):
            return SILENT
        is_hidden = self.hidden is not None and self.hidden(memory)
        return WORDS_ONLY if is_hidden or memory.kind in self.kinds else None

    def told_apart(self, drafts: Sequence[Memory]) -> tuple[list[Memory], dict[UUID, int]]:
        """The drafts that are to have vectors, and the marks of those that are not.

        One that is made from others, or may replace one, is left out of both where memories are hidden: only storing it
        tells whether it is.
        """
        kinds = {draft.kind for draft in drafts}
        if self.hidden is None and kinds.isdisjoint(_AT_TIMES) and kinds.isdisjoint(self.kinds):
            return list(drafts), {}  # As nearly always.
        loud: list[Memory] = []
        marks: dict[UUID, int] = {}
        for draft in drafts:
            if (mark := self.mark_of(draft)) is not None:
                marks[draft.id] = mark
            elif self.hidden is None or not (draft.derived_from or draft.key):
                loud.append(draft)
        return loud, marks

    def loud(self, memories: Sequence[Memory]) -> list[Memory]:
        """Those that are to have vectors."""
        return [memory for memory in memories if self.mark_of(memory) is None]

    def marks(self, memories: Sequence[Memory]) -> dict[int, list[UUID]]:
        """The others, by their marks."""
        found: dict[int, list[UUID]] = defaultdict(list)
        for memory in memories:
            if (mark := self.mark_of(memory)) is not None:
                found[mark].append(memory.id)
        return found


def _is_lifecycle(memory: Memory) -> bool:
    """Whether it only says that an agent is there, began, ended or saved something: nobody asks for that by meaning."""
    if memory.kind not in _LIFECYCLE_KINDS or memory.key is None or memory.scope.agent is None:
        return False
    return memory.key == AGENT_KEY or memory.key.startswith(f"{memory.kind}:")
