"""Rows and files of the record database, stored anew in place: with another key, encrypted, or not any more."""

import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from sqlalchemy import Connection, bindparam, func, select, text, update

from scrubjay.backends.sql import key_census, sealing, texts
from scrubjay.backends.sql.blobs import WHOLE, checked, contents_of, lock, make_whole
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.lookup import Lookup
from scrubjay.backends.sql.places import stored
from scrubjay.backends.sql.rows import BY_ID, Reader, rows, values_of
from scrubjay.backends.sql.schema import blobs, memories, scopes
from scrubjay.model import SCOPE_NAMES, Memory, Scope
from scrubjay.model.sealed import is_sealed
from scrubjay.ports.blobs import sealed_with
from scrubjay.ports.encryption import KeptFile

REPEATED: Final = "replaced"
"""Why a row is closed that says what another one says: it was told again while only one of them was encrypted."""

_COLUMN: Final = memories.c
_CHANGES: Final = ("content", "data", "source", "author", "reason", "closed_because")
_CLOSING: Final = ("superseded_at", "superseded_by", "generation", "checksum")

_WANTED: Final = 200
"""Fingerprints that a statement names."""

_HERE: Final = [scopes.c[name] == bindparam(f"the_{name}") for name in SCOPE_NAMES]
_PLACE: Final = select(scopes.c.id).where(*_HERE)
_BELIEVED: Final = rows().where(_COLUMN.superseded_at.is_(None))
# Each as one of the indexes over words has it.
_OPEN: Final = _BELIEVED.where(_COLUMN.valid_to.is_(None))
_ENDED: Final = _BELIEVED.where(_COLUMN.key.is_(None), _COLUMN.valid_to.is_not(None))
_OPEN_WORDS: Final = Lookup(_OPEN, _COLUMN.scope_id, _COLUMN.fingerprint)
_ENDED_WORDS: Final = Lookup(_ENDED, _COLUMN.scope_id, _COLUMN.fingerprint)
_SAME: Final = [_COLUMN.scope_id == scopes.c.id, _COLUMN.fingerprint == bindparam("the_words"), *_HERE]
_OPEN_ONE: Final = _OPEN.where(*_SAME)
_ENDED_ONE: Final = _ENDED.where(*_SAME)


class SqlResealed:
    """The `Resealed` port."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._reader = Reader()

    async def count(self) -> int:
        """Count all rows and files."""

        def work(connection: Connection) -> int:
            return sum(
                connection.execute(select(func.count()).select_from(table)).scalar_one() for table in (memories, blobs)
            )

        return await self._database.read(work)

    async def rows_by_key(self, tenant: str | None = None) -> dict[tuple[str, str, int], int]:
        """Count rows by tenant, kind and the number of the data key that they need."""
        found: Counter[tuple[str, str, int]] = Counter()
        after = 0
        while after < await self._database.read(key_census.last_row):
            found += await self._database.read(partial(key_census.rows_by_key, tenant=tenant, after=after))
            after += key_census.SLICE
        return dict(found)

    async def files_by_key(self, tenant: str | None = None) -> dict[tuple[str, bool, int], int]:
        """Count files by tenant, whether an agent holds them, and the number of the data key that they need."""
        found: Counter[tuple[str, bool, int]] = Counter()
        after = 0
        while after < await self._database.read(key_census.last_file):
            found += await self._database.read(partial(key_census.files_by_key, tenant=tenant, after=after))
            after += key_census.SLICE
        return dict(found)

    async def archives(self, tenant: str | None = None) -> dict[tuple[str, str], int]:
        """Count the hollow rows by tenant and the name of the archive that has what they said."""
        found: Counter[tuple[str, str]] = Counter()
        after = 0
        while after < await self._database.read(key_census.last_row):
            found += await self._database.read(partial(key_census.archives, tenant=tenant, after=after))
            after += key_census.SLICE
        return dict(found)

    async def rows(self, *, after: int, limit: int) -> list[tuple[int, Memory]]:
        """Return rows as they are stored, with their numbers, from behind a number."""
        numbers = select(_COLUMN.seq, _COLUMN.id).where(_COLUMN.seq > after).order_by(_COLUMN.seq).limit(limit)

        def work(connection: Connection) -> list[tuple[int, Memory]]:
            page = connection.execute(numbers).fetchall()
            found = self._reader.fetch(connection, BY_ID, {"ids": [row.id for row in page]})
            by_id = {memory.id: memory for memory in found}
            return [(row.seq, by_id[row.id]) for row in page if row.id in by_id]

        return await self._database.read(work)

    async def in_plain(self, drafts: Sequence[Memory]) -> list[Memory]:
        """Return believed rows that say in plain what one of these says, in the very place of it."""
        if not drafts:
            return []
        # Each statement by itself will do: whoever is asked for more than once is sealed once.
        found = await self._database.glance(lambda connection: self._with_words(connection, drafts))
        return [one for one in found if not is_sealed(one.content)]

    def _with_words(self, connection: Connection, drafts: Sequence[Memory]) -> list[Memory]:
        if len(drafts) == 1:
            [draft] = drafts
            statement = _OPEN_ONE if draft.valid_to is None else _ENDED_ONE
            given = {**_named(draft.scope), "the_words": draft.fingerprint}
            return self._reader.fetch(connection, statement, given)
        numbers = {scope: connection.execute(_PLACE, _named(scope)).scalar() for scope in {one.scope for one in drafts}}
        found: list[Memory] = []
        for lookup, some in (
            (_OPEN_WORDS, [one for one in drafts if one.valid_to is None]),
            (_ENDED_WORDS, [one for one in drafts if one.valid_to is not None]),
        ):
            wanted = [(numbers[one.scope], one.fingerprint) for one in some if numbers[one.scope] is not None]
            for start in range(0, len(wanted), _WANTED):
                statement, given = lookup.of(wanted[start : start + _WANTED])
                found += self._reader.fetch(connection, statement, given)
        return found

    async def replace_rows(self, changed: Sequence[tuple[Memory, Memory]]) -> int:
        """Store the second of each pair where the first is still what is stored; return how many."""
        return await self._database.write(lambda connection: self._replaced(connection, changed))

    def _replaced(self, connection: Connection, changed: Sequence[tuple[Memory, Memory]]) -> int:
        sealing.check_memories(connection, [after for _, after in changed])
        indexed: list[tuple[int, int, Memory]] = []
        for before, after in changed:
            same = [_COLUMN.id == before.id, _COLUMN.content == before.content]
            held = connection.execute(select(_COLUMN.seq, _COLUMN.scope_id).where(*same).with_for_update()).first()
            if held is None:
                continue  # It was archived or deleted meanwhile.
            [stored] = self._reader.fetch(connection, BY_ID, {"ids": [before.id]})
            says = {name: getattr(after, name) for name in _CHANGES if name != "closed_because"}
            new = replace(stored, **says, closed_because=after.closed_because or stored.closed_because)
            new = self._told_apart(connection, new, held.scope_id)
            values = {name: value for name, value in values_of(new).items() if name in (*_CHANGES, *_CLOSING)}
            connection.execute(update(memories).where(*same).values(**values, fingerprint=new.fingerprint))
            indexed.append((held.seq, held.scope_id, new))
        texts.replace(connection, indexed)
        return len(indexed)

    def _told_apart(self, connection: Connection, memory: Memory, scope_id: int) -> Memory:
        """The memory; closed when another one is believed that says the same."""
        if memory.superseded_at is not None or (memory.key is not None and memory.valid_to is not None):
            return memory
        same = rows().where(
            _COLUMN.scope_id == scope_id,
            _COLUMN.fingerprint == memory.fingerprint,
            _COLUMN.superseded_at.is_(None),
            _COLUMN.id != memory.id,
        )
        if memory.valid_to is None:
            same = same.where(_COLUMN.valid_to.is_(None))
        else:
            same = same.where(
                _COLUMN.key.is_(None), _COLUMN.valid_to == memory.valid_to, _COLUMN.valid_from <= memory.valid_from
            )
        for other in self._reader.fetch(connection, same):
            return memory.closed(max(other.created_at, memory.created_at), because=REPEATED, by=other.id)
        return memory

    async def files(self, *, after: int, limit: int) -> list[tuple[int, KeptFile]]:
        """Return kept files as they are stored, with their numbers, from behind a number."""
        columns = WHOLE.add_columns(blobs.c.tenant, key_census.held_by_agent().label("of_agent"))
        page = columns.where(blobs.c.number > after).order_by(blobs.c.number).limit(limit)

        def work(connection: Connection) -> list[tuple[int, KeptFile]]:
            found = connection.execute(page).fetchall()
            contents = contents_of(connection, found)
            return [
                (row.number, KeptFile(row.tenant, checked(row.hash, contents[row.number]), of_agent=bool(row.of_agent)))
                for row in found
            ]

        return await self._database.read(work)

    async def replace_file(self, number: int, before: KeptFile, content: bytes) -> bool:
        """Store this content of the same name where the one before still is; whether it was."""
        packed = zlib.compress(content, 6)
        way, body = ("zlib", packed) if len(packed) < len(content) else ("plain", content)

        def work(connection: Connection) -> bool:
            sealing.check_keys(connection, before.tenant, [sealed_with(content)])
            lock(connection, [number])
            found = connection.execute(WHOLE.where(blobs.c.number == number)).fetchall()
            if not found or contents_of(connection, found)[number] != before.content:
                return False
            # Those that are kept as differences from it must not need it any more, whatever becomes of it.
            make_whole(connection, {number})
            changed = {"way": way, "body": body, "size": len(content), "base": None, "depth": 0}
            return connection.execute(update(blobs).where(blobs.c.number == number).values(**changed)).rowcount == 1

        return await self._database.write(work)

    async def settle(self) -> None:
        """Let nothing of what was stored before linger. PostgreSQL clears it away with its next VACUUM."""
        if self._database.dialect == "sqlite":
            # FTS5 only notes a deletion beside the old words; merging the index is what takes them off the disk.
            merge = text("INSERT INTO texts (texts) VALUES ('optimize')")
            await self._database.write(lambda connection: connection.execute(merge))
            await self._database.checkpoint()


def _named(scope: Scope) -> dict[str, str]:
    return {f"the_{name}": value for name, value in zip(SCOPE_NAMES, stored(scope), strict=True)}
