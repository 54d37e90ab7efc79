"""What writers tell: each by itself, or as one with what others tell at the same time."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias
from uuid import UUID

from sqlalchemy import Connection

from scrubjay.backends.sql import purges, writing
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.derived import has_records_only
from scrubjay.backends.sql.rows import Reader
from scrubjay.model import Memory, Remembered, Scope
from scrubjay.ports import Ahead, Decide, Decision, Known, Sight
from scrubjay.ports.joint import Cut

if TYPE_CHECKING:
    from scrubjay.ports import Matrix

FEW: Final = 64
"""Who brings more gains little by being told as one with others."""

Mark: TypeAlias = UUID | tuple[Scope, str | bytes]


class Telling(NamedTuple):
    """What one writer brings: drafts, what decides about them, and what the index needs of them."""

    drafts: Sequence[Memory]
    decide: Decide
    ahead: Ahead


class Teller:
    """Stores what is told. On a file, those who come at the same time are stored as one."""

    def __init__(self, database: Database, reader: Reader) -> None:
        self._database = database
        self._reader = reader

    async def tell(
        self, drafts: Sequence[Memory], decide: Decide, ahead: Ahead | None = None, *, sight: Sight | None = None
    ) -> list[Remembered]:
        """Store what `decide` says about each draft, and the vectors that were made of it: all drafts or none."""
        if not drafts:
            return []
        told = Telling(drafts, decide, ahead or Ahead(generation=0, parts={}, vectors=None, marks={}))
        if sight is not None:
            return await self._database.write(lambda connection: self._written_as_seen(connection, told, sight))
        if len(drafts) > FEW:
            return await self._database.write(lambda connection: self._written(connection, told))
        return await self._database.write_item(self.written_together, told)

    def written_together(self, connection: Connection, tellings: Sequence[Telling]) -> list[list[Remembered]]:
        """Store all of these in one transaction. Returns what became of each."""
        if len(tellings) == 1:  # As nearly always, where there is one caller.
            return [self._written(connection, tellings[0])]
        done: list[list[Remembered]] = []
        for those in apart(tellings):
            answers = iter(self._written(connection, joined(those)))
            done += [[*islice(answers, len(told.drafts))] for told in those]
        return done

    def _written_as_seen(self, connection: Connection, told: Telling, sight: Sight) -> list[Remembered]:
        purges.check(connection, sight)
        return self._written(connection, told)

    def _written(self, connection: Connection, told: Telling) -> list[Remembered]:
        ahead = told.ahead
        marks = {} if has_records_only(connection) else ahead.marks  # Then they wait to be indexed.
        done, opened, numbers = writing.write(connection, self._reader, told.drafts, told.decide, marks)
        cut = [(memory, *ahead.parts[memory.id]) for memory in opened if memory.id in ahead.parts]
        if cut and ahead.vectors is not None and not has_records_only(connection):
            from scrubjay.backends.vectors import rows  # noqa: PLC0415 -- loads numpy, which who has vectors has loaded

            rows.put_new(connection, ahead.generation, cut, ahead.vectors, numbers)
        return done


def apart(tellings: Sequence[Telling]) -> Iterator[Sequence[Telling]]:
    """The same in their order, cut so that those which stand together can be told as one.

    None of those bears on another: all ids, keys and words in one place are different. So each is answered as if it had
    been told by itself.
    """
    together: list[Telling] = []
    marks: set[Mark] = set()
    for told in tellings:
        own = _marks(told.drafts)
        if together and (told.ahead.generation != together[0].ahead.generation or not marks.isdisjoint(own)):
            yield together
            together, marks = [], set()
        together.append(told)
        marks |= own
    yield together


def _marks(drafts: Sequence[Memory]) -> set[Mark]:
    found: set[Mark] = {draft.id for draft in drafts}
    found |= {(draft.scope, draft.fingerprint) for draft in drafts}
    return found | {(draft.scope, draft.key) for draft in drafts if draft.key}


def joined(tellings: Sequence[Telling]) -> Telling:
    """All of them as one, in which each draft is decided about by whoever brought it."""
    if len(tellings) == 1:
        return tellings[0]
    tellers = {draft.id: told for told in tellings for draft in told.drafts}
    ahead = _ahead_of([told.ahead for told in tellings])

    def decide(draft: Memory, known: Known) -> Decision:
        told = tellers[draft.id]
        decision = told.decide(draft, known)
        if draft.id not in told.ahead.marks:  # It was not, or is not any more.
            ahead.leave_out(draft.id)
        return decision

    return Telling([draft for told in tellings for draft in told.drafts], decide, ahead)


def _ahead_of(aheads: Sequence[Ahead]) -> Ahead:
    parts: dict[UUID, Cut] = {}
    marks: dict[UUID, int] = {}
    vectors: list[Matrix] = []
    first = 0
    for ahead in aheads:
        marks |= ahead.marks
        if ahead.vectors is not None:
            parts |= {one: (spans, first + at) for one, (spans, at) in ahead.parts.items()}
            vectors.append(ahead.vectors)
            first += len(ahead.vectors)
    return Ahead(generation=aheads[0].generation, parts=parts, vectors=_stacked(vectors), marks=marks)


def _stacked(vectors: "Sequence[Matrix]") -> "Matrix | None":
    if not vectors:
        return None
    import numpy as np  # noqa: PLC0415 -- who has vectors has loaded it

    return np.concatenate(vectors)
