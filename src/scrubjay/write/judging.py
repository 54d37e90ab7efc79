"""Whether all lines of a file can be believed beside each other and beside what is stored; and how it is mended.

Asked before anything is written, of the whole file. What is closed by a line makes room, wherever that line stands.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final
from uuid import UUID

from scrubjay.errors import Conflict
from scrubjay.model import Memory, Scope
from scrubjay.ports import Records
from scrubjay.ports.records import contradictions, rival
from scrubjay.write.reconcile import mended
from scrubjay.write.staging import Fate, Line, Staging

MOST_NEAR: Final = 200_000
"""Pairs of a line and a stored memory that cannot stay beside each other, of the lines that are read at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Clash:
    """A line that cannot be believed, and what is in its way: a stored memory, or another line."""

    line: Line
    rival: Memory
    rival_line: int | None = None

    def refusal(self) -> Conflict:
        """What to raise."""
        error = contradictions([(self.rival, self.line.memory)])
        said = str(error)
        if self.rival_line is not None:
            said = said.replace("which is stored", f"in line {self.rival_line}").replace("which is not", "in this one")
            said = said.partition(". Forget")[0] + ". Forget one of them where the file comes from"
        return Conflict(
            f"line {self.line.number}: {said}; or import it with `mend`, so that the one that was told later takes the "
            "place of the other. Nothing was imported",
            rivals=error.rivals,
        )


async def judge(staging: Staging, records: Records, tenant: Scope, *, mend: bool) -> None:
    """Raise Conflict for the first line that contradicts another one, or what is stored; or mend all of them.

    Then put the lines in an order in which nothing is ever without a value that had one.
    """
    judging = _Judging(staging, records, tenant)
    await staging.aside(staging.index_marks)
    if mend:
        numbers = [clash.line.number async for clash in judging.with_stored()]
        numbers += await staging.aside(lambda: [*staging.overlapping(), *staging.repeated()])
        for number in numbers:
            await judging.mend(number)
    else:
        clashes = [await anext(judging.with_stored(), None), await staging.aside(judging.in_file)]
        if found := [clash for clash in clashes if clash is not None]:
            raise min(found, key=lambda clash: clash.line.number).refusal()
    await staging.aside(judging.arrange)


@dataclass
class _Judging:
    staging: Staging
    records: Records
    tenant: Scope
    seen: set[int] = field(default_factory=set)
    """Lines that were mended with others."""

    async def with_stored(self) -> AsyncIterator[_Clash]:
        """The lines that contradict what is stored, and will still be believed when all of the file is."""
        pages = self.staging.near()
        while (page := await self.staging.aside(next, pages, None)) is not None:
            stored = await self._as_they_will_be([one for _, one in page])
            for line, one in page:
                if one not in stored:  # It was purged meanwhile.
                    continue
                closing, then = stored[one]
                if closing is not None:
                    await self.staging.aside(self.staging.link, [(closing, line.number)])
                if then.superseded_at is None and _contradict(line.memory, then):
                    yield _Clash(line=line, rival=then)

    async def _as_they_will_be(self, ids: Sequence[UUID]) -> dict[UUID, tuple[int | None, Memory]]:
        """Stored memories as the file leaves them, each with the number of the line that closes it."""
        told = await self.staging.aside(self.staging.by_ids, list(dict.fromkeys(ids)))
        found: dict[UUID, tuple[int | None, Memory]] = {}
        for one in await self.records.get(self.tenant, list(dict.fromkeys(ids))):
            line = told.get(one.id)
            closed = one.closed_as(line.memory) if line is not None and line.fate is Fate.CLOSING else None
            found[one.id] = (line.number, closed) if line is not None and closed is not None else (None, one)
        return found

    def in_file(self) -> _Clash | None:
        """The first line that contradicts another one."""
        for number in (*self.staging.overlapping()[:1], *self.staging.repeated()[:1]):
            line = self.staging.numbered(number)
            for other in self.staging.beside(number):
                if _contradict(line.memory, other.memory):
                    first, later = sorted((line, other), key=lambda one: one.number)
                    return _Clash(line=later, rival=first.memory, rival_line=first.number)
        return None

    async def mend(self, number: int) -> None:
        """Let those that were told later take the place of others, for all that have the key or the words of a line."""
        if number in self.seen:
            return
        lines = await self.staging.aside(self.staging.beside, number)
        self.seen |= {number, *(line.number for line in lines)}
        here = [line.memory for line in lines]
        near = await self.records.bearing(here[:1])
        stored = {one: then for one, (_, then) in (await self._as_they_will_be([one.id for one in near])).items()}
        await self.staging.aside(self._mend, lines, stored)

    def _mend(self, lines: Sequence[Line], stored: Mapping[UUID, Memory]) -> None:
        here = [line.memory for line in lines]
        believed = [one for one in stored.values() if one.superseded_at is None and _is_beside(one, here[0])]
        changed = mended([*here, *believed])
        known = self.staging.by_ids([one.id for one in changed])
        put = [self._changed(one, known.get(one.id), is_stored=one.id in stored) for one in changed]
        self.staging.put(put)
        together = [*lines, *put]
        self.staging.link([(together[0].number, line.number) for line in together[1:]])

    def _changed(self, memory: Memory, line: Line | None, *, is_stored: bool) -> Line:
        if line is None:
            self.staging.last += 1
        number = line.number if line is not None else self.staging.last
        return Line(number=number, memory=memory, fate=Fate.CLOSING if is_stored else Fate.NEW)

    def arrange(self) -> None:
        """Let what is closed go together with what takes its place."""
        self.staging.link(self.staging.heirs())
        self.staging.arrange()


def _contradict(given: Memory, other: Memory) -> bool:
    """Whether the two cannot both be believed."""
    if given.id == other.id or given.scope != other.scope:
        return False
    same_key = [other] if given.key is not None and given.key == other.key else []
    says_the_same = (given.fingerprint, given.encrypted) == (other.fingerprint, other.encrypted)
    return rival(given, same_key, other if says_the_same and other.valid_to is None else None) is not None


def _is_beside(one: Memory, other: Memory) -> bool:
    """Whether two have one key, or one's words, in one place."""
    if one.scope != other.scope:
        return False
    return one.key == other.key if other.key is not None else one.fingerprint == other.fingerprint


def pairs_of(lines: Sequence[Line], near: Iterable[Memory]) -> list[tuple[int, UUID]]:
    """The numbers of lines, each with a stored memory that has its key or its words and cannot stay beside it.

    Raises Conflict where there are more than anybody means: a file that tells one key thousands of times, beside
    thousands of other values of it, would take gigabytes to compare.
    """
    places: defaultdict[tuple[Scope, str | bytes], list[Memory]] = defaultdict(list)
    for one in near:
        for mark in _marks(one):
            places[mark].append(one)
    pairs = (
        (line.number, one.id)
        for line in lines
        for mark in _marks(line.memory)
        for one in places.get(mark, ())
        if _contradict(line.memory, one)
    )
    found = list(islice(pairs, MOST_NEAR + 1))
    if len(found) > MOST_NEAR:
        raise Conflict(
            f"line {found[-1][0]}: its key has thousands of stored values that cannot stay beside this line and those "
            "before it: import fewer lines of this key at a time, or forget the key first. Nothing was imported"
        )
    return found


def _marks(memory: Memory) -> Iterator[tuple[Scope, str | bytes]]:
    yield memory.scope, memory.fingerprint
    if memory.key is not None:
        yield memory.scope, memory.key
