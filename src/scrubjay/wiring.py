"""Settings become a service. The only module that names a concrete backend."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from scrubjay.core import Parts
from scrubjay.errors import InvalidInput, Misconfigured
from scrubjay.jobs.backup import Backup, Manifest
from scrubjay.jobs.backup import back_up as write_backup
from scrubjay.jobs.carry import Carried, EngineOfVectors, Progress, Store, carry
from scrubjay.model import Identity
from scrubjay.ports import Embedder, PortableVectors, Stores, Vectors
from scrubjay.service import Scrubjay
from scrubjay.settings import Settings, read_settings
from scrubjay.sync import SyncScrubjay
from scrubjay.write.index import Index
from scrubjay.write.redact import SecretRedactor

if TYPE_CHECKING:
    from scrubjay.backends.sql.database import Database


def utc_now() -> datetime:
    """The clock of a real memory."""
    return datetime.now(UTC)


def wire(settings: Settings, *, embedder: Embedder | None = None) -> Scrubjay:
    """Build the service that these settings describe. Nothing is opened before it starts.

    An embedder of your own takes the place of the one that the settings name.
    """
    # Backends are imported where they are chosen: what is not used costs nothing to have.
    from scrubjay.backends.sql.database import Database
    from scrubjay.backends.sql.generations import SqlGenerations
    from scrubjay.backends.sql.migrate import migrate
    from scrubjay.backends.sql.records import SqlRecords
    from scrubjay.backends.sql.texts import SqlTexts
    from scrubjay.models.tokens import tokens_of

    database = Database(settings.records_url)
    stores = Stores(
        records=SqlRecords(database),
        generations=SqlGenerations(database),
        texts=SqlTexts(database),
        vectors=_vectors(settings.vectors, database, key=settings.vectors_key.get_secret_value()),
    )
    index = Index(
        stores=stores,
        embedder=embedder or configured(settings),
        reopen=partial(_reopened, settings),
        clock=utc_now,
    )
    parts = Parts(
        stores=stores,
        index=index,
        redactor=SecretRedactor() if settings.redact else None,
        tokens=cache(partial(tokens_of, settings.tokenizer)),
        clock=utc_now,
        names={"records": database.name, "embedder": settings.embedder},
        bytes_on_disk=database.bytes_on_disk,
    )
    return Scrubjay(
        parts=parts,
        tenant=settings.tenant,
        prepare=partial(migrate, database, language=settings.language),
        background=settings.background,
    )


def _vectors(url: str, database: "Database", *, key: str = "") -> Vectors:
    """The vector engine that the URL names; the key is for one that asks for it."""
    match url.partition(":")[0]:
        case "embedded":
            from scrubjay.backends.vectors.embedded import EmbeddedVectors

            return EmbeddedVectors(database)
        case "pgvector":
            from scrubjay.backends.vectors.pgvector import PgVectors

            return PgVectors(database)
        case "qdrant" | "qdrants":
            from scrubjay.backends.vectors.qdrant import QdrantVectors

            return QdrantVectors(url, key=key)
        case _:
            known = "`embedded`, `pgvector:` or `qdrant://HOST:PORT`"
            raise Misconfigured(f"SCRUBJAY_VECTORS is {url!r}: use {known}")


def configured(settings: Settings) -> Embedder | None:
    """The model that these settings name, with recent vectors remembered; None for `none`."""
    return _cached(settings, settings.embedder)


def _reopened(settings: Settings, identity: Identity) -> Embedder | None:
    """The model that made an older generation, if it is the same still."""
    from scrubjay.models import spec_of

    model = _cached(settings, spec_of(identity))
    return model if model is not None and model.identity == identity else None


def _cached(settings: Settings, spec: str) -> Embedder | None:
    from scrubjay.models import embedder_of
    from scrubjay.models.cache import Cached

    key = settings.embedder_key.get_secret_value()
    model = embedder_of(spec, url=settings.embedder_url, key=key, threads=settings.threads)
    return Cached(model) if model is not None else None


def open(home: str | Path | None = None, **settings: object) -> SyncScrubjay:
    """Open the memory and return it, ready. Without arguments: one file in the user's data directory.

    `home` is another folder for it; any setting can be given by name, such as `tenant="acme"` or `embedder="static"`.
    """
    return SyncScrubjay(wire(read_settings(home=home, **settings))).start()


def open_async(home: str | Path | None = None, **settings: object) -> Scrubjay:
    """The same, awaited: `async with scrubjay.open_async() as jay`."""
    return wire(read_settings(home=home, **settings))


@dataclass(frozen=True, slots=True, kw_only=True)
class Migrated:
    """What bringing a record store up to date did."""

    records: str
    before: str | None
    """The schema that was there; None when the store is new."""
    after: str
    backup: Path | None
    """The copy that was made first; None when there was nothing to change, or a server has its own backups."""


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
    progress: Progress = lambda _done, _total: None,
) -> Moved:
    """Carry everything from one record store to another that is empty, with its vectors, and compare both sides.

    Killed half-way and run again, it goes on. The source is only read.
    """
    from scrubjay.backends.sql.carry import SqlPortable, check_readable, identity_of
    from scrubjay.backends.sql.database import Database
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
            there = _carried_vectors(parts, target_vectors, new, vectors_key)
            here = _carried_vectors(parts, source_vectors, old, vectors_key)
            store = Store(name=identity_of(old), still=still, vectors=here)
            carried = await carry(store, SqlPortable(new), there, progress)
            return Moved(source=old.name, target=new.name, carried=carried)

    return asyncio.run(work())


def _carried_vectors(parts: AsyncExitStack, url: str, database: "Database", key: str) -> EngineOfVectors:
    """The vector engine that the URL names, if it can give back what it holds."""
    engine = _vectors(url, database, key=key)
    parts.push_async_callback(engine.shut)
    if not isinstance(engine, PortableVectors):
        raise Misconfigured(f"vectors in {url!r} cannot be carried: move with `embedded`, then run `scrubjay reindex`")
    return cast("EngineOfVectors", engine)


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
            vectors = _carried_vectors(parts, settings.vectors, copy, settings.vectors_key.get_secret_value())
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
    from scrubjay.backends.sql.fresh import fresh

    async def work() -> Restored:
        backup = Backup(file)
        async with fresh(settings.records_url, backup.name, force=force) as found, AsyncExitStack() as parts:
            vectors = _carried_vectors(parts, settings.vectors, found.database, settings.vectors_key.get_secret_value())
            records = SqlPortable(found.database)
            if force and await records.begun(backup.name) is None:
                # Vectors on a server are not kept aside: they can be made again from the records that are.
                for generation in backup.manifest.outline.generations:
                    await vectors.drop(generation.number)
            carried = await carry(backup, records, vectors, progress)
        return Restored(records=found.name, carried=carried, manifest=backup.manifest, aside=found.aside)

    return asyncio.run(work())
