"""Working memory: what is said and noted while a session goes on, and how it is handed over when it is done."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from scrubjay.model import Scope
from scrubjay.model.working import Limits, Message, Recent, Scratch, Session, Waiting


class Working(Protocol):
    """Sessions: messages in their order, a scratchpad of named values, and a life that every change renews.

    A session is a scope that names one; two scopes that differ in any name are two sessions, and none sees the other.
    It lives for its `ttl` after the last `append`, `set` or `extend`, or until it is ended; then it is over. Nothing of
    its scratchpad is left then. Its messages stay, for at least the grace period of the store's limits, until they are
    `drained`. The first `append` or `set` after that opens it again, with the messages that are left.

    What is over is decided by the `now` of the caller. All changes of one call happen, or none. A change is as durable
    on return as the store is; one that raised StoreUnavailable may have happened, and can be repeated.
    """

    @property
    def limits(self) -> Limits:
        """How much a session may hold, and for how long."""

    async def append(
        self,
        scope: Scope,
        messages: Sequence[Message],
        *,
        ttl: timedelta,
        now: datetime,
        new: Collection[UUID] = (),
    ) -> list[Message]:
        """Put these behind what is there, and return them with their positions, in the order given.

        Positions of a session count from 0 without gaps, also among concurrent writers. A message whose id the session
        holds is not stored again: the one that is there is returned, whatever it says. Raises Met when it holds one
        of the ids that the caller takes for `new`, and Conflict when the session would be larger than the limits allow.
        Messages over the cap of messages are stored, and wait to be drained.
        """

    async def known(self, scope: Scope, ids: Sequence[UUID], *, now: datetime) -> list[Message]:
        """Return the messages with these ids that the session holds, whatever its state, in no order."""

    async def recent(self, scope: Scope, *, limit: int, now: datetime, over: bool = False) -> Recent:
        """Return the newest messages in the order they were said; those of a session that is over only with `over`."""

    async def session(self, scope: Scope, *, now: datetime) -> Session | None:
        """Return what is known of the session, also when it is over; None when there is nothing left of it."""

    async def set(
        self, scope: Scope, scratch: Scratch, *, ttl: timedelta, now: datetime, expect: str | None = None
    ) -> Scratch:
        """Put a value on the scratchpad in place of the one with its name, and return it as it is stored.

        With `expect`, only when the one that is there has this version; `ABSENT` expects that there is none. Raises
        Conflict, naming both versions, when that is not so, and when the scratchpad is full. A value whose version is
        there already is left alone, so that a call can be repeated.
        """

    async def get(self, scope: Scope, name: str, *, now: datetime) -> Scratch | None:
        """Return the value of this name, or None."""

    async def scratch(self, scope: Scope, *, now: datetime) -> list[Scratch]:
        """Return all values on the scratchpad, by name."""

    async def delete(self, scope: Scope, name: str, *, now: datetime, expect: str | None = None) -> bool:
        """Take a value off the scratchpad; return whether it was there. `expect` is as in `set`."""

    async def extend(self, scope: Scope, *, ttl: timedelta, now: datetime) -> Session | None:
        """Let a session live that long from now on; None when there is none or it is over."""

    async def end(self, scope: Scope, *, now: datetime) -> Session | None:
        """Let a session be over from now on; None when there is none. One that is over already stays as it is."""

    async def sessions(self, within: Scope | None, *, now: datetime, limit: int) -> list[Session]:
        """Return the sessions that the scope holds, those that live longest first; also those that are over.

        None holds the sessions of every tenant.
        """

    async def waiting(self, *, now: datetime, soon: timedelta, limit: int) -> list[Waiting]:
        """Return sessions of every tenant whose messages should be drained, the most urgent first.

        They are over, or will be within `soon`, or hold more messages than the cap. A session is in it as long as that
        is so: whoever drains it may be killed at any point, and the next one begins where the last `drained` was.
        """

    async def take(self, scope: Scope, *, limit: int) -> list[Message]:
        """Return the oldest messages of a session, in order, whatever its state. They stay until they are `drained`."""

    async def drained(self, scope: Scope, ids: Sequence[UUID], *, now: datetime) -> int:
        """Let go of the oldest messages, as far as they are among these; return how many those were. Safe to repeat.

        A session that is over and holds no messages is gone after that.
        """

    async def discard(self, scope: Scope, ids: Sequence[UUID], *, now: datetime) -> int:
        """Let go of these messages, wherever they stand; return how many of them were there. Safe to repeat.

        There is no gap after it: what was said before them moves up. A session that is over and holds no messages is
        gone after that.
        """

    async def shut(self) -> None:
        """Let go of files and connections. Safe to call twice."""


class Met(Exception):
    """Somebody else has said something under an id that was taken for new: look at what it is, then try again."""
