"""Settings become a service."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import parse_qsl, quote, urlsplit

from scrubjay.core import Parts
from scrubjay.errors import Misconfigured, StoreUnavailable
from scrubjay.memories.workspace.code.roots import WorkingTrees
from scrubjay.model import Health
from scrubjay.model.working import Limits
from scrubjay.model.workspace import WORKSPACE_KINDS
from scrubjay.ports import Embedder, Events, Inspected, Probe, Stores, Vectors, Working, Works
from scrubjay.ports.access import AccessStores
from scrubjay.ports.joint import Joint
from scrubjay.service import Scrubjay
from scrubjay.settings import Settings, read_settings
from scrubjay.sync import SyncScrubjay
from scrubjay.wiring.counting import tokens_for
from scrubjay.wiring.encryption import Encryption, encryption_of
from scrubjay.wiring.mirror import mirrored
from scrubjay.wiring.models import chat_for, configured, fallbacks_for, probe_of, reopened, rereading_for
from scrubjay.write.index import Index
from scrubjay.write.redact import SecretRedactor

if TYPE_CHECKING:
    from scrubjay.backends.redis.connection import RedisConnection
    from scrubjay.backends.redis.events import RedisEvents
    from scrubjay.backends.sql.database import Database

_PLACES: Final = ("prefix", "tenant", "database")
"""Options of a vector engine's URL that say where the vectors are, and not how to reach them."""


def utc_now() -> datetime:
    """The clock of a real memory."""
    return datetime.now(UTC)


def wire(settings: Settings, *, embedder: Embedder | None = None) -> Scrubjay:
    """Build the service that these settings describe. Nothing is opened before it starts.

    An embedder of your own takes the place of the one that the settings name.
    """
    # Backends are imported where they are chosen: what is not used costs nothing to have.
    from scrubjay.backends.sql.blobs import SqlBlobs
    from scrubjay.backends.sql.database import Database
    from scrubjay.backends.sql.generations import SqlGenerations
    from scrubjay.backends.sql.migrate import migrate
    from scrubjay.backends.sql.records import SqlRecords
    from scrubjay.backends.sql.texts import SqlTexts

    database = Database(settings.records_url)
    clock = partial(database.time, utc_now)
    engine = vectors_of(settings.vectors, database, key=settings.vectors_key.get_secret_value())
    guard = guarded(engine, settings.vectors)
    vectors = mirrored(guard, settings.vectors, database, settings.mirror)
    redis = _redis(settings)
    model = embedder or configured(settings, redis)
    encryption = encryption_of(settings, database, clock, redis)
    plain = Stores(
        records=SqlRecords(database),
        generations=SqlGenerations(database),
        texts=SqlTexts(database),
        vectors=vectors,
        blobs=SqlBlobs(database),
        joint=joint_of(settings.vectors, database),
        # On a server, asking for words and for meaning at the same time is quicker than one after the other.
        together=database.together if database.path is not None and settings.vectors == "embedded" else None,
    )
    stores = encryption.stores(plain)
    events = _events(redis)
    index = Index(
        stores=stores,
        embedder=model,
        reopen=partial(reopened, settings, redis),
        events=events,
        clock=clock,
        engine=engine_name(settings.vectors),
        fallbacks=fallbacks_for(settings, redis),
        words_only=() if settings.workspace_embeddings else WORKSPACE_KINDS,
        hidden=encryption.hidden,
    )
    redactor = SecretRedactor() if settings.redact else None
    rereading = rereading_for(settings)
    working, former = _working(settings, database, redis)
    parts = Parts(
        stores=stores,
        index=index,
        events=events,
        redactor=redactor,
        tokens=partial(tokens_for, settings.tokenizer),
        clock=clock,
        working=encryption.working(working),
        former_working=encryption.working(former) if former is not None else None,
        working_source=settings.working_source,
        chat=chat_for(settings),
        rereading=rereading,
        works=encryption.works(_works(database)),
        access=encryption.access(_access(settings, database, redis)),
        policy=settings.policy,
        archive=settings.archive_folder,
        workspace=settings.workspace,
        trees=WorkingTrees(stores.records, redactor, clock) if settings.workspace.enabled else None,
        names={"records": database.name, "embedder": settings.embedder},
        bytes_on_disk=database.bytes_on_disk,
        inspected=_inspected(settings, database, engine) | encryption.inspected,
        probes={
            "records": database,
            # An engine that cannot be asked keeps its vectors in the database.
            "vectors": guard if isinstance(guard, Probe) else database,
            **({"embedder": probe_of(model)} if model is not None else {}),
            **({"working": redis} if redis is not None else {}),
            **({"reranker": rereading.reranker} if rereading is not None else {}),
        },
    )
    return Scrubjay(
        parts=parts,
        tenant=settings.tenant,
        prepare=partial(_prepared, partial(migrate, database, language=settings.language), encryption, events),
        background=settings.background,
    )


def vectors_of(url: str, database: "Database", *, key: str = "") -> Vectors:
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
        case "chroma" | "chromas":
            from scrubjay.backends.vectors.chroma import ChromaVectors

            return ChromaVectors(url, key=key, beside=_beside(database))
        case _:
            known = "`embedded`, `pgvector:`, `qdrant://HOST:PORT`, `chroma://HOST:PORT` or `chroma:`"
            raise Misconfigured(f"SCRUBJAY_VECTORS is {url!r}: use {known}")


def joint_of(url: str, database: "Database") -> Joint | None:
    """Who writes records and vectors at once; None where they do not lie in one file."""
    if url != "embedded" or database.path is None:
        return None
    from scrubjay.backends.sql.joint import SqliteJoint

    return SqliteJoint(database)


def _beside(database: "Database") -> Path | None:
    """The folder for a vector engine that has files of its own; None where the records are not in a file."""
    path = database.path
    return path.with_name(f"{path.name}.chroma") if path is not None else None


def anchored(url: str, database: "Database") -> str:
    """The URL of a vector engine with the folder spelled out, for those who work on a copy of the database."""
    parts = urlsplit(url)
    folder = _beside(database)
    if parts.scheme != "chroma" or parts.netloc or parts.path or folder is None:
        return url
    return parts._replace(path=quote(str(folder.absolute()))).geturl()


def _redis(settings: Settings) -> "RedisConnection | None":
    """The Redis that the settings name, shared by all that use it; None when they name none."""
    url = settings.working.get_secret_value()
    if not url:
        return None
    from scrubjay.backends.redis.connection import RedisConnection

    return RedisConnection(url)


def _working(
    settings: Settings, database: "Database", redis: "RedisConnection | None"
) -> tuple[Working, Working | None]:
    """Working memory as the settings say, and where sessions may be left from another setting or an older version."""
    from scrubjay.backends.sql.working import SqlWorking

    limits = Limits(ttl=timedelta(seconds=settings.working_ttl))
    in_records = SqlWorking(database, limits)
    if redis is None:
        if settings.working_durability == "redis":
            raise Misconfigured("SCRUBJAY_WORKING_DURABILITY is redis: name the Redis in SCRUBJAY_WORKING")
        return in_records, None
    from scrubjay.backends.redis.working import RedisWorking

    in_redis = RedisWorking(redis, limits)
    return (in_redis, in_records) if settings.working_durability == "redis" else (in_records, in_redis)


def _access(settings: Settings, database: "Database", redis: "RedisConnection | None") -> AccessStores:
    """Keys, the audit log and kept answers, beside the records; and what each key may ask for."""
    from scrubjay.backends.allowances import MovingWindows
    from scrubjay.backends.sql.access import SqlAudit, SqlKeys
    from scrubjay.backends.sql.answers import SqlAnswers

    return AccessStores(
        keys=SqlKeys(database),
        audit=SqlAudit(database),
        answers=SqlAnswers(database),
        audit_for=timedelta(days=settings.audit_days) if settings.audit_days else None,
        allowances=MovingWindows(settings.limits, redis),
    )


def _works(database: "Database") -> Works:
    """What consolidation needs: beside the records, so that all who share them share the work."""
    from scrubjay.backends.sql.leases import SqlLeases
    from scrubjay.backends.sql.upkeep import SqlUpkeep
    from scrubjay.backends.sql.worklog import SqlWorklog

    return Works(leases=SqlLeases(database), log=SqlWorklog(database), upkeep=SqlUpkeep(database))


def _events(redis: "RedisConnection | None") -> Events:
    """Events between processes where there is a Redis, and inside this one where there is none."""
    if redis is None:
        from scrubjay.backends.events import LocalEvents

        return LocalEvents()
    from scrubjay.backends.redis.events import RedisEvents

    return RedisEvents(redis)


async def _prepared(migrated: Callable[[], Awaitable[object]], encryption: Encryption, events: Events) -> None:
    """Bring the record store up to date, with its keys at hand; and find where events of others go on from."""
    from scrubjay.backends.events import LocalEvents

    await migrated()
    await encryption.vault.ready()
    await encryption.note_sessions()
    if not isinstance(events, LocalEvents):
        await cast("RedisEvents", events).ready()


def _inspected(settings: Settings, database: "Database", engine: Vectors) -> dict[str, Inspected]:
    """Everything that can say how it is set up."""
    from scrubjay.backends.sql.blob_inspection import BlobInspection
    from scrubjay.backends.sql.inspection import SqlInspection

    found: dict[str, Inspected] = {"records": SqlInspection(database), "kept files": BlobInspection(database)}
    if settings.vectors.startswith("pgvector"):
        from scrubjay.backends.vectors.pgvector_inspection import PgInspection

        found["vectors"] = PgInspection(database)
    elif isinstance(engine, Inspected):
        found["vectors"] = engine
    if working := settings.working.get_secret_value():
        from scrubjay.backends.redis.inspection import RedisInspection

        found["working"] = RedisInspection(working, settings.working_durability)
    return found


def engine_name(url: str) -> str:
    """A short name that tells a vector engine from others: its kind and, on a server, a digest of where it is.

    Nothing secret goes into it, and nothing that may change while the vectors stay, such as a key or a timeout.
    """
    parts = urlsplit(url)
    kind = parts.scheme.removesuffix("s")
    options = sorted(pair for pair in parse_qsl(parts.query) if pair[0] in _PLACES)
    address = (parts.hostname, parts.port, parts.path.strip("/"), options)
    if not kind or not any(address):
        return kind or url
    return f"{kind[:11]}-{sha256(repr(address).encode()).hexdigest()[:12]}"


def guarded(vectors: Vectors, url: str) -> Vectors:
    """The same engine, behind a guard if it is on a server of its own: one in the database has the database's."""
    if not urlsplit(url).netloc:
        return vectors
    from scrubjay.backends.breaker import Breaker
    from scrubjay.backends.vectors.guarded import Engine, GuardedVectors

    engine = cast("Engine", vectors)
    # One failure is enough: the engine has tried again already, or has taken long.
    return GuardedVectors(engine, Breaker(engine.name, failures=1))


def open(home: str | Path | None = None, **settings: object) -> SyncScrubjay:
    """Open the memory and return it, ready. Without arguments: one file in the user's data directory.

    `home` is another folder for it; any setting can be given by name, such as `tenant="acme"` or `embedder="static"`.
    """
    return SyncScrubjay(wire(read_settings(home=home, **settings))).start()


def open_async(home: str | Path | None = None, **settings: object) -> Scrubjay:
    """The same, awaited: `async with scrubjay.open_async() as jay`."""
    return wire(read_settings(home=home, **settings))


def look_at(settings: Settings) -> Health:
    """Say how every store and model of these settings is doing, also when the memory cannot be opened without them."""

    async def work() -> Health:
        jay = wire(settings)
        try:
            await jay.start()
        except StoreUnavailable as error:
            if type(error) is not StoreUnavailable:
                raise  # It answers, but its schema or its file is wrong.
            return await jay.health()
        else:
            return await jay.health()
        finally:
            await jay.close()

    return asyncio.run(work())
