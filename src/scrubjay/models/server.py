"""Asking a server with a model over HTTP: patience with what passes, a clear error for what does not."""

import asyncio
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from scrubjay.errors import ChatUnavailable, EmbedderUnavailable, Misconfigured, RerankerUnavailable, Unavailable
from scrubjay.models.vectors import unit

if TYPE_CHECKING:
    import httpx

    from scrubjay.ports import Matrix

ATTEMPTS = 5
LONGEST_PAUSE = 30.0
"""Seconds. A server that asks for more is not waited for: the caller has a queue of its own."""

_JSON = {"content-type": "application/json"}
_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})


@dataclass(frozen=True, slots=True)
class Trade:
    """What a server is asked for: how its errors call it, which settings name it, and what its failures are."""

    noun: str
    setting: str
    error: type[Unavailable]


EMBEDDING = Trade("embedder", "SCRUBJAY_EMBEDDER", EmbedderUnavailable)
CHATTING = Trade("language model", "SCRUBJAY_CHAT", ChatUnavailable)
RERANKING = Trade("reranker", "SCRUBJAY_RERANKER", RerankerUnavailable)


class Server:
    """A server with one model. Every failure is an error of its trade, with the model, the URL and a remedy."""

    def __init__(
        self,
        name: str,
        *,
        url: str,
        headers: Mapping[str, str],
        remedies: Mapping[int, str],
        pause: float,
        timeout: float,
        trade: Trade = EMBEDDING,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise Misconfigured(f"{trade.setting}_URL is {url!r}: start it with http:// or https://")
        self._trade = trade
        self._name = name
        self._url = url.rstrip("/")
        self._headers = headers
        self._remedies = remedies
        self._pause = pause
        self._timeout = timeout
        self._client: httpx.AsyncClient | None = None

    async def post(self, path: str, body: object) -> Any:  # noqa: ANN401  # JSON of another program
        """Send JSON and return the JSON of the answer, trying again, ever later, while the trouble may pass."""
        import httpx  # noqa: PLC0415  # on first use

        # Halves of surrogate pairs are no text, and would stop all that goes with them.
        content = json.dumps(body, ensure_ascii=False).encode(errors="replace")
        attempt = 0
        while True:
            attempt += 1
            try:
                response = await self._open().post(f"{self._url}{path}", content=content, headers=_JSON)
            except httpx.InvalidURL as error:
                raise self.failure(f"is no usable address ({error}). Check {self._trade.setting}_URL") from error
            except httpx.RequestError as error:
                if attempt == ATTEMPTS:
                    trouble = str(error) or type(error).__name__
                    raise self.failure(
                        f"cannot be reached after {ATTEMPTS} attempts ({trouble}). Check that the server runs and that "
                        f"{self._trade.setting}_URL is right"
                    ) from error
                await asyncio.sleep(self._backoff(attempt))
                continue
            if response.is_success:
                return self._json(response)
            asked = _retry_after(response.headers.get("retry-after", ""))
            if response.status_code not in _PASSING or attempt == ATTEMPTS or (asked or 0) > LONGEST_PAUSE:
                raise self._refusal(response, attempt)
            await asyncio.sleep(self._backoff(attempt) if asked is None else asked)

    def rows(self, vectors: object, *, texts: int, dimensions: int) -> "Matrix":
        """Check what the server sent: one vector for each text, of the dimensions known so far, if any are."""
        try:
            rows = np.array(vectors, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise self.failure(f"sent vectors that are no table of numbers ({error}). Check that it embeds") from error
        if rows.ndim != 2 or rows.shape[0] != texts or not np.isfinite(rows).all():
            raise self.failure(f"sent an array of shape {rows.shape} for {texts} texts. Check that the model embeds")
        if dimensions and rows.shape[1] != dimensions:
            raise self.failure(
                f"sent vectors of {rows.shape[1]} dimensions, not {dimensions}: this is another model. Name it by its "
                "own name in SCRUBJAY_EMBEDDER, then reindex"
            )
        return unit(rows)

    def failure(self, what: str) -> Unavailable:
        """An error about this model at this address."""
        return self._trade.error(f"The {self._trade.noun} {self._name} at {self._url} {what}")

    async def shut(self) -> None:
        """Close the connections. Safe to call twice."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _open(self) -> "httpx.AsyncClient":
        import httpx  # noqa: PLC0415  # on first use

        if self._client is None:
            self._client = httpx.AsyncClient(headers=self._headers, timeout=self._timeout)
        return self._client

    def _json(self, response: "httpx.Response") -> Any:  # noqa: ANN401  # JSON of another program
        try:
            return response.json()
        except ValueError as error:
            raise self.failure(
                f"answered with something that is not JSON: {response.text[:120]!r}. Check {self._trade.setting}_URL"
            ) from error

    def _refusal(self, response: "httpx.Response", attempts: int) -> Unavailable:
        status = response.status_code
        tried = f" after {attempts} attempts" if attempts > 1 else ""
        remedy = self._remedies.get(status, self._look_at_settings())
        return self.failure(f"answered {status}{tried}: {response.text[:200]!r}. {remedy}")

    def _look_at_settings(self) -> str:
        return f"Read what it says, and check {self._trade.setting} and {self._trade.setting}_URL"

    def _backoff(self, attempt: int) -> float:
        # Jitter, so that many clients of one server do not come back together.
        longest: float = min(LONGEST_PAUSE, self._pause * 2 ** (attempt - 1))
        return longest * random.uniform(0.5, 1.0)  # noqa: S311  # nothing secret


def _retry_after(header: str) -> float | None:
    """Read the seconds to wait, given as a number or as a date."""
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None


def batches_of(texts: Sequence[str], *, count: int, characters: int) -> Iterator[Sequence[str]]:
    """Group texts in order, so many and so long at most; a longer text is a group of its own."""
    start = size = 0
    for position, text in enumerate(texts):
        if position > start and (position - start == count or size + len(text) > characters):
            yield texts[start:position]
            start, size = position, 0
        size += len(text)
    if texts:
        yield texts[start:]
