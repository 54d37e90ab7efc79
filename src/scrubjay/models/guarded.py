"""An embedder on a server, behind a guard: one that is down costs one wait, and not one for every caller."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from scrubjay.errors import EmbedderUnavailable
from scrubjay.model import Identity, StoreHealth
from scrubjay.ports import Calibrated, Embedder, Guard

if TYPE_CHECKING:
    from scrubjay.ports import Matrix

QUESTION_SECONDS: Final = 3.0
"""How long a question may take before recall answers from words alone."""

BATCH_SECONDS: Final = 10.0
SECONDS_PER_TEXT: Final = 1.0
"""How long other texts may take, together and each: what is too slow is embedded later, in the background."""

KNOWN_SECONDS: Final = 30.0
"""How long an answer counts as proof that the server is up: asking again may cost money."""

_PING: Final = ("dimensions",)


class GuardedEmbedder:
    """The same embedder. While its server is down, embedding raises EmbedderUnavailable at once."""

    calibrate: Callable[[float], float]
    """There only when the embedder behind is calibrated, so that this one is if that one is."""

    def __init__(
        self,
        embedder: Embedder,
        guard: Guard,
        *,
        question_seconds: float = QUESTION_SECONDS,
        batch_seconds: float = BATCH_SECONDS,
    ) -> None:
        self._embedder = embedder
        self._guard = guard
        self._question_seconds = question_seconds
        self._batch_seconds = batch_seconds
        self._answered = float("-inf")
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

    @property
    def health(self) -> StoreHealth:
        """What is known of the server, without asking it."""
        return self._guard.health

    def count(self, texts: Sequence[str]) -> list[int]:
        """Count as the embedder behind does."""
        return self._embedder.count(texts)

    async def ping(self) -> None:
        """Return when the server has embedded something lately, or does now."""
        if self.health.state == "up" and time.monotonic() - self._answered < KNOWN_SECONDS:
            return
        await self._guard.call(lambda: self._within(self._question_seconds, _PING, question=False))

    async def embed(self, texts: Sequence[str], *, question: bool = False) -> "Matrix":
        """Return one row per text, in order. Raises EmbedderUnavailable when it takes too long, or while it is down."""
        if self.health.state == "down":
            await self.ping()
        seconds = self._question_seconds if question else self._batch_seconds + SECONDS_PER_TEXT * len(texts)
        return await self._guard.call(lambda: self._within(seconds, texts, question=question))

    async def shut(self) -> None:
        """Shut the embedder behind."""
        await self._embedder.shut()

    async def _within(self, seconds: float, texts: Sequence[str], *, question: bool) -> "Matrix":
        try:
            async with asyncio.timeout(seconds):
                rows = await self._embedder.embed(texts, question=question)
        except TimeoutError as error:
            raise EmbedderUnavailable(
                f"The embedder {self.identity.provider}:{self.identity.model} did not answer within {seconds:g} "
                "seconds. Check that its server runs and is not overloaded"
            ) from error
        self._answered = time.monotonic()
        return rows
