"""The way to the server: one pool of connections, patience with it, and its problems as the errors they were."""

import asyncio
import json
import random
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

import httpx

from scrubjay import errors
from scrubjay.errors import Closed, InvalidInput, ScrubjayError, TookTooLong, Unavailable, UnderWay
from scrubjay.model.checks import Json, check_storable

TRIES: Final = 5
PAUSE: Final = 0.2
"""Seconds before the second try, at most; twice as many before each further one."""

MOST_PAUSE: Final = 30.0
"""The longest that a server may make us wait before the next try."""

QUIET: Final = 60.0
"""Seconds that a stream may say nothing. Servers give a sign of life far more often."""

BUSY: Final = frozenset({429, 502, 503, 504})
"""Answers that may be different in a moment."""

_KEY: Final = re.compile(r"[!-~]+")

_KINDS: Final = {
    name: found for name, found in vars(errors).items() if isinstance(found, type) and issubclass(found, ScrubjayError)
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked of the server."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Json = None
    writes: bool = False
    """Whether it changes anything: then it carries a key of its own, so that sending it again changes nothing more."""
    accepts: tuple[int, ...] = ()
    """Statuses of errors that are answers all the same."""


class Connection:
    """A way to one server. What fails on the way is tried again; every write carries an Idempotency-Key."""

    def __init__(self, url: str, *, key: str | None, timeout: float) -> None:
        self.url = _base(url)
        if key is not None and not _KEY.fullmatch(key):
            raise InvalidInput("key is not one that a server could take: use it as `scrubjay keys create` showed it")
        headers = {"Authorization": f"Bearer {key}"} if key is not None else {}
        patience = httpx.Timeout(timeout, connect=min(timeout, 10.0))
        self._http = httpx.AsyncClient(base_url=self.url, headers=headers, timeout=patience)
        self._listening = httpx.Timeout(timeout, read=max(timeout, QUIET))

    async def ask(self, request: Request) -> Any:  # noqa: ANN401 -- whatever JSON it answers
        """Ask, and return the JSON of the answer. Raises the error that the server raised."""
        return (await self.ask_in_full(request))[0]

    async def ask_in_full(self, request: Request) -> tuple[Any, Mapping[str, str]]:
        """The same, with the headers of the answer."""
        answer = await self._patiently(self._prepared(request), accepts=request.accepts)
        return _json(answer) if answer.content else None, answer.headers

    async def send_lines(self, request: Request, lines: AsyncIterator[str]) -> Any:  # noqa: ANN401 -- whatever JSON it answers
        """Send lines as they come, once: whoever has them can send them again. Returns the JSON of the answer."""

        async def encoded() -> AsyncIterator[bytes]:
            async for line in lines:
                # What UTF-8 cannot hold is refused by the server, which names the line.
                yield f"{line}\n".encode("utf-8", "surrogatepass")

        prepared = self._prepared(request)
        prepared["headers"] = {"Content-Type": "application/x-ndjson"}
        try:
            answer = await self._http.request(**prepared, content=encoded())
        except httpx.TransportError as error:
            raise _unreachable(self.url, error) from error
        except RuntimeError as error:
            raise self._closed(error) from error
        if answer.is_error:
            raise _error(answer)
        return _json(answer)

    @asynccontextmanager
    async def lines(self, request: Request) -> AsyncIterator[AsyncIterator[str]]:
        """Ask, and read the answer line by line as it comes."""
        try:
            async with self._http.stream(**self._prepared(request), timeout=self._listening) as answer:
                if answer.is_error:
                    await answer.aread()
                    raise _error(answer)
                yield _lines(answer.aiter_bytes())
        except httpx.TransportError as error:
            raise _unreachable(self.url, error) from error
        except RuntimeError as error:
            raise self._closed(error) from error

    async def close(self) -> None:
        """Let go of every connection. Safe to call twice."""
        await self._http.aclose()

    def _prepared(self, request: Request) -> dict[str, Any]:
        headers = {"Idempotency-Key": str(uuid4())} if request.writes else {}
        prepared = {"method": request.method, "url": request.path, "params": list(_query(request.query))}
        if request.body is None:
            return {**prepared, "headers": headers}
        headers["Content-Type"] = "application/json"
        # In ASCII: what UTF-8 cannot hold is refused by the server, in its own words.
        return {**prepared, "headers": headers, "content": json.dumps(request.body).encode()}

    async def _patiently(self, prepared: dict[str, Any], *, accepts: Sequence[int]) -> httpx.Response:
        failed = held = 0
        while True:
            try:
                answer = await self._http.request(**prepared)
            except httpx.TransportError as error:
                failed += 1
                if failed == TRIES:
                    raise _unreachable(self.url, error) from error
                await _pause(failed)
                continue
            except RuntimeError as error:
                raise self._closed(error) from error
            if not answer.is_error or answer.status_code in accepts:
                return answer
            failure = _error(answer)
            # Counted apart: a server that died while it worked on this holds it for a while after it is back.
            if isinstance(failure, UnderWay):
                held += 1
            else:
                failed += 1
            if TRIES in (failed, held) or not _may_pass(answer, failure):
                raise failure
            await _pause(max(failed, held), answer.headers.get("Retry-After"))

    def _closed(self, error: RuntimeError) -> BaseException:
        return Closed(f"the connection to {self.url} was closed: connect again") if self._http.is_closed else error


def _base(url: str) -> str:
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError) as error:
        raise InvalidInput(f"url is {url!r}: use one such as http://127.0.0.1:7285") from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise InvalidInput(f"url is {url!r}: use one such as http://127.0.0.1:7285")
    return str(url).rstrip("/")


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """The lines of a stream. Only a line feed ends one: a memory may hold any other sign that could."""
    left = b""
    async for chunk in chunks:
        *whole, left = (left + chunk).split(b"\n")
        for line in whole:
            yield line.decode()
    if left:
        yield left.decode()


def _query(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in given.items():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, str):
                check_storable(name, one)
            if one is not None:
                yield name, one if isinstance(one, str) else json.dumps(one)


def _json(answer: httpx.Response) -> Any:  # noqa: ANN401 -- whatever JSON it is
    try:
        return answer.json()
    except ValueError as error:
        raise Unavailable(f"{answer.url} did not answer with JSON: is a Scrubjay server there?") from error


def _error(answer: httpx.Response) -> ScrubjayError:
    """The error that a problem stands for; one of another making is told by its status."""
    try:
        problem = answer.json()
        name = "".join(word.capitalize() for word in problem["type"].rpartition(":")[2].split("-"))
        detail = str(problem["detail"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return Unavailable(f"{answer.url} answered {answer.status_code}: is a Scrubjay server there?")
    kind = _KINDS.get(name)
    if kind is not None:
        return kind(detail)
    if answer.status_code in BUSY:
        return Unavailable(detail)
    return InvalidInput(detail) if answer.is_client_error else ScrubjayError(detail)


def _may_pass(answer: httpx.Response, failure: ScrubjayError) -> bool:
    """Whether the same request may be answered otherwise in a moment. What took too long would take as long again."""
    return isinstance(failure, UnderWay) or (answer.status_code in BUSY and not isinstance(failure, TookTooLong))


async def _pause(attempt: int, asked: str | None = None) -> None:
    """Wait: longer each time, never twice the same, and as long as the server asks for."""
    longest = PAUSE * 2 ** (attempt - 1)
    least = min(float(asked), MOST_PAUSE) if asked and asked.isdecimal() else longest / 2
    await asyncio.sleep(random.uniform(least, max(longest, least * 1.1)))  # noqa: S311 -- not for secrecy


def _unreachable(url: str, error: httpx.TransportError) -> Unavailable:
    why = str(error) or type(error).__name__
    return Unavailable(f"cannot reach {url} ({why}): start it with `scrubjay serve`, or check the address")
