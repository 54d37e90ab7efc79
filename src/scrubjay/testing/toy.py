"""An embedder small enough to read: for tests of everything around the model."""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from scrubjay.model import Identity
from scrubjay.model.words import words_of

if TYPE_CHECKING:
    from scrubjay.ports import Matrix


class ToyEmbedder:
    """Adds up one fixed random direction per word, so that texts sharing words are similar. No I/O, no model."""

    def __init__(self, *, dimensions: int = 64, window: int = 256, version: str = "1") -> None:
        self._identity = Identity(provider="toy", model="words", version=version, dimensions=dimensions)
        self._window = window

    @property
    def identity(self) -> Identity:
        """Which model this is; another `version` is another model, with directions of its own."""
        return self._identity

    @property
    def window(self) -> int:
        """How many words of one text it is asked to read."""
        return self._window

    def count(self, texts: Sequence[str]) -> list[int]:
        """Count the words of each text."""
        return [len(words_of(text)) for text in texts]

    async def embed(self, texts: Sequence[str], *, question: bool = False) -> "Matrix":  # noqa: ARG002 -- the port's shape
        """Return one row per text, in order."""
        rows = np.zeros((len(texts), self._identity.dimensions), dtype=np.float32)
        for place, text in enumerate(texts):
            # A text without words still has a direction: that of itself.
            row = np.sum([self._direction(word) for word in words_of(text) or [text]], axis=0)
            rows[place] = row / np.linalg.norm(row)
        return rows

    async def shut(self) -> None:
        """There is nothing to let go of."""

    def _direction(self, word: str) -> "Matrix":
        return _direction(f"{self._identity.version} {word}", self._identity.dimensions)


@lru_cache(maxsize=4096)  # To begin a series of random numbers takes longer than all the rest.
def _direction(word: str, dimensions: int) -> "Matrix":
    seed = crc32(word.encode(errors="surrogatepass"))
    return np.random.default_rng(seed).standard_normal(dimensions, dtype=np.float32)
