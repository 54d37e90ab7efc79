"""Working memory: the messages of a session in their order, the values on its scratchpad, and how long it lasts."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final, Literal, Self, TypeAlias, get_args, overload
from uuid import UUID, uuid5

from scrubjay.errors import Conflict, InvalidInput
from scrubjay.model.checks import Json, check_data, check_moment, check_name, check_storable, check_whole, shown
from scrubjay.model.layout import indented
from scrubjay.model.memory import MESSAGE_KIND, Memory, Trust
from scrubjay.model.scope import SCOPE_NAMES, Scope

Source: TypeAlias = Literal["both", "working", "records"]
"""Where messages are read: what the session still holds and, before that, what was drained into episodes; or one."""

SOURCES: Final[tuple[Source, ...]] = get_args(Source)

Durability: TypeAlias = Literal["records", "redis"]
"""Where a change of a session is when it is acknowledged: in the record store, or in Redis until it is drained."""

ABSENT: Final = ""
"""As the version that is expected of a scratch value: that there is none."""

_TOLD: Final = ("id", "role", "content", "name", "tool_calls", "tool_call_id")
_TRUST: Final = {"tool": Trust.OBSERVED, "function": Trust.OBSERVED, "assistant": Trust.CONCLUDED}
_ROLE: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_LONGEST_LIFE: Final = timedelta(days=3650)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a session. Its id makes it one message, however often it is appended."""

    id: UUID
    role: str
    content: str = ""
    name: str | None = None
    tool_calls: tuple[dict[str, Json], ...] = field(default=(), hash=False)
    tool_call_id: str | None = None
    """The call that this message answers."""
    at: datetime
    redacted: tuple[str, ...] = ()
    """The kinds of secret that were taken out of it."""
    position: int | None = None
    """Its place in the session, given by the store."""

    def __post_init__(self) -> None:
        if not isinstance(self.id, UUID):
            raise InvalidInput(f"id is {shown(self.id)}: use a UUID")
        if not isinstance(self.role, str) or not _ROLE.fullmatch(self.role):
            raise InvalidInput(
                f"role is {shown(self.role)}: use a word such as 'user', 'assistant', 'system' or 'tool'"
            )
        if not isinstance(self.content, str):
            raise InvalidInput(f"content is {shown(self.content)}: give it as text")
        check_storable("content", self.content)
        check_name("name", self.name)
        check_name("tool_call_id", self.tool_call_id)
        if not isinstance(self.tool_calls, tuple) or not all(isinstance(call, dict) for call in self.tool_calls):
            raise InvalidInput(f"tool_calls is {shown(self.tool_calls)}: use a sequence of dicts")
        check_data({"tool_calls": list(self.tool_calls)})
        if not (self.content.strip() or self.tool_calls or self.tool_call_id):
            raise InvalidInput(f"content is {shown(self.content)}: give it some text, or tool_calls")
        check_moment("at", self.at)
        if self.position is not None:
            check_whole("position", self.position, least=0, most=2**53)

    def placed(self, position: int | None) -> Self:
        """The same message at this place."""
        return replace(self, position=position)

    @property
    def bytes(self) -> int:
        """What it takes in a store."""
        return len(message_text(self).encode())

    @property
    def text(self) -> str:
        """What was said and called, as text: what a budget counts, and what a memory of it says."""
        return words_of(self.content, self.tool_calls)

    @property
    def data(self) -> dict[str, Json]:
        """What a memory of it keeps beside the text."""
        kept: dict[str, Json] = {"role": self.role}
        if self.tool_calls:
            kept["tool_calls"] = list(self.tool_calls)
        if self.tool_call_id is not None:
            kept["tool_call_id"] = self.tool_call_id
        if self.content != self.text:
            kept["content"] = self.content
        return kept

    def says_the_same(self, other: "Message") -> bool:
        """Whether the other one is this one, said again: all that is told of it, but not when."""
        return all(getattr(self, one) == getattr(other, one) for one in _TOLD)

    @property
    def trust(self) -> Trust:
        """How far to follow its words, by the role of who said it."""
        return _TRUST.get(self.role, Trust.TOLD)

    def __str__(self) -> str:
        return indented(f"{self.name or self.role}: {self.text}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scratch:
    """A named value on the scratchpad of a session. Every change of it has another version."""

    name: str
    value: Json = field(hash=False)
    version: str
    at: datetime
    redacted: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_name("name", self.name)
        check_name("version", self.version)
        check_data({self.name: self.value})
        check_moment("at", self.at)

    @property
    def bytes(self) -> int:
        """What it takes in a store."""
        return len(scratch_text(self).encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What a store knows of a session beside what was said in it."""

    scope: Scope
    messages: int
    """Those that it holds; what was drained into episodes is not among them."""
    first: int
    """The position of the oldest of them, or of the next message when there is none."""
    bytes: int
    """What the messages take in the store."""
    started_at: datetime
    expires_at: datetime
    ended_at: datetime | None = None

    def state(self, now: datetime) -> Literal["live", "ended", "expired"]:
        """Whether it goes on, or how it came to its end."""
        if self.ended_at is not None:
            return "ended"
        return "expired" if self.expires_at <= now else "live"


Why: TypeAlias = Literal["ended", "expired", "expiring", "long"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A session with messages that should be drained into episodes, why, and how many of them: the oldest first."""

    session: Session
    why: Why
    messages: int

    @property
    def scope(self) -> Scope:
        """Which session it is."""
        return self.session.scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Recent(Sequence[Message]):
    """The newest messages of a session, in the order they were said."""

    messages: tuple[Message, ...] = ()
    tokens: int | None = None
    """What they cost, written one below the other as `str()` does, when a budget was given."""
    degraded: tuple[str, ...] = ()
    """The parts that could not take part, such as `records`: what is here is right, but older messages are missing."""

    @overload
    def __getitem__(self, place: int) -> Message: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, place: int | slice) -> Message | tuple[Message, ...]:
        return self.messages[place]

    def __len__(self) -> int:
        return len(self.messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages)

    def __str__(self) -> str:
        return "\n".join(map(str, self.messages))

    def __repr__(self) -> str:
        lines = "".join(f"\n  {message!s}" for message in self.messages)
        degraded = f", degraded: {', '.join(self.degraded)}" if self.degraded else ""
        return f"<{len(self.messages)} messages{degraded}>{lines}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a session may hold, and for how long. One too many is refused; messages over the cap are drained."""

    ttl: timedelta = timedelta(hours=24)
    """How long a session lives after the last thing that happened in it."""
    grace: timedelta = timedelta(days=7)
    """How long messages of a session that is over are kept at least for whoever drains them."""
    messages: int = 1_000
    """Messages of one session; when there are more, the older half waits to be drained, and stays until it is."""
    message_bytes: int = 1_000_000
    session_bytes: int = 16_000_000
    """All messages of a session that are not drained yet."""
    scratch_values: int = 256
    scratch_bytes: int = 100_000
    """Each value on the scratchpad."""

    def __post_init__(self) -> None:
        check_life("ttl", self.ttl)
        check_life("grace", self.grace)
        check_whole("messages", self.messages, least=2, most=100_000)
        # A drained message has to fit into a memory, which takes a million characters.
        check_whole("message_bytes", self.message_bytes, least=1_000, most=1_000_000)
        check_whole("session_bytes", self.session_bytes, least=self.message_bytes, most=1_000_000_000)
        check_whole("scratch_values", self.scratch_values, least=1, most=10_000)
        check_whole("scratch_bytes", self.scratch_bytes, least=100, most=1_000_000)

    def check_message(self, message: Message) -> None:
        """Refuse one that is too long."""
        self.check_length(message.bytes)

    def check_length(self, size: int) -> None:
        """Refuse a message of so many bytes, or of more."""
        if size > self.message_bytes:
            raise InvalidInput(
                f"a message has {size:,} bytes: split it, or keep what is long in a file; "
                f"{self.message_bytes:,} is the most"
            )

    def check_room(self, scope: Scope, taken: int) -> None:
        """Refuse a session that would take so many bytes."""
        if taken > self.session_bytes:
            raise Conflict(
                f"session {scope.session!r} would hold {taken:,} bytes of messages that are not drained yet, and "
                f"{self.session_bytes:,} is the most: drain it with `scrubjay consolidate`, or end it"
            )

    def check_scratch(self, scratch: Scratch) -> None:
        """Refuse a value that is too long."""
        if scratch.bytes > self.scratch_bytes:
            raise InvalidInput(
                f"scratch value {scratch.name!r} has {scratch.bytes:,} bytes: keep it in a file and its path here; "
                f"{self.scratch_bytes:,} is the most"
            )

    def check_pad(self, scope: Scope, values: int) -> None:
        """Refuse a scratchpad that would hold so many values."""
        if values > self.scratch_values:
            raise Conflict(
                f"the scratchpad of session {scope.session!r} holds {self.scratch_values} values, which is the most: "
                "delete one, or put several into one"
            )

    def due(self, session: Session, *, now: datetime, soon: timedelta) -> Waiting | None:
        """Whether the session should be drained, and how far."""
        state = session.state(now)
        if not session.messages:
            return None
        if state != "live":
            return Waiting(session=session, why=state, messages=session.messages)
        if session.expires_at <= now + soon:
            return Waiting(session=session, why="expiring", messages=session.messages)
        if session.messages > self.messages:
            return Waiting(session=session, why="long", messages=session.messages - self.messages // 2)
        return None


def check_expected(expect: str | None) -> None:
    """A version that somebody read before, `ABSENT`, or None for whatever there is."""
    if expect is not None and not isinstance(expect, str):
        raise InvalidInput(f"expect is {shown(expect)}: use the version of the value that you read, as text")
    if expect:
        check_name("expect", expect)


def check_version(name: str, expect: str | None, found: str | None) -> None:
    """Refuse a change that rests on another version than the one that is there. None expects nothing."""
    if expect is not None and expect != (found or ABSENT):
        raise Conflict(
            f"scratch value {name!r} {_there(found)}, and was expected {_expected(expect)}: read it again, then decide"
        )


def _there(version: str | None) -> str:
    return f"has version {version}" if version else "is not there"


def _expected(version: str) -> str:
    return f"to have version {version}" if version else "not to be there"


def check_life(field: str, value: timedelta) -> None:
    """A stretch of time of some length."""
    if not isinstance(value, timedelta) or not timedelta(0) < value <= _LONGEST_LIFE:
        raise InvalidInput(f"{field} is {shown(value)}: use a timedelta above zero, of ten years at most")


def check_session(scope: Scope) -> None:
    """A scope that names a session."""
    if scope.session is None:
        raise InvalidInput("session is missing: working memory belongs to a session, name it")


def memory_of(message: Message, scope: Scope) -> Memory:
    """The memory that a message becomes, as it reads while the session still holds it. It has the same id."""
    return Memory(
        id=message.id,
        kind=MESSAGE_KIND,
        content=message.text,
        author=message.name,
        data=message.data,
        trust=message.trust,
        redacted=message.redacted,
        scope=scope,
        created_at=message.at,
        valid_from=message.at,
    )


def message_text(message: Message) -> str:
    """The message as a store keeps it: JSON without its position, which the store knows."""
    said: dict[str, Any] = {"id": str(message.id), "role": message.role, "content": message.content}
    said |= {name: value for name in ("name", "tool_call_id") if (value := getattr(message, name)) is not None}
    said |= {name: list(value) for name in ("tool_calls", "redacted") if (value := getattr(message, name))}
    return _text({**said, "at": message.at.isoformat()})


def message_from(text: str | bytes, position: int | None) -> Message:
    """The message that was kept so."""
    said = json.loads(text)
    return Message(
        id=UUID(said["id"]),
        role=said["role"],
        content=said["content"],
        name=said.get("name"),
        tool_calls=tuple(said.get("tool_calls", ())),
        tool_call_id=said.get("tool_call_id"),
        at=datetime.fromisoformat(said["at"]),
        redacted=tuple(said.get("redacted", ())),
        position=position,
    )


def scratch_text(scratch: Scratch) -> str:
    """The value as a store keeps it, without its name."""
    kept = {"value": scratch.value, "version": scratch.version, "at": scratch.at.isoformat()}
    return _text(kept | ({"redacted": list(scratch.redacted)} if scratch.redacted else {}))


def scratch_from(name: str, text: str | bytes) -> Scratch:
    """The value that was kept so."""
    kept = json.loads(text)
    return Scratch(
        name=name,
        value=kept["value"],
        version=kept["version"],
        at=datetime.fromisoformat(kept["at"]),
        redacted=tuple(kept.get("redacted", ())),
    )


def scope_text(scope: Scope) -> str:
    """The scope as one text, the same for the same scope, without its tenant."""
    return _text(list(scope.names()))


def id_in(scope: Scope, message: Message) -> UUID:
    """The id that a message has in its session alone, for when another memory has the one that it came with."""
    return uuid5(message.id, scope_text(scope))


def scope_from_text(tenant: str, text: str | bytes) -> Scope:
    """The scope that was written so."""
    names: Mapping[str, str | None] = dict(zip(SCOPE_NAMES[1:], json.loads(text), strict=True))
    return Scope(tenant=tenant, **names)


def words_of(content: str, tool_calls: Iterable[Mapping[str, Json]]) -> str:
    """What a message says, and calls, as one text."""
    calls = [f"calls {_text(call)}" for call in tool_calls]
    return "\n".join([*([content] if content.strip() else []), *calls]) or "(no output)"


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
