"""Memories as rows, and rows as memories."""

import json
import zlib
from collections.abc import Mapping, Sequence
from struct import Struct
from types import ModuleType
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Select, bindparam, select

from scrubjay.backends.sql import driver, driver_postgresql
from scrubjay.backends.sql.onefile import history_of
from scrubjay.backends.sql.places import scope_from, stored
from scrubjay.backends.sql.schema import memories, scopes
from scrubjay.errors import StoreDamaged
from scrubjay.model import SCOPE_NAMES, Memory, Scope, Trust

GUARDED = (
    "kind", "key", "content", "data", "trust", "source", "author", "reason", "derived_from", "redacted", "position",
    "created_at", "valid_from", "checksum",
)  # fmt: skip
"""What a write fixes of a row, and the checksum of it. Nothing that closes or keeps a memory changes any of these."""

_NUMBERS = Struct("<qdd")
_UNREADABLE = (ValueError, KeyError, TypeError, OverflowError)

COLUMNS = [memories.c[name] for name in driver.COLUMNS]
"""What `Reader.memory` takes, in its order."""

_SCOPES_HELD = 100_000
_TRUST = {trust.value: trust for trust in Trust}


def rows() -> Select[Any]:
    """A statement over the columns of a memory, to be narrowed."""
    return select(*COLUMNS)


# Made once: on the busiest paths, building a statement costs more than running it.
BY_ID = rows().where(memories.c.id.in_(bindparam("ids", expanding=True)))


class Reader:
    """Turns rows into memories. Remembers scopes by number: they never change and are few beside memories."""

    def __init__(self) -> None:
        self._held: tuple[int, dict[int, Scope]] = (0, {})
        """Scopes by number, and the history of the store in which they have these numbers."""

    def fetch(
        self, connection: Connection, statement: Select[Any], parameters: Mapping[str, Any] | None = None
    ) -> list[Memory]:
        """Run a statement over `COLUMNS` and return its memories, in its order."""
        try:
            return self.memories(connection, connection.execute(statement, parameters).fetchall())
        except _UNREADABLE as error:
            raise _damaged(error) from error

    def by_ids(self, connection: Connection, ids: Sequence[UUID]) -> list[Memory]:
        """The memories with these ids, in the order asked, each once."""
        return self.told(connection, _busiest(connection).by_ids(connection, ids))

    def following(self, connection: Connection, ids: Sequence[UUID]) -> list[Memory]:
        """The believed memories at the next position after these in their sessions, as they were stored."""
        return self.told(connection, _busiest(connection).following(connection, ids))

    def told(self, connection: Connection, found: Sequence[Sequence[Any]]) -> list[Memory]:
        """The memories of these rows, which came from the driver."""
        places, memory_from = self._places(connection, found), _busiest(connection).memory_from
        try:
            return [memory_from(row, places[row[0]]) for row in found]
        except _UNREADABLE as error:
            raise _damaged(error) from error

    def memories(self, connection: Connection, found: Sequence[Sequence[Any]]) -> list[Memory]:
        """The memories of these rows over `COLUMNS`. Raises StoreDamaged for a row that is none."""
        places = self._places(connection, found)
        try:
            return [_memory(row, places[row[0]]) for row in found]
        except _UNREADABLE as error:
            raise _damaged(error) from error

    def _places(self, connection: Connection, found: Sequence[Sequence[Any]]) -> Mapping[int, Scope]:
        """The scopes of these rows, and perhaps others, by number."""
        history, numbers = history_of(connection), {row[0] for row in found}
        of, known = self._held
        if of != history:
            known = {}
        unknown = numbers - known.keys()
        if not unknown:
            return known
        learned = _named(connection, sorted(unknown))
        if driver.MAY_UNDO in connection.info:
            return {number: known[number] if number in known else learned[number] for number in numbers}
        # Replaced as a whole, since other threads read it.
        whole = known | learned
        self._held = history, whole if len(known) <= _SCOPES_HELD else learned
        return whole


def _busiest(connection: Connection) -> ModuleType:
    """The reads that every recall makes, for the database at the other end."""
    return driver if connection.dialect.name == "sqlite" else driver_postgresql


def _named(connection: Connection, numbers: Sequence[int]) -> dict[int, Scope]:
    """The scopes with these numbers."""
    columns = [scopes.c.id, *(scopes.c[name] for name in SCOPE_NAMES)]
    named: dict[int, Scope] = {}
    for start in range(0, len(numbers), 500):
        statement = select(*columns).where(scopes.c.id.in_(numbers[start : start + 500]))
        named |= {row[0]: scope_from(row[1:]) for row in connection.execute(statement)}
    return named


def _memory(row: Sequence[Any], scope: Scope) -> Memory:
    (
        _, memory_id, kind, content, key, data, importance, trust, source, author, reason,
        derived_from, redacted, position, created_at, valid_from, valid_to, expires_at, superseded_at,
        superseded_by, closed_because, uses, used_at, generation,
    ) = row  # fmt: skip
    return Memory(
        id=memory_id,
        kind=kind,
        content=content,
        key=key,
        data=data or {},
        importance=importance,
        trust=_TRUST[trust],
        source=source,
        author=author,
        reason=reason,
        derived_from=tuple(map(UUID, derived_from)) if derived_from else (),
        redacted=tuple(redacted) if redacted else (),
        scope=scope,
        position=position,
        created_at=created_at,
        valid_from=valid_from,
        valid_to=valid_to,
        expires_at=expires_at,
        superseded_at=superseded_at,
        superseded_by=superseded_by,
        closed_because=closed_because,
        uses=uses,
        used_at=used_at,
        generation=generation,
    )


def values_of(memory: Memory) -> dict[str, Any]:
    """The columns of its row that say what it says."""
    return {
        "kind": memory.kind,
        "key": memory.key,
        "content": memory.content,
        "data": memory.data,
        "importance": float(memory.importance),
        "trust": memory.trust.value,
        "source": memory.source,
        "author": memory.author,
        "reason": memory.reason,
        "derived_from": [str(one) for one in memory.derived_from],
        "redacted": list(memory.redacted),
        "position": memory.position,
        "created_at": memory.created_at,
        "valid_from": memory.valid_from,
        "valid_to": memory.valid_to,
        "expires_at": memory.expires_at,
        "superseded_at": memory.superseded_at,
        "superseded_by": memory.superseded_by,
        "closed_because": memory.closed_because,
        "uses": memory.uses,
        "used_at": memory.used_at,
        "generation": memory.generation,
        "checksum": checksum_of(memory),
    }


def checksum_of(memory: Memory) -> int:
    """The checksum of what a write fixes of its row."""
    # The same on every version of Python, and quick: it is made for every row that is written.
    position = -1 if memory.position is None else memory.position
    numbers = _NUMBERS.pack(position, memory.created_at.timestamp(), memory.valid_from.timestamp())
    said = "\x1f".join(
        (
            *stored(memory.scope),
            memory.kind,
            memory.key or "",
            memory.content,
            str.__str__(memory.trust),
            memory.source or "",
            memory.author or "",
            memory.reason or "",
        )
    )
    if memory.data or memory.derived_from or memory.redacted:
        said += json.dumps([memory.data, [one.hex for one in memory.derived_from], memory.redacted])
    return zlib.crc32(said.encode("utf-8", "surrogatepass"), zlib.crc32(memory.id.bytes + numbers))


def _damaged(error: Exception) -> StoreDamaged:
    reason = type(error).__name__ if isinstance(error, KeyError) else str(error).partition("\n")[0][:100]
    return StoreDamaged(f"a row cannot be read as a memory ({reason}): run `scrubjay doctor`, which names it")


def in_order(found: Sequence[Memory], ids: Sequence[UUID]) -> list[Memory]:
    """The memories in the order their ids were asked for, each once."""
    by_id = {memory.id: memory for memory in found}
    return [by_id[one] for one in dict.fromkeys(ids) if one in by_id]
