"""Whole installations: brought up to date, moved from store to store, backed up, restored and looked over."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from scrubjay.errors import InvalidInput, Misconfigured
from scrubjay.jobs.backup import Backup, Manifest
from scrubjay.jobs.backup import back_up as write_backup
from scrubjay.jobs.carry import Carried, EngineOfVectors, Progress, Store, carry
from scrubjay.model import Finding
from scrubjay.ports import PortableVectors
from scrubjay.settings import Settings
from scrubjay.wiring.memory import anchored, engine_name, guarded, utc_now, vectors_of
from scrubjay.wiring.mirror import mirrored

if TYPE_CHECKING:
    from scrubjay.backends.sql.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Migrated:
    """What bringing a record store up to date did."""

    records: str
    before: str | None
    """The schema that was there; None when the store is new."""
    after: str
    backup: Path | None
    """The copy that was made first; None when there was nothing to change, or a server has its own backups."""


def schema_of(settings: Settings) -> tuple[str | None, str]:
    """The schema that the record store has, None when it is new, and the one that this version needs."""
    from scrubjay.backends.sql.database import Database
    from scrubjay.backends.sql.migrate import refuse_newer, version
    from scrubjay.backends.sql.schema import HEAD

    database = Database(settings.records_url)

    async def work() -> str | None:
        try:
            return await database.read(version)
        finally:
            await database.shut()

    found = asyncio.run(work())
    if found not in (None, HEAD):
        refuse_newer(database, str(found))
    return found, HEAD


def versions_of(settings: Settings | None) -> list[Finding]:
    """Which Python and which libraries are here, with the extras that these settings ask for."""
    from scrubjay.jobs.versions import versions

    if settings is None:
        return versions()
    kinds = {"postgresql": "postgres", "postgres": "postgres", "qdrant": "qdrant", "qdrants": "qdrant"}
    kinds |= {"chroma": "chroma", "chromas": "chroma", "static": "static", "openai": "openai", "ollama": "ollama"}
    kinds |= {"sentence-transformers": "sentence-transformers"}
    asked = [settings.records_url, settings.vectors, settings.embedder]
    extras = {kinds[kind] for url in asked if (kind := url.partition(":")[0].partition("+")[0]) in kinds}
    if settings.working.get_secret_value():
        extras.add("redis")
    if settings.encryption_key.get_secret_value() or settings.encryption_key_file:
        extras.add("encryption")
    return versions(tuple(sorted(extras)))


def migrate_records(settings: Settings) -> Migrated:
    """Bring the record store to the schema of this version, as opening it does, and say what that meant."""
    from scrubjay.backends.sql.database import Database
    from scrubjay.backends.sql.migrate import migrate
    from scrubjay.backends.sql.schema import HEAD

    database = Database(settings.records_url)

    async def work() -> str | None:
        try:
            return await migrate(database, language=settings.language)
        finally:
            await database.shut()

    before = asyncio.run(work())
    path = database.path
    copies = path.parent.glob(f"{path.name}.backup-{before}-*") if path is not None and before != HEAD else ()
    return Migrated(records=database.name, before=before, after=HEAD, backup=max(copies, default=None))


def accept_records(settings: Settings) -> int:
    """Take what the record store holds for true: a SQLite file that lost commits, and rows that were changed.

    Returns how many rows were given another checksum.
    """
    from scrubjay.backends.sql import checksums, mark
    from scrubjay.backends.sql.database import Database
    from scrubjay.backends.sql.migrate import version
    from scrubjay.backends.sql.schema import HEAD

    database = Database(settings.records_url)

    async def work() -> int:
        try:
            if database.path is not None:
                mark.accept(database.path)
            if await database.read(version) != HEAD:
                return 0  # It has no rows, or an older version that knew nothing of checksums.
            return await database.rework(partial(checksums.make, anew=True))
        finally:
            await database.shut()

    return asyncio.run(work())


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What carrying an installation from one store to another did."""

    source: str
    target: str
    carried: Carried


def move_stores(
    *,
    source: str,
    target: str,
    source_vectors: str = "embedded",
    target_vectors: str = "embedded",
    vectors_key: str = "",
    mirror: str = "auto",
    progress: Progress = lambda _done, _total: None,
) -> Moved:
    """Carry everything from one record store to another that is empty, with its vectors, and compare both sides.

    Killed half-way and run again, it goes on. The source is only read. What a vector engine is too far gone to give
    back comes from its mirror, and an engine that is to have one is filled with it.
    """
    from scrubjay.backends.sql.carry import SqlPortable, check_readable, identity_of
    from scrubjay.backends.sql.database import Database
    from scrubjay.backends.sql.generations import SqlGenerations
    from scrubjay.backends.sql.migrate import migrate

    async def work() -> Moved:
        async with AsyncExitStack() as parts:
            old, new = Database(source), Database(target)
            parts.push_async_callback(old.shut)
            parts.push_async_callback(new.shut)
            if identity_of(old) == identity_of(new):
                raise InvalidInput(f"source and target are both {old.name}: name two stores")
            await check_readable(old)
            await migrate(new)
            still = await parts.enter_async_context(SqlPortable(old).still())
            there = _carried_vectors(parts, target_vectors, new, vectors_key, mirror)
            here = _carried_vectors(parts, source_vectors, old, vectors_key, mirror)
            store = Store(name=identity_of(old), still=still, vectors=here)
            carried = await carry(store, SqlPortable(new), there, progress)
            await SqlGenerations(new).keep(engine_name(target_vectors), at=utc_now())
            return Moved(source=old.name, target=new.name, carried=carried)

    return asyncio.run(work())


def _carried_vectors(parts: AsyncExitStack, url: str, database: "Database", key: str, mirror: str) -> EngineOfVectors:
    """The vector engine that the URL names, with its mirror, if it can give back what it holds."""
    engine = vectors_of(url, database, key=key)
    if not isinstance(engine, PortableVectors):
        raise Misconfigured(f"vectors in {url!r} cannot be carried: move with `embedded`, then run `scrubjay reindex`")
    vectors = mirrored(guarded(engine, url), url, database, mirror)
    parts.push_async_callback(vectors.shut)
    return cast("EngineOfVectors", vectors)


@dataclass(frozen=True, slots=True, kw_only=True)
class BackedUp:
    """What a backup holds."""

    records: str
    file: Path
    manifest: Manifest


def back_up(settings: Settings, file: Path, progress: Progress = lambda _done, _total: None) -> BackedUp:
    """Write the whole installation, as it is at this moment, to one file. Others may go on writing."""
    from scrubjay.backends.sql.carry import SqlPortable, check_readable, copied, identity_of
    from scrubjay.backends.sql.database import Database
    from scrubjay.backends.sql.schema import HEAD

    async def work() -> BackedUp:
        async with AsyncExitStack() as parts:
            database = Database(settings.records_url)
            parts.push_async_callback(database.shut)
            await check_readable(database)
            copy = await parts.enter_async_context(copied(database))
            url = anchored(settings.vectors, database)
            key = settings.vectors_key.get_secret_value()
            vectors = _carried_vectors(parts, url, copy, key, settings.mirror)
            still = await parts.enter_async_context(SqlPortable(copy).still())
            source = Store(name=identity_of(database), still=still, vectors=vectors)
            manifest = await write_backup(source, file, schema=HEAD, at=utc_now(), progress=progress)
            return BackedUp(records=database.name, file=file, manifest=manifest)

    return asyncio.run(work())


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What restoring a backup did."""

    records: str
    carried: Carried
    manifest: Manifest
    aside: str | None
    """Where the store that was there before is kept; None when there was none."""


def restore_from(
    settings: Settings, file: Path, *, force: bool = False, progress: Progress = lambda _done, _total: None
) -> Restored:
    """Fill an empty store from a backup, whose checksum is looked at first, and compare what is stored with it.

    With `force`, a store that is not empty is kept aside under another name.
    """
    from scrubjay.backends.sql.carry import SqlPortable
    from scrubjay.backends.sql.database import Database
    from scrubjay.backends.sql.fresh import fresh
    from scrubjay.backends.sql.generations import SqlGenerations

    async def work() -> Restored:
        backup = Backup(file)
        async with fresh(settings.records_url, backup.name, force=force) as found, AsyncExitStack() as parts:
            url = anchored(settings.vectors, Database(settings.records_url))
            key = settings.vectors_key.get_secret_value()
            vectors = _carried_vectors(parts, url, found.database, key, settings.mirror)
            records = SqlPortable(found.database)
            if force and await records.begun(backup.name) is None:
                # Vectors on a server are not kept aside: they can be made again from the records that are.
                for generation in backup.manifest.outline.generations:
                    await vectors.drop(generation.number)
            carried = await carry(backup, records, vectors, progress)
            await SqlGenerations(found.database).keep(engine_name(settings.vectors), at=utc_now())
        return Restored(records=found.name, carried=carried, manifest=backup.manifest, aside=found.aside)

    return asyncio.run(work())
