"""MemPalace on its `sqlite_exact` backend: a wing for each user, its own ranking of what the vectors find."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
from inhabit import Embedding

os.environ["MEMPALACE_BACKEND"] = "sqlite_exact"

from mempalace import embedding as models
from mempalace.palace import get_collection
from mempalace.searcher import search_memories


def given(embedding: Embedding) -> Callable[..., list[np.ndarray]]:
    """Its interface of a model, on the vectors that all systems get."""

    def embed(input: list[str]) -> list[np.ndarray]:
        return list(embedding(list(input)))

    return embed


class Adapter:
    batch = 1_000

    async def open(self, folder: Path, embedding: Embedding) -> None:
        # It has no way to be given a model: what it would load is exchanged for the vectors that all systems get.
        models.get_embedding_function = lambda *_, **__: given(embedding)
        self._palace = str(folder)
        self._drawers = get_collection(self._palace)
        self._number = 0

    async def add(self, texts: list[str], users: list[str]) -> None:
        self._drawers.add(
            ids=[self._id() for _ in texts],
            documents=texts,
            metadatas=[{"wing": user, "room": "general"} for user in users],
        )

    async def add_one(self, text: str, user: str) -> None:
        await self.add([text], [user])

    async def ask(self, question: str, user: str | None) -> list[str]:
        found = search_memories(question, self._palace, wing=user, n_results=10)
        return [hit["text"] for hit in found["results"]]

    async def count(self) -> int:
        return self._drawers.count()

    async def shut(self) -> None:
        self._drawers.close()

    def _id(self) -> str:
        self._number += 1
        return f"{os.getpid()}-{self._number}"
