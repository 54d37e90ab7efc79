"""Working memory: what is said and noted while a session goes on, and how it is handed over when it is done."""

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol
from uuid import UUID

from scrubjay.model import Scope
from scrubjay.model.working import (
    Limits,
    Message,
    Recent,
    Scratch,
    Session,
    Waiting,
    message_from,
    message_text,
    scratch_from,
    scratch_text,
)


class Working(Protocol):
    """Sessions: messages in their order, a scratchpad of named values, and a life that every change renews.

    A session is a scope that names one; two scopes that differ in any name are two sessions, and none sees the other.
    It lives for its `ttl` after the last `append`, `set` or `extend`, or until it is ended; then it is over. Nothing of
    its scratchpad is left then. Its messages stay, for at least the grace period of the store's limits, until they are
    `drained`. The first `append` or `set` after that opens it again, with the messages that are left.

    What is over is decided by the `now` of the caller. All changes of one call happen, or none.
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

    async def sessions(self, within: Scope, *, now: datetime, limit: int) -> list[Session]:
        """Return the sessions that the scope holds, those that live longest first; also those that are over."""

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


class Outrun(Exception):
    """The session went on by a detour that the caller did not know of: look for it, then try again."""


class Fenced(Working, Protocol):
    """A working memory that may be away for a while, during which changes are noted elsewhere and made later.

    Those changes are numbered, and a session remembers the highest number that it has seen.
    """

    def fenced(self, number: int, *, replay: bool = False) -> Working:
        """The same working memory, for one who knows of changes up to this number.

        With `replay`, its next change is the one of this number: made once, and passed over when the session has seen
        it. Without, a change raises Outrun when the session has seen a higher number: a call that was given up long
        ago, and arrives now, changes nothing any more.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A change of a session that was noted, to be made when its store is back."""

    do: Literal["append", "set", "delete", "extend", "end"]
    at: datetime
    ttl: timedelta | None = None
    messages: tuple[Message, ...] = ()
    scratch: Scratch | None = None
    name: str | None = None
    number: int = 0
    """Given when it is noted: a later one has a higher number."""


def operation_text(operation: Operation) -> str:
    """The change as a store keeps it: JSON without its number, which the store knows."""
    scratch = operation.scratch
    kept: dict[str, Any] = {
        "do": operation.do,
        "at": operation.at.isoformat(),
        "ttl": operation.ttl.total_seconds() if operation.ttl is not None else None,
        "messages": [message_text(message) for message in operation.messages],
        "name": scratch.name if scratch is not None else operation.name,
        "scratch": scratch_text(scratch) if scratch is not None else None,
    }
    return json.dumps(kept, ensure_ascii=False)


def operation_from(number: int, text: str) -> Operation:
    """The change that was kept so."""
    kept = json.loads(text)
    return Operation(
        do=kept["do"],
        at=datetime.fromisoformat(kept["at"]),
        ttl=timedelta(seconds=kept["ttl"]) if kept["ttl"] is not None else None,
        messages=tuple(message_from(body, None) for body in kept["messages"]),
        scratch=scratch_from(kept["name"], kept["scratch"]) if kept["scratch"] is not None else None,
        name=kept["name"],
        number=number,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Detour:
    """What was noted for one session and not made yet."""

    number: int = 0
    """The highest number that any change of this session had, made or not; 0 when it never went by a detour."""
    operations: tuple[Operation, ...] = ()


class Detours(Protocol):
    """Changes of sessions whose store is away, in their order. Every process sees the same ones."""

    async def detour(self, scope: Scope) -> Detour:
        """Return what is noted for this session."""

    async def note(self, scope: Scope, decide: Callable[[Detour], Operation]) -> Operation:
        """Ask `decide` what to note, given what is noted, and note it in one transaction. Durable on return."""

    async def settled(self, scope: Scope, number: int) -> None:
        """Forget the changes of this session up to this number: they are made. Safe to repeat."""

    async def detoured(self, *, limit: int) -> list[Scope]:
        """Return the sessions, of every tenant, for which something is noted."""
