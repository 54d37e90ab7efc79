"""A memory put together as the wiring does it, on the reference, on SQLite and on PostgreSQL, with a toy model."""

import os
from collections import Counter
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from functools import cache, partial

import pytest

from scrubjay.backends.events import LocalEvents
from scrubjay.backends.memory import MemoryStore, MemoryVectors
from scrubjay.backends.memory.access import MemoryAudit, MemoryKeys
from scrubjay.backends.memory.blobs import MemoryBlobs
from scrubjay.backends.memory.leases import MemoryLeases, MemoryWorklog
from scrubjay.backends.memory.upkeep import MemoryUpkeep
from scrubjay.backends.memory.working import MemoryWorking
from scrubjay.backends.sql.access import SqlAudit, SqlKeys
from scrubjay.backends.sql.answers import SqlAnswers
from scrubjay.backends.sql.blobs import SqlBlobs
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
from scrubjay.core import Parts
from scrubjay.errors import EmbedderUnavailable, StoreUnavailable
from scrubjay.memories.workspace.code.roots import WorkingTrees
from scrubjay.model.work import Policy
from scrubjay.models.tokens import tokens_of
from scrubjay.ports import Stores, Works
from scrubjay.ports.access import AccessStores
from scrubjay.service import Scrubjay
from scrubjay.settings import read_settings
from scrubjay.sync import SyncScrubjay
from scrubjay.testing import Ticking, ToyEmbedder
from scrubjay.wiring import wire
from scrubjay.write.index import Index
from scrubjay.write.redact import SecretRedactor

SETUPS = ("memory", "sqlite", "postgresql")


@pytest.fixture
async def sqlite(tmp_path):
    """A new SQLite file."""
    async with _migrated(f"sqlite:///{tmp_path}/scrubjay.db") as database:
        yield database


@pytest.fixture
async def postgres(postgres_database):
    """An empty database on the real PostgreSQL."""
    async with _migrated(postgres_database()) as database:
        yield database


@asynccontextmanager
async def _migrated(url):
    database = Database(url)
    await migrate(database)
    yield database
    await database.shut()


tokens = cache(partial(tokens_of, "wordpiece"))


class MoodyEmbedder(ToyEmbedder):
    """A model that answers only while it is up."""

    def __init__(self, **options):
        super().__init__(**options)
        self.down = False

    async def embed(self, texts, *, question=False):
        if self.down:
            raise EmbedderUnavailable
        return await super().embed(texts, question=question)


class MoodyVectors:
    """A vector engine in front of another one, which answers only while it is up."""

    def __init__(self, engine):
        self._engine = engine
        self.down = False

    def __getattr__(self, verb):
        found = getattr(self._engine, verb)
        if self.down and verb != "shut":
            raise StoreUnavailable("the vector engine is down")
        return found


class Setup:
    """Opens memories on one store, each as another process would, and closes them after the test."""

    def __init__(self, name, url, closing):
        self.name = name
        self.url = url
        self.clock = Ticking()
        self._closing = closing
        self._shared = (MemoryStore(), MemoryVectors(), MemoryBlobs()) if name == "memory" else None
        self._working = MemoryWorking()
        self._works = in_memory(self._shared[0]) if self._shared is not None else None
        self._access = access_in_memory(self._shared[0]) if self._shared is not None else None
        self.policy = Policy()
        self.archive = None

    async def open(self, *, embedder=None, words_only=False, models=(), vectors=None, redactor=True, tenant="default"):
        """Open it with this model; `models` are those that an older generation can be asked with."""
        embedder = None if words_only else embedder or ToyEmbedder()
        stores, working, works, access, prepare = self._stores(vectors)
        known = {model.identity: model for model in models}
        events = LocalEvents()
        secrets = SecretRedactor() if redactor else None
        parts = Parts(
            stores=stores,
            index=Index(stores=stores, embedder=embedder, reopen=known.get, events=events, clock=self.clock),
            events=events,
            redactor=secrets,
            trees=WorkingTrees(stores.records, secrets, self.clock),
            tokens=tokens,
            clock=self.clock,
            working=working,
            works=works,
            access=access,
            policy=self.policy,
            archive=self.archive,
            names={"records": self.url, "embedder": "toy"},
        )
        jay = Scrubjay(parts=parts, tenant=tenant, prepare=prepare, background=False)
        return await self._closing.enter_async_context(jay)

    def _stores(self, wrapping):
        wrapped = wrapping or (lambda engine: engine)
        if self._shared is not None:
            store, engine, blobs = self._shared
            stores = Stores(records=store, generations=store, texts=store, vectors=wrapped(engine), blobs=blobs)
            return stores, self._working, self._works, self._access, _nothing
        database = Database(self.url)
        stores = Stores(
            records=SqlRecords(database),
            generations=SqlGenerations(database),
            texts=SqlTexts(database),
            vectors=wrapped(EmbeddedVectors(database)),
            blobs=SqlBlobs(database),
            joint=SqliteJoint(database) if database.path is not None and wrapping is None else None,
        )
        works = Works(leases=SqlLeases(database), log=SqlWorklog(database), upkeep=SqlUpkeep(database))
        access = AccessStores(keys=SqlKeys(database), audit=SqlAudit(database), answers=SqlAnswers(database))
        return stores, SqlWorking(database), works, access, partial(migrate, database)


def in_memory(store):
    return Works(leases=MemoryLeases(), log=MemoryWorklog(), upkeep=MemoryUpkeep(store))


def access_in_memory(store):
    return AccessStores(keys=MemoryKeys(), audit=MemoryAudit(), answers=store.answers)


async def _nothing():
    """There is no schema in a dict."""


@pytest.fixture
async def new_setup(tmp_path, fresh_postgres, emptied_postgres):
    """Makes set-ups by name, each on an empty store of its own."""
    made = Counter()
    with ExitStack() as databases:

        def url_of(name):
            made[name] += 1
            if name == "postgresql":
                return emptied_postgres() if made[name] == 1 else databases.enter_context(fresh_postgres())
            return "memory" if name == "memory" else f"sqlite:///{tmp_path}/{made[name]}/scrubjay.db"

        async with AsyncExitStack() as closing:
            yield lambda name: Setup(name, url_of(name), closing)


@pytest.fixture(params=SETUPS)
def setup(request, new_setup):
    """Each way to put a memory together, in turn."""
    return new_setup(request.param)


@pytest.fixture
async def jay(setup):
    """An empty memory."""
    return await setup.open()


@pytest.fixture
def clock(setup):
    """The clock of that memory."""
    return setup.clock


@pytest.fixture
def moody_embedder():
    return MoodyEmbedder()


@pytest.fixture
def moody_vectors():
    """Wraps an engine when it is called with one, and is the wrapped engine from then on."""
    made = []

    def wrapped(engine):
        made.append(MoodyVectors(engine))
        return made[-1]

    wrapped.made = made
    return wrapped


@pytest.fixture
def blocking(tmp_path):
    """A memory without `await`, on SQLite."""
    settings = read_settings(home=tmp_path / "home", background=False)
    with SyncScrubjay(wire(settings, embedder=ToyEmbedder())).start() as jay:
        yield jay


@pytest.fixture
def shown_by(monkeypatch, capsys, tmp_path):
    """Runs a program in this process, in a folder of its own, and returns what it prints."""

    def shown(program: str) -> str:
        monkeypatch.chdir(tmp_path)
        for name in [name for name in os.environ if name.startswith("SCRUBJAY_")]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("SCRUBJAY_HOME", str(tmp_path / "home"))
        exec(compile(program, "program", "exec"), {"__name__": "__main__"})
        return capsys.readouterr().out

    return shown
