"""Scrubjay on one file, as `scrubjay.open_async` opens it."""

from pathlib import Path

import numpy as np
from inhabit import Embedding

import scrubjay
from scrubjay.models import embedder_of
from scrubjay.settings import read_settings
from scrubjay.wiring import wire


class LookedUp:
    """Says that it is the model whose vectors it knows, so that the model itself can open the same store later."""

    def __init__(self, embedding: Embedding) -> None:
        self._model = model = embedder_of(embedding.name)
        self.identity, self.window = model.identity, model.window
        self.calibrate = model.calibrate
        self._embedding = embedding

    def count(self, texts: list[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    async def embed(self, texts: list[str], *, question: bool = False) -> np.ndarray:
        # What nobody foresaw costs what the model takes, once, and ends no run.
        if missing := [text for text in texts if not self._embedding.knows(text)]:
            self._embedding.learn(missing, await self._model.embed(missing, question=question))
        return self._embedding(texts)

    async def shut(self) -> None:
        await self._model.shut()


class Adapter:
    batch = 1_000

    async def open(self, folder: Path, embedding: Embedding) -> None:
        if embedding.is_looked_up:
            self._jay = wire(read_settings(home=folder), embedder=LookedUp(embedding))
        else:
            self._jay = scrubjay.open_async(folder, embedder=embedding.name)
        await self._jay.start()

    async def add(self, texts: list[str], users: list[str]) -> None:
        await self._jay.remember_many(
            [{"content": text, "user": user} for text, user in zip(texts, users, strict=True)]
        )

    async def add_one(self, text: str, user: str) -> None:
        await self._jay.remember(text, user=user)

    async def ask(self, question: str, user: str | None) -> list[str]:
        hits = await self._jay.recall(question, user=user) if user else await self._jay.recall(question)
        return [hit.memory.content for hit in hits]

    async def count(self) -> int:
        return await self._jay.count()

    async def shut(self) -> None:
        await self._jay.close()
