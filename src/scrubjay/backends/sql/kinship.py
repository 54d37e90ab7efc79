"""What belongs to a memory: its versions, what was made from it, and what it was made from itself.

Whoever is about to close or delete all of it holds each row before it looks for more: on PostgreSQL, one who writes
another version of it, or makes something from it, waits until that is over, or is waited for. SQLite has one writer.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, and_, func, or_, select

from scrubjay.backends.sql.places import each_in_place, known_places
from scrubjay.backends.sql.rows import Reader, rows
from scrubjay.backends.sql.schema import lineage, memories
from scrubjay.model import Filter, Memory, Scope
from scrubjay.ports import Decision
from scrubjay.ports.records import check_source

_PAGE = 500
_COLUMN = memories.c


def pages(ids: Sequence[UUID]) -> list[list[UUID]]:
    """The same ids, as many at a time as one statement takes."""
    return [list(ids[start : start + _PAGE]) for start in range(0, len(ids), _PAGE)]


def hold(connection: Connection, ids: Iterable[UUID], *, shared: bool = False) -> None:
    """Keep others from changing these rows until the transaction ends, and wait for those who are at it.

    What is read after this is as they left it. Several may hold one row `shared`: then none of them changes it.
    """
    if connection.dialect.name != "postgresql":
        return
    # In one order, for whoever holds some of the same: each would wait for the other.
    for page in pages(sorted(ids)):
        held = select(_COLUMN.id).where(_COLUMN.id.in_(page)).order_by(_COLUMN.id)
        connection.execute(held.with_for_update(read=shared, key_share=not shared)).fetchall()


def thread(connection: Connection, reader: Reader, scope: Scope, ids: Iterable[UUID]) -> list[Memory]:
    """These, what they replaced and what replaced them, all the way, as far as a reader in the scope sees it."""
    chain: dict[UUID, Memory] = {}
    frontier = set(ids)
    while frontier:
        fresh: list[Memory] = []
        for page in pages(list(frontier)):
            linked = or_(_COLUMN.id.in_(page), _COLUMN.superseded_by.in_(page))
            found = reader.fetch(connection, rows().where(linked))
            fresh += [memory for memory in found if memory.id not in chain and scope.sees(memory.scope)]
        chain |= {memory.id: memory for memory in fresh}
        onwards = {memory.superseded_by for memory in fresh if memory.superseded_by} - chain.keys()
        frontier = {memory.id for memory in fresh} | onwards
    return list(chain.values())


def newer(connection: Connection, ids: Iterable[UUID], since: datetime) -> dict[UUID, datetime]:
    """For each of these, when something was last told or closed under its key, if that is not before this moment."""
    closing = memories.alias("closing")
    same_key = and_(_COLUMN.scope_id == closing.c.scope_id, _COLUMN.key == closing.c.key)
    last = select(closing.c.id, func.max(_COLUMN.created_at), func.max(_COLUMN.superseded_at))
    last = last.join(closing, same_key).where(or_(_COLUMN.created_at >= since, _COLUMN.superseded_at >= since))
    return {
        one: max(told_at, closed_at or told_at)
        for page in pages(list(ids))
        for one, told_at, closed_at in connection.execute(last.where(closing.c.id.in_(page)).group_by(closing.c.id))
    }


def derived(connection: Connection, tenant: str, ids: Sequence[UUID], *, holding: bool = False) -> list[UUID]:
    """What was made from these in the tenant, directly or through others; `holding` holds it. `ids` are left out."""
    in_tenant = each_in_place(Filter(scope=Scope(tenant=tenant)))
    found: dict[UUID, None] = {}
    asked = set(ids)
    frontier = list(ids)
    while frontier:
        # Two steps, for most memories are nobody's source, and then the first says so at once.
        linked = [
            one
            for page in pages(frontier)
            for one in connection.execute(select(lineage.c.derived_id).where(lineage.c.source_id.in_(page))).scalars()
            if one not in found and one not in asked
        ]
        frontier = [
            one
            for page in pages(list(dict.fromkeys(linked)))
            for one in connection.execute(
                select(_COLUMN.id).where(_COLUMN.id.in_(page), in_tenant).order_by(_COLUMN.seq)
            ).scalars()
        ]
        if holding:
            hold(connection, frontier)
        found |= dict.fromkeys(frontier)
    return list(found)


def family(connection: Connection, reader: Reader, ids: Sequence[UUID], *, versions: bool) -> list[UUID]:
    """These, with `versions` also every version of them and all that their keys ever had, and all made from them: held.

    Ids that are not stored, or are of another tenant than the first, must not be among them.
    """
    hold(connection, ids)
    named = [memory for page in pages(ids) for memory in reader.by_ids(connection, page)]
    if not named:
        return []
    found = dict.fromkeys(memory.id for memory in named)
    while versions:
        more = [one for one in _versions(connection, reader, named) if one not in found]
        if not more:
            break
        hold(connection, more)
        found |= dict.fromkeys(more)
    return [*found, *derived(connection, named[0].scope.tenant, list(found), holding=True)]


def _versions(connection: Connection, reader: Reader, named: Sequence[Memory]) -> list[UUID]:
    places: dict[Scope, list[Memory]] = defaultdict(list)
    for memory in named:
        places[memory.scope].append(memory)
    found: list[UUID] = []
    for scope, here in places.items():
        linked = thread(connection, reader, scope, [memory.id for memory in here])
        # What lies in another scope is no version of it, whoever says that it replaced this one.
        found += [one.id for one in linked if one.scope == scope]
        for key in dict.fromkeys(memory.key for memory in here if memory.key is not None):
            in_place = _COLUMN.scope_id == known_places(connection, {scope})[scope]
            had_it = select(_COLUMN.id).where(in_place, _COLUMN.key == key).order_by(_COLUMN.seq)
            found += connection.execute(had_it).scalars()
    return found


def check_sources(connection: Connection, reader: Reader, decided: Sequence[Decision]) -> None:
    """Raise InvalidInput when a new row is made from what is not stored, or was forgotten. The sources are held."""
    made = [pair for decision in decided for pair in decision.sources()]
    if not made:
        return
    known = {memory.id: memory for decision in decided for memory in decision.opens}
    wanted = list(dict.fromkeys(source for _, source in made if source not in known))
    hold(connection, wanted, shared=True)
    known |= {one.id: one for page in pages(wanted) for one in reader.by_ids(connection, page)}
    for memory, source in made:
        check_source(memory, source, known.get(source))
