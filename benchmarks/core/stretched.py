"""The bundled model, made to last: vectors for far more texts than there is time to embed."""

import numpy as np
from rich.console import Console
from rich.progress import track

from scrubjay.ports import Embedder

REAL = 10_000
"""Texts that are really embedded."""


class Stretched:
    """The bundled model, but texts after the first ten thousand get the vector of an earlier one, moved a little.

    Embedding 100,000 texts would take most of the benchmark's time and tell nothing about recall. Questions are always
    embedded by the model.
    """

    def __init__(self, model: Embedder) -> None:
        self._model = model
        self.known: dict[str, np.ndarray] = {}
        self.identity, self.window, self.count, self.shut = model.identity, model.window, model.count, model.shut

    async def learn(self, texts: list[str]) -> None:
        chance = np.random.default_rng(0)
        real = texts[:REAL]
        for start in track(range(0, len(real), 500), "embedding", console=Console(stderr=True), transient=True):
            vectors = await self._model.embed(real[start : start + 500])
            self.known.update(zip(real[start : start + 500], vectors, strict=True))
        for place, text in enumerate(texts[REAL:]):
            moved = self.known[real[place % REAL]] + chance.normal(0, 0.03, self.identity.dimensions)
            self.known[text] = (moved / np.linalg.norm(moved)).astype(np.float32)

    async def embed(self, texts, *, question=False):
        if not question and all(text in self.known for text in texts):
            return np.array([self.known[text] for text in texts])
        return await self._model.embed(texts, question=question)
