"""The record store: the only truth, on SQLite and on PostgreSQL."""

import functools
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Unpack
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Select, delete, func, or_, select, text, update

from scrubjay.backends.sql import beginnings, checksums, counting, kinship, narrowing, purges, sealing, texts, writing
from scrubjay.backends.sql.answers import without_answers
from scrubjay.backends.sql.checking import faults_of, words_fault
from scrubjay.backends.sql.columns import columns_of
from scrubjay.backends.sql.conditions import unmarked
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.derived import check_derived
from scrubjay.backends.sql.kinship import pages
from scrubjay.backends.sql.places import admitted
from scrubjay.backends.sql.rows import Reader, in_order, rows
from scrubjay.backends.sql.sampling import marked_of, sampled
from scrubjay.backends.sql.schema import lineage, memories
from scrubjay.backends.sql.tellings import Teller
from scrubjay.model import Filter, Memory, Order, Remembered, Scope
from scrubjay.model.memory import moment_after
from scrubjay.ports import Counts, Decide, Forgotten, Kept, Marked, Sight
from scrubjay.ports.records import changed_meanwhile, kept_as, read_with

_PAGE = 500
_STRETCH = 20_000
"""Rows that a scan lists at once."""
_COLUMN = memories.c


class SqlRecords:
    """The `Records` port. The words of each memory are indexed in the same transaction as its row."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._reader = Reader()
        self._teller = Teller(database, self._reader)
        self._columns = columns_of(database)

    @property
    def _dialect(self) -> str:
        return self._database.dialect

    async def write(self, drafts: Sequence[Memory], decide: Decide, *, sight: Sight | None = None) -> list[Remembered]:
        """Ask `decide` about each draft in turn and store what it says, in one transaction."""
        return await self._teller.tell(drafts, decide, sight=sight)

    async def load(self, memories_: Sequence[Memory]) -> int:
        """Store exactly these rows; one whose id is stored is left alone."""
        return await self._database.write(lambda connection: writing.load(connection, self._reader, memories_))

    async def bearing(self, memories_: Sequence[Memory]) -> list[Memory]:
        """Return what is believed that bears on these: in their scopes, under their keys or with their words."""
        return await self._database.read(lambda connection: writing.bearing(connection, self._reader, memories_))

    async def get(self, scope: Scope, ids: Sequence[UUID]) -> list[Memory]:
        """Return those that a reader in the scope sees, in the order asked."""
        asked = list(dict.fromkeys(ids)) if len(ids) > _PAGE else ids
        return await self._database.glance(lambda connection: self._seen(connection, scope, asked))

    def _seen(self, connection: Connection, scope: Scope, ids: Sequence[UUID]) -> list[Memory]:
        found = [memory for page in pages(ids) for memory in self._reader.by_ids(connection, page)]
        return [memory for memory in found if scope.sees(memory.scope)]

    async def find(
        self, filter: Filter, *, now: datetime, limit: int, order: Order = "newest", after: UUID | None = None
    ) -> list[Memory]:
        """Return matching memories in the order they were stored."""
        finding = functools.partial(narrowing.find, reader=self._reader, columns=self._columns, filter=filter, now=now)
        return await self._database.read(functools.partial(finding, limit=limit, order=order, after=after))

    async def scan(self, filter: Filter, *, now: datetime, batch: int = _PAGE) -> AsyncIterator[list[Memory]]:
        """Stream every matching memory, oldest first, a batch at a time."""
        # Many are listed at once: a server that cannot tell how many rows a filter admits looks through all of them
        # each time. By row number, not by id: the last one may be purged before the next stretch is asked for.
        in_turn = select(_COLUMN.seq, _COLUMN.id).order_by(_COLUMN.seq).limit(max(batch, _STRETCH))
        last = 0

        def listed(connection: Connection) -> Sequence[Any]:
            return connection.execute(in_turn.where(self._admitted(connection, filter, now), _COLUMN.seq > last)).all()

        while stretch := await self._database.read(listed):
            for start in range(0, len(stretch), batch):
                ids = [row.id for row in stretch[start : start + batch]]
                found = await self._database.glance(functools.partial(self._reader.by_ids, ids=ids))
                if matching := [memory for memory in found if filter.matches(memory, now)]:
                    yield matching
            last = stretch[-1].seq

    async def among(self, filter: Filter, *, now: datetime, limit: int) -> Sequence[UUID] | None:
        """Return the ids of all matching memories, newest first, or None when there are more than the limit."""
        return await self._database.read(
            lambda connection: narrowing.among(connection, self._columns, filter, now, limit=limit)
        )

    async def one_of_each(
        self, filter: Filter, *, now: datetime, length: int, limit: int | None = None
    ) -> list[Memory] | None:
        """Return one matching memory for each beginning that their keys have."""

        def work(connection: Connection) -> list[Memory] | None:
            ids = beginnings.one_of_each(connection, filter, now, length, limit)
            return ids and [memory for page in pages(ids) for memory in self._reader.by_ids(connection, page)]

        return await self._database.read(work)

    async def count(self, filter: Filter, *, now: datetime) -> Counts:
        """Count what lies in the scope."""
        return await self._database.read(lambda connection: narrowing.count(connection, self._columns, filter, now))

    async def versions(self, scope: Scope, *, id: UUID | None = None, key: str | None = None) -> list[Memory]:
        """Return the versions that a reader in the scope sees, oldest first."""
        if key is not None:
            everything = Filter(scope=scope, key=key, history=True)
            places = _COLUMN.scope_id.in_(admitted(everything))
            return await self._fetch(rows().where(places, _COLUMN.key == key).order_by(_COLUMN.seq))

        def work(connection: Connection) -> list[Memory]:
            chain = kinship.thread(connection, self._reader, scope, [id] if id is not None else [])
            linked = _COLUMN.id.in_([memory.id for memory in chain])
            return self._reader.fetch(connection, rows().where(linked).order_by(_COLUMN.seq))

        return await self._database.read(work)

    async def neighbours(self, scope: Scope, memory: Memory, *, before: int, after: int) -> list[Memory]:
        """Return the believed memories just before and after it in its own session, in order."""
        if memory.position is None or not scope.sees(memory.scope):
            return []

        def work(connection: Connection) -> list[Memory]:
            number = select(_COLUMN.scope_id).where(_COLUMN.id == memory.id).scalar_subquery()
            believed = rows().where(
                _COLUMN.scope_id == number, _COLUMN.superseded_at.is_(None), _COLUMN.position.is_not(None)
            )
            earlier = believed.where(_COLUMN.position < memory.position).order_by(_COLUMN.position.desc()).limit(before)
            later = believed.where(_COLUMN.position > memory.position).order_by(_COLUMN.position).limit(after)
            return [*reversed(self._reader.fetch(connection, earlier)), *self._reader.fetch(connection, later)]

        return await self._database.read(work)

    async def following(self, scope: Scope, ids: Sequence[UUID]) -> list[Memory]:
        """Return the believed memories that stand at the next position after these in their sessions, each once."""

        def work(connection: Connection) -> list[Memory]:
            found = self._reader.following(connection, list(dict.fromkeys(ids)))
            return [memory for memory in dict.fromkeys(found) if scope.sees(memory.scope)]

        return await self._database.read(work)

    async def close(
        self,
        scope: Scope,
        ids: Sequence[UUID],
        *,
        at: datetime,
        because: str,
        seen: Memory | None = None,
        unless_changed: Sequence[Memory] = (),
    ) -> list[Memory]:
        """Stop believing those that the scope holds and that are believed."""

        def work(connection: Connection) -> list[Memory]:
            sealing.check_texts(connection, scope.tenant, [because])
            for page in pages([memory.id for memory in unless_changed]):
                # PostgreSQL lets those wait who would change them now; SQLite has one writer anyway.
                connection.execute(
                    select(_COLUMN.id).where(_COLUMN.id.in_(page)).order_by(_COLUMN.id).with_for_update()
                )
            held = [memory for memory in self._seen(connection, scope, ids) if scope.holds(memory.scope)]
            held = kept_as([memory for memory in held if memory.superseded_at is None], unless_changed)
            closed = self._closed(connection, held, at=at, because=because)
            return writing.as_seen(in_order(closed, ids), seen)

        return await self._database.write(work)

    async def forget(
        self,
        scope: Scope,
        ids: Sequence[UUID],
        *,
        at: datetime,
        because: str,
        with_it: str,
        elsewhere: str,
        seen: Memory | None = None,
    ) -> Forgotten:
        """Close these and what was made from them, in one transaction."""

        def work(connection: Connection) -> Forgotten:
            sealing.check_texts(connection, scope.tenant, [because, with_it, elsewhere])
            named = [memory.id for memory in self._seen(connection, scope, ids) if scope.holds(memory.scope)]
            kinship.hold(connection, named)
            held = self._seen(connection, scope, named)
            for memory in held:
                if memory.superseded_by is not None:
                    raise changed_meanwhile(memory.id)
            closed = writing.as_seen(in_order(self._closed(connection, held, at=at, because=because), ids), seen)
            if not closed:
                return Forgotten([], [])
            derived = kinship.derived(connection, scope.tenant, named, holding=True)
            made = self._seen(connection, Scope(tenant=scope.tenant), derived)
            here, others = read_with(made, closed)
            done = self._closed(connection, here, at=at, because=with_it)
            done += self._closed(connection, others, at=at, because=elsewhere)
            return Forgotten(closed, in_order(done, derived))

        return await self._database.write(work)

    def _closed(self, connection: Connection, held: Sequence[Memory], *, at: datetime, because: str) -> list[Memory]:
        """Those of these that are believed, as they are when they are no more."""
        believed = [memory for memory in held if memory.superseded_at is None]
        moments: dict[datetime, list[UUID]] = defaultdict(list)
        newer = kinship.newer(connection, [memory.id for memory in believed if memory.key is not None], at)
        for memory in believed:
            moments[moment_after(newer.get(memory.id, memory.created_at), at)].append(memory.id)
        closed: list[UUID] = []
        for closed_at, page in [(moment, page) for moment, ids in moments.items() for page in pages(ids)]:
            closing = update(memories).where(_COLUMN.id.in_(page), _COLUMN.superseded_at.is_(None))
            closing = closing.values(superseded_at=closed_at, closed_because=because, generation=None)
            # Only what this statement closed: on PostgreSQL somebody else may have been quicker since.
            closed += connection.execute(closing.returning(_COLUMN.id)).scalars()
        done = [memory for page in pages(closed) for memory in self._reader.by_ids(connection, page)]
        texts.refresh(connection, done)
        return done

    async def adjust(
        self, scope: Scope, id: UUID, *, seen: Memory | None = None, **changes: Unpack[Kept]
    ) -> Memory | None:
        """Change how one memory is kept, not what it says."""

        def work(connection: Connection) -> Memory | None:
            held = [memory for memory in self._seen(connection, scope, [id]) if scope.holds(memory.scope)]
            if not held:
                return None
            replace(held[0], **changes)  # A value checks itself: what it refuses is not stored.
            adjusting = update(memories).where(_COLUMN.id == id, *(writing.unchanged(seen) if seen is not None else ()))
            if connection.execute(adjusting.values(**changes, generation=None)).rowcount != 1:
                raise changed_meanwhile(id)
            return self._seen(connection, scope, [id])[0]

        return await self._database.write(work)

    async def boost(self, scope: Scope, id: UUID, by: float) -> tuple[Memory, float] | None:
        """Add to the importance of one memory, kept within 0 to 1."""
        # PostgreSQL lets the next one wait who boosts the same row; SQLite has one writer anyway.
        locked = select(_COLUMN.importance).where(_COLUMN.id == id).with_for_update()

        def work(connection: Connection) -> tuple[Memory, float] | None:
            held = [memory for memory in self._seen(connection, scope, [id]) if scope.holds(memory.scope)]
            before = connection.execute(locked).scalar() if held else None
            if before is None:
                return None
            boosted = update(memories).where(_COLUMN.id == id)
            connection.execute(boosted.values(importance=min(1.0, max(0.0, before + by)), generation=None))
            return self._seen(connection, scope, [id])[0], before

        return await self._database.write(work)

    async def touch(self, uses: Mapping[Scope, Sequence[UUID]], *, at: datetime) -> None:
        """Count one more use of each that a reader in its scope sees, as often as it is named."""
        await self._database.note(lambda connection: counting.count(connection, uses, at))

    async def derived(self, scope: Scope, ids: Sequence[UUID]) -> list[UUID]:
        """Return what was made from these, directly or through others, in the scope's tenant."""
        return await self._database.read(lambda connection: kinship.derived(connection, scope.tenant, ids))

    async def purge(self, scope: Scope, ids: Sequence[UUID], *, versions: bool = False) -> list[Memory]:
        """Delete the rows that the scope holds, what was made from them, and every trace of it in this database."""
        from scrubjay.backends.vectors.rows import bury, traces  # noqa: PLC0415 -- loads numpy, which little else here needs

        def work(connection: Connection) -> list[Memory]:
            check_derived(connection)
            purges.begin(connection, scope.tenant)
            asked = self._seen(connection, scope, list(dict.fromkeys(ids)))
            named = [memory.id for memory in asked if scope.holds(memory.scope)]
            gone = kinship.family(connection, self._reader, named, versions=versions)
            purged = self._seen(connection, Scope(tenant=scope.tenant), gone)
            # First of all, since whoever writes there has a lock on the place before one on its rows.
            places = purges.note(connection, {memory.scope for memory in purged})
            for page in pages(gone):
                seqs = connection.execute(select(_COLUMN.seq).where(_COLUMN.id.in_(page))).scalars().all()
                texts.remove(connection, seqs)
                connection.execute(
                    delete(lineage).where(or_(lineage.c.source_id.in_(page), lineage.c.derived_id.in_(page)))
                )
                connection.execute(update(memories).where(_COLUMN.superseded_by.in_(page)).values(superseded_by=None))
                connection.execute(delete(memories).where(_COLUMN.id.in_(page)))
            if gone:
                purges.lower_marks(connection, places)
                connection.execute(without_answers(scope.tenant))
            if gone and self._dialect == "sqlite":
                # FTS5 only notes a deletion beside the old words; merging the index is what takes them off the disk.
                connection.execute(text("INSERT INTO texts (texts) VALUES ('optimize')"))
            # Vectors here are another store's to remove, unless they were left by an engine that is not configured now.
            if traces(connection, gone):
                bury(connection, gone)
            return purged

        purged = await self._database.write(work)
        if purged and self._dialect == "sqlite":
            await self._database.checkpoint()
        return purged

    async def purging(self, scope: Scope) -> None:
        """Note that all of this place is purged."""
        await self._database.write(lambda connection: purges.note_whole(connection, scope))

    async def sight(self, scope: Scope) -> Sight:
        """Say how often something was purged from places that this one sees."""
        found = await self._database.read(lambda connection: purges.counted(connection, scope))
        return Sight(scope=scope, purges=found)

    async def pending(self, generation: int, *, limit: int) -> list[Memory]:
        """Return memories of every tenant, oldest first, that are not marked with this generation."""
        return await self._fetch(rows().where(unmarked(generation)).order_by(_COLUMN.seq).limit(limit))

    async def backlog(self, generation: int) -> int:
        """Count what `pending` would return without a limit."""
        statement = select(func.count()).select_from(memories).where(unmarked(generation))
        return await self._database.read(lambda connection: connection.execute(statement).scalar_one())

    async def mark(self, ids: Sequence[UUID], generation: int | None, *, live: Collection[UUID] = ()) -> Marked:
        """Note that these are indexed with this generation, or with none; say which are not stored, or are closed."""
        asked = list(dict.fromkeys(ids))

        def work(connection: Connection) -> Marked:
            found = [row for page in pages(asked) for row in writing.mark(connection, page, generation)]
            is_closed = dict(found)
            closed = [one for one in asked if is_closed.get(one)]
            for page in pages([one for one in closed if one in live]):
                writing.mark(connection, page, None)
            return Marked([one for one in asked if one not in is_closed], closed)

        # A mark that a crash loses is set again. One that it leaves speaks of vectors which an engine may have deleted.
        return await (self._database.write(work) if generation is None else self._database.note(work))

    async def unmark(self, generation: int) -> int:
        """Clear the mark of every memory that is indexed with this generation."""
        statement = update(memories).where(_COLUMN.generation == generation).values(generation=None)
        return await self._database.write(lambda connection: connection.execute(statement).rowcount)

    async def marked(self, generation: int, *, limit: int, after: UUID | None = None) -> list[UUID]:
        """Return the memories that are marked with this generation, oldest first, from behind one."""

        def work(connection: Connection) -> list[UUID]:
            behind = connection.execute(select(_COLUMN.seq).where(_COLUMN.id == after)).scalar() if after else None
            # One walk along the index of marks, wherever the page begins.
            page = select(_COLUMN.id).where(_COLUMN.generation == generation, _COLUMN.seq > (behind or 0))
            return list(connection.execute(page.order_by(_COLUMN.seq).limit(limit)).scalars())

        return await self._database.read(work)

    async def count_marked(self, generation: int) -> int:
        """Count the memories of every tenant that are marked with this generation."""
        statement = select(func.count()).select_from(memories).where(_COLUMN.generation == generation)
        return await self._database.glance(lambda connection: connection.execute(statement).scalar_one())

    async def marked_of(self, generation: int, ids: Sequence[UUID]) -> list[UUID]:
        """Return those of these that are marked with this generation, in the order asked."""
        return await self._database.read(lambda connection: marked_of(connection, generation, ids))

    async def sample_marked(self, generation: int, *, limit: int) -> list[UUID]:
        """Return some of the memories that are marked with this generation, at random and at most so many."""
        return await self._database.read(lambda connection: sampled(connection, generation, limit))

    async def missing(self, ids: Sequence[UUID]) -> list[UUID]:
        """Return those of these that no tenant has stored, each once, in the order asked."""
        asked = list(dict.fromkeys(ids))

        def work(connection: Connection) -> list[UUID]:
            stored: set[UUID] = set()
            for page in pages(asked):
                stored.update(connection.execute(select(_COLUMN.id).where(_COLUMN.id.in_(page))).scalars())
            return [one for one in asked if one not in stored]

        return await self._database.read(work)

    async def check(self) -> list[str]:
        """Look the store over, thoroughly."""
        faults = await self._database.read(faults_of)
        faults += await self._database.read(checksums.faults_of)
        if self._dialect == "sqlite" and not any("--words" in fault for fault in faults):
            faults += await self._database.rework(words_fault)
        return faults

    async def shut(self) -> None:
        """Let go of files and connections."""
        await self._database.shut()

    def _admitted(self, connection: Connection, filter: Filter, now: datetime) -> ColumnElement[bool]:
        return narrowing.narrow(connection, self._columns, filter, now)

    async def _fetch(self, statement: Select[Any]) -> list[Memory]:
        return await self._database.read(lambda connection: self._reader.fetch(connection, statement))
