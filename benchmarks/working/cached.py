"""Copies of the newest messages in Redis, in front of the record store: what was tried, to be measured again.

A copy is right as long as whoever changes the session can reach Redis. A process that cannot leaves an older one
behind, so a copy lives for two seconds from the look that it is made of, by the clock of Redis. A reader who finds none
puts a token there, reads the record store, and puts the copy only if the token is still there: a change in between
takes it away.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from scrubjay.backends.redis.connection import RedisConnection, key_of
from scrubjay.backends.sql.working import SqlWorking
from scrubjay.model import Scope, new_id
from scrubjay.model.working import Message, Recent, message_from, message_text, scope_text

LIVES_MS: Final = 2_000

# A copy is the position behind its last message, a line break, and the messages, each on a line.
_LOOK: Final = """
local copy = redis.call('GET', KEYS[1])
if copy and string.sub(copy, 1, 1) ~= '?' then return copy end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return false
"""
_PUT: Final = """
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL') end
return 1
"""
_EXTEND: Final = """
local copy = redis.call('GET', KEYS[1])
if not copy then return 0 end
local head, rest = string.match(copy, '^(%d+)\\n(.*)$')
if head ~= ARGV[1] or #copy > 65536 then return redis.call('DEL', KEYS[1]) end
redis.call('SET', KEYS[1], ARGV[2] .. '\\n' .. rest .. ARGV[3], 'KEEPTTL')
return 1
"""


class CachedWorking(SqlWorking):
    """As much of one as `append` and `recent` need, without what it would do when Redis is away."""

    def in_front_of(self, connection: RedisConnection) -> "CachedWorking":
        """Use this Redis."""
        self._redis = connection
        return self

    async def append(
        self,
        scope: Scope,
        messages: Sequence[Message],
        *,
        ttl: timedelta,
        now: datetime,
        new: Collection[UUID] = (),
    ) -> list[Message]:
        """Put these behind what is there; then behind the copy, if it ends where they begin."""
        placed = await super().append(scope, messages, ttl=ttl, now=now, new=new)
        first, last = placed[0].position or 0, placed[-1].position or 0
        lines = "".join(f"{message_text(one)}\n" for one in placed)
        await self._redis.call(lambda client: client.eval(_EXTEND, 1, _key(scope), first, last + 1, lines))
        return placed

    async def recent(self, scope: Scope, *, limit: int, now: datetime, over: bool = False) -> Recent:
        """Return the newest messages from the copy, or from the record store, and leave a copy."""
        token = f"?{new_id()}"
        copy = await self._redis.call(lambda client: client.eval(_LOOK, 1, _key(scope), token, LIVES_MS))
        if copy is not None:
            following, *lines = copy.splitlines()
            if len(lines) >= limit:
                first = int(following) - limit
                return Recent(messages=tuple(message_from(line, first + at) for at, line in enumerate(lines[-limit:])))
        found = await super().recent(scope, limit=limit, now=now, over=over)
        if copy is None and found:
            text = "".join(f"{message_text(one)}\n" for one in found)
            made = f"{(found[-1].position or 0) + 1}\n{text}"
            await self._redis.call(lambda client: client.eval(_PUT, 1, _key(scope), token, made))
        return found


def _key(scope: Scope) -> str:
    return key_of(scope.tenant, "copy", scope_text(scope))
