"""Export and import: every memory as a line of JSON, streamed, so that a store of any size fits through."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final
from uuid import UUID

from scrubjay.errors import Conflict, Forbidden, InvalidInput, ScrubjayError, Unsupported
from scrubjay.model import Filter, Memory, Scope
from scrubjay.model.access import Caller
from scrubjay.model.checks import check_flag, shown
from scrubjay.model.kinds import refused_kinds
from scrubjay.model.memory import ARCHIVED
from scrubjay.model.portable import check_header, from_json, header, moment_text, to_json
from scrubjay.model.sealed import SEAL, is_sealed
from scrubjay.off_loop import off_loop, weight
from scrubjay.ports import Clock, Events, Records, Redactor
from scrubjay.ports.access import AccessStores
from scrubjay.ports.records import no_source
from scrubjay.write.adopting import adopted, are_alike
from scrubjay.write.announce import forgotten, imported
from scrubjay.write.audit import Noted, audited
from scrubjay.write.index import Index
from scrubjay.write.judging import judge, pairs_of
from scrubjay.write.lines import Lines, Numbered, batches, numbered
from scrubjay.write.redact import redacted
from scrubjay.write.staging import Fate, Line, Staging

BATCH: Final = 1_000

MOST_UNSEEN: Final = 100_000
"""Sources that a caller with bounds may name before the lines that they are in. An export puts them first."""

_AHEAD: Final = timedelta(days=366)
"""How far the clock of whoever told something may be ahead of ours."""

_ANYBODY: Final = Caller()
_TEXTS: Final = ("content", "key", "data", "source", "author", "reason", "closed_because")


async def export_lines(filter: Filter, *, records: Records, now: datetime) -> AsyncIterator[str]:
    """The memories that match, oldest first, after a line that names the format. No line ends in a newline.

    Others may write meanwhile. What is replaced then may have been told as it was; so it is told again, closed, before
    what took its place.
    """
    yield _line(header())
    newest = await records.find(filter, now=now, limit=1, order="newest")
    is_later = not newest
    async for batch in records.scan(filter, now=now):
        for memory in batch:
            for replaced in await _replaced_by(memory, records) if is_later else ():
                yield _line(to_json(replaced))
            yield _line(to_json(memory))
            is_later = is_later or memory.id == newest[0].id


async def _replaced_by(memory: Memory, records: Records) -> list[Memory]:
    """What this one took the place of."""
    versions = await records.versions(memory.scope, id=memory.id)
    return [version for version in versions if version.superseded_by == memory.id]


async def import_lines(
    lines: Lines,
    scope: Scope,
    *,
    records: Records,
    index: Index,
    redactor: Redactor | None,
    events: Events,
    clock: Clock,
    progress: Callable[[int], None] | None = None,
    mend: bool = False,
    caller: Caller = _ANYBODY,
    access: AccessStores | None = None,
) -> tuple[int, int]:
    """Store the memories of these lines for the scope's tenant; return how many were new and how many were known.

    All of them are read and checked before the first is stored: what is refused leaves the store as it was. Then they
    are stored in batches, of which `progress` hears. Safe to repeat, also after an interruption: what is stored already
    is left alone, but for what is believed here and closed in the file: that is closed as the file says, in the
    transaction that stores what took its place. The lines may stand in any order. An id that is another tenant's is
    made anew, and with it what names it. With `mend`, what contradicts something is not refused: what was told later
    takes the place of the other. What the caller may not bring is refused: kinds that only verbs write, and what is
    made from memories that it cannot see.
    """
    check_flag("mend", mend)
    staging = Staging()
    try:
        reading = _Reading(staging, scope, records, redactor, caller, latest=clock() + _AHEAD)
        read = await reading.take(lines)
        tenant = Scope(tenant=scope.tenant)
        await judge(staging, records, tenant, mend=mend)
        storing = _Storing(tenant, records, index, events, clock, partial(audited, access, caller))
        new = done = 0
        batches_left = staging.batches(BATCH)
        while (found := await staging.aside(next, batches_left, None)) is not None:
            many, batch = found
            with storing.saying_how_far(new, done, read):
                new += await storing.store(batch) if batch else 0
            done = min(read, done + many)
            if progress is not None:
                progress(done)
        if progress is not None and done < read:
            progress(read)
        return new, read - min(new, read)
    finally:
        await asyncio.to_thread(staging.shut)


@dataclass(frozen=True, slots=True)
class _Reading:
    """Sets a file aside, and finds out of each line what is stored that bears on it."""

    staging: Staging
    scope: Scope
    records: Records
    redactor: Redactor | None
    caller: Caller
    latest: datetime
    """When a line may have been told at the latest."""
    unseen: dict[UUID, int] = field(default_factory=dict)
    """What lines say they are made from that is not seen yet, with the first line that says so."""

    async def take(self, lines: Lines) -> int:
        """Read all of it; return how many memories that were. Raises what is wrong with a line, and names it."""
        told = numbered(lines)
        first = await anext(told, None)
        if first is None:
            raise Unsupported("there is nothing to import: the file is empty")
        check_header(_object(*first))
        read, refused = 0, refused_kinds(self.caller)
        async for some in batches(told, BATCH):
            await self._look_at(await off_loop(weight(some), self._memories, some, refused))
            read += len(some)
        await self._check_sources((), {}, is_all=True)
        return read

    def _memories(self, lines: Sequence[Numbered], refused: Collection[str]) -> list[tuple[int, Memory]]:
        memories = [(number, _clean(_memory(number, line, self.scope), self.redactor)) for number, line in lines]
        for number, memory in memories:
            if memory.created_at > self.latest:
                # What is told of its key from now on would have to be told after it.
                raise InvalidInput(
                    f"line {number}: created_at is {moment_text(memory.created_at)}, which is more than a year "
                    "ahead of the clock here: set the clock, or correct the line. Nothing was imported"
                )
            if memory.kind in refused:
                raise Forbidden(
                    f"line {number}: kind is {memory.kind!r}, which this key may not import: run `scrubjay import` "
                    "where the store is, or leave those lines out. Nothing was imported"
                )
        return memories

    async def _look_at(self, told: Sequence[tuple[int, Memory]]) -> None:
        here, owned = await adopted(told, self.records)
        before = await self.staging.aside(self.staging.by_ids, [memory.id for _, memory in here])
        judged = await self.staging.aside(self._judged, before.values(), here, owned)
        await self.staging.aside(self.staging.put, judged)
        await self._check_sources(judged, owned, is_all=False)
        fresh = [line for line in judged if line.is_fresh]
        near = await self.records.bearing([line.memory for line in fresh]) if fresh else []
        if near:
            pairs = await off_loop(weight(near), pairs_of, fresh, near)
            await self.staging.aside(self.staging.note_near, pairs)

    def _judged(
        self, before: Iterable[Line], here: Sequence[tuple[int, Memory]], owned: Mapping[UUID, Memory]
    ) -> list[Line]:
        once = {line.memory.id: (line.number, line.memory) for line in before}
        for number, memory in here:
            self._take_in(once, number, memory)
        judged = [self._line(number, memory, owned.get(memory.id)) for number, memory in once.values()]
        for line in judged:
            _check_heir(line, owned, self.caller)
        return judged

    def _take_in(self, once: dict[UUID, tuple[int, Memory]], number: int, memory: Memory) -> None:
        """Let what is told twice be one, closed if any line of it says so. Raises Conflict when it is not one."""
        first, known = once.setdefault(memory.id, (number, memory))
        if not self._is_the_same(known, memory):
            raise Conflict(
                f"line {number}: id {memory.id} names something else in line {first}: give one of them another id"
            )
        once[memory.id] = (first, known.closed_as(memory) or known)

    def _line(self, number: int, memory: Memory, stored: Memory | None) -> Line:
        if stored is None:
            return Line(number=number, memory=memory, fate=Fate.NEW)
        if not self._is_the_same(stored, memory):
            raise Conflict(
                f"line {number}: id {memory.id} names something else here. Use `update` to change a memory, or give "
                "the line another id. Nothing was imported"
            )
        closes = stored.closed_as(memory) is not None
        return Line(number=number, memory=memory, fate=Fate.CLOSING if closes else Fate.KNOWN)

    async def _check_sources(self, lines: Sequence[Line], stored: Mapping[UUID, Memory], *, is_all: bool) -> None:
        """Raise InvalidInput for what a caller with bounds says is made from a memory that it does not see.

        As `remember` does, and alike whether it is stored or not: an import tells nobody which ids there are. Whoever
        made something from a memory hears of its end. What stands in the file is seen, before or after.
        """
        bounds = self.caller.bounds
        if not bounds:
            return
        for line in lines:
            for source in line.memory.derived_from if line.fate is Fate.NEW else ():
                if source not in stored or not bounds.sees(stored[source].scope):
                    self.unseen.setdefault(source, line.number)
        for source in await self.staging.aside(self.staging.by_ids, list(self.unseen)):
            del self.unseen[source]
        if self.unseen and (is_all or len(self.unseen) > MOST_UNSEEN):
            source, number = next(iter(self.unseen.items()))
            raise InvalidInput(f"line {number}: {no_source(source)}. Nothing was imported")

    def _is_the_same(self, one: Memory, other: Memory) -> bool:
        """Whether two with one id are one memory. Of what is archived, only a record is left to compare."""
        if not one.is_one_with(other):
            return False
        if any((each.closed_because or "").startswith(ARCHIVED) for each in (one, other)):
            return True
        # What is stored may be from a time when less was taken out.
        return _says_the_same(one, other) or _says_the_same(_clean(one, self.redactor), other)


@dataclass(frozen=True, slots=True)
class _Storing:
    """Stores lines, and lets the index and whoever listens know."""

    tenant: Scope
    records: Records
    index: Index
    events: Events
    clock: Clock
    noted: Noted

    async def store(self, batch: Sequence[Line]) -> int:
        """Store what is new and close what is closed, in one transaction; return how many were new."""
        closing = {line.memory.id for line in batch if line.fate is Fate.CLOSING}
        if closing:
            await self.noted(self.tenant, list(closing), at=self.clock(), how="closed by an import")
        loaded = await self.records.load([line.memory for line in batch])
        stored = await self.records.get(self.tenant, [line.memory.id for line in batch])
        changed = [memory for memory in stored if memory.id in closing]
        closed = [memory for memory in changed if memory.superseded_at is not None]
        await self.index.add([memory for memory in stored if memory.generation is None and memory.id not in closing])
        await self.index.retire(closed)
        await self.index.renew([memory for memory in changed if memory.superseded_at is None])
        now = self.clock()
        await self.events.publish(
            [
                *imported([memory for memory in stored if memory.id not in closing], now),
                *forgotten(await self._without_heirs(closed), now),
            ]
        )
        return loaded

    async def _without_heirs(self, closed: Sequence[Memory]) -> list[Memory]:
        """Those that nothing here replaced. The others are spoken of by what did, as after every write."""
        named = [memory.superseded_by for memory in closed if memory.superseded_by is not None]
        heirs = {memory.id for memory in await self.records.get(self.tenant, named)} if named else set()
        return [memory for memory in closed if memory.superseded_by not in heirs]

    @contextmanager
    def saying_how_far(self, new: int, done: int, total: int) -> Iterator[None]:
        """In the block, what is raised says what was stored before: somebody else wrote meanwhile, or a store is away.

        What was checked is right, so it is enough to begin again.
        """
        try:
            yield
        except ScrubjayError as error:
            far = f"{done:,} of the file's {total:,} memories are stored, {new:,} of them new"
            said = f"{error}. This came up while storing: {far}. Import the same file again, and it goes on from there"
            error.args = (said,)
            raise


def _check_heir(line: Line, stored: Mapping[UUID, Memory], caller: Caller) -> None:
    """Raise InvalidInput for a line that would make a version of what the caller sees elsewhere, which goes with it.

    Of what it does not see it is told nothing: nobody takes that for a version, since it lies in another scope.
    """
    heir = stored.get(line.memory.superseded_by) if line.memory.superseded_by is not None else None
    if heir is None or line.fate is Fate.KNOWN or not caller.bounds.sees(heir.scope):
        return
    if heir.scope != line.memory.scope:
        raise InvalidInput(
            f"line {line.number}: superseded_by is {heir.id}, which lies in another scope than this line: all versions "
            "of a memory lie in one. Nothing was imported"
        )


def _says_the_same(one: Memory, other: Memory) -> bool:
    return one.content == other.content and are_alike(one.data, other.data, other.scope.tenant)


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _memory(number: int, line: str, scope: Scope) -> Memory:
    try:
        memory = from_json(_object(number, line), scope.tenant)
    except ScrubjayError as error:
        raise type(error)(str(error) if str(error).startswith("line ") else f"line {number}: {error}") from error
    if not scope.holds(memory.scope):
        raise InvalidInput(f"line {number}: the memory belongs to {memory.scope}, which is outside {scope}")
    for name in "content", "closed_because":
        if is_sealed(getattr(memory, name) or ""):
            raise InvalidInput(f"line {number}: {name} begins with {SEAL!r}, which marks what is encrypted")
    return memory


def _clean(memory: Memory, redactor: Redactor | None) -> Memory:
    """The memory without secrets. What an export holds is clean already and comes back as it is."""
    if redactor is None:
        return memory
    # The kinds that a file names were taken out are texts of the file too.
    texts = {name: getattr(memory, name) for name in _TEXTS} | {"redacted": list(memory.redacted)}
    clean, kinds = redacted(redactor, {name: value for name, value in texts.items() if value})
    known = clean.pop("redacted", ())
    return replace(memory, **clean, redacted=tuple(sorted({*known, *kinds}))) if kinds else memory


def _object(number: int, line: str) -> dict[str, object]:
    if not isinstance(line, str):
        raise Unsupported(f"line {number} is {shown(line)}: give lines of text")
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Unsupported(f"line {number} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise Unsupported(f"line {number} is not a JSON object")
    return value
