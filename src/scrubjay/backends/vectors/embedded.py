"""The embedded vector engine: vectors are rows of the record database, searched in this process."""

import asyncio
import shutil
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final
from uuid import UUID

from sqlalchemy import Connection

from scrubjay.backends.aside import Aside
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.derived import remake
from scrubjay.backends.sql.schema import vectors
from scrubjay.backends.sql.types import microseconds
from scrubjay.backends.sql.waiting import Later
from scrubjay.backends.vectors import feeds, rows, signs
from scrubjay.backends.vectors.coded import Question, question
from scrubjay.backends.vectors.keeper import Keeper
from scrubjay.backends.vectors.kept import Files
from scrubjay.backends.vectors.matrix import Matrix
from scrubjay.backends.vectors.partition import Partition
from scrubjay.backends.vectors.unloaded import NARROW, NARROW_MEANWHILE, Loader, loaded, of_scope, of_signs, taken_in
from scrubjay.errors import StoreDamaged, StoreUnavailable
from scrubjay.logs import logger
from scrubjay.model import Filter, Scope
from scrubjay.ports import Entry, Match

if TYPE_CHECKING:
    from scrubjay.ports import Matrix as Numbers

MEMORY: Final = 2 << 30
"""How many bytes the copies in memory may take by default."""

FEWEST_DEAD: Final = 1_000
DEAD: Final = 0.25
"""Dead rows of a copy that do not matter: so many, or this part of all."""

log = logger("vectors")


class EmbeddedVectors:
    """Vectors in the record database, as half floats, with a copy in memory of those tenants that are searched.

    Any number of processes may use one database: each search first asks whether anything changed, which is one tiny
    query, and takes in what did. `memory` bounds the copies; the tenant that was not searched for longest goes first.

    Search is exact up to `signs.MANY` admitted rows. The signs of a tenant with more are kept in `folder`, so that a
    new process answers before it has loaded them: by default beside a SQLite file, and nowhere for PostgreSQL.
    """

    def __init__(self, database: Database, *, folder: Path | None = None, memory: int = MEMORY) -> None:
        self._database = database
        self._memory = memory
        self._partitions: OrderedDict[tuple[int, str], Partition] = OrderedDict()
        self._size = 0
        self._lock = Lock()
        self._aside = Aside()
        path = database.path
        if folder is None and path is not None:
            folder = path.with_name(f"{path.name}.signs")
            # Graphs, which were kept before signs were, are of no use any more, and hold what may have been removed.
            shutil.rmtree(path.with_name(f"{path.name}.graph"), ignore_errors=True)
        self._keeper = Keeper(database, Files(folder), self._aside) if folder else None
        self._loader = Loader(database, self._aside, self._make_room)

    async def upsert(self, generation: int, entries: Sequence[Entry]) -> None:
        """Store the entries in this generation; an entry whose id is there replaces it whole."""
        if entries:
            await self._database.note(lambda connection: rows.put(connection, generation, entries))

    async def retire(self, ids: Sequence[UUID]) -> None:
        """Note in every generation that these are not live any more."""
        if ids:
            await self._database.note(lambda connection: rows.retire(connection, ids))

    async def remove(self, ids: Sequence[UUID]) -> None:
        """Delete these from every generation, for good."""
        if ids:
            tenants = await self._database.note(lambda connection: rows.bury(connection, ids))
            if self._keeper is not None:
                await asyncio.to_thread(self._keeper.forget, tenants=tenants)

    async def search(
        self,
        generation: int,
        vector: "Numbers",
        filter: Filter,
        *,
        now: datetime,
        limit: int,
        among: Sequence[UUID] | None = None,
    ) -> list[Match]:
        """Return the nearest memories, best first, each once, with its best part."""
        asked = question(vector)
        at = microseconds(now)
        return await self._database.read(
            lambda connection: self._search(connection, generation, asked, filter, now=at, limit=limit, among=among)
        )

    async def count(self, generation: int) -> int:
        """Count the memories that have vectors in this generation."""
        return await self._database.read(lambda connection: rows.count(connection, generation))

    async def missing(self, generation: int, ids: Sequence[UUID]) -> list[UUID]:
        """Return those of these that have no vector in this generation, in the order asked."""
        return await self._database.read(lambda connection: rows.missing(connection, generation, ids))

    async def traces(self, ids: Sequence[UUID]) -> int:
        """Count how many of these have any vector in any generation."""
        return await self._database.read(lambda connection: rows.traces(connection, ids))

    async def entries(self, generation: int, ids: Sequence[UUID]) -> list[Entry]:
        """Return the entries of these in this generation, in the order asked. Those without vectors are left out."""
        return await self._database.read(lambda connection: rows.entries(connection, generation, ids))

    async def ids(self, generation: int, *, limit: int, after: UUID | None = None) -> list[UUID]:
        """Return the memories that have vectors in this generation, in the order of their ids, from behind one."""
        return await self._database.read(lambda connection: rows.ids(connection, generation, limit=limit, after=after))

    async def drop(self, generation: int) -> None:
        """Delete a whole generation."""
        try:
            await self._database.note(lambda connection: rows.sweep(connection, vectors.c.generation == generation))
        except StoreDamaged:
            await remake(self._database, rows.make_again)
        if self._keeper is not None:
            await asyncio.to_thread(self._keeper.forget, generation=generation)

    async def shut(self) -> None:
        """Stop loading, and let go of what is held in memory. The database is its owner's to close."""
        await asyncio.to_thread(self._aside.shut)
        with self._lock:
            self._partitions.clear()
            self._size = 0

    def _search(
        self,
        connection: Connection,
        generation: int,
        asked: Question,
        filter: Filter,
        *,
        now: int,
        limit: int,
        among: Sequence[UUID] | None,
    ) -> list[Match]:
        partition = self._partition(generation, filter.scope.tenant)
        with partition.lock:
            matrix = self._refreshed(connection, partition, asked, filter, now=now, limit=limit, among=among)
            # Chosen under the lock, scored outside it: a search does not wait for another one's arithmetic.
            if among is not None:
                slots = matrix.slots_of(among)
                slots = slots[matrix.admits(filter, slots, now=None)]
            else:
                slots = matrix.chosen(filter, now=now)
            if self._keeper is not None and matrix is partition.matrix and len(matrix.signs):
                self._keeper.look(connection, partition, matrix)
        return matrix.nearest(asked, slots, limit)

    def _partition(self, generation: int, tenant: str) -> Partition:
        key = (generation, tenant)
        with self._lock:
            partition = self._partitions.get(key)
            if partition is None:
                partition = self._partitions[key] = Partition(generation, tenant)
                self._weigh(partition)
            self._partitions.move_to_end(key)
            return partition

    def _refreshed(
        self,
        connection: Connection,
        partition: Partition,
        asked: Question,
        filter: Filter,
        *,
        now: int,
        limit: int,
        among: Sequence[UUID] | None,
    ) -> Matrix:
        """The matrix to search in, with every change that was committed when the search began."""
        change, epoch, history = rows.state(connection)
        if partition.history != history:
            partition.begin_anew(history)
        matrix, dimensions = partition.matrix, len(asked.exact)
        if matrix is None or partition.epoch < epoch or (not len(matrix) and matrix.dimensions != dimensions):
            whole = Filter(scope=Scope(tenant=partition.tenant))
            if feeds.crowd(connection, partition.generation, whole, most=NARROW + 1) > NARROW:
                few = self._few(connection, partition, asked, filter, now=now, limit=limit, among=among)
                if few is not None:
                    return few
                log.info("a search waits until the vectors of its tenant are loaded", tenant=partition.tenant)
                raise Later(self._loader.start(partition, dimensions))
            matrix = partition.matrix = loaded(connection, partition, dimensions)
            partition.change, partition.epoch = change, epoch
            self._make_room(partition)
        if partition.change < change:
            feed = feeds.changes(connection, partition.generation, partition.tenant, after=partition.change)
            taken_in(connection, matrix, feed)
            partition.change = change
            if matrix.dead > max(FEWEST_DEAD, DEAD * len(matrix)):
                partition.matrix = matrix = matrix.compacted()
            self._make_room(partition)
        matrix.check_dimensions(dimensions)
        return matrix

    def _few(
        self,
        connection: Connection,
        partition: Partition,
        asked: Question,
        filter: Filter,
        *,
        now: int,
        limit: int,
        among: Sequence[UUID] | None,
    ) -> Matrix | None:
        """The few rows that can answer, when few can; None when the tenant has to be loaded first."""
        dimensions = len(asked.exact)
        if partition.is_large is None:
            whole = Filter(scope=Scope(tenant=partition.tenant))
            partition.is_large = feeds.crowd(connection, partition.generation, whole, most=signs.MANY) == signs.MANY
        if partition.patience == 0 and not partition.is_large:
            return None
        few: Matrix | None = None
        most = NARROW_MEANWHILE if partition.is_large else NARROW
        feed = of_scope(connection, partition, filter, among, most=most)
        if feed is not None:
            few = taken_in(connection, Matrix(dimensions), feed)
        elif partition.is_large and among is None and self._keeper is not None:
            if partition.kept is None:
                partition.kept = self._keeper.find(partition, rows.state(connection), dimensions=dimensions)
            if partition.kept is not None:
                few = of_signs(connection, partition, partition.kept, asked, filter, now=now, limit=limit)
        if few is not None and partition.patience:
            partition.patience -= 1
        elif few is not None:
            with suppress(StoreUnavailable):  # No thread is to be had: this search is answered anyway.
                self._loader.start(partition, dimensions)
        return few

    def _make_room(self, newest: Partition) -> None:
        """Let go of the tenants that were not searched for longest, until the rest fits."""
        with self._lock:
            if self._partitions.get((newest.generation, newest.tenant)) is newest:
                self._weigh(newest)

    def _weigh(self, newest: Partition) -> None:
        """Count what it takes by now, and let others go for it. The caller holds the lock.

        Each is counted when it changes: to ask all of many thousands would take longer than a search does.
        """
        before, newest.counted = newest.counted, newest.size
        self._size += newest.counted - before
        while self._size > self._memory and len(self._partitions) > 1:
            key, oldest = next(iter(self._partitions.items()))
            if oldest is newest:  # It has been loaded for so long that all others were searched since.
                self._partitions.move_to_end(key)
            else:
                self._size -= oldest.counted
                del self._partitions[key]
