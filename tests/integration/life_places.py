"""Where a life is led: which stores hold what is told, who has the vectors, and what of it is encrypted."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from scrubjay.backends.encryption.masters import masters_of, new_master
from scrubjay.backends.encryption.vault import KeyVault, Rules
from scrubjay.backends.events import LocalEvents
from scrubjay.backends.memory import MemoryStore, MemoryVectors
from scrubjay.backends.memory.blobs import MemoryBlobs
from scrubjay.backends.memory.leases import MemoryLeases, MemoryWorklog
from scrubjay.backends.memory.upkeep import MemoryUpkeep
from scrubjay.backends.memory.working import MemoryWorking
from scrubjay.backends.redis.connection import RedisConnection
from scrubjay.backends.redis.working import RedisWorking
from scrubjay.backends.sql.blobs import SqlBlobs
from scrubjay.backends.sql.data_keys import SqlDataKeys
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.generations import SqlGenerations
from scrubjay.backends.sql.joint import SqliteJoint
from scrubjay.backends.sql.leases import SqlLeases
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.sql.records import SqlRecords
from scrubjay.backends.sql.texts import SqlTexts
from scrubjay.backends.sql.upkeep import SqlUpkeep
from scrubjay.backends.sql.working import SqlWorking
from scrubjay.backends.sql.worklog import SqlWorklog
from scrubjay.backends.vectors.embedded import EmbeddedVectors
from scrubjay.backends.vectors.pgvector import PgVectors
from scrubjay.backends.vectors.qdrant import QdrantVectors
from scrubjay.core import Parts
from scrubjay.model.working import Limits
from scrubjay.models.tokens import tokens_of
from scrubjay.ports import Stores, Works
from scrubjay.service import Scrubjay
from scrubjay.wiring.encryption import Encryption
from scrubjay.write.index import Index


@dataclass
class Place:
    """Where the stores of a life are, and how whoever opens them next is to be set up."""

    url: str
    archive: Any = None
    """The folder for archived episodes."""
    engine: str = "embedded"
    """Who has the vectors: `embedded`, `pgvector`, or the URL of a Qdrant."""
    redis: str = ""
    """Where sessions are; in the database when it is empty."""
    encrypt: str = "none"
    search: str = "words"
    """What search may know of what is encrypted."""
    keys: list[str] = field(default_factory=list)
    """The master keys, the newest first; without any, nothing can be encrypted."""

    @property
    def is_file(self):
        return self.url.startswith("sqlite:")

    def add_key(self):
        """From now on another master key wraps."""
        self.keys.insert(0, new_master())

    def opened(self, embedder, clock, *, models=(), texts=SqlTexts, around=None, joint=True, together=True):
        """One process more on these stores, or as good as one. To be started. `around` wraps the vector engine."""
        database = Database(self.url)
        engine = self._vectors(database)
        is_joint = self.is_file and around is None and self.engine == "embedded"
        plain = Stores(
            records=SqlRecords(database),
            generations=SqlGenerations(database),
            texts=texts(database),
            vectors=engine if around is None else around(engine),
            blobs=SqlBlobs(database),
            joint=SqliteJoint(database) if joint and is_joint else None,
            together=database.together if together and is_joint else None,
        )
        works = Works(leases=SqlLeases(database), log=SqlWorklog(database), upkeep=SqlUpkeep(database))
        redis = RedisConnection(self.redis) if self.redis else None
        working = SqlWorking(database)
        if redis is not None:
            working = RedisWorking(redis, Limits())
        if not self.keys:
            return _Opened(plain, works, working, self, database).by(embedder, clock, models)
        rules = Rules(encrypt=self.encrypt, search=self.search)
        masters = masters_of(",".join(self.keys), "")
        around = Encryption(KeyVault(SqlDataKeys(database), masters, rules=rules, clock=clock), database, redis)
        stores = around.stores(plain)
        opened = _Opened(stores, around.works(works), around.working(working), self, database, around.hidden)
        return opened.by(embedder, clock, models)

    def _vectors(self, database):
        if self.engine == "pgvector":
            return PgVectors(database)
        return EmbeddedVectors(database) if self.engine == "embedded" else QdrantVectors(self.engine)


@dataclass
class _Opened:
    """The stores of one side, and what a memory is made of beside them."""

    stores: Stores
    works: Works
    working: Any
    place: Place
    database: Any
    hidden: Any = None

    def by(self, embedder, clock, models):
        engine = self.place.engine.partition(":")[0]
        jay = memory_on(
            self.stores,
            embedder,
            clock,
            models=models,
            works=self.works,
            working=self.working,
            archive=self.place.archive,
            engine=engine,
            hidden=self.hidden,
            ready=partial(migrate, self.database),
        )
        # What lies behind encryption, for whoever asks an index by itself.
        jay.plain_texts = getattr(self.stores.texts, "_texts", self.stores.texts)
        jay.database = self.database
        return jay


def dicts():
    """What a memory of dicts is made of."""
    store = MemoryStore()
    stores = Stores(records=store, generations=store, texts=store, vectors=MemoryVectors(), blobs=MemoryBlobs())
    works = Works(leases=MemoryLeases(), log=MemoryWorklog(), upkeep=MemoryUpkeep(store))
    return stores, works, MemoryWorking()


def in_memory(embedder, clock, archive=None, *, made_of=None):
    """A memory of dicts, which is what the others are held against."""
    stores, works, working = made_of or dicts()
    return memory_on(stores, embedder, clock, works=works, working=working, archive=archive)


def memory_on(
    stores, embedder, clock, *, works, working, archive=None, models=(), engine="embedded", hidden=None, ready=None
):
    """A memory made of these stores. `models` are those that an older generation can be asked with."""
    events = LocalEvents()
    known = {model.identity: model for model in models}
    index = Index(
        stores=stores,
        embedder=embedder,
        reopen=known.get,
        events=events,
        clock=clock,
        engine=engine,
        hidden=hidden,
    )
    parts = Parts(
        stores=stores,
        index=index,
        events=events,
        redactor=None,
        tokens=partial(tokens_of, "wordpiece"),
        clock=clock,
        working=working,
        works=works,
        archive=archive,
        names={"records": "", "embedder": "toy"},
    )
    return Scrubjay(parts=parts, tenant="default", prepare=ready or _nothing, background=False)


async def _nothing():
    """There is no schema in a dict."""
