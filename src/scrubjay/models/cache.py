"""A cache in front of an embedder: the same question is asked again, and an import repeats itself."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from scrubjay.model import Identity
from scrubjay.ports import Calibrated, Embedder, SharedVectors, stage

if TYPE_CHECKING:
    from scrubjay.ports import Matrix


class Cached:
    """An embedder that remembers the vectors of the texts it met last. Safe to share between tasks and threads.

    What it does not remember, it looks up among those that processes share, if there are such, before it asks the
    embedder behind.
    """

    calibrate: Callable[[float], float]
    """There only when the embedder behind is calibrated, so that this one is if that one is."""

    def __init__(self, embedder: Embedder, *, size: int = 4096, shared: SharedVectors | None = None) -> None:
        self._embedder = embedder
        self._shared = shared
        self._size = size
        self._rows: OrderedDict[tuple[bool, str], Matrix] = OrderedDict()
        self._lock = threading.Lock()
        self.hits = 0
        """Texts whose vector was remembered, or was asked for twice in one call."""
        self.misses = 0
        """Texts whose vector was not remembered here."""
        self.shared = 0
        """Of these, texts whose vector another process had left."""
        if isinstance(embedder, Calibrated):
            self.calibrate = embedder.calibrate

    @property
    def counts(self) -> dict[str, int]:
        """How many texts were remembered, found among what is shared, and embedded, since it was opened."""
        return {"remembered": self.hits, "shared": self.shared, "embedded": self.misses - self.shared}

    @property
    def behind(self) -> Embedder:
        """The embedder whose vectors these are."""
        return self._embedder

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
        with stage("embed", texts=len(texts), question=question) as embedding:
            found = self._recall(texts, question=question)
            missing = [text for text in dict.fromkeys(texts) if text not in found]
            shared = 0
            if missing:
                learnt, shared = await self._learn(missing, question=question)
                found.update(learnt)
                self._keep(learnt, question=question)
            embedding.note(remembered=len(texts) - len(missing), shared=shared, embedded=len(missing) - shared)

        import numpy as np  # noqa: PLC0415  # whoever embeds has imported it by now

        return np.stack([found[text] for text in texts])

    def forget(self, texts: Sequence[str], *, known: Collection[Identity] = ()) -> list[str]:
        """Remember nothing of these texts in this process; return what they are called where other processes look."""
        with self._lock:
            for text in texts:
                self._rows.pop((True, text), None)
                self._rows.pop((False, text), None)
        if self._shared is None:
            return []
        mine = self.identity
        same = {one for one in known if (one.provider, one.model) == (mine.provider, mine.model)}
        return [name for one in {mine, *same} for name in self._shared.names(one, texts)]

    async def remove(self, names: Sequence[str]) -> bool:
        """Remove these from where other processes look. False where none do; raises StoreUnavailable."""
        if self._shared is None:
            return False
        if names:
            await self._shared.remove(names)
        return True

    def clear(self) -> None:
        """Remember nothing at all in this process."""
        with self._lock:
            self._rows.clear()

    async def shut(self) -> None:
        """Forget all vectors, and shut the embedder behind and what is shared."""
        self.clear()
        await self._embedder.shut()
        if self._shared is not None:
            await self._shared.shut()

    async def _learn(self, texts: Sequence[str], *, question: bool) -> "tuple[dict[str, Matrix], int]":
        """The vectors of texts that are not remembered, and how many of them are shared; the rest is the model's."""
        # A model on a server is not known for certain before its first answer tells its dimensions.
        shared = self._shared if self.identity.dimensions else None
        found = await shared.get(self.identity, texts, question=question) if shared is not None else {}
        shared_count = len(found)
        self.shared += shared_count
        missing = [text for text in texts if text not in found]
        if missing:
            rows = await self._embedder.embed(missing, question=question)
            found.update(zip(missing, rows, strict=True))
            if self._shared is not None:
                await self._shared.put(self.identity, missing, rows, question=question)
        return found, shared_count

    def _recall(self, texts: Sequence[str], *, question: bool) -> "dict[str, Matrix]":
        distinct = dict.fromkeys(texts)
        with self._lock:
            found = {text: self._rows[question, text] for text in distinct if (question, text) in self._rows}
            for text in found:
                self._rows.move_to_end((question, text))
            self.misses += len(distinct) - len(found)
            self.hits += len(texts) - len(distinct) + len(found)
        return found

    def _keep(self, rows: "Mapping[str, Matrix]", *, question: bool) -> None:
        with self._lock:
            for text, row in rows.items():
                # A copy: a row of a large batch would keep the whole batch in memory.
                self._rows[question, text] = row.copy()
                self._rows.move_to_end((question, text))
            while len(self._rows) > self._size:
                self._rows.popitem(last=False)
