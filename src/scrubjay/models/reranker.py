"""Rerankers: models that read a question and a text together. Importing this loads no model and no library."""

import asyncio
import importlib.util
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any, Final

from scrubjay.errors import Misconfigured
from scrubjay.models.server import RERANKING, Server
from scrubjay.ports import Guard, Reranker

SECONDS: Final = 5.0
"""For one answer of a server, attempts and pauses included. Recall answers without it then."""

KNOWN_SECONDS: Final = 30.0
"""How long an answer counts as proof that the server is up."""

PING: Final = ("Is anybody there?", ("Somebody is there.",))
"""The question and the texts that are asked to find out."""

_CHOICES = "onnx:FOLDER, server:MODEL, tei or sentence-transformers:MODEL, or leave it empty"


def reranker_of(
    spec: str, *, url: str = "", key: str = "", threads: int = 0, guard: Guard | None = None
) -> Reranker | None:
    """Return the reranker that a setting names, not yet loaded; None for nothing.

    `url`, `key` and `guard` are for servers, `threads` for a model in a folder. Raises Misconfigured for a name that is
    not known, for a server without an address, and when a library or a file is missing.
    """
    provider, _, model = spec.strip().partition(":")
    # Each is imported where it is chosen, so that nobody pays for the others.
    match provider, model:
        case "" | "none", "":
            return None
        case "onnx", str(model) if model:
            from scrubjay.models.cross_encoder import OnnxReranker  # noqa: PLC0415  # see above

            return OnnxReranker(Path(model).expanduser(), threads=threads)
        case "sentence-transformers", str(model) if model:
            from scrubjay.models.cross_encoder import LibraryReranker  # noqa: PLC0415  # see above

            return LibraryReranker(model)
        case "server", str(model) if model:
            return ServerReranker(model, url=url, key=key, guard=guard)
        case "tei", "":
            return TeiReranker(url=url, key=key, guard=guard)
    raise Misconfigured(f"SCRUBJAY_RERANKER is {spec!r}: use {_CHOICES}")


class _RemoteReranker(ABC):
    """What rerankers behind a server have in common."""

    def __init__(
        self,
        name: str,
        *,
        url: str,
        key: str = "",
        guard: Guard | None = None,
        pause: float = 0.2,
        seconds: float = SECONDS,
    ) -> None:
        if importlib.util.find_spec("httpx") is None:
            raise Misconfigured(f"The reranker {name} needs the package httpx: pip install 'scrubjay[openai]'")
        if not url:
            raise Misconfigured(f"SCRUBJAY_RERANKER is {name!r}, and SCRUBJAY_RERANKER_URL is empty: name its server")
        if not (key.isascii() and key.isprintable()):
            raise Misconfigured("SCRUBJAY_RERANKER_KEY holds characters that no key has: copy it again")
        self._name = name
        self._guard = guard
        self._seconds = seconds
        self._answered = float("-inf")
        self._server = Server(
            name,
            url=url,
            headers={"authorization": f"Bearer {key}"} if key else {},
            remedies={
                401: "Check SCRUBJAY_RERANKER_KEY",
                403: "Check SCRUBJAY_RERANKER_KEY and what it may use",
                404: "Check the model's name, and SCRUBJAY_RERANKER_URL, to which /rerank is added",
                413: "Its batches are too small for a recall: let it take 50 texts at once",
                429: "Wait for the limit to pass, or raise it at the provider",
            },
            pause=pause,
            timeout=seconds,
            trade=RERANKING,
        )

    @property
    def name(self) -> str:
        """As the setting names it."""
        return self._name

    async def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return how well each text answers. Raises RerankerUnavailable, after bounded retries and within a time."""
        if not texts:
            return []
        if self._guard is None:
            return await self._within(question, texts)
        return await self._guard.call(lambda: self._within(question, texts))

    async def ping(self) -> None:
        """Return when the server has answered lately, or does now: asking may cost money."""
        if time.monotonic() - self._answered > KNOWN_SECONDS:
            await self.scores(*PING)

    async def shut(self) -> None:
        """Close the connections. Asking again opens them again."""
        await self._server.shut()

    async def _within(self, question: str, texts: Sequence[str]) -> list[float]:
        self._answered = float("-inf")
        try:
            async with asyncio.timeout(self._seconds):
                answer = await self._server.post("/rerank", self._body(question, list(texts)))
        except TimeoutError as error:
            raise self._server.failure(
                f"did not answer within {self._seconds:g} seconds. Check that it runs and is not overloaded"
            ) from error
        try:
            judged = dict(self._judged(answer))
            scores = [float(judged[place]) for place in range(len(texts))]
        except (KeyError, TypeError, ValueError) as error:
            raise self._server.failure(
                f"answered {str(answer)[:120]!r}, where {len(texts)} scores should be ({error!r}). Check that it "
                "reranks, and SCRUBJAY_RERANKER_URL"
            ) from error
        if not all(map(isfinite, scores)):
            raise self._server.failure("sent a score that is no number. Check that the model reranks")
        self._answered = time.monotonic()
        return scores

    @abstractmethod
    def _body(self, question: str, texts: list[str]) -> dict[str, object]:
        """Return what to send."""

    @abstractmethod
    def _judged(self, answer: Any) -> list[tuple[int, float]]:  # noqa: ANN401  # JSON of another program
        """Take place and score of each text out of an answer. An answer of another shape may raise."""


class ServerReranker(_RemoteReranker):
    """A reranker behind `/rerank`, as Cohere and Jina have it, and vLLM, llama.cpp, Infinity and LiteLLM after them."""

    def __init__(self, model: str, **given: Any) -> None:  # noqa: ANN401  # those of the class above
        super().__init__(f"server:{model}", **given)
        self._model = model

    def _body(self, question: str, texts: list[str]) -> dict[str, object]:
        return {"model": self._model, "query": question, "documents": texts, "top_n": len(texts)}

    def _judged(self, answer: Any) -> list[tuple[int, float]]:  # noqa: ANN401  # JSON of another program
        return [(int(one["index"]), one["relevance_score"]) for one in answer["results"]]


class TeiReranker(_RemoteReranker):
    """A reranker served by Hugging Face's Text Embeddings Inference, which has one model and calls things otherwise."""

    def __init__(self, **given: Any) -> None:  # noqa: ANN401  # those of the class above
        super().__init__("tei", **given)

    def _body(self, question: str, texts: list[str]) -> dict[str, object]:
        return {"query": question, "texts": texts, "raw_scores": True, "truncate": True}

    def _judged(self, answer: Any) -> list[tuple[int, float]]:  # noqa: ANN401  # JSON of another program
        return [(int(one["index"]), one["score"]) for one in answer]
