"""What embedders behind a server have in common."""

import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from scrubjay.errors import Misconfigured
from scrubjay.model import Identity
from scrubjay.models.prompts import prompt_of
from scrubjay.models.server import Server, batches_of

if TYPE_CHECKING:
    from scrubjay.ports import Matrix


class Remote(ABC):
    """An embedder behind a server. Its dimensions are 0 until the first answer, unless they are published.

    Tokens are counted as bytes, which no tokenizer exceeds, so that the window is never overrun unseen.
    """

    provider: str
    path: str

    def __init__(
        self,
        model: str,
        *,
        url: str,
        key: str,
        pause: float,
        timeout: float,
        batch: int,
        window: int,
        dimensions: int,
        remedies: Mapping[int, str],
    ) -> None:
        name = f"{self.provider}:{model}"
        if importlib.util.find_spec("httpx") is None:
            raise Misconfigured(f"The embedder {name} needs the package httpx: pip install 'scrubjay[{self.provider}]'")
        if not (key.isascii() and key.isprintable()):
            raise Misconfigured("SCRUBJAY_EMBEDDER_KEY holds characters that no key has: copy it again")
        self._model = model
        self._window = window
        self._dimensions = dimensions
        self._batch = batch
        self._prompt = prompt_of(model)
        self._server = Server(
            name,
            url=url,
            headers={"authorization": f"Bearer {key}"} if key else {},
            remedies=remedies,
            pause=pause,
            timeout=timeout,
        )

    @property
    def identity(self) -> Identity:
        """The version is that of how the model is asked; servers do not tell theirs."""
        return Identity(provider=self.provider, model=self._model, version="1", dimensions=self._dimensions)

    @property
    def window(self) -> int:
        """As published for models that are known; 512, which nearly all read, for the others."""
        return self._window

    def count(self, texts: Sequence[str]) -> list[int]:
        """Count bytes, the prompt's and two marks included: never fewer than the model's own tokens."""
        return [len(text.encode("utf-8", "replace")) + self._prompt.size + 2 for text in texts]

    async def embed(self, texts: Sequence[str], *, question: bool = False) -> "Matrix":
        """Return one row per text, in order, asking for many at a time."""
        asked = [self._prompt.before(text, question=question) for text in texts]
        found = [
            await self._ask(batch) for batch in batches_of(asked, count=self._batch, characters=self._batch * 2000)
        ]
        return np.concatenate(found) if found else np.zeros((0, self._dimensions), dtype=np.float32)

    async def shut(self) -> None:
        """Close the connections. Embedding again opens them again."""
        await self._server.shut()

    @abstractmethod
    def _body(self, texts: list[str]) -> dict[str, object]:
        """Return what to send for these texts."""

    @abstractmethod
    def _vectors(self, answer: Any) -> object:  # noqa: ANN401  # JSON of another program
        """Take the vectors out of an answer, in the order of the texts. An answer of another shape may raise."""

    async def _ask(self, texts: Sequence[str]) -> "Matrix":
        answer = await self._server.post(self.path, self._body(list(texts)))
        try:
            vectors = self._vectors(answer)
        except (KeyError, TypeError, ValueError) as error:
            raise self._server.failure(
                f"answered {str(answer)[:120]!r}, where no vectors are ({error!r}). Check that it is a server of "
                f"the kind {self.provider}, and SCRUBJAY_EMBEDDER_URL"
            ) from error
        rows = self._server.rows(vectors, texts=len(texts), dimensions=self._dimensions)
        self._dimensions = rows.shape[1]
        return rows
