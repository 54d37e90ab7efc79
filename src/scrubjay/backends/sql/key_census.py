"""Which data keys the rows and files of the record database need, counted from what they begin with."""

import zlib
from collections import Counter
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, LargeBinary, case, func, literal, or_, select, type_coerce

from scrubjay.backends.sql.schema import blob_holders, blobs, memories, scopes
from scrubjay.model.memory import ARCHIVED
from scrubjay.model.sealed import SEAL
from scrubjay.ports.blobs import HEAD_BYTES, sealed_with

_COLUMN: Final = memories.c
_BEGINNING: Final = 1_024
"""Bytes of a stored file that are looked at: compressed or not, they hold the number of its key."""
_ARCHIVED: Final = f"{ARCHIVED}: "


SLICE: Final = 50_000
"""Rows that are counted by one statement: a server gives up one that takes long."""


def last_row(connection: Connection) -> int:
    """The highest number of a row."""
    return connection.execute(select(func.max(_COLUMN.seq))).scalar() or 0


def last_file(connection: Connection) -> int:
    """The highest number of a file."""
    return connection.execute(select(func.max(blobs.c.number))).scalar() or 0


def rows_by_key(connection: Connection, tenant: str | None, after: int) -> Counter[tuple[str, str, int]]:
    """Count rows by tenant, kind and the number of the key they need, `SLICE` numbers from behind one.

    Those that need no key have 0. A row whose reason for being closed needs another key is counted for both.
    """
    content, reason = _head(_COLUMN.content), _head(func.coalesce(_COLUMN.closed_because, ""))
    counted = (
        select(scopes.c.tenant, _COLUMN.kind, content, reason, func.count())
        .join(scopes, scopes.c.id == _COLUMN.scope_id)
        .where(_COLUMN.seq > after, _COLUMN.seq <= after + SLICE)
        .group_by(scopes.c.tenant, _COLUMN.kind, content, reason)
    )
    if tenant is not None:
        counted = counted.where(scopes.c.tenant == tenant)
    found: Counter[tuple[str, str, int]] = Counter()
    for whose, kind, said, closed, count in connection.execute(counted):
        found[whose, kind, int(said or "0", 16)] += count
        if closed and closed != said:
            found[whose, kind, int(closed, 16)] += count
    return found


def archives(connection: Connection, tenant: str | None, after: int) -> Counter[tuple[str, str]]:
    """Count hollow rows by tenant and the name of their archive, likewise."""
    why = _COLUMN.closed_because
    counted = (
        select(scopes.c.tenant, why, func.count())
        .join(scopes, scopes.c.id == _COLUMN.scope_id)
        .where(_COLUMN.seq > after, _COLUMN.seq <= after + SLICE)
        .where(func.substr(why, 1, len(_ARCHIVED)) == _ARCHIVED)
        .group_by(scopes.c.tenant, why)
    )
    if tenant is not None:
        counted = counted.where(scopes.c.tenant == tenant)
    found = connection.execute(counted)
    return Counter({(whose, closed.removeprefix(_ARCHIVED)): count for whose, closed, count in found})


def _head(text: ColumnElement[str]) -> ColumnElement[str]:
    """The number of the key that a text needs, as it is written there; empty for one that needs none."""
    is_sealed = func.substr(text, 1, len(SEAL)) == SEAL
    return case((is_sealed, func.substr(text, len(SEAL) + 1, 8)), else_=literal(""))


def files_by_key(connection: Connection, tenant: str | None, after: int) -> Counter[tuple[str, bool, int]]:
    """Count files by tenant, whether an agent holds them, and the number of the key they need, likewise."""
    beginning = type_coerce(func.substr(blobs.c.body, 1, _BEGINNING), LargeBinary)
    looked = select(blobs.c.tenant, held_by_agent().label("of_agent"), blobs.c.way, beginning.label("beginning"))
    looked = looked.where(blobs.c.number > after, blobs.c.number <= after + SLICE)
    if tenant is not None:
        looked = looked.where(blobs.c.tenant == tenant)
    found: Counter[tuple[str, bool, int]] = Counter()
    for row in connection.execute(looked.execution_options(yield_per=1_000)):
        found[row.tenant, bool(row.of_agent), _number(row.way, bytes(row.beginning))] += 1
    return found


def held_by_agent() -> ColumnElement[Any]:
    """Whether a memory holds the file whose scope names an agent, or a list of files, which only agents have."""
    holder = blob_holders.c
    of_agent = _COLUMN.scope_id.in_(select(scopes.c.id).where(scopes.c.agent != ""))
    return (
        select(holder.owner)
        .outerjoin(memories, holder.owner == _COLUMN.id)
        .where(holder.blob == blobs.c.number, or_(_COLUMN.id.is_(None), of_agent))
        .correlate(blobs)
        .exists()
    )


def _number(way: str, beginning: bytes) -> int:
    """The number of the key that a stored file needs. What is kept as a difference is never encrypted."""
    if way == "zlib":
        try:
            beginning = zlib.decompressobj().decompress(beginning, HEAD_BYTES)
        except zlib.error:
            return 0  # It is damaged, which whoever reads it is told.
    elif way != "plain":
        return 0
    return sealed_with(beginning) or 0
