"""Settings become a service. The only module that names a concrete backend."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from scrubjay.errors import Misconfigured
from scrubjay.model import Identity
from scrubjay.ports import Embedder, Stores, Vectors
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
        vectors=_vectors(settings.vectors, database),
    )
    index = Index(
        stores=stores,
        embedder=embedder or configured(settings),
        reopen=partial(_reopened, settings),
        clock=utc_now,
    )
    return Scrubjay(
        stores=stores,
        index=index,
        redactor=SecretRedactor() if settings.redact else None,
        tokens=cache(partial(tokens_of, settings.tokenizer)),
        clock=utc_now,
        tenant=settings.tenant,
        prepare=partial(migrate, database),
        background=settings.background,
        names={"records": database.name, "embedder": settings.embedder},
        bytes_on_disk=database.bytes_on_disk,
    )


def _vectors(url: str, database: "Database") -> Vectors:
    """The vector engine that the URL names."""
    match url.partition(":")[0]:
        case "embedded":
            from scrubjay.backends.vectors.embedded import EmbeddedVectors

            return EmbeddedVectors(database)
        case _:
            raise Misconfigured(f"SCRUBJAY_VECTORS is {url!r}: this version has `embedded`")


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
            return await migrate(database)
        finally:
            await database.shut()

    before = asyncio.run(work())
    path = database.path
    copies = path.parent.glob(f"{path.name}.backup-{before}-*") if path is not None and before != HEAD else ()
    return Migrated(records=database.name, before=before, after=HEAD, backup=max(copies, default=None))
