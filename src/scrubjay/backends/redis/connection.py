"""Talking to Redis: opened when first needed, patient with what passes, quick to say what does not."""

import asyncio
import importlib.util
import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar
from urllib.parse import quote

from scrubjay.backends.breaker import Breaker
from scrubjay.backends.redis.place import TIMEOUT, Place
from scrubjay.errors import Misconfigured, Unavailable
from scrubjay.model import StoreHealth
from scrubjay.ports import stage

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from scrubjay.backends.redis.driver import AnyClient

T = TypeVar("T")
Client: TypeAlias = Any
"""`redis.asyncio.Redis` or `RedisCluster`: the commands that both have. The driver types every answer as what it may be
for any client and any option, so its own types would be cast away at each call."""

PREFIX: Final = "scrubjay"
ATTEMPTS: Final = 5
PAUSE: Final = 0.05
"""Seconds before the second attempt, doubled before each later one: in all about a second."""


def key_of(tenant: str, *parts: str) -> str:
    """The name of a tenant's key: `scrubjay:{tenant}:part:part`.

    The braces make a Cluster keep all keys of one tenant on one node, so that a script or a transaction may use
    several. Colons, braces and what is not plain ASCII are written as in a URL, so no two names meet.
    """
    return ":".join((PREFIX, f"{{{_quoted(tenant)}}}", *(_quoted(part) for part in parts)))


def _quoted(part: str) -> str:
    return quote(part, safe="/@+=,;!$&'()*~|^ ")


class RedisConnection:
    """One Redis and the calls to it. For the tasks of one event loop; share one between all that use it.

    Every failure is a StoreUnavailable that names the server, without its password. After a few in a row the next
    calls fail at once, and one of them tries again now and then.
    """

    def __init__(self, url: str, *, timeout: float = TIMEOUT, breaker: Breaker | None = None) -> None:
        if importlib.util.find_spec("redis") is None:
            raise Misconfigured("SCRUBJAY_WORKING needs the package redis: pip install 'scrubjay[redis]'")
        self.place = Place.of(url, timeout=timeout)
        self.breaker = breaker or Breaker("redis", is_outage=_is_outage)
        self._client: AnyClient | None = None
        self._sentinels: list[Redis] = []
        self._slots = asyncio.Semaphore(self.place.connections)

    @property
    def name(self) -> str:
        """The address, for people: no password."""
        return self.place.name

    @property
    def health(self) -> StoreHealth:
        """What the calls so far have shown. Asks nobody."""
        return self.breaker.health

    @property
    def timeout(self) -> float:
        """Seconds until a connection, or an answer, counts as not coming."""
        return self.place.timeout

    @property
    def is_cluster(self) -> bool:
        """Whether one command can only use keys of one node."""
        return self.place.kind == "cluster"

    @property
    def client(self) -> Client:
        """The driver's client. It answers bytes. `call` is the way to use it that meets trouble."""
        if self._client is None:
            from scrubjay.backends.redis.driver import opened  # noqa: PLC0415  # the driver, for those who use it

            self._client, self._sentinels = opened(self.place)
        return self._client

    async def call(
        self,
        work: Callable[[Client], Awaitable[T]],
        *,
        repeat: bool = True,
        within: float | None = None,
        breaker: Breaker | None = None,
        operation: str = "call",
    ) -> T:
        """Do the work with the client, again after a pause when the trouble may have passed.

        What must not be done twice says `repeat=False`, and is then repeated only after an error by which nothing was
        done. All attempts together may take `within` seconds, or else three times the timeout. Who gives up sooner than
        others brings a breaker of its own, so that it does not close the way for them. `operation` is what whoever
        watches sees. Raises StoreUnavailable. The driver's WatchError goes through: to look again is the caller's part.
        """
        seconds = within if within is not None else 3 * self.timeout
        with stage("store", store="redis", operation=operation):
            return await (breaker or self.breaker).call(lambda: self._within(seconds, work, repeat=repeat))

    async def ping(self) -> None:
        """Ask whether it answers. Raises StoreUnavailable when it does not."""
        await self.call(lambda client: client.ping())

    async def shut(self) -> None:
        """Close the connections. Safe to call twice; a call after this opens them again."""
        clients = [*([self._client] if self._client is not None else []), *self._sentinels]
        self._client, self._sentinels = None, []
        for client in clients:
            from scrubjay.backends.redis.driver import DRIVER_ERRORS  # noqa: PLC0415  # as above

            try:
                await client.aclose()
            except DRIVER_ERRORS:
                continue  # It was broken already, and is let go of all the same.

    async def _within(self, seconds: float, work: Callable[[Client], Awaitable[T]], *, repeat: bool) -> T:
        from scrubjay.backends.redis.driver import DRIVER_ERRORS, RACE, meaning  # noqa: PLC0415  # as above

        try:
            async with asyncio.timeout(seconds):
                return await self._patient(work, repeat=repeat)
        except RACE:
            raise
        except DRIVER_ERRORS as error:
            raise meaning(error, self.place, within=seconds) from error

    async def _patient(self, work: Callable[[Client], Awaitable[T]], *, repeat: bool) -> T:
        from scrubjay.backends.redis.driver import DRIVER_ERRORS, may_pass  # noqa: PLC0415  # as above

        for attempt in range(ATTEMPTS - 1):
            try:
                return await self._once(work)
            except DRIVER_ERRORS as error:
                if not may_pass(error, repeat=repeat):
                    raise
            await asyncio.sleep(PAUSE * 2**attempt * random.uniform(0.5, 1.5))  # noqa: S311 -- jitter, no secret
        return await self._once(work)

    async def _once(self, work: Callable[[Client], Awaitable[T]]) -> T:
        from scrubjay.backends.redis.driver import closed_by_another  # noqa: PLC0415  # as above

        async with self._slots:
            try:
                return await work(self.client)
            except AttributeError as error:
                # The client of a Cluster closes connections that others are just opening whenever it looks at the nodes
                # anew, and then has nothing to write to. Nothing was sent.
                if error.name != "writelines" or error.obj is not None:
                    raise
                raise closed_by_another() from error


def _is_outage(error: Unavailable) -> bool:
    """Whether it says that Redis is down. One that refuses a command is up."""
    from scrubjay.backends.redis.driver import is_refusal  # noqa: PLC0415  # as above

    return not is_refusal(error.__cause__)
