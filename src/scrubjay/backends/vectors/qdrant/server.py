"""One Qdrant server, in the verbs that the store needs. Nothing but this, `points` and `trouble` knows the driver."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar
from uuid import UUID

import httpx
from qdrant_client import AsyncQdrantClient, grpc, models
from qdrant_client.conversions.conversion import RestToGrpc

from scrubjay.backends.vectors.qdrant import points
from scrubjay.backends.vectors.qdrant.place import GRPC_PORT, PORT, Place
from scrubjay.backends.vectors.qdrant.trouble import DRIVER_ERRORS, AlreadyThere, NotThere, is_lost, meaning
from scrubjay.errors import ScrubjayError, StoreUnavailable
from scrubjay.model import Filter
from scrubjay.ports import Entry, Match

if TYPE_CHECKING:
    from scrubjay.ports import Matrix

T = TypeVar("T")

PROBE_SECONDS: Final = 1.0
PAGE: Final = 500
OVERSAMPLING: Final = 2.0
"""How many times as many candidates a quantized search scores again."""

_GRPC_OPTIONS: Final = {
    # A server that was restarted is found again at once, not after minutes.
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.min_reconnect_backoff_ms": 1_000,
    "grpc.max_reconnect_backoff_ms": 1_000,
}


class Server:
    """A connection that is open. Every verb can be repeated; each raises StoreUnavailable when there is no answer.

    A collection that is not there holds nothing, so reading from it or clearing it is no trouble.
    """

    def __init__(self, place: Place, *, grpc_port: int | None) -> None:
        self._place = place
        self.speaks_grpc = grpc_port is not None
        self._client = AsyncQdrantClient(
            url=place.rest_url,
            grpc_port=grpc_port or GRPC_PORT,
            prefer_grpc=self.speaks_grpc,
            api_key=place.key or None,
            timeout=place.timeout,
            grpc_options=dict(_GRPC_OPTIONS),
            # It warns when the versions of client and server are apart, and means nothing that is used here.
            check_compatibility=False,
            limits=httpx.Limits(max_connections=32, max_keepalive_connections=8),
            # Compressed answers come in pieces, and on a kept connection the second waits for up to 40 ms.
            metadata={"Accept-Encoding": "identity"},
        )

    @classmethod
    async def reach(cls, place: Place) -> Self:
        """Connect by gRPC where its port is known or found, by REST otherwise."""
        if place.grpc_port is not None:
            return cls(place, grpc_port=place.grpc_port)
        # Behind another port of REST there may be another server than behind the usual port of gRPC.
        if place.port == PORT:
            server = cls(place, grpc_port=GRPC_PORT)
            if await server.answers():
                return server
            await server.close()
        server = cls(place, grpc_port=None)
        try:
            # Else a server that is down now would be asked by REST for ever after.
            await server.ask(server._client.info)
        except NotThere as error:
            await server.close()
            raise StoreUnavailable(f"{place.name} is no Qdrant: {error}. Check SCRUBJAY_VECTORS") from error
        except ScrubjayError:
            await server.close()
            raise
        return server

    async def answers(self) -> bool:
        """Whether it answers soon."""
        try:
            await asyncio.wait_for(self._client.info(), PROBE_SECONDS)
        except (*DRIVER_ERRORS, TimeoutError):
            return False
        return True

    async def ping(self) -> None:
        """Return as soon as it answers."""
        await self.ask(self._client.info)

    async def close(self) -> None:
        """Let go of the connections."""
        await self._client.close()

    async def names(self) -> list[str]:
        """All collections, of whatever prefix."""
        found = await self.ask(self._client.get_collections)
        return [one.name for one in found.collections]

    async def aliases(self) -> dict[str, str]:
        """Every alias, and the collection it stands for."""
        found = await self.ask(self._client.get_aliases)
        return {one.alias_name: one.collection_name for one in found.aliases}

    async def create(self, name: str, *, dimensions: int) -> None:
        """Make a collection, unless somebody else has."""
        with contextlib.suppress(AlreadyThere):
            await self.ask(
                lambda: self._client.create_collection(
                    name,
                    vectors_config=models.VectorParams(size=dimensions, distance=models.Distance.COSINE),
                    shard_number=self._place.shards,
                    replication_factor=self._place.replicas,
                    quantization_config=_int8() if self._place.quantized else None,
                )
            )

    async def index(self, name: str) -> None:
        """Make the indexes of a collection, as many as are missing."""
        with contextlib.suppress(NotThere):
            made = (await self.ask(lambda: self._client.get_collection(name))).payload_schema
            for field in points.INDEXES.keys() - made.keys():
                await self._index(name, field, points.INDEXES[field])

    async def condition(self, name: str) -> tuple[str, set[str]]:
        """The colour that the server gives a collection, and the fields that have no index."""
        found = await self._if_there(lambda: self._client.get_collection(name))
        return (found.status.value, set(points.INDEXES) - found.payload_schema.keys()) if found else ("green", set())

    async def size(self, name: str) -> int | None:
        """How many dimensions the vectors of a collection have; None where it is not there, or has them by names."""
        found = await self._if_there(lambda: self._client.get_collection(name))
        vectors = found.config.params.vectors if found is not None else None
        return vectors.size if isinstance(vectors, models.VectorParams) else None

    async def version(self) -> str:
        """The server's own."""
        return (await self.ask(self._client.info)).version

    async def _index(self, name: str, field: str, schema: models.PayloadSchemaParams) -> None:
        await self.ask(lambda: self._client.create_payload_index(name, field, field_schema=schema, wait=True))

    async def point(self, alias: str, name: str) -> bool:
        """Let the alias stand for this collection, from one moment to the next. False when it is not there."""
        create = models.CreateAlias(collection_name=name, alias_name=alias)
        operations = [models.CreateAliasOperation(create_alias=create)]
        return await self._if_there(lambda: self._client.update_collection_aliases(operations)) is not None

    async def delete(self, name: str) -> None:
        """Delete a collection, and the aliases that stand for it."""
        await self._if_there(lambda: self._client.delete_collection(name))

    async def store(self, name: str, entries: Sequence[Entry]) -> bool:
        """Store these whole; every search after sees them. False when the collection is not there."""
        for operations in points.replacing(entries):
            if not await self._change(name, operations):
                return False
        return True

    async def _change(self, name: str, operations: Sequence[models.UpdateOperation]) -> bool:
        done = await self._if_there(lambda: self._client.batch_update_points(name, operations, wait=True))
        return done is not None

    async def retire(self, name: str, ids: Sequence[UUID]) -> None:
        """Note on every part of these that it is not live."""
        which = points.of_memories(ids)
        await self._if_there(lambda: self._client.set_payload(name, payload={"live": False}, points=which, wait=True))

    async def remove(self, name: str, ids: Sequence[UUID]) -> None:
        """Delete every part of these."""
        which = models.FilterSelector(filter=points.of_memories(ids))
        await self._if_there(lambda: self._client.delete(name, points_selector=which, wait=True))

    async def nearest(
        self,
        name: str,
        vector: "Matrix",
        filter: Filter,
        *,
        now: datetime,
        limit: int,
        among: Sequence[UUID] | None,
    ) -> tuple[int, Iterator[Match]]:
        """How many parts are near that the filter admits, and they, best first; a memory may come several times."""
        condition = points.admitted(filter, now=now, among=among)
        quantization = models.QuantizationSearchParams(rescore=True, oversampling=OVERSAMPLING)
        params = models.SearchParams(
            # So few can all be compared, and a graph could not find them any quicker.
            exact=among is not None,
            quantization=quantization if self._place.quantized and among is None else None,
        )
        if self.speaks_grpc:
            return await self._nearest(name, vector, condition, params, limit)
        found = await self._if_there(
            lambda: self._client.query_points(
                name,
                query=vector.tolist(),
                query_filter=condition,
                search_params=params,
                limit=limit,
                with_payload=points.FOUND,
            ),
        )
        return (len(found.points), map(points.match_of, found.points)) if found else (0, iter(()))

    async def _nearest(
        self, name: str, vector: "Matrix", condition: models.Filter, params: models.SearchParams, limit: int
    ) -> tuple[int, Iterator[Match]]:
        """The same in the words of gRPC: the driver's way there and back takes longer than the server's search."""
        asked = grpc.QueryPoints(
            collection_name=name,
            query=grpc.Query(nearest=grpc.VectorInput(dense=grpc.DenseVector(data=vector.tolist()))),
            filter=RestToGrpc.convert_filter(condition),
            params=RestToGrpc.convert_search_params(params),
            limit=limit,
            with_payload=grpc.WithPayloadSelector(include=grpc.PayloadIncludeSelector(fields=points.FOUND)),
        )
        found = await self._if_there(lambda: self._client.grpc_points.Query(asked, timeout=self._place.timeout))
        return (len(found.result), map(points.match_in, found.result)) if found else (0, iter(()))

    async def count(self, name: str) -> int:
        """How many memories have a first part."""
        condition = points.first_parts()
        counted = await self._if_there(lambda: self._client.count(name, count_filter=condition, exact=True))
        return counted.count if counted else 0

    async def known(self, name: str, ids: Sequence[UUID]) -> set[UUID]:
        """Those of these that have a first part."""
        asked = {points.point_id(one, 0): one for one in ids}
        found = await self._if_there(
            lambda: self._client.retrieve(name, ids=list(asked), with_payload=False, with_vectors=False)
        )
        return {asked[str(one.id)] for one in found or ()}

    async def traced(self, name: str, ids: Sequence[UUID]) -> set[UUID]:
        """Those of these that have any part at all."""
        return {points.memory_of(one) async for one in self._parts(name, ids, with_payload=["memory"])}

    async def memories(self, name: str, *, limit: int, after: UUID | None) -> list[UUID]:
        """The memories that have a first part, in the order of the ids of those points, from behind one."""
        last = points.point_id(after, 0) if after is not None else None
        # A page begins with the point that it is asked to begin with, which may be gone by now.
        page = await self._if_there(
            lambda: self._client.scroll(
                name,
                scroll_filter=points.first_parts(),
                limit=limit + 1 if last is not None else limit,
                offset=last,
                with_payload=["memory"],
            )
        )
        found = [points.memory_of(one) for one in page[0] if str(one.id) != last] if page is not None else []
        return found[:limit]

    async def entries(self, name: str, ids: Sequence[UUID]) -> list[Entry]:
        """The entries of these, in any order, as they were stored."""
        parts = [one async for one in self._parts(name, ids, with_payload=True, with_vectors=True)]
        return points.entries_of(parts)

    async def _parts(self, name: str, ids: Sequence[UUID], **options: Any) -> AsyncIterator[models.Record]:  # noqa: ANN401 -- what to bring back, in the driver's words
        """Every part of these, a page at a time."""
        asked = partial(self._client.scroll, name, scroll_filter=points.of_memories(ids), limit=PAGE, **options)
        after: Any = None
        while True:
            page = await self._if_there(partial(asked, offset=after))
            if page is None:
                return
            for one in page[0]:
                yield one
            after = page[1]
            if after is None:
                return

    async def _if_there(self, call: Callable[[], Awaitable[T]]) -> T | None:
        """Call the driver; None where the collection is not there."""
        try:
            return await self.ask(call)
        except NotThere:
            return None

    async def ask(self, call: Callable[[], Awaitable[T]]) -> T:
        """Call the driver, once more when the connection was lost, and turn its errors into ours."""
        try:
            # Both together: the driver's own limit is for each, and for each part of it.
            async with asyncio.timeout(self._place.timeout):
                try:
                    return await call()
                except DRIVER_ERRORS as error:
                    if not is_lost(error):
                        raise
                # Connections that a restarted server has forgotten fail once, and are new the next time.
                await asyncio.sleep(random.uniform(0.05, 0.2))  # noqa: S311 -- not for secrecy
                return await call()
        except (*DRIVER_ERRORS, TimeoutError) as error:
            raise meaning(error, self._place) from error


def _int8() -> models.ScalarQuantization:
    config = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, quantile=0.99, always_ram=True)
    return models.ScalarQuantization(scalar=config)
