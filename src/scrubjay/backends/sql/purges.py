"""Purges, as who writes later meets them: each place that something was purged from has a number that only grows."""

from collections.abc import Collection, Iterable
from typing import Final

from sqlalchemy import Connection, delete, func, select, text, update

from scrubjay.backends.sql.insert import insert_into
from scrubjay.backends.sql.places import interned, place_condition
from scrubjay.backends.sql.schema import memories, scopes, work_marks
from scrubjay.model import Filter, Scope
from scrubjay.ports.purges import Purged, Sight

_MARK: Final = work_marks.c
_STEP: Final = "purge"
_SALT: Final = 7_300_411


def counted(connection: Connection, scope: Scope) -> int:
    """How often something was purged from a place that this one sees."""
    places = scopes.join(work_marks, _MARK.scope_id == scopes.c.id)
    seen = select(func.sum(_MARK.place)).select_from(places).where(_MARK.step == _STEP)
    return int(connection.execute(seen.where(place_condition(Filter(scope=scope)))).scalar() or 0)


def check(connection: Connection, sight: Sight) -> None:
    """Raise Purged when something was purged there since. No purge comes between until the transaction ends."""
    _queue_up(connection, sight.scope.tenant, "pg_advisory_xact_lock_shared")
    if counted(connection, sight.scope) != sight.purges:
        raise Purged


def begin(connection: Connection, tenant: str) -> None:
    """Wait for those who are writing what they made; who comes later meets what is noted in this transaction."""
    _queue_up(connection, tenant, "pg_advisory_xact_lock")


def note(connection: Connection, places: Iterable[Scope]) -> list[int]:
    """Count one more purge of these places, and return their numbers."""
    numbers = sorted(interned(connection, places).values())
    for number in numbers:
        first = insert_into(connection, work_marks).values(step=_STEP, scope_id=number, place=1)
        again = {"place": _MARK.place + 1}
        connection.execute(first.on_conflict_do_update(index_elements=[_MARK.step, _MARK.scope_id], set_=again))
    return numbers


def note_whole(connection: Connection, scope: Scope) -> None:
    """Count one more purge of this place and of all that it holds."""
    begin(connection, scope.tenant)
    note(connection, [scope])


def lower_marks(connection: Connection, scope_ids: Collection[int]) -> None:
    """Let no session be distilled further than it goes: the positions behind its last one are given again."""
    last = select(func.max(memories.c.position)).where(memories.c.scope_id == _MARK.scope_id).scalar_subquery()
    here = (_MARK.step == "distill", _MARK.scope_id.in_(scope_ids))
    connection.execute(delete(work_marks).where(*here, last.is_(None)))
    connection.execute(update(work_marks).where(*here, _MARK.place > last).values(place=last))


def _queue_up(connection: Connection, tenant: str, lock: str) -> None:
    """On PostgreSQL, let purges and those who write what they made wait for each other; SQLite has one writer."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT {lock}(hashtextextended(:tenant, {_SALT}))"), {"tenant": tenant})
