"""A cache in front of an embedder: the same question is asked again, and an import repeats itself."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from scrubjay.model import Identity
from scrubjay.ports import Calibrated, Embedder

if TYPE_CHECKING:
    from scrubjay.ports import Matrix


class Cached:
    """An embedder that remembers the vectors of the texts it met last. Safe to share between tasks and threads."""

    calibrate: Callable[[float], float]
    """There only when the embedder behind is calibrated, so that this one is if that one is."""

    def __init__(self, embedder: Embedder, *, size: int = 4096) -> None:
        self._embedder = embedder
        self._size = size
        self._rows: OrderedDict[tuple[bool, str], Matrix] = OrderedDict()
        self._lock = threading.Lock()
        self.hits = 0
        """Texts whose vector was remembered, or was asked for twice in one call."""
        self.misses = 0
        """Texts that had to be embedded."""
        if isinstance(embedder, Calibrated):
            self.calibrate = embedder.calibrate

    @property
    def identity(self) -> Identity:
        """That of the embedder behind."""
        return self._embedder.identity

    @property
    def window(self) -> int:
        """That of the embedder behind."""
        return self._embedder.window

    def count(self, texts: Sequence[str]) -> list[int]:
        """Count as the embedder behind does."""
        return self._embedder.count(texts)

    async def embed(self, texts: Sequence[str], *, question: bool = False) -> "Matrix":
        """Return one row per text, in order; only texts that are not remembered are embedded, each once."""
        if not texts:
            return await self._embedder.embed(texts, question=question)
        found = self._recall(texts, question=question)
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        if missing:
            rows = await self._embedder.embed(missing, question=question)
            found.update(zip(missing, rows, strict=True))
            self._keep(missing, rows, question=question)

        import numpy as np  # noqa: PLC0415  # whoever embeds has imported it by now

        return np.stack([found[text] for text in texts])

    async def shut(self) -> None:
        """Forget all vectors and shut the embedder behind."""
        with self._lock:
            self._rows.clear()
        await self._embedder.shut()

    def _recall(self, texts: Sequence[str], *, question: bool) -> "dict[str, Matrix]":
        distinct = dict.fromkeys(texts)
        with self._lock:
            found = {text: self._rows[question, text] for text in distinct if (question, text) in self._rows}
            for text in found:
                self._rows.move_to_end((question, text))
            self.misses += len(distinct) - len(found)
            self.hits += len(texts) - len(distinct) + len(found)
        return found

    def _keep(self, texts: Sequence[str], rows: "Matrix", *, question: bool) -> None:
        with self._lock:
            for text, row in zip(texts, rows, strict=True):
                # A copy: a row of a large batch would keep the whole batch in memory.
                self._rows[question, text] = row.copy()
                self._rows.move_to_end((question, text))
            while len(self._rows) > self._size:
                self._rows.popitem(last=False)
