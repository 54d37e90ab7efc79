"""Look a Redis or Valkey over: its version, and settings that would lose what is kept in it."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from scrubjay.backends.redis.connection import RedisConnection
from scrubjay.backends.redis.working import RedisWorking
from scrubjay.model import Finding
from scrubjay.model.working import Durability

LEAST: Final = (6, 2)
"""The first that has the commands that working memory is made of."""

MOST: Final = 100_000
"""Sessions that are counted."""


class RedisInspection:
    """The `Inspected` port for Redis and Valkey."""

    def __init__(self, url: str, durability: Durability = "redis") -> None:
        self._url = url
        self._durability = durability

    async def inspect(self, *, fix: bool = False) -> list[Finding]:  # noqa: ARG002 -- its settings are its owner's
        """Look over the version and the settings."""
        connection = RedisConnection(self._url)
        try:
            said: Any = await connection.call(lambda client: client.info())
            left = await self._left(connection) if self._durability == "records" else []
        finally:
            await connection.shut()
        # A cluster answers once for each node.
        nodes = list(said.values()) if connection.is_cluster else [said]
        keeps_sessions = self._durability == "redis"
        return [finding for node in nodes for finding in _findings(node, keeps_sessions=keeps_sessions)] + left

    async def _left(self, connection: RedisConnection) -> list[Finding]:
        """Sessions of an older version, or of another setting."""
        held = await RedisWorking(connection).sessions(None, now=datetime.now(UTC), limit=MOST)
        if not held:
            return []
        remedy = "run a worker, or `scrubjay consolidate` for each tenant: it moves them into the record store"
        return [Finding(about="sessions", said=f"{len(held)} are left in Redis, which keeps none", remedy=remedy)]


def _findings(node: Mapping[str, Any], *, keeps_sessions: bool) -> list[Finding]:
    about = "Valkey" if "valkey_version" in node else "Redis"
    # Valkey says with which Redis it is compatible, and that is what counts here.
    compatible = str(node.get("redis_version", "0"))
    version = str(node.get("valkey_version", compatible))
    number = tuple(int(part) for part in compatible.split(".")[:2] if part.isdigit())
    least = ".".join(map(str, LEAST))
    found = [Finding(about=about, said=version, remedy=f"use Redis {least} or newer" if number < LEAST else "")]
    policy = str(node.get("maxmemory_policy", "noeviction"))
    if int(node.get("maxmemory", 0)) and policy.startswith("allkeys"):
        remedy = "use a policy of the kind volatile-, or one server for this and another for what may be lost"
        found.append(Finding(about=about, said=f"it may throw away anything ({policy})", remedy=remedy))
    if keeps_sessions and not int(node.get("aof_enabled", 0)):
        remedy = "set appendonly yes, or SCRUBJAY_WORKING_DURABILITY to records"
        found.append(
            Finding(about=about, said="it loses the sessions it keeps when it stops (no appendonly)", remedy=remedy)
        )
    return found
