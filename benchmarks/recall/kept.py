"""Vectors kept in a file, so that a second run does not embed the same texts again. Questions are always embedded."""

import hashlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from scrubjay.model import Identity
from scrubjay.ports import Embedder

BATCH = 512
"""Texts that are embedded before their vectors are kept: what is killed loses no more than these."""


class Kept:
    """An embedder whose vectors of stored texts are kept. A question costs what it costs a user."""

    def __init__(self, embedder: Embedder, path: Path | None) -> None:
        self._embedder = embedder
        self._rows = sqlite3.connect(path or ":memory:", isolation_level=None, check_same_thread=False)
        self._rows.execute("CREATE TABLE IF NOT EXISTS vectors (text BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")

    @property
    def identity(self) -> Identity:
        """That of the model behind."""
        return self._embedder.identity

    @property
    def window(self) -> int:
        """That of the model behind."""
        return self._embedder.window

    def count(self, texts: Sequence[str]) -> list[int]:
        """Count as the model behind does."""
        return self._embedder.count(texts)

    def calibrate(self, cosine: float) -> float:
        """On the scale of the model behind."""
        return self._embedder.calibrate(cosine)

    async def embed(self, texts: Sequence[str], *, question: bool = False) -> np.ndarray:
        """Return one row per text, in order."""
        if question:
            return await self._embedder.embed(texts, question=True)
        names = [self._name(text) for text in texts]
        missing = [text for text, name in zip(texts, names, strict=True) if self._found(name) is None]
        # Of like length together, so that little is padded.
        missing = sorted(dict.fromkeys(missing), key=len)
        for start in range(0, len(missing), BATCH):
            batch = missing[start : start + BATCH]
            vectors = np.asarray(await self._embedder.embed(batch), dtype=np.float32)
            rows = [(self._name(text), vector.tobytes()) for text, vector in zip(batch, vectors, strict=True)]
            self._rows.execute("BEGIN")
            self._rows.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)
            self._rows.execute("COMMIT")
        return np.stack([np.frombuffer(self._found(name) or b"", dtype=np.float32) for name in names])

    async def shut(self) -> None:
        """Let go of the model and of the file."""
        await self._embedder.shut()
        self._rows.close()

    def _found(self, name: bytes) -> bytes | None:
        row = self._rows.execute("SELECT vector FROM vectors WHERE text = ?", (name,)).fetchone()
        return row[0] if row else None

    def _name(self, text: str) -> bytes:
        return hashlib.blake2b(f"{self.identity}\0{text}".encode(), digest_size=16).digest()
