"""Which tenant each memory is with, in each generation.

Chroma can only be asked about one collection at a time, and every tenant has one for each generation. So that a memory
is found by its id without asking all of them, one more collection has a record for every memory. It is written before
the vectors and deleted after them: it may name a memory that has none, and never misses one that has.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Awaitable, Sequence
from typing import TypeVar
from uuid import UUID

import numpy as np

from scrubjay.backends.vectors.chroma.connection import FIELDS, NO_GRAPH, Connection, NotThere
from scrubjay.backends.vectors.chroma.records import Records, of_memories
from scrubjay.ports import Entry

T = TypeVar("T")


class Whereabouts:
    """Names the collections of a prefix, and remembers which of them a memory is in."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._pattern = re.compile(rf"{re.escape(prefix)}-g(\d+)-[0-9a-f]{{32}}")
        self._name = f"{prefix}-whereabouts"

    def collection(self, generation: int, tenant: str) -> str:
        """The name of a tenant's collection. The tenant is a digest in it: names of collections are short and plain."""
        digest = hashlib.blake2s(tenant.encode(), digest_size=16).hexdigest()
        return f"{self._prefix}-g{generation}-{digest}"

    async def collections(self, connection: Connection, generation: int) -> list[str]:
        """The names of all collections of a generation, a tenant each."""
        return [
            name
            for name in await connection.names()
            if (parts := self._pattern.fullmatch(name)) and int(parts[1]) == generation
        ]

    async def tenants(self, connection: Connection, ids: Sequence[UUID], generation: int) -> dict[str, list[UUID]]:
        """The tenants that these may be with in a generation, each with those."""
        tenants: dict[str, list[UUID]] = defaultdict(list)
        for one, places in (await self._known(connection, ids)).items():
            if generation in places:
                tenants[places[generation]].append(one)
        return tenants

    async def homes(self, connection: Connection, ids: Sequence[UUID]) -> dict[str, list[UUID]]:
        """The collections of all generations that these may be in, each with those."""
        homes: dict[str, list[UUID]] = defaultdict(list)
        for one, places in (await self._known(connection, ids)).items():
            for generation, tenant in places.items():
                homes[self.collection(generation, tenant)].append(one)
        return homes

    async def note(self, connection: Connection, generation: int, entries: Sequence[Entry]) -> None:
        """Write down where these are going to be, and take those that were with another tenant away from there."""
        known = await self._known(connection, [entry.id for entry in entries])
        before = {entry.id: known.get(entry.id, {}).get(generation) for entry in entries}
        moving: dict[str, list[UUID]] = defaultdict(list)
        coming = [entry for entry in entries if before[entry.id] != entry.scope.tenant]
        for entry in coming:
            if (tenant := before[entry.id]) is not None:
                moving[tenant].append(entry.id)
        for tenant, theirs in moving.items():
            await unless_gone(connection.remove(self.collection(generation, tenant), where=of_memories(theirs)))
        if coming:
            await self._write(connection, generation, coming)

    async def forget(self, connection: Connection, ids: Sequence[UUID]) -> None:
        """Delete what is known of these, when they have no vectors any more."""
        await unless_gone(connection.remove(self._name, ids=list(map(str, ids))))

    async def _write(self, connection: Connection, generation: int, entries: Sequence[Entry]) -> None:
        records = Records(
            ids=[str(entry.id) for entry in entries],
            # Other generations have fields of their own, which stay.
            fields=[{f"g{generation}": entry.scope.tenant} for entry in entries],
            # Chroma wants a vector for everything.
            vectors=np.ones((len(entries), 1), dtype=np.float32),
        )
        try:
            await connection.upsert(self._name, records)
        except NotThere:
            await connection.create(self._name, graph=NO_GRAPH, about={"holds": "which tenant a memory is with"})
            await connection.upsert(self._name, records)

    async def _known(self, connection: Connection, ids: Sequence[UUID]) -> dict[UUID, dict[int, str]]:
        """The tenant of each of these, by generation."""
        found = await unless_gone(connection.get(self._name, ids=list(map(str, ids)), include=[FIELDS]))
        if found is None:
            return {}
        return {
            UUID(one): {int(key[1:]): str(tenant) for key, tenant in fields.items()}
            for one, fields in zip(found.ids, found.fields, strict=True)
        }


async def unless_gone(asked: Awaitable[T]) -> T | None:
    """The answer; None where the collection is not there."""
    try:
        return await asked
    except NotThere:
        return None
