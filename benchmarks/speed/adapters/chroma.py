"""Chroma in process, on disk, as `chromadb.PersistentClient` opens it; cosine, as the vectors are meant."""

import itertools
import os
from pathlib import Path

import chromadb
from chromadb.config import Settings
from inhabit import Embedding


class Adapter:
    batch = 1_000

    async def open(self, folder: Path, embedding: Embedding) -> None:
        self._embedding = embedding
        self._client = chromadb.PersistentClient(path=str(folder), settings=Settings(anonymized_telemetry=False))
        self._memories = self._client.get_or_create_collection(
            "memories", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )
        self._ids = (f"{os.getpid()}-{number}" for number in itertools.count(self._memories.count()))

    async def add(self, texts: list[str], users: list[str]) -> None:
        self._memories.add(
            ids=[next(self._ids) for _ in texts],
            embeddings=self._embedding(texts),
            documents=texts,
            metadatas=[{"user": user} for user in users],
        )

    async def add_one(self, text: str, user: str) -> None:
        await self.add([text], [user])

    async def ask(self, question: str, user: str | None) -> list[str]:
        found = self._memories.query(
            query_embeddings=self._embedding([question]),
            n_results=10,
            where={"user": user} if user else None,
            include=["documents", "distances"],
        )
        return found["documents"][0]

    async def count(self) -> int:
        return self._memories.count()

    async def shut(self) -> None:
        self._client.close()
