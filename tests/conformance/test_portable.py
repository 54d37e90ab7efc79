"""Stores that can be carried, on dicts, on SQLite and on a real PostgreSQL."""

import pytest

from scrubjay.backends.memory import MemoryVectors, PortableMemoryStore
from scrubjay.backends.sql import wholes
from scrubjay.backends.sql.access import SqlAudit, SqlKeys
from scrubjay.backends.sql.blobs import SqlBlobs
from scrubjay.backends.sql.carry import SqlPortable
from scrubjay.backends.sql.database import Database
from scrubjay.backends.sql.elsewhere import SqlElsewhere
from scrubjay.backends.sql.generations import SqlGenerations
from scrubjay.backends.sql.migrate import migrate
from scrubjay.backends.sql.records import SqlRecords
from scrubjay.backends.sql.upkeep import SqlUpkeep
from scrubjay.backends.sql.working import SqlWorking
from scrubjay.backends.sql.worklog import SqlWorklog
from scrubjay.backends.vectors import pgvector_tables
from scrubjay.backends.vectors.embedded import EmbeddedVectors
from scrubjay.backends.vectors.pgvector import PgVectors
from scrubjay.backends.vectors.qdrant import QdrantVectors
from scrubjay.model import Scope, new_id
from scrubjay.ports import Blob, Listed, Portable, PortableVectors
from scrubjay.testing import ListedSuite, PortableSuite, PortableVectorsSuite
from scrubjay.testing.portable.stores import carry, pieces_of
from scrubjay.testing.vectors import directions, entries_of
from scrubjay.testing.working import a_message, said


class SqlStore(SqlRecords, SqlGenerations, SqlPortable):
    """The ports on one database, as the wiring puts them together."""

    def __init__(self, database):
        for port in (SqlRecords, SqlGenerations, SqlPortable):
            port.__init__(self, database)
        self.blobs = SqlBlobs(database)
        self.working = SqlWorking(database)
        self.log = SqlWorklog(database)
        self.upkeep = SqlUpkeep(database)
        self.api_keys = SqlKeys(database)
        self.audit = SqlAudit(database)
        self.elsewhere = SqlElsewhere(database)


async def opened(url, made):
    database = Database(url)
    await migrate(database)
    yield made(database)
    await database.shut()


class InMemory:
    @pytest.fixture
    async def store(self):
        return PortableMemoryStore()

    @pytest.fixture
    async def other(self):
        return PortableMemoryStore()


class OnSqlite:
    made = SqlStore

    @pytest.fixture
    async def store(self, tmp_path):
        async for one in opened(f"sqlite:///{tmp_path}/one.db", self.made):
            yield one

    @pytest.fixture
    async def other(self, tmp_path):
        async for one in opened(f"sqlite:///{tmp_path}/other.db", self.made):
            yield one


class OnPostgres:
    made = SqlStore

    @pytest.fixture
    async def store(self, postgres_database):
        async for one in opened(postgres_database(), self.made):
            yield one

    @pytest.fixture
    async def other(self, postgres_database):
        async for one in opened(postgres_database(), self.made):
            yield one


class TestMemory(InMemory, PortableSuite):
    pass


class TestSqlite(OnSqlite, PortableSuite):
    pass


class TestPostgres(OnPostgres, PortableSuite):
    pass


class TestMemoryVectors(PortableVectorsSuite, ListedSuite):
    @pytest.fixture
    async def vectors(self):
        return MemoryVectors()

    @pytest.fixture
    async def other(self):
        return MemoryVectors()


class TestSqliteVectors(OnSqlite, PortableVectorsSuite, ListedSuite):
    made = EmbeddedVectors

    @pytest.fixture
    async def vectors(self, store):
        return store


class TestPostgresVectors(OnPostgres, PortableVectorsSuite, ListedSuite):
    made = EmbeddedVectors

    @pytest.fixture
    async def vectors(self, store):
        return store


class TestPgVectors(OnPostgres, PortableVectorsSuite, ListedSuite):
    made = PgVectors

    @pytest.fixture
    async def vectors(self, store):
        return store


class TestOlderPgVectors(TestPgVectors):
    """Before it knew half floats."""

    @pytest.fixture(autouse=True)
    def older(self, monkeypatch):
        monkeypatch.setattr(pgvector_tables, "HALFVEC_SINCE", (99,))


async def test_half_floats_lose_nothing_between_the_engines_that_keep_them(tmp_path, postgres_database):
    """Rounded once, by whichever engine comes first, they go to and fro without another change."""
    entries = entries_of(directions(50))
    ids = [entry.id for entry in entries]
    file, server = Database(f"sqlite:///{tmp_path}/one.db"), Database(postgres_database())
    for database in (file, server):
        await migrate(database)
    here, there = EmbeddedVectors(file), PgVectors(server)
    await here.upsert(1, entries)
    once = await here.entries(1, ids)
    await there.upsert(1, once)
    twice = await there.entries(1, ids)
    assert twice == once
    assert [one.vectors.tobytes() for one in twice] == [one.vectors.tobytes() for one in once]
    # A component of a unit vector is at most 1, where half floats lie 1/2048 apart: rounding moves it half of that.
    assert max(abs(one.vectors - two.vectors).max() for one, two in zip(entries, twice, strict=True)) <= 1 / 4096
    await there.shut()
    for database in (file, server):
        await database.shut()


async def test_what_is_large_is_carried_in_small_pieces(tmp_path, monkeypatch):
    """However many items a piece may have, it is held in memory and stored in one transaction."""
    monkeypatch.setattr(wholes, "BYTES", 1_000)
    stores = []
    for name in ("one", "other"):
        database = Database(f"sqlite:///{tmp_path}/{name}.db")
        await migrate(database)
        stores.append(SqlStore(database))
    store, other = stores
    sizes = (10, 400, 700, 5_000, 10, 20, 980, 1_000, 3)
    for place, size in enumerate(sizes):
        await store.blobs.keep(Scope(), new_id(), [Blob(bytes([place]) * size)])
        await said(store.working, a_message("x" * size), scope=Scope(session=f"s{place}"))
    pieces = await pieces_of(store)
    assert [[len(whole.blob.content) for whole in one.blobs] for one in pieces if one.blobs] == [
        [10, 400],
        [700],
        [5_000],
        [10, 20],
        [980],
        [1_000],
        [3],
    ]
    assert [len(one.sessions) for one in pieces if one.sessions] == [2, 1, 1, 2, 1, 1, 1]
    await carry(store, other)
    assert await pieces_of(other) == pieces
    for one in stores:
        await one.shut()


def test_a_backend_can_be_asked_whether_it_can_be_carried(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/scrubjay.db")
    assert isinstance(SqlPortable(database), Portable)
    for engine in (EmbeddedVectors(database), MemoryVectors(), QdrantVectors("qdrant://localhost:1")):
        assert isinstance(engine, PortableVectors)
        assert isinstance(engine, Listed)
    assert not isinstance(SqlRecords(database), Portable)
