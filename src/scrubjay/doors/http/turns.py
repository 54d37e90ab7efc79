"""Turns: what one tenant asks for at once is done a few at a time, so that the others do not wait for all of it."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Final, Literal, TypeAlias

from starlette.datastructures import Headers

from scrubjay.errors import TooManyRequests
from scrubjay.model.access import RouteClass

Kind: TypeAlias = RouteClass | Literal["large"]

READS: Final = 4
"""Reads of one tenant that one process works on at the same time. More of them are done no sooner where the processor
is what they wait for; where it is a model or a store far away, they are: that is what `SCRUBJAY_TURNS` is for."""

AT_ONCE: Final[dict[Kind, int]] = {"read": 1, "write": 8, "heavy": 1, "large": 2}
"""How many of a kind for each of those. Writers share a transaction. `large` ones have a body that takes memory
until they are answered."""

UNDER_WAY: Final = 125
"""Requests of one tenant that one process knows of, for each: those that wait for a turn, come slowly, or listen."""

LARGE: Final = 65_536
"""Bytes of a body that is large."""


class _Line:
    """Those who wait for the same turn, and how many of them there are."""

    def __init__(self, most: int) -> None:
        self.free = asyncio.Semaphore(most)
        self.members = 0


class Turns:
    """Who works, and who waits, of each tenant. With no `reads` nobody waits."""

    def __init__(self, reads: int = READS) -> None:
        self._reads = reads
        self._lines: dict[tuple[str, Kind], _Line] = {}
        self._under_way: Counter[str] = Counter()

    @contextmanager
    def counted(self, tenant: str) -> Iterator[None]:
        """Count a request while it is under way. Raises TooManyRequests when there are too many of this tenant."""
        if self._reads and self._under_way[tenant] >= UNDER_WAY * self._reads:
            raise TooManyRequests(
                f"{UNDER_WAY * self._reads} requests and streams of this tenant are under way: end some of them, then "
                "come back, or raise SCRUBJAY_TURNS"
            )
        self._under_way[tenant] += 1
        try:
            yield
        finally:
            self._under_way[tenant] -= 1
            if not self._under_way[tenant]:
                del self._under_way[tenant]

    @asynccontextmanager
    async def taken(self, tenant: str, kind: Kind) -> AsyncIterator[None]:
        """Wait for a turn, and have it meanwhile. Those of other tenants and other kinds are not waited for."""
        if not self._reads:
            yield
            return
        line = self._lines.setdefault((tenant, kind), _Line(AT_ONCE[kind] * self._reads))
        line.members += 1
        try:
            async with line.free:
                yield
        finally:
            line.members -= 1
            if not line.members:
                del self._lines[tenant, kind]

    @asynccontextmanager
    async def received(
        self, tenant: str, headers: Headers, receive: Callable[[], Awaitable[bytes]]
    ) -> AsyncIterator[bytes]:
        """Receive a body that is held as a whole. One that is large has a turn until the block ends."""
        async with AsyncExitStack() as turn:
            if may_be_large(headers):
                await turn.enter_async_context(self.taken(tenant, "large"))
            body = await receive()
            if len(body) <= LARGE:
                await turn.aclose()
            yield body


def may_be_large(headers: Headers) -> bool:
    """Whether the body may take much memory, as far as can be told before it has come."""
    declared = headers.get("content-length")
    if declared is None:
        return "transfer-encoding" in headers
    return not declared.isdecimal() or int(declared[:18]) > LARGE
