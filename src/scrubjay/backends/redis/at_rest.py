"""Sessions in Redis as they are stored, to be stored anew in place. How long their keys last does not change."""

from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

from scrubjay.backends.redis import at_rest_scripts as scripts
from scrubjay.backends.redis.connection import RedisConnection, key_of
from scrubjay.backends.redis.working import TENANTS, session_key, value_of
from scrubjay.model import Scope
from scrubjay.model.working import Message, Scratch, message_from, message_text, scope_from_text, scratch_text
from scrubjay.ports.at_rest import SESSIONS, Said
from scrubjay.ports.encryption import DataKeys

PAGE: Final = 50
"""Messages, or values, that are read or changed in one step. Each may have a megabyte."""


class RedisSessions:
    """The `AtRest` port for sessions in Redis, also for those that are over.

    Tenants are those that Redis has noted, and those that have keys: a Redis that was full may have lost its notes.
    """

    name = SESSIONS

    def __init__(self, connection: RedisConnection, keys: DataKeys) -> None:
        self._connection = connection
        self._keys = keys

    async def all(self) -> AsyncIterator[Said]:
        """Go through messages and scratch values, some of one session at a time."""
        for tenant in await self._tenants():
            for scope in await self._sessions(tenant):
                async for messages in self._messages(scope):
                    yield Said(scope=scope, messages=messages)
                for value in await self._scratch(scope):
                    yield Said(scope=scope, scratch=(value,))

    async def _tenants(self) -> list[str]:
        noted = await self._connection.call(lambda client: client.smembers(TENANTS))
        return sorted({*(one.decode() for one in noted), *(await self._keys.tenants())})

    async def _sessions(self, tenant: str) -> list[Scope]:
        key = key_of(tenant, "working", "sessions")
        names = await self._connection.call(lambda client: client.zrange(key, 0, -1))
        return [scope_from_text(tenant, name) for name in names]

    async def _messages(self, scope: Scope) -> AsyncIterator[tuple[Message, ...]]:
        position = 0
        while True:
            first, bodies = await self._run(scripts.PAGE, scope, position, PAGE)
            if not bodies:
                return
            yield tuple(message_from(body, first + place) for place, body in enumerate(bodies))
            position = first + len(bodies)

    async def _scratch(self, scope: Scope) -> list[Scratch]:
        key = session_key(scope, "scratch")
        found: dict[bytes, bytes] = await self._connection.call(lambda client: client.hgetall(key))
        return [value_of(name.decode(), kept) for name, kept in sorted(found.items())]

    async def replace(self, before: Said, after: Said) -> int:
        """Store those anew that are still what they were."""
        messages = [pair for pair in zip(before.messages, after.messages, strict=True) if pair[0] != pair[1]]
        values = [pair for pair in zip(before.scratch, after.scratch, strict=True) if pair[0] != pair[1]]
        done = 0
        for start in range(0, len(messages), PAGE):
            done += await self._replace_messages(before.scope, messages[start : start + PAGE])
        return done + sum([await self._replace_value(before.scope, *pair) for pair in values])

    async def _replace_messages(self, scope: Scope, pairs: Sequence[tuple[Message, Message]]) -> int:
        stored: list[bytes | None] = await self._run(scripts.NAMED, scope, *(str(old.id) for old, _ in pairs))
        said: list[object] = []
        for (old, new), body in zip(pairs, stored, strict=True):
            # What is stored is compared byte for byte when it is replaced; here, whether it is what was sealed anew.
            if body is not None and message_from(body, old.position) == old:
                said += [str(old.id), body, message_text(new)]
        return int(await self._run(scripts.REPLACE, scope, *said)) if said else 0

    async def _replace_value(self, scope: Scope, before: Scratch, after: Scratch) -> int:
        key = session_key(scope, "scratch")
        kept: bytes | None = await self._connection.call(lambda client: client.hget(key, before.name))
        if kept is None or value_of(before.name, kept) != before:
            return 0
        anew = f"{after.version}\n{scratch_text(after)}"
        return int(await self._run(scripts.REPLACE_VALUE, scope, before.name, kept, anew))

    async def _run(self, script: str, scope: Scope, *given: object) -> Any:  # noqa: ANN401 -- each script has an answer of its own
        keys = [session_key(scope, part) for part in ("session", "messages", "ids", "scratch")]
        return await self._connection.call(lambda client: client.eval(script, len(keys), *keys, *given))
