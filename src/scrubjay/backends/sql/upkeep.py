"""Looking after the records as a whole, in the record database."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Connection,
    LargeBinary,
    Select,
    and_,
    cast,
    func,
    select,
    true,
    update,
)

from scrubjay.backends.sql import purges, sealing, texts
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.insert import insert_into
from scrubjay.backends.sql.places import interned, place_condition, scope_from
from scrubjay.backends.sql.rows import BY_ID, Reader, in_order, rows, values_of
from scrubjay.backends.sql.schema import memories, scopes, work_marks
from scrubjay.model import EVENT_KINDS, SCOPE_NAMES, STANDING_KINDS, Filter, Memory, Scope
from scrubjay.model.memory import ARCHIVED
from scrubjay.model.work import PINNED, Step
from scrubjay.ports.purges import Sight
from scrubjay.ports.upkeep import Stirred, Weight

_COLUMN: Final = memories.c
_MARK: Final = work_marks.c
_PAGE: Final = 500
_BELIEVED: Final = _COLUMN.superseded_at.is_(None)
_MAY_GO: Final = and_(_BELIEVED, _COLUMN.kind.not_in(STANDING_KINDS), _COLUMN.importance < PINNED)


class SqlUpkeep:
    """The `Upkeep` port."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._reader = Reader()

    async def tenants(self) -> list[str]:
        """Return the names of all that have stored something, sorted."""
        statement = select(scopes.c.tenant).distinct()
        return sorted(await self._database.read(lambda connection: connection.execute(statement).scalars().all()))

    async def sessions(self, step: Step, *, within: Scope | None, limit: int) -> list[Stirred]:
        """Return sessions whose highest position is above the mark of this step."""
        # One walk along the index of positions, whatever the memories say.
        ends = (
            select(_COLUMN.scope_id, func.max(_COLUMN.position).label("last"))
            .where(_COLUMN.position.is_not(None), _held(within))
            .group_by(_COLUMN.scope_id)
            .subquery("ends")
        )
        mark = func.coalesce(_MARK.place, -1)
        statement = (
            select(ends.c.last, mark.label("mark"), *_names())
            .join(scopes, scopes.c.id == ends.c.scope_id)
            .outerjoin(work_marks, and_(_MARK.scope_id == ends.c.scope_id, _MARK.step == step))
            .where(scopes.c.session != "", ends.c.last > mark)
            .order_by(ends.c.scope_id)
            .limit(limit)
        )
        return await self._database.read(lambda connection: _stirred(connection, statement))

    async def places(self, step: Step, kind: str, *, within: Scope | None) -> list[Stirred]:
        """Return places with believed memories of this kind that have changed since they were marked."""
        place = [scopes.c.tenant, scopes.c.user, scopes.c.project, scopes.c.agent]
        # Row numbers only grow, and so does what is closed: together they change with every change.
        change = func.max(_COLUMN.seq) + func.count(_COLUMN.superseded_at)
        held = (
            select(*place, change.label("last"))
            .join(scopes, scopes.c.id == _COLUMN.scope_id)
            .where(_COLUMN.kind == kind, _inside(within))
            .group_by(*place)
            .having(func.count() > func.count(_COLUMN.superseded_at))
        )
        marked = select(*place, _MARK.place.label("mark")).join(scopes, scopes.c.id == _MARK.scope_id)
        marked = marked.where(_MARK.step == step, scopes.c.session == "", scopes.c.workflow == "")

        def work(connection: Connection) -> list[Stirred]:
            known = {tuple(row[:4]): row.mark for row in connection.execute(marked)}
            found: list[Stirred] = []
            for row in connection.execute(held):
                mark = known.get(tuple(row[:4]), -1)
                if row.last != mark:
                    tenant, *names = row[:4]
                    user, project, agent = (name or None for name in names)
                    scope = Scope(tenant=tenant, user=user, project=project, agent=agent)
                    found.append(Stirred(scope=scope, last=row.last, mark=mark))
            return sorted(found, key=lambda one: repr(one.scope))

        return await self._database.read(work)

    async def mark(self, step: Step, scope: Scope, place: int, *, sight: Sight | None = None) -> None:
        """Note that this step has dealt with the place up to here."""

        def work(connection: Connection) -> None:
            if sight is not None:
                purges.check(connection, sight)
            _marked(connection, step, scope, place=place)

        await self._database.write(work)

    async def episodes(self, scope: Scope, *, start: int, stop: int) -> list[Memory]:
        """Return what happened in exactly this session, believed, from one position up to before another, in order."""
        here = and_(*(scopes.c[name] == (getattr(scope, name) or "") for name in SCOPE_NAMES))
        number = select(scopes.c.id).where(here).scalar_subquery()
        statement = rows().where(
            _COLUMN.scope_id == number,
            _COLUMN.position >= start,
            _COLUMN.position < stop,
            _COLUMN.kind.in_(EVENT_KINDS),
            _BELIEVED,
        )
        return await self._fetch(statement.order_by(_COLUMN.position))

    async def expired(self, *, within: Scope | None, now: datetime, limit: int) -> list[Memory]:
        """Return believed memories whose time is over, those first whose time was over first."""
        over = rows().where(_BELIEVED, _COLUMN.expires_at.is_not(None), _COLUMN.expires_at <= now, _held(within))
        return await self._fetch(over.order_by(_COLUMN.expires_at, _COLUMN.seq).limit(limit))

    async def decay(self, tenant: str, *, period: timedelta, factor: float, now: datetime, limit: int) -> int | None:
        """Multiply the importance of what was not used for one period, some rows at a time."""
        scope = Scope(tenant=tenant)

        def work(connection: Connection) -> int | None:
            number = interned(connection, [scope])[scope]
            mine = (_MARK.step == "decay", _MARK.scope_id == number)
            # Whoever else decays the same tenant waits here, and then goes on where this one ended.
            row = connection.execute(select(_MARK.place, _MARK.at).where(*mine).with_for_update()).first()
            if row is None or row.at is None or row.at > now:  # Noted by a clock that was ahead, and begun anew.
                _marked(connection, "decay", scope, place=0, at=now)
                return 0
            if row.at + period > now:
                return None
            some = select(_COLUMN.seq).where(_COLUMN.seq > row.place, _held(scope)).order_by(_COLUMN.seq).limit(limit)
            seqs = connection.execute(some).scalars().all()
            changed = 0
            if seqs:
                # Between two numbers, where nobody else's rows lie that this tenant does not hold.
                unused = update(memories).where(
                    _COLUMN.seq > row.place, _COLUMN.seq <= seqs[-1], _held(scope), _MAY_GO, _last_used() <= row.at
                )
                changed = connection.execute(unused.values(importance=_COLUMN.importance * factor)).rowcount
            if len(seqs) < limit:
                _marked(connection, "decay", scope, place=0, at=row.at + period)
            else:
                _marked(connection, "decay", scope, place=seqs[-1], at=row.at)
            return changed

        return await self._database.write(work)

    async def aged(self, *, within: Scope | None, before: datetime, limit: int) -> list[Memory]:
        """Return believed episodes that happened before then and are distilled, in the order of storing."""
        distilled = select(_MARK.place).where(_MARK.step == "distill", _MARK.scope_id == _COLUMN.scope_id)
        old = rows().where(
            _BELIEVED,
            _COLUMN.valid_from < before,
            # What was used since is not cold yet.
            func.coalesce(_COLUMN.used_at, _COLUMN.valid_from, type_=_COLUMN.valid_from.type) < before,
            _COLUMN.kind.in_(EVENT_KINDS),
            _COLUMN.position <= distilled.scalar_subquery(),
            _held(within),
        )
        return await self._fetch(old.order_by(_COLUMN.seq).limit(limit))

    async def hollow(self, memories_: Sequence[Memory], *, at: datetime, because: str, says: str) -> list[Memory]:
        """Close these and take out what they say."""

        def work(connection: Connection) -> list[Memory]:
            stored = {memory.id: memory for memory in self._named(connection, [memory.id for memory in memories_])}
            same = [memory for memory in memories_ if memory.id in stored and _as_it_was(stored[memory.id], memory)]
            hollow = [replace(stored[memory.id].closed(at, because=because), content=says, data={}) for memory in same]
            self._store(connection, hollow)
            return hollow

        return await self._database.write(work)

    async def fill(self, memories_: Sequence[Memory]) -> list[Memory]:
        """Put back what hollow ones said, and believe them again."""

        def work(connection: Connection) -> list[Memory]:
            hollow = {memory.id: memory for memory in self._hollow(connection, [memory.id for memory in memories_])}
            full = [
                replace(memory, importance=hollow[memory.id].importance, generation=None)
                for memory in memories_
                if memory.id in hollow and memory.scope == hollow[memory.id].scope
            ]
            sealing.check_memories(connection, full)
            self._store(connection, full)
            return full

        return await self._database.write(work)

    async def idle(self, *, within: Scope | None, before: datetime, below: float, limit: int) -> list[Memory]:
        """Return believed memories that were neither told nor used since then and whose importance is below."""
        unused = rows().where(_MAY_GO, _COLUMN.importance < below, _last_used() < before, _held(within))
        return await self._fetch(unused.order_by(_COLUMN.seq).limit(limit))

    async def weights(self, *, within: Scope | None) -> list[Weight]:
        """Weigh every place that holds something believed."""
        place = [scopes.c[name] for name in ("tenant", "user", "project", "agent")]
        is_postgresql = self._database.dialect == "postgresql"
        size = func.octet_length(_COLUMN.content) if is_postgresql else func.length(cast(_COLUMN.content, LargeBinary))
        statement = (
            select(*place, func.count(), func.sum(size))
            .join(scopes, scopes.c.id == _COLUMN.scope_id)
            .where(_BELIEVED, _inside(within))
            .group_by(*place)
        )

        def work(connection: Connection) -> list[Weight]:
            return [
                Weight(scope=scope_from((*names, "", "")), memories=count, bytes=int(taken))
                for *names, count, taken in connection.execute(statement)
            ]

        return sorted(await self._database.read(work), key=lambda one: repr(one.scope))

    async def hollowed(self, ids: Sequence[UUID]) -> list[UUID]:
        """Return those of these that are hollow, in the order asked."""
        found = await self._database.read(lambda connection: self._hollow(connection, ids))
        return [memory.id for memory in in_order(found, ids)]

    async def _fetch(self, statement: Select[Any]) -> list[Memory]:
        return await self._database.read(lambda connection: self._reader.fetch(connection, statement))

    def _named(self, connection: Connection, ids: Sequence[UUID]) -> list[Memory]:
        return [
            memory
            for start in range(0, len(ids), _PAGE)
            for memory in self._reader.fetch(connection, BY_ID, {"ids": list(ids[start : start + _PAGE])})
        ]

    def _hollow(self, connection: Connection, ids: Sequence[UUID]) -> list[Memory]:
        return [memory for memory in self._named(connection, ids) if _is_hollow(memory)]

    def _store(self, connection: Connection, changed: Sequence[Memory]) -> None:
        """Store these over their rows, and index their words anew."""
        indexed: list[tuple[int, int, Memory]] = []
        for memory in changed:
            connection.execute(update(memories).where(_COLUMN.id == memory.id).values(values_of(memory)))
            row = connection.execute(select(_COLUMN.seq, _COLUMN.scope_id).where(_COLUMN.id == memory.id)).one()
            indexed.append((row.seq, row.scope_id, memory))
        texts.replace(connection, indexed)


def _last_used() -> ColumnElement[datetime]:
    return func.coalesce(_COLUMN.used_at, _COLUMN.created_at, type_=_COLUMN.created_at.type)


def _names() -> list[ColumnElement[str]]:
    return [scopes.c[name] for name in SCOPE_NAMES]


def _inside(within: Scope | None) -> ColumnElement[bool]:
    """The rows of `scopes` that are meant."""
    return true() if within is None else place_condition(Filter(scope=within, reach="holds"))


def _held(within: Scope | None) -> ColumnElement[bool]:
    """The rows of `memories` that are meant."""
    return true() if within is None else _COLUMN.scope_id.in_(select(scopes.c.id).where(_inside(within)))


def _stirred(connection: Connection, statement: Select[Any]) -> list[Stirred]:
    return [
        Stirred(scope=scope_from(tuple(row)[-len(SCOPE_NAMES) :]), last=row.last, mark=row.mark)
        for row in connection.execute(statement)
    ]


def _marked(connection: Connection, step: Step, scope: Scope, *, place: int, at: datetime | None = None) -> None:
    number = interned(connection, [scope])[scope]
    new = insert_into(connection, work_marks).values(step=step, scope_id=number, place=place, at=at)
    connection.execute(new.on_conflict_do_update(index_elements=["step", "scope_id"], set_={"place": place, "at": at}))


def _is_hollow(memory: Memory) -> bool:
    return memory.superseded_at is not None and (memory.closed_because or "").startswith(ARCHIVED)


def _as_it_was(stored: Memory, given: Memory) -> bool:
    """Whether nothing but how it is used and indexed has changed."""
    aside: dict[str, Any] = {"uses": 0, "used_at": None, "importance": 0.0, "generation": None}
    return replace(stored, **aside) == replace(given, **aside)
