"""Vectors that processes share, so that a text is embedded once for all of them."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import quote

from scrubjay.backends.breaker import Breaker
from scrubjay.backends.redis.connection import PREFIX, Client, RedisConnection
from scrubjay.errors import StoreUnavailable
from scrubjay.model import Identity

if TYPE_CHECKING:
    from scrubjay.ports import Matrix

T = TypeVar("T")

WITHIN: Final = 0.25
"""Seconds that a look may take. Whoever waits for longer could have asked the model."""
KEPT_SECONDS: Final = 7 * 24 * 3_600
MOST_WRITES: Final = 16
"""Batches that may be on their way to Redis at once. What comes while there are so many is not kept."""


def vector_key(identity: Identity, text: str, *, question: bool) -> str:
    """Where the vector of a text is: by model and kind, and by a digest that does not give the text away."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()
    kind = "question" if question else "document"
    return f"{PREFIX}:embedding:{quote(str(identity), safe='@/')}:{kind}:{digest}"


class RedisVectorCache:
    """Vectors in Redis, each for a week. Satisfies SharedVectors: when Redis is away or slow, nothing is found."""

    def __init__(
        self, connection: RedisConnection, *, within: float = WITHIN, kept_seconds: int = KEPT_SECONDS
    ) -> None:
        self._connection = connection
        self._within = within
        self._kept_seconds = kept_seconds
        # Less patient than others who use this Redis, so it must not close the way for them.
        self._breaker = Breaker("embedding cache", most_pause=1.0)
        self._writes: set[asyncio.Task[None]] = set()
        self.hits = 0
        """Texts whose vector was there."""
        self.misses = 0
        """Texts whose vector was not, also because Redis could not be asked."""

    async def get(self, identity: Identity, texts: Sequence[str], *, question: bool) -> "dict[str, Matrix]":
        """Return the vectors that are there, by text."""
        keys = [vector_key(identity, text, question=question) for text in texts]
        try:
            values = await self._call(lambda client: self._read(client, keys), within=self._within)
        except StoreUnavailable:
            values = [None] * len(texts)
        found = {
            text: row
            for text, value in zip(texts, values, strict=True)
            if (row := _row(value, identity.dimensions)) is not None
        }
        self.hits += len(found)
        self.misses += len(texts) - len(found)
        return found

    async def put(self, identity: Identity, texts: Sequence[str], rows: "Matrix", *, question: bool) -> None:
        """Keep these for others. Returns at once; what cannot be written soon is not kept."""
        if len(self._writes) >= MOST_WRITES or self._breaker.is_open:
            return
        values = {
            vector_key(identity, text, question=question): row.astype("<f4").tobytes()
            for text, row in zip(texts, rows, strict=True)
        }
        task = asyncio.get_running_loop().create_task(self._write(values), name="scrubjay-embedding-cache")
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)

    def names(self, identity: Identity, texts: Sequence[str]) -> list[str]:
        """Say what the vectors of these texts are called here, of either kind."""
        return [vector_key(identity, text, question=question) for text in texts for question in (True, False)]

    async def remove(self, names: Sequence[str]) -> None:
        """Keep nothing under these names. Raises StoreUnavailable when that is not certain."""
        await self._finish_writes()
        await self._connection.call(lambda client: self._delete(client, names))

    async def shut(self) -> None:
        """Finish what is being written, within bounds, and close the connection. Safe to call twice."""
        await self._finish_writes()
        await self._connection.shut()

    async def _finish_writes(self) -> None:
        if self._writes:
            await asyncio.wait(set(self._writes), timeout=4 * self._within)

    async def _call(self, work: Callable[[Client], Awaitable[T]], *, within: float) -> T:
        if self._connection.breaker.is_open:
            raise StoreUnavailable(f"{self._connection.name} is known to be down")
        return await self._connection.call(work, within=within, breaker=self._breaker)

    async def _read(self, client: Client, keys: Sequence[str]) -> list[bytes | None]:
        if not self._connection.is_cluster:
            found: list[bytes | None] = await client.mget(keys)
            return found
        # The keys of one question are spread over the nodes, and each is asked for its own.
        async with client.pipeline(transaction=False) as pipeline:
            for key in keys:
                pipeline.get(key)
            answers: list[bytes | None] = await pipeline.execute()
        return answers

    async def _write(self, values: dict[str, bytes]) -> None:
        async def write(client: Client) -> None:
            async with client.pipeline(transaction=False) as pipeline:
                for key, value in values.items():
                    pipeline.set(key, value, ex=self._kept_seconds)
                await pipeline.execute()

        try:
            # Nobody waits for this, so it may take a while.
            await self._call(write, within=self._connection.timeout)
        except StoreUnavailable:
            return  # The breaker has said so, once.

    async def _delete(self, client: Client, keys: Sequence[str]) -> None:
        async with client.pipeline(transaction=False) as pipeline:
            for key in keys:
                pipeline.delete(key)
            await pipeline.execute()


def _row(value: bytes | None, dimensions: int) -> "Matrix | None":
    """The vector in these bytes; None when there are none, or they cannot be one of this model."""
    if value is None or len(value) != 4 * dimensions:
        return None
    import numpy as np  # noqa: PLC0415  # whoever has vectors has imported it by now

    row = np.frombuffer(value, dtype="<f4").astype(np.float32)
    return row if np.isfinite(row).all() else None
