"""The store of mcp-memory-service, SQLite with sqlite-vec, by the calls that its tools make: a tag for each user."""

from pathlib import Path

import adapters.loadable  # noqa: F401 -- first, see there
import numpy as np
from inhabit import Embedding
from mcp_memory_service.models.memory import Memory
from mcp_memory_service.storage.sqlite_vec import SqliteVecMemoryStorage
from mcp_memory_service.utils.hashing import generate_content_hash


class Given:
    """Its interface of a model, on the vectors that all systems get."""

    def __init__(self, embedding: Embedding) -> None:
        self._embedding = embedding

    def encode(self, texts: list[str], *, convert_to_numpy: bool = True) -> np.ndarray:  # noqa: ARG002 -- the interface has it
        return self._embedding(texts)


class Storage(SqliteVecMemoryStorage):
    given: Given

    async def _initialize_embedding_model(self) -> None:
        self.embedding_model = self.given


class Adapter:
    batch = 1_000

    async def open(self, folder: Path, embedding: Embedding) -> None:
        self._storage = Storage(str(folder / "memory.db"))
        self._storage.given = Given(embedding)
        self._storage.embedding_dimension = embedding.dimensions
        await self._storage.initialize()

    async def add(self, texts: list[str], users: list[str]) -> None:
        told = [memory_of(text, user) for text, user in zip(texts, users, strict=True)]
        require(await self._storage.store_batch(told))

    async def add_one(self, text: str, user: str) -> None:
        # Its check for near duplicates reads every vector, and would refuse some of what everybody else stores.
        require([await self._storage.store(memory_of(text, user), skip_semantic_dedup=True)])

    async def ask(self, question: str, user: str | None) -> list[str]:
        found = await self._storage.retrieve(question, n_results=10, tags=[user] if user else None)
        return [one.memory.content for one in found]

    async def count(self) -> int:
        return await self._storage.count_all_memories()

    async def shut(self) -> None:
        await self._storage.close()


def memory_of(text: str, user: str) -> Memory:
    return Memory(content=text, content_hash=generate_content_hash(text), tags=[user])


def require(stored: list[tuple[bool, str]]) -> None:
    """It reports a failure rather than raising it."""
    for is_stored, message in stored:
        if not is_stored:
            raise RuntimeError(message)
