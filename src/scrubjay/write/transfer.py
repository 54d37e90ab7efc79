"""Export and import: every memory as a line of JSON, streamed, so that a store of any size fits through."""

import json
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from scrubjay.errors import Conflict, InvalidInput, ScrubjayError, Unsupported
from scrubjay.model import Filter, Memory, Scope
from scrubjay.model.checks import shown
from scrubjay.model.portable import check_header, from_json, header, to_json
from scrubjay.ports import Clock, Events, Records, Redactor
from scrubjay.write.announce import forgotten, imported
from scrubjay.write.heirs import Heirs
from scrubjay.write.index import Index
from scrubjay.write.lines import Batches, Lines, numbered
from scrubjay.write.redact import redacted
from scrubjay.write.successions import Successions

BATCH: Final = 1_000

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
) -> tuple[int, int]:
    """Store the memories of these lines for the scope's tenant; return how many were new and how many were known.

    Safe to repeat: what is stored already is left alone, but for what is believed here and closed in the file: that is
    closed as the file says, in the transaction that stores what took its place. The lines may stand in any order. A
    faulty line stops the import and is named; the batches before it are kept, so mend the line and run it again.
    """
    told = numbered(lines)
    batches = Batches(told, BATCH)
    first = await anext(told, None)
    if first is None:
        raise Unsupported("there is nothing to import: the file is empty")
    check_header(_object(*first))
    importing = _Importing(Scope(tenant=scope.tenant), batches, records, index, events, clock)
    new = read = 0
    while some := await batches.next():
        batch = [(number, _clean(_memory(number, line, scope), redactor)) for number, line in some]
        new += await importing.take(batch)
        read += len(batch)
        if progress is not None:
            progress(read)
    new += await importing.finish()
    return new, read - new


@dataclass
class _Importing:
    """Stores a file batch by batch, and remembers what is still to be closed, and what cannot stand before that."""

    tenant: Scope
    batches: Batches
    records: Records
    index: Index
    events: Events
    clock: Clock
    successions: Successions = field(default_factory=Successions)
    heirs: Heirs = field(default_factory=Heirs)

    async def take(self, told: Sequence[tuple[int, Memory]]) -> int:
        """Store this batch, and close what it or an earlier one replaces; return how many were new."""
        batch = _each_once([memory for _, memory in told])
        self.heirs.read(told)
        before = {one.id: one for one in await self.records.get(self.tenant, [memory.id for memory in batch])}
        closing = {
            memory.id: memory
            for memory in batch
            if memory.id in before and before[memory.id].closed_as(memory) is not None
        }
        waiting = {one: memory for one, memory in closing.items() if memory.superseded_by is not None}
        for memory in waiting.values():
            self.successions.wait(memory)
        in_sight = self.heirs.of(lambda one: one in closing or one in self.successions)
        due = {memory.id for memory in self.successions.due([*batch, *in_sight])}
        ready = {one for one in closing if one not in waiting}
        free = self.heirs.let_go(lambda one: one in due or one in ready)
        rows = [*free, *(memory for memory in batch if memory.id not in waiting)]
        return await self._store_what_can_be(rows, closing=ready, known=before.keys())

    async def finish(self) -> int:
        """Close what the file says was replaced, by something that is not in it; return how many were new since."""
        new, held = 0, self.heirs.let_go(lambda _one: True)
        awaited = {memory.id for memory in self.successions.due(held)}
        left = [memory for memory in self.successions if memory.id not in awaited]
        for start in range(0, len(left), BATCH):
            some = left[start : start + BATCH]
            ids = {memory.id for memory in some}
            new += await self._store(some, closing=ids, known=ids)
        self.successions.let_go(left)
        return new + await self._store_at_last(held)

    async def _store_what_can_be(
        self, rows: Sequence[Memory], *, closing: Collection[UUID], known: Collection[UUID]
    ) -> int:
        """Store these and close what they replace, but for what may stand once the file has told more."""
        while True:
            try:
                return await self._store_with_due(rows, closing=closing, known=known)
            except Conflict as error:
                held, left = _parted(rows, error)
                is_hopeless = any(one not in self.successions for one in error.rivals.values())
                if not held or (is_hopeless and await self.batches.are_over()):
                    raise
                self.heirs.hold(held, error.rivals)
                rows = left

    async def _store_at_last(self, rows: Sequence[Memory]) -> int:
        """Store these and close what they replace. Raises Conflict after that, when some of them cannot be."""
        try:
            return await self._store_with_due(rows) if rows else 0
        except Conflict as error:
            refused, left = _parted(rows, error)
            if refused:
                await self._store_at_last(left)
            raise

    async def _store_with_due(
        self, rows: Sequence[Memory], *, closing: Collection[UUID] = (), known: Collection[UUID] = ()
    ) -> int:
        """Store these and, in the same transaction, close what waits for them: not for others that are held back."""
        due = self.successions.due(rows)
        ids = {memory.id for memory in due}
        new = await self._store([*due, *rows], closing={*closing, *ids}, known={*known, *ids})
        self.successions.let_go(due)
        return new

    async def _store(self, rows: Sequence[Memory], *, closing: Collection[UUID], known: Collection[UUID]) -> int:
        with self.heirs.naming_lines():
            loaded = await self.records.load(rows)
        if not loaded and not closing:
            return 0
        stored = await self.records.get(self.tenant, [row.id for row in rows])
        changed = [memory for memory in stored if memory.id in closing]
        closed = [memory for memory in changed if memory.superseded_at is not None]
        await self.index.add([memory for memory in stored if memory.generation is None and memory.id not in closing])
        await self.index.retire(closed)
        await self.index.renew([memory for memory in changed if memory.superseded_at is None])
        now = self.clock()
        await self.events.publish(
            [
                *imported([memory for memory in stored if memory.id not in known], now),
                *forgotten(await self._without_heirs(closed), now),
            ]
        )
        return loaded

    async def _without_heirs(self, closed: Sequence[Memory]) -> list[Memory]:
        """Those that nothing here replaced. The others are spoken of by what did, as after every write."""
        named = [memory.superseded_by for memory in closed if memory.superseded_by is not None]
        heirs = {memory.id for memory in await self.records.get(self.tenant, named)} if named else set()
        return [memory for memory in closed if memory.superseded_by not in heirs]


def _parted(rows: Sequence[Memory], error: Conflict) -> tuple[list[Memory], list[Memory]]:
    """Those of these that cannot be believed beside what is, and the others."""
    return [row for row in rows if row.id in error.rivals], [row for row in rows if row.id not in error.rivals]


def _each_once(batch: Sequence[Memory]) -> list[Memory]:
    """The same with every memory once, closed if any line of it says so: what was replaced meanwhile is told twice."""
    once: dict[UUID, Memory] = {}
    for memory in batch:
        known = once.setdefault(memory.id, memory)
        once[memory.id] = known.closed_as(memory) or known
    return list(once.values())


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _memory(number: int, line: str, scope: Scope) -> Memory:
    try:
        memory = from_json(_object(number, line), scope.tenant)
    except ScrubjayError as error:
        raise type(error)(str(error) if str(error).startswith("line ") else f"line {number}: {error}") from error
    if not scope.holds(memory.scope):
        raise InvalidInput(f"line {number}: the memory belongs to {memory.scope}, which is outside {scope}")
    return memory


def _clean(memory: Memory, redactor: Redactor | None) -> Memory:
    """The memory without secrets. What an export holds is clean already and comes back as it is."""
    if redactor is None:
        return memory
    texts = {name: getattr(memory, name) for name in _TEXTS}
    clean, kinds = redacted(redactor, {name: value for name, value in texts.items() if value})
    return replace(memory, **clean, redacted=tuple(sorted({*memory.redacted, *kinds}))) if kinds else memory


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
