"""Working memory on dicts: the reference that the other backends are compared with."""

from collections.abc import Collection, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from scrubjay.model import Scope
from scrubjay.model.working import (
    Limits,
    Message,
    Recent,
    Scratch,
    Session,
    Waiting,
    check_session,
    check_version,
    scope_text,
)
from scrubjay.ports import WholeSession
from scrubjay.ports.working import Met


@dataclass
class _Held:
    """One session."""

    started_at: datetime
    expires_at: datetime
    ended_at: datetime | None = None
    first: int = 0
    messages: list[Message] = field(default_factory=list)
    pad: dict[str, Scratch] = field(default_factory=dict)

    def is_over(self, now: datetime) -> bool:
        return self.ended_at is not None or self.expires_at <= now


class MemoryWorking:
    """The `Working` port. Nothing outlives the process."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._sessions: dict[Scope, _Held] = {}

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
        check_session(scope)
        held = self._sessions.get(scope) or _Held(started_at=now, expires_at=now)
        known = {message.id: message for message in held.messages}
        if not known.keys().isdisjoint(new):
            raise Met
        fresh = list({message.id: message for message in messages if message.id not in known}.values())
        self.limits.check_room(scope, sum(message.bytes for message in [*held.messages, *fresh]))
        following = held.first + len(held.messages)
        placed = [message.placed(following + place) for place, message in enumerate(fresh)]
        held.messages += deepcopy(placed)
        self._renew(scope, held, ttl, now)
        known |= {message.id: message for message in placed}
        return [known[message.id] for message in messages]

    async def known(self, scope: Scope, ids: Sequence[UUID], *, now: datetime) -> list[Message]:  # noqa: ARG002 -- the port's shape
        """Return the messages with these ids that the session holds, whatever its state."""
        held, wanted = self._held(scope), set(ids)
        return [message for message in held.messages if message.id in wanted] if held is not None else []

    async def recent(self, scope: Scope, *, limit: int, now: datetime, over: bool = False) -> Recent:
        """Return the newest messages in the order they were said."""
        held = self._held(scope)
        if held is None or (held.is_over(now) and not over):
            return Recent()
        return Recent(messages=tuple(held.messages[max(0, len(held.messages) - limit) :]))

    async def session(self, scope: Scope, *, now: datetime) -> Session | None:  # noqa: ARG002 -- the port's shape
        """Return what is known of the session, also when it is over."""
        held = self._held(scope)
        return _session(scope, held) if held is not None else None

    async def set(
        self, scope: Scope, scratch: Scratch, *, ttl: timedelta, now: datetime, expect: str | None = None
    ) -> Scratch:
        """Put a value on the scratchpad in place of the one with its name, and return it as it is stored."""
        check_session(scope)
        held = self._sessions.get(scope) or _Held(started_at=now, expires_at=now)
        pad = {} if held.is_over(now) else held.pad
        known = pad.get(scratch.name)
        if known is not None and known.version == scratch.version:
            return known
        check_version(scratch.name, expect, known.version if known else None)
        self.limits.check_pad(scope, len(pad.keys() | {scratch.name}))
        self._renew(scope, held, ttl, now)
        held.pad[scratch.name] = deepcopy(scratch)
        return scratch

    async def get(self, scope: Scope, name: str, *, now: datetime) -> Scratch | None:
        """Return the value of this name, or None."""
        return next((one for one in await self.scratch(scope, now=now) if one.name == name), None)

    async def scratch(self, scope: Scope, *, now: datetime) -> list[Scratch]:
        """Return all values on the scratchpad, by name."""
        held = self._held(scope)
        if held is None or held.is_over(now):
            return []
        return [deepcopy(held.pad[name]) for name in sorted(held.pad)]

    async def delete(self, scope: Scope, name: str, *, now: datetime, expect: str | None = None) -> bool:
        """Take a value off the scratchpad; return whether it was there."""
        held = self._held(scope)
        pad = {} if held is None or held.is_over(now) else held.pad
        check_version(name, expect, pad[name].version if name in pad else None)
        return pad.pop(name, None) is not None

    async def extend(self, scope: Scope, *, ttl: timedelta, now: datetime) -> Session | None:
        """Let a session live that long from now on; None when there is none or it is over."""
        held = self._held(scope)
        if held is None or held.is_over(now):
            return None
        held.expires_at = now + ttl
        return _session(scope, held)

    async def end(self, scope: Scope, *, now: datetime) -> Session | None:
        """Let a session be over from now on; None when there is none."""
        held = self._held(scope)
        if held is None:
            return None
        if not held.is_over(now):
            held.ended_at = now
            held.pad.clear()
        session = _session(scope, held)
        self._let_go(scope, held, now)
        return session

    async def sessions(self, within: Scope | None, *, now: datetime, limit: int) -> list[Session]:  # noqa: ARG002 -- the port's shape
        """Return the sessions that the scope holds, those that live longest first; also those that are over."""
        held = [pair for pair in self._sessions.items() if within is None or within.holds(pair[0])]
        found = [_session(scope, one) for scope, one in held]
        return sorted(found, key=lambda one: (-one.expires_at.timestamp(), scope_text(one.scope)))[:limit]

    async def waiting(self, *, now: datetime, soon: timedelta, limit: int) -> list[Waiting]:
        """Return sessions of every tenant whose messages should be drained, the most urgent first."""
        for scope, held in list(self._sessions.items()):
            self._let_go(scope, held, now)
        found = [self.limits.due(_session(scope, held), now=now, soon=soon) for scope, held in self._sessions.items()]
        due = [one for one in found if one is not None]
        return sorted(due, key=lambda one: (one.session.expires_at, scope_text(one.scope)))[:limit]

    async def take(self, scope: Scope, *, limit: int) -> list[Message]:
        """Return the oldest messages of a session, in order, whatever its state."""
        held = self._held(scope)
        return held.messages[:limit] if held is not None else []

    async def drained(self, scope: Scope, ids: Sequence[UUID], *, now: datetime) -> int:
        """Let go of the oldest messages, as far as they are among these; return how many those were."""
        held = self._held(scope)
        if held is None:
            return 0
        done, left = set(ids), list(held.messages)
        while left and left[0].id in done:
            left.pop(0)
        gone = len(held.messages) - len(left)
        held.first += gone
        held.messages = left
        self._let_go(scope, held, now)
        return gone

    async def discard(self, scope: Scope, ids: Sequence[UUID], *, now: datetime) -> int:
        """Let go of these messages, wherever they stand; return how many of them were there."""
        held = self._held(scope)
        if held is None:
            return 0
        unwanted = set(ids)
        kept = [message for message in held.messages if message.id not in unwanted]
        gone = len(held.messages) - len(kept)
        held.first += gone
        held.messages = [message.placed(place) for place, message in enumerate(kept, held.first)]
        self._let_go(scope, held, now)
        return gone

    async def shut(self) -> None:
        """There is nothing to let go of."""

    def whole(self) -> list[WholeSession]:
        """All sessions, with everything that is in them."""
        return [
            WholeSession(
                scope=scope,
                session=_session(scope, held),
                messages=tuple(deepcopy(held.messages)),
                scratch=tuple(deepcopy(held.pad[name]) for name in sorted(held.pad)),
            )
            for scope, held in self._sessions.items()
        ]

    def put(self, whole: WholeSession) -> None:
        """Keep this session as it is, in place of what there is of it."""
        if (session := whole.session) is not None:
            self._sessions[whole.scope] = _Held(
                started_at=session.started_at,
                expires_at=session.expires_at,
                ended_at=session.ended_at,
                first=session.first,
                messages=list(deepcopy(whole.messages)),
                pad={one.name: deepcopy(one) for one in whole.scratch},
            )

    def _held(self, scope: Scope) -> _Held | None:
        check_session(scope)
        return self._sessions.get(scope)

    def _renew(self, scope: Scope, held: _Held, ttl: timedelta, now: datetime) -> None:
        if held.is_over(now):
            held.pad.clear()
            held.started_at, held.ended_at = now, None
        held.expires_at = now + ttl
        self._sessions[scope] = held

    def _let_go(self, scope: Scope, held: _Held, now: datetime) -> None:
        if held.is_over(now) and not held.messages:
            self._sessions.pop(scope, None)


def _session(scope: Scope, held: _Held) -> Session:
    return Session(
        scope=scope,
        messages=len(held.messages),
        first=held.first,
        bytes=sum(message.bytes for message in held.messages),
        started_at=held.started_at,
        expires_at=held.expires_at,
        ended_at=held.ended_at,
    )
