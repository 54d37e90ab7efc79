"""Working memory in the record database: it survives a restart, and every process on the same database sees it."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar
from uuid import UUID

from sqlalchemy import Connection, Row, Select, bindparam, delete, func, insert, or_, select, update

from scrubjay.backends.sql import sealing
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.insert import insert_into
from scrubjay.backends.sql.places import interned, place_condition, scope_from, stored
from scrubjay.backends.sql.schema import scopes, working_messages, working_scratch, working_sessions
from scrubjay.backends.sql.working_rows import message_row, put_scratch, session_of
from scrubjay.model import SCOPE_NAMES, Filter, Scope
from scrubjay.model.working import (
    Limits,
    Message,
    Recent,
    Scratch,
    Session,
    Waiting,
    check_session,
    check_version,
    message_from,
    scope_text,
    scratch_from,
)
from scrubjay.ports.working import Met

T = TypeVar("T")

_SESSIONS: Final = working_sessions.c
_MESSAGES: Final = working_messages.c
_SCRATCH: Final = working_scratch.c
_IDS_NAMED: Final = 500

_NAMES = [scopes.c[name] for name in SCOPE_NAMES]
_ROWS = select(working_sessions, *_NAMES).join(scopes, scopes.c.id == _SESSIONS.scope_id)
_BY_SCOPE = _ROWS.where(*(column == bindparam(f"the_{column.name}") for column in _NAMES))
_BY_NUMBER = _ROWS.where(_SESSIONS.scope_id == bindparam("number"))
_THE_SESSION = _SESSIONS.scope_id == bindparam("number")
_THE_VALUE = (_SCRATCH.scope_id == bindparam("number"), _SCRATCH.name == bindparam("value_name"))
# One statement, and so one round trip to a server. The scope is a subquery, not a join: the order then comes from the
# index, where a join would sort every message of the session.
_THE_SCOPE = select(scopes.c.id).where(*(column == bindparam(f"the_{column.name}") for column in _NAMES))
_NEWEST = (
    select(_MESSAGES.position, _MESSAGES.body, _SESSIONS.expires_at, _SESSIONS.ended_at)
    .join(working_sessions, _SESSIONS.scope_id == _MESSAGES.scope_id)
    .where(_MESSAGES.scope_id == _THE_SCOPE.scalar_subquery())
    .order_by(_MESSAGES.position.desc())
    .limit(bindparam("most"))
)
_VALUES = (
    select(_SCRATCH.name, _SCRATCH.body, _SESSIONS.expires_at, _SESSIONS.ended_at)
    .join(working_sessions, _SESSIONS.scope_id == _SCRATCH.scope_id)
    .where(_SCRATCH.scope_id == _THE_SCOPE.scalar_subquery())
)
_ONE_VALUE = _VALUES.where(_SCRATCH.name == bindparam("value_name"))
_OLDEST = (
    select(_MESSAGES.position, _MESSAGES.body, _MESSAGES.id, _MESSAGES.bytes)
    .where(_MESSAGES.scope_id == bindparam("number"))
    .order_by(_MESSAGES.position)
    .limit(bindparam("most"))
)
_KNOWN = select(_MESSAGES.id, _MESSAGES.position, _MESSAGES.body).where(
    _MESSAGES.scope_id == bindparam("number"), _MESSAGES.id.in_(bindparam("ids", expanding=True))
)


@dataclass(frozen=True, slots=True)
class _Held:
    """A session and the number of its scope."""

    number: int
    session: Session

    def is_over(self, now: datetime) -> bool:
        return self.session.state(now) != "live"


class SqlWorking:
    """The `Working` port."""

    def __init__(self, database: Database, limits: Limits | None = None) -> None:
        self._database = database
        self.limits = limits or Limits()

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

        def work(connection: Connection) -> list[Message]:
            held, renewed = _opened(connection, scope, now=now, ttl=ttl)
            known = _known(connection, held.number, [message.id for message in messages])
            if not known.keys().isdisjoint(new):
                raise Met
            fresh = list({message.id: message for message in messages if message.id not in known}.values())
            session = held.session
            taken = session.bytes + sum(message.bytes for message in fresh)
            self.limits.check_room(scope, taken)
            following = session.first + session.messages
            placed = [message.placed(following + place) for place, message in enumerate(fresh)]
            if placed:
                sealing.check_texts(connection, scope.tenant, [message.content for message in placed])
                connection.execute(insert(working_messages), [message_row(held.number, message) for message in placed])
            _store(connection, held.number, **renewed, bytes=taken, following=following + len(placed))
            known |= {message.id: message for message in placed}
            return [known[message.id] for message in messages]

        return await self._database.write(work)

    async def known(self, scope: Scope, ids: Sequence[UUID], *, now: datetime) -> list[Message]:  # noqa: ARG002 -- the port's shape
        """Return the messages with these ids that the session holds, whatever its state."""
        return await self._look(scope, lambda connection, held: [*_known(connection, held.number, ids).values()], [])

    async def recent(self, scope: Scope, *, limit: int, now: datetime, over: bool = False) -> Recent:
        """Return the newest messages in the order they were said."""
        check_session(scope)
        asked = {**_names_of(scope), "most": limit}
        found = await self._database.glance(lambda connection: connection.execute(_NEWEST, asked).fetchall())
        if not over and found and _is_over(found[0], now):
            return Recent()
        return Recent(messages=tuple(message_from(row.body, row.position) for row in reversed(found)))

    async def session(self, scope: Scope, *, now: datetime) -> Session | None:  # noqa: ARG002 -- the port's shape
        """Return what is known of the session, also when it is over."""
        return await self._look(scope, lambda _, held: held.session, None)

    async def set(
        self, scope: Scope, scratch: Scratch, *, ttl: timedelta, now: datetime, expect: str | None = None
    ) -> Scratch:
        """Put a value on the scratchpad in place of the one with its name, and return it as it is stored."""
        check_session(scope)

        def work(connection: Connection) -> Scratch:
            held, renewed = _opened(connection, scope, now=now, ttl=ttl)
            known = _value(connection, held.number, scratch.name)
            if known is not None and known.version == scratch.version:
                return known
            check_version(scratch.name, expect, known.version if known else None)
            if known is None:
                count = select(func.count()).select_from(working_scratch).where(_SCRATCH.scope_id == held.number)
                self.limits.check_pad(scope, connection.execute(count).scalar_one() + 1)
            sealing.check_texts(connection, scope.tenant, [scratch.value])
            put_scratch(connection, held.number, scratch)
            _store(connection, held.number, **renewed)
            return scratch

        return await self._database.write(work)

    async def get(self, scope: Scope, name: str, *, now: datetime) -> Scratch | None:
        """Return the value of this name, or None."""
        found = await self._values(_ONE_VALUE, scope, now, value_name=name)
        return found[0] if found else None

    async def scratch(self, scope: Scope, *, now: datetime) -> list[Scratch]:
        """Return all values on the scratchpad, by name."""
        # Sorted here, not in the statement: databases sort by rules of their own.
        return sorted(await self._values(_VALUES, scope, now), key=lambda one: one.name)

    async def delete(self, scope: Scope, name: str, *, now: datetime, expect: str | None = None) -> bool:
        """Take a value off the scratchpad; return whether it was there."""

        def work(connection: Connection, held: _Held | None) -> bool:
            known = None if held is None or held.is_over(now) else _value(connection, held.number, name)
            check_version(name, expect, known.version if known else None)
            if held is None or known is None:
                return False
            connection.execute(delete(working_scratch).where(*_THE_VALUE), {"number": held.number, "value_name": name})
            return True

        return await self._change(scope, work)

    async def extend(self, scope: Scope, *, ttl: timedelta, now: datetime) -> Session | None:
        """Let a session live that long from now on; None when there is none or it is over."""

        def work(connection: Connection, held: _Held | None) -> Session | None:
            if held is None or held.is_over(now):
                return None
            _store(connection, held.number, expires_at=now + ttl)
            return replace(held.session, expires_at=now + ttl)

        return await self._change(scope, work)

    async def end(self, scope: Scope, *, now: datetime) -> Session | None:
        """Let a session be over from now on; None when there is none."""

        def work(connection: Connection, held: _Held | None) -> Session | None:
            if held is None:
                return None
            session = held.session if held.is_over(now) else replace(held.session, ended_at=now)
            _store(connection, held.number, ended_at=session.ended_at)
            _clear(connection, held.number)
            _let_go(connection, _Held(held.number, session), now)
            return session

        return await self._change(scope, work)

    async def sessions(self, within: Scope | None, *, now: datetime, limit: int) -> list[Session]:  # noqa: ARG002 -- the port's shape
        """Return the sessions that the scope holds, those that live longest first; also those that are over."""
        held = [place_condition(Filter(scope=within, reach="holds"))] if within is not None else []
        statement = _ROWS.where(*held)
        found = await self._database.read(lambda connection: _all(connection, statement))
        return sorted(
            (held.session for held in found), key=lambda one: (-one.expires_at.timestamp(), scope_text(one.scope))
        )[:limit]

    async def waiting(self, *, now: datetime, soon: timedelta, limit: int) -> list[Waiting]:
        """Return sessions of every tenant whose messages should be drained, the most urgent first."""
        is_due = or_(
            _SESSIONS.ended_at.is_not(None),
            _SESSIONS.expires_at <= now + soon,
            _SESSIONS.following - _SESSIONS.first > self.limits.messages,
        )
        found = await self._database.read(lambda connection: _all(connection, _ROWS.where(is_due)))
        if empty := [held for held in found if held.is_over(now) and not held.session.messages]:
            await self._sweep(empty, now)
        due = [one for held in found if (one := self.limits.due(held.session, now=now, soon=soon)) is not None]
        return sorted(due, key=lambda one: (one.session.expires_at, scope_text(one.scope)))[:limit]

    async def take(self, scope: Scope, *, limit: int) -> list[Message]:
        """Return the oldest messages of a session, in order, whatever its state."""

        def work(connection: Connection, held: _Held) -> list[Message]:
            found = connection.execute(_OLDEST, {"number": held.number, "most": limit})
            return [message_from(row.body, row.position) for row in found]

        return await self._look(scope, work, [])

    async def drained(self, scope: Scope, ids: Sequence[UUID], *, now: datetime) -> int:
        """Let go of the oldest messages, as far as they are among these; return how many those were."""
        done = set(ids)

        def work(connection: Connection, held: _Held | None) -> int:
            if held is None:
                return 0
            gone = taken = 0
            for row in connection.execute(_OLDEST, {"number": held.number, "most": len(done)}):
                if row.id not in done:
                    break
                gone, taken = gone + 1, taken + row.bytes
            session = held.session
            first = session.first + gone
            oldest = delete(working_messages).where(_MESSAGES.scope_id == held.number, _MESSAGES.position < first)
            connection.execute(oldest)
            _store(connection, held.number, first=first, bytes=session.bytes - taken)
            left = replace(session, first=first, messages=session.messages - gone)
            _let_go(connection, _Held(held.number, left), now)
            return gone

        return await self._change(scope, work)

    async def discard(self, scope: Scope, ids: Sequence[UUID], *, now: datetime) -> int:
        """Let go of these messages, wherever they stand; return how many of them were there."""
        unwanted = set(ids)

        def work(connection: Connection, held: _Held | None) -> int:
            if held is None:
                return 0
            number, session = held.number, held.session
            rows = connection.execute(_OLDEST, {"number": number, "most": session.messages}).mappings().all()
            kept = [row for row in rows if row["id"] not in unwanted]
            gone = len(rows) - len(kept)
            if gone:
                first = session.first + gone
                connection.execute(delete(working_messages).where(_MESSAGES.scope_id == number))
                moved = [{**row, "scope_id": number, "position": place} for place, row in enumerate(kept, first)]
                if moved:
                    connection.execute(insert(working_messages), moved)
                _store(connection, number, first=first, bytes=sum(row["bytes"] for row in kept))
            _let_go(connection, _Held(number, replace(session, messages=len(kept))), now)
            return gone

        return await self._change(scope, work)

    async def shut(self) -> None:
        """The database is shut by whoever keeps the records."""

    async def _values(self, statement: Select[Any], scope: Scope, now: datetime, **given: str) -> list[Scratch]:
        check_session(scope)
        asked = {**_names_of(scope), **given}
        found = await self._database.glance(lambda connection: connection.execute(statement, asked).fetchall())
        return [scratch_from(row.name, row.body) for row in found if not _is_over(row, now)]

    async def _look(self, scope: Scope, work: Callable[[Connection, _Held], T], nothing: T) -> T:
        """Read something of a session, or what stands for nothing when there is none."""
        check_session(scope)

        def looking(connection: Connection) -> T:
            held = _found(connection, scope)
            return work(connection, held) if held is not None else nothing

        return await self._database.read(looking)

    async def _change(self, scope: Scope, work: Callable[[Connection, _Held | None], T]) -> T:
        """Change a session that nobody else changes meanwhile."""
        check_session(scope)
        return await self._database.write(lambda connection: work(connection, _found(connection, scope, lock=True)))

    async def _sweep(self, empty: Sequence[_Held], now: datetime) -> None:
        def work(connection: Connection) -> None:
            for one in empty:
                # Looked at again: somebody may have spoken since.
                row = connection.execute(_locked(connection, _BY_NUMBER), {"number": one.number}).first()
                if row is not None:
                    _let_go(connection, _held(row), now)

        await self._database.write(work)


def _locked(connection: Connection, statement: Select[Any]) -> Select[Any]:
    """On PostgreSQL, writers of one session wait for each other; SQLite has one writer anyway."""
    return statement.with_for_update(of=working_sessions) if connection.dialect.name == "postgresql" else statement


def _found(connection: Connection, scope: Scope, *, lock: bool = False) -> _Held | None:
    row = connection.execute(_locked(connection, _BY_SCOPE) if lock else _BY_SCOPE, _names_of(scope)).first()
    return _held(row) if row is not None else None


def _names_of(scope: Scope) -> dict[str, str]:
    return {f"the_{name}": value for name, value in zip(SCOPE_NAMES, stored(scope), strict=True)}


def _is_over(row: Any, now: datetime) -> bool:  # noqa: ANN401 -- a row with these two columns, whatever else is in it
    return bool(row.ended_at is not None or row.expires_at <= now)


def _all(connection: Connection, statement: Select[Any]) -> list[_Held]:
    return [_held(row) for row in connection.execute(statement)]


def _held(row: Row[Any]) -> _Held:
    return _Held(row.scope_id, session_of(scope_from(tuple(row)[-len(SCOPE_NAMES) :]), row))


def _opened(connection: Connection, scope: Scope, *, now: datetime, ttl: timedelta) -> tuple[_Held, dict[str, Any]]:
    """The session, begun when it is new, and what its row has to say so that its life is renewed.

    One that is over is opened again, without its scratchpad.
    """
    held = _found(connection, scope, lock=True)
    if held is None:
        number = interned(connection, [scope])[scope]
        fresh = {"scope_id": number, "first": 0, "following": 0, "bytes": 0, "started_at": now, "expires_at": now + ttl}
        connection.execute(insert_into(connection, working_sessions).on_conflict_do_nothing(), fresh)
        row = connection.execute(_locked(connection, _BY_NUMBER), {"number": number}).one()
        held = _held(row)
    renewed: dict[str, Any] = {"expires_at": now + ttl}
    if held.is_over(now):
        _clear(connection, held.number)
        renewed |= {"started_at": now, "ended_at": None}
    return held, renewed


def _known(connection: Connection, number: int, ids: Sequence[UUID]) -> dict[UUID, Message]:
    found: dict[UUID, Message] = {}
    for start in range(0, len(ids), _IDS_NAMED):
        named = {"number": number, "ids": ids[start : start + _IDS_NAMED]}
        found |= {row.id: message_from(row.body, row.position) for row in connection.execute(_KNOWN, named)}
    return found


def _value(connection: Connection, number: int, name: str) -> Scratch | None:
    found = select(_SCRATCH.body).where(*_THE_VALUE)
    body = connection.execute(found, {"number": number, "value_name": name}).scalar()
    return scratch_from(name, body) if body is not None else None


def _clear(connection: Connection, number: int) -> None:
    connection.execute(delete(working_scratch).where(_SCRATCH.scope_id == number))


def _store(connection: Connection, number: int, **changes: object) -> None:
    connection.execute(update(working_sessions).where(_THE_SESSION).values(**changes), {"number": number})


def _let_go(connection: Connection, held: _Held, now: datetime) -> None:
    """Delete a session that is over and has nothing left to drain."""
    if held.is_over(now) and not held.session.messages:
        _clear(connection, held.number)
        connection.execute(delete(working_sessions).where(_THE_SESSION), {"number": held.number})
