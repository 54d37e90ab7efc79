"""Any model of the library sentence-transformers, from a folder or from its hub."""

import asyncio
import importlib.util
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from scrubjay.errors import EmbedderUnavailable, Misconfigured
from scrubjay.model import Identity
from scrubjay.models.prompts import prompt_of
from scrubjay.models.vectors import unit

if TYPE_CHECKING:
    from scrubjay.ports import Matrix

BATCH = 32


class SentenceTransformers:
    """An embedder on a local model of that library. Its dimensions are 0 until it has embedded something.

    `window` and `count` need the model too, and load it.
    """

    def __init__(self, model: str) -> None:
        if importlib.util.find_spec("sentence_transformers") is None:
            raise Misconfigured(
                f"The embedder sentence-transformers:{model} needs that package: "
                "pip install 'scrubjay[sentence-transformers]'"
            )
        self._model = model
        self._prompt = prompt_of(model)
        self._dimensions = 0
        self._lock = threading.Lock()
        self._loaded: Any = None

    @property
    def identity(self) -> Identity:
        """The version is that of how the model is asked."""
        return Identity(provider="sentence-transformers", model=self._model, version="1", dimensions=self._dimensions)

    @property
    def window(self) -> int:
        """As the model says; 512 when it does not."""
        return int(self._load().max_seq_length or 512)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Count with the model's own tokenizer, and the bytes of its prompt on top."""
        if not texts:
            return []
        tokenized = self._load().tokenizer(list(texts), truncation=False, verbose=False)
        return [len(ids) + self._prompt.size for ids in tokenized["input_ids"]]

    async def embed(self, texts: Sequence[str], *, question: bool = False) -> "Matrix":
        """Return one row per text, in order, a batch at a time on a worker thread."""
        asked = [self._prompt.before(text, question=question) for text in texts]
        found = [
            await asyncio.to_thread(self._embed, asked[start : start + BATCH]) for start in range(0, len(asked), BATCH)
        ]
        return np.concatenate(found) if found else np.zeros((0, self._dimensions), dtype=np.float32)

    async def shut(self) -> None:
        """Let go of the model. Embedding again loads it again."""
        with self._lock:
            self._loaded = None

    def _embed(self, texts: Sequence[str]) -> "Matrix":
        model = self._load()
        # Its models are not all safe to run from two threads at once.
        with self._lock:
            rows = model.encode(list(texts), batch_size=BATCH, convert_to_numpy=True, show_progress_bar=False)
        self._dimensions = rows.shape[1]
        return unit(np.asarray(rows, dtype=np.float32))

    def _load(self) -> Any:  # noqa: ANN401  # that library may not be there to take types from
        with self._lock:
            if self._loaded is None:
                self._loaded = self._open()
            return self._loaded

    def _open(self) -> Any:  # noqa: ANN401  # the same
        # Here, because it brings torch.
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415  # on first use

        try:
            return SentenceTransformer(self._model)
        except (OSError, ValueError, RuntimeError) as error:
            raise EmbedderUnavailable(
                f"The embedder sentence-transformers:{self._model} cannot be loaded ({error}). Check the model's name, "
                "or give the path of a folder that holds it"
            ) from error
