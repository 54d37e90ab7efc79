"""Working memory: what a session is about right now, in the service's own verbs."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias, Unpack, cast
from uuid import UUID

from scrubjay.core import Core
from scrubjay.errors import Conflict, IdTaken, InvalidInput, NotFound, ScrubjayError, StoreUnavailable
from scrubjay.model import Filter, Json, Memory, Scope, Where, id_of, new_id
from scrubjay.model.checks import check_name, check_size, check_whole, in_utc, shown
from scrubjay.model.context import MOST_BUDGET
from scrubjay.model.memory import MESSAGE_KIND
from scrubjay.model.remedies import instead
from scrubjay.model.working import (
    SOURCES,
    Message,
    Recent,
    Scratch,
    Session,
    Source,
    check_expected,
    check_life,
    check_session,
    id_in,
)
from scrubjay.off_loop import off_loop, weight
from scrubjay.ports import stage
from scrubjay.ports.working import Met
from scrubjay.read.tail import cost, tail
from scrubjay.write.audit import noted
from scrubjay.write.prepare import Telling
from scrubjay.write.redact import redacted

Said: TypeAlias = str | Message | Mapping[str, Any]
"""A text, a message, or a dict as chat models take it: role, content, name, tool_calls, tool_call_id, and id and at."""

MOST_MESSAGES: Final = 10_000
_FIELDS: Final = ("id", "role", "content", "name", "tool_calls", "tool_call_id", "at")
_TEXTS: Final = ("content", "name", "tool_calls", "tool_call_id")
_PAGE: Final = 200
_TRIES: Final = 20
"""How often it is looked what an id names, because somebody has said something under one of these meanwhile."""


class WorkingMemory:
    """The messages and the scratchpad of a session. Every verb takes the scope as keywords, `session=` among them."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._store = core.parts.working

    async def append(
        self,
        messages: Said | Iterable[Said],
        *,
        role: str = "user",
        name: str | None = None,
        ttl: timedelta | None = None,
        **where: Unpack[Where],
    ) -> list[Message]:
        """Put one message or several behind what was said, and return them with their positions. Renews the session.

        Texts are said by `role` and `name`. With an id of yours, saying it again is one message. Secrets are taken out
        first. All are stored, or none; raises IdTaken when an id names a message that says something else, and Conflict
        when the session is too full of what is not drained yet.
        """
        scope = self._session(where)
        are_many = isinstance(messages, Iterable) and not isinstance(messages, str | bytes | Mapping)
        given = list(cast("Iterable[Said]", messages)) if are_many else [messages]
        said = await off_loop(weight([*given, role, name]), self._messages, given, role, name)
        life, now = self._life(ttl), self._core.parts.clock()
        with stage("append", tenant=scope.tenant, messages=len(said)):
            own = {one.id for one, told in zip(said, given, strict=True) if _has_id(told)}
            for _ in range(_TRIES):
                known = await self._store.known(scope, list(own), now=now) if own else []
                _check_said_again(said, [*said, *known])
                new = own - {one.id for one in known}
                try:
                    return await self._store.append(scope, said, ttl=life, now=now, new=new)
                except Met:
                    continue
        raise Conflict(
            f"session {scope.session!r}: others said something under these ids {_TRIES} times meanwhile. Try again"
        )

    async def recent(
        self,
        limit: int | None = None,
        *,
        budget: int | None = None,
        source: Source | None = None,
        **where: Unpack[Where],
    ) -> Recent:
        """Return the newest messages in the order they were said: at most `limit`, and at most `budget` tokens.

        Without either, the newest 50. With a budget, `str()` of the answer never counts more tokens than that. What was
        drained into episodes is read from the record store when the session does not hold enough; `source` says to
        read from one of them only. When sessions are kept in Redis and the record store is away, `degraded` says
        `records`: what was drained is missing.
        """
        scope = self._session(where)
        most = limit if limit is not None else 50 if budget is None else MOST_MESSAGES
        check_whole("limit", most, least=1, most=MOST_MESSAGES)
        chosen = source or self._core.parts.working_source
        if chosen not in SOURCES:
            raise InvalidInput(f"source is {shown(source)}: use one of {', '.join(SOURCES)}")
        if budget is None:
            return await self._newest(scope, most, chosen)
        check_whole("budget", budget, least=1, most=MOST_BUDGET)
        return await self._within(scope, most, budget, chosen)

    async def set(
        self, name: str, value: Json, *, expect: str | None = None, ttl: timedelta | None = None, **where: Unpack[Where]
    ) -> Scratch:
        """Put a JSON value on the session's scratchpad under this name, and return it with its version. Renews it.

        With `expect`, only when the value that is there has this version; `""` expects that there is none. Raises
        Conflict, naming both versions, when that is not so. Secrets are taken out first.
        """
        scope, now = self._session(where), self._core.parts.clock()
        check_size(value)
        name, value, found = await off_loop(weight(value), self._named, name, value)
        check_expected(expect)
        scratch = Scratch(name=name, value=value, version=str(new_id()), at=now, redacted=found)
        self._store.limits.check_scratch(scratch)
        return await self._store.set(scope, scratch, ttl=self._life(ttl), now=now, expect=expect)

    async def get(self, name: str, **where: Unpack[Where]) -> Scratch | None:
        """Return the value of this name on the session's scratchpad, or None."""
        scope, (name, *_) = self._session(where), self._named(name)
        return await self._store.get(scope, name, now=self._core.parts.clock())

    async def scratch(self, **where: Unpack[Where]) -> list[Scratch]:
        """Return all values on the session's scratchpad, by name."""
        return await self._store.scratch(self._session(where), now=self._core.parts.clock())

    async def delete(self, name: str, *, expect: str | None = None, **where: Unpack[Where]) -> bool:
        """Take a value off the session's scratchpad; return whether it was there. `expect` is as in `set`."""
        scope, (name, *_) = self._session(where), self._named(name)
        check_expected(expect)
        deleted = await self._store.delete(scope, name, now=self._core.parts.clock(), expect=expect)
        if deleted:
            await self._note("scratch.deleted", f"{scope}: 1 value")
        return deleted

    async def extend(self, ttl: timedelta | None = None, **where: Unpack[Where]) -> Session:
        """Let the session live that long from now on. Raises NotFound when there is none, or it is over."""
        scope = self._session(where)
        session = await self._store.extend(scope, ttl=self._life(ttl), now=self._core.parts.clock())
        if session is None:
            raise NotFound(f"there is no live session in {scope}: `append` begins one")
        return session

    async def end(self, **where: Unpack[Where]) -> Session:
        """Let the session be over: its scratchpad is gone, and its messages wait to be drained into episodes.

        Raises NotFound when there is none.
        """
        scope = self._session(where)
        session = await self._store.end(scope, now=self._core.parts.clock())
        if session is None:
            raise NotFound(f"there is no session in {scope}")
        await self._note("session.ended", f"{scope}: {session.messages:,} messages")
        return session

    async def session(self, **where: Unpack[Where]) -> Session | None:
        """Return what is known of the session, also when it is over; None when there is none."""
        return await self._store.session(self._session(where), now=self._core.parts.clock())

    async def sessions(self, limit: int = 100, **where: Unpack[Where]) -> list[Session]:
        """Return the sessions inside the scope, those that live longest first; also those that wait to be drained."""
        check_whole("limit", limit, least=1, most=MOST_MESSAGES)
        return await self._store.sessions(self._core.scoped(where), now=self._core.parts.clock(), limit=limit)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._core!r}>"

    async def _note(self, action: str, target: str) -> None:
        """Have it noted what the holder of a key made vanish."""
        core = self._core
        if core.caller.key is not None:
            await noted(core.parts.access, core.caller, core.tenant, action, target, at=core.parts.clock())

    def _session(self, where: Where) -> Scope:
        scope = self._core.scoped(where)
        check_session(scope)
        return scope

    def _life(self, ttl: timedelta | None) -> timedelta:
        if ttl is None:
            return self._store.limits.ttl
        check_life("ttl", ttl)
        return ttl

    def _named(self, name: str, value: Json = None) -> tuple[str, Json, tuple[str, ...]]:
        """The name and the value without their secrets, and the kinds of these.

        Together, since a name can say that a value is a credential; and asked for, it has to be the same name again.
        """
        if name is None:
            raise InvalidInput("name is None: name the value")
        check_name("name", name)
        if self._core.parts.redactor is None:
            return name, value, ()
        clean, found = redacted(self._core.parts.redactor, {"value": {name: value}})
        [(name, value)] = clean["value"].items()
        return name, value, found

    def _messages(self, given: Sequence[object], role: str, name: str | None) -> list[Message]:
        return [self._message(place if len(given) > 1 else None, one, role, name) for place, one in enumerate(given)]

    def _message(self, place: int | None, said: object, role: str, name: str | None) -> Message:
        try:
            message = self._prepared(_fields(said, role, name))
            self._store.limits.check_message(message)
        except ScrubjayError as error:
            if place is None:
                raise
            raise type(error)(f"message {place}: {error}") from error
        return message

    def _prepared(self, given: dict[str, Any]) -> Message:
        """The message, without its secrets."""
        found: tuple[str, ...] = tuple(given.pop("redacted", ()))
        # Before secrets are looked for in it.
        if isinstance(text := given.get("content"), str):
            self._store.limits.check_length(len(text))
        for one in ("name", "tool_call_id"):
            check_name(one, given.get(one))
        if calls := given.get("tool_calls"):
            check_size(calls)
        if self._core.parts.redactor is not None:
            clean, more = redacted(self._core.parts.redactor, {one: given[one] for one in _TEXTS if one in given})
            given, found = given | clean, tuple(sorted({*found, *more}))
        calls = given.get("tool_calls", ())
        message = Message(
            id=id_of(given["id"], self._core.tenant) if "id" in given else new_id(),
            role=given.get("role", ""),
            content=given.get("content", ""),
            name=given.get("name"),
            tool_calls=tuple(calls) if isinstance(calls, list | tuple) else calls,
            tool_call_id=given.get("tool_call_id"),
            at=not_later(self._core.parts.clock(), in_utc("at", given.get("at"))),
            redacted=found,
        )
        # As every store gives it back, so that it is the same when it is said again: JSON has no tuples.
        as_json = json.loads(json.dumps(message.tool_calls))
        return replace(message, tool_calls=tuple(as_json)) if as_json else message

    async def _newest(self, scope: Scope, limit: int, source: Source) -> Recent:
        if source == "records":
            return Recent(messages=tuple(await self._drained(scope, limit, ())))
        now = self._core.parts.clock()
        found = await self._store.recent(scope, limit=limit, now=now, over=source == "both")
        if source == "working" or len(found) >= limit:
            return found
        try:
            older = await self._drained(scope, limit - len(found), found)
        except StoreUnavailable:
            # Sessions are kept elsewhere, or nothing would have been found: what is said now is there all the same.
            return Recent(messages=tuple(found), degraded=("records",))
        return Recent(messages=(*older, *found))

    async def _drained(self, scope: Scope, limit: int, known: Sequence[Message]) -> list[Message]:
        """The newest messages of the session in the record store, in order, but for those that are known."""
        seen = {message.id for message in known} | {id_in(scope, message) for message in known}
        found, last = cast("list[Memory]", []), None
        asked = Filter(scope=scope, reach="holds", kinds=(MESSAGE_KIND,))
        while len(found) < limit:
            page = await self._core.parts.stores.records.find(
                asked, now=self._core.parts.clock(), limit=_PAGE, after=last
            )
            # A narrower place is another session.
            found += [memory for memory in page if memory.scope == scope and memory.id not in seen]
            if len(page) < _PAGE:
                break
            last = page[-1].id
        return [message_of(memory) for memory in reversed(found[:limit])]

    async def _within(self, scope: Scope, most: int, budget: int, source: Source) -> Recent:
        """The longest tail that fits, read in ever larger pieces until it does not."""
        tokens, limit = self._core.parts.tokens(), min(most, _PAGE)
        while True:
            found = await self._newest(scope, limit, source)
            lines = [str(one) for one in found]
            kept = found[tail(lines, budget, tokens) :]
            if len(kept) < len(found) or len(found) < limit or limit == most:
                return Recent(messages=kept, tokens=cost(list(map(str, kept)), tokens), degraded=found.degraded)
            limit = min(most, 4 * limit)


def _fields(said: object, role: str, name: str | None) -> dict[str, Any]:
    """What was given of a message, by name; what is None is left out."""
    given: Mapping[str, Any]
    match said:
        case str():
            given = {"role": role, "name": name, "content": said}
        case Message():
            given = {one: getattr(said, one) for one in (*_FIELDS, "redacted")}
        case Mapping():
            if unknown := sorted(map(str, set(said) - set(_FIELDS))):
                raise InvalidInput(f"{unknown[0]} is not something a message has: {instead(unknown[0], _FIELDS)}")
            given = {"role": role, "name": name, **said}
        case _:
            raise InvalidInput(f"a message is {shown(said)}: give a text, a Message or a dict with role and content")
    return {one: value for one, value in given.items() if value is not None}


def _has_id(said: object) -> bool:
    return isinstance(said, Message) or (isinstance(said, Mapping) and said.get("id") is not None)


def _check_said_again(said: Sequence[Message], known: Sequence[Message]) -> None:
    """Refuse an id that names something else. What it names is not told: who says it may be allowed to write only."""
    known_by_id: dict[UUID, list[Message]] = {}
    for one in known:
        known_by_id.setdefault(one.id, []).append(one)
    for place, message in enumerate(said):
        if not all(message.says_the_same(one) for one in known_by_id[message.id]):
            which = f"message {place}: its id" if len(said) > 1 else f"id {message.id}"
            raise IdTaken(f"{which} names another message of this session already. Use another id")


def not_later(now: datetime, at: datetime | None) -> datetime:
    """When it happened, of something told now: by a clock that is ahead, it would be hidden until then."""
    return now if at is None else min(at, now)


def telling_of(message: Message) -> Telling:
    """The memory that a message becomes when its session is drained. Told again, it is the same memory: by its id."""
    return {
        "id": message.id,
        "kind": MESSAGE_KIND,
        "content": message.text,
        "author": message.name,
        "data": message.data,
        "trust": message.trust,
        "valid_from": message.at,
    }


def message_of(memory: Memory) -> Message:
    """The message that a memory was; a memory of another making is one that a user said."""
    role, calls, content = memory.data.get("role"), memory.data.get("tool_calls"), memory.data.get("content")
    answers = memory.data.get("tool_call_id")
    return Message(
        id=memory.id,
        role=role if isinstance(role, str) else "user",
        content=content if isinstance(content, str) else memory.content,
        name=memory.author,
        tool_calls=tuple(call for call in calls if isinstance(call, dict)) if isinstance(calls, list) else (),
        tool_call_id=answers if isinstance(answers, str) else None,
        at=memory.valid_from,
        redacted=memory.redacted,
    )
