"""The history of a place: its executions in families, counted, ready to be mined.

All of it is derived from the executions and can be thrown away: the same executions in the same order make it again.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from scrubjay.memories.learning.contrast import LEVEL
from scrubjay.memories.learning.families import Families
from scrubjay.memories.learning.ledger import GROWTH, Ledger, Run, Traits
from scrubjay.memories.learning.mining import Finding, Mined, mine
from scrubjay.memories.learning.regexes import READ, compiled
from scrubjay.model.patterns import Family, PatternType
from scrubjay.model.tasks import Execution

EXAMPLES = 3


class Entry(NamedTuple):
    """One execution: what mining knows of it, and how the task was told."""

    run: Run
    task_type: str | None
    description: str


class History:
    """Everything learned from the executions of one place. Grows by one execution at a time."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.families = Families()
        self.traits = Traits()
        self.ledgers: dict[int, Ledger] = {}
        self._named: dict[int, tuple[int, str, str, float, float]] = {}

    def add(self, id: UUID, execution: Execution, at: datetime) -> None:
        """Count one more execution, told after all others."""
        run = self.traits.run(id, execution, at)
        self.entries.append(Entry(run, execution.task_type, description_of(execution)))
        joined = self.families.join(text_of(execution), success=execution.success)
        for number in joined or ():
            self.ledgers.setdefault(number, Ledger(self.traits)).add(run)

    def mine(self, *, level: float = LEVEL) -> Mined:
        """What goes with success, failure and cost, in every family. A wide one that is one narrow one is left out."""
        members = self.families.members
        alone = {one.parent for one in members if one.parent is not None and one.size == members[one.parent].size}
        ledgers = {number: ledger for number, ledger in self.ledgers.items() if number not in alone}
        parents = {number: one.parent for number, one in enumerate(members)}
        return mine(ledgers, parents=parents, level=level)

    def contrast(
        self, pattern: str, pattern_type: PatternType, *, level: float = LEVEL
    ) -> tuple[Ledger, list[Finding]]:
        """The executions whose task type or description the expression finds, and what was found among these alone."""
        ledger = Ledger(self.traits)
        for entry in self.matching(pattern):
            ledger.add(entry.run)
        ending: PatternType = "optimization" if pattern_type == "optimization" else "success"
        found = mine({0: ledger}, level=level, endings=(ending,))
        return ledger, found.get((0, ending), [])

    def matching(self, pattern: str) -> Iterator[Entry]:
        """The executions whose task type or description the expression finds, in their order."""
        search = compiled(pattern).search
        for entry in self.entries:
            if (entry.task_type and search(entry.task_type)) or search(entry.description[:READ]):
                yield entry

    def family(self, number: int) -> Family:
        """One family as a value. Its name and regular expression are made anew when it has grown by a twentieth."""
        members = self.families.members[number]
        size, name, regex, precision, recall = self._named.get(number, (0, "", "", 0.0, 0.0))
        if members.size > size * GROWTH:
            name, (regex, precision, recall) = self.families.name(number), self.families.regex(number)
            self._named[number] = members.size, name, regex, precision, recall
        return Family(
            id=members.id,
            name=name,
            regex=regex,
            size=members.size,
            successes=members.successes,
            parent=self.families.members[members.parent].id if members.parent is not None else None,
            examples=tuple(members.samples[:EXAMPLES]),
            precision=precision,
            recall=recall,
        )


def text_of(execution: Execution) -> str:
    """What a task is compared with others by: its type and how it was told."""
    description = description_of(execution)
    return f"{execution.task_type} {description}" if execution.task_type else description


def description_of(execution: Execution) -> str:
    """How the task was told: its description, or else its goal, or else what was done."""
    return execution.task_description or execution.goal or execution.execution_summary
