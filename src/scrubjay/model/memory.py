"""A memory: what, where and when. One value serves all five memories; a kind is only a word in it."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from hashlib import blake2b
from typing import Any, Final, Self, cast
from uuid import UUID

from scrubjay.errors import InvalidInput
from scrubjay.model.checks import (
    Json,
    check_content,
    check_data,
    check_flag,
    check_fraction,
    check_kind,
    check_moment,
    check_name,
    check_order,
    check_whole,
    shown,
)
from scrubjay.model.scope import Scope
from scrubjay.model.sealed import fingerprint_in, is_sealed, words_in

DEFAULT_KIND: Final = "note"

MESSAGE_KIND: Final = "message"
"""What somebody said: also the kind that a message of a session becomes when that is drained."""

EVENT_KINDS: Final = frozenset({"event", "message", "negotiation", "observation", "plan", "reflection", "result"})
"""Things that happened. Saying one twice is two events, so only an id makes them one."""

STANDING_KINDS: Final = ("instruction", "rule", "preference", "convention")
"""Things that always hold in their scope. Similarity does not find them, so `context` always offers them."""

QUIET_KINDS: Final = frozenset({"checkpoint", "checkpoint_write", "session_item", "stored_item"})
"""What programs keep for themselves, such as the state of a run. No index has its words or its meaning, and a reader
who names no kinds does not meet it; whoever lists, counts, exports or forgets what a scope holds does."""

_ROLES: Final = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "system": "system",
    "tool": "tool",
}
"""What those are called who have no name but a role."""

_LONGEST_ROLE: Final = max(map(len, _ROLES)) + 1
"""Signs of the longest of them, with its colon."""

CHECKPOINT_KIND: Final = "checkpoint"
WRITE_KIND: Final = "checkpoint_write"
STATE_KINDS: Final = frozenset({CHECKPOINT_KIND, WRITE_KIND})
"""States of a program, which it makes objects of again: whoever writes one says which. So nobody can just tell one."""

EXPIRED: Final = "expired"
ARCHIVED: Final = "archived"
"""Why consolidation closed a memory; after the second stands the file that holds what it said."""

_INSTANT: Final = timedelta(microseconds=1)
_END_OF_TIME: Final = datetime.max.replace(tzinfo=UTC)

FORGOTTEN: Final = "forgotten"
"""Why a memory is closed that somebody asked to forget, and what was made from it; a reason may follow."""


def moment_after(last: datetime, now: datetime) -> datetime:
    """The present moment, or the first one after the last where the clock is behind it: order does not go back."""
    return now if last < now else last + min(_INSTANT, _END_OF_TIME - last)


class Trust(StrEnum):
    """Where the words came from, which decides how far to follow them."""

    TOLD = "told"
    """A person or the operator said it."""
    CONCLUDED = "concluded"
    """An agent or Scrubjay worked it out."""
    OBSERVED = "observed"
    """Output of a tool, a file, a log."""
    FOREIGN = "foreign"
    """A web page, an e-mail, anything a stranger could have written."""

    @classmethod
    def least(cls, classes: "Iterable[Trust]") -> "Trust":
        """The least trusted of them: what is derived is trusted no more than its weakest source."""
        return max(classes, key=list(cls).index)


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Something remembered. Frozen: a change is a new version, and the old one stays answerable.

    `valid_from` / `valid_to` say when it held in the world, `created_at` / `superseded_at` when we believed it.
    """

    # what
    id: UUID
    kind: str = DEFAULT_KIND
    content: str
    key: str | None = None
    data: dict[str, Json] = field(default_factory=dict, hash=False)
    importance: float = 0.5
    trust: Trust = Trust.TOLD
    source: str | None = None
    author: str | None = None
    reason: str | None = None
    derived_from: tuple[UUID, ...] = ()
    redacted: tuple[str, ...] = ()
    encrypted: bool = field(default=False, compare=False)
    """Whether it is stored encrypted. Readers who have the key see it as it was told."""
    # where
    scope: Scope
    position: int | None = None
    """Its place in its session, given by the store: exact, also when clocks are not."""
    # when
    created_at: datetime
    valid_from: datetime
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    superseded_at: datetime | None = None
    superseded_by: UUID | None = None
    closed_because: str | None = None
    # how it is used
    uses: int = 0
    used_at: datetime | None = None
    generation: int | None = None
    """The embedding generation it is indexed with; None while it waits to be."""
    _fingerprint: bytes | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.id, UUID):
            raise InvalidInput(f"id is {shown(self.id)}: use a UUID")
        check_kind(self.kind)
        check_content(self.content)
        check_name("key", self.key)
        check_data(self.data)
        check_fraction("importance", self.importance)
        check_name("source", self.source)
        check_name("author", self.author)
        if self.reason is not None:
            check_content(self.reason, "reason")
        if self.closed_because is not None:
            check_content(self.closed_because, "closed_because")
        check_flag("encrypted", self.encrypted)
        check_moment("created_at", self.created_at)
        check_moment("valid_from", self.valid_from)
        check_moment("valid_to", self.valid_to)
        check_moment("expires_at", self.expires_at)
        check_moment("superseded_at", self.superseded_at)
        check_moment("used_at", self.used_at)
        check_order("valid_from", self.valid_from, "valid_to", self.valid_to)
        if self.position is not None:
            check_whole("position", self.position, least=0, most=2**53)

    @property
    def is_event(self) -> bool:
        """Whether it happened (a message, an observation) rather than holds (a fact, a preference)."""
        return self.kind in EVENT_KINDS

    @property
    def may_be_turn(self) -> bool:
        """Whether it can be a turn of a conversation: a message, or a note of a session."""
        return self.kind == MESSAGE_KIND or (self.kind == DEFAULT_KIND and self.scope.session is not None)

    @property
    def role(self) -> str | None:
        """In which role it was said, in the words of chat models.

        As it was told; else as the author is called, or as stands before the text, as in "assistant: You're welcome!".
        """
        told = self.data.get("role")
        if isinstance(told, str):
            return told
        if not self.may_be_turn:
            return None
        if self.author is not None:
            return _ROLES.get(self.author.lower())
        name, colon, _ = self.content[:_LONGEST_ROLE].partition(":")
        return _ROLES.get(name.lower()) if colon else None

    @property
    def speaker(self) -> str:
        """Who said it, for what was said: "what did Anna say?" should find Anna's words. Empty otherwise."""
        return self.author if self.author and (self.is_event or self.kind == DEFAULT_KIND) else ""

    @property
    def fingerprint(self) -> bytes:
        """What makes two memories of one scope the same thing said twice."""
        found = self._fingerprint
        if found is None:
            found = fingerprint_in(self.content)
            if found is None:
                found = self._said()
            object.__setattr__(self, "_fingerprint", found)
        return found

    def _said(self) -> bytes:
        data = json.dumps(self.data, ensure_ascii=False, sort_keys=True, separators=(",", ":")) if self.data else ""
        key, own = self.key or "", str(self.id) if self.kind in EVENT_KINDS else ""
        # Each with its length before it, so that no two different memories spell the same text.
        text = (
            f"{len(self.kind)}:{self.kind}{len(key)}:{key}{len(self.content)}:{self.content}"
            f"{len(data)}:{data}{len(own)}:{own}"
        )
        return blake2b(text.encode(), digest_size=16).digest()

    def believed_at(self, moment: datetime) -> bool:
        """Whether we held it to be so at that moment."""
        return self.created_at <= moment and (self.superseded_at is None or moment < self.superseded_at)

    def held_at(self, moment: datetime) -> bool:
        """Whether it held in the world at that moment, and had not expired."""
        return (
            self.valid_from <= moment
            and (self.valid_to is None or moment < self.valid_to)
            and (self.expires_at is None or moment < self.expires_at)
        )

    def holds(self, now: datetime) -> bool:
        """Whether it holds in the world at present, and has not expired.

        The present is not before it was told, whatever the time is: the clock of whoever told it may be ahead of ours.
        """
        return self.held_at(max(now, self.created_at))

    def overlaps(self, other: "Memory") -> bool:
        """Whether there is a moment of the world that both speak of."""
        return (self.valid_to is None or other.valid_from < self.valid_to) and (
            other.valid_to is None or self.valid_from < other.valid_to
        )

    def state(self, now: datetime) -> str:
        """`current`, `superseded`, `forgotten`, `expired`, `archived`, `past` (no longer so) or `future` (not yet)."""
        if self.superseded_at is not None:
            if self.superseded_by is not None:
                return "superseded"
            why = (self.closed_because or "").partition(":")[0]
            return why if why in (EXPIRED, ARCHIVED) else "forgotten"
        if self.expires_at is not None and self.expires_at <= now:
            return "expired"
        if self.valid_to is not None and self.valid_to <= now:
            return "past"
        return "current" if self.holds(now) else "future"

    @property
    def is_forgotten(self) -> bool:
        """Whether it was forgotten by name, or with what it was made from: then nothing new is made from it."""
        why = self.closed_because or ""
        if self.superseded_at is None or self.superseded_by is not None:
            return False
        return FORGOTTEN in words_in(why) if is_sealed(why) else why.startswith(FORGOTTEN)

    def is_kept_as(self, seen: "Memory") -> bool:
        """Whether it is as important as when it was seen, and kept as long: what says the same may change in these."""
        return (self.importance, self.expires_at) == (seen.importance, seen.expires_at)

    def closed(self, at: datetime, *, because: str, by: UUID | None = None) -> Self:
        """The same memory, no longer believed from `at` on, or from just after it was told if that is later.

        The index has to hear of it, so its mark is cleared.
        """
        closed_at = moment_after(self.created_at, at)
        return replace(self, superseded_at=closed_at, superseded_by=by, closed_because=because, generation=None)

    def kept_until(self, until: datetime | None) -> Self:
        """The same memory, believed, and kept until then or for ever. The index has to hear of it, as of its end."""
        return replace(
            self, expires_at=until, superseded_at=None, superseded_by=None, closed_because=None, generation=None
        )

    def closed_as(self, elsewhere: "Memory") -> Self | None:
        """The same memory, closed or ended as it is elsewhere; None when that is another one, or knows no more.

        What is closed here stays closed. How it is kept and how often it was used here stays as well.
        """
        knows_more = elsewhere.superseded_at is not None or (self.valid_to is None and elsewhere.valid_to is not None)
        if self.superseded_at is not None or not knows_more or not self.is_one_with(elsewhere):
            return None
        return replace(
            self,
            valid_to=elsewhere.valid_to if self.valid_to is None else self.valid_to,
            superseded_at=elsewhere.superseded_at,
            superseded_by=elsewhere.superseded_by,
            closed_because=elsewhere.closed_because,
            generation=None,
        )

    def is_one_with(self, other: "Memory") -> bool:
        """Whether both are one memory, wherever each was read. What it says is not asked: one may be encrypted."""
        return (self.id, self.scope, self.kind, self.key, self.created_at, self.valid_from) == (
            other.id,
            other.scope,
            other.kind,
            other.key,
            other.created_at,
            other.valid_from,
        )

    def __str__(self) -> str:
        return f"{self.kind}: {self.content}"

    def __repr__(self) -> str:
        content = self.content if len(self.content) <= 60 else f"{self.content[:59]}…"
        key = f" {self.key}" if self.key else ""
        return f"<Memory {self.id} {self.kind}{key} {content!r} ({self.scope})>"


class _Unchecked:
    """The same slots without the checks: what was put into them becomes a memory when its class is changed."""

    __slots__ = Memory.__slots__


def as_stored(values: Sequence[object]) -> Memory:
    """The memory of these values, one for each field in their order, from a store that checked them when it took them.

    Recall looks at many memories for every one that it returns: to check each of them again would be most of it.
    """
    memory: Any = _Unchecked()
    # Six times as fast as to ask each slot of a frozen class to take its value.
    (
        memory.id, memory.kind, memory.content, memory.key, memory.data, memory.importance, memory.trust,
        memory.source, memory.author, memory.reason, memory.derived_from, memory.redacted, memory.encrypted,
        memory.scope, memory.position, memory.created_at, memory.valid_from, memory.valid_to, memory.expires_at,
        memory.superseded_at, memory.superseded_by, memory.closed_because, memory.uses, memory.used_at,
        memory.generation, memory._fingerprint,  # noqa: SLF001 -- its own module
    ) = values  # fmt: skip
    memory.__class__ = Memory
    return cast("Memory", memory)


_TOLD: Final = Trust.TOLD


def as_told(id: UUID, content: str, scope: Scope, at: datetime, redacted: tuple[str, ...] = ()) -> Memory:
    """The memory of one who told no more than this, at this moment: the same as `Memory` with the rest left out.

    Most are told so, and what is left out needs no check.
    """
    check_content(content)
    check_moment("created_at", at)
    values: tuple[object, ...] = (
        id, DEFAULT_KIND, content, None, {}, 0.5, _TOLD, None, None, None, (), redacted, False, scope, None,
        at, at, None, None, None, None, None, 0, None, None, None,
    )  # fmt: skip
    return as_stored(values)
