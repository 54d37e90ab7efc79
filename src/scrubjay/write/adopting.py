"""Ids of a file that another tenant of the same store has already: they are made anew here, and every link with them.

The new id follows from the old one and from who imports. So a file that is imported again, or in parts, or after the
other tenant has gone, is still the same memories.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast
from uuid import UUID, uuid5

from scrubjay.errors import Conflict
from scrubjay.model import Memory, Scope
from scrubjay.model.checks import Json
from scrubjay.ports import Records

Owned = dict[UUID, Memory]


async def adopted(told: Sequence[tuple[int, Memory]], records: Records) -> tuple[list[tuple[int, Memory]], Owned]:
    """These memories under the ids that they have here, and those of them that are stored here already, by id.

    Raises Conflict, with the number of the line, when an id is another's and so is the one made of it.
    """
    if not told:
        return [], {}
    tenant = told[0][1].scope.tenant
    wanted = list(dict.fromkeys(one for _, memory in told for one in _named_by(memory)))
    made = {one: uuid5(one, tenant) for one in wanted}
    free = set(await records.missing([*wanted, *made.values()]))
    taken = [one for one in (*wanted, *made.values()) if one not in free]
    owned = {one.id: one for one in await records.get(Scope(tenant=tenant), taken)} if taken else {}
    anew = {one: own for one, own in made.items() if own in owned or one not in free} if taken else {}
    anew = {one: own for one, own in anew.items() if one not in owned}
    for number, memory in told:
        if memory.id in anew and anew[memory.id] not in owned and anew[memory.id] not in free:
            raise Conflict(f"line {number}: id {memory.id} cannot be used here: give the memory another one")
    return [(number, _renamed(memory, anew)) for number, memory in told], owned


def _named_by(memory: Memory) -> Iterator[UUID]:
    """The id of a memory, and those of which it speaks."""
    yield memory.id
    yield from memory.derived_from
    if memory.superseded_by is not None:
        yield memory.superseded_by
    yield from _ids_in(memory.data.values())


def _ids_in(values: Iterable[Json]) -> Iterator[UUID]:
    """The ids of memories that stand in data, as lists of evidence do."""
    for value in values:
        if isinstance(value, str):
            if (found := _id_of(value)) is not None:
                yield found
        elif isinstance(value, list):
            yield from _ids_in(value)
        elif isinstance(value, dict):
            yield from _ids_in(value.values())


def _id_of(text: str) -> UUID | None:
    """The id that a text is, spelled as we spell it."""
    if len(text) != 36 or text[8] != "-":
        return None
    try:
        found = UUID(text)
    except ValueError:
        return None
    return found if str(found) == text else None


def _renamed(memory: Memory, anew: Mapping[UUID, UUID]) -> Memory:
    """The memory with new ids in the place of old ones, wherever it names them."""
    if anew.keys().isdisjoint(_named_by(memory)):
        return memory
    by = memory.superseded_by
    return replace(
        memory,
        id=anew.get(memory.id, memory.id),
        derived_from=tuple(anew.get(one, one) for one in memory.derived_from),
        superseded_by=anew.get(by, by) if by is not None else None,
        data=cast("dict[str, Json]", _renamed_in(memory.data, anew)),
    )


def _renamed_in(value: Json, anew: Mapping[UUID, UUID]) -> Json:
    if isinstance(value, dict):
        return {name: _renamed_in(one, anew) for name, one in value.items()}
    if isinstance(value, list):
        return [_renamed_in(one, anew) for one in value]
    found = _id_of(value) if isinstance(value, str) else None
    return str(anew.get(found, found)) if found is not None else value


def are_alike(one: Json, other: Json, tenant: str) -> bool:
    """Whether two say the same for a tenant, under whose ids a memory that one of them names may have another one."""
    if one == other:
        return True
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(are_alike(one[name], other[name], tenant) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(are_alike(*pair, tenant) for pair in zip(one, other, strict=True))
    if not isinstance(one, str) or not isinstance(other, str):
        return False
    first, second = _id_of(one), _id_of(other)
    # Any other two ids are what they are: an order, or a request, which the owner of the data knows by it.
    return (
        first is not None and second is not None and (uuid5(first, tenant) == second or uuid5(second, tenant) == first)
    )
