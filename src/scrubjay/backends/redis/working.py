"""Working memory in Redis. Every change is one script, and expiry is a matter of what the session says of itself.

The keys of a session, whose place is user, project, agent, session and workflow with colons between:

    scrubjay:{tenant}:working:session:PLACE    a hash: first, following, bytes, started, expires, ended
    scrubjay:{tenant}:working:messages:PLACE   a list of JSON objects, oldest first
    scrubjay:{tenant}:working:ids:PLACE        a sorted set: the ids of those messages by their position
    scrubjay:{tenant}:working:scratch:PLACE    a hash: name → version, a line break, JSON

They last for the session's life and the grace period after it. Two keys last for good:

    scrubjay:{tenant}:working:sessions         a sorted set: places by when they have to be looked at
    scrubjay:working:tenants                   a set
"""

from collections.abc import AsyncIterator, Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from scrubjay.backends.redis import working_scripts as scripts
from scrubjay.backends.redis.connection import PREFIX, RedisConnection, key_of
from scrubjay.model import Scope
from scrubjay.model.working import (
    ABSENT,
    Limits,
    Message,
    Recent,
    Scratch,
    Session,
    Waiting,
    check_session,
    check_version,
    message_from,
    message_text,
    scope_from_text,
    scope_text,
    scratch_from,
    scratch_text,
)
from scrubjay.ports.working import Met

TENANTS: Final = f"{PREFIX}:working:tenants"

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_FIELDS: Final = ("first", "following", "bytes", "started", "expires", "ended")
_LISTED: Final = 500
"""Sessions that are read in one round trip."""


TENANTS_KNOWN: Final = 10_000
"""Tenants of which a process remembers that it has noted them. To note one twice does no harm."""


class RedisWorking:
    """The `Working` port. For Redis 6.2 and newer and for Valkey: one, behind Sentinel, a Cluster."""

    def __init__(self, connection: RedisConnection, limits: Limits | None = None) -> None:
        self._connection = connection
        self.limits = limits or Limits()
        self._tenants: set[str] = set()

    async def append(
        self,
        scope: Scope,
        messages: Sequence[Message],
        *,
        ttl: timedelta,
        now: datetime,
        new: Collection[UUID] = (),
    ) -> list[Message]:
        """Put these behind what is there, and return them with their positions, in the order given."""
        await self._register(scope)
        said = [
            text for message in messages for text in (str(message.id), message_text(message), int(message.id in new))
        ]
        status, *answer = await self._run(scripts.APPEND, scope, self.limits.session_bytes, *said, now=now, ttl=ttl)
        if status == b"met":
            raise Met
        if status == b"full":
            self.limits.check_room(scope, int(answer[0]))
        placed, created = answer
        await self._register(scope, again=bool(created))
        return [message_from(body, position) for position, body in placed]

    async def known(self, scope: Scope, ids: Sequence[UUID], *, now: datetime) -> list[Message]:
        """Return the messages with these ids that the session holds, whatever its state."""
        placed = await self._run(scripts.KNOWN, scope, *dict.fromkeys(map(str, ids)), now=now)
        return [message_from(body, position) for position, body in placed]

    async def recent(self, scope: Scope, *, limit: int, now: datetime, over: bool = False) -> Recent:
        """Return the newest messages in the order they were said."""
        return Recent(messages=tuple(_messages(await self._run(scripts.RECENT, scope, limit, int(over), now=now))))

    async def session(self, scope: Scope, *, now: datetime) -> Session | None:  # noqa: ARG002 -- the port's shape
        """Return what is known of the session, also when it is over."""
        key = session_key(scope, "session")
        return _session(scope, await self._connection.call(lambda client: client.hmget(key, _FIELDS)))

    async def set(
        self, scope: Scope, scratch: Scratch, *, ttl: timedelta, now: datetime, expect: str | None = None
    ) -> Scratch:
        """Put a value on the scratchpad in place of the one with its name, and return it as it is stored."""
        await self._register(scope)
        room = self.limits.scratch_values
        given = (scratch.name, scratch.version, *_expected(expect), room, scratch_text(scratch))
        status, *answer = await self._run(scripts.SET, scope, *given, now=now, ttl=ttl)
        match status:
            case b"conflict":
                check_version(scratch.name, expect, answer[0].decode())
            case b"full":
                self.limits.check_pad(scope, int(answer[0]) + 1)
            case b"kept":
                return value_of(scratch.name, answer[0])
            case b"done":
                await self._register(scope, again=bool(answer[0]))
        return scratch

    async def get(self, scope: Scope, name: str, *, now: datetime) -> Scratch | None:
        """Return the value of this name, or None."""
        found = await self._run(scripts.SCRATCH, scope, name, now=now)
        return value_of(name, found[1]) if found else None

    async def scratch(self, scope: Scope, *, now: datetime) -> list[Scratch]:
        """Return all values on the scratchpad, by name."""
        found = await self._run(scripts.SCRATCH, scope, now=now)
        values = [value_of(name.decode(), value) for name, value in zip(found[::2], found[1::2], strict=True)]
        return sorted(values, key=lambda one: one.name)

    async def delete(self, scope: Scope, name: str, *, now: datetime, expect: str | None = None) -> bool:
        """Take a value off the scratchpad; return whether it was there."""
        # Made twice, it would say that nothing was there.
        status, *answer = await self._run(scripts.DELETE, scope, name, *_expected(expect), now=now, repeat=False)
        if status == b"conflict":
            check_version(name, expect, answer[0].decode())
        return bool(answer[0])

    async def extend(self, scope: Scope, *, ttl: timedelta, now: datetime) -> Session | None:
        """Let a session live that long from now on; None when there is none or it is over."""
        status, *answer = await self._run(scripts.EXTEND, scope, now=now, ttl=ttl)
        return _session(scope, answer[0]) if status == b"done" else None

    async def end(self, scope: Scope, *, now: datetime) -> Session | None:
        """Let a session be over from now on; None when there is none."""
        status, *answer = await self._run(scripts.END, scope, now=now)
        return _session(scope, answer[0]) if status == b"done" else None

    async def sessions(self, within: Scope | None, *, now: datetime, limit: int) -> list[Session]:  # noqa: ARG002 -- the port's shape
        """Return the sessions that the scope holds, those that live longest first; also those that are over."""
        found: list[Session] = []
        for tenant in [within.tenant] if within is not None else await self._all_tenants():
            scopes = [one for one in await self._to_look_at(tenant, "+inf") if within is None or within.holds(one)]
            found += [session async for _, session in self._looked_up(scopes) if session is not None]
        return sorted(found, key=lambda one: (-one.expires_at.timestamp(), scope_text(one.scope)))[:limit]

    async def waiting(self, *, now: datetime, soon: timedelta, limit: int) -> list[Waiting]:
        """Return sessions of every tenant whose messages should be drained, the most urgent first."""
        found: list[Waiting] = []
        for tenant in await self._all_tenants():
            scopes = await self._to_look_at(tenant, _microseconds(now + soon))
            async for scope, session in self._looked_up(scopes):
                if session is None or (not session.messages and session.state(now) != "live"):
                    await self._run(scripts.SWEEP, scope, now=now)
                elif (due := self.limits.due(session, now=now, soon=soon)) is not None:
                    found.append(due)
        return sorted(found, key=lambda one: (one.session.expires_at, scope_text(one.scope)))[:limit]

    async def take(self, scope: Scope, *, limit: int) -> list[Message]:
        """Return the oldest messages of a session, in order, whatever its state."""
        return _messages(await self._run(scripts.TAKE, scope, limit))

    async def drained(self, scope: Scope, ids: Sequence[UUID], *, now: datetime) -> int:
        """Let go of the oldest messages, as far as they are among these; return how many those were."""
        return int(await self._run(scripts.DRAINED, scope, *map(str, ids), now=now))

    async def discard(self, scope: Scope, ids: Sequence[UUID], *, now: datetime) -> int:
        """Let go of these messages, wherever they stand; return how many of them were there."""
        return int(await self._run(scripts.DISCARD, scope, *map(str, ids), now=now))

    async def shut(self) -> None:
        """Close the connection. Whoever else shares it opens it again by using it."""
        await self._connection.shut()

    async def _register(self, scope: Scope, *, again: bool = False) -> None:
        """Note the tenant, so that what waits to be drained is found: before its first session, and with each new one.

        A Redis that lost everything has lost the tenants that this process has noted, too.
        """
        check_session(scope)
        if again or scope.tenant not in self._tenants:
            await self._connection.call(lambda client: client.sadd(TENANTS, scope.tenant))
            if len(self._tenants) >= TENANTS_KNOWN:
                self._tenants.clear()
            self._tenants.add(scope.tenant)

    async def _run(
        self,
        script: str,
        scope: Scope,
        *own: object,
        now: datetime | None = None,
        ttl: timedelta | None = None,
        repeat: bool = True,
    ) -> Any:  # noqa: ANN401 -- each script has an answer of its own
        """Run one of the scripts; what it is given is described above them."""
        check_session(scope)
        life = ttl or timedelta(0)
        moment = _microseconds(now) if now is not None else 0
        expires = moment + life // _MICROSECOND
        kept = (life + self.limits.grace) // timedelta(milliseconds=1)
        given = (scope_text(scope), moment, expires, kept, self.limits.messages, *own)
        keys = [session_key(scope, part) for part in ("session", "messages", "ids", "scratch")]
        keys.append(key_of(scope.tenant, "working", "sessions"))
        return await self._connection.call(lambda client: client.eval(script, len(keys), *keys, *given), repeat=repeat)

    async def _all_tenants(self) -> list[str]:
        found: set[bytes] = await self._connection.call(lambda client: client.smembers(TENANTS))
        return sorted(one.decode() for one in found)

    async def _to_look_at(self, tenant: str, horizon: int | str) -> list[Scope]:
        key = key_of(tenant, "working", "sessions")
        names = await self._connection.call(lambda client: client.zrangebyscore(key, "-inf", horizon))
        return [scope_from_text(tenant, name) for name in names]

    async def _looked_up(self, scopes: Sequence[Scope]) -> AsyncIterator[tuple[Scope, Session | None]]:
        for start in range(0, len(scopes), _LISTED):
            some = scopes[start : start + _LISTED]

            async def look(client: Any, some: Sequence[Scope] = some) -> list[Any]:  # noqa: ANN401 -- the driver's client
                pipeline = client.pipeline(transaction=False)
                for scope in some:
                    pipeline.hmget(session_key(scope, "session"), _FIELDS)
                rows: list[Any] = await pipeline.execute()
                return rows

            for scope, row in zip(some, await self._connection.call(look), strict=True):
                yield scope, _session(scope, row)


def session_key(scope: Scope, part: str) -> str:
    """The key of this part of a session."""
    check_session(scope)
    return key_of(scope.tenant, "working", part, *(name or "" for name in scope.names()))


def _expected(version: str | None) -> tuple[int, str]:
    return int(version is not None), version or ABSENT


def _messages(answer: tuple[int, list[bytes]]) -> list[Message]:
    first, bodies = answer
    return [message_from(body, first + place) for place, body in enumerate(bodies)]


def value_of(name: str, kept: bytes) -> Scratch:
    """The value that a scratchpad keeps so."""
    return scratch_from(name, kept.partition(b"\n")[2])


def _session(scope: Scope, row: Sequence[bytes | None]) -> Session | None:
    first, following, taken, started, expires, ended = row
    if first is None or following is None or taken is None or started is None or expires is None:
        return None
    return Session(
        scope=scope,
        messages=int(following) - int(first),
        first=int(first),
        bytes=int(taken),
        started_at=_moment(started),
        expires_at=_moment(expires),
        ended_at=_moment(ended) if ended else None,
    )


def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def _moment(value: bytes) -> datetime:
    return _EPOCH + timedelta(microseconds=int(value))
