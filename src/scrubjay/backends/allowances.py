"""How much each key may ask for: a moving window per class of routes, counted in Redis for all processes together.

Without Redis, or while it is away, each process counts for itself: a key may then ask for as much of each of them.
"""

import math
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from scrubjay.backends.breaker import Breaker
from scrubjay.elapsed import moment
from scrubjay.errors import StoreUnavailable
from scrubjay.model.access import RouteClass, Spent

if TYPE_CHECKING:
    from limits import RateLimitItem
    from limits.aio.strategies import MovingWindowRateLimiter

    from scrubjay.backends.redis.connection import RedisConnection

WITHIN: Final = 0.25
"""Seconds that counting may take. Whoever asks should not wait longer only to be counted."""

_SET_BACK_SECONDS: Final = 1.0

_PREFIX: Final = "scrubjay:limits"


class MovingWindows:
    """The `Allowances` port. A limit is a number for a time, such as `600/minute`; `0` means none."""

    def __init__(self, limits: Mapping[RouteClass, str], redis: "RedisConnection | None" = None) -> None:
        self._texts = {kind: text for kind, text in limits.items() if text != "0"}
        self._items: dict[RouteClass, RateLimitItem] = {}
        self._redis = redis
        # Less patient than others who use this Redis, so it must not close the way for them.
        self._breaker = Breaker("rate limits", most_pause=1.0)
        self._shared: tuple[Any, MovingWindowRateLimiter] | None = None
        self._own: MovingWindowRateLimiter | None = None
        self._ahead = -math.inf

    async def spend(self, key: str, kind: RouteClass) -> Spent | None:
        """Count one request of this key. None when there is no limit for its class."""
        if kind not in self._texts:
            return None
        item = self._item(kind)
        if self._redis is not None and not self._redis.breaker.is_open:
            work = self._counting(item, key, kind)
            try:
                return await self._redis.call(work, repeat=False, within=WITHIN, breaker=self._breaker)
            except StoreUnavailable:
                pass  # The breaker has said so, once.
        return await _spent(self._in_process(), item, key, kind)

    def _item(self, kind: RouteClass) -> "RateLimitItem":
        if kind not in self._items:
            from limits import parse  # noqa: PLC0415 -- an extra, for those who serve

            self._items[kind] = parse(self._texts[kind])
        return self._items[kind]

    def _counting(self, item: "RateLimitItem", key: str, kind: RouteClass) -> Callable[[Any], Awaitable[Spent]]:
        async def work(client: Any) -> Spent:  # noqa: ANN401 -- the driver's
            return await _spent(self._in_redis(client), item, key, kind)

        return work

    def _in_redis(self, client: Any) -> "MovingWindowRateLimiter":  # noqa: ANN401 -- the driver's
        if self._shared is None or self._shared[0] is not client:
            self._shared = (client, _limiter_on(client))
        return self._shared[1]

    def _in_process(self) -> "MovingWindowRateLimiter":
        # The clock on the wall is all that this storage knows: once it is set back, what was counted says nothing.
        ahead, self._ahead = self._ahead, time.time() - moment()
        if self._own is None or self._ahead < ahead - _SET_BACK_SECONDS:
            from limits.aio.storage import MemoryStorage  # noqa: PLC0415 -- see above
            from limits.aio.strategies import MovingWindowRateLimiter  # noqa: PLC0415 -- see above

            self._own = MovingWindowRateLimiter(MemoryStorage())
        return self._own


async def _spent(limiter: "MovingWindowRateLimiter", item: "RateLimitItem", key: str, kind: RouteClass) -> Spent:
    taken = await limiter.hit(item, kind, key)
    stats = await limiter.get_window_stats(item, kind, key)
    return Spent(
        kind=kind,
        limit=item.amount,
        window=item.get_expiry(),
        left=max(0, stats.remaining),
        reset=max(1, math.ceil(stats.reset_time - time.time())),
        refused=not taken,
    )


def _limiter_on(client: Any) -> "MovingWindowRateLimiter":  # noqa: ANN401 -- the driver's
    """A limiter that counts through this client, whatever kind of Redis it talks to."""
    from limits.aio.storage import RedisStorage  # noqa: PLC0415 -- see above
    from limits.aio.strategies import MovingWindowRateLimiter  # noqa: PLC0415 -- see above

    class OnThisClient(RedisStorage):
        """Opens no connections of its own."""

        def configure_bridge(self) -> None:
            """Use ours."""
            bridge: Any = self.bridge
            bridge.storage, bridge.connection_getter = client, lambda _readonly: client

    return MovingWindowRateLimiter(OnThisClient("redis://", implementation="redispy", key_prefix=_PREFIX))
