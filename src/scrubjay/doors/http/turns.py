"""Turns: what one tenant asks for at once is done a few at a time, so that the others do not wait for all of it."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Final, Literal, TypeAlias

from starlette.datastructures import Headers

from scrubjay.errors import Overloaded, TooManyRequests
from scrubjay.model.access import RouteClass

Kind: TypeAlias = RouteClass | Literal["large", "long"]

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


FEW: Final = 16
"""Requests that may wait at the same time, however long that takes."""

BEHIND: Final = 1.5
"""How many times the longest wait a tenant is let in that has less than its share under way. Whoever has more was
refused before, so it is the others who find room."""

LIKELY: Final = 0.02
"""Seconds from one answer to the next, before there were any."""

_NEWS: Final = 64
"""So many of the last answers tell the pace. Writers are answered many at once, so fewer would say little."""

_SLOW: Final = 1.0
"""Seconds without an answer that count at most: one slow answer says little about the others, who may be quick."""


LONG: Final = 0.05
"""Seconds from which on turns are long. While the processor is busy, a tenant with long turns has one at a time."""

BUSY: Final = 0.7
"""The share of the time in which this process computes, from which on the processor is what everybody waits for."""

_LATELY: Final = 1.0
"""Seconds for which a tenant is reckoned with after it asked for something."""

_MOST_CAME: Final = 1_000

_WINDOW: Final = 0.25
"""Seconds over which that share is taken."""


class _Line:
    """Those who wait for the same turn, and how many of them there are."""

    def __init__(self, most: int) -> None:
        self.free = asyncio.Semaphore(most)
        self.members = 0


class Crowd:
    """The requests that wait to be answered, and how long a new one would wait: for so many, at the pace of late."""

    def __init__(self, longest_wait: float) -> None:
        self._longest_wait = longest_wait
        self._of_tenant: Counter[str] = Counter()
        self._many = 0
        self._busy = 0.0
        """Seconds in which somebody waited, up to `_last`."""
        self._last = 0.0
        """When the last answer was, or when the first of those who wait came."""
        self._answers = deque((-LIKELY * place for place in range(_NEWS, 0, -1)), maxlen=_NEWS)
        """When the last answers were, by the seconds in which somebody waited."""

    def join(self, tenant: str) -> None:
        """One more waits."""
        if not self._many:
            self._last = time.monotonic()
        self._many += 1
        self._of_tenant[tenant] += 1

    def leave(self, tenant: str, *, is_answered: bool = False) -> None:
        """One does not wait any more."""
        now = time.monotonic()
        if is_answered or self._many == 1:
            self._busy += min(now - self._last, _SLOW)
            self._last = now
        if is_answered:
            self._answers.append(self._busy)
        self._many -= 1
        self._of_tenant[tenant] -= 1
        if not self._of_tenant[tenant]:
            del self._of_tenant[tenant]

    @property
    def wait(self) -> float:
        """Seconds that a new request would wait for its answer."""
        quiet = time.monotonic() - self._last
        return max(quiet, self._many * (self._busy + quiet - self._answers[0]) / _NEWS)

    def check_room(self, tenant: str | None = None) -> None:
        """Raise Overloaded when a new request of this tenant, or of any, would have to wait for too long."""
        if not self._longest_wait or self._many < FEW:
            return
        share = max(1, FEW // len(self._of_tenant))
        is_modest = tenant is None or self._of_tenant.get(tenant, 0) < share
        if self.wait > self._longest_wait * (BEHIND if is_modest else 1):
            raise Overloaded(
                f"{self._many} requests wait already, which takes more than {self._longest_wait:g} s: try again in a "
                "second, start more processes with SCRUBJAY_WORKERS, or raise SCRUBJAY_LONGEST_WAIT"
            )


class Waiting:
    """A request while it waits for the service: not while its body comes, and not while its answer is read."""

    def __init__(self, crowd: Crowd, tenant: str) -> None:
        self._crowd = crowd
        self._tenant = tenant
        self._is_over = False
        crowd.join(tenant)

    def end(self, *, is_answered: bool = False) -> None:
        """It waits no more. Said again, it changes nothing."""
        if not self._is_over:
            self._is_over = True
            self._crowd.leave(self._tenant, is_answered=is_answered)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """In the block it is the caller who is waited for."""
        if self._is_over:
            yield
            return
        self._crowd.leave(self._tenant)
        try:
            yield
        finally:
            self._crowd.join(self._tenant)


class Processor:
    """Whether this process computes most of the time."""

    def __init__(self) -> None:
        self._since, self._used = time.monotonic(), time.process_time()
        self._share = 0.0

    @property
    def is_busy(self) -> bool:
        """Whether it did so lately."""
        now = time.monotonic()
        if now - self._since >= _WINDOW:
            used = time.process_time()
            self._share = (used - self._used) / (now - self._since)
            self._since, self._used = now, used
        return self._share >= BUSY


class Turns:
    """Who works, and who waits, of each tenant. With no `reads` nobody waits for a turn."""

    def __init__(self, reads: int = READS, *, longest_wait: float = 0) -> None:
        self._reads = reads
        self.crowd = Crowd(longest_wait)
        self._lines: dict[tuple[str, Kind], _Line] = {}
        self._under_way: Counter[str] = Counter()
        self._came: dict[str, float] = {}
        """When each tenant last asked for something."""
        self._processor = Processor()
        self._long: dict[str, float] = {}
        """By tenant: how long its last turns took, the newest counting most. Only those of which it is long."""

    @contextmanager
    def counted(self, tenant: str) -> Iterator[Waiting]:
        """Count a request while it is under way.

        Raises TooManyRequests when there are too many of this tenant, and Overloaded when it would wait for too long.
        """
        if self._reads and self._under_way[tenant] >= UNDER_WAY * self._reads:
            raise TooManyRequests(
                f"{UNDER_WAY * self._reads} requests and streams of this tenant are under way: end some of them, then "
                "come back, or raise SCRUBJAY_TURNS"
            )
        self.crowd.check_room(tenant)
        self._under_way[tenant] += 1
        self._came[tenant] = time.monotonic()
        if len(self._came) > _MOST_CAME:
            self._forget_old()
        waiting = Waiting(self.crowd, tenant)
        try:
            yield waiting
        finally:
            waiting.end()
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
            async with line.free, self._one_by_one(tenant):
                began = time.monotonic()
                try:
                    yield
                finally:
                    self._took(tenant, time.monotonic() - began)
        finally:
            line.members -= 1
            if not line.members:
                del self._lines[tenant, kind]

    @asynccontextmanager
    async def _one_by_one(self, tenant: str) -> AsyncIterator[None]:
        """Let a tenant whose turns are long have one at a time, while others are there and the processor is busy.

        Threads that compute take the interpreter in turns. With four of them, a short request of somebody else's gets
        a fifth of it, and waits dozens of times.
        """
        if tenant not in self._long or self._is_alone(tenant) or not self._processor.is_busy:
            yield
            return
        line = self._lines.setdefault((tenant, "long"), _Line(1))
        line.members += 1
        try:
            async with line.free:
                yield
        finally:
            line.members -= 1
            if not line.members:
                del self._lines[tenant, "long"]

    def _is_alone(self, tenant: str) -> bool:
        """Whether no other tenant has asked for anything lately."""
        self._forget_old()
        return not self._came.keys() - {tenant}

    def _forget_old(self) -> None:
        since = time.monotonic() - _LATELY
        self._came = {one: at for one, at in self._came.items() if at >= since or one in self._under_way}

    def _took(self, tenant: str, seconds: float) -> None:
        usual = 0.7 * self._long.get(tenant, 0.0) + 0.3 * seconds
        if usual >= LONG:
            self._long[tenant] = usual
        else:
            self._long.pop(tenant, None)

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
